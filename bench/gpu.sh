#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Everything that wants a GPU, on a bare machine, in under ten minutes: builds runtime and
# optimizer, runs the tests labelled gpu, then times patterns and models before and after.
#
#   bench/gpu.sh [RULES.db] [FOLDER]   results go to FOLDER, or bench/results
#
# Needs gcc, CMake, Ninja, an NVIDIA driver, NVIDIA's libraries (CUDA runtime, cuBLASLt,
# NVRTC, cuDNN 9: of the toolkit or of pip's wheels in the active environment), and what
# the optimizer and its tests link: SQLite, xxHash, protobuf-c, zlib, Graphviz, Check; no
# network, no Z3 and no oneDNN. The rules come from RULES.db (default build/rules.db).
# Patterns are made where python3 has the package onnx; PyTorch (with onnx2torch) and ONNX
# Runtime's CUDA provider are compared where python3 has them. What is missing is said and
# left out; nothing is estimated.
#
# This script has not been run on a GPU yet.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

rules=${1:-build/rules.db}
folder=${2:-bench/results}
budget=${NOE_GPU_SECONDS:-540}
build=build/gpu
started=$SECONDS
die() { printf 'gpu.sh: error: %s\n' "$*" >&2; exit 1; }
left() { echo $((budget - (SECONDS - started))); }

command -v nvidia-smi >/dev/null || die "no nvidia-smi: is there a driver?"
card=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1)
[ -n "$card" ] || die "nvidia-smi names no device"
[ -r "$rules" ] || die "no rule database $rules (noether-generate and noether-verify make it)"

mkdir -p build
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DNOETHER_CUDA=AUTO \
  -DNOETHER_ONEDNN="${NOE_GPU_ONEDNN:-OFF}" \
  -DNOETHER_FOLDERS="core;ruledb;onnx_io;runtime;optimizer" >"$build.log" 2>&1 ||
  { tail -n 20 "$build.log" >&2; die "configuring failed"; }
targets="noether-optimize noether-make-model noether-cuda test_runtime_cuda_gpu"
ninja -C "$build" $targets >>"$build.log" 2>&1 ||
  { tail -n 20 "$build.log" >&2; die "building failed"; }
export PATH="$PWD/$build/bin:$PATH"

mkdir -p "$folder"
out="$folder/gpu-$(printf '%s' "$card" | tr ' /' '--').txt"
{
  echo "# $card, driver $(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -n 1)"
  echo "# clocks: $(nvidia-smi --query-gpu=clocks.max.sm,clocks.max.mem --format=csv,noheader | head -n 1)"
  echo "# commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown)"
  echo "# tests"
} >"$out"
if ctest --test-dir "$build" -L gpu --output-on-failure >"$build.tests" 2>&1; then
  grep -E 'Passed|Skipped|tests passed' "$build.tests" | sed 's/^/# /' >>"$out"
else
  tail -n 60 "$build.tests" >&2
  sed 's/^/# /' "$build.tests" >>"$out"
  die "tests on the GPU failed; nothing is timed (see $out)"
fi

# One line a model and type: microseconds before and after, and what it gained.
echo "# model dtype before_us after_us speedup decision" >>"$out"
row() {
  local model=$1 dtype=$2 shape=${3:-} name
  name=$(basename "$model" .onnx)${shape:+@$shape}
  if [ "$(left)" -lt 30 ]; then
    echo "$name $dtype - - - out_of_time" >>"$out"
    return
  fi
  if noether-optimize "$model" -o "$build/after.onnx" --rules "$rules" --device cuda \
    --dtype "$dtype" --costs "$build/costs.db" --time-limit 20 --check 1 \
    ${shape:+--input-shape "$shape"} --json "$build/after.json" >"$build.run" 2>&1; then
    python3 bench/gpu_row.py "$name" "$dtype" "$build/after.json" >>"$out"
    [ -n "$shape" ] || python3 bench/gpu_compare.py "$model" "$build/after.onnx" "$dtype" \
      >>"$out" 2>>"$build.log" || echo "# $name $dtype: not compared" >>"$out"
  else
    echo "$name $dtype - - - failed: $(tail -n 1 "$build.run" | tr ' ' '_')" >>"$out"
  fi
}
# Models: two networks of our own, the patterns, and the shared ones; batches where the
# model leaves its first dimension open (NAME:DIMS in bench/gpu_batches.txt).
models="$build/models"
mkdir -p "$models"
noether-make-model resnet50 "$models/resnet50.onnx"
noether-make-model squeezenet "$models/squeezenet.onnx"
python3 bench/patterns/make.py "$models" >>"$build.log" 2>&1 ||
  echo "# no patterns: bench/patterns/make.py fails (is the package onnx there?)" >>"$out"
for dtype in tf32 f16; do
  for model in "$models"/*.onnx ../shared/models/*.onnx; do
    case $model in *.hand.onnx) continue ;; esac
    [ -r "$model" ] && row "$model" "$dtype"
  done
done
for dtype in tf32 f16; do
  [ -r bench/gpu_batches.txt ] || break
  while read -r model shape; do
    [ -r "$model" ] && row "$model" "$dtype" "$shape"
  done <bench/gpu_batches.txt
done
echo "# $((SECONDS - started)) s in all" >>"$out"
cat "$out"
