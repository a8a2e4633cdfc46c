/* SPDX-License-Identifier: Apache-2.0 */
#include "optimizer/script.h"
#include "optimizer/rewrite.h"
#include <stdio.h>
#include <stdlib.h>

/* ---- matches ---- */

typedef struct recall {
    uint32_t left;
    noe_match *match;
    bool found;
} recall;

static bool on_recall(void *ctx, const noe_match *match)
{
    recall *r = ctx;
    if (r->left-- > 0)
        return true;
    *r->match = *match;
    r->found = true;
    return false;
}

bool noe_site_match(const noe_rule_set *rules, const noe_graph *g, const noe_site *site,
                    noe_match *match)
{
    recall r = {site->nth, match, false};
    const noe_rule *rule = rules->rules[site->rule]->rule;
    if (site->node >= g->n_nodes ||
        g->nodes[site->node].op != rule->nodes[rule->lhs[0]].op)
        return false;
    noe_rule_match(rule, g, site->node, on_recall, &r);
    return r.found;
}

/* ---- text ---- */

void noe_script_print(noe_buf *b, uint64_t input_hash, const noe_rule_set *rules,
                      const noe_search_part *parts, int n_parts, const noe_step *steps)
{
    noe_buf_printf(b, "noether-log 1\ninput %016llx\n", (unsigned long long)input_hash);
    for (int i = 0; i < n_parts; i++) {
        const noe_search_part *p = &parts[i];
        noe_buf_printf(b, "part %d %016llx %u %.9g %.9g\n", p->pass,
                       (unsigned long long)p->key, p->n_copies, p->before, p->after);
        for (int j = p->first; j < p->first + p->n; j++) {
            const noe_step *s = &steps[j];
            const noe_usable_rule *u = rules->rules[s->site.rule];
            noe_buf_printf(b, "step %s %c %u %u %d %.9g %s\n", u->id,
                           u->reversed ? '<' : '>', s->site.node, s->site.nth,
                           s->joined, s->seconds, s->name ? s->name : "");
        }
    }
}

static int find_rule(const noe_rule_set *rules, const char *id, char direction)
{
    for (int i = 0; i < rules->n; i++) {
        if (rules->rules[i]->reversed == (direction == '<') &&
            strcmp(rules->rules[i]->id, id) == 0)
            return i;
    }
    return -1;
}

static noe_status parse_step(noe_script *s, const char *line, int number,
                             const noe_rule_set *rules, noe_error *err)
{
    char id[NOE_HASH_HEX_LEN + 1], direction;
    noe_step step = {0};
    int joined, end = 0;
    _Static_assert(NOE_HASH_HEX_LEN == 32, "the width in the format below");
    if (s->n_parts == 0 ||
        sscanf(line, "step %32s %c %u %u %d %lg%n", id, &direction, &step.site.node,
               &step.site.nth, &joined, &step.seconds, &end) != 6)
        return noe_fail(err, NOE_ERR_PARSE, "line %d: '%.80s' is no step of a part",
                        number, line);
    if (line[end] == ' ' && line[end + 1])
        step.name = noe_arena_strdup(&s->names, line + end + 1);
    step.joined = joined != 0;
    step.site.rule = find_rule(rules, id, direction);
    if (step.site.rule < 0)
        return noe_fail(err, NOE_ERR_ARG,
                        "line %d: rule %s (%c) is not among those that may be used",
                        number, id, direction);
    NOE_PUSH(s->steps, s->n_steps, s->cap_steps, step);
    s->parts[s->n_parts - 1].n++;
    return NOE_OK;
}

