/* SPDX-License-Identifier: Apache-2.0
 *
 * Reader of rules, by recursive descent with a bounded depth. Equal subterms and equal
 * subpatterns become one node, so that two texts of the same rule give the same arrays.
 *
 *   rule   := side ("=>" | ":=") side ["where" cond]
 *   side   := tree | "{" tree ("," tree)* "}"
 *   tree   := ?var [":" "weight"] | op [ "[" param "=" term, ... "]" ] "(" [tree, ...]
 * ")" cond   := and ("||" and)* ;  and := not ("&&" not)* ;  not := "!" not | cmp cmp
 * := sum [("==" | "!=" | "<" | "<=" | ">" | ">=") sum] sum    := prod (("+" | "-" |
 * "++") prod)* ;  prod := unary (("*" | "/" | "%") unary)* unary  := "-" unary | number
 * | $param | function | "[" sum, ... "]" | "(" cond ")"
 */
#include "core/lex.h"
#include "core/rule.h"

#define MAX_DEPTH 48

typedef struct parser {
    noe_lexer lx;
    noe_rule *rule;
    int depth;
} parser;

static noe_status parse_cond(parser *p, uint16_t *term);
static noe_status parse_sum(parser *p, uint16_t *term);

static noe_status enter(parser *p)
{
    if (++p->depth > MAX_DEPTH)
        return noe_lex_fail(&p->lx, "nested deeper than %d", MAX_DEPTH);
    return NOE_OK;
}

/* ---- terms ---- */

static bool same_term(const noe_term *a, const noe_term *b)
{
    return a->kind == b->kind && a->var == b->var && a->n_kids == b->n_kids &&
           a->i == b->i && memcmp(&a->f, &b->f, sizeof a->f) == 0 &&
           memcmp(a->kids, b->kids, a->n_kids * sizeof *a->kids) == 0;
}

static noe_status add_term(parser *p, const noe_term *t, uint16_t *out)
{
    noe_rule *r = p->rule;
    for (uint16_t i = 0; i < r->n_terms; i++) {
        if (same_term(&r->terms[i], t)) {
            *out = i;
            return NOE_OK;
        }
    }
    if (r->n_terms == NOE_RULE_MAX_TERMS)
        return noe_lex_fail(&p->lx, "more than %d terms", NOE_RULE_MAX_TERMS);
    *out = r->n_terms;
    r->terms[r->n_terms++] = *t;
    return NOE_OK;
}

static noe_status add_node2(parser *p, noe_term_kind kind, uint16_t a, uint16_t b,
                            uint16_t *out)
{
    noe_term t = {.kind = kind, .n_kids = 2, .kids = {a, b}};
    return add_term(p, &t, out);
}

static noe_status find_variable(parser *p, noe_variable *vars, uint16_t *n, int max,
                                uint16_t *out)
{
    const noe_token *t = &p->lx.token;
    if (t->len >= sizeof vars->name)
        return noe_lex_fail(&p->lx, "name '%.*s' is too long", 40, t->text);
    for (*out = 0; *out < *n; ++*out) {
        if (strlen(vars[*out].name) == t->len &&
            memcmp(vars[*out].name, t->text, t->len) == 0)
            break;
    }
    if (*out == *n) {
        if (*n == max)
            return noe_lex_fail(&p->lx, "more than %d variables", max);
        noe_variable *v = &vars[(*n)++];
        memset(v, 0, sizeof *v);
        memcpy(v->name, t->text, t->len);
    }
    noe_lex_next(&p->lx);
    return p->lx.status;
}

static noe_status tensor_variable(parser *p, uint16_t *var)
{
    if (p->lx.token.kind != NOE_TOKEN_VAR)
        return noe_lex_fail(&p->lx, "expected a tensor variable such as ?a");
    NOE_TRY(find_variable(p, p->rule->vars, &p->rule->n_vars, NOE_RULE_MAX_VARS, var));
    if (!noe_lex_accept(&p->lx, ":"))
        return NOE_OK;
    p->rule->vars[*var].is_weight = true;
    return noe_lex_expect(&p->lx, "weight");
}

