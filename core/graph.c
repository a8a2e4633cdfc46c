/* SPDX-License-Identifier: Apache-2.0
 *
 * Hash-consed graphs. The structural hash of a node covers operator name, parameters,
 * output types and the hashes of its inputs (for commutative operators in either
 * order), so equal values have equal hashes in all graphs of a pool. Within one graph
 * equality is decided exactly, on refs; across graphs the 64-bit hash is the identity.
 */
#include "core/graph.h"
#include "core/base/hash.h"
#include "core/base/rng.h"
#include <stdlib.h>

#define MIN_TABLE 64

noe_graph *noe_graph_new(noe_pool *pool)
{
    noe_graph *g = noe_calloc(1, sizeof *g);
    g->pool = pool;
    return g;
}

static void *copy_array(const void *p, size_t n, size_t bytes)
{
    if (n == 0)
        return NULL;
    void *copy = noe_malloc(n * bytes);
    memcpy(copy, p, n * bytes);
    return copy;
}

noe_graph *noe_graph_copy(const noe_graph *g)
{
    noe_graph *copy = noe_malloc(sizeof *copy);
    *copy = *g;
    copy->nodes = copy_array(g->nodes, g->n_nodes, sizeof *g->nodes);
    copy->cap_nodes = g->n_nodes;
    copy->inputs_of = copy_array(g->inputs_of, g->n_inputs_of, sizeof *g->inputs_of);
    copy->cap_inputs_of = g->n_inputs_of;
    copy->outputs = copy_array(g->outputs, g->n_outputs, sizeof *g->outputs);
    copy->cap_outputs = g->n_outputs;
    copy->table = copy_array(g->table, g->table_size, sizeof *g->table);
    return copy;
}

void noe_graph_free(noe_graph *g)
{
    if (!g)
        return;
    free(g->nodes);
    free(g->inputs_of);
    free(g->outputs);
    free(g->table);
    free(g);
}

const noe_type *noe_graph_type(const noe_graph *g, noe_ref r)
{
    NOE_ASSERT(r.node < g->n_nodes && r.port < g->nodes[r.node].n_outputs);
    return &g->nodes[r.node].types[r.port];
}

const noe_leaf *noe_graph_leaf_of(const noe_graph *g, uint32_t node)
{
    const noe_node *n = noe_graph_node(g, node);
    NOE_ASSERT(n->op == NOE_OP_INPUT || n->op == NOE_OP_WEIGHT);
    return noe_pool_leaf(g->pool, n->leaf);
}

void noe_graph_set_origin(noe_graph *g, uint32_t node, uint32_t origin)
{
    if (g->nodes[node].origin == 0)
        g->nodes[node].origin = origin;
}

void noe_graph_set_name(noe_graph *g, uint32_t node, const char *name)
{
    if (!g->nodes[node].name && name && *name)
        g->nodes[node].name = noe_pool_name(g->pool, name);
}

/* ---- hash-consing ---- */

static bool is_commutative(const noe_node *n)
{
    return n->op < NOE_OP_COUNT && noe_op_has(n->op, NOE_TRAIT_COMMUTATIVE);
}

static uint64_t ref_hash(const noe_graph *g, noe_ref r)
{
    if (noe_ref_is_none(r))
        return 0x9e3779b97f4a7c15u;
    return g->nodes[r.node].hash + (uint64_t)r.port * 0xd6e8feb86659fd93u;
}

static uint64_t node_hash(const noe_graph *g, const noe_node *n, const noe_ref *inputs)
{
    const char *name = noe_op_get(n->op)->name;
    uint64_t hash = noe_hash64(name, strlen(name), n->n_outputs);
    if (n->op == NOE_OP_INPUT || n->op == NOE_OP_WEIGHT)
        return noe_hash64(&noe_pool_leaf(g->pool, n->leaf)->hash, sizeof(uint64_t),
                          hash);
    if (n->op == NOE_OP_OPAQUE)
        hash = noe_hash64(&n->leaf, sizeof n->leaf, hash);
    if (n->params)
        hash = noe_mix64(hash ^ noe_pool_params_hash(n->params));
    if (is_commutative(n)) {
        uint64_t a = ref_hash(g, inputs[0]), b = ref_hash(g, inputs[1]);
        uint64_t pair[2] = {a < b ? a : b, a < b ? b : a};
        return noe_hash64(pair, sizeof pair, hash);
    }
    for (uint32_t i = 0; i < n->n_inputs; i++) {
        uint64_t h = ref_hash(g, inputs[i]);
        hash = noe_hash64(&h, sizeof h, hash);
    }
    return hash;
}