static noe_status parse_line(noe_script *s, const char *line, int number,
                             uint64_t input_hash, const noe_rule_set *rules,
                             noe_error *err)
{
    unsigned long long hash;
    noe_search_part part = {.first = s->n_steps};
    if (number == 1)
        return strcmp(line, "noether-log 1") == 0
                   ? NOE_OK
                   : noe_fail(err, NOE_ERR_PARSE,
                              "'%.40s' does not begin a log of ours", line);
    if (number == 2) {
        if (sscanf(line, "input %llx", &hash) != 1 || hash != input_hash)
            return noe_fail(err, NOE_ERR_ARG,
                            "it is the log of another model ('%.60s', this one is "
                            "%016llx)",
                            line, (unsigned long long)input_hash);
        return NOE_OK;
    }
    if (strncmp(line, "step ", 5) == 0)
        return parse_step(s, line, number, rules, err);
    if (sscanf(line, "part %d %llx %u %lg %lg", &part.pass, &hash, &part.n_copies,
               &part.before, &part.after) != 5)
        return noe_fail(err, NOE_ERR_PARSE, "line %d: '%.80s' is neither part nor step",
                        number, line);
    part.key = hash;
    NOE_PUSH(s->parts, s->n_parts, s->cap_parts, part);
    return NOE_OK;
}

noe_status noe_script_parse(const char *text, uint64_t input_hash,
                            const noe_rule_set *rules, noe_script *s, noe_error *err)
{
    noe_status status = NOE_OK;
    *s = (noe_script){0};
    for (int number = 1; *text && status == NOE_OK; number++) {
        size_t len = strcspn(text, "\n");
        noe_buf line = {0};
        noe_buf_add(&line, text, len);
        status = parse_line(s, noe_buf_text(&line), number, input_hash, rules, err);
        noe_buf_clear(&line);
        text += len + (text[len] == '\n');
    }
    s->limit = s->n_steps;
    if (status != NOE_OK)
        noe_script_clear(s);
    return status;
}

void noe_script_clear(noe_script *s)
{
    free(s->parts);
    free(s->steps);
    noe_arena_clear(&s->names);
    *s = (noe_script){0};
}

/* ---- doing it again ---- */

const noe_search_part *noe_script_find(const noe_script *s, int pass, uint64_t key)
{
    for (int i = 0; i < s->n_parts; i++) {
        if (s->parts[i].pass == pass && s->parts[i].key == key)
            return &s->parts[i];
    }
    return NULL;
}

/* The steps from `from` on that are applied together. */
static noe_status apply_group(const noe_script *s, const noe_rule_set *rules, int from,
                              int end, noe_graph **g, noe_error *err)
{
    noe_rewriter r;
    noe_match *match = noe_malloc(sizeof *match);
    noe_graph *next;
    noe_status status = NOE_OK;
    noe_rewriter_init(&r, *g);
    for (int i = from; i < end && status == NOE_OK; i++) {
        const noe_usable_rule *u = rules->rules[s->steps[i].site.rule];
        bool changes;
        if (noe_site_match(rules, *g, &s->steps[i].site, match))
            status = noe_rewriter_add(&r, u->rule, match, &changes, err);
        else
            status =
                noe_fail(err, NOE_ERR_ARG, "step %d: rule %s does not match at node %u",
                         i + 1, u->id, s->steps[i].site.node);
    }
    if (status == NOE_OK)
        status = noe_rewriter_finish(&r, NULL, &next, NULL, err);
    noe_rewriter_clear(&r);
    free(match);
    if (status == NOE_OK) {
        noe_graph_free(*g);
        *g = next;
    }
    return status;
}

noe_status noe_script_apply(const noe_script *s, const noe_search_part *part,
                            const noe_rule_set *rules, const noe_graph *g,
                            noe_graph **out, int *n_done, noe_error *err)
{
    noe_rewriter r;
    noe_rewriter_init(&r, g);
    noe_status status = noe_rewriter_finish(&r, NULL, out, NULL, err);
    noe_rewriter_clear(&r);
    int end = part->first + part->n < s->limit ? part->first + part->n : s->limit;
    *n_done = 0;
    for (int i = part->first; i < end && status == NOE_OK;) {
        int next = i + 1;
        while (next < end && s->steps[next].joined)
            next++;
        status = apply_group(s, rules, i, next, out, err);
        *n_done += next - i;
        i = next;
    }
    if (status != NOE_OK) {
        noe_graph_free(*out);
        *out = NULL;
    }
    return status;
}
