/* SPDX-License-Identifier: Apache-2.0 */
#include "optimizer/kernel.h"
#include "core/base/hash.h"
#include "core/base/rng.h"
#include "runtime/runtime.h"
#include <stdio.h>
#include <stdlib.h>

static void reserve(noe_kernels *k, uint32_t n)
{
    if (k->cap >= n)
        return;
    k->cap = n * 2;
    k->live = noe_realloc(k->live, k->cap);
    k->uses = noe_realloc(k->uses, (size_t)k->cap * sizeof *k->uses);
    k->group = noe_realloc(k->group, (size_t)k->cap * sizeof *k->group);
    k->members = noe_realloc(k->members, (size_t)k->cap * sizeof *k->members);
    k->first = noe_realloc(k->first, ((size_t)k->cap + 1) * sizeof *k->first);
}

void noe_kernels_clear(noe_kernels *k)
{
    free(k->live);
    free(k->uses);
    free(k->group);
    free(k->members);
    free(k->first);
    free(k->outer);
    *k = (noe_kernels){0};
}

/* Does node i belong to a kernel that costs something? */
static bool is_priced(const noe_kernels *k, uint32_t i)
{
    if (k->group[i] == UINT32_MAX || k->g->nodes[i].op >= NOE_OP_COUNT)
        return false;
    const noe_type *t = &k->g->nodes[k->group[i]].types[0];
    return noe_dtype_is_computed(t->dtype) && noe_shape_elements(&t->shape) > 0;
}

void noe_kernels_find(noe_kernels *k, const noe_graph *g)
{
    reserve(k, g->n_nodes + 1);
    k->g = g;
    noe_graph_mark_live(g, k->live);
    noe_graph_count_uses(g, k->live, k->uses);
    noe_fuse(g, k->live, k->uses, k->group);
    /* Counting sort by the kernel's last node; uses serves as the counters. */
    uint32_t *slot = k->uses;
    memset(slot, 0, g->n_nodes * sizeof *slot);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (is_priced(k, i))
            slot[k->group[i]]++;
    }
    uint32_t at = 0;
    k->n = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        uint32_t size = slot[i];
        slot[i] = at;
        if (size > 0)
            k->first[k->n++] = at;
        at += size;
    }
    k->first[k->n] = at;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (is_priced(k, i))
            k->members[slot[k->group[i]]++] = i;
    }
}

/* Number of r among the kernel's outer values; a new one gets the next number. */
static uint32_t outer_number(noe_kernels *k, noe_ref r)
{
    for (uint32_t i = 0; i < k->n_outer; i++) {
        if (noe_ref_eq(k->outer[i], r))
            return i;
    }
    NOE_PUSH(k->outer, k->n_outer, k->cap_outer, r);
    return k->n_outer - 1;
}

/* Position of node among the members of kernel i, or UINT32_MAX. */
static uint32_t member_number(const noe_kernels *k, uint32_t i, uint32_t node)
{
    for (uint32_t m = k->first[i]; m < k->first[i + 1]; m++) {
        if (k->members[m] == node)
            return m - k->first[i];
    }
    return UINT32_MAX;
}

static uint64_t type_hash(const noe_type *t, uint64_t seed)
{
    int64_t head[2] = {t->dtype, t->shape.rank};
    seed = noe_hash64(head, sizeof head, seed);
    return noe_hash64(t->shape.dim, (size_t)t->shape.rank * sizeof(int64_t), seed);
}

static uint64_t input_hash(noe_kernels *k, uint32_t i, noe_ref r, uint64_t seed)
{
    uint32_t member = member_number(k, i, r.node);
    if (member != UINT32_MAX)
        return noe_mix64(seed ^ (UINT64_C(1) << 40 | member));
    uint32_t before = k->n_outer;
    uint32_t number = outer_number(k, r);
    seed = noe_mix64(seed ^ (UINT64_C(2) << 40 | number));
    if (number < before)
        return seed;
    return type_hash(noe_graph_type(k->g, r), seed + k->g->nodes[r.node].is_weight);
}

/* Rank of an operand of a commutative operator: what the kernel computes itself, then
 * data, then weights. */
static int operand_rank(const noe_kernels *k, uint32_t i, noe_ref r)
{
    if (member_number(k, i, r.node) != UINT32_MAX)
        return 0;
    return 1 + k->g->nodes[r.node].is_weight;
}

/* The operands of a node in the order in which kernels are written: an operator that
 * commutes is the same kernel in both orders, whichever the graph has. */
static void ordered_operands(const noe_kernels *k, uint32_t i, uint32_t node,
                             noe_ref *operands)
{
    const noe_node *n = noe_graph_node(k->g, node);
    const noe_ref *in = noe_graph_inputs(k->g, node);
    memcpy(operands, in, n->n_inputs * sizeof *operands);
    if (!noe_op_has(n->op, NOE_TRAIT_COMMUTATIVE))
        return;
    int a = operand_rank(k, i, in[0]), b = operand_rank(k, i, in[1]);
    bool swap = a > b;
    if (a == b && a > 0)
        swap = type_hash(noe_graph_type(k->g, in[0]), 0) >
               type_hash(noe_graph_type(k->g, in[1]), 0);
    if (swap) {
        operands[0] = in[1];
        operands[1] = in[0];
    }
}

