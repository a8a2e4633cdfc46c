#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# bench/verdicts_table.sh DB: the rules of DB by tier, class, condition and time, as the
# body of bench/results/rules-verdicts.md. Needs sqlite3.
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: $0 DB" >&2; exit 2; }
[ -f "$1" ] || { echo "$0: $1: no such file" >&2; exit 4; }

ask() { sqlite3 -readonly -cmd '.mode markdown --wrap 0' "$1" "$2"; }
printf '## Rules by tier and class\n\n'
ask "$1" "SELECT tier, sum(class = 'exact') AS exact, sum(class = 'finite') AS finite,
  sum(class = 'float') AS float, sum(class = 'range') AS range, count(*) AS 'all',
  sum(condition <> '') AS conditional FROM rule GROUP BY tier ORDER BY tier"
printf '\n## Rules by what their condition speaks of\n\n'
# A condition counts with each kind that it has.
ask "$1" "WITH kind (name, pattern) AS (VALUES ('no condition', ''),
    ('ranks', '*rank(*'), ('dimensions', '*dim(*'), ('whole shapes', '*shape(*'),
    ('parameters', '*\$*'), ('several conjuncts', '*&&*'))
  SELECT k.name AS 'condition', sum(r.tier = 'A') AS A, sum(r.tier = 'B') AS B,
    sum(r.tier = 'C') AS C, count(*) AS 'all' FROM kind AS k JOIN rule AS r
    ON CASE k.pattern WHEN '' THEN r.condition = '' ELSE r.condition GLOB k.pattern END
  GROUP BY k.name ORDER BY count(*) DESC, k.name"
printf '\n## Conditions found for refuted candidates\n\n'
ask "$1" "SELECT tier, substr(rule_id, 1, 10) AS rule, condition, substr(refuted_text, 1, 90)
    AS 'refuted without it (begins)', precondition AS search FROM narrowed_rule
  ORDER BY length(refuted_text), refuted_text"
printf '\n'
ask "$1" "SELECT CASE WHEN v.precondition GLOB 'false at all*' THEN 'false at all instances'
      WHEN EXISTS (SELECT 1 FROM candidate AS n JOIN rule AS r ON r.candidate_id = n.id
        WHERE n.narrows = c.rule_id) THEN 'true under the condition found'
      WHEN v.precondition GLOB '*limit is reached' THEN 'condition not proved within the limits'
      WHEN v.precondition GLOB '* proofs' THEN 'the condition found makes another candidate'
      WHEN v.precondition = '' THEN 'not searched' ELSE 'no conjunction of the vocabulary' END
    AS 'refuted candidate', count(*) AS n
  FROM verdict AS v JOIN candidate AS c ON c.id = v.candidate_id WHERE v.kind = 'REFUTED'
  GROUP BY 1 ORDER BY n DESC, 1"
printf '\n## Time of a verdict\n\n'
ask "$1" "WITH judged AS (SELECT kind || CASE tier WHEN '' THEN '' ELSE ', tier ' || tier END
    AS verdict, cpu_seconds * 1000 AS ms, questions FROM verdict WHERE kind <> 'COVERED'),
  ranked AS (SELECT *, row_number() OVER (PARTITION BY verdict ORDER BY ms) AS r,
    count(*) OVER (PARTITION BY verdict) AS n FROM judged)
  SELECT verdict, n, printf('%.1f', max(ms) FILTER (WHERE r = (n + 1) / 2)) AS 'median ms',
    printf('%.1f', max(ms) FILTER (WHERE r = (n * 9 + 9) / 10)) AS '90 % ms',
    printf('%.2f', sum(ms) / 1000) AS 's in all', sum(questions) AS 'questions to Z3'
  FROM ranked GROUP BY verdict ORDER BY verdict"
printf '\n## Why not\n\n'
ask "$1" "SELECT kind, CASE WHEN reason GLOB '*all sizes:*not matched*' THEN 'no summand matches'
      WHEN reason GLOB '*all sizes:*resource limit*' THEN 'resource limit of a question'
      WHEN reason GLOB '*all sizes:*' THEN 'all sizes: ' ||
        substr(reason, instr(reason, 'all sizes: ') + 11, 60)
      ELSE substr(reason, 1, 60) END AS why, count(*) AS n
  FROM verdict WHERE kind IN ('UNKNOWN', 'REFUTED') GROUP BY 1, 2 ORDER BY n DESC, why"
