#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs into an empty folder and uses what lies there: a C program by pkg-config and
# by CMake, exported symbols, programs. Prints "PASS name" or "FAIL name" a case.
#   test_install.sh BUILD-FOLDER COMPILER [FLAGS...]
set -uo pipefail
build=$1 cc=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root failed=0
verdict() { # NAME, status of the test
  if [ "$2" = 0 ]; then
    echo "PASS install.$1"
  else
    echo "FAIL install.$1"
    failed=1
  fi
}

cmake --install "$build" --prefix "$root" >"$work/log" 2>&1
verdict installs $?
for file in bin/noether-optimize bin/noether-rules include/noether.h; do
  [ -f "$root/$file" ]
  verdict "has-$(tr / - <<<"$file")" $?
done
DESTDIR=$work/dest cmake --install "$build" >"$work/log" 2>&1 &&
  [ -z "$(find "$work/dest" -path "*/dest/*$work/*")" ]
verdict installs-below-destdir $?
lib=$(dirname "$(find "$root" -name libnoether.so)")

for program in "$root"/bin/noether-*; do
  name=${program##*/}
  [ "$("$program" --version | head -n 1)" = "$name $(sed -n 's/^Version: //p' "$lib/pkgconfig/noether.pc")" ] &&
    grep -q "^.TH $name 1 " "$root/share/man/man1/$name.1" &&
    grep -q "^complete .* $name\$" "$root/share/bash-completion/completions/$name" &&
    bash -n "$root/share/bash-completion/completions/$name"
  verdict "$name-with-page-and-completion" $?
done

# Exactly the functions that the header declares.
diff <(grep -v '^typedef' "$root/include/noether.h" | grep -oE 'noether_[a-z_]+\(' | tr -d '(' | sort -u) \
  <(nm -D --defined-only "$lib/libnoether.so" | awk '$2 == "T" { sub(/@.*/, "", $3); print $3 }' |
    sort -u)
verdict symbols-are-the-header $?
! nm -D --defined-only "$lib/libnoether.so" | grep ' T ' | grep -v '@@NOETHER_'
verdict symbols-have-versions $?

cat >"$work/use.c" <<'C'
#include <noether.h>
#include <stdio.h>
int main(void)
{
    noether_error e;
    noether_model *m;
    puts(noether_version());
    return noether_model_load("/no/such/model", NULL, &m, &e) != NOETHER_ERR_IO;
}
C
# Prefixes are those of the configuration: the .pc file is asked for another one.
export PKG_CONFIG_PATH=$lib/pkgconfig
flags=$(pkg-config --define-variable=prefix="$root" --cflags --libs noether) &&
  "$cc" $* -std=c99 -Wall -Werror -pedantic "$work/use.c" -o "$work/use" $flags &&
  [ "$(LD_LIBRARY_PATH=$lib "$work/use")" = "$(pkg-config --modversion noether)" ]
verdict pkg-config $?

cat >"$work/CMakeLists.txt" <<'C'
cmake_minimum_required(VERSION 3.25)
project(use LANGUAGES C)
find_package(noether 0.1 REQUIRED)
add_executable(use use.c)
target_link_libraries(use PRIVATE noether::noether)
C
cmake -S "$work" -B "$work/b" -DCMAKE_PREFIX_PATH="$root" -DCMAKE_C_COMPILER="$cc" \
  -DCMAKE_C_FLAGS="$*" >"$work/log" 2>&1 &&
  cmake --build "$work/b" >>"$work/log" 2>&1 && "$work/b/use" >/dev/null
status=$?
[ $status = 0 ] || cat "$work/log"
verdict cmake $status
exit $failed
