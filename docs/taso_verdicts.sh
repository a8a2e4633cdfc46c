#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# docs/taso_verdicts.sh BIN DB DIR: writes docs/taso-verdicts.md, a verdict on each rule of
# DIR/taso_133.pb and DIR/taso_619.pb, with the programs in BIN and the rules in DB. What
# does not follow from the rules by rewriting goes to noether-verify. Needs sqlite3.
set -euo pipefail
[ $# -eq 3 ] || { echo "usage: $0 BIN DB DIR" >&2; exit 2; }
bin=$1 db=$2 dir=$3
out=$(dirname "${BASH_SOURCE[0]}")/taso-verdicts.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# judge NAME: $work/NAME.tsv with a line "number verdict reason" a rule.
judge() {
  local file=$dir/$1.pb
  "$bin/noether-rules" "$db" derive "$file" >"$work/$1.derive" || [ $? -eq 1 ]
  "$bin/noether-rules" "$work/$1.db" import "$file" >/dev/null
  "$bin/noether-verify" --db "$work/$1.db" >/dev/null
  sqlite3 -readonly -separator $'\t' "$work/$1.db" \
    "SELECT c.source, c.generality, v.kind, v.stage,
            CASE v.kind WHEN 'PROVED' THEN v.shapes_checked
                        WHEN 'REFUTED' THEN v.counterexample ELSE v.reason END
       FROM candidate c JOIN verdict v ON v.candidate_id = c.id
      WHERE c.narrows = ''" >"$work/$1.verify"
  # Rules with the condition that was found: number, form, tier, condition.
  sqlite3 -readonly -separator $'\t' "$work/$1.db" \
    "SELECT o.source, o.generality, r.tier, r.condition
       FROM rule r JOIN candidate c ON c.id = r.candidate_id
       JOIN candidate o ON o.rule_id = c.narrows" >"$work/$1.narrowed"
  awk -F'\t' -v OFS='\t' '
    FILENAME ~ /narrowed$/ {
      n = $1
      sub(/.*:/, "", n)
      condition[n, $2] = $4
      tier[n, $2] = $3
      next
    }
    FILENAME ~ /verify$/ {
      n = $1
      sub(/.*:/, "", n)
      kind[n, $2] = $3
      proof[n, $2] = "stage " $4 ": " $5
      next
    }
    / (derivable|refuted|unknown): / {
      n = $0
      sub(/ .*/, "", n)
      narrow = $0 ~ /^[0-9]+ \(without groups\)/
      verdict = $0
      sub(/^[0-9]+ (\(without groups\) )?/, "", verdict)
      reason = verdict
      sub(/:.*/, "", verdict)
      sub(/^[a-z]+: /, "", reason)
      said[n, narrow] = verdict
      why[n, narrow] = reason
      if (n + 0 > last) last = n + 0
    }
    function settle(n, narrow) { # verdict and reason of one form
      if (said[n, narrow] == "unknown" && kind[n, narrow] == "PROVED") {
        said[n, narrow] = "proved"
        why[n, narrow] = proof[n, narrow]
      } else if (said[n, narrow] == "unknown" && kind[n, narrow] == "REFUTED") {
        said[n, narrow] = "refuted"
        why[n, narrow] = proof[n, narrow]
      }
    }
    END {
      # A rule that is there twice is one candidate, with the number of the first. Which
      # one it is, its counterexample tells, if that belongs to one candidate alone.
      for (n = 0; n <= last; n++) {
        if ((n, 0) in kind) {
          owners[why[n, 0]]++
          if ((n, 0) in condition) twin[why[n, 0]] = n
        }
      }
      for (n = 0; n <= last; n++) {
        if (said[n, 0] == "refuted" && !((n, 0) in kind) && owners[why[n, 0]] == 1 &&
            why[n, 0] in twin) {
          condition[n, 0] = condition[twin[why[n, 0]], 0]
          tier[n, 0] = tier[twin[why[n, 0]], 0]
        }
        settle(n, 0)
        settle(n, 1)
        v = said[n, 0]
        r = why[n, 0]
        if (v == "refuted" && (n, 0) in condition) {
          v = "conditional"
          r = "where " condition[n, 0] ": tier " tier[n, 0] "; without it " r
        } else if (v != "derivable" && v != "proved" && said[n, 1] ~ /derivable|proved/) {
          r = r "; without groups " said[n, 1] ": " why[n, 1]
          v = v ", " said[n, 1] " without groups"
        }
        gsub(/\|/, "\\|", r)
        print n, v, r
      }
    }' "$work/$1.narrowed" "$work/$1.verify" "$work/$1.derive" >"$work/$1.tsv"
}

count() { awk -F'\t' -v v="$2" '$2 ~ v { n++ } END { print n + 0 }' "$work/$1.tsv"; }

section() { # NAME TITLE
  printf '\n## %s\n\n| rule | verdict | reason |\n|---|---|---|\n' "$2"
  awk -F'\t' '{ printf "| %s | %s | %s |\n", $1, $2, $3 }' "$work/$1.tsv"
}

judge taso_133
judge taso_619
{
  cat <<END
# Verdicts on TASO's rules

Made by \`docs/taso_verdicts.sh BIN DB DIR\` from the rules of the default set
($("$bin/noether-rules" "$db" export - | wc -l) rules). \`ruledb/taso.h\` says how the format is read: kernel sizes are part of a
rule, elementwise operands have equal shapes, the group of a convolution is the quotient of
channels and kernel channels, so a rule about convolutions speaks of grouped ones too.

* *derivable*: follows from our rules by rewriting, at every typed instance looked at
  (\`noether-rules DB derive\`, which prints rules, directions and places: \`ID>@PLACE\` is left
  to right at an operand, \`ID<@PLACE\` back, \`|\` separates outputs).
* *proved*: not derived, but \`noether-verify\` proves the rule itself.
* *conditional*: false as it is, with shapes at which the sides differ, and proved for all
  sizes under the condition that \`noether-verify\` finds ([guarantee.md](guarantee.md)), which
  replaces the kernel sizes and equal shapes that the format implies where the proof does
  without.
* *refuted*: false, with shapes at which the sides differ, exactly, modulo a prime, and no
  condition was found and proved.
* *unknown*: neither; the reason is what was missing. It is no success.

| file | rules | derivable | proved | conditional | refuted | unknown |
|---|---|---|---|---|---|---|
END
  for f in taso_133 taso_619; do
    printf '| %s.pb | %s | %s | %s | %s | %s | %s |\n' $f "$(wc -l <"$work/$f.tsv")" \
      "$(count $f '^derivable')" "$(count $f '^proved')" "$(count $f '^conditional')" \
      "$(count $f '^refuted')" "$(count $f '^unknown')"
  done
  section taso_133 'The shipped file, taso_133.pb'
  section taso_619 'What its generator writes at depth 3, taso_619.pb'
} >"$work/new.md"
mv "$work/new.md" "$out"
