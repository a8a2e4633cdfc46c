/* SPDX-License-Identifier: Apache-2.0
 *
 * Values of terms. Integer arithmetic is checked: a term that overflows, divides by
 * zero, indexes out of range or mixes kinds has no value, and whoever asked then does
 * not match.
 */
#include "core/rule.h"

static bool list_of(const noe_value *v)
{
    return v->kind == NOE_KIND_INTS || v->kind == NOE_KIND_AXES;
}

static bool number_of(const noe_value *v)
{
    return v->kind == NOE_KIND_INT || v->kind == NOE_KIND_AXIS;
}

static noe_value from_int(int64_t i)
{
    return noe_value_int(NOE_KIND_INT, i);
}

static bool floor_div(int64_t a, int64_t b, int64_t *out)
{
    if (b == 0 || (a == INT64_MIN && b == -1))
        return false;
    *out = a / b - (a % b != 0 && (a < 0) != (b < 0));
    return true;
}

static bool arithmetic(noe_term_kind kind, int64_t a, int64_t b, int64_t *out)
{
    switch ((int)kind) {
    case NOE_TERM_ADD:
        return !__builtin_add_overflow(a, b, out);
    case NOE_TERM_SUB:
        return !__builtin_sub_overflow(a, b, out);
    case NOE_TERM_MUL:
        return !__builtin_mul_overflow(a, b, out);
    case NOE_TERM_DIV:
        return floor_div(a, b, out);
    case NOE_TERM_MOD:
        if (!floor_div(a, b, out))
            return false;
        *out = a - *out * b;
        return true;
    case NOE_TERM_MIN:
        *out = a < b ? a : b;
        return true;
    case NOE_TERM_MAX:
        *out = a > b ? a : b;
        return true;
    case NOE_TERM_LT:
        *out = a < b;
        return true;
    case NOE_TERM_LE:
        *out = a <= b;
        return true;
    case NOE_TERM_AND:
        *out = a && b;
        return true;
    case NOE_TERM_OR:
        *out = a || b;
        return true;
    }
    return false;
}

/* Numbers combine with numbers, lists with lists of the same length. */
static bool combine(noe_term_kind kind, const noe_value *a, const noe_value *b,
                    noe_value *out)
{
    if (number_of(a) && number_of(b)) {
        *out = from_int(0);
        return arithmetic(kind, a->i, b->i, &out->i);
    }
    if (kind >= NOE_TERM_EQ || !list_of(a) || !list_of(b) || a->n != b->n)
        return false;
    *out = noe_value_list(NOE_KIND_INTS, a->n, a->list);
    for (int i = 0; i < a->n; i++) {
        if (!arithmetic(kind, a->list[i], b->list[i], &out->list[i]))
            return false;
    }
    return true;
}

static bool values_equal(const noe_value *a, const noe_value *b)
{
    if (number_of(a) && number_of(b))
        return a->i == b->i;
    if (a->kind == NOE_KIND_FLOAT && b->kind == NOE_KIND_FLOAT)
        return a->f == b->f;
    if (!list_of(a) || !list_of(b) || a->n != b->n)
        return false;
    for (int i = 0; i < a->n; i++) {
        if (a->list[i] != b->list[i])
            return false;
    }
    return true;
}

static bool append(noe_value *list, const int64_t *more, int n)
{
    if (list->n + n > NOE_MAX_LIST)
        return false;
    memcpy(list->list + list->n, more, (size_t)n * sizeof *more);
    list->n += n;
    return true;
}

static bool eval_repeat(const noe_value *v, const noe_value *times, noe_value *out)
{
    *out = noe_value_list(NOE_KIND_INTS, 0, NULL);
    if (!number_of(v) || !number_of(times) || times->i < 0 || times->i > NOE_MAX_LIST)
        return false;
    for (int64_t k = 0; k < times->i; k++) {
        if (!append(out, &v->i, 1))
            return false;
    }
    return true;
}

static bool eval_range(const noe_value *n, noe_value *out)
{
    *out = noe_value_list(NOE_KIND_INTS, 0, NULL);
    if (!number_of(n) || n->i < 0 || n->i > NOE_MAX_LIST)
        return false;
    while (out->n < n->i) {
        out->list[out->n] = out->n;
        out->n++;
    }
    return true;
}

static bool eval_has(const noe_value *list, const noe_value *v, noe_value *out)
{
    *out = from_int(0);
    if (!list_of(list) || !number_of(v))
        return false;
    for (int i = 0; i < list->n; i++)
        out->i |= list->list[i] == v->i;
    return true;
}

static bool eval_fold(noe_term_kind kind, const noe_value *list, noe_value *out)
{
    if (!list_of(list))
        return false;
    *out = from_int(kind == NOE_TERM_LEN ? list->n : kind == NOE_TERM_PROD);
    for (int i = 0; i < list->n && kind != NOE_TERM_LEN; i++) {
        noe_term_kind step = kind == NOE_TERM_PROD ? NOE_TERM_MUL : NOE_TERM_ADD;
        if (!arithmetic(step, out->i, list->list[i], &out->i))
            return false;
    }
    return true;
}

