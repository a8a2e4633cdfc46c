/* SPDX-License-Identifier: Apache-2.0 */
#include "generator/rewrites.h"

#include <stdlib.h>

uint32_t noe_head_find(const head_list *list, noe_op op, const noe_params *params)
{
    for (uint32_t i = 0; i < list->n; i++) {
        if (list->h[i].op == op && noe_params_eq(&list->h[i].params, params))
            return i;
    }
    return NO_HEAD;
}

bool noe_is_plain_constant(noe_op op)
{
    return op == NOE_OP_ZEROS || op == NOE_OP_ONES;
}

/* Cuts of any shape are alike; slices with a step are not. */
static bool is_cut(noe_op op, const noe_params *params)
{
    return op == NOE_OP_SLICE && noe_params_get(op, params, NOE_PARAM_STEP)->i == 1;
}

noe_params noe_head_family_params(noe_op op, const noe_params *params)
{
    noe_params f = *params;
    if (is_cut(op, params)) {
        bool is_low = noe_params_get(op, params, NOE_PARAM_START)->i == 0;
        noe_value at = noe_value_int(NOE_KIND_INT, is_low ? 0 : 1);
        noe_params_set(op, &f, NOE_PARAM_START, &at);
        noe_params_set(op, &f, NOE_PARAM_END, &at);
    } else if (noe_is_plain_constant(op)) {
        f.v[0] = noe_value_list(NOE_KIND_INTS, 0, NULL);
    }
    return f;
}

uint32_t noe_head_add(head_list *list, uint32_t base, noe_op op,
                      const noe_params *params)
{
    uint32_t i = noe_head_find(list, op, params);
    if (i != NO_HEAD)
        return base + i;
    noe_params general = noe_head_family_params(op, params);
    head h = {.op = op, .params = *params, .is_slice = is_cut(op, params)};
    if (noe_params_eq(&general, params))
        h.family = base + list->n;
    else
        h.family = noe_head_add(list, base, op, &general);
    NOE_PUSH(list->h, list->n, list->cap, h);
    return base + list->n - 1;
}

noe_rewrites *noe_rewrites_new(void)
{
    return noe_calloc(1, sizeof(noe_rewrites));
}

void noe_rewrites_free(noe_rewrites *r)
{
    if (!r)
        return;
    for (int i = 0; i < r->n_laws; i++)
        free(r->laws[i]);
    for (uint32_t i = 0; i < r->n_families; i++)
        free(r->by_family[i].u);
    free(r->by_family);
    free(r->laws);
    free(r->heads.h);
    free(r);
}

static struct uses *uses_of(noe_rewrites *r, const law *l, int from)
{
    return &r->by_family[r->heads.h[l->p[l->side[from]].head].family];
}

void noe_rewrites_enable(noe_rewrites *r, int number, bool on)
{
    const law *l = r->laws[number];
    for (int from = 0; from < 2; from++) {
        struct uses *list = l->is_usable[from] ? uses_of(r, l, from) : NULL;
        for (uint32_t i = 0; list && i < list->n; i++) {
            if (list->u[i].law == number)
                list->u[i].is_enabled = on;
        }
    }
}

uint64_t noe_family_bit(uint32_t family)
{
    return UINT64_C(1) << family % 64;
}

/* Operands come before operators. */
static void fill_needs(noe_rewrites *r, law *l)
{
    int depth[NOE_PAIR_MAX_NODES] = {0};
    for (int i = 0; i < l->n; i++) {
        if (l->p[i].head >= VARIABLE)
            continue;
        l->family[i] = r->heads.h[l->p[i].head].family;
        for (int k = 0; k < l->p[i].n_in; k++) {
            int in = l->p[i].in[k];
            if (l->p[in].n_in)
                l->need[i][k] = noe_family_bit(l->family[in]);
            if (depth[in] >= depth[i])
                depth[i] = depth[in] + 1;
        }
        if (depth[i] > r->max_depth)
            r->max_depth = depth[i];
    }
}

static void fill_law(noe_rewrites *r, const noe_pair *pair, law *l)
{
    uint32_t vars[2];
    l->n = pair->n_nodes;
    l->n_vars = pair->n_vars;
    for (int i = 0; i < pair->n_nodes; i++) {
        const noe_pair_node *n = &pair->nodes[i];
        pattern *p = &l->p[i];
        *p = (pattern){.n_in = n->n_in};
        memcpy(p->in, n->in, sizeof p->in);
        p->head = n->is_var ? VARIABLE + (uint32_t)n->var
                            : noe_head_add(&r->heads, 0, n->op, &n->params);
    }
    for (int i = 0; i < pair->n_vars; i++) {
        const noe_shape *shape = &pair->vars[i].shape;
        l->var[i] = *shape;
        l->is_broadcast[i] = shape->rank == 0;
        for (int k = 0; k < shape->rank; k++)
            l->is_broadcast[i] = l->is_broadcast[i] || shape->dim[k] == 1;
    }
    fill_needs(r, l);
    l->side[0] = pair->lhs[0];
    l->side[1] = pair->rhs[0];
    noe_pair_variables(pair, vars);
    for (int from = 0; from < 2; from++)
        l->is_usable[from] = !(vars[!from] & ~vars[from]) && l->p[l->side[from]].n_in;
}

int noe_rewrites_add(noe_rewrites *r, const noe_pair *pair)
{
    NOE_ASSERT(pair->n_roots == 1);
    law *l = noe_calloc(1, sizeof *l);
    fill_law(r, pair, l);
    int number = r->n_laws;
    NOE_PUSH(r->laws, r->n_laws, r->cap_laws, l);
    if (r->n_families < r->heads.n) {
        r->by_family = noe_realloc(r->by_family, r->heads.n * sizeof *r->by_family);
        memset(r->by_family + r->n_families, 0,
               (r->heads.n - r->n_families) * sizeof *r->by_family);
        r->n_families = r->heads.n;
    }
    for (int from = 0; from < 2; from++) {
        if (!l->is_usable[from])
            continue;
        int root = l->side[from];
        struct uses *list = uses_of(r, l, from);
        use u = {.law = number,
                 .from = (uint8_t)from,
                 .is_enabled = true,
                 .is_commutative =
                     noe_op_has(r->heads.h[l->p[root].head].op, NOE_TRAIT_COMMUTATIVE),
                 .need = {l->need[root][0], l->need[root][1]}};
        NOE_PUSH(list->u, list->n, list->cap, u);
    }
    return number;
}
