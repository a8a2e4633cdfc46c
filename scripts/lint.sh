#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What the compiler does not see: layout, layers, words that must not be there. Prints
# "PASS name" or the offending lines and "FAIL name" for each check; exit 1 if one failed.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
  mapfile -t files < <(git ls-files --cached | sort)
else
  mapfile -t files < <(find . -path ./build -prune -o -type f -print | sed 's|^\./||' | sort)
fi
sources=() code=() texts=()
for f in "${files[@]}"; do
  [ -f "$f" ] || continue
  case $f in
  *.c | *.h) sources+=("$f") ;;
  esac
  case $f in
  *.c | *.h | *.inc | *.def) code+=("$f") ;;
  esac
  case $f in
  # The licence is not ours; this file has the words it looks for.
  LICENSE | scripts/lint.sh | *.onnx | *.pb | *.bin | *corpus/*) ;;
  *) texts+=("$f") ;;
  esac
done
libraries=()
for f in "${code[@]}"; do
  case $f in
  tests/* | bench/* | */main*.c | */make_model*.c) ;;
  # These four own a terminal, an exit or an abort; each says why at its top.
  core/base/env.c | core/base/mem.c | core/base/options.c | core/base/status.c) ;;
  *) libraries+=("$f") ;;
  esac
done

failed=0
# report NAME OFFENCES
report() {
  if [ -n "$2" ]; then
    printf '%s\nFAIL lint.%s\n' "$2" "$1"
    failed=1
  else
    printf 'PASS lint.%s\n' "$1"
  fi
}
# refuse NAME REGEX FILES...: no line may match.
refuse() {
  local name=$1 regex=$2
  shift 2
  report "$name" "$(grep -nE -- "$regex" "$@" /dev/null)"
}

# core <- draw <- { ruledb | onnx_io | runtime } <- { generator | verifier | checker | optimizer }
# <- api
check_layers() {
  awk '
    BEGIN {
      level["core"] = 0
      level["ruledb"] = level["onnx_io"] = level["runtime"] = 1
      level["generator"] = level["verifier"] = level["checker"] = level["optimizer"] = 2
      level["include"] = 0
      level["draw"] = 0.5
      level["api"] = 3
      level["bench"] = level["tests"] = 4
    }
    match($0, /^ *# *include *"[^"\/]+\//) {
      from = FILENAME; sub(/\/.*/, "", from)
      to = $0; sub(/^[^"]*"/, "", to); sub(/\/.*/, "", to)
      if (from != to && (from in level) && level[from] < 4 && (to in level) &&
          level[to] >= level[from])
        print FILENAME ":" FNR ": " from " must not include from " to
    }' "$@"
}
report layers "$(check_layers "${code[@]}")"

# HEADER-REGEX HOME-REGEX
check_homes() {
  grep -nE "# *include *[<\"]($1)" "${code[@]}" /dev/null | grep -vE "^($2)"
}
report foreign_headers "$(
  check_homes 'graphviz/' 'draw/graphviz\.c'
  check_homes 'z3(_[a-z]*)?\.h' '(tests/)?verifier/'
  check_homes 'sqlite3\.h' '(tests/)?ruledb/'
  check_homes '(protobuf-c|[^">]*\.pb-c\.h)' '(tests/)?(onnx_io/|ruledb/(test_)?taso)'
  check_homes '(oneapi/)?dnnl' '(tests/)?runtime/'
  check_homes 'mpi\.h' 'generator/ranks_mpi\.c'
  check_homes 'xxhash\.h' 'core/base/hash\.c'
  check_homes 'check\.h' 'tests/support/support\.h'
  check_homes '(pthread|stdatomic|threads|omp)\.h' '(core/base/pool\.c|core/definition\.c|runtime/)'
)"

# SQL has a printf too; its formats stand in single quotes.
report no_printing "$(
  grep -nE '(^|[^A-Za-z0-9_])(v?f?printf|f?puts|f?putc|putchar|perror|_?exit|abort)\(' \
    "${libraries[@]}" /dev/null | grep -v "printf('"
)"
refuse no_clock_no_rand \
  '(^|[^A-Za-z0-9_.>])(clock|clock_gettime|gettimeofday|time|s?rand|random|drand48)\(' \
  $(printf '%s\n' "${code[@]}" |
    grep -vE '^(core/base/env\.c|runtime/measure\.c|tests/|bench/)')
refuse no_todo 'TODO|FIXME' "${texts[@]}"
refuse no_home_paths '(^|[^A-Za-z0-9_.])/(home|root|Users|work)/' "${texts[@]}"
refuse no_tabs_or_trailing_blanks $'\t|[ \t]+$' "${code[@]}"

report licence_line "$(
  for f in "${code[@]}" ; do
    head -n 1 "$f" | grep -q '^/\* SPDX-License-Identifier: Apache-2.0' ||
      echo "$f: no SPDX line at the top"
  done
)"
report function_length "$(
  awk 'FNR == 1 { start = 0 }
    /^{/ { start = FNR }
    /^}/ && start {
      if (FNR - start > 80)
        print FILENAME ":" start ": function of " FNR - start " lines"
      start = 0
    }' "${sources[@]}"
)"
report file_length "$(
  for f in "${sources[@]}"; do
    n=$(wc -l <"$f")
    [ "$n" -le 900 ] || echo "$f: $n lines"
  done
)"
if command -v clang-format >/dev/null; then
  report layout "$(clang-format --dry-run -Werror "${sources[@]}" 2>&1 |
    sed -n 's/:.*error:.*/: clang-format would change it/p' | uniq)"
else
  echo "SKIP lint.layout: clang-format is not installed"
fi
exit $failed
