/* SPDX-License-Identifier: Apache-2.0
 *
 * A step is an axiom and a ground term for each of its variables. At an instance all of
 * these are concrete: tensor terms become nodes of a congruence closure, parameters
 * become numbers, and the axiom's two sides, built over them, are typed, compared in
 * the field, and equated.
 *
 * What follows from it: at every instance looked at, for all values of the tensors, the
 * rule is a consequence of the axioms. It says nothing about other shapes; the
 * instances are drawn with another seed than the prover's.
 *
 * A step whose condition does not hold at an instance says nothing there. A step that
 * is ill-typed is refused, even if the goal would follow without it.
 */
#include "checker/check.h"
#include "checker/closure.h"
#include "checker/ground.h"
#include "core/instance.h"
#include <stdlib.h>

#define MAX_ATTEMPTS  400 /* an instance */
#define MAX_STREAMS   8   /* of random numbers, for each instance that is wanted */
#define MAX_SPATIAL   3   /* axes of a list that is as long as it need be */
#define UNIFORM_ONES  (-1)
#define UNIFORM_ZEROS (-2)

extern const char noe_checker_axioms_text[];

typedef struct named_rule {
    char *name;
    noe_rule rule;
} named_rule;

struct noe_checker {
    noe_checker_config config;
    named_rule *axioms;
    int n, cap;
};

static noe_status add_axiom(void *ctx, const noe_rule_line *line, noe_error *err)
{
    noe_checker *c = ctx;
    (void)err;
    named_rule axiom = {noe_strdup(line->name), line->rule};
    NOE_PUSH(c->axioms, c->n, c->cap, axiom);
    return NOE_OK;
}

noe_status noe_checker_new(const noe_checker_config *config, const char *axioms_text,
                           const char *path, noe_checker **checker, noe_error *err)
{
    noe_checker *c = noe_calloc(1, sizeof *c);
    c->config = *config;
    noe_status status =
        noe_rules_parse(axioms_text ? axioms_text : noe_checker_axioms_text,
                        axioms_text ? path : "axioms.txt", add_axiom, c, err);
    if (status != NOE_OK) {
        noe_checker_free(c);
        return status;
    }
    *checker = c;
    return NOE_OK;
}

void noe_checker_free(noe_checker *c)
{
    if (!c)
        return;
    for (int i = 0; i < c->n; i++)
        free(c->axioms[i].name);
    free(c->axioms);
    free(c);
}

/* The rule at an instance: what ground terms are evaluated over. */
typedef struct scope {
    noe_closure *closure;
    const noe_rule *rule;
    const noe_instance *inst;
    noe_closure_node vars[NOE_RULE_MAX_VARS];
    noe_error *err;
} scope;

/* Values */

static noe_status eval_tensor(scope *s, const noe_ground *g, noe_closure_node *out);
static noe_status eval_value(scope *s, const noe_ground *g, noe_value *out);

static const struct {
    const char *name;
    noe_term_kind kind;
    bool swap;
} functions[] = {
    {"len", NOE_TERM_LEN, 0},
    {"at", NOE_TERM_AT, 0},
    {"pick", NOE_TERM_AT, 0},
    {"cat", NOE_TERM_CAT, 0},
    {"rep", NOE_TERM_REP, 0},
    {"prod", NOE_TERM_PROD, 0},
    {"sum", NOE_TERM_SUM, 0},
    {"take", NOE_TERM_TAKE, 0},
    {"skip", NOE_TERM_SKIP, 0},
    {"without", NOE_TERM_WITHOUT, 0},
    {"with_ones", NOE_TERM_WITH_ONES, 0},
    {"range", NOE_TERM_RANGE, 0},
    {"has", NOE_TERM_HAS, 0},
    {"list_add", NOE_TERM_ADD, 0},
    {"list_sub", NOE_TERM_SUB, 0},
    {"list_mul", NOE_TERM_MUL, 0},
    {"list_div", NOE_TERM_DIV, 0},
    {"list_mod", NOE_TERM_MOD, 0},
    {"list_min", NOE_TERM_MIN, 0},
    {"list_max", NOE_TERM_MAX, 0},
    {"times", NOE_TERM_MUL, 0},
    {"floor_div", NOE_TERM_DIV, 0},
    {"floor_mod", NOE_TERM_MOD, 0},
    {"+", NOE_TERM_ADD, 0},
    {"-", NOE_TERM_SUB, 0},
    {"*", NOE_TERM_MUL, 0},
    {"div", NOE_TERM_DIV, 0},
    {"mod", NOE_TERM_MOD, 0},
    {"<=", NOE_TERM_LE, 0},
    {"<", NOE_TERM_LT, 0},
    {">=", NOE_TERM_LE, 1},
    {">", NOE_TERM_LT, 1},
    {"=", NOE_TERM_EQ, 0},
    {"and", NOE_TERM_AND, 0},
    {"or", NOE_TERM_OR, 0},
    {"not", NOE_TERM_NOT, 0},
};

