/* SPDX-License-Identifier: Apache-2.0
 *
 * What a proof rests on.
 *
 * E-matching knows no types: it may pass through terms that are well-typed nowhere, or
 * only for some ranks, where an axiom says nothing. So each instance of an axiom that a
 * proof uses is evaluated at typed instances of the rule: its terms get types by the
 * shape rules, its condition is evaluated, and both sides are compared in FIELD. A
 * proof with a step that fails anywhere is no proof.
 *
 * The laws of shapes are instances of nothing that could be evaluated, but they are
 * true of well-typed terms only, and E-matching makes others on its way: from
 * transpose[perm=$p](add(?a, ?b)) also transpose[perm=$p](?b), whatever the rank of ?b,
 * and its law would give any rule. So each term that a law is used of must be
 * well-typed at the instances, too.
 */
#include "verifier/certificate.h"
#include "core/field_check.h"
#include <stdio.h>
#include <stdlib.h>

/* Collecting */

static const char *decl_name(const noe_encoder *e, Z3_ast a)
{
    Z3_func_decl d = Z3_get_app_decl(e->z3, Z3_to_app(e->z3, a));
    return Z3_get_symbol_string(e->z3, Z3_get_decl_name(e->z3, d));
}

static bool same_step(const noe_step *a, const noe_step *b, int n)
{
    if (a->axiom != b->axiom)
        return false;
    for (int i = 0; i < n; i++) {
        if (a->arg[i] != b->arg[i])
            return false;
    }
    return true;
}

static void add_step(const noe_axioms *axioms, noe_certificate *c, const noe_step *step)
{
    const noe_rule *rule = &axioms->axiom[step->axiom].rule;
    for (int i = 0; i < c->n; i++) {
        if (same_step(&c->step[i], step, rule->n_vars + rule->n_pvars))
            return;
    }
    NOE_PUSH(c->step, c->n, c->cap, *step);
}

/* Finds the mark in an instance of a quantified formula; laws have none. */
static bool read_instance(const noe_encoder *e, const noe_axioms *axioms, Z3_ast a,
                          noe_certificate *c)
{
    int direction;
    noe_step step = {.axiom = -1};
    if (Z3_get_ast_kind(e->z3, a) != Z3_APP_AST)
        return false;
    Z3_app app = Z3_to_app(e->z3, a);
    unsigned n = Z3_get_app_num_args(e->z3, app);
    Z3_decl_kind kind = Z3_get_decl_kind(e->z3, Z3_get_app_decl(e->z3, app));
    if (kind == Z3_OP_UNINTERPRETED &&
        sscanf(decl_name(e, a), "axiom!%d!%d", &step.axiom, &direction) == 2 &&
        step.axiom >= 0 && step.axiom < axioms->n) {
        for (unsigned i = 0; i < n; i++)
            step.arg[i] = Z3_get_app_arg(e->z3, app, i);
        add_step(axioms, c, &step);
        return true;
    }
    if (kind != Z3_OP_AND && kind != Z3_OP_OR && kind != Z3_OP_NOT)
        return false;
    bool found = false;
    for (unsigned i = 0; i < n; i++)
        found |= read_instance(e, axioms, Z3_get_app_arg(e->z3, app, i), c);
    return found;
}

typedef struct id_set {
    uint8_t *seen;
    size_t size;
} id_set;

static bool insert(id_set *s, unsigned id)
{
    if (id >= s->size) {
        size_t size = (size_t)id * 2 + 1024;
        s->seen = noe_realloc(s->seen, size);
        memset(s->seen + s->size, 0, size - s->size);
        s->size = size;
    }
    bool is_new = !s->seen[id];
    s->seen[id] = 1;
    return is_new;
}

