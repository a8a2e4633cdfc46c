/* SPDX-License-Identifier: Apache-2.0
 *
 * Formulas of rules and axioms.
 *
 * Operators are uninterpreted: all that Z3 knows of them is the axioms. What E-matching
 * needs is prepared here. A pattern must not contain arithmetic, so a computed
 * parameter in a pattern (end=dim(?a, $k)) becomes a fresh variable that matches
 * whatever is there, and the equation becomes a premise. Lists written out are
 * applications of list<n>; parameters that equal their default are one constant of any
 * length, so that strides=[1,1] and no strides are the same.
 *
 * A condition has no value where a term has none (dim of an axis that is not there),
 * and then does not hold. The formulas do not say so: at(shape(a), 7) is some number. A
 * proof may therefore assume too little of a premise, which costs nothing, but a
 * premise of an axiom can only be proved from what the candidate's own condition says;
 * and every step is evaluated again afterwards (verifier/prove.c).
 */
#include "verifier/encode.h"
#include <stdio.h>

static Z3_symbol symbol(const noe_encoder *e, const char *name)
{
    return Z3_mk_string_symbol(e->z3, name);
}

static Z3_sort sort_of_kind(const noe_encoder *e, noe_param_kind kind)
{
    switch (kind) {
    case NOE_KIND_INT:
    case NOE_KIND_AXIS:
        return e->number;
    case NOE_KIND_AXES:
    case NOE_KIND_INTS:
        return e->list;
    case NOE_KIND_FLOAT:
        return e->real;
    }
    return NULL;
}

static void declare_operators(noe_encoder *e)
{
    for (int op = 0; op < NOE_OP_COUNT; op++) {
        const noe_op_info *info = noe_op_get((noe_op)op);
        Z3_sort domain[NOE_MAX_PARAMS + NOE_RULE_MAX_INPUTS];
        unsigned n = 0;
        for (int i = 0; i < info->n_params; i++)
            domain[n++] = sort_of_kind(e, noe_param_kind_of(info->params[i]));
        for (int i = 0; i < info->max_in; i++)
            domain[n++] = e->tensor;
        /* SMT-LIB has a div and an abs of its own. */
        char name[64];
        snprintf(name, sizeof name, "op.%s", info->name);
        e->op[op] = Z3_mk_func_decl(e->z3, symbol(e, name), n, domain, e->tensor);
    }
}

static void declare(noe_encoder *e, noe_function f, const char *name, Z3_sort range,
                    Z3_sort a, Z3_sort b)
{
    Z3_sort domain[2] = {a, b};
    unsigned n = a ? (b ? 2 : 1) : 0;
    e->fn[f] = Z3_mk_func_decl(e->z3, symbol(e, name), n, domain, range);
}

static void declare_functions(noe_encoder *e)
{
    Z3_sort t = e->tensor, l = e->list, i = e->number;
    declare(e, NOE_FN_SHAPE, "shape", l, t, NULL);
    declare(e, NOE_FN_LEN, "len", i, l, NULL);
    declare(e, NOE_FN_AT, "at", i, l, i);
    declare(e, NOE_FN_PICK, "pick", l, l, l);
    declare(e, NOE_FN_CAT, "cat", l, l, l);
    declare(e, NOE_FN_REP, "rep", l, i, i);
    declare(e, NOE_FN_PROD, "prod", i, l, NULL);
    declare(e, NOE_FN_SUM, "sum", i, l, NULL);
    declare(e, NOE_FN_TAKE, "take", l, l, i);
    declare(e, NOE_FN_SKIP, "skip", l, l, i);
    declare(e, NOE_FN_WITHOUT, "without", l, l, l);
    declare(e, NOE_FN_WITH_ONES, "with_ones", l, l, l);
    declare(e, NOE_FN_RANGE, "range", l, i, NULL);
    declare(e, NOE_FN_HAS, "has", e->boolean, l, i);
    declare(e, NOE_FN_LIST_ADD, "list_add", l, l, l);
    declare(e, NOE_FN_LIST_SUB, "list_sub", l, l, l);
    declare(e, NOE_FN_LIST_MUL, "list_mul", l, l, l);
    declare(e, NOE_FN_LIST_DIV, "list_div", l, l, l);
    declare(e, NOE_FN_LIST_MOD, "list_mod", l, l, l);
    declare(e, NOE_FN_LIST_MIN, "list_min", l, l, l);
    declare(e, NOE_FN_LIST_MAX, "list_max", l, l, l);
    declare(e, NOE_FN_MUL, "times", i, i, i);
    declare(e, NOE_FN_DIV, "floor_div", i, i, i);
    declare(e, NOE_FN_MOD, "floor_mod", i, i, i);
    declare(e, NOE_FN_BROADCAST, "broadcast", l, l, l);
    declare(e, NOE_FN_DEFAULT_ONES, "all_ones", l, NULL, NULL);
    declare(e, NOE_FN_DEFAULT_ZEROS, "all_zeros", l, NULL, NULL);
    for (unsigned n = 0; n <= NOE_MAX_LIST; n++) {
        Z3_sort domain[NOE_MAX_LIST];
        char name[16];
        for (unsigned k = 0; k < n; k++)
            domain[k] = i;
        snprintf(name, sizeof name, "list%u", n);
        e->make_list[n] = Z3_mk_func_decl(e->z3, symbol(e, name), n, domain, l);
    }
}

