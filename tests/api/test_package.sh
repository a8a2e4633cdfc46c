#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The Debian package, installed and used where there is nothing else: in a fresh Debian 12
# that debootstrap makes. For the target nightly: it builds everything, wants to be root, and
# a mirror. Prints "PASS name", "FAIL name" or "SKIP name: why" a case.
#   test_package.sh SOURCE-FOLDER RULES.db
set -uo pipefail
source_dir=$1 rules=$2 failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
verdict() { # NAME, status of the test
  if [ "$2" = 0 ]; then
    echo "PASS package.$1"
  else
    tail -n 30 "$work/log"
    echo "FAIL package.$1"
    failed=1
  fi
}
skip() {
  echo "SKIP package.installs: skipped: $1"
  exit 0
}

[ "$(id -u)" = 0 ] || skip "not root"
command -v debootstrap >/dev/null || skip "no debootstrap"
debootstrap --variant=minbase bookworm "$root" >"$work/log" 2>&1 || {
  tail -n 2 "$work/log"
  skip "debootstrap fails"
}
git clone -q "$source_dir" "$work/clone" # what is being edited may not build
cmake -S "$work/clone" -B "$work/b" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_INSTALL_PREFIX=/usr -DBUILD_TESTING=OFF -DNOETHER_MPI=OFF \
  -DNOETHER_RULES_DB="$rules" >"$work/log" 2>&1 &&
  ninja -C "$work/b" >"$work/log" 2>&1 && (cd "$work/b" && cpack -G DEB) >"$work/log" 2>&1
verdict builds $?
[ $failed = 0 ] || exit 1

inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root "$@" >"$work/log" 2>&1; }
cp "$work"/b/*.deb "$root/noether.deb"
inside apt-get install -y -q --no-install-recommends /noether.deb
verdict installs $?
inside sh -c 'noether-make-model mlp m.onnx && noether-optimize m.onnx -o o.onnx && noether-run o.onnx --random 1'
verdict optimizes-with-its-rules $?
inside noether-generate --db new.db --level 1 && inside noether-verify --db new.db &&
  inside noether-check --quiet new.db
verdict finds-and-proves-rules $?
inside sh -c 'test -s /usr/share/man/man1/noether-optimize.1 && test -s /usr/include/noether.h'
verdict has-pages-and-header $?
inside apt-get purge -y -q noether && ! inside sh -c 'ls -d /usr/bin/noether-* /usr/share/noether'
verdict leaves-nothing $?
exit $failed
