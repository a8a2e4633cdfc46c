/* SPDX-License-Identifier: Apache-2.0
 *
 * Fused groups: what one call of the device computes.
 *
 * One pass in node order. Every node opens a group of its own; a node whose operand is
 * the last node of a group, and that operand's only use, may join it, if the kernel of
 * the group's anchor absorbs it (runtime/kernels.def). Followers join in the order
 * bias, residual, activation. A node with two operands that could take it joins the
 * group of the later one, because the other is then surely computed before the group
 * runs.
 *
 * Invariants:
 *   1. Only the last node of a group is used outside of it.
 *   2. Every operand of a group is a leaf, a weight or the last node of another group
 *      with a smaller index; so running groups in the order of their last nodes is a
 *      topological order.
 * noe_fusion_describe finds the roles again with the same function that decided them.
 */
#include "runtime/fuse.h"
#include <stdlib.h>

enum {
    ABSORB_NONE = 0,
    ABSORB_BIAS = 1 << 0,
    ABSORB_RESIDUAL = 1 << 1,
    ABSORB_ACTIVATION = 1 << 2,
    ABSORB_RELU = 1 << 3,
    ABSORB_CHAIN = 1 << 4,
};

/* ABSORBS(A, B) is the union of up to three flags. */
#define FLAG_OR(A, B, C, ...) (ABSORB_##A | ABSORB_##B | ABSORB_##C)
#define ABSORBS(...)          FLAG_OR(__VA_ARGS__, NONE, NONE, NONE)
static const unsigned absorbs[NOE_OP_COUNT] = {
#define KERNEL(ID, EMITTER, FLAGS) [NOE_OP_##ID] = FLAGS,
#include "runtime/kernels.def"
};

#define NO_GROUP UINT32_MAX

/* What is known of a group while it grows; kept at its last node. */
typedef struct growing {
    uint32_t anchor;
    noe_fusion_role role; /* of the last node */
    int n_operands;       /* chains: operands so far */
} growing;

static const noe_shape *shape_of(const noe_graph *g, uint32_t i)
{
    return &g->nodes[i].types[0].shape;
}

static bool is_anchor(const noe_graph *g, uint32_t i)
{
    return g->nodes[i].op < NOE_OP_COUNT && absorbs[g->nodes[i].op] != ABSORB_NONE;
}

/* Axis of the channels: the last one of products, else 1. */
static int channel_axis(const noe_graph *g, uint32_t anchor)
{
    noe_op op = g->nodes[anchor].op;
    return op == NOE_OP_MATMUL || op == NOE_OP_GEMM ? shape_of(g, anchor)->rank - 1 : 1;
}

static bool has_bias_input(const noe_graph *g, uint32_t anchor)
{
    return g->nodes[anchor].op == NOE_OP_GEMM && g->nodes[anchor].n_inputs == 3;
}

/* One value a channel, or one for all: ones on every axis but the channels'. */
static bool is_channel_bias(const noe_graph *g, uint32_t anchor, noe_ref b)
{
    const noe_shape *out = shape_of(g, anchor), *s = shape_of(g, b.node);
    if (!g->nodes[b.node].is_weight || s->rank > out->rank || out->rank < 2)
        return false;
    int axis = channel_axis(g, anchor);
    for (int i = 0; i < s->rank; i++) {
        int to = i + out->rank - s->rank;
        if (s->dim[i] != 1 && (to != axis || s->dim[i] != out->dim[axis]))
            return false;
    }
    return true;
}

static bool is_activation(noe_op op, unsigned flags)
{
    if (op == NOE_OP_RELU)
        return flags & (ABSORB_ACTIVATION | ABSORB_RELU);
    return (op == NOE_OP_SIGMOID || op == NOE_OP_TANH) && (flags & ABSORB_ACTIVATION);
}

/* May node u, which uses the last node `tail` of a group, join it, and as what? */
static bool find_role(const noe_graph *g, const growing *group, uint32_t tail,
                      uint32_t u, noe_fusion_step *step)
{
    const noe_node *n = &g->nodes[u];
    unsigned flags = absorbs[g->nodes[group->anchor].op];
    *step = (noe_fusion_step){NOE_FUSION_ACTIVATION, u, NOE_REF_NONE};
    if (is_activation(n->op, flags))
        return group->role < NOE_FUSION_ACTIVATION;
    if (n->op != NOE_OP_ADD || !noe_shape_eq(shape_of(g, u), shape_of(g, tail)))
        return false;
    const noe_ref *in = noe_graph_inputs(g, u);
    step->other = in[0].node == tail ? in[1] : in[0];
    if (step->other.node == tail)
        return false;
    step->role = NOE_FUSION_BIAS;
    if ((flags & ABSORB_BIAS) && group->role < NOE_FUSION_BIAS &&
        !has_bias_input(g, group->anchor) &&
        is_channel_bias(g, group->anchor, step->other))
        return true;
    step->role = NOE_FUSION_RESIDUAL;
    return (flags & ABSORB_RESIDUAL) && group->role < NOE_FUSION_RESIDUAL &&
           noe_shape_eq(shape_of(g, step->other.node), shape_of(g, tail));
}

static bool same_concat(const noe_graph *g, uint32_t a, uint32_t b)
{
    return g->nodes[a].op == NOE_OP_CONCAT && g->nodes[b].op == NOE_OP_CONCAT &&
           noe_params_eq(g->nodes[a].params, g->nodes[b].params);
}

