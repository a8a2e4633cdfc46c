/* SPDX-License-Identifier: Apache-2.0
 *
 * Rule text to TASO's rule files.
 *
 * The format says less than a rule can: no ranks but those of concatenations, no free
 * strides or paddings, no conditions. A rule is written as one of its instances in this
 * sense (stride 1, SAME padding, 3x3 kernels where the rule leaves them open), and then
 * what was written is read back: each of a series of typed instances of it must be an
 * instance of the rule, with the same parameters and types at every operator. Where one
 * is not, the format cannot say the rule.
 */
#include "ruledb/taso.h"

#include "core/instance.h"
#include "taso.pb-c.h"
#include <stdlib.h>

#define MAX_OPS     40
#define N_INSTANCES 24
#define ATTEMPTS    200
#define KERNEL      3 /* where the rule leaves it open */

struct noe_taso_writer {
    noe_arena arena;
    Taso__Rule **rules;
    size_t n_rules, cap_rules;
};

typedef struct side {
    Taso__Operator *op[MAX_OPS];
    int n;
    int at[NOE_RULE_MAX_NODES]; /* operator of a node, -1: none yet */
} side;

typedef struct writing {
    noe_arena *arena;
    const noe_rule *rule;
    side side[2];
    side *to;
    int rank;      /* of what concatenations and transpositions are about */
    int kernel[2]; /* of the convolution whose kernel is being written */
    noe_buf *reason;
} writing;

noe_taso_writer *noe_taso_writer_new(void)
{
    return noe_calloc(1, sizeof(noe_taso_writer));
}

void noe_taso_writer_free(noe_taso_writer *w)
{
    if (!w)
        return;
    noe_arena_clear(&w->arena);
    free(w->rules);
    free(w);
}

static bool cannot(writing *w, const char *what)
{
    if (!w->reason->len)
        noe_buf_puts(w->reason, what);
    return false;
}

/* The rule's own words */

static const noe_term *param_term(const writing *w, uint16_t node, noe_param p)
{
    const noe_pattern_node *n = &w->rule->nodes[node];
    const noe_op_info *info = noe_op_get(n->op);
    for (int i = 0; i < info->n_params; i++) {
        if (info->params[i] == p && n->params[i] != NOE_TERM_ABSENT)
            return &w->rule->terms[n->params[i]];
    }
    return NULL;
}

/* A literal list of that length; false if it is none. */
static bool literal_list(const writing *w, const noe_term *t, int n, int64_t *list)
{
    if (!t || t->kind != NOE_TERM_LIST || t->n_kids != n)
        return false;
    for (int i = 0; i < n; i++) {
        const noe_term *kid = &w->rule->terms[t->kids[i]];
        if (kid->kind != NOE_TERM_INT)
            return false;
        list[i] = kid->i;
    }
    return true;
}

static bool says_rank(const noe_rule *r, uint16_t term, uint16_t var, int64_t *rank)
{
    if (term == NOE_TERM_ABSENT)
        return false;
    const noe_term *t = &r->terms[term];
    if (t->kind == NOE_TERM_AND)
        return says_rank(r, t->kids[0], var, rank) ||
               says_rank(r, t->kids[1], var, rank);
    for (int i = 0; t->kind == NOE_TERM_EQ && i < 2; i++) {
        const noe_term *a = &r->terms[t->kids[i]], *b = &r->terms[t->kids[1 - i]];
        if (a->kind == NOE_TERM_RANK && a->var == var && b->kind == NOE_TERM_INT) {
            *rank = b->i;
            return true;
        }
    }
    return false;
}

static bool is_scalar(const writing *w, uint16_t node)
{
    const noe_pattern_node *n = &w->rule->nodes[node];
    int64_t rank;
    return n->is_var && says_rank(w->rule, w->rule->where, n->var, &rank) && rank == 0;
}

static int guess_rank(const writing *w)
{
    int rank = 0;
    int64_t said, perm[NOE_MAX_RANK];
    for (uint16_t i = 0; i < w->rule->n_nodes; i++) {
        const noe_pattern_node *n = &w->rule->nodes[i];
        if (n->is_var) {
            if (says_rank(w->rule, w->rule->where, n->var, &said) && said > rank)
                rank = (int)said;
            continue;
        }
        if (n->op == NOE_OP_CONV || n->op == NOE_OP_MAX_POOL ||
            n->op == NOE_OP_AVERAGE_POOL)
            return 4;
        if (n->op == NOE_OP_MATMUL)
            return 2;
        for (int k = 1; n->op == NOE_OP_TRANSPOSE && k <= NOE_MAX_RANK; k++) {
            if (literal_list(w, param_term(w, i, NOE_PARAM_PERM), k, perm))
                return k;
        }
    }
    return rank ? rank : 4;
}

