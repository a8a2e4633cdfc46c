/* SPDX-License-Identifier: Apache-2.0
 *
 * Bottom-up enumeration, level by level (universe.h says what a level is, engine.h what
 * its steps are).
 */
#include "generator/engine.h"
#include "generator/ranks.h"

#include <stdlib.h>

typedef struct builder {
    noe_universe *u;
    const noe_universe_options *options;
    int n_threads;
    noe_sketcher **sketchers;
    noe_error *err;
} builder;

uint64_t noe_memo_hash(uint32_t move, uint32_t a, uint32_t b, uint32_t c)
{
    return noe_mix64((((uint64_t)a << 32 | b) + 1) ^
                     ((uint64_t)c << 16 | move) * UINT64_C(0x9E3779B97F4A7C15));
}

int noe_enode_operands(const noe_universe *u, const noe_enode *e,
                       uint32_t in[NOE_SPACE_MAX_IN])
{
    in[0] = e->a;
    in[1] = e->b;
    in[2] = e->c;
    return u->space->moves[e->move].n_in;
}

uint32_t noe_universe_find(const noe_universe *u, uint32_t move, uint32_t a, uint32_t b,
                           uint32_t c)
{
    if (!u->n_memo)
        return NOE_NO_OPERAND;
    for (uint64_t i = noe_memo_hash(move, a, b, c) & (u->n_memo - 1); u->memo[i];
         i = (i + 1) & (u->n_memo - 1)) {
        const noe_enode *e = &u->enodes[u->memo[i] - 1];
        if (e->move == move && e->a == a && e->b == b && e->c == c)
            return u->memo[i] - 1;
    }
    return NOE_NO_OPERAND;
}

noe_params noe_enode_params(const noe_universe *u, const noe_enode *e)
{
    return noe_move_params(&u->space->moves[e->move],
                           &u->shapes[u->classes[e->a].shape], e->b);
}

/* Level 0 */

static void fill_leaf(noe_universe *u, const noe_space_leaf *leaf, int index,
                      noe_fe *data)
{
    uint32_t n = u->n_elements[u->values[index].shape];
    noe_rng rng = noe_rng_split(u->env->seed, "leaf", (uint64_t)index);
    for (int q = 0; q < u->n_samples; q++) {
        noe_fe *to = data + (size_t)q * n;
        if (leaf->is_constant) {
            noe_tensor_fe t = {leaf->shape, to};
            noe_eval_fe(&u->field, leaf->op, &leaf->params, NULL, 0, &t);
            continue;
        }
        for (uint32_t i = 0; i < n; i++)
            to[i] = leaf->role == NOE_ROLE_MASK ? noe_fe_draw_truth(&rng)
                                                : noe_fe_draw(&u->field, &rng);
        /* A single element has one sign a sample: make both signs sure to occur. */
        while (n == 1 && leaf->role != NOE_ROLE_MASK &&
               noe_fe_sign(&u->field, to[0]) != (q % 2 ? 1 : -1))
            to[0] = noe_fe_draw(&u->field, &rng);
    }
}

static size_t value_bytes(const noe_universe *u, int shape)
{
    return (size_t)u->n_samples * u->n_elements[shape] * sizeof(noe_fe);
}

static noe_status add_leaves(builder *b)
{
    noe_universe *u = b->u;
    u->cap_values = NOE_SPACE_MAX_LEAVES;
    u->values = noe_malloc(u->cap_values * sizeof *u->values);
    u->keys = noe_malloc(u->cap_values * sizeof *u->keys);
    for (int i = 0; i < u->space->n_leaves; i++) {
        const noe_space_leaf *leaf = &u->space->leaves[i];
        int shape = noe_universe_shape(u, &leaf->shape);
        noe_gen_value *v = &u->values[u->n_values++];
        *v = (noe_gen_value){.shape = (uint16_t)shape,
                             .leaf = (uint8_t)i,
                             .role = (uint8_t)leaf->role,
                             .is_plain = noe_leaf_is_plain(leaf),
                             .occurs = leaf->is_constant ? 0 : (uint64_t)i + 1};
        memcpy(v->cuts, leaf->cuts, sizeof v->cuts);
        v->data = noe_arena_alloc(&u->arena, value_bytes(u, shape));
        fill_leaf(u, leaf, i, v->data);
        noe_projector_prepare_shape(u, shape);
        u->keys[i] = noe_value_key(shape, noe_project(u, shape, v->data));
        for (int k = 0; k < i; k++) {
            if (u->keys[k] == u->keys[i])
                return noe_fail(b->err, NOE_ERR_ARG,
                                "space %s: leaf %s equals another one", u->space->name,
                                leaf->name);
        }
        noe_gen_class c = {
            .shape = (uint16_t)shape, .n_leaves = 1, .n_constants = leaf->is_constant};
        NOE_PUSH(u->classes, u->n_classes, u->cap_classes, c);
        u->stats[0].n_values++;
    }
    return NOE_OK;
}