/* A concatenation takes in its operands' groups, when they are of the same kind. */
static void join_chain(const noe_graph *g, const uint32_t *uses, growing *grow,
                       uint32_t *next, uint32_t u)
{
    const noe_ref *in = noe_graph_inputs(g, u);
    grow[u].n_operands = (int)g->nodes[u].n_inputs;
    for (uint32_t k = 0; k < g->nodes[u].n_inputs; k++) {
        uint32_t t = in[k].node;
        if (uses[t] != 1 || next[t] != t || !same_concat(g, t, u))
            continue;
        int total = grow[u].n_operands - 1 + grow[t].n_operands;
        if (total > NOE_FUSION_MAX_OPERANDS)
            continue;
        grow[u].n_operands = total;
        next[t] = u;
    }
}

/* Joins the group of the latest operand that takes u. */
static void join_follower(const noe_graph *g, const uint32_t *uses, growing *grow,
                          uint32_t *next, uint32_t u)
{
    const noe_ref *in = noe_graph_inputs(g, u);
    uint32_t best = NO_GROUP;
    noe_fusion_step step, best_step = {0};
    for (uint32_t k = 0; k < g->nodes[u].n_inputs; k++) {
        uint32_t t = in[k].node;
        if (uses[t] != 1 || next[t] != t || !is_anchor(g, grow[t].anchor))
            continue;
        if (!find_role(g, &grow[t], t, u, &step) || (best != NO_GROUP && t < best))
            continue;
        best = t;
        best_step = step;
    }
    if (best == NO_GROUP)
        return;
    grow[u] = (growing){grow[best].anchor, best_step.role, 0};
    next[best] = u;
}

void noe_fuse(const noe_graph *g, const uint8_t *live, const uint32_t *uses,
              uint32_t *group)
{
    growing *grow = noe_calloc(g->n_nodes, sizeof *grow);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const noe_node *n = &g->nodes[i];
        group[i] = NO_GROUP;
        if (!live[i] || n->is_weight || n->op >= NOE_OP_COUNT)
            continue;
        /* Until the end, group[i] is the node that i was joined by, or i itself. */
        group[i] = i;
        grow[i] = (growing){i, NOE_FUSION_ANCHOR, 0};
        if (absorbs[n->op] & ABSORB_CHAIN)
            join_chain(g, uses, grow, group, i);
        else
            join_follower(g, uses, grow, group, i);
    }
    for (uint32_t i = g->n_nodes; i-- > 0;) {
        if (group[i] != NO_GROUP && group[i] != i)
            group[i] = group[group[i]];
    }
    free(grow);
}

void noe_fusion_single(const noe_graph *g, uint32_t i, noe_fusion *f)
{
    *f = (noe_fusion){.anchor = i, .last = i};
    f->n_operands = (int)g->nodes[i].n_inputs;
    for (int k = 0; k < f->n_operands; k++)
        f->operands[k] = noe_graph_inputs(g, i)[k];
}

/* Operands of a tree of concatenations, left to right, by replacing members in place.
 */
static void describe_chain(const noe_graph *g, const uint32_t *group, noe_fusion *f)
{
    for (int k = 0; k < f->n_operands;) {
        uint32_t t = f->operands[k].node;
        if (group[t] != f->last) {
            k++;
            continue;
        }
        int n = (int)g->nodes[t].n_inputs;
        NOE_ASSERT(f->n_operands + n - 1 <= NOE_FUSION_MAX_OPERANDS);
        memmove(&f->operands[k + n], &f->operands[k + 1],
                (size_t)(f->n_operands - k - 1) * sizeof f->operands[0]);
        memcpy(&f->operands[k], noe_graph_inputs(g, t),
               (size_t)n * sizeof f->operands[0]);
        f->n_operands += n - 1;
    }
}

/* The member that node i follows, NO_GROUP for the anchor. */
static uint32_t member_before(const noe_graph *g, const uint32_t *group, uint32_t i)
{
    for (uint32_t k = 0; k < g->nodes[i].n_inputs; k++) {
        uint32_t t = noe_graph_inputs(g, i)[k].node;
        if (t != UINT32_MAX && group[t] == group[i])
            return t;
    }
    return NO_GROUP;
}

void noe_fusion_describe(const noe_graph *g, const uint32_t *group, uint32_t last,
                         noe_fusion *f)
{
    noe_fusion_single(g, last, f);
    if (absorbs[g->nodes[last].op] & ABSORB_CHAIN) {
        describe_chain(g, group, f);
        return;
    }
    uint32_t members[NOE_FUSION_MAX_STEPS + 1];
    int n = 0;
    for (uint32_t i = last; i != NO_GROUP; i = member_before(g, group, i)) {
        NOE_ASSERT(n <= NOE_FUSION_MAX_STEPS);
        members[n++] = i;
    }
    noe_fusion_single(g, members[n - 1], f);
    f->last = last;
    growing grow = {f->anchor, NOE_FUSION_ANCHOR, 0};
    for (int k = n - 2; k >= 0; k--) {
        noe_fusion_step *step = &f->steps[f->n_steps++];
        bool found = find_role(g, &grow, members[k + 1], members[k], step);
        NOE_ASSERT(found);
        grow.role = step->role;
    }
}
