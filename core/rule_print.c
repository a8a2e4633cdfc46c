/* SPDX-License-Identifier: Apache-2.0
 *
 * Writer of rules. Variables are renamed in the order in which the text meets them, so
 * the text is the same for all namings: it is what rule ids hash.
 */
#include "core/rule.h"

typedef struct printer {
    const noe_rule *rule;
    noe_buf *b;
    int var_name[NOE_RULE_MAX_VARS]; /* -1: not met yet */
    int pvar_name[NOE_RULE_MAX_PVARS];
    int n_vars, n_pvars;
} printer;

static printer printer_make(const noe_rule *rule, noe_buf *b)
{
    printer p = {.rule = rule, .b = b};
    for (int i = 0; i < NOE_RULE_MAX_VARS; i++)
        p.var_name[i] = -1;
    for (int i = 0; i < NOE_RULE_MAX_PVARS; i++)
        p.pvar_name[i] = -1;
    return p;
}

static void print_var(printer *p, uint16_t var)
{
    bool first = p->var_name[var] < 0;
    if (first)
        p->var_name[var] = p->n_vars++;
    noe_buf_printf(p->b, "?%c", 'a' + p->var_name[var]);
    if (first && p->rule->vars[var].is_weight)
        noe_buf_puts(p->b, ":weight");
}

static void print_pvar(printer *p, uint16_t var)
{
    if (p->pvar_name[var] < 0)
        p->pvar_name[var] = p->n_pvars++;
    noe_buf_printf(p->b, "$%c", 'a' + p->pvar_name[var]);
}

/* How tightly an infix operator binds, and how it is written; "" for the others. */
static const struct {
    const char *text;
    int level;
} infixes[] = {
    [NOE_TERM_OR] = {" || ", 1},  [NOE_TERM_AND] = {" && ", 2},
    [NOE_TERM_EQ] = {" == ", 4},  [NOE_TERM_NE] = {" != ", 4},
    [NOE_TERM_LT] = {" < ", 4},   [NOE_TERM_LE] = {" <= ", 4},
    [NOE_TERM_ADD] = {" + ", 5},  [NOE_TERM_SUB] = {" - ", 5},
    [NOE_TERM_CAT] = {" ++ ", 5}, [NOE_TERM_MUL] = {" * ", 6},
    [NOE_TERM_DIV] = {" / ", 6},  [NOE_TERM_MOD] = {" % ", 6},
    [NOE_TERM_NOT] = {NULL, 3},
};

static const char *const functions[] = {
    [NOE_TERM_DIM] = "dim",         [NOE_TERM_RANK] = "rank",
    [NOE_TERM_SHAPE] = "shape",     [NOE_TERM_REP] = "rep",
    [NOE_TERM_AT] = "at",           [NOE_TERM_LEN] = "len",
    [NOE_TERM_PROD] = "prod",       [NOE_TERM_SUM] = "sum",
    [NOE_TERM_MIN] = "min",         [NOE_TERM_MAX] = "max",
    [NOE_TERM_TAKE] = "take",       [NOE_TERM_SKIP] = "skip",
    [NOE_TERM_WITHOUT] = "without", [NOE_TERM_WITH_ONES] = "with_ones",
    [NOE_TERM_RANGE] = "range",     [NOE_TERM_HAS] = "has",
    [NOE_TERM_NOT] = NULL,
};

static void print_term(printer *p, uint16_t term, int level);

static void print_function(printer *p, const noe_term *t)
{
    bool takes_var = t->kind == NOE_TERM_DIM || t->kind == NOE_TERM_RANK ||
                     t->kind == NOE_TERM_SHAPE;
    noe_buf_printf(p->b, "%s(", functions[t->kind]);
    if (takes_var)
        print_var(p, t->var);
    for (int i = 0; i < t->n_kids; i++) {
        if (i > 0 || takes_var)
            noe_buf_puts(p->b, ", ");
        print_term(p, t->kids[i], 0);
    }
    noe_buf_puts(p->b, ")");
}

static void print_infix(printer *p, const noe_term *t, int level)
{
    int own = infixes[t->kind].level;
    /* Comparisons chain to the left in the grammar; brackets keep them readable. */
    int left = own == 4 ? own + 1 : own;
    if (own < level)
        noe_buf_puts(p->b, "(");
    print_term(p, t->kids[0], left);
    noe_buf_puts(p->b, infixes[t->kind].text);
    print_term(p, t->kids[1], own + 1);
    if (own < level)
        noe_buf_puts(p->b, ")");
}

static void print_not(printer *p, const noe_term *t, int level)
{
    bool brackets = infixes[t->kind].level < level;
    noe_buf_puts(p->b, brackets ? "(!(" : "!(");
    print_term(p, t->kids[0], 0);
    noe_buf_puts(p->b, brackets ? "))" : ")");
}