/* Levels above */

typedef struct filling {
    builder *b;
    uint32_t first;
} filling;

static void fill_value(void *arg, int thread, uint32_t item)
{
    const filling *f = arg;
    noe_universe *u = f->b->u;
    uint32_t v = f->first + item;
    const noe_enode *e = &u->enodes[u->classes[v].first - 1];
    noe_params params = noe_enode_params(u, e);
    noe_application p = {
        .params = &params, .move = e->move, .shape = u->values[v].shape};
    uint32_t in[NOE_SPACE_MAX_IN];
    noe_enode_operands(u, e, in);
    noe_sketcher_eval(f->b->sketchers[thread], &p, in, u->values[v].data);
}

/* Elements of the values of a level; those of level N - 1, which are nearly all, are
 * made again when they are needed. */
static void fill_values(builder *b, uint32_t first, uint32_t end)
{
    noe_universe *u = b->u;
    for (uint32_t v = first; v < end; v++)
        u->values[v].data =
            noe_arena_alloc(&u->arena, value_bytes(u, u->values[v].shape));
    filling f = {b, first};
    noe_parallel_for(b->n_threads, end - first, fill_value, &f);
}

#define MIN_RECORD_BYTES (4u << 20) /* of one thread, whatever the limit says */

/* What the limit leaves for records, beside what must be in memory. Half of it, since
 * they are sorted and kept on the way. */
static uint64_t record_bytes(const builder *b)
{
    const noe_universe *u = b->u;
    uint64_t least = (uint64_t)b->n_threads * MIN_RECORD_BYTES;
    uint64_t fixed = u->arena.used_bytes + (uint64_t)b->n_threads * NOE_SKETCH_BYTES +
                     u->n_values * (sizeof *u->values + sizeof *u->keys) +
                     u->n_supports * (sizeof *u->supports + sizeof *u->owners) +
                     u->n_classes * sizeof *u->classes +
                     u->n_enodes * sizeof *u->enodes + u->n_memo * sizeof *u->memo;
    if (!b->options->max_bytes)
        return 0;
    uint64_t left = b->options->max_bytes > fixed ? b->options->max_bytes - fixed : 0;
    if (left / 2 < least)
        noe_log(
            u->env, NOE_LOG_WARN,
            "%s: values and e-nodes take %llu MB; little is left of --max-memory for "
            "records, which go to disk",
            u->space->name, (unsigned long long)(fixed >> 20));
    return left / 2 < least ? least : left / 2;
}

static noe_status run_level(builder *b, int level)
{
    noe_universe *u = b->u;
    uint32_t first = u->n_values;
    double cpu = noe_cpu_seconds(), wall = noe_wall_seconds();
    noe_plan *plan = NULL;
    NOE_TRY(noe_plan_make(u, level, b->n_threads, &plan, b->err));
    noe_partitions *records =
        noe_partitions_new(b->n_threads, record_bytes(b), b->options->folder);
    noe_visit visit = {u, plan, level, b->n_threads, records};
    noe_visit_level(&visit);
    noe_status status = NOE_OK;
    if (noe_ranks_max(noe_cancelled(u->env)))
        status = noe_fail(b->err, NOE_ERR_CANCELLED, "interrupted at level %d", level);
    else
        status = noe_merge_level(u, plan, level, b->n_threads, b->options->keep_all,
                                 records, b->err);
    noe_partitions_free(records);
    noe_plan_free(plan);
    if (status != NOE_OK)
        return status;
    if (level < u->n_levels - 1)
        fill_values(b, first, u->n_values);
    if (level < u->n_levels)
        noe_supports_extend(u, level, b->n_threads);
    u->stats[level].n_supports = u->n_supports;
    u->stats[level].cpu_seconds = noe_cpu_seconds() - cpu;
    u->stats[level].wall_seconds = noe_wall_seconds() - wall;
    return NOE_OK;
}

/* Siblings */

/* Whether something else than e makes its value. */
static bool is_known_otherwise(const noe_universe *u, uint32_t e)
{
    uint32_t v = u->enodes[e].value;
    return v < u->n_values && u->classes[v].first != e + 1;
}

static bool may_be_sibling(const noe_universe *u, uint32_t low, uint32_t high)
{
    const noe_enode *e = &u->enodes[low];
    uint32_t i, j;
    noe_support both;
    if (high == NOE_NO_OPERAND || !e->is_canonical || noe_universe_is_leaf(u, e->a) ||
        !is_known_otherwise(u, low) || !is_known_otherwise(u, high))
        return false;
    const noe_enode *whole = &u->enodes[u->classes[e->a].first - 1];
    uint32_t x = e->value, y = u->enodes[high].value;
    return u->space->moves[whole->move].op != NOE_OP_CONCAT &&
           !u->values[x].is_closed && !u->values[y].is_closed &&
           noe_support_least(u, x, y, &i, &j, &both) <= u->n_levels;
}

