/* SPDX-License-Identifier: Apache-2.0
 *
 * Applying a match: the right side is built over the bound values, then whatever needed
 * the old roots is redirected to the new ones. Nothing is mutated: either nodes are
 * appended to a graph, or a new graph is made of what is still live. A bound value that
 * itself contains another root of a multi-root rule keeps the old form of that root, so
 * no rewrite can make a cycle.
 */
#include "core/match.h"
#include "core/open.h"
#include <stdlib.h>

/* Where the pattern's nodes lie in the graph that grows. */
typedef struct builder {
    const noe_rule *rule;
    noe_graph *g;
    const noe_binding *binding; /* types and parameters */
    noe_ref at[NOE_RULE_MAX_NODES];
} builder;

/* A slice that is stored with another end than it was given depends on the size. */
static noe_status check_bounds(const builder *b, uint16_t i, const noe_params *given,
                               noe_error *err)
{
    const noe_node *n = noe_graph_node(b->g, b->at[i].node);
    for (int k = 0; n->op == NOE_OP_SLICE && k < given->n; k++) {
        if (given->v[k].kind == NOE_KIND_INT && n->params->v[k].i != given->v[k].i)
            return noe_fail(err, NOE_ERR_SHAPE, "slice is bounded by open sizes");
    }
    return NOE_OK;
}

static noe_status build_node(builder *b, uint16_t i, noe_error *err)
{
    const noe_pattern_node *n = &b->rule->nodes[i];
    noe_type in[NOE_MAX_INPUTS];
    noe_ref refs[NOE_MAX_INPUTS];
    noe_params params = {0};
    for (int k = 0; k < n->n_inputs; k++) {
        refs[k] = b->at[n->inputs[k]];
        in[k] = *noe_graph_type(b->g, refs[k]);
    }
    NOE_TRY(noe_rule_params(b->rule, i, b->binding, in, n->n_inputs, &params, err));
    NOE_TRY(noe_graph_add(b->g, n->op, &params, refs, n->n_inputs, &b->at[i], err));
    noe_dtype d = noe_graph_type(b->g, b->at[i])->dtype;
    if (!noe_op_computes(n->op, d))
        return noe_fail(err, NOE_ERR_SHAPE, "%s is not computed in %s",
                        noe_op_get(n->op)->name, noe_dtype_name(d));
    const noe_open_sizes *open = noe_pool_open(b->g->pool);
    /* A definition that is read from left to right is not what gets written. */
    bool is_definition =
        noe_op_has(b->rule->nodes[b->rule->lhs[0]].op, NOE_TRAIT_COMPOSITE);
    if (open && (!noe_open_allows(open, b->g, b->at[i].node) ||
                 !(is_definition || noe_open_writable(open, b->g, b->at[i].node))))
        return noe_fail(err, NOE_ERR_SHAPE, "%s depends on open sizes",
                        noe_op_get(n->op)->name);
    return open ? check_bounds(b, i, &params, err) : NOE_OK;
}

/* Builds the right side; b->at holds the variables. root_type[i] is what root i must
 * have. */
static noe_status build_right_side(builder *b, const bool *used,
                                   const noe_type *const *root_type, noe_error *err)
{
    const noe_open_sizes *open = noe_pool_open(b->g->pool);
    if (open && !noe_open_fits(open, b->rule, b->binding))
        return noe_fail(err, NOE_ERR_SHAPE, "the rule depends on open sizes");
    for (uint16_t i = 0; i < b->rule->n_nodes; i++) {
        if (used[i] && !b->rule->nodes[i].is_var)
            NOE_TRY(build_node(b, i, err));
    }
    for (int i = 0; i < b->rule->n_roots; i++) {
        const noe_type *got = noe_graph_type(b->g, b->at[b->rule->rhs[i]]);
        if (!noe_type_eq(got, root_type[i]))
            return noe_fail(err, NOE_ERR_SHAPE, "right side has another type");
    }
    return NOE_OK;
}