/* take(list, n) and skip(list, n). */
static bool eval_part(noe_term_kind kind, const noe_value *list, const noe_value *n,
                      noe_value *out)
{
    *out = noe_value_list(NOE_KIND_INTS, 0, NULL);
    if (!list_of(list) || !number_of(n) || n->i < 0 || n->i > list->n)
        return false;
    int k = (int)n->i;
    return kind == NOE_TERM_TAKE ? append(out, list->list, k)
                                 : append(out, list->list + k, list->n - k);
}

/* A set of axes of a list of n as bits; false unless all are different and within it.
 */
static bool axis_set(const noe_value *axes, int n, unsigned *set)
{
    *set = 0;
    for (int i = 0; i < axes->n; i++) {
        int64_t axis = axes->list[i];
        if (axis < 0 || axis >= n || *set >> axis & 1)
            return false;
        *set |= 1u << axis;
    }
    return true;
}

/* without(list, axes) and with_ones(list, axes). */
static bool eval_axes(noe_term_kind kind, const noe_value *list, const noe_value *axes,
                      noe_value *out)
{
    unsigned set;
    int64_t one = 1;
    int next = 0;
    *out = noe_value_list(NOE_KIND_INTS, 0, NULL);
    if (!list_of(list) || !list_of(axes))
        return false;
    bool insert = kind == NOE_TERM_WITH_ONES;
    int n = insert ? list->n + axes->n : list->n;
    if (n > NOE_MAX_LIST || !axis_set(axes, n, &set))
        return false;
    for (int i = 0; i < n; i++) {
        bool chosen = set >> i & 1;
        if (insert ? !append(out, chosen ? &one : &list->list[next++], 1)
                   : !chosen && !append(out, &list->list[i], 1))
            return false;
    }
    return true;
}

/* dim(?a, i), with i negative from the end. */
static bool eval_dim(const noe_binding *b, uint16_t var, const noe_value *axis,
                     noe_value *out)
{
    if (!b->bound[var] || !number_of(axis))
        return false;
    const noe_shape *s = &b->type[var].shape;
    int64_t i = axis->i < 0 ? axis->i + s->rank : axis->i;
    if (i < 0 || i >= s->rank)
        return false;
    *out = from_int(s->dim[i]);
    return true;
}

static bool eval_leaf(const noe_term *t, const noe_binding *b, noe_value *out)
{
    switch ((int)t->kind) {
    case NOE_TERM_INT:
        *out = from_int(t->i);
        return true;
    case NOE_TERM_FLOAT:
        *out = noe_value_float(t->f);
        return true;
    case NOE_TERM_PVAR:
        *out = b->pvalue[t->var];
        return b->pbound[t->var];
    case NOE_TERM_RANK:
        *out = from_int(b->type[t->var].shape.rank);
        return b->bound[t->var];
    case NOE_TERM_SHAPE:
        if (!b->bound[t->var])
            return false;
        *out = noe_value_list(NOE_KIND_INTS, b->type[t->var].shape.rank,
                              b->type[t->var].shape.dim);
        return true;
    }
    return false;
}

static bool eval_list(const noe_rule *rule, const noe_term *t, const noe_binding *b,
                      noe_value *out)
{
    *out = noe_value_list(NOE_KIND_INTS, 0, NULL);
    for (int i = 0; i < t->n_kids; i++) {
        noe_value v;
        if (!noe_term_eval(rule, t->kids[i], b, &v) || !number_of(&v) ||
            !append(out, &v.i, 1))
            return false;
    }
    return true;
}

static bool element(const noe_value *list, int64_t i, int64_t *out)
{
    if (i < 0)
        i += list->n;
    if (i < 0 || i >= list->n)
        return false;
    *out = list->list[i];
    return true;
}

/* at(list, i), or the list of the elements at a list of places: so permutations
 * compose. */
static bool eval_at(const noe_value *list, const noe_value *at, noe_value *out)
{
    if (!list_of(list) || !(number_of(at) || list_of(at)))
        return false;
    if (number_of(at)) {
        *out = from_int(0);
        return element(list, at->i, &out->i);
    }
    *out = noe_value_list(NOE_KIND_INTS, at->n, at->list);
    for (int i = 0; i < at->n; i++) {
        if (!element(list, at->list[i], &out->list[i]))
            return false;
    }
    return true;
}

