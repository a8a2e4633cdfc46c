#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# docs/ruledb_examples.sh DB: runs the queries of docs/ruledb.md on a rule database and
# writes their output into it, a text block behind each sql block. Needs sqlite3.
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: $0 DB" >&2; exit 2; }
[ -f "$1" ] || { echo "$0: $1: no such file" >&2; exit 4; }
doc=$(dirname "${BASH_SOURCE[0]}")/ruledb.md
new=$(mktemp "$doc.XXXXXX")
trap 'rm -f "$new"' EXIT
skip=0 sql='' in_sql=0
while IFS= read -r line; do
  if [ "$in_sql" = 1 ]; then
    printf '%s\n' "$line"
    if [ "$line" = '```' ]; then
      in_sql=0
      printf '\n```text\n'
      sqlite3 -readonly -header -cmd '.mode column --wrap 0' "$1" "$sql" | sed 's/ *$//'
      printf '```\n'
      skip=1 # the old output, if there is one
      old=''
    else
      sql+=$line$'\n'
    fi
  elif [ "$skip" = 1 ] && [ -z "$line" ]; then
    old+=$'\n'
  elif [ "$skip" = 1 ] && [ "$line" = '```text' ]; then
    skip=2
  elif [ "$skip" = 2 ]; then
    [ "$line" != '```' ] || skip=0
  else
    [ "$skip" = 0 ] || printf '%s' "$old"
    skip=0
    printf '%s\n' "$line"
    if [ "$line" = '```sql' ]; then
      in_sql=1 sql=''
    fi
  fi
done <"$doc" >"$new"
chmod --reference="$doc" "$new"
mv "$new" "$doc"