/* Tensors in an instance of a law, the largest ones only. */
static void read_law(const noe_encoder *e, Z3_ast a, id_set *seen, noe_certificate *c)
{
    if (Z3_get_ast_kind(e->z3, a) != Z3_APP_AST ||
        !insert(seen, Z3_get_ast_id(e->z3, a)))
        return;
    if (Z3_get_sort(e->z3, a) == e->tensor) {
        NOE_PUSH(c->term, c->n_terms, c->cap_terms, a);
        return;
    }
    Z3_app app = Z3_to_app(e->z3, a);
    unsigned n = Z3_get_app_num_args(e->z3, app);
    for (unsigned i = 0; i < n; i++)
        read_law(e, Z3_get_app_arg(e->z3, app, i), seen, c);
}

void noe_certificate_collect(const noe_encoder *e, const noe_axioms *axioms,
                             Z3_ast proof, noe_certificate *c)
{
    id_set set = {0}, terms = {0};
    Z3_ast *stack = NULL;
    size_t n = 0, cap = 0;
    NOE_PUSH(stack, n, cap, proof);
    while (n > 0) {
        Z3_ast a = stack[--n];
        if (!insert(&set, Z3_get_ast_id(e->z3, a)) ||
            Z3_get_ast_kind(e->z3, a) != Z3_APP_AST)
            continue;
        Z3_app app = Z3_to_app(e->z3, a);
        unsigned n_args = Z3_get_app_num_args(e->z3, app);
        Z3_decl_kind kind = Z3_get_decl_kind(e->z3, Z3_get_app_decl(e->z3, app));
        if (kind == Z3_OP_PR_QUANT_INST) {
            Z3_ast instance = Z3_get_app_arg(e->z3, app, n_args - 1);
            NOE_PUSH(c->instance, c->n_instances, c->cap_instances, instance);
            if (!read_instance(e, axioms, instance, c))
                read_law(e, instance, &terms, c);
            continue;
        }
        for (unsigned i = 0; i < n_args; i++) {
            Z3_ast arg = Z3_get_app_arg(e->z3, app, i);
            NOE_PUSH(stack, n, cap, arg);
        }
    }
    free(stack);
    free(set.seen);
    free(terms.seen);
}

void noe_certificate_clear(noe_certificate *c)
{
    free(c->step);
    free(c->term);
    free(c->instance);
    *c = (noe_certificate){0};
}

/* Printing */

static noe_op operator_of(const noe_encoder *e, Z3_ast a)
{
    Z3_func_decl d = Z3_get_app_decl(e->z3, Z3_to_app(e->z3, a));
    for (int op = 0; op < NOE_OP_COUNT; op++) {
        if (e->op[op] == d)
            return (noe_op)op;
    }
    return NOE_OP_COUNT;
}

static noe_function function_of(const noe_encoder *e, Z3_ast a)
{
    Z3_func_decl d = Z3_get_app_decl(e->z3, Z3_to_app(e->z3, a));
    for (int f = 0; f < NOE_FN_COUNT; f++) {
        if (e->fn[f] == d)
            return (noe_function)f;
    }
    return NOE_FN_COUNT;
}

static int list_length(const noe_encoder *e, Z3_ast a)
{
    Z3_func_decl d = Z3_get_app_decl(e->z3, Z3_to_app(e->z3, a));
    for (int n = 0; n <= NOE_MAX_LIST; n++) {
        if (e->make_list[n] == d)
            return n;
    }
    return -1;
}

static Z3_ast arg_of(const noe_encoder *e, Z3_ast a, unsigned i)
{
    return Z3_get_app_arg(e->z3, Z3_to_app(e->z3, a), i);
}

static void print_ast(const noe_encoder *e, Z3_ast a, noe_buf *b);

static void print_arguments(const noe_encoder *e, Z3_ast a, unsigned from, noe_buf *b)
{
    unsigned n = Z3_get_app_num_args(e->z3, Z3_to_app(e->z3, a));
    for (unsigned i = from; i < n; i++) {
        noe_buf_puts(b, i > from ? ", " : "");
        print_ast(e, arg_of(e, a, i), b);
    }
}

