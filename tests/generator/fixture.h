/* SPDX-License-Identifier: Apache-2.0
 * A space small enough to think through, and shorthands. */
#ifndef NOE_TESTS_GENERATOR_FIXTURE_H
#define NOE_TESTS_GENERATOR_FIXTURE_H

#include "generator/generate.h"
#include "tests/support/support.h"

/* x1, x2: [2,3] data, w: [3,3] weight, ones [2,3]; the operators named. With where, a
 * mask [2,3] comes before them. */
noe_space tiny_space(const char *ops);
noe_env quiet_env(uint64_t seed);
noe_universe *build_universe(const noe_space *space, int n_levels, uint64_t seed);
/* With all e-nodes of the last level. */
noe_universe *build_whole_universe(const noe_space *space, int n_levels, uint64_t seed);

#endif