void noe_encoder_init(noe_encoder *e, Z3_context z3)
{
    e->z3 = z3;
    e->tensor = Z3_mk_uninterpreted_sort(z3, symbol(e, "T"));
    e->list = Z3_mk_uninterpreted_sort(z3, symbol(e, "L"));
    e->real = Z3_mk_uninterpreted_sort(z3, symbol(e, "D"));
    e->number = Z3_mk_int_sort(z3);
    e->boolean = Z3_mk_bool_sort(z3);
    e->typed = Z3_mk_func_decl(z3, symbol(e, "typed"), 1, &e->tensor, e->boolean);
    declare_operators(e);
    declare_functions(e);
}

void noe_scope_init(const noe_encoder *e, const noe_rule *rule, noe_scope *scope)
{
    *scope = (noe_scope){.rule = rule};
    char name[32];
    for (int i = 0; i < rule->n_vars; i++) {
        snprintf(name, sizeof name, "?%s", rule->vars[i].name);
        scope->var[i] = Z3_mk_const(e->z3, symbol(e, name), e->tensor);
    }
    for (int i = 0; i < rule->n_pvars; i++) {
        snprintf(name, sizeof name, "$%s", rule->pvars[i].name);
        scope->pvar[i] =
            Z3_mk_const(e->z3, symbol(e, name), sort_of_kind(e, rule->pvars[i].kind));
    }
}

/* Terms */

static Z3_ast apply(const noe_encoder *e, noe_function f, Z3_ast a, Z3_ast b)
{
    Z3_ast args[2] = {a, b};
    return Z3_mk_app(e->z3, e->fn[f], a ? (b ? 2 : 1) : 0, args);
}

static Z3_ast number(const noe_encoder *e, int64_t i)
{
    return Z3_mk_int64(e->z3, i, e->number);
}

static bool is_number(const noe_encoder *e, Z3_ast a)
{
    return Z3_get_sort(e->z3, a) == e->number;
}

static bool literal(const noe_encoder *e, Z3_ast a, int64_t *i)
{
    return Z3_get_ast_kind(e->z3, a) == Z3_NUMERAL_AST &&
           Z3_get_numeral_int64(e->z3, a, i);
}

static Z3_ast make_list(const noe_encoder *e, unsigned n, const Z3_ast *items)
{
    return Z3_mk_app(e->z3, e->make_list[n], n, items);
}

/* The items of a list that is written out; -1 otherwise. */
static int list_items(const noe_encoder *e, Z3_ast a, Z3_ast *items)
{
    if (Z3_get_ast_kind(e->z3, a) != Z3_APP_AST)
        return -1;
    Z3_app app = Z3_to_app(e->z3, a);
    unsigned n = Z3_get_app_num_args(e->z3, app);
    if (n > NOE_MAX_LIST || Z3_get_app_decl(e->z3, app) != e->make_list[n])
        return -1;
    for (unsigned i = 0; i < n; i++)
        items[i] = Z3_get_app_arg(e->z3, app, i);
    return (int)n;
}

