#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_models.sh BIN: what the importer understood and the exporter wrote, also after many
# random rewrites, judged by ONNX Runtime. Exit status 77 where Python, ONNX Runtime or the
# models are missing.
here=$(dirname "$0")
root=$here/../..
python=${NOE_PYTHON:-$root/build/venv/bin/python}
models=$root/../shared/models
cases=$root/../shared/cases
if [ ! -x "$python" ]; then
  echo "SKIP check_models: no $python"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=77
tool="$1/write_back {in} {out}"
storm="$tool --storm $here/storm.txt"
# check OPTIONS... FILES...: the worst status counts, "nothing to compare" least.
check() {
  "$python" "$here/check_models.py" "$@"
  result=$?
  if [ $result -ne 77 ] && [ $status -ne 1 ]; then status=$result; fi
}
# Rewriting changes the order of sums, and sigmoid is approximated where it is one node.
storm_tolerance="--tolerance 1e-3"
for network in squeezenet mlp; do
  "$1/noether-make-model" $network "$work/$network.onnx" || exit 1
  check --tool "$tool" "$work/$network.onnx"
  check --tool "$storm 1 60" $storm_tolerance "$work/$network.onnx"
done
# Operators as new nodes, in the opsets of ONNX's own tests of them.
nodes=/usr/share/libonnx-testdata/data/node
if [ -d "$nodes" ]; then
  tests=
  for op in gather expand resize upsample convtranspose tile depthtospace spacetodepth where \
    instancenorm globalmaxpool mean einsum slice; do
    tests="$tests $(find "$nodes" -path "*/test_${op}*/model.onnx" | sort)"
  done
  # shellcheck disable=SC2086 # a list
  check --freeze --tool "$tool --fresh" $tests
fi
if [ ! -d "$models" ]; then
  echo "SKIP shared models: no $models"
  exit $status
fi
check --tool "$tool" "$cases"/*/model.onnx
check --tool "$storm 3 10" $storm_tolerance "$cases"/*/model.onnx
check --tool "$tool" "$models"/blazeface_back_256.onnx "$models"/gtcrn.onnx \
  "$models"/mlsd_tiny_320.onnx "$models"/tfbert_qa.onnx "$models"/ultraface_rfb320.onnx
# Not mlsd: it compares floats for equality, so that rounding shows.
check --tool "$storm 1 60" $storm_tolerance "$models"/blazeface_back_256.onnx \
  "$models"/gtcrn.onnx "$models"/ultraface_rfb320.onnx
check --tool "$tool" --random-weights "$models"/light_*.onnx
check --tool "$storm 2 60" $storm_tolerance --random-weights "$models"/light_*.onnx
check --tool "$tool x:1,3,48,320" --shape x:1,3,48,320 "$models"/ppocrv4_rec.onnx
check --tool "$storm 1 60 x:1,3,48,320" $storm_tolerance --shape x:1,3,48,320 \
  "$models"/ppocrv4_rec.onnx
bert="--shape attention_mask:1,7 --shape input_ids:1,7 --shape token_type_ids:1,7"
check --tool "$tool attention_mask:1,7" $bert "$models"/tfbert_qa.onnx
check --tool "$storm 1 200 attention_mask:1,7" $storm_tolerance $bert \
  "$models"/tfbert_qa.onnx
exit $status