/* Operators */

static Taso__Operator *add_operator(writing *w, uint16_t node, int type)
{
    side *s = w->to;
    Taso__Operator *o = NOE_NEW(w->arena, Taso__Operator);
    taso__operator__init(o);
    o->type = type;
    o->input = NOE_NEW_N(w->arena, Taso__Tensor *, NOE_RULE_MAX_INPUTS);
    o->para = NOE_NEW_N(w->arena, Taso__Parameter *, NOE_TASO_KEYS);
    if (s->n == MAX_OPS)
        return NULL;
    s->op[s->n] = o;
    s->at[node] = s->n++;
    return o;
}

static void add_parameter(writing *w, Taso__Operator *o, int key, int64_t value)
{
    Taso__Parameter *p = NOE_NEW(w->arena, Taso__Parameter);
    taso__parameter__init(p);
    p->key = key;
    p->value = (int32_t)value;
    o->para[o->n_para++] = p;
}

static bool write_node(writing *w, uint16_t node);

/* Which output of its operator a node is. */
static int port_of(const writing *w, uint16_t node)
{
    const noe_term *start = w->rule->nodes[node].op == NOE_OP_SLICE
                                ? param_term(w, node, NOE_PARAM_START)
                                : NULL;
    return start && !(start->kind == NOE_TERM_INT && start->i == 0);
}

static void add_input(writing *w, Taso__Operator *o, uint16_t node)
{
    const noe_pattern_node *n = &w->rule->nodes[node];
    Taso__Tensor *t = NOE_NEW(w->arena, Taso__Tensor);
    taso__tensor__init(t);
    t->opid = n->is_var ? -1 - n->var : w->to->at[node];
    t->tsid = n->is_var ? 0 : port_of(w, node);
    o->input[o->n_input++] = t;
}

/* An operator with this node's operands, which are written first. */
static Taso__Operator *write_plain(writing *w, uint16_t node, int type)
{
    const noe_pattern_node *n = &w->rule->nodes[node];
    for (int k = 0; k < n->n_inputs; k++) {
        if (!write_node(w, n->inputs[k]))
            return NULL;
    }
    Taso__Operator *o = add_operator(w, node, type);
    for (int k = 0; o && k < n->n_inputs; k++)
        add_input(w, o, n->inputs[k]);
    return o;
}

static void add_window(writing *w, Taso__Operator *o, const int *kernel)
{
    add_parameter(w, o, NOE_TASO_KEY_KERNEL_H, kernel[0]);
    add_parameter(w, o, NOE_TASO_KEY_KERNEL_W, kernel[1]);
    add_parameter(w, o, NOE_TASO_KEY_STRIDE_H, 1);
    add_parameter(w, o, NOE_TASO_KEY_STRIDE_W, 1);
    add_parameter(w, o, NOE_TASO_KEY_PAD, 0);
    add_parameter(w, o, NOE_TASO_KEY_ACTIVATION, 0);
}

/* The kernel that literal paddings make SAME. */
static void window_of(const writing *w, uint16_t node, int *kernel)
{
    int64_t pads[4], size[2];
    const noe_term *t = param_term(w, node, NOE_PARAM_PADS);
    kernel[0] = kernel[1] = t ? KERNEL : 1;
    if (literal_list(w, t, 4, pads)) {
        for (int i = 0; i < 2; i++)
            kernel[i] = (int)(pads[i] + pads[2 + i] + 1);
    }
    if (literal_list(w, param_term(w, node, NOE_PARAM_KERNEL_SHAPE), 2, size)) {
        kernel[0] = (int)size[0];
        kernel[1] = (int)size[1];
    }
}

static bool write_conv(writing *w, uint16_t node)
{
    const noe_pattern_node *n = &w->rule->nodes[node];
    int kernel[2], outer[2] = {w->kernel[0], w->kernel[1]};
    window_of(w, node, kernel);
    if (!write_node(w, n->inputs[0]))
        return false;
    memcpy(w->kernel, kernel, sizeof kernel);
    bool ok = write_node(w, n->inputs[1]);
    memcpy(w->kernel, outer, sizeof outer);
    Taso__Operator *o = ok ? write_plain(w, node, NOE_TASO_CONV) : NULL;
    if (o)
        add_window(w, o, kernel);
    return o != NULL;
}

