/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of lifting, for each other: lift_look.c looks at choices and remembers what
 * it saw; lift_slot.c generalises forms and lift_condition.c conditions; lift.c puts
 * them in order and keeps variants.
 */
#ifndef NOE_GENERATOR_LIFTER_H
#define NOE_GENERATOR_LIFTER_H

#include "generator/lift.h"
#include "generator/lift_form.h"

#define NOE_LIFT_WIDE_END                                                            \
    32                        /* instances for a variant to be kept, and for choices \
                                 where that failed */
#define NOE_LIFT_SEARCHED  48 /* of the same, as the verifier looks for them */
#define NOE_LIFT_MIN_FOUND 3  /* of those looked at, unless there were fewer before */
#define NOE_LIFT_MAX_MEMO  512
#define NOE_LIFT_MAX_WRONG 8
#define NOE_LIFT_MAX_KEPT  32

typedef struct noe_lifter {
    noe_forms forms;
    uint64_t seed;
    noe_choice c;   /* the present one */
    noe_look look;  /* at c */
    bool is_strict; /* counterexamples did not help: more is looked at */
    noe_rule *rule; /* of the choice with this key */
    uint64_t rule_key;
    noe_lifted *out;
    /* What was seen of choices; wide: of N_WIDE and of NOE_LIFT_WIDE_END instances. */
    struct noe_lift_memo {
        uint64_t key;
        struct noe_lift_seen {
            bool is_done, ok;
        } near, wide[2], searched;
        int n_typed, n_wrong; /* n_wrong: counterexamples looked at */
        bool is_wrong;
        noe_look look[2];
    } memo[NOE_LIFT_MAX_MEMO];
    int n_memo;
    /* Where a choice turned out to be wrong: shapes of variables, values of slots, and
     * which of them it had, a bit each. */
    struct noe_lift_wrong {
        noe_shape shape[NOE_PAIR_MAX_VARS];
        noe_value value[NOE_LIFT_MAX_SLOTS];
        uint32_t vars, slots;
    } wrong[NOE_LIFT_MAX_WRONG];
    int n_wrong;
    uint64_t kept[NOE_LIFT_MAX_KEPT]; /* choices that were to be kept so far */
    int n_kept;
} noe_lifter;

/* lift_look.c. Whatever is asked of a choice is looked at once. */
uint64_t noe_lifter_key(const noe_lifter *l, const noe_choice *c);
/* Whether the choice is not refuted at the pair's instance, around it, and where others
 * were; n_typed as in noe_rule_survives_near. */
bool noe_lifter_is_near(noe_lifter *l, const noe_choice *c, int *n_typed);
/* The same, and at a few instances elsewhere. */
bool noe_lifter_is_good(noe_lifter *l, const noe_choice *c, noe_look *look);
/* The same, at NOE_LIFT_WIDE_END instances; its rule becomes l->rule. */
bool noe_lifter_survives(noe_lifter *l, const noe_choice *c);
/* Of a good choice: whether it is not refuted at these and as the verifier looks for
 * instances. If it is, that is a counterexample to others. */
bool noe_lifter_is_true(noe_lifter *l, const noe_choice *c);
/* Whether the choice may follow the present one: it must not be good only because
 * hardly anything is an instance of it. */
bool noe_lifter_may_follow(noe_lifter *l, const noe_choice *c, noe_look *look);
void noe_lifter_take(noe_lifter *l, const noe_choice *c, const noe_look *look);
/* Takes a choice that may follow. */
bool noe_lifter_try(noe_lifter *l, const noe_choice *c);
/* The same, if the variables of these slots (a bit each) then have several values. */
bool noe_lifter_try_varied(noe_lifter *l, const noe_choice *c, uint32_t slots);
noe_form_kind noe_lifter_chosen(const noe_lifter *l, const noe_choice *c, int slot);

/* lift_slot.c */
typedef bool noe_slot_filter(const noe_slot *s);
/* Each slot of the kind gets the form that is well-typed most often. */
void noe_lifter_free_slots(noe_lifter *l, noe_slot_filter *filter);
/* All shapes in one manner at once: one alone does not fit the others' numbers. */
void noe_lifter_free_shapes(noe_lifter *l);
/* Any shape that a reshape may ask for, where that is true. */
void noe_lifter_free_reshapes(noe_lifter *l);
/* All slots that can be terms over others at once, then one after the other. */
void noe_lifter_free_dependent(noe_lifter *l);
void noe_lifter_free_axes(noe_lifter *l);
void noe_lifter_free_groups(noe_lifter *l);
/* Any bounds of one axis are worth more than the pair's bounds of any axis. */
void noe_lifter_free_bounds(noe_lifter *l);
void noe_lifter_drop_ranks(noe_lifter *l);

/* lift_condition.c */
void noe_lifter_say_ranks(const noe_lifter *l, noe_choice *c, noe_rank_said said);
/* All that can be said of shapes, and that of ranks. */
void noe_lifter_say_all(const noe_lifter *l, noe_choice *c, noe_rank_said ranks);
void noe_lifter_drop_twins(noe_lifter *l);
/* Ranks that could not be dropped together, of all variables but one (-1: of all). */
void noe_lifter_drop_single_ranks(noe_lifter *l, int but);
/* plain: only to what says in plain words where ones are. */
void noe_lifter_weaken_spreads(noe_lifter *l, bool plain);

#endif
