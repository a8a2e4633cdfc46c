-- SPDX-License-Identifier: Apache-2.0
--
-- The rule database, schema version 1. Applied to an empty file in one transaction by
-- ruledb/schema.c, which also sets user_version; documented in docs/ruledb.md.
--
-- Hashes and content ids are lower-case hex text, so that they read the same everywhere.
-- There are no time stamps: the same inputs and seed make the same rows (cpu_seconds and
-- peak_kib, which are measured, excepted).
--
-- What the schema itself guarantees:
--   * a rule rests on a verdict PROVED, under the very hashes that the rule carries (the
--     foreign key of table rule includes the verdict's kind);
--   * a candidate has one verdict per operator table and axiom set; older ones stay as
--     history and are what makes "stale" a query;
--   * an axiom that a rule names exists in the axiom set of the rule's proof.

CREATE TABLE run (
    id INTEGER PRIMARY KEY,
    stage TEXT NOT NULL
        CONSTRAINT "run.stage is generate or verify" CHECK (stage IN ('generate', 'verify')),
    config TEXT NOT NULL,
    version TEXT NOT NULL,
    seed TEXT NOT NULL, -- decimal: 64 bits unsigned do not fit an INTEGER
    op_table_hash TEXT NOT NULL,
    axioms_hash TEXT NOT NULL, -- 0000000000000000 where no axioms are involved
    solver TEXT NOT NULL,
    finished INTEGER NOT NULL DEFAULT 0
        CONSTRAINT "run.finished is 0 or 1" CHECK (finished IN (0, 1)),
    cpu_seconds REAL NOT NULL DEFAULT 0,
    peak_kib INTEGER NOT NULL DEFAULT 0,
    statistics TEXT NOT NULL DEFAULT ''
) STRICT;

-- A pair of programs that agree on samples, not yet judged. lift_group holds the variants
-- of one enumerated pair, generality 0 the most general.
CREATE TABLE candidate (
    id INTEGER PRIMARY KEY,
    run_id INTEGER NOT NULL REFERENCES run (id),
    rule_id TEXT NOT NULL UNIQUE
        CONSTRAINT "candidate.rule_id is 32 hex digits"
        CHECK (length(rule_id) = 32 AND rule_id NOT GLOB '*[^0-9a-f]*'),
    text TEXT NOT NULL,
    source TEXT NOT NULL,
    lift_group INTEGER NOT NULL,
    generality INTEGER NOT NULL,
    level INTEGER NOT NULL,
    shapes TEXT NOT NULL,
    field TEXT NOT NULL
) STRICT;
CREATE INDEX candidate_order ON candidate (run_id, lift_group, generality);

CREATE TABLE verdict (
    candidate_id INTEGER NOT NULL REFERENCES candidate (id),
    op_table_hash TEXT NOT NULL,
    axioms_hash TEXT NOT NULL,
    run_id INTEGER NOT NULL REFERENCES run (id),
    kind TEXT NOT NULL
        CONSTRAINT "verdict.kind is known"
        CHECK (kind IN ('UNKNOWN', 'PROVED', 'REFUTED', 'COVERED')),
    stage TEXT NOT NULL,
    reason TEXT NOT NULL,
    counterexample TEXT NOT NULL,
    shapes_checked TEXT NOT NULL,
    n_instances INTEGER NOT NULL,
    error_bound REAL NOT NULL,
    axioms TEXT NOT NULL,
    certificate TEXT NOT NULL,
    rlimit INTEGER NOT NULL,
    cpu_seconds REAL NOT NULL,
    PRIMARY KEY (candidate_id, op_table_hash, axioms_hash)
) STRICT, WITHOUT ROWID;
-- Parent key of rule's foreign key.
CREATE UNIQUE INDEX verdict_kind
    ON verdict (candidate_id, op_table_hash, axioms_hash, kind);
CREATE INDEX verdict_run ON verdict (run_id);

CREATE TABLE rule (
    id TEXT NOT NULL PRIMARY KEY
        CONSTRAINT "rule.id is 32 hex digits"
        CHECK (length(id) = 32 AND id NOT GLOB '*[^0-9a-f]*'),
    text TEXT NOT NULL,
    lhs TEXT NOT NULL,
    rhs TEXT NOT NULL,
    condition TEXT NOT NULL, -- '' if the rule holds wherever it is well-typed
    lhs_ops TEXT NOT NULL,   -- sorted, each as often as it occurs: 'add matmul matmul'
    rhs_ops TEXT NOT NULL,
    n_lhs_ops INTEGER NOT NULL,
    n_rhs_ops INTEGER NOT NULL,
    n_vars INTEGER NOT NULL,
    n_roots INTEGER NOT NULL,
    class TEXT NOT NULL
        CONSTRAINT "rule.class is known"
        CHECK (class IN ('exact', 'finite', 'float', 'range')),
    max_error REAL NOT NULL,
    level INTEGER NOT NULL,
    candidate_id INTEGER NOT NULL,
    run_id INTEGER NOT NULL REFERENCES run (id),
    op_table_hash TEXT NOT NULL,
    axioms_hash TEXT NOT NULL,
    verdict TEXT NOT NULL DEFAULT 'PROVED'
        CONSTRAINT "rule.verdict is PROVED" CHECK (verdict = 'PROVED'),
    FOREIGN KEY (candidate_id, op_table_hash, axioms_hash, verdict)
        REFERENCES verdict (candidate_id, op_table_hash, axioms_hash, kind)
) STRICT, WITHOUT ROWID;
CREATE INDEX rule_verdict ON rule (candidate_id, op_table_hash, axioms_hash, verdict);
CREATE INDEX rule_run ON rule (run_id);

CREATE TABLE axiom (
    axioms_hash TEXT NOT NULL,
    name TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (axioms_hash, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE rule_axiom (
    rule_id TEXT NOT NULL REFERENCES rule (id) ON DELETE CASCADE,
    axioms_hash TEXT NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (rule_id, axioms_hash, name),
    FOREIGN KEY (axioms_hash, name) REFERENCES axiom (axioms_hash, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX rule_axiom_name ON rule_axiom (axioms_hash, name);

CREATE TABLE cost (
    key TEXT NOT NULL PRIMARY KEY,
    seconds REAL NOT NULL
        CONSTRAINT "cost.seconds is not negative" CHECK (seconds >= 0),
    second_best REAL NOT NULL,
    n_batches INTEGER NOT NULL,
    clock TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The hashes that are current: those of the newest verify run. What was proved under
-- others is stale until it is verified again.
CREATE VIEW current_hashes AS
    SELECT id AS run_id, op_table_hash, axioms_hash FROM run
    WHERE id = (SELECT max(id) FROM run WHERE stage = 'verify');

-- Each candidate's newest verdict.
CREATE VIEW current_verdict AS
    SELECT v.* FROM verdict AS v
    WHERE v.run_id = (SELECT max(w.run_id) FROM verdict AS w
                      WHERE w.candidate_id = v.candidate_id);

-- Rules by operator: one row per rule, side and operator, n the number of occurrences.
CREATE VIEW rule_op AS
    WITH RECURSIVE word (rule_id, side, op, rest) AS (
        SELECT id, 'lhs', '', lhs_ops || ' ' FROM rule
        UNION ALL
        SELECT id, 'rhs', '', rhs_ops || ' ' FROM rule
        UNION ALL
        SELECT rule_id, side, substr(rest, 1, instr(rest, ' ') - 1),
               substr(rest, instr(rest, ' ') + 1)
        FROM word WHERE rest <> ''
    )
    SELECT rule_id, side, op, count(*) AS n FROM word WHERE op <> ''
    GROUP BY rule_id, side, op;

CREATE VIEW operator_use AS
    SELECT op, count(DISTINCT rule_id) AS rules,
           sum(side = 'lhs') AS on_lhs, sum(side = 'rhs') AS on_rhs
    FROM rule_op GROUP BY op;

-- Rules whose sides differ in operators; saved counts them, direction says which way.
CREATE VIEW reducing_rule AS
    SELECT id, abs(n_lhs_ops - n_rhs_ops) AS saved,
           CASE WHEN n_rhs_ops < n_lhs_ops THEN '=>' ELSE '<=' END AS direction,
           n_lhs_ops, n_rhs_ops, class, text
    FROM rule WHERE n_lhs_ops <> n_rhs_ops;

CREATE VIEW refuted AS
    SELECT c.id AS candidate_id, c.rule_id, c.level, c.text, v.stage, v.reason,
           v.counterexample, v.run_id
    FROM current_verdict AS v JOIN candidate AS c ON c.id = v.candidate_id
    WHERE v.kind = 'REFUTED';

CREATE VIEW pending AS
    SELECT c.id AS candidate_id, c.rule_id, c.level, c.text, v.stage, v.reason, v.rlimit,
           v.run_id
    FROM current_verdict AS v JOIN candidate AS c ON c.id = v.candidate_id
    WHERE v.kind = 'UNKNOWN';

-- Candidates that no verify run has judged yet.
CREATE VIEW unjudged AS
    SELECT c.id AS candidate_id, c.rule_id, c.level, c.text, c.run_id FROM candidate AS c
    WHERE NOT EXISTS (SELECT 1 FROM verdict AS v WHERE v.candidate_id = c.id);

-- How each rule was proved.
CREATE VIEW proof AS
    SELECT r.id AS rule_id, r.text, r.class, v.stage, v.axioms, v.n_instances,
           v.error_bound, v.shapes_checked, v.certificate, v.rlimit, v.cpu_seconds,
           run.solver, run.version, run.seed, r.op_table_hash, r.axioms_hash
    FROM rule AS r
    JOIN verdict AS v ON v.candidate_id = r.candidate_id
        AND v.op_table_hash = r.op_table_hash AND v.axioms_hash = r.axioms_hash
    JOIN run ON run.id = r.run_id;

CREATE VIEW verdict_count AS
    SELECT c.level, v.kind AS verdict, count(*) AS n, sum(v.cpu_seconds) AS cpu_seconds
    FROM current_verdict AS v JOIN candidate AS c ON c.id = v.candidate_id
    GROUP BY c.level, v.kind;

CREATE VIEW stale_rule AS
    SELECT r.id, r.text, r.op_table_hash, r.axioms_hash FROM rule AS r
    WHERE NOT EXISTS (SELECT 1 FROM current_hashes AS h
                      WHERE h.op_table_hash = r.op_table_hash
                        AND h.axioms_hash = r.axioms_hash);
