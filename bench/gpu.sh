#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Everything that wants a GPU, on a bare machine, in under ten minutes: builds runtime and
# optimizer, runs the tests labelled gpu, then times models before and after and in other
# runtimes. What is not done in time is done by the next run, which goes on with the table.
#
#   bench/gpu.sh [RULES.db] [FOLDER]   writes FOLDER/gpu-CARD.md (default bench/results)
#   bench/gpu.sh --rehearse [RULES.db] without a device: small networks, nothing measured
#
# Needs gcc, CMake, Ninja, an NVIDIA driver, NVIDIA's libraries (CUDA runtime, cuBLASLt,
# NVRTC, cuDNN 9: of the toolkit or of pip's wheels in the active environment), what the
# optimizer and its tests link (SQLite, xxHash, protobuf-c, zlib, Check), and a Python with
# NumPy that makes the networks; no network, no Z3, no oneDNN, no Graphviz. The rules come
# from RULES.db (default build/rules.db), models from $NOE_MODELS (default
# ../shared/models). Patterns are made where the package onnx is; PyTorch and ONNX Runtime
# are compared where they are. What is missing is said and left out; nothing is estimated.
# $NOE_PYTHON, $NOE_GPU_BUILD (build/gpu), $NOE_GPU_SECONDS (540: after that no row begins).
#
# This script has not been run on a GPU yet, only rehearsed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

rehearse=""
if [ "${1-}" = --rehearse ]; then
  rehearse=yes
  shift
fi
rules=${1:-build/rules.db}
build=${NOE_GPU_BUILD:-build/gpu}
folder=${2:-bench/results}
budget=${NOE_GPU_SECONDS:-540}
python=${NOE_PYTHON:-python3}
started=$SECONDS
die() { printf 'gpu.sh: error: %s\n' "$*" >&2; exit 1; }
say() { printf '\n== %s (%d s)\n' "$*" $((SECONDS - started)); }

if [ -z "$rehearse" ]; then
  command -v nvidia-smi >/dev/null ||
    die "no nvidia-smi, so no driver and no GPU here (--rehearse tries all but that)"
  ask() { nvidia-smi --query-gpu="$1" --format=csv,noheader | head -n 1; }
  card=$(ask name) && [ -n "$card" ] || die "nvidia-smi names no device"
  title="$card, driver $(ask driver_version), clocks to $(ask clocks.max.sm) and $(ask clocks.max.mem)"
else
  card=rehearsal folder=$build/rehearsal
  title="Rehearsal without a GPU: nothing is measured"
fi
[ -r "$rules" ] || die "no rule database $rules (noether-generate and noether-verify make it)"
"$python" -c 'import numpy' 2>/dev/null ||
  die "$python has no numpy, which makes the networks (NOE_PYTHON names another one)"

mkdir -p "$build" "$folder"
log=$build/gpu.log
say "Building into $build"
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DNOETHER_CUDA=AUTO \
  -DNOETHER_ONEDNN="${NOE_GPU_ONEDNN:-OFF}" -DNOETHER_GRAPHVIZ=OFF \
  -DNOETHER_FOLDERS="core;ruledb;onnx_io;runtime;optimizer;api" >"$log" 2>&1 ||
  { tail -n 20 "$log" >&2; die "configuring failed"; }
ninja -C "$build" noether-optimize noether-cuda noether test_runtime_cuda_gpu >>"$log" 2>&1 ||
  { tail -n 20 "$log" >&2; die "building failed"; }

say "Tests that want a GPU"
if ! ctest --test-dir "$build" -L gpu --output-on-failure >"$build/gpu-tests.log" 2>&1; then
  tail -n 60 "$build/gpu-tests.log" >&2
  die "tests on the GPU failed; nothing is timed"
fi
grep -E 'Passed|Skipped|tests passed' "$build/gpu-tests.log"
if [ -z "$rehearse" ] && grep -q Skipped "$build/gpu-tests.log"; then
  "$build/bin/test_runtime_cuda_gpu" >&2 || true
  die "the tests found no device to run on; nothing is timed"
fi

say "Models"
commit=$(git rev-parse --short HEAD 2>/dev/null || echo unknown)
export NOETHER_LIBRARY=$PWD/$build/lib/libnoether.so PYTHONPATH=$PWD/python
case $build in /*) NOETHER_LIBRARY=$build/lib/libnoether.so ;; esac
more=""
[ -z "$rehearse" ] || more="--small --device roofline --row-seconds 2 --dtypes f32 --no-compare"
"$python" bench/gpu_table.py --bin "$build/bin" --rules "$rules" --costs "$build/costs.db" \
  --title "$title; commit $commit" --out "$folder/gpu-$(printf '%s' "$card" | tr ' /' '--').md" \
  --models "${NOE_MODELS:-../shared/models}" --seconds $((budget - (SECONDS - started))) $more
say "Done"