static bool write_pool(writing *w, uint16_t node, int type)
{
    int kernel[2];
    window_of(w, node, kernel);
    Taso__Operator *o = write_plain(w, node, type);
    if (o)
        add_window(w, o, kernel);
    return o != NULL;
}

static bool write_kernel(writing *w, uint16_t node, int type)
{
    Taso__Operator *o = write_plain(w, node, type);
    if (o) {
        add_parameter(w, o, NOE_TASO_KEY_KERNEL_H, w->kernel[0]);
        add_parameter(w, o, NOE_TASO_KEY_KERNEL_W, w->kernel[1]);
    }
    return o != NULL;
}

static int axis_of(const writing *w, uint16_t node)
{
    const noe_term *t = param_term(w, node, NOE_PARAM_AXIS);
    int64_t axis = t && t->kind == NOE_TERM_INT ? t->i : 1;
    return (int)(axis < 0 ? axis + w->rank : axis);
}

static bool write_concat(writing *w, uint16_t node)
{
    Taso__Operator *o = write_plain(w, node, NOE_TASO_CONCAT);
    if (!o || axis_of(w, node) < 0)
        return false;
    add_parameter(w, o, NOE_TASO_KEY_NUM_INPUTS, (int64_t)o->n_input);
    add_parameter(w, o, NOE_TASO_KEY_AXIS, axis_of(w, node));
    add_parameter(w, o, NOE_TASO_KEY_NUMDIM, w->rank);
    return true;
}

/* Slices of one value along one axis are outputs of one split. */
static bool write_slice(writing *w, uint16_t node)
{
    const noe_pattern_node *n = &w->rule->nodes[node];
    for (uint16_t i = 0; i < w->rule->n_nodes; i++) {
        const noe_pattern_node *m = &w->rule->nodes[i];
        if (i != node && !m->is_var && m->op == NOE_OP_SLICE && w->to->at[i] >= 0 &&
            m->inputs[0] == n->inputs[0] && axis_of(w, i) == axis_of(w, node)) {
            w->to->at[node] = w->to->at[i];
            return true;
        }
    }
    Taso__Operator *o = write_plain(w, node, NOE_TASO_SPLIT);
    if (!o || axis_of(w, node) < 0)
        return false;
    add_parameter(w, o, NOE_TASO_KEY_NUM_OUTPUTS, 2);
    add_parameter(w, o, NOE_TASO_KEY_AXIS, axis_of(w, node));
    return true;
}

static bool write_transpose(writing *w, uint16_t node)
{
    int64_t perm[NOE_MAX_RANK], code = 0;
    if (!literal_list(w, param_term(w, node, NOE_PARAM_PERM), w->rank, perm))
        return cannot(w, "a permutation that is not written out");
    Taso__Operator *o = write_plain(w, node, NOE_TASO_TRANSPOSE);
    for (int i = 0; i < w->rank; i++)
        code = code * w->rank + perm[i];
    if (!o)
        return false;
    add_parameter(w, o, NOE_TASO_KEY_NUMDIM, w->rank);
    add_parameter(w, o, NOE_TASO_KEY_PERM, code);
    add_parameter(w, o, NOE_TASO_KEY_OUTSHUFFLE, 1);
    return true;
}

static bool write_mul(writing *w, uint16_t node)
{
    const noe_pattern_node *n = &w->rule->nodes[node];
    bool first = is_scalar(w, n->inputs[0]), second = is_scalar(w, n->inputs[1]);
    if (first == second)
        return write_plain(w, node, NOE_TASO_MUL) != NULL;
    uint16_t tensor = n->inputs[first], scalar = n->inputs[second];
    if (!write_node(w, tensor))
        return false;
    Taso__Operator *o = add_operator(w, node, NOE_TASO_SCALAR_MUL);
    if (!o)
        return false;
    add_input(w, o, tensor);
    add_input(w, o, scalar);
    return true;
}