static bool is_unary(noe_term_kind kind)
{
    return kind == NOE_TERM_LEN || kind == NOE_TERM_PROD || kind == NOE_TERM_SUM ||
           kind == NOE_TERM_RANGE || kind == NOE_TERM_NOT;
}

/* One function of one or two values, as terms of rules compute it. y NULL: of one. */
static bool apply(noe_term_kind kind, const noe_value *x, const noe_value *y,
                  noe_value *out)
{
    noe_rule *rule = noe_calloc(1, sizeof *rule);
    noe_binding *b = noe_calloc(1, sizeof *b);
    for (uint16_t i = 0; i < 2; i++)
        rule->terms[i] = (noe_term){.kind = NOE_TERM_PVAR, .var = i};
    rule->terms[2] =
        (noe_term){.kind = kind, .n_kids = (uint16_t)(y ? 2 : 1), .kids = {0, 1}};
    b->pvalue[0] = *x;
    b->pvalue[1] = y ? *y : *x;
    b->pbound[0] = b->pbound[1] = true;
    bool ok = noe_term_eval(rule, 2, b, out);
    free(rule);
    free(b);
    return ok;
}

static noe_status no_value(scope *s, const noe_ground *g)
{
    return noe_fail(s->err, NOE_ERR_SHAPE, "'%.40s' has no value", g->head);
}

/* Left to right: the n-ary sums and products of linear arithmetic. */
static noe_status eval_function(scope *s, const noe_ground *g, size_t f, noe_value *out)
{
    noe_term_kind kind = functions[f].kind;
    noe_value x;
    if (g->n_params > 0 || g->n_kids == 0 || (is_unary(kind) && g->n_kids != 1))
        return no_value(s, g);
    NOE_TRY(eval_value(s, g->kids[0], out));
    if (is_unary(kind) || (kind == NOE_TERM_SUB && g->n_kids == 1)) {
        noe_value y = *out, zero = noe_value_int(NOE_KIND_INT, 0);
        return (is_unary(kind) ? apply(kind, &y, NULL, out)
                               : apply(kind, &zero, &y, out))
                   ? NOE_OK
                   : no_value(s, g);
    }
    for (int i = 1; i < g->n_kids; i++) {
        noe_value left = *out;
        NOE_TRY(eval_value(s, g->kids[i], &x));
        if (left.n < 0 || x.n < 0 ||
            !(functions[f].swap ? apply(kind, &x, &left, out)
                                : apply(kind, &left, &x, out)))
            return no_value(s, g);
    }
    return g->n_kids > 1 ? NOE_OK : no_value(s, g);
}

static noe_value shape_value(const noe_shape *shape)
{
    return noe_value_list(NOE_KIND_INTS, shape->rank, shape->dim);
}

static noe_status eval_broadcast(scope *s, const noe_ground *g, noe_value *out)
{
    noe_value x, y;
    noe_shape shape;
    if (g->n_kids != 2)
        return no_value(s, g);
    NOE_TRY(eval_value(s, g->kids[0], &x));
    NOE_TRY(eval_value(s, g->kids[1], &y));
    if (x.n < 0 || y.n < 0 || x.n > NOE_MAX_RANK || y.n > NOE_MAX_RANK)
        return no_value(s, g);
    noe_shape a = noe_shape_make(x.n, x.list), b = noe_shape_make(y.n, y.list);
    if (!noe_shape_broadcast(&a, &b, &shape))
        return no_value(s, g);
    *out = shape_value(&shape);
    return NOE_OK;
}

