#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The whole test suite, with sanitizers, from a fresh Debian 12 machine. The last line is
# "N passed, N failed, N skipped"; the exit status is 0 only if all that ran passed.
#   ./test.sh [CTEST-OPTIONS]   for instance  ./test.sh -R core
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
. scripts/packages.sh

ensure_packages $build_packages $use_packages $test_packages

# Comparison programs from PyPI. What needs them says "skipped" where they are absent.
make_venv() {
  local want
  want=$(sha256sum tests/requirements.txt | cut -d' ' -f1)
  [ "$(cat build/venv/stamp 2>/dev/null)" != "$want" ] || return 0
  say "Installing $(grep -v '^#' tests/requirements.txt | tr '\n' ' ')into build/venv"
  rm -rf build/venv
  python3 -m venv build/venv &&
    build/venv/bin/pip install -q --disable-pip-version-check --timeout 15 --retries 2 \
      -r tests/requirements.txt &&
    printf '%s\n' "$want" >build/venv/stamp
}
mkdir -p build
if ! make_venv; then
  rm -rf build/venv
  printf 'skipped: PyPI out of reach; tests that compare with ONNX Runtime are skipped\n'
fi

say "Building with sanitizers into build/debug"
log=build/configure.log
cmake --preset debug >$log 2>&1 || {
  cat $log >&2
  die "CMake could not configure the build"
}
cmake --build --preset debug

say "Checking the source"
lint_status=0
scripts/lint.sh | tee build/lint.log || lint_status=$?

say "Running the tests"
export ASAN_OPTIONS="detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1"
export UBSAN_OPTIONS="print_stacktrace=1"
export LSAN_OPTIONS="suppressions=$PWD/tests/lsan.supp:print_suppressions=0"
# Time-outs are there to end what hangs: a loaded machine must not reach them.
export CK_TIMEOUT_MULTIPLIER=5
[ ! -x build/venv/bin/python ] || export NOE_PYTHON="$PWD/build/venv/bin/python"
rm -f build/debug/Testing/Temporary/LastTest.log
ctest_status=0
ctest --test-dir build/debug -j "$(nproc)" --output-on-failure "$@" 2>&1 |
  tee build/ctest.log || ctest_status=$?

awk -v ctest_status=$ctest_status -v lint_status=$lint_status -f scripts/summary.awk \
  build/ctest.log build/debug/Testing/Temporary/LastTest.log build/lint.log
