#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# conformance.sh BIN check: judges Debian's set of ONNX's operator tests; fails if one fails,
#   or if fewer are right than conformance.txt says. Exit status 77 where the set is missing.
# conformance.sh BIN table RULES [NEWER.tar.xz]: docs/conformance.md and conformance.txt
#   anew, with the optimizer on the rules of a database, from Debian's set and a newer one.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bin=$1 what=$2
debian=/usr/share/libonnx-testdata/data
if [ ! -d $debian ]; then
  echo "SKIP conformance: no $debian"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# counts FILE: right round trips, types, executions.
counts() {
  awk -F'\t' '{ trip += $1 ~ /equal|same/; types += $2 == "pass"; run += $3 == "pass" }
    END { print trip, types, run }' "$1"
}

if [ "$what" = check ]; then
  "$bin/conformance" $debian >"$work/out.txt"
  status=$?
  grep -P '^fail|\tfail\t' "$work/out.txt"
  if [ -d "$here/../../../shared/cases" ]; then # public bugs of optimizers, as tiny models
    "$bin/conformance" "$here/../../../shared/cases" >"$work/cases.txt" || status=1
    grep -P '^fail|\tfail\t' "$work/cases.txt"
  fi
  read -r trip types run <<<"$(counts "$work/out.txt")"
  read -r min_trip min_types min_run <"$here/conformance.txt"
  echo "round trips $trip (want $min_trip), types $types ($min_types), executions $run ($min_run)"
  [ $status -eq 0 ] && [ "$trip" -ge "$min_trip" ] && [ "$types" -ge "$min_types" ] &&
    [ "$run" -ge "$min_run" ]
  exit
fi

rules=$3 newer=${4:-}
optimize="'$bin/noether-optimize' {in} -o {out} --rules '$rules' --device roofline"
optimize="$optimize --budget 20 --no-timing >/dev/null 2>&1"
doc=$here/../../docs/conformance.md
{
  sed -n '1,/^<!-- made/p' "$doc"
  echo
  "$bin/conformance" --optimize "$optimize" $debian >"$work/debian.txt"
  awk -v title="Debian's libonnx-testdata (opsets to 17)" -f "$here/conformance.awk" \
    "$work/debian.txt"
  if [ -n "$newer" ]; then
    mkdir "$work/newer" && tar -C "$work/newer" -xf "$newer"
    "$bin/conformance" --optimize "$optimize" "$work/newer" >"$work/newer.txt"
    awk -v title="onnx/onnx, newest (opsets to 28)" -f "$here/conformance.awk" \
      "$work/newer.txt"
  fi
  echo "## What is not supported, and what it says"
  echo
  echo "| times | message |"
  echo "|---|---|"
  cat "$work"/*.txt | awk -F'\t' '$3 == "unsupported"' | grep -o 'run: .*' |
    sed 's/^run: [^ ]*model.onnx: node [0-9]* ([^)]*): //; s/; opt.*//; s/; trip.*//; s/;$//' |
    sed 's/node [0-9]* (\([A-Za-z]*\)[^)]*): //' | sort | uniq -c | sort -rn |
    awk '{ n = $1; $1 = ""; print "| " n " |" $0 " |" }'
} >"$work/conformance.md"
counts "$work/debian.txt" >"$here/conformance.txt"
cp "$work/conformance.md" "$doc"
grep -hP '^fail|\tfail\t' "$work"/debian.txt "$work"/newer.txt
exit 0
