/* SPDX-License-Identifier: Apache-2.0
 *
 * Expanding and folding composite operators by the rules of core/definitions.txt.
 *
 * Both are the same walk. From the outputs down, each needed node asks for a
 * replacement; one that gets it makes the variables of the match needed, not its own
 * inputs, so that the largest form wins and interior nodes fall away. Replacements are
 * built in a scratch copy of the graph; then the needed nodes are copied up into the
 * result, replaced ones redirected. Expansion repeats the walk until no definition
 * applies, because a right side may be composite again.
 */
#include "core/definition.h"
#include "core/match.h"
#include <pthread.h>
#include <stdlib.h>

enum { EXPAND, FOLD, RESTORE, N_SECTIONS };
static const char *const section_names[N_SECTIONS] = {"[expand]", "[fold]",
                                                      "[restore]"};

typedef struct section {
    noe_rule_line *lines;
    int n, cap;
} section;

static section sections[N_SECTIONS];
static noe_arena names;

static noe_status keep_line(void *ctx, const noe_rule_line *line, noe_error *err)
{
    section *s = ctx;
    noe_rule_line copy = *line;
    (void)err;
    copy.name = noe_arena_strdup(&names, line->name);
    NOE_PUSH(s->lines, s->n, s->cap, copy);
    return NOE_OK;
}

/* The text of a section: from behind its heading to the next heading. */
static char *section_text(const char *heading)
{
    const char *start = strstr(noe_definitions_text, heading);
    NOE_ASSERT(start);
    start += strlen(heading);
    const char *end = strstr(start, "\n[");
    size_t n = end ? (size_t)(end - start) + 1 : strlen(start);
    char *text = noe_malloc(n + 1);
    memcpy(text, start, n);
    text[n] = '\0';
    return text;
}

static void parse_sections(void)
{
    for (int i = 0; i < N_SECTIONS; i++) {
        char *text = section_text(section_names[i]);
        noe_status s =
            noe_rules_parse(text, section_names[i], keep_line, &sections[i], NULL);
        NOE_ASSERT(s == NOE_OK);
        free(text);
    }
}

static const noe_rule_line *lines_of(int which, int *n)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, parse_sections);
    *n = sections[which].n;
    return sections[which].lines;
}

const noe_rule_line *noe_definitions_expand(int *n)
{
    return lines_of(EXPAND, n);
}

const noe_rule_line *noe_definitions_fold(int *n)
{
    return lines_of(FOLD, n);
}

const noe_rule_line *noe_definitions_restore(int *n)
{
    return lines_of(RESTORE, n);
}

/* ---- the walk ---- */

typedef struct walk walk;
/* Seeks a replacement for a node: builds it in w->work and calls accept. */
typedef void replace_fn(walk *w, uint32_t node);

struct walk {
    const noe_graph *g;
    noe_graph *work; /* g and the replacements behind it */
    replace_fn *replace;
    noe_ref *instead;   /* of each node of g: its replacement in work, or none */
    uint8_t *origin_ok; /* the replacement may take the origin of the node */
    uint8_t *needed;
    uint32_t *uses;
    noe_origin_op_fn *origin_op;
    void *ctx;
    int n_replaced;
};

/* More ways than this in which one rule matches at one node are not tried. */
#define MAX_MATCHES 8

typedef struct matches {
    noe_match *match;
    int n;
} matches;

/* Matches are collected first and built later: building grows the graph under the
 * matcher's feet. */
static bool collect(void *ctx, const noe_match *match)
{
    matches *m = ctx;
    m->match[m->n++] = *match;
    return m->n < MAX_MATCHES;
}

static void accept(walk *w, const noe_rule *rule, const noe_match *match, noe_ref to,
                   bool origin_ok)
{
    uint32_t node = match->root[0].node;
    w->instead[node] = to;
    w->origin_ok[node] = origin_ok;
    w->n_replaced++;
    for (uint16_t i = 0; i < rule->n_vars; i++) {
        if (match->binding.bound[i])
            w->needed[match->binding.ref[i].node] = 1;
    }
}