static noe_status eval_list(scope *s, const noe_ground *g, noe_value *out)
{
    *out = noe_value_list(NOE_KIND_INTS, 0, NULL);
    if (g->n_kids > NOE_MAX_LIST)
        return no_value(s, g);
    for (int i = 0; i < g->n_kids; i++) {
        noe_value v;
        NOE_TRY(eval_value(s, g->kids[i], &v));
        if (v.kind != NOE_KIND_INT && v.kind != NOE_KIND_AXIS)
            return no_value(s, g);
        out->list[out->n++] = v.i;
    }
    return NOE_OK;
}

static noe_status eval_leaf(scope *s, const noe_ground *g, noe_value *out)
{
    char *end;
    for (int i = 0; g->head[0] == '$' && i < s->rule->n_pvars; i++) {
        if (strcmp(s->rule->pvars[i].name, g->head + 1) != 0)
            continue;
        *out = s->inst->binding.pvalue[i];
        return NOE_OK;
    }
    *out = noe_value_int(NOE_KIND_INT, strtoll(g->head, &end, 10));
    if (*end == '\0' && end != g->head)
        return NOE_OK;
    /* Lists of ones or zeros, as long as the operator that has them asks. */
    *out = noe_value_list(NOE_KIND_INTS, 0, NULL);
    out->n = strcmp(g->head, "all_ones") == 0    ? UNIFORM_ONES
             : strcmp(g->head, "all_zeros") == 0 ? UNIFORM_ZEROS
                                                 : 0;
    if (out->n < 0)
        return NOE_OK;
    *out = noe_value_float(strtod(g->head, &end));
    return *end == '\0' && end != g->head ? NOE_OK : no_value(s, g);
}

static noe_status eval_value(scope *s, const noe_ground *g, noe_value *out)
{
    noe_closure_node tensor;
    noe_value condition;
    if (strcmp(g->head, "[") == 0)
        return eval_list(s, g, out);
    if (g->n_kids == 0)
        return eval_leaf(s, g, out);
    if (strcmp(g->head, "shape") == 0 && g->n_kids == 1) {
        NOE_TRY(eval_tensor(s, g->kids[0], &tensor));
        *out = shape_value(&noe_closure_type(s->closure, tensor)->shape);
        return NOE_OK;
    }
    if (strcmp(g->head, "broadcast") == 0)
        return eval_broadcast(s, g, out);
    if (strcmp(g->head, "if") == 0 && g->n_kids == 3) {
        NOE_TRY(eval_value(s, g->kids[0], &condition));
        return eval_value(s, g->kids[condition.i ? 1 : 2], out);
    }
    for (size_t f = 0; f < sizeof functions / sizeof *functions; f++) {
        if (strcmp(functions[f].name, g->head) == 0)
            return eval_function(s, g, f, out);
    }
    return noe_fail(s->err, NOE_ERR_PARSE, "unknown function '%.40s'", g->head);
}

/* Tensors */

static void stretch(noe_value *v, int spatial)
{
    int64_t fill = v->n == UNIFORM_ONES ? 1 : 0;
    int n = v->n == UNIFORM_ONES ? spatial : 2 * spatial;
    if (v->n >= 0)
        return;
    for (v->n = 0; v->n < n; v->n++)
        v->list[v->n] = fill;
}

static bool convert(noe_value *v, noe_param_kind kind)
{
    bool is_number = v->kind == NOE_KIND_INT || v->kind == NOE_KIND_AXIS;
    bool is_list = v->kind == NOE_KIND_INTS || v->kind == NOE_KIND_AXES;
    if (kind == NOE_KIND_FLOAT                          ? v->kind != NOE_KIND_FLOAT
        : kind == NOE_KIND_INT || kind == NOE_KIND_AXIS ? !is_number
                                                        : !is_list)
        return false;
    v->kind = kind;
    return true;
}