static bool write_operator(writing *w, uint16_t node)
{
    switch (w->rule->nodes[node].op) {
    case NOE_OP_ADD:
        return write_plain(w, node, NOE_TASO_ADD) != NULL;
    case NOE_OP_MUL:
        return write_mul(w, node);
    case NOE_OP_RELU:
        return write_plain(w, node, NOE_TASO_RELU) != NULL;
    case NOE_OP_SIGMOID:
        return write_plain(w, node, NOE_TASO_SIGMOID) != NULL;
    case NOE_OP_TANH:
        return write_plain(w, node, NOE_TASO_TANH) != NULL;
    case NOE_OP_MATMUL:
        return write_plain(w, node, NOE_TASO_MATMUL) != NULL;
    case NOE_OP_CONV:
        return write_conv(w, node);
    case NOE_OP_MAX_POOL:
        return write_pool(w, node, NOE_TASO_POOL_MAX);
    case NOE_OP_AVERAGE_POOL:
        return write_pool(w, node, NOE_TASO_POOL_AVG);
    case NOE_OP_CONCAT:
        return write_concat(w, node);
    case NOE_OP_SLICE:
        return write_slice(w, node);
    case NOE_OP_TRANSPOSE:
        return write_transpose(w, node);
    case NOE_OP_PAD:
        return write_kernel(w, node, NOE_TASO_ENLARGE);
    case NOE_OP_IDENTITY_MATRIX:
        return write_plain(w, node, NOE_TASO_IDENTITY_MATRIX) != NULL;
    case NOE_OP_IDENTITY_KERNEL:
        return write_kernel(w, node, NOE_TASO_IDENTITY_CONV);
    case NOE_OP_AVERAGE_KERNEL:
        return write_kernel(w, node, NOE_TASO_CONST_POOL);
    case NOE_OP_ONES:
        return write_plain(w, node, NOE_TASO_ONE) != NULL;
    default:
        noe_buf_printf(w->reason, "the format has no %s",
                       noe_op_get(w->rule->nodes[node].op)->name);
        return false;
    }
}

static bool write_node(writing *w, uint16_t node)
{
    if (w->rule->nodes[node].is_var || w->to->at[node] >= 0)
        return true;
    return write_operator(w, node) || cannot(w, "too many operators");
}

static bool write_side(writing *w, bool rhs)
{
    const uint16_t *roots = rhs ? w->rule->rhs : w->rule->lhs;
    w->to = &w->side[rhs];
    memset(w->to->at, 0xff, sizeof w->to->at);
    w->kernel[0] = w->kernel[1] = KERNEL;
    for (int i = 0; i < w->rule->n_roots; i++) {
        if (w->rule->nodes[roots[i]].is_var)
            return cannot(w, "a side is a variable; outputs are of operators");
        if (!write_node(w, roots[i]))
            return false;
    }
    return true;
}

static Taso__Rule *make_rule(writing *w)
{
    Taso__Rule *r = NOE_NEW(w->arena, Taso__Rule);
    taso__rule__init(r);
    r->n_srcop = (size_t)w->side[0].n;
    r->srcop = noe_arena_memdup(w->arena, w->side[0].op, sizeof w->side[0].op);
    r->n_dstop = (size_t)w->side[1].n;
    r->dstop = noe_arena_memdup(w->arena, w->side[1].op, sizeof w->side[1].op);
    r->mappedoutput = NOE_NEW_N(w->arena, Taso__MapOutput *, NOE_RULE_MAX_ROOTS);
    for (int i = 0; i < w->rule->n_roots; i++) {
        Taso__MapOutput *m = NOE_NEW(w->arena, Taso__MapOutput);
        taso__map_output__init(m);
        m->srcopid = w->side[0].at[w->rule->lhs[i]];
        m->srctsid = port_of(w, w->rule->lhs[i]);
        m->dstopid = w->side[1].at[w->rule->rhs[i]];
        m->dsttsid = port_of(w, w->rule->rhs[i]);
        r->mappedoutput[r->n_mappedoutput++] = m;
    }
    return r;
}

/* Reading back */

static void pack(Taso__Rule **rules, size_t n, noe_buf *out)
{
    Taso__RuleCollection c = TASO__RULE_COLLECTION__INIT;
    c.rule = rules;
    c.n_rule = n;
    size_t size = taso__rule_collection__get_packed_size(&c);
    uint8_t *bytes = noe_malloc(size + 1);
    taso__rule_collection__pack(&c, bytes);
    noe_buf_add(out, (const char *)bytes, size);
    free(bytes);
}

/* Which node of the rule each node of what was read back is; false if they differ. */
static bool pair_nodes(const noe_rule *a, uint16_t i, const noe_rule *b, uint16_t k,
                       int *of)
{
    const noe_pattern_node *x = &a->nodes[i], *y = &b->nodes[k];
    if (of[k] >= 0)
        return of[k] == i;
    of[k] = i;
    if (x->is_var || y->is_var)
        return x->is_var && y->is_var;
    if (x->op != y->op || x->n_inputs != y->n_inputs)
        return false;
    /* A product with a scalar is written with the scalar second. */
    int64_t rank;
    bool swap = x->op == NOE_OP_MUL && a->nodes[x->inputs[0]].is_var &&
                says_rank(a, a->where, a->nodes[x->inputs[0]].var, &rank) &&
                rank == 0 && y->inputs[1] != y->inputs[0];
    for (int n = 0; n < x->n_inputs; n++) {
        if (!pair_nodes(a, x->inputs[n], b, y->inputs[swap ? 1 - n : n], of))
            return false;
    }
    return true;
}