static void print_operator(const noe_encoder *e, noe_op op, Z3_ast a, noe_buf *b)
{
    const noe_op_info *info = noe_op_get(op);
    noe_buf_puts(b, info->name);
    for (int i = 0; i < info->n_params; i++) {
        noe_buf_printf(b, "%s%s=", i ? ", " : "[", noe_param_name(info->params[i]));
        print_ast(e, arg_of(e, a, (unsigned)i), b);
    }
    noe_buf_puts(b, info->n_params ? "](" : "(");
    print_arguments(e, a, (unsigned)info->n_params, b);
    noe_buf_puts(b, ")");
}

static void print_ast(const noe_encoder *e, Z3_ast a, noe_buf *b)
{
    if (Z3_get_ast_kind(e->z3, a) == Z3_NUMERAL_AST) {
        noe_buf_puts(b, Z3_get_numeral_string(e->z3, a));
        return;
    }
    if (Z3_get_ast_kind(e->z3, a) != Z3_APP_AST) {
        noe_buf_puts(b, "?");
        return;
    }
    noe_op op = operator_of(e, a);
    if (op != NOE_OP_COUNT) {
        print_operator(e, op, a, b);
        return;
    }
    if (list_length(e, a) >= 0) {
        noe_buf_puts(b, "[");
        print_arguments(e, a, 0, b);
        noe_buf_puts(b, "]");
        return;
    }
    noe_buf_puts(b, decl_name(e, a));
    if (Z3_get_app_num_args(e->z3, Z3_to_app(e->z3, a)) == 0)
        return;
    noe_buf_puts(b, "(");
    print_arguments(e, a, 0, b);
    noe_buf_puts(b, ")");
}

void noe_term_print(const noe_encoder *e, Z3_ast term, noe_buf *b)
{
    print_ast(e, term, b);
}

void noe_step_print(const noe_encoder *e, const noe_axioms *axioms,
                    const noe_step *step, noe_buf *b)
{
    const noe_rule *rule = &axioms->axiom[step->axiom].rule;
    noe_buf_puts(b, axioms->axiom[step->axiom].name);
    for (int i = 0; i < rule->n_vars; i++) {
        noe_buf_printf(b, " ?%s=", rule->vars[i].name);
        print_ast(e, step->arg[i], b);
    }
    for (int i = 0; i < rule->n_pvars; i++) {
        noe_buf_printf(b, " $%s=", rule->pvars[i].name);
        print_ast(e, step->arg[rule->n_vars + i], b);
    }
}

/* Evaluating terms at an instance of the candidate */

#define UNIFORM_ONES  (-1) /* lengths of lists that are as long as they need be */
#define UNIFORM_ZEROS (-2)

#define MAX_STEP_ELEMENTS 100000 /* of a term in a proof, at a test instance */

typedef struct reader {
    const noe_encoder *e;
    const noe_rule *rule;
    const noe_instance *inst;
} reader;

static bool read_value(const reader *r, Z3_ast a, noe_value *v);
static bool read_type(const reader *r, Z3_ast a, noe_type *t);

static bool read_int(const reader *r, Z3_ast a, int64_t *i)
{
    noe_value v;
    if (!read_value(r, a, &v) || (v.kind != NOE_KIND_INT && v.kind != NOE_KIND_AXIS))
        return false;
    *i = v.i;
    return true;
}