static noe_status eval_params(scope *s, const noe_ground *g, noe_op op, int spatial,
                              noe_params *params)
{
    const noe_op_info *info = noe_op_get(op);
    *params = (noe_params){.n = info->n_params};
    for (int i = 0; i < info->n_params; i++) {
        if (strcmp(g->param_names[i], noe_param_name(info->params[i])) != 0)
            return noe_fail(s->err, NOE_ERR_PARSE, "%s has no parameter '%.40s' there",
                            info->name, g->param_names[i]);
        NOE_TRY(eval_value(s, g->kids[i], &params->v[i]));
        if (params->v[i].n < 0 && (spatial < 1 || spatial > NOE_MAX_RANK))
            return no_value(s, g->kids[i]);
        stretch(&params->v[i], spatial);
        if (!convert(&params->v[i], noe_param_kind_of(info->params[i])))
            return no_value(s, g->kids[i]);
    }
    return NOE_OK;
}

static noe_status eval_operator(scope *s, const noe_ground *g, noe_op op,
                                noe_closure_node *out)
{
    const noe_op_info *info = noe_op_get(op);
    noe_closure_node in[NOE_RULE_MAX_INPUTS];
    noe_params params;
    int n_in = g->n_kids - g->n_params, spatial = 0;
    if (g->n_params != info->n_params || n_in < info->min_in || n_in > info->max_in ||
        n_in > NOE_RULE_MAX_INPUTS)
        return noe_fail(s->err, NOE_ERR_PARSE, "%s with %d parameters and %d operands",
                        info->name, g->n_params, n_in);
    for (int i = 0; i < n_in; i++)
        NOE_TRY(eval_tensor(s, g->kids[g->n_params + i], &in[i]));
    if (n_in > 0)
        spatial = noe_closure_type(s->closure, in[0])->shape.rank - 2;
    NOE_TRY(eval_params(s, g, op, spatial, &params));
    return noe_closure_term(s->closure, op, &params, in, n_in, out, s->err);
}

static noe_status eval_tensor(scope *s, const noe_ground *g, noe_closure_node *out)
{
    noe_op op;
    for (int i = 0; g->head[0] == '?' && i < s->rule->n_vars; i++) {
        if (strcmp(s->rule->vars[i].name, g->head + 1) != 0)
            continue;
        *out = s->vars[i];
        return NOE_OK;
    }
    if (!noe_op_from_name(g->head, strlen(g->head), &op))
        return noe_fail(s->err, NOE_ERR_PARSE, "unknown operator '%.40s'", g->head);
    return eval_operator(s, g, op, out);
}

/* Both sides of a rule or an axiom over given nodes for its variables. */
static noe_status build(noe_closure *c, const noe_rule *rule, const noe_binding *b,
                        const noe_closure_node *vars, noe_closure_node *nodes,
                        noe_error *err)
{
    for (uint16_t i = 0; i < rule->n_nodes; i++) {
        const noe_pattern_node *p = &rule->nodes[i];
        noe_closure_node in[NOE_RULE_MAX_INPUTS];
        noe_type types[NOE_RULE_MAX_INPUTS];
        noe_params params;
        if (p->is_var) {
            nodes[i] = vars[p->var];
            continue;
        }
        for (int k = 0; k < p->n_inputs; k++) {
            in[k] = nodes[p->inputs[k]];
            types[k] = *noe_closure_type(c, in[k]);
        }
        NOE_TRY(noe_rule_params(rule, i, b, types, p->n_inputs, &params, err));
        NOE_TRY(noe_closure_term(c, p->op, &params, in, p->n_inputs, &nodes[i], err));
    }
    return NOE_OK;
}

/* Steps */

static const noe_rule *find_axiom(const noe_checker *c, const char *name)
{
    for (int i = 0; i < c->n; i++) {
        if (strcmp(c->axioms[i].name, name) == 0)
            return &c->axioms[i].rule;
    }
    return NULL;
}

static const noe_ground *argument(const noe_ground_step *step, char mark,
                                  const char *name)
{
    for (int i = 0; i < step->n; i++) {
        if (step->names[i][0] == mark && strcmp(step->names[i] + 1, name) == 0)
            return step->terms[i];
    }
    return NULL;
}

