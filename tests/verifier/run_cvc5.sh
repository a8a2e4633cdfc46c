#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# run_cvc5.sh BIN_FOLDER RULES: proves some rules of level 1 and those of the rule file
# RULES, checks their certificates, and asks cvc5 what Z3 was asked. Exit 1 if a
# certificate is refused or cvc5 says sat; what it does not decide within its limit is
# counted and is no failure.
set -euo pipefail
bin=$1 rules=$2
limit=200000 # of cvc5's resource units a script; no wall clock
if ! command -v cvc5 >/dev/null; then
  echo "skipped: cvc5 is not installed"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
db=$work/rules.db
"$bin/noether-generate" --db "$db" --level 1 \
  --ops add,concat,exp,max,mul,neg,reduce_sum,relu,slice,transpose >"$work/log" 2>&1
"$bin/noether-rules" "$db" import "$rules" >>"$work/log"
"$bin/noether-verify" --db "$db" >>"$work/log"
"$bin/noether-check" "$db" --quiet
"$bin/noether-verify" --db "$db" --export-smt2 "$work/scripts"

# One process for all scripts of a kind: (reset) between them.
for kind in euf lia; do
  find "$work/scripts" -name "*-$kind-*.smt2" | sort >"$work/$kind.list"
  n=$(wc -l <"$work/$kind.list")
  [ "$n" -gt 0 ] || { echo "no scripts of kind $kind"; exit 1; }
  while read -r script; do
    cat "$script"
    echo "(reset)"
  done <"$work/$kind.list" >"$work/$kind.smt2"
  cvc5 --incremental --rlimit-per=$limit "$work/$kind.smt2" >"$work/$kind.answers"
  [ "$(wc -l <"$work/$kind.answers")" = "$n" ] ||
    { echo "$kind: $n scripts, $(wc -l <"$work/$kind.answers") answers"; exit 1; }
  confirmed=$(grep -c '^unsat$' "$work/$kind.answers" || true)
  denied=$(grep -c '^sat$' "$work/$kind.answers" || true)
  echo "$kind: $confirmed of $n scripts confirmed, $denied denied," \
    "$((n - confirmed - denied)) not decided"
  if [ "$denied" -gt 0 ]; then
    paste "$work/$kind.answers" "$work/$kind.list" | grep '^sat'
    exit 1
  fi
  # All undecided would be no confirmation at all.
  [ "$confirmed" -gt 0 ] || exit 1
done