static void print_list(printer *p, const noe_term *t)
{
    noe_buf_puts(p->b, "[");
    for (int i = 0; i < t->n_kids; i++) {
        if (i > 0)
            noe_buf_puts(p->b, ", ");
        print_term(p, t->kids[i], 0);
    }
    noe_buf_puts(p->b, "]");
}

static void print_term(printer *p, uint16_t term, int level)
{
    const noe_term *t = &p->rule->terms[term];
    noe_value v;
    switch ((int)t->kind) {
    case NOE_TERM_INT:
        noe_buf_printf(p->b, "%lld", (long long)t->i);
        return;
    case NOE_TERM_FLOAT:
        v = noe_value_float(t->f);
        noe_value_print(p->b, &v);
        return;
    case NOE_TERM_PVAR:
        print_pvar(p, t->var);
        return;
    case NOE_TERM_LIST:
        print_list(p, t);
        return;
    case NOE_TERM_NOT:
        print_not(p, t, level);
        return;
    }
    if ((size_t)t->kind < sizeof infixes / sizeof *infixes && infixes[t->kind].text)
        print_infix(p, t, level);
    else
        print_function(p, t);
}

/* A scalar literal that says what the default says is left out. */
static bool is_default(const noe_rule *rule, noe_op op, noe_param param, uint16_t term)
{
    noe_value d;
    if (term == NOE_TERM_ABSENT)
        return true;
    const noe_term *t = &rule->terms[term];
    noe_param_kind kind = noe_param_kind_of(param);
    if (kind == NOE_KIND_INTS || kind == NOE_KIND_AXES ||
        !noe_param_default(op, param, 0, &d))
        return false;
    if (t->kind == NOE_TERM_FLOAT)
        return d.kind == NOE_KIND_FLOAT && d.f == t->f;
    return t->kind == NOE_TERM_INT &&
           (d.kind == NOE_KIND_FLOAT ? d.f == (double)t->i : d.i == t->i);
}

static void print_params(printer *p, const noe_pattern_node *n)
{
    const noe_op_info *info = noe_op_get(n->op);
    bool open = false;
    for (int i = 0; i < info->n_params; i++) {
        if (is_default(p->rule, n->op, info->params[i], n->params[i]))
            continue;
        noe_buf_printf(p->b, "%s%s=", open ? ", " : "[",
                       noe_param_name(info->params[i]));
        print_term(p, n->params[i], 0);
        open = true;
    }
    if (open)
        noe_buf_puts(p->b, "]");
}

static void print_head(printer *p, const noe_pattern_node *n)
{
    if (n->is_var) {
        print_var(p, n->var);
        return;
    }
    noe_buf_puts(p->b, noe_op_get(n->op)->name);
    print_params(p, n);
}

static void print_tree(printer *p, uint16_t node)
{
    const noe_pattern_node *n = &p->rule->nodes[node];
    print_head(p, n);
    if (n->is_var)
        return;
    noe_buf_puts(p->b, "(");
    for (int i = 0; i < n->n_inputs; i++) {
        if (i > 0)
            noe_buf_puts(p->b, ", ");
        print_tree(p, n->inputs[i]);
    }
    noe_buf_puts(p->b, ")");
}

static void print_side(printer *p, const uint16_t *roots)
{
    if (p->rule->n_roots > 1)
        noe_buf_puts(p->b, "{ ");
    for (int i = 0; i < p->rule->n_roots; i++) {
        if (i > 0)
            noe_buf_puts(p->b, ", ");
        print_tree(p, roots[i]);
    }
    if (p->rule->n_roots > 1)
        noe_buf_puts(p->b, " }");
}

void noe_rule_print(noe_buf *b, const noe_rule *rule)
{
    printer p = printer_make(rule, b);
    print_side(&p, rule->lhs);
    noe_buf_puts(b, " => ");
    print_side(&p, rule->rhs);
    if (rule->where != NOE_TERM_ABSENT) {
        noe_buf_puts(b, " where ");
        print_term(&p, rule->where, 0);
    }
}

/* Parts of a rule use the same names as the whole: print the parts before, drop them.
 */
void noe_rule_print_side(noe_buf *b, const noe_rule *rule, bool rhs)
{
    printer p = printer_make(rule, b);
    size_t start = b->len;
    print_side(&p, rule->lhs);
    if (!rhs)
        return;
    b->len = start;
    print_side(&p, rule->rhs);
}

void noe_rule_print_node(noe_buf *b, const noe_rule *rule, uint16_t node)
{
    printer p = printer_make(rule, b);
    size_t start = b->len;
    print_side(&p, rule->lhs);
    print_side(&p, rule->rhs);
    b->len = start;
    print_head(&p, &rule->nodes[node]);
}

void noe_rule_print_where(noe_buf *b, const noe_rule *rule)
{
    printer p = printer_make(rule, b);
    size_t start = b->len;
    if (rule->where == NOE_TERM_ABSENT)
        return;
    print_side(&p, rule->lhs);
    print_side(&p, rule->rhs);
    b->len = start;
    print_term(&p, rule->where, 0);
}
