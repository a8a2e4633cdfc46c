/* SPDX-License-Identifier: Apache-2.0
 *
 * TASO's rule files: bytes to operators, checked, and then to text (taso_text.c).
 */
#include "ruledb/taso_internal.h"

#include "taso.pb-c.h"
#include <stdio.h>
#include <stdlib.h>

static const struct {
    int type, min_in, max_in;
    unsigned needs; /* parameter keys, a bit each */
} arities[] = {
#define WINDOW                                                   \
    (1u << NOE_TASO_KEY_KERNEL_H | 1u << NOE_TASO_KEY_KERNEL_W | \
     1u << NOE_TASO_KEY_STRIDE_H | 1u << NOE_TASO_KEY_STRIDE_W | \
     1u << NOE_TASO_KEY_PAD)
#define KERNEL (1u << NOE_TASO_KEY_KERNEL_H | 1u << NOE_TASO_KEY_KERNEL_W)
    {NOE_TASO_CONV, 2, 2, WINDOW},
    {NOE_TASO_POOL_MAX, 1, 1, WINDOW},
    {NOE_TASO_POOL_AVG, 1, 1, WINDOW},
    {NOE_TASO_RELU, 1, 1, 0},
    {NOE_TASO_SIGMOID, 1, 1, 0},
    {NOE_TASO_TANH, 1, 1, 0},
    {NOE_TASO_CONCAT, 2, NOE_TASO_MAX_ARITY,
     1u << NOE_TASO_KEY_AXIS | 1u << NOE_TASO_KEY_NUMDIM},
    {NOE_TASO_SPLIT, 1, 1, 1u << NOE_TASO_KEY_AXIS},
    {NOE_TASO_TRANSPOSE, 1, 1, 1u << NOE_TASO_KEY_NUMDIM | 1u << NOE_TASO_KEY_PERM},
    {NOE_TASO_ADD, 2, 2, 0},
    {NOE_TASO_MUL, 2, 2, 0},
    {NOE_TASO_MATMUL, 2, 2, 0},
    {NOE_TASO_SCALAR_MUL, 2, 2, 0},
    {NOE_TASO_ENLARGE, 1, 1, KERNEL},
    {NOE_TASO_IDENTITY_MATRIX, 0, 0, 0},
    {NOE_TASO_IDENTITY_CONV, 0, 0, KERNEL},
    {NOE_TASO_ONE, 0, 0, 0},
    {NOE_TASO_CONST_POOL, 0, 0, KERNEL},
};

static noe_status check_parameters(const noe_taso_op *o, noe_error *err)
{
    static const struct {
        int key, lo, hi;
        const char *name;
    } ranges[] = {
        {NOE_TASO_KEY_KERNEL_H, 1, 64, "kernel_h"},
        {NOE_TASO_KEY_KERNEL_W, 1, 64, "kernel_w"},
        {NOE_TASO_KEY_STRIDE_H, 1, 64, "stride_h"},
        {NOE_TASO_KEY_STRIDE_W, 1, 64, "stride_w"},
        {NOE_TASO_KEY_PAD, 0, 1, "pad"},
        {NOE_TASO_KEY_NUMDIM, 1, NOE_TASO_MAX_RANK, "numdim"},
        {NOE_TASO_KEY_AXIS, 0, NOE_TASO_MAX_RANK - 1, "axis"},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        int v = o->para[ranges[i].key];
        if (v != -1 && (v < ranges[i].lo || v > ranges[i].hi))
            return noe_fail(err, NOE_ERR_PARSE, "%s is %d, want %d to %d",
                            ranges[i].name, v, ranges[i].lo, ranges[i].hi);
    }
    if (o->type == NOE_TASO_CONCAT &&
        o->para[NOE_TASO_KEY_AXIS] >= o->para[NOE_TASO_KEY_NUMDIM])
        return noe_fail(err, NOE_ERR_PARSE, "axis %d of %d", o->para[NOE_TASO_KEY_AXIS],
                        o->para[NOE_TASO_KEY_NUMDIM]);
    return NOE_OK;
}

