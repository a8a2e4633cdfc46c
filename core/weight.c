/* SPDX-License-Identifier: Apache-2.0
 *
 * Values of weight-only subgraphs: everything that the node needs is evaluated in f64,
 * in the graph's (topological) order, and the result is rounded once, so that
 * folding a chain of operators at optimization time is at least as exact as running it.
 * Intermediate values are freed after their last use.
 */
#include "core/tensor.h"
#include <stdlib.h>

/* Elements that one folding may hold: a rule must not turn a small model into a
 * computation that does not fit into memory. 4 GiB in f64. */
#define MAX_LIVE_ELEMENTS ((int64_t)1 << 29)

typedef struct folding {
    const noe_graph *g;
    uint32_t root;
    uint32_t *uses; /* of each node by nodes that the root needs */
    double **value;
    int64_t live;
} folding;

static int64_t elements(const folding *f, uint32_t node)
{
    return noe_shape_elements(&f->g->nodes[node].types[0].shape);
}

/* Inputs have smaller indices, so one pass down finds all that the root needs. */
static void count_uses(folding *f)
{
    f->uses[f->root] = 1;
    for (uint32_t i = f->root + 1; i-- > 0;) {
        const noe_ref *in = noe_graph_inputs(f->g, i);
        for (uint32_t k = 0; f->uses[i] && k < f->g->nodes[i].n_inputs; k++)
            f->uses[in[k].node]++;
    }
}

static noe_status load(const folding *f, uint32_t node, noe_error *err)
{
    const noe_leaf *leaf = noe_graph_leaf_of(f->g, node);
    int64_t n = elements(f, node);
    size_t width = noe_dtype_bytes(leaf->type.dtype);
    if (!leaf->data || leaf->data_bytes != (size_t)n * width)
        return noe_fail(err, NOE_ERR_UNSUPPORTED, "weight \"%s\" has no data",
                        leaf->name);
    noe_dtype_load(leaf->type.dtype, leaf->data, n, f->value[node]);
    return NOE_OK;
}

static void release_inputs(folding *f, uint32_t node)
{
    const noe_ref *in = noe_graph_inputs(f->g, node);
    for (uint32_t k = 0; k < f->g->nodes[node].n_inputs; k++) {
        uint32_t i = in[k].node;
        if (--f->uses[i] > 0)
            continue;
        f->live -= elements(f, i);
        free(f->value[i]);
        f->value[i] = NULL;
    }
}

/* A cast rounds what a run has: a value of the operand's type. */
static void round_operand(folding *f, noe_ref r)
{
    double *x = f->value[r.node];
    for (int64_t i = 0; i < elements(f, r.node); i++)
        x[i] = noe_dtype_round(noe_graph_type(f->g, r)->dtype, x[i]);
}

static void compute(folding *f, uint32_t node)
{
    const noe_node *n = noe_graph_node(f->g, node);
    const noe_ref *refs = noe_graph_inputs(f->g, node);
    noe_tensor_f64 in[NOE_MAX_INPUTS], out = {n->types[0].shape, f->value[node]};
    NOE_ASSERT(n->op < NOE_OP_COUNT && n->n_inputs <= NOE_MAX_INPUTS);
    for (uint32_t k = 0; k < n->n_inputs; k++)
        in[k] = (noe_tensor_f64){noe_graph_type(f->g, refs[k])->shape,
                                 f->value[refs[k].node]};
    if (n->op == NOE_OP_CAST)
        round_operand(f, refs[0]);
    noe_eval_f64(n->op, n->params, in, (int)n->n_inputs, &out);
    release_inputs(f, node);
}

static noe_status fold_node(folding *f, uint32_t node, noe_error *err)
{
    const noe_node *n = noe_graph_node(f->g, node);
    if (!noe_dtype_is_computed(n->types[0].dtype))
        return noe_fail(err, NOE_ERR_UNSUPPORTED, "weights of type %s are not computed",
                        noe_dtype_name(n->types[0].dtype));
    f->live += elements(f, node);
    if (f->live > MAX_LIVE_ELEMENTS)
        return noe_fail(err, NOE_ERR_LIMIT,
                        "computing a weight needs %lld elements at once",
                        (long long)f->live);
    f->value[node] = noe_malloc((size_t)elements(f, node) * sizeof(double));
    if (n->op == NOE_OP_WEIGHT)
        return load(f, node, err);
    compute(f, node);
    return NOE_OK;
}

static noe_status fold(folding *f, noe_arena *arena, noe_dtype as, void **data,
                       noe_error *err)
{
    count_uses(f);
    for (uint32_t i = 0; i <= f->root; i++) {
        if (f->uses[i])
            NOE_TRY(fold_node(f, i, err));
    }
    int64_t n = elements(f, f->root);
    *data = noe_arena_alloc(arena, (size_t)n * noe_dtype_bytes(as) + 1);
    noe_dtype_store(as, f->value[f->root], n, *data);
    return NOE_OK;
}

static noe_status weight_as(const noe_graph *g, noe_ref r, noe_dtype as,
                            noe_arena *arena, void **data, noe_error *err)
{
    NOE_ASSERT(noe_graph_node(g, r.node)->is_weight && r.port == 0);
    folding f = {.g = g, .root = r.node};
    f.uses = noe_calloc(r.node + 1, sizeof *f.uses);
    f.value = noe_calloc(r.node + 1, sizeof *f.value);
    noe_status s = fold(&f, arena, as, data, err);
    for (uint32_t i = 0; i <= r.node; i++)
        free(f.value[i]);
    free(f.value);
    free(f.uses);
    return s;
}

noe_status noe_weight_value(const noe_graph *g, noe_ref r, noe_arena *arena,
                            float **data, noe_error *err)
{
    void *floats = NULL;
    noe_status s = weight_as(g, r, NOE_F32, arena, &floats, err);
    *data = floats;
    return s;
}

noe_status noe_weight_stored(const noe_graph *g, noe_ref r, noe_arena *arena,
                             void **data, noe_error *err)
{
    return weight_as(g, r, noe_graph_type(g, r)->dtype, arena, data, err);
}