static void list_siblings(noe_universe *u)
{
    for (uint32_t e = 0; e < u->n_enodes; e++) {
        const noe_enode *x = &u->enodes[e];
        if (u->space->moves[x->move].kind != NOE_MOVE_LOW)
            continue;
        uint32_t high = noe_universe_find(u, x->move + 1u, x->a, x->b, 0);
        if (!may_be_sibling(u, e, high))
            continue;
        noe_sibling s = {e, high, x->value, u->enodes[high].value, x->level};
        NOE_PUSH(u->siblings, u->n_siblings, u->cap_siblings, s);
        u->stats[x->level].n_siblings++;
    }
}

static noe_status check_options(const noe_universe_options *o, noe_error *err)
{
    if (o->n_levels < 1 || o->n_levels > NOE_MAX_LEVEL)
        return noe_fail(err, NOE_ERR_ARG, "level is %d, want 1 to %d", o->n_levels,
                        NOE_MAX_LEVEL);
    if (o->n_samples < 1 || o->n_samples > NOE_MAX_SAMPLES)
        return noe_fail(err, NOE_ERR_ARG, "samples is %d, want 1 to %d", o->n_samples,
                        NOE_MAX_SAMPLES);
    return NOE_OK;
}

/* Takes over the levels that an earlier run finished. */
static noe_status resume(builder *b, int *level)
{
    noe_universe *u = b->u;
    noe_status status = noe_checkpoint_read(u, b->options->checkpoints,
                                            b->options->keep_all, level, b->err);
    if (noe_ranks_max(*level) != *level || noe_ranks_max(-*level) != -*level)
        return noe_fail(
            b->err, NOE_ERR_IO,
            "%s: the processes find different levels there; they must share "
            "the folder",
            b->options->checkpoints);
    NOE_TRY(status);
    if (*level == 0)
        return NOE_OK;
    noe_log(u->env, NOE_LOG_INFO, "%s: %d levels taken over from %s", u->space->name,
            *level, b->options->checkpoints);
    noe_memo_rebuild(u);
    for (uint32_t first = (uint32_t)u->space->n_leaves, end; first < u->n_values;
         first = end) {
        for (end = first + 1;
             end < u->n_values && u->values[end].level == u->values[first].level; end++)
            ;
        if (u->values[first].level < u->n_levels - 1)
            fill_values(b, first, end);
    }
    return NOE_OK;
}

static noe_status run_levels(builder *b)
{
    int level = 0;
    noe_status status = NOE_OK;
    if (b->options->checkpoints)
        status = resume(b, &level);
    while (status == NOE_OK && ++level <= b->u->n_levels) {
        status = run_level(b, level);
        if (status == NOE_OK && b->options->checkpoints && noe_rank() == 0)
            status = noe_checkpoint_write(b->u, b->options->checkpoints,
                                          b->options->keep_all, level, b->err);
    }
    return status;
}

static noe_status build(builder *b)
{
    noe_universe *u = b->u;
    b->sketchers = noe_calloc((size_t)b->n_threads, sizeof *b->sketchers);
    for (int i = 0; i < b->n_threads; i++)
        b->sketchers[i] = noe_sketcher_new(u);
    noe_status status = add_leaves(b);
    if (status == NOE_OK)
        status = run_levels(b);
    if (status == NOE_OK)
        list_siblings(u);
    for (int i = 0; i < b->n_threads; i++)
        noe_sketcher_free(b->sketchers[i]);
    free(b->sketchers);
    return status;
}

noe_status noe_universe_build(const noe_space *space,
                              const noe_universe_options *options, const noe_env *env,
                              noe_universe **out, noe_error *err)
{
    *out = NULL;
    NOE_TRY(check_options(options, err));
    NOE_ASSERT(space->max_dim <= NOE_SPACE_MAX_DIM);
    noe_universe *u = noe_calloc(1, sizeof *u);
    u->space = space;
    u->env = env;
    u->field = space->is_ordered ? noe_field_make_ordered(env->seed, NOE_FIELD_RANGE)
                                 : noe_field_make(env->seed);
    u->n_levels = options->n_levels;
    u->n_samples = options->n_samples;
    u->use_sketches = !options->no_sketches;
    u->projector = noe_projector_new(env->seed, options->n_samples);
    builder b = {.u = u, .options = options, .n_threads = env->n_threads, .err = err};
    noe_status status = build(&b);
    if (status == NOE_OK)
        *out = u;
    else
        noe_universe_free(u);
    return status;
}

void noe_universe_free(noe_universe *u)
{
    if (!u)
        return;
    free(u->values);
    free(u->keys);
    free(u->supports);
    free(u->owners);
    free(u->cuts);
    free(u->classes);
    free(u->enodes);
    free(u->siblings);
    free(u->memo);
    noe_projector_free(u->projector);
    noe_arena_clear(&u->arena);
    free(u);
}
