/* SPDX-License-Identifier: Apache-2.0
 *
 * Sizes that a model leaves open.
 *
 * The algebra types graphs with numbers. An open size is carried as a prime that is
 * larger than any small number and divides no number of the model, so that a dimension
 * shows which open sizes it is a product of: 6009 = 3 * 2003 is 3 N where N is open. A
 * graph over such numbers is well-typed for every choice of open sizes from 1 up if
 * each of its nodes uses them in a way that replacing them cannot break: they are
 * carried along, compared for equality, multiplied; never subtracted, halved, bounded.
 * noe_open_allows says which uses are of that kind.
 *
 * A rule is applied to such a graph only if its terms say the same for every choice
 * (noe_open_fits): at two further assignments of primes each term has the value that
 * replacing gives, and no comparison but equality looks at an open size.
 */
#ifndef NOE_CORE_OPEN_H
#define NOE_CORE_OPEN_H

#include "core/match.h"

#define NOE_MAX_OPEN 16

/* Assignments of numbers to the open sizes. */
typedef enum noe_open_set {
    NOE_OPEN_FIRST, /* primes, those of the graph */
    NOE_OPEN_SECOND,
    NOE_OPEN_THIRD,
    NOE_OPEN_ASSUMED, /* what the user says they mostly are */
    NOE_OPEN_ONES,    /* smallest ones */
    NOE_OPEN_SMALL,   /* small and different */
    NOE_OPEN_SETS
} noe_open_set;

struct noe_open_sizes {
    int n;
    int64_t at[NOE_OPEN_SETS][NOE_MAX_OPEN];
};

/* Adds an open size; attempt: which primes to take (0, 1, ...). False: too many. */
bool noe_open_add(noe_open_sizes *o, int64_t assumed, int attempt);
/* Does the number stand for a product with an open size? */
bool noe_open_is(const noe_open_sizes *o, int64_t number);
/* The number with open sizes replaced; -1 beyond NOE_MAX_ELEMENTS. */
int64_t noe_open_at(const noe_open_sizes *o, noe_open_set set, int64_t number);
void noe_open_shape_at(const noe_open_sizes *o, noe_open_set set, noe_shape *s);
void noe_open_params_at(const noe_open_sizes *o, noe_open_set set, noe_params *p);
bool noe_open_shape_has(const noe_open_sizes *o, const noe_shape *s);

/* Is the node well-typed, with its type, whatever the open sizes are? A node whose
 * value is known without them (a weight) must not depend on them. */
bool noe_open_allows(const noe_open_sizes *o, const noe_graph *g, uint32_t node);
/* Can reshape of `from` to `to` be written without the open sizes: sizes that stay at
 * their place are copied (0), one more is what is left (-1)? how (may be NULL) gets the
 * entries. */
bool noe_open_reshape(const noe_open_sizes *o, const noe_shape *from,
                      const noe_value *to, int64_t *how);
/* Can a new node be written without the open sizes? */
bool noe_open_writable(const noe_open_sizes *o, const noe_graph *g, uint32_t node);
/* Do condition and parameter terms of the rule hold for every choice of open sizes? */
bool noe_open_fits(const noe_open_sizes *o, const noe_rule *rule,
                   const noe_binding *binding);

/* g over other sizes, in a pool of its own. Weights keep their data. */
NOE_NODISCARD noe_status noe_open_graph_at(const noe_open_sizes *o, noe_open_set set,
                                           const noe_graph *g, noe_pool *pool,
                                           noe_graph **out, noe_error *err);
/* Are a and b, over the first and over another set of primes, the same graph? */
bool noe_open_same(const noe_open_sizes *o, const noe_graph *a, noe_open_set set,
                   const noe_graph *b);

#endif
