/* SPDX-License-Identifier: Apache-2.0
 *
 * The rule database: runs, candidates, verdicts, rules, axioms, evidence, and measured
 * costs, in SQLite (STRICT tables, foreign keys, WAL, user_version migrations; schema
 * in ruledb/schema.sql, documented in docs/ruledb.md). This folder is the only one that
 * includes sqlite3.h. Texts are the canonical text form of core/rule.h; ids are the
 * content hash of that text in hex (noe_rule_id).
 *
 * All strings passed in are copied; strings in callbacks live until the callback
 * returns. Not thread-safe: one connection, used by one thread.
 */
#ifndef NOE_RULEDB_RULEDB_H
#define NOE_RULEDB_RULEDB_H

#include "core/base/env.h"
#include "core/base/status.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct noe_ruledb noe_ruledb;

typedef enum noe_ruledb_mode {
    NOE_RULEDB_READ,   /* must exist */
    NOE_RULEDB_WRITE,  /* must exist; migrated if old */
    NOE_RULEDB_CREATE, /* made if absent; migrated if old */
} noe_ruledb_mode;

const char *noe_ruledb_library(void); /* "SQLite 3.40.1" */
NOE_NODISCARD noe_status noe_ruledb_open(const char *path, noe_ruledb_mode mode,
                                         noe_ruledb **db, noe_error *err);
void noe_ruledb_close(noe_ruledb *db); /* NULL is fine; an open batch is rolled back */
/* One transaction a batch: everything between begin and commit lands or nothing does.
 */
NOE_NODISCARD noe_status noe_ruledb_begin(noe_ruledb *db, noe_error *err);
NOE_NODISCARD noe_status noe_ruledb_commit(noe_ruledb *db, noe_error *err);
void noe_ruledb_rollback(noe_ruledb *db); /* without a batch: nothing */

/* A run of a stage. finish fills the totals. */
typedef struct noe_run {
    const char *stage;   /* "generate" or "verify" */
    const char *config;  /* what was asked for: "ops=taso n=3 samples=4" */
    const char *version; /* noe_version */
    uint64_t seed;
    uint64_t op_table_hash;
    uint64_t axioms_hash; /* verify; else 0 */
    const char *solver;   /* verify: "Z3 4.8.12"; else "" */
} noe_run;
NOE_NODISCARD noe_status noe_ruledb_add_run(noe_ruledb *db, const noe_run *run,
                                            int64_t *run_id, noe_error *err);
NOE_NODISCARD noe_status noe_ruledb_finish_run(noe_ruledb *db, int64_t run_id,
                                               double cpu_seconds, int64_t peak_kib,
                                               const char *statistics, noe_error *err);

/* Candidates come in lift groups: the variants of one enumerated pair, most general
 * first (generality 0, 1, 2, ...). noether-verify takes the first of a group that it
 * proves; the later ones are then COVERED. A text that exists already is left alone
 * (*is_new 0). */
typedef struct noe_candidate {
    int64_t id, run;     /* out, in callbacks; a group is identified by run and group */
    const char *text;    /* canonical rule text */
    const char *rule_id; /* its content id */
    const char *source;  /* the enumerated pair with concrete shapes, for provenance */
    int64_t group;       /* lift group, unique in the run */
    int generality;
    int level;          /* operators of the larger side when enumerated */
    const char *shapes; /* "a=[2,3] b=[3,4]": shapes it was seen at */
    const char *field;  /* "p=2147146559 samples=4" */
    const char *kind;   /* "axiom" (NULL is that), "derived", "sibling" */
    const char *use;    /* what a derived one is good for: "folds weights"; or "" */
    bool is_deferred;   /* derivable and of no use: judged only if that fails */
} noe_candidate;
NOE_NODISCARD noe_status noe_ruledb_add_candidate(noe_ruledb *db, int64_t run_id,
                                                  const noe_candidate *c, bool *is_new,
                                                  noe_error *err);
/* A refuted candidate with a condition: a candidate in a group of its own, as the one
 * it narrows but for its text. added gets id, run and group, also of a text that is
 * there already (*is_new false). */
NOE_NODISCARD noe_status noe_ruledb_add_narrowed(noe_ruledb *db, int64_t candidate_id,
                                                 const char *rule_id, const char *text,
                                                 noe_candidate *added, bool *is_new,
                                                 noe_error *err);
/* Candidates without a verdict under (op_table_hash, axioms_hash), by run, group,
 * generality. fn must not write to db; collect first. */
typedef noe_status noe_candidate_fn(void *ctx, const noe_candidate *c, noe_error *err);
NOE_NODISCARD noe_status noe_ruledb_each_open_candidate(noe_ruledb *db,
                                                        uint64_t op_table_hash,
                                                        uint64_t axioms_hash,
                                                        noe_candidate_fn *fn, void *ctx,
                                                        noe_error *err);