/* Small numbers only: parameters and sizes of test instances. */
static bool read_arithmetic(const reader *r, Z3_ast a, Z3_decl_kind kind, int64_t *out)
{
    unsigned n = Z3_get_app_num_args(r->e->z3, Z3_to_app(r->e->z3, a));
    int64_t x = 0;
    if (kind == Z3_OP_ITE) {
        int64_t condition;
        return read_int(r, arg_of(r->e, a, 0), &condition) &&
               read_int(r, arg_of(r->e, a, condition ? 1 : 2), out);
    }
    for (unsigned i = 0; i < n; i++) {
        int64_t y;
        if (!read_int(r, arg_of(r->e, a, i), &y))
            return false;
        if (i == 0 && kind != Z3_OP_UMINUS) {
            x = y;
            continue;
        }
        switch ((int)kind) {
        case Z3_OP_ADD:
            x += y;
            break;
        case Z3_OP_SUB:
        case Z3_OP_UMINUS:
            x -= y;
            break;
        case Z3_OP_MUL:
            x *= y;
            break;
        case Z3_OP_IDIV:
        case Z3_OP_MOD: {
            if (y <= 0)
                return false;
            int64_t q = x / y - (x % y < 0);
            x = kind == Z3_OP_MOD ? x - q * y : q;
            break;
        }
        case Z3_OP_LE:
            x = x <= y;
            break;
        case Z3_OP_GE:
            x = x >= y;
            break;
        case Z3_OP_LT:
            x = x < y;
            break;
        case Z3_OP_GT:
            x = x > y;
            break;
        case Z3_OP_EQ:
            x = x == y;
            break;
        default:
            return false;
        }
    }
    *out = x;
    return true;
}

/* Lists and numbers that the encoder's functions stand for, through the evaluator of
 * terms: a term over parameter variables holding the arguments. */
static bool apply_function(noe_function f, const noe_value *x, const noe_value *y,
                           noe_value *out)
{
    static const noe_term_kind kind_of[NOE_FN_COUNT] = {
        [NOE_FN_LEN] = NOE_TERM_LEN,         [NOE_FN_AT] = NOE_TERM_AT,
        [NOE_FN_PICK] = NOE_TERM_AT,         [NOE_FN_CAT] = NOE_TERM_CAT,
        [NOE_FN_REP] = NOE_TERM_REP,         [NOE_FN_PROD] = NOE_TERM_PROD,
        [NOE_FN_TAKE] = NOE_TERM_TAKE,       [NOE_FN_SKIP] = NOE_TERM_SKIP,
        [NOE_FN_WITHOUT] = NOE_TERM_WITHOUT, [NOE_FN_WITH_ONES] = NOE_TERM_WITH_ONES,
        [NOE_FN_RANGE] = NOE_TERM_RANGE,     [NOE_FN_HAS] = NOE_TERM_HAS,
        [NOE_FN_SUM] = NOE_TERM_SUM,         [NOE_FN_LIST_ADD] = NOE_TERM_ADD,
        [NOE_FN_LIST_SUB] = NOE_TERM_SUB,    [NOE_FN_LIST_MUL] = NOE_TERM_MUL,
        [NOE_FN_LIST_DIV] = NOE_TERM_DIV,    [NOE_FN_LIST_MOD] = NOE_TERM_MOD,
        [NOE_FN_LIST_MIN] = NOE_TERM_MIN,    [NOE_FN_LIST_MAX] = NOE_TERM_MAX,
        [NOE_FN_MUL] = NOE_TERM_MUL,         [NOE_FN_DIV] = NOE_TERM_DIV,
        [NOE_FN_MOD] = NOE_TERM_MOD,
    };
    noe_rule *rule = noe_calloc(1, sizeof *rule);
    noe_binding *b = noe_calloc(1, sizeof *b);
    rule->terms[0] = (noe_term){.kind = NOE_TERM_PVAR, .var = 0};
    rule->terms[1] = (noe_term){.kind = NOE_TERM_PVAR, .var = 1};
    rule->terms[2] =
        (noe_term){.kind = kind_of[f], .n_kids = (uint16_t)(y ? 2 : 1), .kids = {0, 1}};
    rule->n_terms = 3;
    b->pvalue[0] = *x;
    b->pbound[0] = true;
    if (y)
        b->pvalue[1] = *y;
    b->pbound[1] = y != NULL;
    bool ok = noe_term_eval(rule, 2, b, out);
    free(rule);
    free(b);
    return ok;
}

