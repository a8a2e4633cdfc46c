/* SPDX-License-Identifier: Apache-2.0 */
#include "core/open.h"
#include <stdlib.h>

/* Larger than most ranks, kernels and factors; the fourth power times a million is
 * still within NOE_MAX_ELEMENTS only just, so no larger. */
#define LEAST_PRIME 997

/* ---- numbers ---- */

static bool is_prime(int64_t n)
{
    for (int64_t d = 2; d * d <= n; d++) {
        if (n % d == 0)
            return false;
    }
    return true;
}

static int64_t nth_prime(int n)
{
    int64_t p = LEAST_PRIME;
    while (!is_prime(p) || n-- > 0)
        p++;
    return p;
}

bool noe_open_add(noe_open_sizes *o, int64_t assumed, int attempt)
{
    if (o->n == NOE_MAX_OPEN)
        return false;
    int i = o->n++;
    for (int set = NOE_OPEN_FIRST; set <= NOE_OPEN_THIRD; set++)
        o->at[set][i] = nth_prime((attempt * NOE_MAX_OPEN + i) * 3 + set);
    o->at[NOE_OPEN_ASSUMED][i] = assumed;
    o->at[NOE_OPEN_ONES][i] = 1;
    o->at[NOE_OPEN_SMALL][i] = 2 + i;
    return true;
}

bool noe_open_is(const noe_open_sizes *o, int64_t number)
{
    for (int i = 0; i < o->n; i++) {
        if (number > 0 && number % o->at[NOE_OPEN_FIRST][i] == 0)
            return true;
    }
    return false;
}

int64_t noe_open_at(const noe_open_sizes *o, noe_open_set set, int64_t number)
{
    int64_t factor = 1;
    if (number <= 0 || number > NOE_MAX_ELEMENTS)
        return number;
    for (int i = 0; i < o->n; i++) {
        while (number % o->at[NOE_OPEN_FIRST][i] == 0) {
            number /= o->at[NOE_OPEN_FIRST][i];
            if (__builtin_mul_overflow(factor, o->at[set][i], &factor))
                return -1;
        }
    }
    if (__builtin_mul_overflow(number, factor, &number) || number > NOE_MAX_ELEMENTS)
        return -1;
    return number;
}

void noe_open_shape_at(const noe_open_sizes *o, noe_open_set set, noe_shape *s)
{
    for (int i = 0; i < s->rank; i++)
        s->dim[i] = noe_open_at(o, set, s->dim[i]);
}

static void value_at(const noe_open_sizes *o, noe_open_set set, noe_value *v)
{
    if (v->kind == NOE_KIND_INT)
        v->i = noe_open_at(o, set, v->i);
    for (int i = 0; i < v->n && v->kind == NOE_KIND_INTS; i++)
        v->list[i] = noe_open_at(o, set, v->list[i]);
}

void noe_open_params_at(const noe_open_sizes *o, noe_open_set set, noe_params *p)
{
    for (int i = 0; i < p->n; i++)
        value_at(o, set, &p->v[i]);
}

bool noe_open_shape_has(const noe_open_sizes *o, const noe_shape *s)
{
    for (int i = 0; i < s->rank; i++) {
        if (noe_open_is(o, s->dim[i]))
            return true;
    }
    return false;
}

static bool value_has(const noe_open_sizes *o, const noe_value *v)
{
    if (v->kind == NOE_KIND_INT)
        return noe_open_is(o, v->i);
    for (int i = 0; i < v->n && v->kind == NOE_KIND_INTS; i++) {
        if (noe_open_is(o, v->list[i]))
            return true;
    }
    return false;
}

/* ---- nodes ---- */

static const noe_value *param(const noe_node *n, noe_param which)
{
    const noe_op_info *info = noe_op_get(n->op);
    for (int i = 0; i < info->n_params; i++) {
        if (info->params[i] == which)
            return &n->params->v[i];
    }
    return NULL;
}

static const noe_shape *input_shape(const noe_graph *g, uint32_t node, uint32_t i)
{
    return &noe_graph_type(g, noe_graph_inputs(g, node)[i])->shape;
}

