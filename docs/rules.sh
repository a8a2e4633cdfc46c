#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# docs/rules.sh BUILD_DIR DB > docs/rules.md: the rule set in DB by family, bound and verdict,
# and rules worth a look. The growth by family is taken from bench/results/generator.md.
# Needs sqlite3.
set -euo pipefail
[ $# -eq 2 ] || { echo "usage: $0 BUILD_DIR DB > docs/rules.md" >&2; exit 2; }
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
rules=$1/bin/noether-rules
db=$2
[ -f "$db" ] || { echo "$0: $db: no such file" >&2; exit 4; }

ask() { sqlite3 -readonly -cmd '.mode markdown' "$db" "$1"; }
one() { sqlite3 -readonly "$db" "$1"; }

cat <<END
# The rules

Made by \`docs/rules.sh build/release build/rules.db > docs/rules.md\`, for the operator table
$(one "SELECT op_table_hash FROM run WHERE stage = 'verify' ORDER BY id DESC LIMIT 1");
candidates and rules are those of a database generated with
\`$(one "SELECT config FROM run WHERE stage = 'generate' ORDER BY id LIMIT 1")\`.
What the verdicts and tiers mean is in [guarantee.md](guarantee.md); how the columns are
named, in [ruledb.md](ruledb.md).

## By family, before and after pruning, at three operators

$(sed -n '/^## Everything, three/,/^What the speed-ups/{/^##/d;/^What the/d;p}' "$here/bench/results/generator.md")

At four and five operators, family by family:
[bench/results/families.md](../bench/results/families.md).

## What became of the candidates

Level is the number of operators of the larger side of the pair that a candidate comes from.
A covered candidate is one that a more general rule of its group, or a derivation from
proved rules, makes unnecessary. CPU seconds are of the verifier.

END
ask "SELECT c.level, count(*) AS candidates, sum(v.kind IS 'PROVED') AS proved,
  sum(v.kind IS 'PROVED' AND v.tier = 'A') AS 'tier A',
  sum(v.kind IS 'PROVED' AND v.tier = 'B') AS 'tier B',
  sum(v.kind IS 'PROVED' AND v.tier = 'C') AS 'tier C',
  sum(v.kind IS 'COVERED') AS covered, sum(v.kind IS 'REFUTED') AS refuted,
  sum(v.kind IS 'UNKNOWN') AS unknown, printf('%.1f', total(v.cpu_seconds)) AS 'CPU s'
  FROM candidate AS c LEFT JOIN current_verdict AS v ON v.candidate_id = c.id
  GROUP BY c.level ORDER BY c.level"
cat <<'END'

## Rules by what they are about

A rule counts for the first family that has one of its operators. Reducing rules have sides
of different numbers of operators; conditional ones hold under a condition beyond being
well-typed.

END
# Both sides' operators, each between blanks.
ask "WITH r AS (SELECT *, ' ' || lhs_ops || ' ' || rhs_ops || ' ' AS ops FROM rule),
  f AS (SELECT *, CASE
    WHEN ops GLOB '* conv *' OR ops GLOB '* conv_transpose *' THEN 'convolution'
    WHEN ops GLOB '* max_pool *' OR ops GLOB '* average_pool *' THEN 'pooling'
    WHEN ops GLOB '* resize *' THEN 'resize'
    WHEN ops GLOB '* matmul *' THEN 'linear algebra'
    WHEN ops GLOB '* softmax *' THEN 'softmax'
    WHEN ops GLOB '* reduce_*' THEN 'reduction'
    WHEN ops GLOB '* max *' OR ops GLOB '* min *' OR ops GLOB '* abs *' OR
         ops GLOB '* relu *' OR ops GLOB '* leaky_relu *' OR ops GLOB '* where *'
         THEN 'order'
    WHEN ops GLOB '* concat *' OR ops GLOB '* slice *' OR ops GLOB '* transpose *' OR
         ops GLOB '* reshape *' OR ops GLOB '* pad *' OR ops GLOB '* gather *' OR
         ops GLOB '* expand *' THEN 'layout'
    ELSE 'elementwise' END AS family FROM r)
  SELECT family, count(*) AS rules, sum(tier = 'A') AS 'tier A', sum(tier = 'B') AS 'tier B',
  sum(tier = 'C') AS 'tier C', sum(n_lhs_ops <> n_rhs_ops) AS reducing,
  sum(condition <> '') AS conditional, sum(n_roots > 1) AS 'several outputs',
  sum(class = 'exact') AS exact, sum(class = 'finite') AS finite,
  sum(class = 'float') AS float, sum(class = 'range') AS range
  FROM f GROUP BY family ORDER BY count(*) DESC"
cat <<'END'

## Laws that models gain from

The laws of `tests/generator/families` (what tests ask of each family's own enumeration), here
asked of this one set: `noether-rules DB derive FILE`, with its default budget. What is not
derived within it is named; nothing is refuted.

| family | laws | derived | not within the budget |
|---|---|---|---|
END
for f in "$here"/tests/generator/families/*.txt; do
    { "$rules" "$db" derive "$f" 2>/dev/null || [ $? -eq 1 ]; } |
        awk -v family="$(basename "$f" .txt)" '
            /^[0-9]+ \(/ {
                n++
                name = $2
                gsub(/[():]/, "", name)
                sub(/^missing_/, "", name)
                if (/ derivable: /) d++
                else if (/ refuted: /) { print "refuted: " $0 > "/dev/stderr"; exit 1 }
                else open = open (open ? ", " : "") "`" name "`"
            }
            END { printf "| %s | %d | %d | %s |\n", family, n, d, open }'
done
cat <<'END'

## Rules that may surprise

Each as `noether-rules show` tells it: the text, the proof, and what it was found as.
END

n=0
# surprise "WHAT IS ODD ABOUT IT" SQL-CONDITION: the most general rule that satisfies it
surprise() {
    local id
    id=$(one "SELECT id FROM rule WHERE $2 ORDER BY tier, length(condition), length(text), id LIMIT 1")
    [ -n "$id" ] || { echo "$0: no rule for: $1" >&2; return; }
    n=$((n + 1))
    printf '\n### %d. %s\n\n```\n' "$n" "$1"
    "$rules" "$db" show "$id" | sed -n '/^rule /,/^text/p; /^condition/p; /^class/,/^shapes/p' |
        grep -v '^$' | grep -vE '^(operators|size|verified by|state|solver|tier|  *operator table)'
    printf '```\n'
}

