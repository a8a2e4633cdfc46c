#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The page of noether-rules: every rule is there once, nothing is loaded from elsewhere,
# and its scripts work (in headless Chromium, where there is one). Prints "PASS name",
# "FAIL name" or "SKIP name" a case.
#   test_pages.sh BIN-FOLDER RULES
set -uo pipefail
bin=$1 rules=$2 failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
page=$work/rules.html
verdict() { # NAME, status of the test
  if [ "$2" = 0 ]; then
    echo "PASS pages.$1"
  else
    echo "FAIL pages.$1"
    failed=1
  fi
}

n=$("$bin/noether-rules" "$rules" list --format tsv | sed 1d | wc -l)
[ "$("$bin/noether-rules" "$rules" report "$page")" = "$n rules in $page" ] &&
  [ "$n" -gt 0 ] && [ "$(grep -c '<article class="card rule"' "$page")" = "$n" ]
verdict every-rule $?
! grep -oE '(src|href)="[^#"][^"]*"' "$page" && ! grep -n '@import\|url(' "$page"
verdict nothing-from-elsewhere $?
# What stands there as SMT-LIB is: a second solver reads all of it, and refutes none of it
# without axioms.
if command -v cvc5 >/dev/null; then
  awk '/^<pre class="smt2">$/ { inside = 1; next }
    /^<\/pre>$/ && inside { inside = 0; print "(check-sat)"; print "(reset)" }
    inside' "$page" | sed 's/&#60;/</g; s/&#62;/>/g; s/&#38;/\&/g' >"$work/all.smt2"
  asked=$(grep -c '^(check-sat)$' "$work/all.smt2")
  cvc5 -q --incremental --tlimit-per=2000 "$work/all.smt2" >"$work/answers" 2>&1
  [ "$asked" -ge "$n" ] && ! grep -v -x -E 'sat|unknown' "$work/answers" &&
    [ "$(grep -c -x -E 'sat|unknown' "$work/answers")" = "$asked" ] &&
    [ "$(grep -c -x sat "$work/answers")" -ge "$n" ]
  verdict obligations-are-smt-lib $?
else
  echo "SKIP pages.obligations-are-smt-lib: skipped: no cvc5"
fi
[ "$(grep -c 'data-family="[a-z]' "$page")" = "$n" ]
verdict every-rule-has-a-family $?
! "$bin/noether-rules" "$rules" report "$work/no/such/folder.html" >"$work/out" 2>&1 &&
  grep -q "$work/no/such" "$work/out"
verdict no-folder $?

chromium=$(command -v chromium || command -v google-chrome || true)
if [ -z "$chromium" ]; then
  echo "SKIP pages.scripts: skipped: no Chromium"
else
  # Memory errors of a browser are not ours, nor is it built with our sanitizers.
  env -u LD_PRELOAD "$chromium" --headless --no-sandbox --disable-gpu \
    --user-data-dir="$work/profile" --dump-dom "file://$page#relu" >"$work/dom" 2>/dev/null
  want=$("$bin/noether-rules" "$rules" list --format tsv | sed 1d | grep -c relu)
  grep -q "id=\"shown\"[^>]*>$want of $n rules<" "$work/dom"
  status=$?
  [ $status = 0 ] || grep -o 'id="shown"[^/]*' "$work/dom"
  verdict scripts $status
fi
exit $failed
