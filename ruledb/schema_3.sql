-- SPDX-License-Identifier: Apache-2.0
--
-- Schema version 3: the all-sizes proof. tier says which stages proved it: A both
-- the axioms (z3) and the all-sizes proof (lia), B lia alone, C z3 alone. ranks says for
-- which ranks lia proved it, laws which packs of laws that used. What was proved before is
-- of tier C.
ALTER TABLE verdict ADD COLUMN tier TEXT NOT NULL DEFAULT ''
    CONSTRAINT "verdict.tier is known" CHECK (tier IN ('', 'A', 'B', 'C'));
ALTER TABLE verdict ADD COLUMN ranks TEXT NOT NULL DEFAULT '';
ALTER TABLE verdict ADD COLUMN laws TEXT NOT NULL DEFAULT '';
ALTER TABLE verdict ADD COLUMN questions INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rule ADD COLUMN tier TEXT NOT NULL DEFAULT 'C'
    CONSTRAINT "rule.tier is known" CHECK (tier IN ('A', 'B', 'C'));
UPDATE verdict SET tier = 'C' WHERE kind = 'PROVED';

DROP VIEW proof;
CREATE VIEW proof AS
    SELECT r.id AS rule_id, r.text, r.class, r.tier, v.stage, v.ranks, v.laws, v.axioms,
           v.n_instances, v.error_bound, v.shapes_checked, v.certificate, v.rlimit,
           v.questions, v.cpu_seconds, run.solver, run.version, run.seed,
           r.op_table_hash, r.axioms_hash
    FROM rule AS r
    JOIN verdict AS v ON v.candidate_id = r.candidate_id
        AND v.op_table_hash = r.op_table_hash AND v.axioms_hash = r.axioms_hash
    JOIN run ON run.id = r.run_id;

CREATE VIEW tier_count AS
    SELECT tier, class, count(*) AS n FROM rule GROUP BY tier, class;
