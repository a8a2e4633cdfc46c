#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The scripts that judge the others: scripts/lint.sh must see planted faults,
# scripts/summary.awk must lose no failure. Prints "PASS name" or "FAIL name" a case.
#   test_scripts.sh SOURCE-FOLDER
set -uo pipefail
source_dir=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

verdict() { # NAME, status of the test
  if [ "$2" = 0 ]; then
    echo "PASS scripts.$1"
  else
    echo "FAIL scripts.$1"
    failed=1
  fi
}

# planted NAME FILE TEXT: a tree with one bad file must fail exactly check NAME.
planted() {
  local tree="$work/tree" output
  rm -rf "$tree"
  mkdir -p "$tree/scripts" "$tree/$(dirname "$2")"
  cp "$source_dir/scripts/lint.sh" "$tree/scripts/"
  cp "$source_dir/.clang-format" "$tree/"
  printf '/* SPDX-License-Identifier: Apache-2.0 */\n' >"$tree/ok.c"
  printf '%b' "$3" >"$tree/$2"
  output=$(GIT_DIR="$work/no-git" "$tree/scripts/lint.sh" 2>&1)
  local status=$?
  if [ -z "$1" ]; then
    [ $status = 0 ] && ! grep -q '^FAIL' <<<"$output"
  else
    [ $status = 1 ] && [ "$(grep '^FAIL' <<<"$output")" = "FAIL lint.$1" ]
  fi
  local seen=$?
  [ $seen = 0 ] || printf '%s\n' "$output"
  verdict "lint-${1:-clean}-$(tr / _ <<<"$2")" $seen
}

spdx='/* SPDX-License-Identifier: Apache-2.0 */\n'
long_body=$(printf '    x++;\\n%.0s' {1..90})
planted "" core/a.c "$spdx#include \"core/b.h\"\n"
planted "" verifier/a.c "$spdx#include \"ruledb/b.h\"\n#include <z3.h>\n"
planted layers core/a.c "$spdx#include \"ruledb/b.h\"\n"
planted layers ruledb/a.c "$spdx#include \"onnx_io/b.h\"\n"
planted layers optimizer/a.c "$spdx#include \"verifier/b.h\"\n"
planted layers optimizer/a.c "$spdx#include \"tests/support/b.h\"\n"
planted foreign_headers optimizer/a.c "$spdx#include <sqlite3.h>\n"
planted foreign_headers core/a.c "$spdx#include <z3.h>\n"
planted foreign_headers onnx_io/a.c "$spdx#include \"oneapi/dnnl/dnnl.h\"\n"
planted foreign_headers runtime/a.c "$spdx#include \"onnx.pb-c.h\"\n"
planted no_printing core/a.c "${spdx}int x(void)\n{\n    return printf(\"x\");\n}\n"
planted no_printing core/a.c "${spdx}void x(void)\n{\n    exit(1);\n}\n"
planted "" core/a.c "${spdx}void x(char *b)\n{\n    snprintf(b, 1, \"\");\n}\n"
planted no_clock_no_rand verifier/a.c "${spdx}long x(void)\n{\n    return time(0);\n}\n"
planted "" runtime/measure.c "${spdx}long x(void)\n{\n    return time(0);\n}\n"
planted no_todo docs/a.md "TO""DO later\n"
planted no_home_paths docs/a.md "see /ho""me/someone/x\n"
planted licence_line core/a.c "int x;\n"
planted function_length core/a.c "${spdx}void x(int x)\n{\n$long_body}\n"
planted layout core/a.c "${spdx}int   x;\n"

# counted NAME CTEST-STATUS LINT-STATUS WANT-LINE WANT-STATUS: with the files as they are.
counted() {
  local output status line
  output=$(awk -v ctest_status="$2" -v lint_status="$3" -f "$source_dir/scripts/summary.awk" \
    "$work/ctest" "$work/log" "$work/lint")
  status=$?
  line=$(tail -n 1 <<<"$output")
  [ "$line" = "$4" ] && [ $status = "$5" ]
  local seen=$?
  [ $seen = 0 ] || printf 'got "%s", exit %s; want "%s", exit %s\n' "$line" $status "$4" "$5"
  verdict "summary-$1" $seen
}
entry() { # NUMBER NAME CTEST-WORD OUTPUT
  printf '%s/9 Test #%s: %s ....   %s   0.1 sec\n' "$1" "$1" "$2" "$3" >>"$work/ctest"
  printf '%s/9 Testing: %s\n%s/9 Test: %s\nOutput:\n----\n%b<end of output>\n' \
    "$1" "$2" "$1" "$2" "$4" >>"$work/log"
}
start() {
  printf 'Test project x\n' >"$work/ctest"
  printf 'Start testing\n' >"$work/log"
  printf 'PASS lint.a\n' >"$work/lint"
}
start
entry 1 a.a Passed '100%: Checks: 5, Failures: 0, Errors: 0\n'
counted all-pass 0 0 "6 passed, 0 failed, 0 skipped" 0
entry 2 a.b Passed 'SKIP x: no data\n100%: Checks: 3, Failures: 0, Errors: 0\n'
counted skip-is-no-pass 0 0 "8 passed, 0 failed, 1 skipped" 0
entry 3 a.c '***Failed' '33%: Checks: 3, Failures: 1, Errors: 1\n'
counted failures-and-errors 8 0 "9 passed, 2 failed, 1 skipped" 1
entry 4 a.d '***Exception: SegFault' 'half a li'
counted crash 8 0 "9 passed, 3 failed, 1 skipped" 1
entry 5 a.e '***Timeout' ''
counted time-out 8 0 "9 passed, 4 failed, 1 skipped" 1
entry 6 a.f '***Failed' '100%: Checks: 2, Failures: 0, Errors: 0\n'
counted leak-after-the-last-test 8 0 "11 passed, 5 failed, 1 skipped" 1
entry 7 a.g '***Skipped' ''
counted skipped-entry 8 0 "11 passed, 5 failed, 2 skipped" 1
entry 8 a.h Passed 'PASS one\nFAIL two\nSKIP three\n'
counted lines 8 0 "12 passed, 6 failed, 3 skipped" 1
printf '9/9 Test #9: a.i ....***Not Run   0.0 sec\n' >>"$work/ctest"
counted never-started 8 0 "12 passed, 7 failed, 3 skipped" 1
start
entry 1 a.a Passed '100%: Checks: 5, Failures: 0, Errors: 0\n'
counted ctest-says-no 8 0 "6 passed, 1 failed, 0 skipped" 1
counted lint-says-no 0 1 "6 passed, 1 failed, 0 skipped" 1
start
entry 1 a.a Passed '100%: Checks: 0, Failures: 0, Errors: 0\n'
counted empty-suite 0 0 "1 passed, 1 failed, 0 skipped" 1
start
: >"$work/lint"
counted nothing-ran 0 0 "0 passed, 1 failed, 0 skipped" 1
# Without a GPU nothing is built, nothing written, and it is said why.
if command -v nvidia-smi >/dev/null; then
  echo "SKIP scripts.gpu-says-what-is-missing: skipped: there is a GPU"
else
  output=$("$source_dir/bench/gpu.sh" "$work/none.db" "$work/results" 2>&1)
  [ $? = 1 ] && grep -q 'error: no nvidia-smi' <<<"$output" && [ ! -e "$work/results" ]
  verdict gpu-says-what-is-missing $?
fi
exit $failed