/* What the axiom's variables stand for. */
static noe_status bind(scope *s, const noe_ground_step *step, const noe_rule *axiom,
                       noe_binding *b, noe_closure_node *vars)
{
    const noe_ground *g;
    for (int i = 0; i < axiom->n_vars; i++) {
        if (!(g = argument(step, '?', axiom->vars[i].name)))
            return noe_fail(s->err, NOE_ERR_PARSE, "?%s is missing",
                            axiom->vars[i].name);
        NOE_TRY(eval_tensor(s, g, &vars[i]));
        b->type[i] = *noe_closure_type(s->closure, vars[i]);
        b->bound[i] = true;
    }
    for (int i = 0; i < axiom->n_pvars; i++) {
        if (!(g = argument(step, '$', axiom->pvars[i].name)))
            return noe_fail(s->err, NOE_ERR_PARSE, "$%s is missing",
                            axiom->pvars[i].name);
        NOE_TRY(eval_value(s, g, &b->pvalue[i]));
        if (!convert(&b->pvalue[i], axiom->pvars[i].kind))
            return no_value(s, g);
        b->pbound[i] = true;
    }
    return NOE_OK;
}

static noe_status equate_sides(scope *s, const noe_rule *axiom, const noe_binding *b,
                               const noe_closure_node *vars)
{
    noe_closure_node nodes[NOE_RULE_MAX_NODES];
    if (!noe_rule_holds(axiom, b))
        return NOE_OK;
    NOE_TRY(build(s->closure, axiom, b, vars, nodes, s->err));
    noe_closure_node left = nodes[axiom->lhs[0]], right = nodes[axiom->rhs[0]];
    if (!noe_closure_agree(s->closure, left, right))
        return noe_fail(s->err, NOE_ERR_MISMATCH,
                        "its sides differ in type or in the field");
    noe_closure_equate(s->closure, left, right);
    return NOE_OK;
}

/* Lists without a length get one by trying: at most one fits. */
static noe_status take_step(scope *s, const noe_ground_step *step,
                            const noe_rule *axiom)
{
    noe_binding *b = noe_calloc(2, sizeof *b);
    noe_closure_node vars[NOE_RULE_MAX_VARS];
    bool is_open = false;
    noe_status status = bind(s, step, axiom, &b[0], vars);
    for (int i = 0; i < axiom->n_pvars && status == NOE_OK; i++)
        is_open |= b[0].pvalue[i].n < 0;
    int n = status != NOE_OK ? 0 : is_open ? MAX_SPATIAL : 1;
    for (int spatial = 1; spatial <= n; spatial++) {
        b[1] = b[0];
        for (int i = 0; i < axiom->n_pvars; i++)
            stretch(&b[1].pvalue[i], spatial);
        status = equate_sides(s, axiom, &b[1], vars);
        if (status == NOE_OK)
            break;
    }
    free(b);
    return status;
}

static noe_status take_steps(const noe_checker *c, scope *s,
                             const noe_ground_section *section)
{
    for (int i = 0; i < section->n; i++) {
        const noe_ground_step *step = &section->steps[i];
        const noe_rule *axiom = find_axiom(c, step->axiom);
        noe_status status =
            axiom ? take_step(s, step, axiom)
                  : noe_fail(s->err, NOE_ERR_PARSE, "there is no such axiom");
        if (status != NOE_OK) {
            noe_error_prefix(s->err, "line %d, %.60s: ", step->line, step->axiom);
            return status;
        }
    }
    return NOE_OK;
}

/* Goals */

/* Where the left side exists, the arguments of its roots and logarithms are their own
 * positive part. */
static noe_status assume_domain(scope *s, const noe_closure_node *nodes)
{
    bool left[NOE_RULE_MAX_NODES];
    noe_params none = {0};
    noe_rule_mark_side(s->rule, false, left);
    for (int i = 0; i < s->rule->n_nodes; i++) {
        const noe_pattern_node *p = &s->rule->nodes[i];
        noe_closure_node positive;
        if (!left[i] || p->is_var || (p->op != NOE_OP_SQRT && p->op != NOE_OP_LOG))
            continue;
        NOE_TRY(noe_closure_term(s->closure, NOE_OP_RELU, &none, &nodes[p->inputs[0]],
                                 1, &positive, s->err));
        noe_closure_equate(s->closure, positive, nodes[p->inputs[0]]);
    }
    return NOE_OK;
}