static bool same_inputs(const noe_node *n, const noe_ref *a, const noe_ref *b)
{
    bool same = true;
    for (uint32_t i = 0; i < n->n_inputs && same; i++)
        same = noe_ref_eq(a[i], b[i]);
    if (!same && is_commutative(n))
        same = noe_ref_eq(a[0], b[1]) && noe_ref_eq(a[1], b[0]);
    return same;
}

static bool same_leaf(const noe_graph *g, const noe_node *a, const noe_node *b)
{
    if (a->op == NOE_OP_OPAQUE)
        return a->leaf == b->leaf;
    if (a->op != NOE_OP_INPUT && a->op != NOE_OP_WEIGHT)
        return true;
    const noe_leaf *x = noe_pool_leaf(g->pool, a->leaf);
    const noe_leaf *y = noe_pool_leaf(g->pool, b->leaf);
    if (a->leaf == b->leaf)
        return true;
    return a->op == NOE_OP_WEIGHT && x->data && y->data && x->hash == y->hash &&
           noe_type_eq(&x->type, &y->type) && x->data_bytes == y->data_bytes &&
           memcmp(x->data, y->data, x->data_bytes) == 0;
}

static bool same_node(const noe_graph *g, const noe_node *a, const noe_ref *a_inputs,
                      const noe_node *b)
{
    return a->hash == b->hash && a->op == b->op && a->params == b->params &&
           a->n_inputs == b->n_inputs && a->n_outputs == b->n_outputs &&
           same_leaf(g, a, b) &&
           same_inputs(a, a_inputs, noe_graph_inputs(g, (uint32_t)(b - g->nodes)));
}

static void table_insert(noe_graph *g, uint32_t node)
{
    uint32_t i = (uint32_t)g->nodes[node].hash & (g->table_size - 1);
    while (g->table[i])
        i = (i + 1) & (g->table_size - 1);
    g->table[i] = node + 1;
}

static void table_reserve(noe_graph *g)
{
    if ((g->n_nodes + 1) * 2 <= g->table_size)
        return;
    free(g->table);
    g->table_size = g->table_size ? g->table_size * 2 : MIN_TABLE;
    g->table = noe_calloc(g->table_size, sizeof *g->table);
    for (uint32_t i = 0; i < g->n_nodes; i++)
        table_insert(g, i);
}

static void push_input(noe_graph *g, noe_ref r)
{
    NOE_ASSERT(noe_ref_is_none(r) || r.node < g->n_nodes);
    NOE_PUSH(g->inputs_of, g->n_inputs_of, g->cap_inputs_of, r);
}

/* Adds a node whose type and hash are known, or finds its equal. inputs must not point
 * into g. */
static noe_ref intern_hashed(noe_graph *g, noe_node *n, const noe_ref *inputs)
{
    table_reserve(g);
    uint32_t i = (uint32_t)n->hash & (g->table_size - 1);
    for (; g->table[i]; i = (i + 1) & (g->table_size - 1)) {
        uint32_t found = g->table[i] - 1;
        if (same_node(g, n, inputs, &g->nodes[found])) {
            noe_graph_set_origin(g, found, n->origin);
            noe_graph_set_name(g, found, n->name);
            return (noe_ref){found, 0};
        }
    }
    n->first_input = g->n_inputs_of;
    for (uint32_t k = 0; k < n->n_inputs; k++)
        push_input(g, inputs[k]);
    NOE_PUSH(g->nodes, g->n_nodes, g->cap_nodes, *n);
    g->table[i] = g->n_nodes;
    return (noe_ref){g->n_nodes - 1, 0};
}

static noe_ref intern_node(noe_graph *g, noe_node *n, const noe_ref *inputs)
{
    n->hash = node_hash(g, n, inputs);
    return intern_hashed(g, n, inputs);
}

/* ---- building ---- */

noe_ref noe_graph_leaf(noe_graph *g, noe_op input_or_weight, uint32_t leaf)
{
    const noe_leaf *l = noe_pool_leaf(g->pool, leaf);
    noe_node n = {.op = input_or_weight,
                  .n_outputs = 1,
                  .is_weight = input_or_weight == NOE_OP_WEIGHT,
                  .leaf = leaf,
                  .types = noe_pool_types(g->pool, &l->type, 1)};
    if (*l->name)
        n.name = l->name;
    return intern_node(g, &n, NULL);
}