static bool touches_open(const noe_open_sizes *o, const noe_graph *g, uint32_t node)
{
    const noe_node *n = noe_graph_node(g, node);
    bool found = noe_open_shape_has(o, &n->types[0].shape);
    for (uint32_t i = 0; i < n->n_inputs; i++)
        found = found || noe_open_shape_has(o, input_shape(g, node, i));
    for (int i = 0; n->params && i < n->params->n; i++)
        found = found || value_has(o, &n->params->v[i]);
    return found;
}

/* All inputs but the first are fixed, and of that all axes but these. */
static bool only_first_axis(const noe_open_sizes *o, const noe_graph *g, uint32_t node)
{
    const noe_node *n = noe_graph_node(g, node);
    for (uint32_t i = 1; i < n->n_inputs; i++) {
        if (noe_open_shape_has(o, input_shape(g, node, i)))
            return false;
    }
    const noe_shape *x = input_shape(g, node, 0);
    for (int i = 1; i < x->rank; i++) {
        if (noe_open_is(o, x->dim[i]))
            return false;
    }
    return true;
}

/* The size of this axis is fixed in every input. */
static bool axis_is_fixed(const noe_open_sizes *o, const noe_graph *g, uint32_t node,
                          int64_t axis)
{
    for (uint32_t i = 0; i < g->nodes[node].n_inputs; i++) {
        const noe_shape *s = input_shape(g, node, i);
        if (axis < 0 || axis >= s->rank || noe_open_is(o, s->dim[axis]))
            return false;
    }
    return true;
}

/* An open axis as it is, or its first element, which is always there. */
static bool allows_slice(const noe_open_sizes *o, const noe_graph *g, uint32_t node)
{
    const noe_node *n = noe_graph_node(g, node);
    int64_t axis = param(n, NOE_PARAM_AXIS)->i, start = param(n, NOE_PARAM_START)->i;
    int64_t end = param(n, NOE_PARAM_END)->i;
    if (axis_is_fixed(o, g, node, axis))
        return true;
    return param(n, NOE_PARAM_STEP)->i == 1 && start == 0 &&
           (end == 1 || end == input_shape(g, node, 0)->dim[axis]);
}

static bool allows_pad(const noe_open_sizes *o, const noe_graph *g, uint32_t node)
{
    const noe_shape *s = input_shape(g, node, 0);
    const noe_value *pads = param(&g->nodes[node], NOE_PARAM_PADS);
    for (int i = 0; i < s->rank; i++) {
        if (noe_open_is(o, s->dim[i]) && (pads->list[i] || pads->list[s->rank + i]))
            return false;
    }
    return true;
}

bool noe_open_allows(const noe_open_sizes *o, const noe_graph *g, uint32_t node)
{
    const noe_node *n = noe_graph_node(g, node);
    if (n->op == NOE_OP_INPUT || n->op == NOE_OP_OPAQUE)
        return true;
    if (!touches_open(o, g, node))
        return true;
    if (n->is_weight)
        return false;
    if (noe_op_has(n->op, NOE_TRAIT_EWISE))
        return true;
    switch ((int)n->op) {
    case NOE_OP_MATMUL:
    case NOE_OP_GEMM:
    case NOE_OP_TRANSPOSE:
    case NOE_OP_SOFTMAX:
    case NOE_OP_LOG_SOFTMAX:
    case NOE_OP_REDUCE_SUM:
    case NOE_OP_REDUCE_MAX:
    case NOE_OP_REDUCE_MIN:
    case NOE_OP_REDUCE_MEAN:
    case NOE_OP_RESHAPE:
    case NOE_OP_FLATTEN:
    case NOE_OP_SQUEEZE:
    case NOE_OP_UNSQUEEZE:
    case NOE_OP_EXPAND:
    case NOE_OP_LAYER_NORMALIZATION:
        return true;
    case NOE_OP_CONV:
    case NOE_OP_CONV_BIAS:
    case NOE_OP_CONV_TRANSPOSE:
    case NOE_OP_MAX_POOL:
    case NOE_OP_AVERAGE_POOL:
    case NOE_OP_GLOBAL_AVERAGE_POOL:
    case NOE_OP_RESIZE:
    case NOE_OP_BATCH_NORMALIZATION:
    case NOE_OP_INSTANCE_NORMALIZATION:
    case NOE_OP_GROUP_NORMALIZATION:
        return only_first_axis(o, g, node);
    case NOE_OP_CONCAT:
    case NOE_OP_GATHER:
        return axis_is_fixed(o, g, node, param(n, NOE_PARAM_AXIS)->i);
    case NOE_OP_SLICE:
        return allows_slice(o, g, node);
    case NOE_OP_PAD:
        return allows_pad(o, g, node);
    }
    return false;
}

