/* SPDX-License-Identifier: Apache-2.0
 *
 * The rules that a run may use, in the direction in which it may use them. All of them
 * come from the database (or, in tests, from text); the optimizer knows none by heart.
 */
#ifndef NOE_OPTIMIZER_RULES_H
#define NOE_OPTIMIZER_RULES_H

#include "core/match.h"
#include "ruledb/ruledb.h"

/* One rule in one direction. */
typedef struct noe_usable_rule {
    char id[NOE_HASH_HEX_LEN + 1]; /* of the database's row */
    char *text;                    /* as it is used, left to right */
    bool reversed;                 /* right to left of the row */
    noe_numeric_class numeric;
    noe_tier tier;    /* NONE where the rule came from text */
    uint64_t lhs_ops; /* bit i: pattern node i is an operator of the left side */
    noe_op moves;     /* the data movement that it takes past other operators, whole,
                         towards inputs or outputs; NOE_OP_COUNT: none */
    bool inwards;
    bool reduces; /* the right side has fewer operators */
    noe_rule *rule;
} noe_usable_rule;

/* What the operands of a rule's first root have to be: most rules of a large set fail
 * here, before they are looked at. */
#define NOE_OPERANDS_LISTED 3
typedef struct noe_rule_entry {
    int rule;
    uint8_t n_inputs;
    bool commutes;
    uint8_t operand[NOE_OPERANDS_LISTED]; /* noe_op of each of the first, or ANY */
} noe_rule_entry;
#define NOE_OPERAND_ANY UINT8_MAX

typedef struct noe_rule_set {
    noe_usable_rule **rules;
    int n, cap;
    int32_t *by_text; /* hash table of rules, -1 where empty; size a power of 2 */
    uint32_t n_slots;
    /* Rules by the operator of their first root: by_op[first[op]..first[op + 1]). */
    noe_rule_entry *by_op;
    int first[NOE_OP_COUNT + 1];
    int n_rows; /* rows of the database that were considered */
} noe_rule_set;

/* Zero-initialised is empty. */
void noe_rule_set_clear(noe_rule_set *s);
/* Adds a proved rule in each direction that can be used: the left side is no variable,
 * binds all that the right side needs, and the direction does more than swap operands
 * of commutative operators (the matcher does that by itself). directions: what the
 * database says of them; UNKNOWN costs a search for places where only one side exists.
 */
NOE_NODISCARD noe_status noe_rule_set_add(noe_rule_set *s, const char *id,
                                          const char *text, noe_numeric_class numeric,
                                          noe_directions directions, noe_error *err);
/* Builds the index; to be called once all are in. */
void noe_rule_set_freeze(noe_rule_set *s);
/* Classes of rules that hold for all inputs, up to rounding. FINITE ones (x - x => 0)
 * would lose a NaN, RANGE ones may overflow where the model does not. */
#define NOE_CLASSES_SAFE (1U << NOE_CLASS_EXACT | 1U << NOE_CLASS_FLOAT)

/* Which rules of a database to take: classes, and beginnings of ids. */
typedef struct noe_rule_filter {
    unsigned classes;
    const char *const *only, *const *skip;
    int n_only, n_skip; /* n_only 0: all */
} noe_rule_filter;

/* All of the above for the rules of a database that pass the filter. Fails where the
 * beginning of an id is that of no rule. */
NOE_NODISCARD noe_status noe_rule_set_load(noe_rule_set *s, const char *path,
                                           const noe_rule_filter *filter,
                                           noe_error *err);

#endif