/* The instance of `back` as one of `rule`. */
static bool is_instance(const noe_rule *rule, const noe_rule *back, const int *of,
                        const noe_instance *from, noe_instance *to)
{
    memset(to->binding.bound, 0, sizeof to->binding.bound);
    memset(to->binding.pbound, 0, sizeof to->binding.pbound);
    for (uint16_t k = 0; k < back->n_nodes; k++) {
        if (of[k] < 0)
            continue;
        const noe_pattern_node *n = &rule->nodes[of[k]];
        if (n->is_var) {
            to->binding.bound[n->var] = true;
            to->binding.type[n->var] = from->type[k];
            continue;
        }
        for (int i = 0; i < from->params[k].n; i++) {
            if (n->params[i] == NOE_TERM_ABSENT ||
                rule->terms[n->params[i]].kind != NOE_TERM_PVAR)
                continue;
            to->binding.pbound[rule->terms[n->params[i]].var] = true;
            to->binding.pvalue[rule->terms[n->params[i]].var] = from->params[k].v[i];
        }
    }
    if (!noe_instance_check(rule, to, false))
        return false;
    for (uint16_t k = 0; k < back->n_nodes; k++) {
        if (of[k] >= 0 && !back->nodes[k].is_var &&
            !noe_params_eq(&from->params[k], &to->params[of[k]]))
            return false;
    }
    return true;
}

static bool check_instances(const noe_rule *rule, const noe_rule *back, const int *of,
                            noe_buf *reason)
{
    noe_instance *from = noe_malloc(2 * sizeof *from);
    int n_found = 0, attempts = 0;
    bool ok = true;
    for (int i = 0; i < N_INSTANCES && ok; i++) {
        if (!noe_instance_find(back, 1, i, ATTEMPTS, &from[0], &attempts))
            continue;
        n_found++;
        ok = is_instance(rule, back, of, &from[0], &from[1]);
        if (!ok) {
            noe_buf_puts(reason, "the format would say it of ");
            noe_instance_print(reason, back, &from[0]);
            noe_buf_puts(reason, " too");
        }
    }
    if (ok && n_found == 0)
        noe_buf_puts(reason, "no instance of it that the format can say was found");
    free(from);
    return ok && n_found > 0;
}

static bool reads_back(const noe_rule *rule, Taso__Rule *written, noe_buf *reason)
{
    noe_buf bytes = {0};
    noe_taso_rules rules = {0};
    noe_error err = {0};
    noe_rule *back = noe_malloc(sizeof *back);
    int of[NOE_RULE_MAX_NODES];
    memset(of, 0xff, sizeof of);
    pack(&written, 1, &bytes);
    bool ok = noe_taso_read(noe_buf_text(&bytes), bytes.len, &rules, &err) == NOE_OK;
    if (!ok)
        noe_buf_puts(reason, err.text);
    if (ok && !rules.rules[0].text) {
        noe_buf_puts(reason, rules.rules[0].reason);
        ok = false;
    }
    ok = ok && noe_rule_parse(rules.rules[0].text, SIZE_MAX, back, &err) == NOE_OK;
    for (int i = 0; i < rule->n_roots && ok; i++)
        ok = pair_nodes(rule, rule->lhs[i], back, back->lhs[i], of) &&
             pair_nodes(rule, rule->rhs[i], back, back->rhs[i], of);
    if (ok)
        ok = check_instances(rule, back, of, reason);
    if (!ok && !reason->len)
        noe_buf_puts(reason, "it does not read back as itself");
    noe_taso_rules_clear(&rules);
    noe_buf_clear(&bytes);
    free(back);
    return ok;
}

bool noe_taso_write(noe_taso_writer *to, const noe_rule *rule, noe_buf *reason)
{
    writing *w = noe_calloc(1, sizeof *w);
    w->arena = &to->arena;
    w->rule = rule;
    w->reason = reason;
    w->rank = guess_rank(w);
    bool ok = write_side(w, false) && write_side(w, true);
    if (ok) {
        Taso__Rule *r = make_rule(w);
        ok = reads_back(rule, r, reason);
        if (ok)
            NOE_PUSH(to->rules, to->n_rules, to->cap_rules, r);
    }
    free(w);
    return ok;
}

void noe_taso_finish(const noe_taso_writer *w, noe_buf *out)
{
    pack(w->rules, w->n_rules, out);
}
