/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules as a whole: identity, direction, counts, files of rules.
 */
#include "core/rule.h"
#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>

noe_hash128 noe_rule_id(const noe_rule *rule)
{
    noe_buf text = {0};
    noe_rule_print(&text, rule);
    noe_hash128 id = noe_hash_bytes(text.text, text.len);
    noe_buf_clear(&text);
    return id;
}

noe_rule noe_rule_reversed(const noe_rule *rule)
{
    noe_rule r = *rule;
    memcpy(r.lhs, rule->rhs, sizeof r.lhs);
    memcpy(r.rhs, rule->lhs, sizeof r.rhs);
    r.is_reversed = !rule->is_reversed;
    return r;
}

noe_rule *noe_rule_pack(const noe_rule *rule)
{
    size_t size = offsetof(noe_rule, terms) + rule->n_terms * sizeof *rule->terms;
    noe_rule *packed = noe_malloc(size);
    memcpy(packed, rule, size);
    return packed;
}

/* Marks the nodes of one side. Nodes have smaller-numbered inputs. */
void noe_rule_mark_side(const noe_rule *rule, bool rhs, bool *used)
{
    const uint16_t *roots = rhs ? rule->rhs : rule->lhs;
    memset(used, 0, NOE_RULE_MAX_NODES * sizeof *used);
    for (int i = 0; i < rule->n_roots; i++)
        used[roots[i]] = true;
    for (int i = rule->n_nodes; i-- > 0;) {
        const noe_pattern_node *n = &rule->nodes[i];
        for (int k = 0; used[i] && !n->is_var && k < n->n_inputs; k++)
            used[n->inputs[k]] = true;
    }
}

/* Variables and parameter variables that a term speaks of. */
static void mark_term(const noe_rule *rule, uint16_t term, bool *vars, bool *pvars)
{
    if (term == NOE_TERM_ABSENT)
        return;
    const noe_term *t = &rule->terms[term];
    if (t->kind == NOE_TERM_PVAR)
        pvars[t->var] = true;
    if (t->kind == NOE_TERM_DIM || t->kind == NOE_TERM_RANK ||
        t->kind == NOE_TERM_SHAPE)
        vars[t->var] = true;
    for (int i = 0; i < t->n_kids; i++)
        mark_term(rule, t->kids[i], vars, pvars);
}

static void mark_terms_of_side(const noe_rule *rule, const bool *used, bool *vars,
                               bool *pvars)
{
    for (int i = 0; i < rule->n_nodes; i++) {
        const noe_pattern_node *n = &rule->nodes[i];
        for (int k = 0; used[i] && !n->is_var && k < NOE_MAX_PARAMS; k++)
            mark_term(rule, n->params[k], vars, pvars);
    }
}

/* Parameter variables that some left-side parameter is, as a whole. */
static void mark_bound_pvars(const noe_rule *rule, const bool *used, bool *bound)
{
    for (int i = 0; i < rule->n_nodes; i++) {
        const noe_pattern_node *n = &rule->nodes[i];
        for (int k = 0; used[i] && !n->is_var && k < NOE_MAX_PARAMS; k++) {
            if (n->params[k] != NOE_TERM_ABSENT &&
                rule->terms[n->params[k]].kind == NOE_TERM_PVAR)
                bound[rule->terms[n->params[k]].var] = true;
        }
    }
}

bool noe_rule_is_directed(const noe_rule *rule)
{
    bool left[NOE_RULE_MAX_NODES], right[NOE_RULE_MAX_NODES];
    bool vars[NOE_RULE_MAX_VARS] = {0}, pvars[NOE_RULE_MAX_PVARS] = {0};
    bool bound[NOE_RULE_MAX_PVARS] = {0};
    noe_rule_mark_side(rule, false, left);
    noe_rule_mark_side(rule, true, right);
    mark_bound_pvars(rule, left, bound);
    mark_terms_of_side(rule, left, vars, pvars);
    mark_terms_of_side(rule, right, vars, pvars);
    mark_term(rule, rule->where, vars, pvars);
    for (int i = 0; i < rule->n_roots; i++) {
        if (rule->nodes[rule->lhs[i]].is_var)
            return false;
    }
    for (int i = 0; i < rule->n_nodes; i++) {
        if (right[i] && rule->nodes[i].is_var)
            vars[rule->nodes[i].var] = true;
    }
    for (int i = 0; i < rule->n_nodes; i++) {
        if (left[i] && rule->nodes[i].is_var)
            vars[rule->nodes[i].var] = false;
    }
    for (int i = 0; i < rule->n_vars; i++) {
        if (vars[i])
            return false;
    }
    for (int i = 0; i < rule->n_pvars; i++) {
        if (pvars[i] && !bound[i])
            return false;
    }
    return true;
}