/* One step of the derivation of a candidate's source (schema_2.sql). */
typedef struct noe_derivation_row {
    int step;             /* 1, 2, ... */
    const char *rule_id;  /* of a candidate, "" for an exchange of operands, "-" */
    bool is_backward;     /* its right side becomes its left one */
    const char *position; /* "0.1"; "" is the root */
} noe_derivation_row;
/* The candidate, named by its content id, must be there. */
NOE_NODISCARD noe_status noe_ruledb_add_derivation_step(noe_ruledb *db,
                                                        const char *rule_id,
                                                        const noe_derivation_row *row,
                                                        noe_error *err);
/* Whether the candidates of a group have a derivation all of whose steps rest on
 * candidates that are proved under these hashes (or follow from such themselves). */
NOE_NODISCARD noe_status noe_ruledb_group_follows(noe_ruledb *db, int64_t run,
                                                  int64_t group, uint64_t op_table_hash,
                                                  uint64_t axioms_hash, bool *follows,
                                                  noe_error *err);

/* The texts of the rules that the derivation of a group rests on, if need be through
 * other derivations: those of its candidates that are proved under these hashes. */
typedef noe_status noe_premise_fn(void *ctx, const char *text, noe_error *err);
NOE_NODISCARD noe_status noe_ruledb_each_premise(noe_ruledb *db, int64_t run,
                                                 int64_t group, uint64_t op_table_hash,
                                                 uint64_t axioms_hash,
                                                 noe_premise_fn *fn, void *ctx,
                                                 noe_error *err);

#define NOE_VERDICT_MAP(XX)                                     \
    XX(UNKNOWN) /* not decided within the limits; never used */ \
    XX(PROVED)                                                  \
    XX(REFUTED)                                                 \
    XX(COVERED) /* a more general variant of its group was proved */

typedef enum noe_verdict_kind {
#define XX(ID) NOE_VERDICT_##ID,
    NOE_VERDICT_MAP(XX)
#undef XX
} noe_verdict_kind;
const char *noe_verdict_kind_name(noe_verdict_kind kind); /* "PROVED" */

/* Which stages proved a rule. */
#define NOE_TIER_MAP(XX)                                                 \
    XX(NONE, "") /* not proved */                                        \
    XX(A, "A")   /* derived from the axioms, and proved for all sizes */ \
    XX(B, "B")   /* proved for all sizes */                              \
    XX(C, "C")   /* derived from the axioms, checked at instances only */
typedef enum noe_tier {
#define XX(ID, NAME) NOE_TIER_##ID,
    NOE_TIER_MAP(XX)
#undef XX
} noe_tier;
const char *noe_tier_name(noe_tier tier);
bool noe_tier_from_name(const char *name, noe_tier *tier);

typedef struct noe_verdict {
    noe_verdict_kind kind; /* zero-initialised is UNKNOWN */
    const char *stage;     /* which stage decided: "type", "field", "z3", "lia" */
    const char *reason;    /* one line */
    const char
        *counterexample; /* REFUTED: shapes, seed, position, both values; else "" */
    const char
        *shapes_checked;     /* what FIELD evaluated: "48 instances, ranks 0-5, ..." */
    int n_instances;         /* well-typed instances evaluated by FIELD */
    double error_bound;      /* probability that a false rule passed FIELD */
    const char *axioms;      /* names of axioms used, space separated */
    const char *certificate; /* ground instances, one a line; may be "" */
    int64_t rlimit;          /* Z3 resource units used */
    double cpu_seconds;
    noe_tier tier; /* PROVED: NONE is taken as C */
    const char
        *ranks; /* of the all-sizes proof: "36 schemes, ranks to 5"; may be NULL */
    const char *laws;  /* law packs it used, space separated; may be NULL */
    int64_t questions; /* of linear arithmetic that it put to Z3 */
    const char
        *precondition; /* REFUTED: how the search for a condition went; may be NULL */
} noe_verdict;
/* run_id must be a verify run; the verdict holds under its hashes, and replaces an
 * earlier one under the same hashes. One that is not PROVED removes rules that rested
 * on it. */
NOE_NODISCARD noe_status noe_ruledb_set_verdict(noe_ruledb *db, int64_t run_id,
                                                int64_t candidate_id,
                                                const noe_verdict *v, noe_error *err);

/* Takes COVERED under run_id's hashes back from the candidates of a group: what covered
 * them is no longer proved. They are open again. */
NOE_NODISCARD noe_status noe_ruledb_reopen_group(noe_ruledb *db, int64_t run_id,
                                                 int64_t run, int64_t group,
                                                 noe_error *err);

/* Numeric class of a proved rule (issue: exact, exact if finite, reassociating, range).
 */
#define NOE_CLASS_MAP(XX)                                                             \
    XX(EXACT, "exact")   /* same bits for every input */                              \
    XX(FINITE, "finite") /* same bits if all values are finite */                     \
    XX(FLOAT, "float")   /* same up to rounding */                                    \
    XX(RANGE, "range") /* may over- or underflow or be undefined where the other side \
                          is not */