/* A type that is not in the table has no counterpart; that is found when writing. */
static noe_status check_arity(const noe_taso_op *o, noe_error *err)
{
    for (size_t i = 0; i < sizeof arities / sizeof *arities; i++) {
        if (arities[i].type != o->type)
            continue;
        if (o->n_in < arities[i].min_in || o->n_in > arities[i].max_in)
            return noe_fail(err, NOE_ERR_PARSE, "%d inputs", o->n_in);
        for (int k = 0; k < NOE_TASO_KEYS; k++) {
            if (arities[i].needs >> k & 1 && o->para[k] < 0)
                return noe_fail(err, NOE_ERR_PARSE, "parameter %d is missing", k);
        }
    }
    return NOE_OK;
}

static noe_status read_parameters(const Taso__Operator *from, noe_taso_op *o,
                                  noe_error *err)
{
    memset(o->para, 0xff, sizeof o->para);
    for (size_t i = 0; i < from->n_para; i++) {
        int key = from->para[i]->key, value = from->para[i]->value;
        if (key < 0 || key >= NOE_TASO_KEYS)
            return noe_fail(err, NOE_ERR_PARSE, "parameter key %d", key);
        if (value < 0)
            return noe_fail(err, NOE_ERR_PARSE, "parameter %d is %d", key, value);
        o->para[key] = value;
    }
    return NOE_OK;
}

static noe_status find_variable(noe_taso_reader *r, int id, int *value, noe_error *err)
{
    for (int v = 0; v < r->n_vars; v++) {
        if (r->var_id[v] == id) {
            *value = v;
            return NOE_OK;
        }
    }
    if (r->n_vars == NOE_RULE_MAX_VARS)
        return noe_fail(err, NOE_ERR_LIMIT, "more than %d variables",
                        NOE_RULE_MAX_VARS);
    r->var_id[r->n_vars] = id;
    *value = r->n_vars++;
    return NOE_OK;
}

/* Operands as they are in the file: variables are numbered when all are known. */
static noe_status read_operator(noe_taso_reader *r, const Taso__Operator *from,
                                int first, noe_error *err)
{
    noe_taso_op *o = &r->ops[r->n_ops];
    o->type = from->type;
    if (o->type < 0 || o->type >= NOE_TASO_OPS)
        return noe_fail(err, NOE_ERR_PARSE, "operator type %d", o->type);
    if (from->n_input > NOE_TASO_MAX_ARITY)
        return noe_fail(err, NOE_ERR_LIMIT, "%zu inputs", from->n_input);
    o->n_in = (int)from->n_input;
    NOE_TRY(read_parameters(from, o, err));
    NOE_TRY(check_arity(o, err));
    NOE_TRY(check_parameters(o, err));
    for (int k = 0; k < o->n_in; k++) {
        int id = from->input[k]->opid, port = from->input[k]->tsid;
        if (id >= r->n_ops - first)
            return noe_fail(err, NOE_ERR_PARSE,
                            "input %d is operator %d, which does not come before", k,
                            id);
        bool is_split = id >= 0 && r->ops[first + id].type == NOE_TASO_SPLIT;
        if (port < 0 || port > is_split)
            return noe_fail(err, NOE_ERR_PARSE, "input %d is output %d of operator %d",
                            k, port, id);
        o->port[k] = port;
        o->in[k] = id < 0 ? id : first + id;
        int unused;
        if (id < 0)
            NOE_TRY(find_variable(r, id, &unused, err));
    }
    r->n_ops++;
    return NOE_OK;
}

static noe_status read_side(noe_taso_reader *r, Taso__Operator **ops, size_t n,
                            const char *side, noe_error *err)
{
    int first = r->n_ops;
    if (n > NOE_TASO_MAX_OPS)
        return noe_fail(err, NOE_ERR_LIMIT, "%zu operators in %s", n, side);
    for (size_t i = 0; i < n; i++) {
        noe_status status = read_operator(r, ops[i], first, err);
        if (status != NOE_OK) {
            noe_error_prefix(err, "%s operator %zu (%s): ", side, i,
                             noe_taso_op_name(ops[i]->type));
            return status;
        }
    }
    return NOE_OK;
}