static const struct {
    const char *name;
    noe_term_kind kind;
    bool takes_var;
    int n_args;
} functions[] = {
    {"dim", NOE_TERM_DIM, true, 1},
    {"rank", NOE_TERM_RANK, true, 0},
    {"shape", NOE_TERM_SHAPE, true, 0},
    {"rep", NOE_TERM_REP, false, 2},
    {"at", NOE_TERM_AT, false, 2},
    {"len", NOE_TERM_LEN, false, 1},
    {"prod", NOE_TERM_PROD, false, 1},
    {"sum", NOE_TERM_SUM, false, 1},
    {"min", NOE_TERM_MIN, false, 2},
    {"max", NOE_TERM_MAX, false, 2},
    {"take", NOE_TERM_TAKE, false, 2},
    {"skip", NOE_TERM_SKIP, false, 2},
    {"without", NOE_TERM_WITHOUT, false, 2},
    {"with_ones", NOE_TERM_WITH_ONES, false, 2},
    {"range", NOE_TERM_RANGE, false, 1},
    {"has", NOE_TERM_HAS, false, 2},
};

static noe_status parse_function(parser *p, uint16_t *term)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (!noe_lex_accept(&p->lx, functions[i].name))
            continue;
        noe_term t = {.kind = functions[i].kind,
                      .n_kids = (uint16_t)functions[i].n_args};
        NOE_TRY(noe_lex_expect(&p->lx, "("));
        if (functions[i].takes_var)
            NOE_TRY(tensor_variable(p, &t.var));
        for (int k = 0; k < functions[i].n_args; k++) {
            if (k > 0 || functions[i].takes_var)
                NOE_TRY(noe_lex_expect(&p->lx, ","));
            NOE_TRY(parse_sum(p, &t.kids[k]));
        }
        NOE_TRY(noe_lex_expect(&p->lx, ")"));
        return add_term(p, &t, term);
    }
    int len = p->lx.token.len < 40 ? (int)p->lx.token.len : 40;
    return noe_lex_fail(&p->lx, "unknown function '%.*s'", len, p->lx.token.text);
}

static noe_status parse_list(parser *p, uint16_t *term)
{
    noe_term t = {.kind = NOE_TERM_LIST};
    while (!noe_lex_is(&p->lx, "]")) {
        if (t.n_kids > 0)
            NOE_TRY(noe_lex_expect(&p->lx, ","));
        if (t.n_kids == NOE_MAX_LIST)
            return noe_lex_fail(&p->lx, "list longer than %d", NOE_MAX_LIST);
        NOE_TRY(parse_sum(p, &t.kids[t.n_kids++]));
    }
    NOE_TRY(noe_lex_expect(&p->lx, "]"));
    return add_term(p, &t, term);
}

static noe_status parse_primary(parser *p, uint16_t *term)
{
    noe_token t = p->lx.token;
    noe_term leaf = {0};
    if (noe_lex_accept(&p->lx, "["))
        return parse_list(p, term);
    if (noe_lex_accept(&p->lx, "(")) {
        NOE_TRY(parse_cond(p, term));
        return noe_lex_expect(&p->lx, ")");
    }
    switch ((int)t.kind) {
    case NOE_TOKEN_INT:
        leaf.kind = NOE_TERM_INT;
        leaf.i = t.i;
        break;
    case NOE_TOKEN_FLOAT:
        leaf.kind = NOE_TERM_FLOAT;
        leaf.f = t.f;
        break;
    case NOE_TOKEN_PVAR:
        leaf.kind = NOE_TERM_PVAR;
        NOE_TRY(find_variable(p, p->rule->pvars, &p->rule->n_pvars, NOE_RULE_MAX_PVARS,
                              &leaf.var));
        return add_term(p, &leaf, term);
    case NOE_TOKEN_NAME:
        return parse_function(p, term);
    default:
        return noe_lex_fail(&p->lx, "expected a term");
    }
    noe_lex_next(&p->lx);
    return add_term(p, &leaf, term);
}