static noe_status check_section(const noe_checker *c, scope *s,
                                const noe_ground_section *section)
{
    noe_closure_node nodes[NOE_RULE_MAX_NODES];
    for (int i = 0; i < s->rule->n_vars; i++)
        NOE_TRY(noe_closure_variable(s->closure, i, &s->inst->binding.type[i],
                                     &s->vars[i], s->err));
    NOE_TRY(build(s->closure, s->rule, &s->inst->binding, s->vars, nodes, s->err));
    if (section->in_domain)
        NOE_TRY(assume_domain(s, nodes));
    NOE_TRY(take_steps(c, s, section));
    for (int i = 0; i < s->rule->n_roots; i++) {
        if (!noe_closure_equal(s->closure, nodes[s->rule->lhs[i]],
                               nodes[s->rule->rhs[i]]))
            return noe_fail(s->err, NOE_ERR_MISMATCH,
                            "the sides of root %d do not follow from the steps", i);
    }
    return NOE_OK;
}

static void print_ranks(const noe_rule *rule, const noe_instance *inst, noe_buf *b)
{
    for (int i = 0; i < rule->n_vars; i++)
        noe_buf_printf(b, "%s%s:%d", i ? " " : "", rule->vars[i].name,
                       inst->binding.type[i].shape.rank);
}

/* One section for the instance's ranks must do. */
static noe_status check_instance(const noe_checker *c,
                                 const noe_ground_certificate *certificate,
                                 const noe_rule *rule, const noe_instance *inst,
                                 noe_error *err)
{
    noe_buf ranks = {0};
    print_ranks(rule, inst, &ranks);
    noe_status status = noe_fail(err, NOE_ERR_MISMATCH, "no steps for these ranks");
    for (int i = 0; i < certificate->n && status != NOE_OK; i++) {
        const noe_ground_section *section = &certificate->sections[i];
        if (section->ranks && strcmp(section->ranks, noe_buf_text(&ranks)) != 0)
            continue;
        scope s = {.rule = rule, .inst = inst, .err = err};
        s.closure = noe_closure_new(c->config.seed);
        status = check_section(c, &s, section);
        noe_closure_free(s.closure);
    }
    noe_buf_clear(&ranks);
    return status;
}

static noe_status check_instances(const noe_checker *c,
                                  const noe_ground_certificate *certificate,
                                  const noe_rule *rule, noe_checker_answer *answer,
                                  noe_error *err)
{
    noe_instance *inst = noe_malloc(sizeof *inst);
    uint64_t seed = noe_mix64(noe_rule_id(rule).lo ^ noe_mix64(c->config.seed));
    noe_status status = NOE_OK;
    int most = MAX_STREAMS * c->config.n_instances;
    for (int i = 0;
         i < most && answer->n_instances < c->config.n_instances && status == NOE_OK;
         i++) {
        int attempts = 0;
        if (!noe_instance_find(rule, seed, i, MAX_ATTEMPTS, inst, &attempts))
            continue;
        status = check_instance(c, certificate, rule, inst, err);
        answer->n_instances++;
        if (status != NOE_OK) {
            noe_buf at = {0};
            noe_instance_print(&at, rule, inst);
            noe_error_prefix(err, "at %.300s: ", noe_buf_text(&at));
            noe_buf_clear(&at);
        }
    }
    free(inst);
    if (status == NOE_OK && answer->n_instances == 0)
        return noe_fail(err, NOE_ERR_SHAPE, "no typed instance found");
    return status;
}

void noe_checker_check(const noe_checker *c, const char *rule_text,
                       const char *certificate_text, noe_checker_answer *answer)
{
    noe_error err = {0};
    noe_ground_certificate certificate = {.n = 0};
    noe_rule *rule = noe_malloc(sizeof *rule);
    *answer = (noe_checker_answer){.ok = false};
    noe_status status = noe_rule_parse(rule_text, SIZE_MAX, rule, &err);
    if (status == NOE_OK)
        status = noe_ground_parse(certificate_text, &certificate, &err);
    if (status == NOE_OK)
        status = check_instances(c, &certificate, rule, answer, &err);
    for (int i = 0; i < certificate.n; i++)
        answer->n_steps += certificate.sections[i].n;
    answer->ok = status == NOE_OK;
    noe_buf_puts(&answer->reason, answer->ok ? "" : err.text);
    noe_ground_clear(&certificate);
    free(rule);
}

void noe_checker_answer_clear(noe_checker_answer *answer)
{
    noe_buf_clear(&answer->reason);
}