uint64_t noe_kernel_key(noe_kernels *k, uint32_t i)
{
    uint64_t key = k->first[i + 1] - k->first[i];
    k->n_outer = 0;
    for (uint32_t m = k->first[i]; m < k->first[i + 1]; m++) {
        const noe_node *n = &k->g->nodes[k->members[m]];
        noe_ref in[NOE_MAX_INPUTS];
        ordered_operands(k, i, k->members[m], in);
        key = noe_mix64(key ^ (uint64_t)n->op);
        if (n->params)
            key = noe_mix64(key ^ noe_pool_params_hash(n->params));
        for (uint32_t j = 0; j < n->n_inputs; j++)
            key = input_hash(k, i, in[j], key);
    }
    return key;
}

/* Values in [-0.5, 0.5): a short random pattern, repeated. Kernels' times do not depend
 * on values as long as they are ordinary numbers. */
static const void *random_weight(noe_arena *arena, noe_dtype dtype, int64_t elements,
                                 uint32_t number)
{
    enum { PATTERN = 4096 };
    double values[PATTERN];
    int64_t n = elements < PATTERN ? elements : PATTERN;
    size_t width = noe_dtype_bytes(dtype);
    char *data = noe_arena_alloc(arena, (size_t)elements * width + 1);
    noe_rng rng = noe_rng_split(1, "kernel weight", number);
    for (int64_t i = 0; i < n; i++)
        values[i] = (double)((float)noe_rng_unit(&rng) - 0.5F);
    noe_dtype_store(dtype, values, n, data);
    for (int64_t i = PATTERN; i < elements; i += PATTERN) {
        n = elements - i < PATTERN ? elements - i : PATTERN;
        memcpy(data + (size_t)i * width, data, (size_t)n * width);
    }
    return data;
}

static noe_ref outer_leaf(noe_kernels *k, noe_graph *dst, uint32_t number,
                          uint32_t rank, bool with_data)
{
    noe_ref r = k->outer[number];
    const noe_type *type = noe_graph_type(k->g, r);
    bool is_weight = k->g->nodes[r.node].is_weight;
    int64_t elements = noe_shape_elements(&type->shape);
    const void *data = NULL;
    char name[32];
    snprintf(name, sizeof name, "%c%u", is_weight ? 'w' : 'x', rank);
    if (is_weight && with_data)
        data = random_weight(noe_pool_arena(dst->pool), type->dtype, elements, rank);
    size_t bytes = data ? (size_t)elements * noe_dtype_bytes(type->dtype) : 0;
    uint32_t leaf = noe_pool_add_leaf(dst->pool, name, type, data, bytes, NULL);
    return noe_graph_leaf(dst, is_weight ? NOE_OP_WEIGHT : NOE_OP_INPUT, leaf);
}

/* Nodes of the kernel graph for the outer values, then for the members. */
static noe_ref *add_leaves(noe_kernels *k, uint32_t i, noe_graph *dst, bool with_data)
{
    uint32_t n_members = k->first[i + 1] - k->first[i], n_kind[2] = {0, 0};
    noe_ref *at = noe_malloc((k->n_outer + n_members) * sizeof *at);
    for (uint32_t o = 0; o < k->n_outer; o++) {
        bool is_weight = k->g->nodes[k->outer[o].node].is_weight;
        at[o] = outer_leaf(k, dst, o, n_kind[is_weight]++, with_data);
    }
    return at;
}

noe_graph *noe_kernel_graph(noe_kernels *k, uint32_t i, noe_pool *pool, bool with_data)
{
    noe_graph *dst = noe_graph_new(pool);
    noe_kernel_key(k, i); /* collects the outer values in order */
    noe_ref *at = add_leaves(k, i, dst, with_data);
    for (uint32_t m = k->first[i]; m < k->first[i + 1]; m++) {
        const noe_node *n = &k->g->nodes[k->members[m]];
        noe_ref in[NOE_MAX_INPUTS], inputs[NOE_MAX_INPUTS];
        ordered_operands(k, i, k->members[m], in);
        for (uint32_t j = 0; j < n->n_inputs; j++) {
            uint32_t member = member_number(k, i, in[j].node);
            inputs[j] = member != UINT32_MAX ? at[k->n_outer + member]
                                             : at[outer_number(k, in[j])];
        }
        noe_error err;
        noe_status status =
            noe_graph_add(dst, n->op, n->params, inputs, (int)n->n_inputs,
                          &at[k->n_outer + m - k->first[i]], &err);
        NOE_ASSERT(status == NOE_OK); /* the same node was well-typed in g */
    }
    noe_graph_add_output(dst, at[k->n_outer + k->first[i + 1] - k->first[i] - 1], "");
    free(at);
    return dst;
}

static uint64_t value_bytes(const noe_graph *g, uint32_t node)
{
    const noe_type *t = &g->nodes[node].types[0];
    int64_t elements = noe_shape_elements(&t->shape);
    return elements > 0 ? (uint64_t)elements * noe_dtype_bytes(t->dtype) : 0;
}

uint64_t noe_weight_bytes(const noe_graph *g, const uint8_t *live)
{
    uint8_t *seen = noe_calloc(g->n_nodes + 1, 1);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < g->n_outputs; i++)
        seen[g->outputs[i].ref.node] = 1;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const noe_ref *in = noe_graph_inputs(g, i);
        if (!live[i] || g->nodes[i].is_weight)
            continue;
        for (uint32_t j = 0; j < g->nodes[i].n_inputs; j++) {
            if (!noe_ref_is_none(in[j]))
                seen[in[j].node] = 1;
        }
    }
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (seen[i] && g->nodes[i].is_weight)
            bytes += value_bytes(g, i);
    }
    free(seen);
    return bytes;
}

uint32_t noe_count_operators(const noe_graph *g, const uint8_t *live)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        n += live[i] && !g->nodes[i].is_weight && g->nodes[i].op < NOE_OP_COUNT;
    return n;
}