/* Variables are numbered in the order in which the text will have them. */
static void visit(noe_taso_reader *r, int i)
{
    noe_error err;
    int unused;
    if (r->ops[i].is_numbered)
        return;
    r->ops[i].is_numbered = true;
    for (int k = 0; k < r->ops[i].n_in; k++) {
        if (r->ops[i].in[k] < 0)
            (void)find_variable(r, r->ops[i].in[k], &unused, &err);
        else
            visit(r, r->ops[i].in[k]);
    }
}

static void number_operands(noe_taso_reader *r, const Taso__Rule *rule)
{
    noe_error err;
    r->n_vars = 0;
    for (size_t i = 0; i < rule->n_mappedoutput; i++)
        visit(r, rule->mappedoutput[i]->srcopid);
    for (size_t i = 0; i < rule->n_mappedoutput; i++)
        visit(r, r->n_src + rule->mappedoutput[i]->dstopid);
    for (int i = 0; i < r->n_ops; i++) {
        for (int k = 0; k < r->ops[i].n_in; k++) {
            int *in = &r->ops[i].in[k];
            if (*in >= 0)
                *in += r->n_vars;
            else
                (void)find_variable(r, *in, in, &err);
        }
    }
}

static bool infer_ranks(noe_taso_reader *r)
{
    for (int v = 0; v < r->n_vars + r->n_ops; v++)
        r->class_of[v] = v;
    for (int i = 0; i < r->n_ops; i++) {
        if (!noe_taso_rank_operator(r, r->n_vars + i))
            return false;
    }
    for (int i = 0; i < r->n_ops; i++) {
        const noe_taso_op *o = &r->ops[i];
        if (o->type == NOE_TASO_CONV &&
            !noe_taso_set_kernel(r, o->in[1], o->para[NOE_TASO_KEY_KERNEL_H],
                                 o->para[NOE_TASO_KEY_KERNEL_W]))
            return false;
    }
    return true;
}

static void require_ranks(noe_taso_reader *r)
{
    for (int v = 0; v < r->n_vars; v++) {
        char is[32];
        int rank = r->rank[noe_taso_root_of(r, v)];
        snprintf(is, sizeof is, "rank(?%c)", 'a' + v);
        if (r->is_scalar[v])
            noe_taso_require(&r->conditions, is, "0");
        else if (rank)
            noe_taso_require(&r->conditions, is, noe_taso_number(r, rank));
        for (int i = 0; i < 2; i++) {
            char dim[32];
            snprintf(dim, sizeof dim, "dim(?%c, %d)", 'a' + v, 2 + i);
            if (r->kernel[v][i])
                noe_taso_require(&r->conditions, dim,
                                 noe_taso_number(r, r->kernel[v][i]));
        }
    }
}

static noe_status check_outputs(const noe_taso_reader *r, const Taso__Rule *rule,
                                noe_error *err)
{
    if (rule->n_mappedoutput == 0)
        return noe_fail(err, NOE_ERR_PARSE, "no mapped output");
    for (size_t i = 0; i < rule->n_mappedoutput; i++) {
        const Taso__MapOutput *m = rule->mappedoutput[i];
        int n_dst = r->n_ops - r->n_src;
        if (m->srcopid < 0 || m->srcopid >= r->n_src || m->dstopid < 0 ||
            m->dstopid >= n_dst || m->srctsid < 0 || m->srctsid > 1 || m->dsttsid < 0 ||
            m->dsttsid > 1)
            return noe_fail(
                err, NOE_ERR_PARSE,
                "mapped output %zu: output %d of source operator %d, output "
                "%d of target operator %d",
                i, m->srctsid, m->srcopid, m->dsttsid, m->dstopid);
    }
    return NOE_OK;
}

static bool write_sides(noe_taso_reader *r, const Taso__Rule *rule, noe_buf *out)
{
    bool many = rule->n_mappedoutput > 1;
    for (int dst = 0; dst < 2; dst++) {
        noe_buf_puts(out, many ? "{ " : "");
        for (size_t i = 0; i < rule->n_mappedoutput; i++) {
            const Taso__MapOutput *m = rule->mappedoutput[i];
            noe_taso_shape s;
            int value = r->n_vars + (dst ? r->n_src + m->dstopid : m->srcopid);
            noe_buf_puts(out, i ? ", " : "");
            if (!noe_taso_write_value(r, value, dst ? m->dsttsid : m->srctsid, NULL,
                                      out, &s))
                return false;
        }
        noe_buf_puts(out, many ? " }" : "");
        noe_buf_puts(out, dst ? "" : " => ");
    }
    return true;
}

