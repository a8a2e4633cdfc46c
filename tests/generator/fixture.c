/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/generator/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_leaf(noe_space *s, const char *name, int rank, const int64_t *dim,
                     int group, int index)
{
    noe_space_leaf *leaf = &s->leaves[s->n_leaves++];
    *leaf = (noe_space_leaf){
        .shape = noe_shape_make(rank, dim), .group = group, .index = index};
    snprintf(leaf->name, sizeof leaf->name, "%s", name);
}

/* Parameters are those that the built-in space "matrix" lists. */
static void add_moves(noe_space *s, const char *ops)
{
    noe_space *built = noe_calloc(NOE_SPACE_MAX, sizeof *built);
    noe_error err = {0};
    int n;
    noe_assert_ok(noe_space_build("product", built, &n, &err), err);
    if (s->has_three) {
        noe_move where = {.op = NOE_OP_WHERE, .n_in = 3};
        where.only.rank = NOE_RANK_UNKNOWN;
        s->moves[s->n_moves++] = where;
    }
    for (int i = 0; i < 2 && strstr(ops, "cast"); i++) {
        noe_move cast = {.op = NOE_OP_CAST, .n_in = 1, .params.n = 1};
        cast.only.rank = NOE_RANK_UNKNOWN;
        cast.params.v[0] = noe_value_int(NOE_KIND_INT, i ? 1 : 10);
        s->moves[s->n_moves++] = cast;
    }
    for (int i = 0; i < built[0].n_moves; i++) {
        const char *name = noe_op_get(built[0].moves[i].op)->name;
        const char *at = strstr(ops, name);
        size_t len = strlen(name);
        if (at && (at == ops || at[-1] == ' ') && (at[len] == ' ' || !at[len]))
            s->moves[s->n_moves++] = built[0].moves[i];
    }
    free(built);
}

noe_space tiny_space(const char *ops)
{
    noe_space s = {.name = "tiny",
                   .max_elements = 40,
                   .max_dim = 12,
                   .n_samples = 8,
                   .n_roles = NOE_ROLES};
    if (strstr(ops, "where")) {
        add_leaf(&s, "m1", 2, (int64_t[]){2, 3}, 3, 0);
        s.leaves[0].role = NOE_ROLE_MASK;
        s.has_three = true;
    }
    if (strstr(ops, "cast")) {
        add_leaf(&s, "h1", 2, (int64_t[]){2, 3}, 4, 0);
        s.leaves[s.n_leaves - 1].role = NOE_ROLE_HALF;
    }
    add_leaf(&s, "x1", 2, (int64_t[]){2, 3}, 0, 0);
    add_leaf(&s, "x2", 2, (int64_t[]){2, 3}, 0, 1);
    add_leaf(&s, "w1", 2, (int64_t[]){3, 3}, 1, 0);
    noe_space_leaf *last = &s.leaves[s.n_leaves - 1];
    last->role = NOE_ROLE_WEIGHT;
    add_leaf(&s, "ones", 2, (int64_t[]){2, 3}, 2, 0);
    last = &s.leaves[s.n_leaves - 1];
    last->is_constant = true;
    last->op = NOE_OP_ONES;
    last->params.n = 1;
    last->params.v[0] = noe_value_list(NOE_KIND_INTS, 2, (int64_t[]){2, 3});
    add_moves(&s, ops);
    return s;
}

noe_env quiet_env(uint64_t seed)
{
    return (noe_env){.seed = seed, .n_threads = 1};
}

static noe_universe *build(const noe_space *space, int n_levels, uint64_t seed,
                           bool keep_all)
{
    static noe_env env; /* the universe keeps a pointer */
    noe_universe_options options = {
        .n_levels = n_levels, .n_samples = space->n_samples, .keep_all = keep_all};
    noe_universe *u;
    noe_error err = {0};
    env = quiet_env(seed);
    noe_assert_ok(noe_universe_build(space, &options, &env, &u, &err), err);
    return u;
}

noe_universe *build_universe(const noe_space *space, int n_levels, uint64_t seed)
{
    return build(space, n_levels, seed, false);
}

noe_universe *build_whole_universe(const noe_space *space, int n_levels, uint64_t seed)
{
    return build(space, n_levels, seed, true);
}