static bool shape_value(const noe_shape *s, noe_value *v)
{
    *v = noe_value_list(NOE_KIND_INTS, s->rank, s->dim);
    return true;
}

static bool read_function(const reader *r, Z3_ast a, noe_function f, noe_value *v)
{
    noe_type t;
    noe_value x, y;
    unsigned n = Z3_get_app_num_args(r->e->z3, Z3_to_app(r->e->z3, a));
    if (f == NOE_FN_DEFAULT_ONES || f == NOE_FN_DEFAULT_ZEROS) {
        *v = (noe_value){.kind = NOE_KIND_INTS,
                         .n = f == NOE_FN_DEFAULT_ONES ? UNIFORM_ONES : UNIFORM_ZEROS};
        return true;
    }
    if (f == NOE_FN_SHAPE)
        return read_type(r, arg_of(r->e, a, 0), &t) && shape_value(&t.shape, v);
    if (!read_value(r, arg_of(r->e, a, 0), &x) ||
        (n == 2 && !read_value(r, arg_of(r->e, a, 1), &y)))
        return false;
    if (f == NOE_FN_BROADCAST) {
        if (x.n < 0 || y.n < 0 || x.n > NOE_MAX_RANK || y.n > NOE_MAX_RANK)
            return false;
        noe_shape sx = noe_shape_make(x.n, x.list), sy = noe_shape_make(y.n, y.list),
                  out;
        return noe_shape_broadcast(&sx, &sy, &out) && shape_value(&out, v);
    }
    if (x.n < 0 || (n == 2 && y.n < 0))
        return false;
    return apply_function(f, &x, n == 2 ? &y : NULL, v);
}

static bool read_constant(const reader *r, Z3_ast a, noe_value *v)
{
    const char *name = decl_name(r->e, a);
    for (int i = 0; i < r->rule->n_pvars && name[0] == '$'; i++) {
        if (strcmp(r->rule->pvars[i].name, name + 1) == 0) {
            *v = r->inst->binding.pvalue[i];
            return r->inst->binding.pbound[i];
        }
    }
    if (Z3_get_sort(r->e->z3, a) != r->e->real)
        return false;
    char *end;
    *v = noe_value_float(strtod(name, &end));
    return *end == '\0';
}

static bool read_value(const reader *r, Z3_ast a, noe_value *v)
{
    *v = noe_value_int(NOE_KIND_INT, 0);
    if (Z3_get_ast_kind(r->e->z3, a) == Z3_NUMERAL_AST)
        return Z3_get_numeral_int64(r->e->z3, a, &v->i);
    if (Z3_get_ast_kind(r->e->z3, a) != Z3_APP_AST)
        return false;
    Z3_app app = Z3_to_app(r->e->z3, a);
    Z3_decl_kind kind = Z3_get_decl_kind(r->e->z3, Z3_get_app_decl(r->e->z3, app));
    if (kind != Z3_OP_UNINTERPRETED)
        return read_arithmetic(r, a, kind, &v->i);
    int n = list_length(r->e, a);
    if (n >= 0) {
        int64_t items[NOE_MAX_LIST];
        for (int i = 0; i < n; i++) {
            if (!read_int(r, arg_of(r->e, a, (unsigned)i), &items[i]))
                return false;
        }
        *v = noe_value_list(NOE_KIND_INTS, n, items);
        return true;
    }
    noe_function f = function_of(r->e, a);
    if (f != NOE_FN_COUNT)
        return read_function(r, a, f, v);
    return Z3_get_app_num_args(r->e->z3, app) == 0 && read_constant(r, a, v);
}

static int variable_of(const reader *r, Z3_ast a)
{
    const char *name = decl_name(r->e, a);
    for (int i = 0; i < r->rule->n_vars && name[0] == '?'; i++) {
        if (strcmp(r->rule->vars[i].name, name + 1) == 0)
            return i;
    }
    return -1;
}