static Z3_ast arithmetic(const noe_encoder *e, noe_term_kind kind, Z3_ast a, Z3_ast b)
{
    Z3_ast both[2] = {a, b};
    int64_t x, y;
    bool lx = literal(e, a, &x), ly = literal(e, b, &y);
    if (lx && ly && kind == NOE_TERM_ADD)
        return number(e, x + y);
    if (lx && ly && kind == NOE_TERM_SUB)
        return number(e, x - y);
    switch ((int)kind) {
    case NOE_TERM_ADD:
        return Z3_mk_add(e->z3, 2, both);
    case NOE_TERM_SUB:
        return Z3_mk_sub(e->z3, 2, both);
    case NOE_TERM_MUL:
        if (lx || ly)
            return Z3_mk_mul(e->z3, 2, both);
        if (Z3_get_ast_id(e->z3, a) > Z3_get_ast_id(e->z3, b))
            return apply(e, NOE_FN_MUL, b, a);
        return apply(e, NOE_FN_MUL, a, b);
    case NOE_TERM_DIV: /* Z3 rounds like floor for positive divisors */
        return ly && y > 0 ? Z3_mk_div(e->z3, a, b) : apply(e, NOE_FN_DIV, a, b);
    case NOE_TERM_MOD:
        return ly && y > 0 ? Z3_mk_mod(e->z3, a, b) : apply(e, NOE_FN_MOD, a, b);
    case NOE_TERM_MIN:
        return Z3_mk_ite(e->z3, Z3_mk_le(e->z3, a, b), a, b);
    case NOE_TERM_MAX:
        return Z3_mk_ite(e->z3, Z3_mk_le(e->z3, a, b), b, a);
    }
    return NULL;
}

static Z3_ast list_arithmetic(const noe_encoder *e, noe_term_kind kind, Z3_ast a,
                              Z3_ast b)
{
    Z3_ast x[NOE_MAX_LIST], y[NOE_MAX_LIST];
    int n = list_items(e, a, x), m = list_items(e, b, y);
    if (n < 0 || n != m)
        return apply(e, (noe_function)(NOE_FN_LIST_ADD + (kind - NOE_TERM_ADD)), a, b);
    for (int i = 0; i < n; i++)
        x[i] = arithmetic(e, kind, x[i], y[i]);
    return make_list(e, (unsigned)n, x);
}

static Z3_ast concatenate(const noe_encoder *e, Z3_ast a, Z3_ast b)
{
    Z3_ast items[2 * NOE_MAX_LIST], more[NOE_MAX_LIST];
    int n = list_items(e, a, items), m = list_items(e, b, more);
    if (n < 0 || m < 0 || n + m > NOE_MAX_LIST)
        return apply(e, NOE_FN_CAT, a, b);
    memcpy(items + n, more, (size_t)m * sizeof *more);
    return make_list(e, (unsigned)(n + m), items);
}

static Z3_ast repeat(const noe_encoder *e, Z3_ast item, Z3_ast times)
{
    int64_t n;
    if (!literal(e, times, &n) || n < 0 || n > NOE_MAX_LIST)
        return apply(e, NOE_FN_REP, item, times);
    Z3_ast items[NOE_MAX_LIST];
    for (int64_t i = 0; i < n; i++)
        items[i] = item;
    return make_list(e, (unsigned)n, items);
}

static Z3_ast range(const noe_encoder *e, Z3_ast length)
{
    Z3_ast items[NOE_MAX_LIST];
    int64_t n;
    if (!literal(e, length, &n) || n < 0 || n > NOE_MAX_LIST)
        return apply(e, NOE_FN_RANGE, length, NULL);
    for (int64_t i = 0; i < n; i++)
        items[i] = number(e, i);
    return make_list(e, (unsigned)n, items);
}

static Z3_ast has(const noe_encoder *e, Z3_ast list, Z3_ast item)
{
    Z3_ast items[NOE_MAX_LIST];
    int n = list_items(e, list, items);
    if (n < 0)
        return apply(e, NOE_FN_HAS, list, item);
    for (int i = 0; i < n; i++)
        items[i] = Z3_mk_eq(e->z3, items[i], item);
    return Z3_mk_or(e->z3, (unsigned)n, items);
}