static bool inputs_are_weights(const noe_graph *g, noe_op op, const noe_ref *inputs,
                               int n)
{
    if (n == 0)
        return noe_op_has(op, NOE_TRAIT_CONSTANT);
    for (int i = 0; i < n; i++) {
        if (!g->nodes[inputs[i].node].is_weight)
            return false;
    }
    return true;
}

noe_status noe_graph_add(noe_graph *g, noe_op op, const noe_params *params,
                         const noe_ref *inputs, int n_inputs, noe_ref *out,
                         noe_error *err)
{
    NOE_ASSERT(op < NOE_OP_COUNT);
    const noe_op_info *info = noe_op_get(op);
    if (n_inputs < info->min_in || n_inputs > info->max_in)
        return noe_fail(err, NOE_ERR_SHAPE, "%s: %d inputs, want %d to %d", info->name,
                        n_inputs, info->min_in, info->max_in);
    noe_type in[NOE_MAX_INPUTS], type;
    noe_params normal = {0};
    for (int i = 0; i < n_inputs; i++) {
        in[i] = *noe_graph_type(g, inputs[i]);
        if (!noe_shape_is_static(&in[i].shape))
            return noe_fail(err, NOE_ERR_SHAPE, "%s: shape of input %d is not known",
                            info->name, i);
    }
    if (info->n_params > 0) {
        NOE_ASSERT(params && params->n == info->n_params);
        normal = *params;
        NOE_TRY(noe_params_normalize(op, &normal, in, n_inputs, err));
    }
    NOE_TRY(
        noe_op_infer(op, info->n_params ? &normal : NULL, in, n_inputs, &type, err));
    noe_node n = {.op = op,
                  .n_outputs = 1,
                  .is_weight = inputs_are_weights(g, op, inputs, n_inputs),
                  .n_inputs = (uint32_t)n_inputs,
                  .types = noe_pool_types(g->pool, &type, 1)};
    if (info->n_params > 0)
        n.params = noe_pool_params(g->pool, &normal);
    *out = intern_node(g, &n, inputs);
    return NOE_OK;
}

noe_ref noe_graph_add_opaque(noe_graph *g, uint32_t number, const noe_ref *inputs,
                             uint32_t n_inputs, const noe_type *types,
                             uint32_t n_outputs)
{
    NOE_ASSERT(n_outputs <= UINT16_MAX);
    noe_node n = {.op = NOE_OP_OPAQUE,
                  .n_outputs = (uint16_t)n_outputs,
                  .n_inputs = n_inputs,
                  .leaf = number,
                  .types = noe_pool_types(g->pool, types, (int)n_outputs)};
    return intern_node(g, &n, inputs);
}

void noe_graph_add_output(noe_graph *g, noe_ref ref, const char *name)
{
    NOE_ASSERT(ref.node < g->n_nodes && ref.port < g->nodes[ref.node].n_outputs);
    noe_output out = {ref, noe_pool_name(g->pool, name ? name : "")};
    NOE_PUSH(g->outputs, g->n_outputs, g->cap_outputs, out);
}

/* ---- whole-graph facts ---- */

void noe_graph_mark_live(const noe_graph *g, uint8_t *live)
{
    memset(live, 0, g->n_nodes);
    for (uint32_t i = 0; i < g->n_outputs; i++)
        live[g->outputs[i].ref.node] = 1;
    for (uint32_t i = g->n_nodes; i-- > 0;) {
        if (!live[i])
            continue;
        const noe_ref *in = noe_graph_inputs(g, i);
        for (uint32_t k = 0; k < g->nodes[i].n_inputs; k++) {
            if (!noe_ref_is_none(in[k]))
                live[in[k].node] = 1;
        }
    }
}

void noe_graph_count_uses(const noe_graph *g, const uint8_t *live, uint32_t *uses)
{
    memset(uses, 0, g->n_nodes * sizeof *uses);
    for (uint32_t i = 0; i < g->n_outputs; i++)
        uses[g->outputs[i].ref.node]++;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (!live[i])
            continue;
        const noe_ref *in = noe_graph_inputs(g, i);
        for (uint32_t k = 0; k < g->nodes[i].n_inputs; k++) {
            if (!noe_ref_is_none(in[k]))
                uses[in[k].node]++;
        }
    }
}

uint64_t noe_graph_hash(const noe_graph *g)
{
    uint64_t hash = g->n_outputs;
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        uint64_t h = ref_hash(g, g->outputs[i].ref);
        hash = noe_hash64(&h, sizeof h, hash);
    }
    return hash;
}

