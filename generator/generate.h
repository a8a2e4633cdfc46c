/* SPDX-License-Identifier: Apache-2.0
 *
 * The whole stage: spaces -> universes -> pairs -> lifted candidates, and the store.
 */
#ifndef NOE_GENERATOR_GENERATE_H
#define NOE_GENERATOR_GENERATE_H

#include "generator/lift.h"
#include "generator/minimize.h"
#include "generator/prune.h"
#include "ruledb/ruledb.h"

typedef struct noe_generate_options {
    const char *ops; /* see noe_space_build */
    int n_levels;
    int n_samples;       /* 0: what each space asks for */
    bool only_enumerate; /* no pairs, no candidates: for measuring */
    uint64_t max_bytes;  /* see noe_universe_options */
    const char *folder, *checkpoints;
} noe_generate_options;

/* What became of one space. */
typedef struct noe_space_stats {
    char name[16];
    int n_levels, n_samples;
    noe_level_stats level[NOE_MAX_LEVEL + 1];
    noe_prune_stats prune;
    noe_minimize_stats minimize;
    uint64_t n_pairs;      /* handed to lifting */
    uint64_t n_unlifted;   /* no form of them could be used as a rule */
    uint64_t n_same;       /* the same text as a rule that was there already */
    uint64_t n_repeated;   /* one step by such a rule: deferred */
    uint64_t n_deferred;   /* lift groups that wait for a derivation to fail */
    uint64_t n_groups;     /* lift groups that are new */
    uint64_t n_candidates; /* their variants */
    double lift_seconds;
} noe_space_stats;

/* One step of a derivation, from the left side of a source to the right one. */
typedef struct noe_group_step {
    int group;        /* whose variant is used; or one of the two below */
    int variant;      /* the more general ones of its group would do, too */
    bool is_backward; /* from the right side of its text to the left one */
    uint8_t depth, at[NOE_STEP_MAX_DEPTH]; /* as in noe_pair_step */
} noe_group_step;
#define NOE_GROUP_SWAP (-1) /* operands of a commutative operator are exchanged */
#define NOE_GROUP_NONE (-2) /* by a pair that made no rule */

/* One lifted pair. */
typedef struct noe_group {
    noe_lifted variants;
    char *source, *shapes;
    noe_pair_kind kind;
    noe_pair_use use;
    bool is_deferred; /* derived, and of no use; stands behind what its steps use */
    int level, space;
    noe_group_step *steps;
    int n_steps;
} noe_group;

typedef struct noe_generated {
    noe_space_stats space[NOE_SPACE_MAX];
    int n_spaces;
    noe_group *groups;
    int n_groups, cap_groups;
} noe_generated;

/* Everything in memory; nothing is printed or stored. Deterministic in (options, seed).
 */
NOE_NODISCARD noe_status noe_generate(const noe_generate_options *options,
                                      const noe_env *env, noe_generated *out,
                                      noe_error *err);
void noe_generated_clear(noe_generated *g);

/* One run and all candidates, in one transaction. n_new counts texts that the database
 * did not have. */
NOE_NODISCARD noe_status noe_generated_store(const noe_generated *g,
                                             const noe_generate_options *options,
                                             const noe_env *env, noe_ruledb *db,
                                             int *n_new, noe_error *err);

/* "generate.matrix.level3.enodes 1209351 count", a line each; parsed by benchmarks. */
void noe_generated_print_stats(noe_buf *b, const noe_generated *g);

#endif
