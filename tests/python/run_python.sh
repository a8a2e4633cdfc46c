#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The way to test_interface.py, or another TEST here: with the library of this build, with
# the sanitizers' run-time libraries in front where it wants them, and the rules of
# $NOETHER_RULES.
#   run_python.sh PYTHON-FOLDER LIBRARY COMPILER [TEST.py FOLDERS...]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
packages=$1 library=$2 cc=$3
shift 3
[ $# -gt 0 ] || set -- test_interface.py "$packages/examples"
test=$here/$1
shift
python=${NOE_PYTHON:-python3}
skip() {
  printf 'SKIP python: skipped: %s\n' "$1"
  exit 77
}
"$python" -c 'import numpy' 2>/dev/null || skip 'no Python with numpy (NOE_PYTHON)'
preload=""
needed=$(ldd "$library") # whole: grep -q in a pipe would end ldd, and that the pipe
for name in asan ubsan tsan; do
  if [[ $needed == *lib$name* ]]; then
    preload+="$("$cc" -print-file-name=lib$name.so) "
  fi
done
# Python itself leaks; libstdc++ must be there before its exceptions are intercepted.
if [ -n "$preload" ]; then
  export LD_PRELOAD="$preload$("$cc" -print-file-name=libstdc++.so.6)"
  export ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0"
fi
export NOETHER_LIBRARY=$library PYTHONPATH=$packages PYTHONDONTWRITEBYTECODE=1
exec "$python" "$test" "$@"