typedef bool allow_fn(const walk *w, const noe_rule *rule, const noe_match *match,
                      bool *origin_ok);

static bool try_rule(walk *w, const noe_rule *rule, uint32_t node, allow_fn *allow)
{
    if (rule->nodes[rule->lhs[0]].op != w->g->nodes[node].op)
        return false;
    matches m = {noe_malloc(MAX_MATCHES * sizeof *m.match), 0};
    noe_rule_match(rule, w->g, node, collect, &m);
    bool done = false;
    for (int i = 0; i < m.n && !done; i++) {
        noe_ref to;
        bool origin_ok;
        done = allow(w, rule, &m.match[i], &origin_ok) &&
               noe_rule_instantiate(rule, w->work, &m.match[i], &to, NULL) == NOE_OK;
        if (done)
            accept(w, rule, &m.match[i], to, origin_ok);
    }
    free(m.match);
    return done;
}

static void choose(walk *w)
{
    for (uint32_t i = 0; i < w->g->n_outputs; i++)
        w->needed[w->g->outputs[i].ref.node] = 1;
    for (uint32_t i = w->g->n_nodes; i-- > 0;) {
        if (!w->needed[i])
            continue;
        w->replace(w, i);
        const noe_ref *in = noe_graph_inputs(w->g, i);
        for (uint32_t k = 0;
             noe_ref_is_none(w->instead[i]) && k < w->g->nodes[i].n_inputs; k++) {
            if (!noe_ref_is_none(in[k]))
                w->needed[in[k].node] = 1;
        }
    }
}

/* Copies a needed node or its replacement. Everything it refers to is copied already.
 */
static noe_status copy_node(const walk *w, uint32_t node, noe_graph *dst, noe_ref *map,
                            noe_error *err)
{
    const noe_node *n = noe_graph_node(w->g, node);
    noe_ref from = {node, 0}, image;
    if (noe_ref_is_none(w->instead[node]))
        return noe_graph_transfer(dst, w->work, from, map, &image, err);
    NOE_TRY(noe_graph_transfer(dst, w->work, w->instead[node], map, &image, err));
    map[node] = image;
    if (image.port == 0 && n->name)
        noe_graph_set_name(dst, image.node, n->name);
    if (w->origin_ok[node])
        noe_graph_set_origin(dst, image.node, n->origin);
    return NOE_OK;
}

static noe_status copy_needed(const walk *w, noe_graph *dst, noe_ref *map,
                              noe_error *err)
{
    for (uint32_t i = 0; i < w->work->n_nodes; i++)
        map[i] = NOE_REF_NONE;
    for (uint32_t i = 0; i < w->g->n_nodes; i++) {
        if (w->needed[i])
            NOE_TRY(copy_node(w, i, dst, map, err));
    }
    for (uint32_t i = 0; i < w->g->n_outputs; i++) {
        noe_ref out;
        NOE_TRY(noe_graph_transfer(dst, w->work, w->g->outputs[i].ref, map, &out, err));
        noe_graph_add_output(dst, out, w->g->outputs[i].name);
    }
    return NOE_OK;
}

static noe_status rebuild(const walk *w, noe_graph **out, noe_error *err)
{
    noe_graph *dst = noe_graph_new(w->g->pool);
    noe_ref *map = noe_malloc(((size_t)w->work->n_nodes + 1) * sizeof *map);
    noe_status s = copy_needed(w, dst, map, err);
    free(map);
    if (s == NOE_OK)
        *out = dst;
    else
        noe_graph_free(dst);
    return s;
}

