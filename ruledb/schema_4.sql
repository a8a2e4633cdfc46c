-- SPDX-License-Identifier: Apache-2.0
--
-- Schema version 4: conditions that were found for refuted candidates. What was found is a
-- candidate of its own, in a group of its own: narrows is the rule_id of the refuted one.
-- precondition says how the search for a condition went (REFUTED: '' if there was none).
-- condition_smt2 is the rule's condition as SMT-LIB2; '' without a condition, and for rules
-- that were proved before version 4 until noether-verify --recheck.
ALTER TABLE candidate ADD COLUMN narrows TEXT NOT NULL DEFAULT ''
    CONSTRAINT "candidate.narrows is empty or 32 hex digits"
    CHECK (narrows = '' OR (length(narrows) = 32 AND narrows NOT GLOB '*[^0-9a-f]*'));
ALTER TABLE verdict ADD COLUMN precondition TEXT NOT NULL DEFAULT '';
ALTER TABLE rule ADD COLUMN condition_smt2 TEXT NOT NULL DEFAULT '';

-- Rules whose condition was found by noether-verify, with what they narrow.
CREATE VIEW narrowed_rule AS
    SELECT r.id AS rule_id, r.condition, r.text, r.tier, r.class, c.narrows,
           o.text AS refuted_text, v.counterexample, v.precondition
    FROM rule AS r JOIN candidate AS c ON c.id = r.candidate_id AND c.narrows <> ''
    JOIN candidate AS o ON o.rule_id = c.narrows
    LEFT JOIN current_verdict AS v ON v.candidate_id = o.id;
