#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Speed of noether-verify, as the body of bench/results/verifier.md:
#   bench/verifier.sh BIN_FOLDER DB TASO_RULES
# DB has candidates, judged or not: they are judged in a copy. TASO_RULES is TASO's file of
# 619 rules. CPU seconds of one thread, as noether-verify measures them. Needs sqlite3.
set -euo pipefail
[ $# -eq 3 ] || { echo "usage: $0 BIN_FOLDER DB TASO_RULES" >&2; exit 2; }
bin=$1 db=$2 taso=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cpu=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)

# judge NAME: verdicts on the candidates of $work/NAME.db, totals in $work/NAME.log.
judge() {
  sqlite3 "$work/$1.db" "DELETE FROM rule_axiom; DELETE FROM rule; DELETE FROM verdict;
    DELETE FROM run WHERE stage = 'verify'"
  "$bin/noether-verify" --db "$work/$1.db" --stats >"$work/$1.log"
}
counter() { awk -v name="verifier.$2" '$1 == name { print $2 }' "$work/$1.log"; }
table() {
  sqlite3 -readonly -cmd '.mode markdown' "$work/$1.db" "
    WITH judged AS (SELECT kind || CASE tier WHEN '' THEN '' ELSE ', tier ' || tier END
        AS verdict, cpu_seconds * 1000 AS ms FROM verdict WHERE kind <> 'COVERED'),
      every AS (SELECT * FROM judged UNION ALL SELECT 'all', ms FROM judged),
      ranked AS (SELECT *, row_number() OVER w AS r,
        count(*) OVER (PARTITION BY verdict) AS n FROM every
        WINDOW w AS (PARTITION BY verdict ORDER BY ms))
    SELECT verdict, n, printf('%.1f', max(ms) FILTER (WHERE r = (n + 1) / 2)) AS 'median ms',
      printf('%.1f', max(ms) FILTER (WHERE r = (n * 9 + 9) / 10)) AS '90 % ms',
      printf('%.1f', max(ms)) AS 'largest ms', printf('%.2f', sum(ms) / 1000) AS 's in all'
    FROM ranked GROUP BY verdict ORDER BY verdict = 'all', verdict"
}
# rates NAME: judged candidates, a second, by stage.
rates() {
  local judged refuted
  judged=$(sqlite3 -readonly "$work/$1.db" "SELECT count(*) FROM verdict WHERE kind <> 'COVERED'")
  refuted=$(sqlite3 -readonly "$work/$1.db" "SELECT count(*) FROM verdict WHERE kind = 'REFUTED'")
  sqlite3 -readonly "$work/$1.db" "SELECT printf('* refusals by FIELD: %.0f a second (%d)',
    count(*) / max(1e-9, sum(cpu_seconds)), count(*)) FROM verdict WHERE kind = 'REFUTED'"
  for stage in field z3 lia class; do
    awk -v n="$judged" -v r="$refuted" -v s="$(counter "$1" cpu_$stage)" -v stage=$stage '
      BEGIN { if (stage != "field") n -= r
              printf "* stage %s: %.2f s, %.0f rules a second\n", stage, s, n / (s > 0 ? s : 1e-9) }'
  done
  grep '^CPU' "$work/$1.log" | sed 's/^/* all together: /'
}

printf 'Machine: %s, %s processors.\n' "${cpu:-unknown}" "$(nproc)"
sqlite3 "$db" "VACUUM INTO '$work/level.db'"
judge level
printf '\n## Candidates of the database\n\n'
table level
printf '\n'
rates level
"$bin/noether-rules" "$work/taso.db" import "$taso" >"$work/taso.import"
judge taso
printf "\n## TASO's 619 rules\n\n"
table taso
printf '\n'
rates taso