static Z3_ast element(const noe_encoder *e, Z3_ast list, Z3_ast at)
{
    Z3_ast items[NOE_MAX_LIST];
    int64_t i;
    if (!is_number(e, at))
        return apply(e, NOE_FN_PICK, list, at);
    int n = list_items(e, list, items);
    if (n >= 0 && literal(e, at, &i) && i >= -n && i < n)
        return items[i < 0 ? i + n : i];
    return apply(e, NOE_FN_AT, list, at);
}

/* take and skip */
static Z3_ast cut(const noe_encoder *e, noe_function f, Z3_ast list, Z3_ast at)
{
    Z3_ast items[NOE_MAX_LIST];
    int64_t k;
    int n = list_items(e, list, items);
    if (n < 0 || !literal(e, at, &k) || k < 0 || k > n)
        return apply(e, f, list, at);
    if (f == NOE_FN_TAKE)
        return make_list(e, (unsigned)k, items);
    return make_list(e, (unsigned)(n - k), items + k);
}

static Z3_ast fold(const noe_encoder *e, noe_term_kind kind, Z3_ast list)
{
    Z3_ast items[NOE_MAX_LIST];
    int n = list_items(e, list, items);
    if (kind == NOE_TERM_LEN)
        return n >= 0 ? number(e, n) : apply(e, NOE_FN_LEN, list, NULL);
    if (kind == NOE_TERM_PROD) /* a product of unknowns stays one: see product_laws */
        return n == 0   ? number(e, 1)
               : n == 1 ? items[0]
                        : apply(e, NOE_FN_PROD, list, NULL);
    if (n < 0)
        return apply(e, NOE_FN_SUM, list, NULL);
    Z3_ast out = number(e, 0);
    for (int i = 0; i < n; i++)
        out = arithmetic(e, NOE_TERM_ADD, out, items[i]);
    return out;
}

Z3_ast noe_encode_shape_of(const noe_encoder *e, Z3_ast tensor)
{
    return apply(e, NOE_FN_SHAPE, tensor, NULL);
}

static Z3_ast float_constant(const noe_encoder *e, double f)
{
    char name[40];
    snprintf(name, sizeof name, "%a", f);
    return Z3_mk_const(e->z3, symbol(e, name), e->real);
}

/* The shape of a variable: a list of its sizes where its rank is known. */
static Z3_ast shape_of_variable(const noe_encoder *e, const noe_scope *s, uint16_t var)
{
    Z3_ast items[NOE_MAX_RANK], shape = noe_encode_shape_of(e, s->var[var]);
    if (!s->ranks)
        return shape;
    int rank = s->ranks->binding.type[var].shape.rank;
    for (int i = 0; i < rank; i++)
        items[i] = apply(e, NOE_FN_AT, shape, number(e, i));
    return make_list(e, (unsigned)rank, items);
}

/* The value of a parameter variable: a list of numbers where its length is known. */
static Z3_ast value_of_variable(const noe_encoder *e, const noe_scope *s, uint16_t var)
{
    Z3_ast items[NOE_MAX_LIST];
    noe_param_kind kind = s->rule->pvars[var].kind;
    if (!s->ranks || (kind != NOE_KIND_AXES && kind != NOE_KIND_INTS))
        return s->pvar[var];
    int n = s->ranks->binding.pvalue[var].n;
    for (int i = 0; i < n; i++)
        items[i] = apply(e, NOE_FN_AT, s->pvar[var], number(e, i));
    return make_list(e, (unsigned)n, items);
}

static Z3_ast encode_leaf(const noe_encoder *e, noe_scope *s, const noe_term *t)
{
    switch ((int)t->kind) {
    case NOE_TERM_INT:
        return number(e, t->i);
    case NOE_TERM_FLOAT:
        return float_constant(e, t->f);
    case NOE_TERM_PVAR:
        return value_of_variable(e, s, t->var);
    case NOE_TERM_RANK:
        return fold(e, NOE_TERM_LEN, shape_of_variable(e, s, t->var));
    case NOE_TERM_SHAPE:
        return shape_of_variable(e, s, t->var);
    }
    return make_list(e, 0, NULL);
}