static bool read_params(const reader *r, Z3_ast a, noe_op op, const noe_type *in,
                        int n_in, noe_params *params)
{
    const noe_op_info *info = noe_op_get(op);
    int spatial = n_in > 0 ? in[0].shape.rank - 2 : 0;
    params->n = info->n_params;
    for (int i = 0; i < info->n_params; i++) {
        noe_value *v = &params->v[i];
        if (!read_value(r, arg_of(r->e, a, (unsigned)i), v))
            return false;
        if (v->n < 0 &&
            (spatial < 1 || !noe_param_default(op, info->params[i], spatial, v)))
            return false;
        v->kind = noe_param_kind_of(info->params[i]);
    }
    return info->n_params == 0 ||
           noe_params_normalize(op, params, in, n_in, NULL) == NOE_OK;
}

static bool read_type(const reader *r, Z3_ast a, noe_type *t)
{
    if (Z3_get_ast_kind(r->e->z3, a) != Z3_APP_AST)
        return false;
    noe_op op = operator_of(r->e, a);
    if (op == NOE_OP_COUNT) {
        int v = variable_of(r, a);
        if (v >= 0)
            *t = r->inst->binding.type[v];
        return v >= 0;
    }
    const noe_op_info *info = noe_op_get(op);
    noe_type in[NOE_RULE_MAX_INPUTS];
    noe_params params;
    for (int i = 0; i < info->max_in; i++) {
        if (!read_type(r, arg_of(r->e, a, (unsigned)(info->n_params + i)), &in[i]))
            return false;
    }
    return read_params(r, a, op, in, info->max_in, &params) &&
           noe_op_infer(op, &params, in, info->max_in, t, NULL) == NOE_OK;
}

bool noe_term_is_typed(const noe_encoder *e, Z3_ast term, const noe_rule *rule,
                       const noe_instance *inst)
{
    reader r = {e, rule, inst};
    noe_type type;
    return read_type(&r, term, &type);
}

/* Values of terms: the candidate's variables have the random values of `values`. */
typedef struct evaluator {
    const reader *r;
    const noe_field *field;
    const noe_tensor_fe *values;
    noe_arena *arena;
} evaluator;

static bool read_tensor(const evaluator *ev, Z3_ast a, noe_tensor_fe *out,
                        noe_dtype *dtype)
{
    const reader *r = ev->r;
    if (Z3_get_ast_kind(r->e->z3, a) != Z3_APP_AST)
        return false;
    noe_op op = operator_of(r->e, a);
    if (op == NOE_OP_COUNT) {
        int v = variable_of(r, a);
        if (v >= 0) {
            *out = ev->values[v];
            *dtype = r->inst->binding.type[v].dtype;
        }
        return v >= 0;
    }
    const noe_op_info *info = noe_op_get(op);
    noe_tensor_fe in[NOE_RULE_MAX_INPUTS];
    noe_type type[NOE_RULE_MAX_INPUTS], t;
    noe_params params;
    for (int i = 0; i < info->max_in; i++) {
        if (!read_tensor(ev, arg_of(r->e, a, (unsigned)(info->n_params + i)), &in[i],
                         &type[i].dtype))
            return false;
        type[i].shape = in[i].shape;
    }
    if (!read_params(r, a, op, type, info->max_in, &params) ||
        noe_op_infer(op, &params, type, info->max_in, &t, NULL) != NOE_OK)
        return false;
    int64_t n = noe_shape_elements(&t.shape);
    if (n < 0 || n > MAX_STEP_ELEMENTS)
        return false;
    out->shape = t.shape;
    *dtype = t.dtype;
    out->data = noe_arena_alloc(ev->arena, (size_t)(n + 1) * sizeof *out->data);
    noe_eval_fe(ev->field, op, &params, in, info->max_in, out);
    return true;
}

