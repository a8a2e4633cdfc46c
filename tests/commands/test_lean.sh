#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A build of runtime and optimizer alone, without oneDNN and without Z3. Prints
# "PASS name" or "FAIL name" a case.
#   test_lean.sh SOURCE-FOLDER COMPILER [all]
# Without "all" only the runtime is compiled (seconds); with it all is, and its tests run.
set -uo pipefail
source_dir=$1 cc=$2 what=${3:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
verdict() { # NAME, status of the test
  if [ "$2" = 0 ]; then
    echo "PASS lean.$1"
  else
    tail -n 30 "$work/log"
    echo "FAIL lean.$1"
    failed=1
  fi
}

cmake -S "$source_dir" -B "$work/b" -G Ninja -DCMAKE_C_COMPILER="$cc" \
  -DCMAKE_C_FLAGS_RELEASE=-O0 -DNOETHER_ONEDNN=OFF -DNOETHER_CUDA=OFF \
  -DNOETHER_FOLDERS="core;ruledb;onnx_io;runtime;optimizer" >"$work/log" 2>&1
verdict configures $?
! grep -n -i -E 'dnnl|libz3' "$work/b/build.ninja" >"$work/log"
verdict links-neither $?

if [ "$what" = all ]; then
  ninja -C "$work/b" >"$work/log" 2>&1
  verdict builds $?
  ctest --test-dir "$work/b" -j "$(nproc)" --output-on-failure >"$work/log" 2>&1
  verdict tests $?
  exit $failed
fi
objects=$(ninja -C "$work/b" -t targets all | grep -o '^runtime/CMakeFiles/noe_runtime[^:]*\.o')
[ -n "$objects" ] && ninja -C "$work/b" $objects >"$work/log" 2>&1
verdict compiles $?
# One definition of the device that is not there, and no call into it.
(cd "$work/b" && nm $objects) >"$work/symbols"
[ "$(grep -c ' T noe_onednn_open$' "$work/symbols")" = 1 ] &&
  ! grep -E ' U (dnnl|noe_onednn_[^o])' "$work/symbols" >"$work/log"
verdict refers-to-nothing-of-it $?
exit $failed