/* One walk over g with the given chooser; *n_replaced says whether it did anything. */
static noe_status walk_graph(const noe_graph *g, replace_fn *replace,
                             noe_origin_op_fn *origin_op, void *ctx, noe_graph **out,
                             int *n_replaced, noe_error *err)
{
    size_t n = (size_t)g->n_nodes + 1;
    walk w = {.g = g, .replace = replace, .origin_op = origin_op, .ctx = ctx};
    uint8_t *live = noe_calloc(n, 1);
    w.work = noe_graph_copy(g);
    w.instead = noe_malloc(n * sizeof *w.instead);
    w.origin_ok = noe_calloc(n, 1);
    w.needed = noe_calloc(n, 1);
    w.uses = noe_calloc(n, sizeof *w.uses);
    for (uint32_t i = 0; i < g->n_nodes; i++)
        w.instead[i] = NOE_REF_NONE;
    noe_graph_mark_live(g, live);
    noe_graph_count_uses(g, live, w.uses);
    choose(&w);
    noe_status s = rebuild(&w, out, err);
    *n_replaced = w.n_replaced;
    noe_graph_free(w.work);
    free(w.instead);
    free(w.origin_ok);
    free(w.needed);
    free(w.uses);
    free(live);
    return s;
}

/* ---- expansion ---- */

#define MAX_WALKS 64

static bool allow_always(const walk *w, const noe_rule *rule, const noe_match *match,
                         bool *origin_ok)
{
    (void)w;
    (void)rule;
    (void)match;
    *origin_ok = true;
    return true;
}

static void replace_composite(walk *w, uint32_t node)
{
    noe_op op = w->g->nodes[node].op;
    int n;
    const noe_rule_line *lines = noe_definitions_expand(&n);
    if (op >= NOE_OP_COUNT || !noe_op_has(op, NOE_TRAIT_COMPOSITE))
        return;
    for (int i = 0; i < n; i++) {
        if (try_rule(w, &lines[i].rule, node, allow_always))
            return;
    }
}

noe_status noe_graph_expand(const noe_graph *g, noe_graph **out, noe_error *err)
{
    int n_replaced;
    NOE_TRY(walk_graph(g, replace_composite, NULL, NULL, out, &n_replaced, err));
    for (int walks = 1; n_replaced > 0; walks++) {
        NOE_ASSERT(walks < MAX_WALKS); /* else the definitions go in a circle */
        noe_graph *last = *out;
        noe_status s =
            walk_graph(last, replace_composite, NULL, NULL, out, &n_replaced, err);
        noe_graph_free(last);
        NOE_TRY(s);
    }
    return NOE_OK;
}

/* ---- folding ---- */

static noe_op composite_of(const noe_rule *rule)
{
    return rule->nodes[rule->rhs[0]].op;
}

static bool is_interior(const noe_rule *rule, const noe_match *match, uint16_t i)
{
    return match->image[i] != UINT32_MAX && !rule->nodes[i].is_var;
}

/* Uses of a graph node by the nodes of the form, each counted once although a form may
 * say it in several places. */
static uint32_t uses_inside(const walk *w, const noe_rule *rule, const noe_match *match,
                            uint32_t node)
{
    uint32_t uses = 0;
    for (uint16_t i = 0; i < rule->n_nodes; i++) {
        bool is_first = is_interior(rule, match, i);
        for (uint16_t k = 0; k < i && is_first; k++)
            is_first =
                !is_interior(rule, match, k) || match->image[k] != match->image[i];
        if (!is_first)
            continue;
        const noe_ref *in = noe_graph_inputs(w->g, match->image[i]);
        for (uint32_t k = 0; k < w->g->nodes[match->image[i]].n_inputs; k++)
            uses += in[k].node == node;
    }
    return uses;
}

/* Interior nodes that are computed at run time have no use but in this form. */
static bool interior_is_private(const walk *w, const noe_rule *rule,
                                const noe_match *match)
{
    for (uint16_t i = 0; i < rule->n_nodes; i++) {
        uint32_t node = match->image[i];
        if (!is_interior(rule, match, i) || node == match->root[0].node ||
            w->g->nodes[node].is_weight)
            continue;
        if (w->uses[node] != uses_inside(w, rule, match, node))
            return false;
    }
    return true;
}

static bool stems_from(const walk *w, uint32_t node, noe_op composite)
{
    uint32_t origin = w->g->nodes[node].origin;
    return origin && w->origin_op && w->origin_op(w->ctx, origin) == composite;
}

static bool has_new_node(const walk *w, const noe_rule *rule, const noe_match *match)
{
    for (uint16_t i = 0; i < rule->n_nodes; i++) {
        uint32_t node = match->image[i];
        if (node != UINT32_MAX && !rule->nodes[i].is_var &&
            !w->g->nodes[node].is_weight && w->g->nodes[node].origin == 0)
            return true;
    }
    return false;
}