bool noe_open_reshape(const noe_open_sizes *o, const noe_shape *from,
                      const noe_value *to, int64_t *how)
{
    int n_left = 0;
    for (int i = 0; i < to->n; i++) {
        int64_t entry = to->list[i];
        if (noe_open_is(o, entry)) {
            bool copies = i < from->rank && from->dim[i] == entry;
            entry = copies ? 0 : -1;
            n_left += !copies;
        } else if (entry == 0) {
            return false; /* would copy, or leave -1 without a value */
        }
        if (how)
            how[i] = entry;
    }
    return n_left <= 1;
}

bool noe_open_writable(const noe_open_sizes *o, const noe_graph *g, uint32_t node)
{
    const noe_node *n = noe_graph_node(g, node);
    if (n->op == NOE_OP_RESHAPE) {
        const noe_value *to = param(n, NOE_PARAM_SHAPE);
        return !value_has(o, to) ||
               noe_open_reshape(o, input_shape(g, node, 0), to, NULL);
    }
    for (int i = 0; n->params && i < n->params->n; i++) {
        if (value_has(o, &n->params->v[i]))
            return false;
    }
    return true;
}

/* ---- rules ---- */

static bool values_equal(const noe_value *a, const noe_value *b)
{
    if (a->kind == NOE_KIND_FLOAT || b->kind == NOE_KIND_FLOAT)
        return a->kind == b->kind && a->f == b->f;
    bool a_list = a->kind == NOE_KIND_AXES || a->kind == NOE_KIND_INTS;
    bool b_list = b->kind == NOE_KIND_AXES || b->kind == NOE_KIND_INTS;
    if (a_list != b_list)
        return false;
    if (!a_list)
        return a->i == b->i;
    return a->n == b->n &&
           memcmp(a->list, b->list, (size_t)a->n * sizeof *a->list) == 0;
}

static noe_binding *binding_at(const noe_open_sizes *o, noe_open_set set,
                               const noe_rule *rule, const noe_binding *binding)
{
    noe_binding *b = noe_malloc(sizeof *b);
    *b = *binding;
    for (int i = 0; i < rule->n_vars; i++) {
        if (b->bound[i])
            noe_open_shape_at(o, set, &b->type[i].shape);
    }
    for (int i = 0; i < rule->n_pvars; i++) {
        if (b->pbound[i])
            value_at(o, set, &b->pvalue[i]);
    }
    return b;
}

typedef struct fitting {
    const noe_open_sizes *o;
    const noe_rule *rule;
    const noe_binding *first, *other[2];
} fitting;

static bool kid_is_open(const fitting *f, const noe_term *t)
{
    noe_value v;
    for (int k = 0; k < t->n_kids; k++) {
        if (noe_term_eval(f->rule, t->kids[k], f->first, &v) && value_has(f->o, &v))
            return true;
    }
    return false;
}

/* Is the comparison, which holds, true for every choice? Open sizes are 1 or more, so
 * what is less than the product without them is less than all. */
static bool bound_is_safe(const fitting *f, const noe_term *t)
{
    noe_value a, b;
    if (!noe_term_eval(f->rule, t->kids[0], f->first, &a) ||
        !noe_term_eval(f->rule, t->kids[1], f->first, &b) || a.kind == NOE_KIND_AXES ||
        a.kind == NOE_KIND_INTS || value_has(f->o, &a))
        return false;
    int64_t least = noe_open_at(f->o, NOE_OPEN_ONES, b.i);
    return t->kind == NOE_TERM_LE ? a.i <= least : a.i < least;
}