surprise "Data and kernel of a convolution change places, when the kernel covers the image." \
    "text GLOB 'transpose*perm=?1, 0, 2, 3??(conv*(?a, ?b)) => conv*(?b, ?a)*'"
surprise "Adding to each channel the sum of all of them may be done to the kernel instead." \
    "text GLOB 'conv*(add(reduce_sum*' AND rhs_ops GLOB '*conv*'"
surprise "The kernel of a convolution may be convolved beforehand: two convolutions are one." \
    "text GLOB 'conv*(conv*(?a, ?b), ?c) => conv*(?a, conv*'"
surprise "Depthwise convolutions commute." \
    "text GLOB 'conv*group*(conv*group*(?a, ?b), ?c) => conv*(conv*(?a, ?c), ?b)*' OR
     text GLOB 'conv*group*(conv*group*(?a, ?b), ?c) => conv*(conv*(?a, ?b), ?c)*'"
surprise "A depthwise convolution with 1x1 kernels is a product." \
    "text GLOB 'conv*(?a, reshape*(?b)) => mul(*'"
surprise "Average pooling is a convolution with a constant kernel, so that it merges with others." \
    "text GLOB 'average_pool*(?a) => conv*average_kernel*'"
surprise "The stride of a pooling behind a convolution may be taken by the convolution." \
    "text GLOB 'average_pool*strides*(conv?dil*(?a, ?b)) => conv?strides*(average_pool*(?a), ?b)*'"
surprise "Max pooling lets a bias through, even one for each channel." \
    "text GLOB 'add(max_pool*(?a), ?b) => max_pool*(add(?a, ?b))*'"
surprise "A kernel with zeros around it is a smaller one under smaller pads." \
    "text GLOB 'conv*(?a, pad*(?b)) => conv*pads=?b - *(?a, ?b)*'"
surprise "The last rows of a product need only the last rows of its left factor." \
    "text GLOB 'slice*(matmul(?a, ?b)) => matmul(slice*(?a), ?b)*' OR
     text GLOB 'matmul(slice*(?a), ?b) => slice*(matmul(?a, ?b))*'"
surprise "Softmax does not see what is the same along its axis." \
    "text GLOB 'softmax*(add(?a, ?b)) => softmax*(?a)*'"
[ "$n" -ge 10 ] || { echo "$0: only $n of the rules are there" >&2; exit 4; }
