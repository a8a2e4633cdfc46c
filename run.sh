#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# From a fresh Debian 12 machine to an optimized model:
#   ./run.sh                   a bundled ResNet-50 with seeded random weights
#   ./run.sh MODEL.onnx [...]  your model; what follows goes to noether-optimize
# Installs packages, builds, generates and verifies build/rules.db, optimizes. Whatever is
# there from an earlier run, also from an interrupted one, is used again.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/scripts/packages.sh"

case "${1-}" in
-h | --help)
  sed -n '4,8s/^# \{0,1\}//p' "$here/run.sh"
  exit 0
  ;;
-*) die "unknown option '$1'; see './run.sh --help'" ;;
esac
model=${1-}
[ $# -eq 0 ] || shift
if [ -n "$model" ]; then
  [ -f "$model" ] || die "$model: no such file"
  model=$(realpath "$model")
fi
cd "$here"

ensure_packages $build_packages $use_packages

bin=build/release/bin
say "Building into build/release"
cmake --preset release >build-configure.log 2>&1 || {
  cat build-configure.log >&2
  rm -f build-configure.log
  die "CMake could not configure the build"
}
rm -f build-configure.log
cmake --build --preset release --target \
  noether-generate noether-verify noether-rules noether-optimize noether-make-model

# The database belongs to the programs that made it: same programs, same rules.
stamp=$(sha256sum $bin/noether-generate $bin/noether-verify | sha256sum | cut -d' ' -f1)
if [ -f build/rules.db ] && [ "$(cat build/rules.stamp 2>/dev/null)" = "$stamp" ] &&
  $bin/noether-rules build/rules.db stats >/dev/null; then
  say "Using the rules in build/rules.db"
else
  # Made under another name: what has the final name is complete. An interrupted run of
  # the same programs is gone on with.
  new=build/rules-new.db
  if [ "$(cat $new.stamp 2>/dev/null)" != "$stamp" ]; then
    rm -f $new $new-wal $new-shm $new.stamp $new.generated
    printf '%s\n' "$stamp" >$new.stamp
  fi
  if [ -f $new.generated ]; then
    say "Candidates are there from an interrupted run"
  else
    say "Generating candidates (minutes; NOETHER_LEVEL=2 finds fewer, in half a minute)"
    $bin/noether-generate --db $new --level "${NOETHER_LEVEL:-3}"
    : >$new.generated
  fi
  say "Verifying candidates (minutes; Ctrl-C and ./run.sh again are fine)"
  $bin/noether-verify --db $new --workers "$(nproc)"
  rm -f build/rules.stamp build/rules.db-wal build/rules.db-shm
  mv $new build/rules.db
  printf '%s\n' "$stamp" >build/rules.stamp
  rm -f $new.stamp $new.generated
  say "Rules are in build/rules.db"
fi
# The first table; the whole is more than a newcomer asks for.
$bin/noether-rules build/rules.db stats | awk '!NF { rest = 1 } !rest'
echo "More: $bin/noether-rules build/rules.db stats"

if [ -z "$model" ]; then
  model=build/resnet50.onnx
  if [ ! -f $model ]; then
    say "Making $model (seeded random weights)"
    $bin/noether-make-model resnet50 $model
  fi
fi
name=${model##*/}
result=build/${name%.onnx}.opt.onnx
say "Optimizing $model"
$bin/noether-optimize "$model" -o "$result" --rules build/rules.db \
  --costs build/costs.db "$@"
say "The result is $here/$result"