/* Mentions of open sizes below a negation. */
static bool mentions_open(const fitting *f, uint16_t term)
{
    noe_value v;
    const noe_term *t = &f->rule->terms[term];
    if (noe_term_eval(f->rule, term, f->first, &v) && value_has(f->o, &v))
        return true;
    for (int k = 0; k < t->n_kids; k++) {
        if (mentions_open(f, t->kids[k]))
            return true;
    }
    return false;
}

static bool kind_is_safe(const fitting *f, const noe_term *t, const noe_value *v)
{
    switch ((int)t->kind) {
    case NOE_TERM_MOD:
    case NOE_TERM_MIN:
    case NOE_TERM_MAX:
    case NOE_TERM_HAS:
        return !kid_is_open(f, t);
    case NOE_TERM_NE:
    case NOE_TERM_LT:
    case NOE_TERM_LE:
        return v->i == 0 || !kid_is_open(f, t) ||
               (t->n_kids == 2 && bound_is_safe(f, t));
    case NOE_TERM_NOT:
        return !mentions_open(f, t->kids[0]);
    }
    return true;
}

static bool term_fits(const fitting *f, uint16_t term)
{
    noe_value first, other, want;
    if (!noe_term_eval(f->rule, term, f->first, &first))
        return true; /* whoever needs it does not match */
    for (int i = 0; i < 2; i++) {
        want = first;
        value_at(f->o, (noe_open_set)(NOE_OPEN_SECOND + i), &want);
        if (!noe_term_eval(f->rule, term, f->other[i], &other) ||
            !values_equal(&want, &other))
            return false;
    }
    return kind_is_safe(f, &f->rule->terms[term], &first);
}

bool noe_open_fits(const noe_open_sizes *o, const noe_rule *rule,
                   const noe_binding *binding)
{
    noe_binding *second = binding_at(o, NOE_OPEN_SECOND, rule, binding);
    noe_binding *third = binding_at(o, NOE_OPEN_THIRD, rule, binding);
    fitting f = {o, rule, binding, {second, third}};
    bool fits = true;
    for (uint16_t i = 0; i < rule->n_terms && fits; i++)
        fits = term_fits(&f, i);
    free(second);
    free(third);
    return fits;
}

/* ---- graphs ---- */

static noe_status node_at(const noe_open_sizes *o, noe_open_set set, const noe_graph *g,
                          uint32_t i, noe_graph *out, noe_ref *map, noe_error *err)
{
    const noe_node *n = noe_graph_node(g, i);
    if (n->op == NOE_OP_INPUT || n->op == NOE_OP_WEIGHT) {
        const noe_leaf *l = noe_graph_leaf_of(g, i);
        noe_type type = l->type;
        noe_open_shape_at(o, set, &type.shape);
        uint32_t leaf =
            noe_pool_add_leaf(out->pool, l->name, &type, l->data, l->data_bytes, NULL);
        map[i] = noe_graph_leaf(out, n->op, leaf);
        return NOE_OK;
    }
    noe_ref *in = noe_malloc((n->n_inputs + 1) * sizeof *in);
    for (uint32_t k = 0; k < n->n_inputs; k++) {
        noe_ref r = noe_graph_inputs(g, i)[k];
        in[k] = noe_ref_is_none(r) ? r : map[r.node];
        if (!noe_ref_is_none(r) && r.port)
            in[k].port = r.port;
    }
    noe_status status = NOE_OK;
    if (n->op == NOE_OP_OPAQUE) {
        noe_type *types = noe_malloc((n->n_outputs + 1U) * sizeof *types);
        for (int k = 0; k < n->n_outputs; k++) {
            types[k] = n->types[k];
            noe_open_shape_at(o, set, &types[k].shape);
        }
        map[i] =
            noe_graph_add_opaque(out, n->leaf, in, n->n_inputs, types, n->n_outputs);
        free(types);
    } else {
        noe_params p = {0};
        if (n->params)
            p = *n->params;
        noe_open_params_at(o, set, &p);
        status = noe_graph_add(out, n->op, n->params ? &p : NULL, in, (int)n->n_inputs,
                               &map[i], err);
    }
    free(in);
    return status;
}