static bool allow_restore(const walk *w, const noe_rule *rule, const noe_match *match,
                          bool *origin_ok)
{
    *origin_ok = true;
    return stems_from(w, match->root[0].node, composite_of(rule)) &&
           interior_is_private(w, rule, match);
}

static bool allow_fold(const walk *w, const noe_rule *rule, const noe_match *match,
                       bool *origin_ok)
{
    *origin_ok = stems_from(w, match->root[0].node, composite_of(rule));
    return (*origin_ok || has_new_node(w, rule, match)) &&
           interior_is_private(w, rule, match);
}

/* The parameter variable that no parameter on the left is, or -1. */
static int free_pvar(const noe_rule *rule)
{
    unsigned bound = 0;
    for (int i = 0; i < rule->n_nodes; i++) {
        const noe_pattern_node *n = &rule->nodes[i];
        for (int p = 0; !n->is_var && i != rule->rhs[0] && p < NOE_MAX_PARAMS; p++) {
            if (n->params[p] != NOE_TERM_ABSENT &&
                rule->terms[n->params[p]].kind == NOE_TERM_PVAR)
                bound |= 1u << rule->terms[n->params[p]].var;
        }
    }
    for (int k = 0; k < rule->n_pvars; k++) {
        if (!(bound >> k & 1))
            return k;
    }
    return -1;
}

static void add_integer(noe_rule *rule, noe_term *list, int64_t i)
{
    list->kids[list->n_kids++] = rule->n_terms;
    rule->terms[rule->n_terms++] = (noe_term){.kind = NOE_TERM_INT, .i = i};
}

/* Puts axis number `choice`, or the set of axes with these bits, in place of the
 * variable; equal terms are one term, so there is one place. */
static void substitute(noe_rule *rule, int pvar, int choice)
{
    for (uint16_t i = 0; i < rule->n_terms; i++) {
        if (rule->terms[i].kind != NOE_TERM_PVAR || rule->terms[i].var != pvar)
            continue;
        noe_term t = {.kind = NOE_TERM_INT, .i = choice};
        if (rule->pvars[pvar].kind == NOE_KIND_AXES) {
            t = (noe_term){.kind = NOE_TERM_LIST};
            for (int axis = 0; axis < NOE_MAX_RANK; axis++) {
                if (choice >> axis & 1)
                    add_integer(rule, &t, axis);
            }
        }
        rule->terms[i] = t;
        return;
    }
}

static bool try_restore(walk *w, const noe_rule *rule, uint32_t node)
{
    int pvar = free_pvar(rule);
    if (!stems_from(w, node, composite_of(rule)))
        return false;
    if (pvar < 0)
        return try_rule(w, rule, node, allow_restore);
    bool done = false;
    noe_rule *copy = noe_malloc(sizeof *copy);
    int n_choices =
        rule->pvars[pvar].kind == NOE_KIND_AXES ? 1 << NOE_MAX_RANK : NOE_MAX_RANK + 1;
    for (int choice = 0; choice < n_choices && !done; choice++) {
        *copy = *rule;
        substitute(copy, pvar, choice);
        done = try_rule(w, copy, node, allow_restore);
    }
    free(copy);
    return done;
}

static void replace_normal_form(walk *w, uint32_t node)
{
    int n;
    const noe_rule_line *lines = noe_definitions_restore(&n);
    for (int i = 0; i < n; i++) {
        if (try_restore(w, &lines[i].rule, node))
            return;
    }
    lines = noe_definitions_fold(&n);
    for (int i = 0; i < n; i++) {
        if (try_rule(w, &lines[i].rule, node, allow_fold))
            return;
    }
}

noe_status noe_graph_fold(const noe_graph *g, noe_origin_op_fn *origin_op, void *ctx,
                          noe_graph **out, noe_error *err)
{
    int n_replaced;
    return walk_graph(g, replace_normal_form, origin_op, ctx, out, &n_replaced, err);
}
