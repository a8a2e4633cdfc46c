# SPDX-License-Identifier: Apache-2.0
# Debian packages that the two scripts at the top need. Sourced, not run.

# To build: compiler, build system, and the libraries. check is a library too: CMake
# configures the tests even where only the programs are built.
build_packages="gcc libc6-dev cmake ninja-build pkg-config libz3-dev libsqlite3-dev
  libxxhash-dev libprotobuf-c-dev protobuf-c-compiler libdnnl-dev libgraphviz-dev
  zlib1g-dev check"
# Only for noether-generate on several machines, to try the pages of reports in a browser,
# and the Debian package in a clean system; neither script asks for them.
optional_packages="libopenmpi-dev openmpi-bin chromium debootstrap"
# To look into the rule database by hand.
use_packages="sqlite3"
# To test: layout check, Python comparison programs, published operator tests, a second
# solver.
test_packages="clang-format cvc5 git python3 python3-venv libonnx-testdata"

say() { printf '\n== %s\n' "$*"; }
die() { printf '%s: error: %s\n' "${0##*/}" "$*" >&2; exit 1; }

is_installed() {
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Installs those of the named packages that are missing; says which; asks nothing.
ensure_packages() {
  command -v dpkg-query >/dev/null && command -v apt-get >/dev/null ||
    die "this is no Debian system (no dpkg-query or apt-get);" \
      "install the equivalents of these packages by hand, then build with CMake:" "$@"
  local missing="" package
  for package in "$@"; do
    is_installed "$package" || missing="$missing $package"
  done
  [ -n "$missing" ] || return 0
  say "Installing Debian packages:$missing"
  local as_root=""
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null ||
      die "not root and no sudo; run as root: apt-get install$missing"
    as_root="sudo"
  fi
  # A package index that is merely old may still do, so only the installation must work.
  $as_root apt-get update -q || printf 'apt-get update failed, going on\n' >&2
  $as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -q -y --no-install-recommends $missing ||
    die "apt-get could not install:$missing"
}