int noe_rule_count_ops(const noe_rule *rule, bool rhs)
{
    bool used[NOE_RULE_MAX_NODES];
    int n = 0;
    noe_rule_mark_side(rule, rhs, used);
    for (int i = 0; i < rule->n_nodes; i++)
        n += used[i] && !rule->nodes[i].is_var;
    return n;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void noe_rule_print_ops(noe_buf *b, const noe_rule *rule, bool rhs)
{
    bool used[NOE_RULE_MAX_NODES];
    const char *names[NOE_RULE_MAX_NODES];
    size_t n = 0;
    noe_rule_mark_side(rule, rhs, used);
    for (int i = 0; i < rule->n_nodes; i++) {
        if (used[i] && !rule->nodes[i].is_var)
            names[n++] = noe_op_get(rule->nodes[i].op)->name;
    }
    qsort(names, n, sizeof *names, by_text);
    for (size_t i = 0; i < n; i++)
        noe_buf_printf(b, "%s%s", i ? " " : "", names[i]);
}

/* ---- files of rules ---- */

/* The "name:" before a rule, if there is one: a rule itself has ':' only after '?'. */
static const char *split_name(char *line, char *name, size_t cap)
{
    size_t n = 0;
    while (isalnum((unsigned char)line[n]) || line[n] == '_' || line[n] == '-')
        n++;
    name[0] = '\0';
    if (n == 0 || n >= cap || line[n] != ':' || line[n + 1] == '=')
        return line;
    memcpy(name, line, n);
    name[n] = '\0';
    return line + n + 1;
}

typedef struct rule_file {
    const char *at;
    int line;
    noe_buf logical; /* lines joined at trailing backslashes */
} rule_file;

/* Next logical line into f->logical; false at the end. *first is its first line. */
static bool next_line(rule_file *f, int *first)
{
    f->logical.len = 0;
    *first = f->line + 1;
    bool more = true;
    while (more && *f->at) {
        size_t n = strcspn(f->at, "\n");
        size_t keep = n;
        f->line++;
        while (keep > 0 && isspace((unsigned char)f->at[keep - 1]))
            keep--;
        more = keep > 0 && f->at[keep - 1] == '\\';
        noe_buf_add(&f->logical, f->at, more ? keep - 1 : keep);
        noe_buf_puts(&f->logical, more ? " " : "");
        f->at += n + (f->at[n] == '\n');
        if (!more)
            return true;
    }
    return f->logical.len > 0;
}

noe_status noe_rules_parse(const char *text, const char *path,
                           noe_status (*fn)(void *ctx, const noe_rule_line *line,
                                            noe_error *err),
                           void *ctx, noe_error *err)
{
    rule_file f = {.at = text};
    noe_rule_line *line = noe_malloc(sizeof *line);
    char name[128];
    noe_status status = NOE_OK;
    while (status == NOE_OK && next_line(&f, &line->line)) {
        char *start = f.logical.text;
        while (isspace((unsigned char)*start))
            start++;
        if (*start == '\0' || *start == '#')
            continue;
        const char *rule = split_name(start, name, sizeof name);
        line->name = name;
        status = noe_rule_parse(rule, SIZE_MAX, &line->rule, err);
        if (status == NOE_OK)
            status = fn(ctx, line, err);
        if (status != NOE_OK)
            noe_error_prefix(err, "%s:%d: ", path, line->line);
    }
    free(line);
    noe_buf_clear(&f.logical);
    return status;
}