static void root_types(const noe_rule *rule, const noe_graph *g, const noe_match *match,
                       const noe_type **types)
{
    for (int i = 0; i < rule->n_roots; i++)
        types[i] = noe_graph_type(g, match->root[i]);
}

noe_status noe_rule_instantiate(const noe_rule *rule, noe_graph *g,
                                const noe_match *match, noe_ref *roots, noe_error *err)
{
    builder b = {.rule = rule, .g = g, .binding = &match->binding};
    bool used[NOE_RULE_MAX_NODES];
    noe_type copies[NOE_RULE_MAX_ROOTS];
    const noe_type *types[NOE_RULE_MAX_ROOTS];
    noe_rule_mark_side(rule, true, used);
    root_types(rule, g, match, types);
    for (int i = 0; i < rule->n_roots; i++) {
        copies[i] = *types[i];
        types[i] = &copies[i];
    }
    for (uint16_t i = 0; i < rule->n_nodes; i++) {
        if (rule->nodes[i].is_var)
            b.at[i] = match->binding.ref[rule->nodes[i].var];
    }
    NOE_TRY(build_right_side(&b, used, types, err));
    for (int i = 0; i < rule->n_roots; i++)
        roots[i] = b.at[rule->rhs[i]];
    return NOE_OK;
}

static noe_status transfer_variables(builder *b, const noe_graph *src,
                                     const noe_match *match, const bool *used,
                                     noe_ref *map, noe_error *err)
{
    for (uint16_t i = 0; i < b->rule->n_nodes; i++) {
        if (used[i] && b->rule->nodes[i].is_var)
            NOE_TRY(noe_graph_transfer(b->g, src,
                                       match->binding.ref[b->rule->nodes[i].var], map,
                                       &b->at[i], err));
    }
    return NOE_OK;
}

static noe_status transfer_outputs(noe_graph *dst, const noe_graph *src, noe_ref *map,
                                   noe_error *err)
{
    for (uint32_t i = 0; i < src->n_outputs; i++) {
        noe_ref out;
        NOE_TRY(noe_graph_transfer(dst, src, src->outputs[i].ref, map, &out, err));
        noe_graph_add_output(dst, out, src->outputs[i].name);
    }
    return NOE_OK;
}

static noe_status rewrite(const noe_rule *rule, const noe_graph *g,
                          const noe_match *match, noe_graph *dst, noe_ref *map,
                          noe_error *err)
{
    builder b = {.rule = rule, .g = dst, .binding = &match->binding};
    bool used[NOE_RULE_MAX_NODES];
    const noe_type *types[NOE_RULE_MAX_ROOTS];
    noe_rule_mark_side(rule, true, used);
    root_types(rule, g, match, types);
    NOE_TRY(transfer_variables(&b, g, match, used, map, err));
    NOE_TRY(build_right_side(&b, used, types, err));
    for (int i = 0; i < rule->n_roots; i++) {
        noe_ref fresh = b.at[rule->rhs[i]];
        map[match->root[i].node] = fresh;
        if (fresh.port == 0)
            noe_graph_set_name(dst, fresh.node, g->nodes[match->root[i].node].name);
    }
    return transfer_outputs(dst, g, map, err);
}

noe_status noe_rule_apply(const noe_rule *rule, const noe_graph *g,
                          const noe_match *match, noe_graph **out, noe_error *err)
{
    noe_graph *dst = noe_graph_new(g->pool);
    noe_ref *map = noe_malloc((size_t)g->n_nodes * sizeof *map + 1);
    for (uint32_t i = 0; i < g->n_nodes; i++)
        map[i] = NOE_REF_NONE;
    noe_status status = rewrite(rule, g, match, dst, map, err);
    free(map);
    if (status != NOE_OK) {
        noe_graph_free(dst);
        return status;
    }
    *out = dst;
    return NOE_OK;
}
