-- SPDX-License-Identifier: Apache-2.0
--
-- Schema version 2: what became of a pair in pruning, and how a derivable one follows.

-- derived: others derive it, and use says why it is worth having all the same.
ALTER TABLE candidate ADD COLUMN kind TEXT NOT NULL DEFAULT 'axiom'
    CONSTRAINT "candidate.kind is known" CHECK (kind IN ('axiom', 'derived', 'sibling'));
ALTER TABLE candidate ADD COLUMN use TEXT NOT NULL DEFAULT '';
-- 1: wanted only if something that its derivation uses is not proved.
ALTER TABLE candidate ADD COLUMN deferred INTEGER NOT NULL DEFAULT 0
    CONSTRAINT "candidate.deferred is 0 or 1" CHECK (deferred IN (0, 1));

-- The steps from the left side of the candidate's source to the right one. rule_id is
-- that of a candidate, which stands for itself and the more general ones of its group;
-- '' exchanges the operands of a commutative operator, '-' is a pair that no rule could
-- be made of. direction is that of its text, position the operand numbers on the way
-- from the root: '0.1'.
CREATE TABLE derivation (
    candidate_id INTEGER NOT NULL REFERENCES candidate (id),
    step INTEGER NOT NULL,
    rule_id TEXT NOT NULL,
    direction TEXT NOT NULL
        CONSTRAINT "derivation.direction is known" CHECK (direction IN ('=>', '<=')),
    position TEXT NOT NULL,
    PRIMARY KEY (candidate_id, step)
) STRICT, WITHOUT ROWID;

-- Every step of every derivation of a rule or candidate, with what it uses.
CREATE VIEW derivation_step AS
    SELECT c.rule_id AS of_rule, d.step, d.rule_id, d.direction, d.position, u.text
    FROM candidate AS c
    JOIN candidate AS g ON g.run_id = c.run_id AND g.lift_group = c.lift_group
    JOIN derivation AS d ON d.candidate_id = g.id
    LEFT JOIN candidate AS u ON u.rule_id = d.rule_id;