void noe_graph_check(const noe_graph *g)
{
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const noe_node *n = &g->nodes[i];
        const noe_op_info *info = noe_op_get(n->op);
        NOE_ASSERT(n->first_input + n->n_inputs <= g->n_inputs_of);
        const noe_ref *in = noe_graph_inputs(g, i);
        for (uint32_t k = 0; k < n->n_inputs; k++) {
            bool none_ok = n->op == NOE_OP_OPAQUE && noe_ref_is_none(in[k]);
            NOE_ASSERT(none_ok ||
                       (in[k].node < i && in[k].port < g->nodes[in[k].node].n_outputs));
        }
        NOE_ASSERT(n->hash == node_hash(g, n, in));
        if (n->op >= NOE_OP_COUNT)
            continue;
        NOE_ASSERT(n->n_outputs == 1 && (int)n->n_inputs >= info->min_in &&
                   (int)n->n_inputs <= info->max_in);
        NOE_ASSERT((n->params != NULL) == (info->n_params > 0));
    }
    for (uint32_t i = 0; i < g->n_outputs; i++)
        NOE_ASSERT(g->outputs[i].ref.node < g->n_nodes);
}

/* ---- copying between graphs ---- */

static noe_ref image_of(const noe_ref *map, noe_ref r)
{
    if (noe_ref_is_none(r))
        return r;
    noe_ref m = map[r.node];
    return (noe_ref){m.node, r.port ? r.port : m.port};
}

/* Copies node i, all of whose inputs have images. Same input types: the node's own type
 * stands, else it is inferred anew. */
static noe_status transfer_node(noe_graph *dst, const noe_graph *src, uint32_t i,
                                noe_ref *map, noe_error *err)
{
    const noe_node *n = noe_graph_node(src, i);
    const noe_ref *in = noe_graph_inputs(src, i);
    noe_ref local[NOE_MAX_INPUTS];
    noe_ref *images = n->n_inputs <= NOE_MAX_INPUTS
                          ? local
                          : noe_malloc(n->n_inputs * sizeof *images);
    bool same_types = true, same_hashes = true, all_weights = n->is_weight;
    for (uint32_t k = 0; k < n->n_inputs; k++) {
        images[k] = image_of(map, in[k]);
        if (noe_ref_is_none(in[k]))
            continue;
        const noe_node *image = noe_graph_node(dst, images[k].node);
        all_weights &= image->is_weight;
        same_hashes &= ref_hash(dst, images[k]) == ref_hash(src, in[k]);
        same_types &=
            noe_graph_type(dst, images[k]) == noe_graph_type(src, in[k]) ||
            noe_type_eq(noe_graph_type(dst, images[k]), noe_graph_type(src, in[k]));
    }
    noe_status status = NOE_OK;
    if (same_types || n->op == NOE_OP_OPAQUE) {
        noe_node copy = *n;
        copy.is_weight = all_weights;
        map[i] = same_hashes ? intern_hashed(dst, &copy, images)
                             : intern_node(dst, &copy, images);
    } else {
        status = noe_graph_add(dst, n->op, n->params, images, (int)n->n_inputs, &map[i],
                               err);
        if (status == NOE_OK) {
            noe_graph_set_origin(dst, map[i].node, n->origin);
            noe_graph_set_name(dst, map[i].node, n->name);
        }
    }
    if (images != local)
        free(images);
    return status;
}

noe_status noe_graph_transfer(noe_graph *dst, const noe_graph *src, noe_ref r,
                              noe_ref *map, noe_ref *out, noe_error *err)
{
    NOE_ASSERT(dst->pool == src->pool);
    uint32_t *stack = NULL;
    size_t n_stack = 0, cap_stack = 0;
    noe_status status = NOE_OK;
    if (noe_ref_is_none(map[r.node]))
        NOE_PUSH(stack, n_stack, cap_stack, r.node);
    while (n_stack > 0 && status == NOE_OK) {
        uint32_t i = stack[n_stack - 1];
        const noe_ref *in = noe_graph_inputs(src, i);
        size_t before = n_stack;
        if (!noe_ref_is_none(map[i])) {
            n_stack--;
            continue;
        }
        for (uint32_t k = src->nodes[i].n_inputs; k-- > 0;) {
            if (!noe_ref_is_none(in[k]) && noe_ref_is_none(map[in[k].node]))
                NOE_PUSH(stack, n_stack, cap_stack, in[k].node);
        }
        if (n_stack == before) {
            n_stack--;
            status = transfer_node(dst, src, i, map, err);
        }
    }
    free(stack);
    if (status == NOE_OK)
        *out = image_of(map, r);
    return status;
}