typedef enum noe_numeric_class {
#define XX(ID, NAME) NOE_CLASS_##ID,
    NOE_CLASS_MAP(XX)
#undef XX
} noe_numeric_class;
const char *noe_numeric_class_name(noe_numeric_class c);
bool noe_numeric_class_from_name(const char *name, noe_numeric_class *c);

/* What a proved rule is worth where elements are integers. */
#define NOE_INTEGERS_MAP(XX)                                                         \
    XX(NONE, "none")       /* nothing: it divides, or computes other real numbers */ \
    XX(BOUNDED, "bounded") /* both sides are equal where nothing overflows */        \
    XX(WRAP, "wrap")       /* and with all integers that wrap around, of any width */
typedef enum noe_integers {
#define XX(ID, NAME) NOE_INTEGERS_##ID,
    NOE_INTEGERS_MAP(XX)
#undef XX
} noe_integers;
const char *noe_integers_name(noe_integers i);

/* In which directions a proved rule may be used: those in which what it makes exists
 * wherever what it matches does (noe_field_keeps_domain). */
#define NOE_DIRECTIONS_MAP(XX)                                          \
    XX(UNKNOWN, "") /* stored before schema version 6: not looked at */ \
    XX(NONE, "none")                                                    \
    XX(RIGHT, "left to right")                                          \
    XX(LEFT, "right to left")                                           \
    XX(BOTH, "both")
typedef enum noe_directions {
#define XX(ID, NAME) NOE_DIRECTIONS_##ID,
    NOE_DIRECTIONS_MAP(XX)
#undef XX
} noe_directions;
const char *noe_directions_name(noe_directions d);
bool noe_directions_from_name(const char *name, noe_directions *d);

typedef struct noe_rule_row {
    const char *id, *text, *lhs, *rhs, *where, *lhs_ops, *rhs_ops;
    int n_lhs_ops, n_rhs_ops, n_vars, n_roots;
    noe_numeric_class numeric;
    noe_integers integers; /* in */
    noe_directions directions;
    double max_error;  /* largest relative difference seen in f32 runs */
    int64_t candidate; /* candidate that became this rule */
    int level;
    noe_tier tier;          /* out; a rule that is added gets that of its verdict */
    const char *where_smt2; /* in: the condition as SMT-LIB2; NULL is "" */
} noe_rule_row;
/* Adds a rule with its PROVED verdict's hashes, or replaces the rule of that id. The
 * candidate must have a PROVED verdict under the run's hashes, and the axioms that the
 * verdict names must have been added under the run's axioms hash. */
NOE_NODISCARD noe_status noe_ruledb_add_rule(noe_ruledb *db, int64_t run_id,
                                             const noe_rule_row *row, noe_error *err);
/* Rules proved under this operator table hash and the axioms of the newest verify run
 * that has it, ordered by id: what the optimizer loads. A row that noether-verify would
 * not have written (wrong types, unknown class) is an error. */
typedef noe_status noe_rule_row_fn(void *ctx, const noe_rule_row *row, noe_error *err);
NOE_NODISCARD noe_status noe_ruledb_each_rule(noe_ruledb *db, uint64_t op_table_hash,
                                              noe_rule_row_fn *fn, void *ctx,
                                              noe_error *err);

/* How a rule was proved. */
typedef struct noe_proof_row {
    const char *id, *text, *certificate;
    int64_t candidate, run, group; /* of its candidate */
    int level;
    noe_tier tier;
    const char *op_table_hash, *axioms_hash; /* that it was proved under */
} noe_proof_row;
/* The proofs of the rules that noe_ruledb_each_rule gives; with all_hashes those of
 * every rule there is, stale ones too. Ordered by id. fn must not write to db. */
typedef noe_status noe_proof_row_fn(void *ctx, const noe_proof_row *row,
                                    noe_error *err);
NOE_NODISCARD noe_status noe_ruledb_each_proof(noe_ruledb *db, uint64_t op_table_hash,
                                               bool all_hashes, noe_proof_row_fn *fn,
                                               void *ctx, noe_error *err);

/* The axioms of a verify run, so that "which rules used axiom X" is a query. */
NOE_NODISCARD noe_status noe_ruledb_add_axiom(noe_ruledb *db, uint64_t axioms_hash,
                                              const char *name, const char *text,
                                              noe_error *err);

/* Measured costs. The key is text: graph of the kernel, device, library version, thread
 * count, weight regime. */
typedef struct noe_cost_row {
    const char *key;
    double seconds;     /* smallest batch, a run */
    double second_best; /* next smallest: their gap is the noise */
    int n_batches;
    const char *clock; /* "thread-cpu" or "wall" */
} noe_cost_row;
/* row->key is the caller's key, row->clock lives until the next call. */
NOE_NODISCARD noe_status noe_ruledb_get_cost(noe_ruledb *db, const char *key,
                                             bool *found, noe_cost_row *row,
                                             noe_error *err);
NOE_NODISCARD noe_status noe_ruledb_put_cost(noe_ruledb *db, const noe_cost_row *row,
                                             noe_error *err);

#endif