/* A minus before a literal is part of it, so that -1 is one term. */
static noe_status parse_unary(parser *p, uint16_t *term)
{
    NOE_TRY(enter(p));
    noe_status status;
    if (noe_lex_accept(&p->lx, "-")) {
        status = parse_unary(p, term);
        if (status == NOE_OK) {
            noe_term t = p->rule->terms[*term];
            if (t.kind == NOE_TERM_INT || t.kind == NOE_TERM_FLOAT) {
                t.i = -t.i;
                t.f = -t.f;
                if (t.kind == NOE_TERM_INT)
                    t.f = 0;
                status = add_term(p, &t, term);
            } else {
                noe_term zero = {.kind = NOE_TERM_INT};
                uint16_t z;
                status = add_term(p, &zero, &z);
                if (status == NOE_OK)
                    status = add_node2(p, NOE_TERM_SUB, z, *term, term);
            }
        }
    } else {
        status = parse_primary(p, term);
    }
    p->depth--;
    return status;
}

typedef struct infix {
    const char *text;
    noe_term_kind kind;
    bool swap; /* the operands */
} infix;

typedef noe_status parse_fn(parser *p, uint16_t *term);

/* Left-associative chain of the given operators over `next`. */
static noe_status parse_chain(parser *p, const infix *ops, int n_ops, parse_fn *next,
                              uint16_t *term)
{
    NOE_TRY(next(p, term));
    for (;;) {
        int k = 0;
        while (k < n_ops && !noe_lex_accept(&p->lx, ops[k].text))
            k++;
        if (k == n_ops)
            return p->lx.status;
        uint16_t right;
        NOE_TRY(next(p, &right));
        NOE_TRY(add_node2(p, ops[k].kind, *term, right, term));
    }
}

static noe_status parse_prod(parser *p, uint16_t *term)
{
    static const infix ops[] = {
        {"*", NOE_TERM_MUL, 0}, {"/", NOE_TERM_DIV, 0}, {"%", NOE_TERM_MOD, 0}};
    return parse_chain(p, ops, 3, parse_unary, term);
}

static noe_status parse_sum(parser *p, uint16_t *term)
{
    static const infix ops[] = {
        {"+", NOE_TERM_ADD, 0}, {"-", NOE_TERM_SUB, 0}, {"++", NOE_TERM_CAT, 0}};
    return parse_chain(p, ops, 3, parse_prod, term);
}

/* Comparisons do not chain: a < b < c would compare a truth value. */
static noe_status parse_cmp(parser *p, uint16_t *term)
{
    static const infix ops[] = {{"==", NOE_TERM_EQ, 0}, {"!=", NOE_TERM_NE, 0},
                                {"<=", NOE_TERM_LE, 0}, {"<", NOE_TERM_LT, 0},
                                {">=", NOE_TERM_LE, 1}, {">", NOE_TERM_LT, 1}};
    const int n_ops = sizeof ops / sizeof *ops;
    NOE_TRY(parse_sum(p, term));
    int k = 0;
    while (k < n_ops && !noe_lex_accept(&p->lx, ops[k].text))
        k++;
    if (k == n_ops)
        return p->lx.status;
    uint16_t right;
    NOE_TRY(parse_sum(p, &right));
    for (int i = 0; i < n_ops; i++) {
        if (noe_lex_is(&p->lx, ops[i].text))
            return noe_lex_fail(&p->lx,
                                "comparisons do not chain, brackets are missing");
    }
    uint16_t a = ops[k].swap ? right : *term, b = ops[k].swap ? *term : right;
    return add_node2(p, ops[k].kind, a, b, term);
}