static Z3_ast compare(const noe_encoder *e, noe_term_kind kind, Z3_ast a, Z3_ast b)
{
    Z3_ast both[2] = {a, b};
    switch ((int)kind) {
    case NOE_TERM_EQ:
        return Z3_mk_eq(e->z3, a, b);
    case NOE_TERM_NE:
        return Z3_mk_not(e->z3, Z3_mk_eq(e->z3, a, b));
    case NOE_TERM_LT:
        return Z3_mk_lt(e->z3, a, b);
    case NOE_TERM_LE:
        return Z3_mk_le(e->z3, a, b);
    case NOE_TERM_AND:
        return Z3_mk_and(e->z3, 2, both);
    case NOE_TERM_OR:
        return Z3_mk_or(e->z3, 2, both);
    }
    return NULL;
}

static Z3_ast encode_pair(const noe_encoder *e, noe_term_kind kind, Z3_ast a, Z3_ast b)
{
    if (kind == NOE_TERM_CAT)
        return concatenate(e, a, b);
    if (kind == NOE_TERM_REP)
        return repeat(e, a, b);
    if (kind == NOE_TERM_AT)
        return element(e, a, b);
    if (kind == NOE_TERM_HAS)
        return has(e, a, b);
    if (kind == NOE_TERM_TAKE)
        return cut(e, NOE_FN_TAKE, a, b);
    if (kind == NOE_TERM_SKIP)
        return cut(e, NOE_FN_SKIP, a, b);
    if (kind == NOE_TERM_WITHOUT)
        return apply(e, NOE_FN_WITHOUT, a, b);
    if (kind == NOE_TERM_WITH_ONES)
        return apply(e, NOE_FN_WITH_ONES, a, b);
    if (kind >= NOE_TERM_EQ)
        return compare(e, kind, a, b);
    return is_number(e, a) ? arithmetic(e, kind, a, b) : list_arithmetic(e, kind, a, b);
}

Z3_ast noe_encode_term(const noe_encoder *e, noe_scope *s, uint16_t term)
{
    const noe_term *t = &s->rule->terms[term];
    if (t->n_kids == 0)
        return encode_leaf(e, s, t);
    if (t->kind == NOE_TERM_LIST) {
        Z3_ast items[NOE_MAX_LIST];
        for (int i = 0; i < t->n_kids; i++)
            items[i] = noe_encode_term(e, s, t->kids[i]);
        return make_list(e, t->n_kids, items);
    }
    Z3_ast a = noe_encode_term(e, s, t->kids[0]);
    switch ((int)t->kind) {
    case NOE_TERM_DIM:
        return element(e, shape_of_variable(e, s, t->var), a);
    case NOE_TERM_LEN:
    case NOE_TERM_PROD:
    case NOE_TERM_SUM:
        return fold(e, t->kind, a);
    case NOE_TERM_RANGE:
        return range(e, a);
    case NOE_TERM_NOT:
        return Z3_mk_not(e->z3, a);
    }
    return encode_pair(e, t->kind, a, noe_encode_term(e, s, t->kids[1]));
}

Z3_ast noe_encode_where(const noe_encoder *e, noe_scope *s)
{
    if (s->rule->where == NOE_TERM_ABSENT)
        return Z3_mk_true(e->z3);
    return noe_encode_term(e, s, s->rule->where);
}

/* Nodes */

/* Every entry is the given number, whatever the length. */
static bool is_uniform(const noe_rule *rule, uint16_t term, int64_t value)
{
    const noe_term *t = &rule->terms[term];
    if (t->kind == NOE_TERM_REP)
        return rule->terms[t->kids[0]].kind == NOE_TERM_INT &&
               rule->terms[t->kids[0]].i == value;
    if (t->kind != NOE_TERM_LIST)
        return false;
    for (int i = 0; i < t->n_kids; i++) {
        const noe_term *item = &rule->terms[t->kids[i]];
        if (item->kind != NOE_TERM_INT || item->i != value)
            return false;
    }
    return true;
}