/* Canonical text of sides under both lists of conditions; NULL where it is too large.
 */
static char *finish_text(const char *sides, const char *a, const char *b,
                         noe_error *err)
{
    noe_buf text = {0}, canonical = {0};
    noe_rule *rule = noe_malloc(sizeof *rule);
    char *result = NULL;
    noe_buf_puts(&text, sides);
    if (*a || *b)
        noe_buf_printf(&text, " where %s%s%s", a, *a && *b ? " && " : "", b);
    if (noe_rule_parse(noe_buf_text(&text), SIZE_MAX, rule, err) == NOE_OK) {
        noe_rule_print(&canonical, rule);
        result = noe_strdup(noe_buf_text(&canonical));
    }
    noe_buf_clear(&text);
    noe_buf_clear(&canonical);
    free(rule);
    return result;
}

static void translate(noe_taso_reader *r, const Taso__Rule *rule, noe_taso_rule *to)
{
    noe_buf sides = {0};
    noe_error err = {0};
    r->fits = true;
    if (rule->n_mappedoutput > NOE_RULE_MAX_ROOTS)
        (void)noe_taso_cannot(r, "%zu outputs", rule->n_mappedoutput);
    number_operands(r, rule);
    if (r->fits && infer_ranks(r)) {
        require_ranks(r);
        if (write_sides(r, rule, &sides)) {
            to->text = finish_text(noe_buf_text(&sides), noe_buf_text(&r->conditions),
                                   "", &err);
            if (to->text && r->groups.len)
                to->narrow =
                    finish_text(noe_buf_text(&sides), noe_buf_text(&r->conditions),
                                noe_buf_text(&r->groups), &err);
        }
    }
    if (!to->text)
        to->reason = noe_strdup(r->fits ? err.text : r->reason);
    noe_buf_clear(&sides);
}

static noe_status read_rule(const Taso__Rule *rule, noe_taso_rule *to, noe_error *err)
{
    noe_taso_reader *r = noe_calloc(1, sizeof *r);
    noe_status status = read_side(r, rule->srcop, rule->n_srcop, "source", err);
    r->n_src = r->n_ops;
    if (status == NOE_OK)
        status = read_side(r, rule->dstop, rule->n_dstop, "target", err);
    if (status == NOE_OK)
        status = check_outputs(r, rule, err);
    if (status == NOE_OK)
        translate(r, rule, to);
    noe_buf_clear(&r->conditions);
    noe_buf_clear(&r->groups);
    noe_arena_clear(&r->arena);
    free(r);
    return status;
}

bool noe_taso_looks_like(const char *data, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)data[i];
        if (c < ' ' && c != '\t' && c != '\n' && c != '\r')
            return true;
    }
    return false;
}

noe_status noe_taso_read(const char *data, size_t len, noe_taso_rules *rules,
                         noe_error *err)
{
    *rules = (noe_taso_rules){0};
    Taso__RuleCollection *c =
        taso__rule_collection__unpack(NULL, len, (const uint8_t *)data);
    if (!c)
        return noe_fail(err, NOE_ERR_PARSE, "no TASO rule file (%zu bytes)", len);
    noe_status status = NOE_OK;
    rules->rules = noe_calloc(c->n_rule + 1, sizeof *rules->rules);
    for (size_t i = 0; i < c->n_rule && status == NOE_OK; i++) {
        status = read_rule(c->rule[i], &rules->rules[i], err);
        if (status != NOE_OK)
            noe_error_prefix(err, "rule %zu: ", i);
        rules->n++;
    }
    taso__rule_collection__free_unpacked(c, NULL);
    if (status != NOE_OK)
        noe_taso_rules_clear(rules);
    return status;
}

void noe_taso_rules_clear(noe_taso_rules *rules)
{
    for (int i = 0; i < rules->n; i++) {
        free(rules->rules[i].text);
        free(rules->rules[i].narrow);
        free(rules->rules[i].reason);
    }
    free(rules->rules);
    *rules = (noe_taso_rules){0};
}
