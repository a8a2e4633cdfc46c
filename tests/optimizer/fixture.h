/* SPDX-License-Identifier: Apache-2.0
 *
 * What the optimizer's suites share: graphs from text with weights that have values,
 * rules from text, and costs that depend on nothing but the graph.
 */
#ifndef NOE_TESTS_OPTIMIZER_FIXTURE_H
#define NOE_TESTS_OPTIMIZER_FIXTURE_H

#include "optimizer/optimize.h"
#include "tests/support/support.h"

/* The graph that the text describes; weights are seeded random numbers in [-1, 1). */
noe_graph *fixture_graph(noe_pool *pool, const char *text);
char *fixture_print(const noe_graph *g); /* free() it */

/* A NULL-terminated list of rules. */
void fixture_rules(noe_rule_set *set, const char *const *texts);

/* A cost model of numbers: a kernel costs the sum over its operators of `price` of the
 * operator, in milliseconds, times the elements of the result if per_element. */
typedef struct fake_price {
    noe_op op;
    double price;
} fake_price;
typedef struct fake_costs {
    noe_cost_model model;
    const fake_price *prices; /* ends with price < 0 */
    double other;             /* of operators that are not listed */
    bool per_element;
    noe_op slowed; /* measures ten times its price at first; NOE_OP_COUNT: none */
    int n_measured, n_confirmed;
} fake_costs;
void fake_costs_init(fake_costs *f, const fake_price *prices, double other);
/* The same voice for estimates, times factor. */
void fake_costs_estimate(fake_costs *f);

/* An environment without talk. */
noe_env fixture_env(void);

/* Do both graphs compute the same on three inputs, by the reference evaluator? The
 * message says where not; NULL if they do. free() it. */
char *fixture_difference(const noe_graph *a, const noe_graph *b, double rtol);

#endif