static bool eval_pair(const noe_term *t, const noe_value *x, const noe_value *y,
                      noe_value *out)
{
    switch ((int)t->kind) {
    case NOE_TERM_CAT:
        if (!list_of(x) || !list_of(y))
            return false;
        *out = noe_value_list(NOE_KIND_INTS, x->n, x->list);
        return append(out, y->list, y->n);
    case NOE_TERM_REP:
        return eval_repeat(x, y, out);
    case NOE_TERM_TAKE:
    case NOE_TERM_SKIP:
        return eval_part(t->kind, x, y, out);
    case NOE_TERM_WITHOUT:
    case NOE_TERM_WITH_ONES:
        return eval_axes(t->kind, x, y, out);
    case NOE_TERM_AT:
        return eval_at(x, y, out);
    case NOE_TERM_HAS:
        return eval_has(x, y, out);
    case NOE_TERM_EQ:
    case NOE_TERM_NE:
        *out = from_int(values_equal(x, y) == (t->kind == NOE_TERM_EQ));
        return true;
    }
    return combine(t->kind, x, y, out);
}

bool noe_term_eval(const noe_rule *rule, uint16_t term, const noe_binding *b,
                   noe_value *out)
{
    const noe_term *t = &rule->terms[term];
    noe_value x, y;
    if (t->kind == NOE_TERM_LIST)
        return eval_list(rule, t, b, out);
    if (t->n_kids == 0)
        return eval_leaf(t, b, out);
    if (!noe_term_eval(rule, t->kids[0], b, &x))
        return false;
    switch ((int)t->kind) {
    case NOE_TERM_DIM:
        return eval_dim(b, t->var, &x, out);
    case NOE_TERM_LEN:
    case NOE_TERM_PROD:
    case NOE_TERM_SUM:
        return eval_fold(t->kind, &x, out);
    case NOE_TERM_RANGE:
        return eval_range(&x, out);
    case NOE_TERM_NOT:
        *out = from_int(!x.i);
        return number_of(&x);
    }
    return noe_term_eval(rule, t->kids[1], b, &y) && eval_pair(t, &x, &y, out);
}

bool noe_rule_holds(const noe_rule *rule, const noe_binding *binding)
{
    noe_value v;
    if (rule->where == NOE_TERM_ABSENT)
        return true;
    return noe_term_eval(rule, rule->where, binding, &v) && number_of(&v) && v.i != 0;
}

/* Spatial axes that defaults of strides, pads and dilations adapt to. */
static int spatial_axes(const noe_type *in, int n_in)
{
    return n_in > 0 && in[0].shape.rank > 2 ? in[0].shape.rank - 2 : 0;
}

static bool convert(noe_value *v, noe_param_kind kind)
{
    bool want_list = kind == NOE_KIND_INTS || kind == NOE_KIND_AXES;
    bool want_number = kind == NOE_KIND_INT || kind == NOE_KIND_AXIS;
    if (kind == NOE_KIND_FLOAT && number_of(v)) {
        *v = noe_value_float((double)v->i);
        return true;
    }
    if (want_list     ? !list_of(v)
        : want_number ? !number_of(v)
                      : v->kind != NOE_KIND_FLOAT)
        return false;
    v->kind = kind;
    return true;
}

/* Is a variable of a reversed rule's right side, which the proof had on the left, not
 * what the node would store? */
static bool is_beyond_proof(const noe_rule *rule, uint16_t node,
                            const noe_binding *binding, const noe_params *params)
{
    const noe_pattern_node *p = &rule->nodes[node];
    bool differs = false, right[NOE_RULE_MAX_NODES];
    for (int i = 0; i < params->n; i++) {
        if (p->params[i] == NOE_TERM_ABSENT ||
            rule->terms[p->params[i]].kind != NOE_TERM_PVAR)
            continue;
        noe_value v = binding->pvalue[rule->terms[p->params[i]].var];
        differs |= !convert(&v, params->v[i].kind) || !noe_value_eq(&v, &params->v[i]);
    }
    if (!differs)
        return false;
    noe_rule_mark_side(rule, true, right);
    return right[node];
}

noe_status noe_rule_params(const noe_rule *rule, uint16_t node,
                           const noe_binding *binding, const noe_type *in, int n_in,
                           noe_params *params, noe_error *err)
{
    const noe_pattern_node *p = &rule->nodes[node];
    const noe_op_info *info = noe_op_get(p->op);
    params->n = info->n_params;
    for (int i = 0; i < info->n_params; i++) {
        noe_value *v = &params->v[i];
        bool known =
            p->params[i] == NOE_TERM_ABSENT
                ? noe_param_default(p->op, info->params[i], spatial_axes(in, n_in), v)
                : noe_term_eval(rule, p->params[i], binding, v);
        if (!known || !convert(v, noe_param_kind_of(info->params[i])))
            return noe_fail(err, NOE_ERR_SHAPE, "%s: parameter %s has no value",
                            info->name, noe_param_name(info->params[i]));
    }
    if (info->n_params == 0)
        return NOE_OK;
    NOE_TRY(noe_params_normalize(p->op, params, in, n_in, err));
    if (rule->is_reversed && is_beyond_proof(rule, node, binding, params))
        return noe_fail(err, NOE_ERR_SHAPE,
                        "%s: a parameter is not stored as the rule has it", info->name);
    return NOE_OK;
}