/* Parameters that are "all ones, as many as it needs" get a length by trying. */
static bool holds_at(const evaluator *ev, const noe_rule *axiom, noe_instance *scratch,
                     const noe_tensor_fe *values, int spatial)
{
    for (int i = 0; i < axiom->n_pvars; i++) {
        noe_value *v = &scratch->binding.pvalue[i];
        if (v->n >= 0)
            continue;
        int n = v->n == UNIFORM_ONES ? spatial : 2 * spatial;
        int64_t fill = v->n == UNIFORM_ONES ? 1 : 0;
        v->n = n;
        for (int k = 0; k < n; k++)
            v->list[k] = fill;
    }
    /* Where the condition does not hold, the step says nothing. */
    if (!noe_rule_holds(axiom, &scratch->binding))
        return true;
    return noe_instance_check(axiom, scratch, false) &&
           !noe_field_compare(axiom, scratch, ev->field, values, ev->arena).found;
}

static bool bind_variables(const evaluator *ev, const noe_step *step,
                           const noe_rule *axiom, noe_binding *b, noe_tensor_fe *values)
{
    for (int i = 0; i < axiom->n_vars; i++) {
        if (!read_tensor(ev, step->arg[i], &values[i], &b->type[i].dtype))
            return false;
        b->type[i].shape = values[i].shape;
        b->bound[i] = true;
    }
    return true;
}

/* *open: some parameter has no length of its own. */
static bool bind_parameters(const reader *r, const noe_step *step,
                            const noe_rule *axiom, noe_binding *b, bool *open)
{
    *open = false;
    for (int i = 0; i < axiom->n_pvars; i++) {
        if (!read_value(r, step->arg[axiom->n_vars + i], &b->pvalue[i]))
            return false;
        *open |= b->pvalue[i].n < 0;
        b->pvalue[i].kind = axiom->pvars[i].kind;
        b->pbound[i] = true;
    }
    return true;
}

static bool step_holds(const evaluator *ev, const noe_axioms *axioms,
                       const noe_step *step, noe_instance *scratch)
{
    const noe_rule *axiom = &axioms->axiom[step->axiom].rule;
    noe_binding *b = &scratch->binding;
    noe_tensor_fe values[NOE_RULE_MAX_VARS];
    bool open;
    memset(b->bound, 0, sizeof b->bound);
    memset(b->pbound, 0, sizeof b->pbound);
    if (!bind_variables(ev, step, axiom, b, values) ||
        !bind_parameters(ev->r, step, axiom, b, &open))
        return false;
    if (!open)
        return holds_at(ev, axiom, scratch, values, 0);
    noe_binding *saved = noe_malloc(sizeof *saved);
    *saved = *b;
    bool ok = false;
    for (int spatial = 1; spatial <= 3 && !ok; spatial++) {
        *b = *saved;
        ok = holds_at(ev, axiom, scratch, values, spatial);
    }
    free(saved);
    return ok;
}

bool noe_step_holds(const noe_encoder *e, const noe_axioms *axioms,
                    const noe_step *step, const noe_rule *rule,
                    const noe_instance *inst, noe_instance *scratch)
{
    reader r = {e, rule, inst};
    /* Either way of reading signs will do: each axiom is true over the reals. */
    const noe_field fields[2] = {noe_field_make(1),
                                 noe_field_make_ordered(1, NOE_FIELD_RANGE)};
    bool ok = false;
    for (int i = 0; i < 2 && !ok; i++) {
        noe_arena arena = {0};
        noe_tensor_fe values[NOE_RULE_MAX_VARS];
        noe_field_draw(rule, inst, &fields[i], 1, 0, &arena, values);
        evaluator ev = {&r, &fields[i], values, &arena};
        ok = step_holds(&ev, axioms, step, scratch);
        noe_arena_clear(&arena);
    }
    return ok;
}