/* Parameters whose default has no fixed length; -1 for others. */
static int64_t uniform_default(noe_op op, noe_param p)
{
    if (p == NOE_PARAM_STRIDES || p == NOE_PARAM_DILATIONS)
        return 1;
    return p == NOE_PARAM_PADS && op != NOE_OP_PAD ? 0 : -1;
}

static Z3_ast encode_value(const noe_encoder *e, const noe_value *v)
{
    Z3_ast items[NOE_MAX_LIST];
    if (v->kind == NOE_KIND_FLOAT)
        return float_constant(e, v->f);
    if (v->kind == NOE_KIND_INT || v->kind == NOE_KIND_AXIS)
        return number(e, v->i);
    for (int i = 0; i < v->n; i++)
        items[i] = number(e, v->list[i]);
    return make_list(e, (unsigned)v->n, items);
}

static bool is_ground(const noe_rule *rule, uint16_t term)
{
    const noe_term *t = &rule->terms[term];
    if (t->kind == NOE_TERM_INT || t->kind == NOE_TERM_FLOAT)
        return true;
    if (t->kind != NOE_TERM_LIST)
        return false;
    for (int i = 0; i < t->n_kids; i++) {
        if (rule->terms[t->kids[i]].kind != NOE_TERM_INT)
            return false;
    }
    return true;
}

static Z3_ast abstract(const noe_encoder *e, noe_scope *s, Z3_ast value)
{
    NOE_ASSERT(s->n_fresh < NOE_ENCODE_MAX_FRESH);
    Z3_ast fresh = Z3_mk_fresh_const(e->z3, "v", Z3_get_sort(e->z3, value));
    s->fresh[s->n_fresh] = fresh;
    s->equation[s->n_fresh++] = Z3_mk_eq(e->z3, fresh, value);
    return fresh;
}

static Z3_ast encode_param(const noe_encoder *e, noe_scope *s, uint16_t node, int i)
{
    const noe_pattern_node *p = &s->rule->nodes[node];
    noe_param param = noe_op_get(p->op)->params[i];
    uint16_t term = p->params[i];
    int64_t uniform = uniform_default(p->op, param);
    if (uniform >= 0 && (term == NOE_TERM_ABSENT || is_uniform(s->rule, term, uniform)))
        return apply(e, uniform ? NOE_FN_DEFAULT_ONES : NOE_FN_DEFAULT_ZEROS, NULL,
                     NULL);
    if (term == NOE_TERM_ABSENT) {
        noe_value v = {0};
        bool has = noe_param_default(p->op, param, 0, &v);
        NOE_ASSERT(has);
        return encode_value(e, &v);
    }
    const noe_term *t = &s->rule->terms[term];
    if (noe_param_kind_of(param) == NOE_KIND_FLOAT && t->kind == NOE_TERM_INT)
        return float_constant(e, (double)t->i);
    /* As it is, though ranks are known: equal to the list of its numbers. */
    if (t->kind == NOE_TERM_PVAR)
        return s->pvar[t->var];
    Z3_ast value = noe_encode_term(e, s, term);
    return s->pattern && !is_ground(s->rule, term) ? abstract(e, s, value) : value;
}

Z3_ast noe_encode_node(const noe_encoder *e, noe_scope *s, uint16_t node)
{
    const noe_pattern_node *p = &s->rule->nodes[node];
    if (p->is_var)
        return s->var[p->var];
    Z3_ast args[NOE_MAX_PARAMS + NOE_RULE_MAX_INPUTS];
    const noe_op_info *info = noe_op_get(p->op);
    unsigned n = 0;
    for (int i = 0; i < info->n_params; i++)
        args[n++] = encode_param(e, s, node, i);
    for (int i = 0; i < p->n_inputs; i++)
        args[n++] = noe_encode_node(e, s, p->inputs[i]);
    /* An operand that may be left out is nothing in particular. */
    for (int i = p->n_inputs; i < info->max_in; i++)
        args[n++] = Z3_mk_const(e->z3, symbol(e, "absent"), e->tensor);
    return Z3_mk_app(e->z3, e->op[p->op], n, args);
}