static noe_status parse_not(parser *p, uint16_t *term)
{
    if (!noe_lex_accept(&p->lx, "!"))
        return parse_cmp(p, term);
    NOE_TRY(enter(p));
    noe_term t = {.kind = NOE_TERM_NOT, .n_kids = 1};
    NOE_TRY(parse_not(p, &t.kids[0]));
    p->depth--;
    return add_term(p, &t, term);
}

static noe_status parse_and(parser *p, uint16_t *term)
{
    static const infix ops[] = {{"&&", NOE_TERM_AND, 0}};
    return parse_chain(p, ops, 1, parse_not, term);
}

static noe_status parse_cond(parser *p, uint16_t *term)
{
    static const infix ops[] = {{"||", NOE_TERM_OR, 0}};
    return parse_chain(p, ops, 1, parse_and, term);
}

/* ---- trees ---- */

static bool same_pattern(const noe_pattern_node *a, const noe_pattern_node *b)
{
    if (a->is_var || b->is_var)
        return a->is_var && b->is_var && a->var == b->var;
    return a->op == b->op && a->n_inputs == b->n_inputs &&
           memcmp(a->inputs, b->inputs, a->n_inputs * sizeof *a->inputs) == 0 &&
           memcmp(a->params, b->params, sizeof a->params) == 0;
}

static noe_status add_pattern(parser *p, const noe_pattern_node *n, uint16_t *out)
{
    noe_rule *r = p->rule;
    for (uint16_t i = 0; i < r->n_nodes; i++) {
        if (same_pattern(&r->nodes[i], n)) {
            *out = i;
            return NOE_OK;
        }
    }
    if (r->n_nodes == NOE_RULE_MAX_NODES)
        return noe_lex_fail(&p->lx, "more than %d nodes", NOE_RULE_MAX_NODES);
    *out = r->n_nodes;
    r->nodes[r->n_nodes++] = *n;
    return NOE_OK;
}

/* Notes which parameter a whole-value $k stands for, so that it knows its kind. */
static void note_kind(noe_rule *r, uint16_t term, noe_param param)
{
    if (r->terms[term].kind == NOE_TERM_PVAR)
        r->pvars[r->terms[term].var].kind = noe_param_kind_of(param);
}

static noe_status parse_params(parser *p, noe_pattern_node *n)
{
    const noe_op_info *info = noe_op_get(n->op);
    bool first = true;
    while (!noe_lex_accept(&p->lx, "]")) {
        if (!first)
            NOE_TRY(noe_lex_expect(&p->lx, ","));
        first = false;
        noe_token t = p->lx.token;
        int len = t.len < 40 ? (int)t.len : 40, slot = 0;
        noe_param param = NOE_PARAM_NONE;
        if (t.kind == NOE_TOKEN_NAME)
            (void)noe_param_from_name(t.text, t.len, &param);
        while (slot < info->n_params && info->params[slot] != param)
            slot++;
        if (slot == info->n_params)
            return noe_lex_fail(&p->lx, "%s has no parameter '%.*s'", info->name, len,
                                t.text);
        if (n->params[slot] != NOE_TERM_ABSENT)
            return noe_lex_fail(&p->lx, "parameter %.*s is given twice", len, t.text);
        noe_lex_next(&p->lx);
        NOE_TRY(noe_lex_expect(&p->lx, "="));
        NOE_TRY(parse_sum(p, &n->params[slot]));
        note_kind(p->rule, n->params[slot], param);
    }
    return p->lx.status;
}

static noe_status parse_tree(parser *p, uint16_t *out);