noe_status noe_open_graph_at(const noe_open_sizes *o, noe_open_set set,
                             const noe_graph *g, noe_pool *pool, noe_graph **out,
                             noe_error *err)
{
    noe_graph *dst = noe_graph_new(pool);
    noe_ref *map = noe_malloc(((size_t)g->n_nodes + 1) * sizeof *map);
    uint8_t *live = noe_malloc(g->n_nodes + 1);
    noe_status status = NOE_OK;
    noe_graph_mark_live(g, live);
    for (uint32_t i = 0; i < g->n_nodes && status == NOE_OK; i++) {
        if (live[i])
            status = node_at(o, set, g, i, dst, map, err);
    }
    for (uint32_t i = 0; i < g->n_outputs && status == NOE_OK; i++) {
        noe_ref r = g->outputs[i].ref, to = map[r.node];
        to.port = r.port ? r.port : to.port;
        noe_graph_add_output(dst, to, g->outputs[i].name);
    }
    free(map);
    free(live);
    if (status != NOE_OK)
        noe_graph_free(dst);
    else
        *out = dst;
    return status;
}

/* Places of live nodes among each other: what a getter left behind does not count. */
static uint32_t *live_places(const noe_graph *g, uint32_t *n)
{
    uint8_t *live = noe_malloc(g->n_nodes + 1);
    uint32_t *place = noe_malloc(((size_t)g->n_nodes + 1) * sizeof *place);
    noe_graph_mark_live(g, live);
    *n = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        place[i] = live[i] ? (*n)++ : UINT32_MAX;
    free(live);
    return place;
}

typedef struct likeness {
    const noe_open_sizes *o;
    noe_open_set set;
    const noe_graph *a, *b;
    const uint32_t *place_a, *place_b;
} likeness;

static bool same_ref(const likeness *l, noe_ref a, noe_ref b)
{
    if (noe_ref_is_none(a) || noe_ref_is_none(b))
        return noe_ref_is_none(a) && noe_ref_is_none(b);
    return l->place_a[a.node] == l->place_b[b.node] && a.port == b.port;
}

static bool same_type(const likeness *l, const noe_type *a, const noe_type *b)
{
    noe_shape s = a->shape;
    if (a->dtype != b->dtype || s.rank != b->shape.rank)
        return false;
    noe_open_shape_at(l->o, l->set, &s);
    for (int d = 0; d < s.rank; d++) {
        if (s.dim[d] != b->shape.dim[d])
            return false;
    }
    return true;
}

static bool same_node(const likeness *l, uint32_t i, uint32_t j)
{
    const noe_node *n = noe_graph_node(l->a, i), *k = noe_graph_node(l->b, j);
    if (n->op != k->op || n->n_inputs != k->n_inputs || n->n_outputs != k->n_outputs ||
        !n->params != !k->params)
        return false;
    bool same = true;
    for (uint32_t d = 0; d < n->n_inputs; d++)
        same = same &&
               same_ref(l, noe_graph_inputs(l->a, i)[d], noe_graph_inputs(l->b, j)[d]);
    for (int d = 0; d < n->n_outputs; d++)
        same = same && same_type(l, &n->types[d], &k->types[d]);
    for (int d = 0; n->params && d < n->params->n; d++) {
        noe_value v = n->params->v[d];
        value_at(l->o, l->set, &v);
        same = same && values_equal(&v, &k->params->v[d]);
    }
    return same;
}

static bool same_live(const likeness *l)
{
    uint32_t j = 0;
    for (uint32_t i = 0; i < l->a->n_nodes; i++) {
        if (l->place_a[i] == UINT32_MAX)
            continue;
        while (l->place_b[j] == UINT32_MAX)
            j++;
        if (!same_node(l, i, j++))
            return false;
    }
    for (uint32_t i = 0; i < l->a->n_outputs; i++) {
        if (!same_ref(l, l->a->outputs[i].ref, l->b->outputs[i].ref))
            return false;
    }
    return true;
}

bool noe_open_same(const noe_open_sizes *o, const noe_graph *a, noe_open_set set,
                   const noe_graph *b)
{
    uint32_t n_a, n_b;
    uint32_t *place_a = live_places(a, &n_a), *place_b = live_places(b, &n_b);
    likeness l = {o, set, a, b, place_a, place_b};
    bool same = n_a == n_b && a->n_outputs == b->n_outputs && same_live(&l);
    free(place_a);
    free(place_b);
    return same;
}
