#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# bench/rules_table.sh DB: what generating and verifying the rule set in DB cost, as the
# Markdown of bench/results/rules.md. Needs sqlite3.
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: $0 DB > bench/results/rules.md" >&2; exit 2; }
[ -f "$1" ] || { echo "$0: $1: no such file" >&2; exit 4; }

ask() { sqlite3 -readonly -cmd '.mode markdown' "$1" "$2"; }
cpu=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)
cat <<END
# The rule set

Made by \`bench/rules_table.sh build/rules.db > bench/results/rules.md\`.
Machine: ${cpu:-unknown processor}, $(nproc) processors, $(uname -s) $(uname -m).
CPU seconds are of one thread. "verify cpu s" is the time of the verdicts of that level.

## Candidates and verdicts by level

END
ask "$1" "SELECT c.level, count(*) AS candidates, sum(v.kind IS 'PROVED') AS proved,
  sum(v.kind IS 'COVERED') AS covered, sum(v.kind IS 'REFUTED') AS refuted,
  sum(v.kind IS 'UNKNOWN') AS unknown, sum(v.kind IS NULL) AS unjudged,
  printf('%.2f', total(v.cpu_seconds)) AS 'verify cpu s'
  FROM candidate AS c LEFT JOIN current_verdict AS v ON v.candidate_id = c.id
  GROUP BY c.level ORDER BY c.level"
printf '\n## Rules by level\n\n'
ask "$1" "SELECT level, count(*) AS rules, sum(n_lhs_ops <> n_rhs_ops) AS reducing,
  sum(condition <> '') AS conditional, sum(class = 'exact') AS exact,
  sum(class = 'finite') AS finite, sum(class = 'float') AS float,
  sum(class = 'range') AS range FROM rule GROUP BY level ORDER BY level"
printf '\n## Runs\n\n'
ask "$1" "SELECT id AS run, stage, config, seed, solver, printf('%.2f', cpu_seconds) AS
  'cpu s', printf('%.0f', peak_kib / 1024.0) AS 'peak MiB' FROM run ORDER BY id"