static noe_status parse_arguments(parser *p, noe_pattern_node *n)
{
    const noe_op_info *info = noe_op_get(n->op);
    NOE_TRY(noe_lex_expect(&p->lx, "("));
    while (!noe_lex_is(&p->lx, ")")) {
        if (n->n_inputs > 0)
            NOE_TRY(noe_lex_expect(&p->lx, ","));
        if (n->n_inputs == info->max_in || n->n_inputs == NOE_RULE_MAX_INPUTS)
            return noe_lex_fail(&p->lx, "%s takes at most %d operands", info->name,
                                info->max_in);
        NOE_TRY(parse_tree(p, &n->inputs[n->n_inputs++]));
    }
    if (n->n_inputs < info->min_in)
        return noe_lex_fail(&p->lx, "%s takes %d operands, found %d", info->name,
                            info->min_in, n->n_inputs);
    return noe_lex_expect(&p->lx, ")");
}

static noe_status parse_operator(parser *p, uint16_t *out)
{
    noe_pattern_node n = {0};
    noe_token t = p->lx.token;
    int len = t.len < 40 ? (int)t.len : 40;
    for (int i = 0; i < NOE_MAX_PARAMS; i++)
        n.params[i] = NOE_TERM_ABSENT;
    if (t.kind != NOE_TOKEN_NAME || !noe_op_from_name(t.text, t.len, &n.op))
        return noe_lex_fail(&p->lx,
                            t.len ? "unknown operator '%.*s'"
                                  : "expected an operator or a variable%.*s",
                            len, t.text);
    noe_lex_next(&p->lx);
    if (noe_lex_accept(&p->lx, "["))
        NOE_TRY(parse_params(p, &n));
    NOE_TRY(parse_arguments(p, &n));
    return add_pattern(p, &n, out);
}

static noe_status parse_tree(parser *p, uint16_t *out)
{
    NOE_TRY(enter(p));
    noe_status status;
    if (p->lx.token.kind == NOE_TOKEN_VAR) {
        noe_pattern_node n = {.is_var = true};
        status = tensor_variable(p, &n.var);
        if (status == NOE_OK)
            status = add_pattern(p, &n, out);
    } else {
        status = parse_operator(p, out);
    }
    p->depth--;
    return status;
}

static noe_status parse_side(parser *p, uint16_t *roots, uint16_t *n_roots)
{
    *n_roots = 0;
    if (!noe_lex_accept(&p->lx, "{")) {
        *n_roots = 1;
        return parse_tree(p, roots);
    }
    do {
        if (*n_roots == NOE_RULE_MAX_ROOTS)
            return noe_lex_fail(&p->lx, "more than %d roots", NOE_RULE_MAX_ROOTS);
        NOE_TRY(parse_tree(p, &roots[(*n_roots)++]));
    } while (noe_lex_accept(&p->lx, ","));
    return noe_lex_expect(&p->lx, "}");
}

static noe_status parse_rule(parser *p)
{
    uint16_t n_right;
    noe_rule *r = p->rule;
    NOE_TRY(parse_side(p, r->lhs, &r->n_roots));
    if (!noe_lex_accept(&p->lx, ":="))
        NOE_TRY(noe_lex_expect(&p->lx, "=>"));
    NOE_TRY(parse_side(p, r->rhs, &n_right));
    if (n_right != r->n_roots)
        return noe_lex_fail(&p->lx, "%d roots on the left, %d on the right", r->n_roots,
                            n_right);
    if (noe_lex_accept(&p->lx, "where"))
        NOE_TRY(parse_cond(p, &r->where));
    if (p->lx.token.kind != NOE_TOKEN_END)
        return noe_lex_fail(&p->lx, "unexpected '%.*s' after the rule",
                            p->lx.token.len < 40 ? (int)p->lx.token.len : 40,
                            p->lx.token.text);
    return p->lx.status;
}

noe_status noe_rule_parse(const char *text, size_t len, noe_rule *rule, noe_error *err)
{
    parser p = {.rule = rule};
    memset(rule, 0, sizeof *rule);
    rule->where = NOE_TERM_ABSENT;
    noe_lex_init(&p.lx, text, len == SIZE_MAX ? strlen(text) : len, err);
    NOE_TRY(p.lx.status);
    return parse_rule(&p);
}
