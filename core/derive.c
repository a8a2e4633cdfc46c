/* SPDX-License-Identifier: Apache-2.0
 *
 * Deriving a rule at all of its instances.
 *
 * The e-graph is made at the instance with the most different sizes, so that little
 * fits by accident; first with the rules that speak of no other operators than the goal
 * does, which is quick and mostly enough, then with all.
 */
#include "core/derive_internal.h"

#include "core/field_check.h"
#include <stdlib.h>

#define MAX_ATTEMPTS 200 /* for one instance */

noe_derive_config noe_derive_default(void)
{
    return (noe_derive_config){.seed = 1,
                               .n_instances = 48,
                               .max_nodes = 4000,
                               .max_rounds = 8,
                               .extra_ops = 4,
                               .max_tries = 20000000};
}

typedef struct instances {
    noe_instance **at;
    int n;
    int *scheme; /* that covers it, -1: none */
} instances;

static int next_instance(const noe_rule *rule, const instances *all)
{
    int best = -1, best_score = 0;
    for (int i = 0; i < all->n; i++) {
        int score = noe_instance_spread(rule, all->at[i]);
        if (all->scheme[i] < 0 && (best < 0 || score > best_score)) {
            best = i;
            best_score = score;
        }
    }
    return best;
}

static void mark_ops(const noe_rule *rule, bool *ops)
{
    for (uint16_t i = 0; i < rule->n_nodes; i++) {
        if (!rule->nodes[i].is_var)
            ops[rule->nodes[i].op] = true;
    }
}

/* Which directed rules to use: all that are on, or those of the goal's operators. */
static void choose_rules(const noe_deriver *d, bool only_own, bool *use)
{
    bool own[NOE_OP_COUNT] = {false};
    mark_ops(d->goal, own);
    for (int i = 0; i < d->set->n_directed; i++) {
        const noe_directed *r = d->set->directed[i];
        use[i] = d->set->is_on[r->rule];
        for (int op = 0; op < NOE_OP_COUNT && only_own; op++)
            use[i] &= !r->ops[op] || own[op];
    }
}

/* All roots, at one instance. */
static bool replay_all(const noe_deriver *d, const noe_trace *traces,
                       const noe_instance *inst, char ***texts)
{
    noe_transport *t = noe_transport_new(d, inst);
    const noe_params **params = noe_calloc(d->e.n_nodes, sizeof *params);
    bool ok = true;
    for (int r = 0; r < d->goal->n_roots && ok; r++) {
        for (uint32_t i = 0; i < traces[r].n_terms; i++) {
            uint32_t label = traces[r].terms[i].label;
            params[label] = noe_transport_params(t, label);
        }
        ok = noe_derive_replay(d, &traces[r], params, inst, r, d->config->seed,
                               texts ? texts[r] : NULL);
    }
    free(params);
    noe_transport_free(t);
    return ok;
}

static int count_steps(const noe_trace *t)
{
    int n = 0;
    for (uint32_t i = 0; i < t->n_steps; i++)
        n += t->steps[i].application != NOE_CONGRUENCE;
    return n;
}

/* Takes the texts. */
static void add_derivation(const noe_deriver *d, const noe_trace *trace, int root,
                           const noe_instance *inst, char **texts,
                           noe_derive_report *report)
{
    noe_derivation *v = &report->derivations[report->n_derivations++];
    noe_buf b = {0};
    noe_instance_print(&b, d->goal, inst);
    *v = (noe_derivation){.instance = noe_strdup(noe_buf_text(&b)),
                          .start = texts[0],
                          .root = root,
                          .scheme = report->n_schemes};
    noe_buf_clear(&b);
    v->steps = noe_calloc((size_t)count_steps(trace) + 1, sizeof *v->steps);
    for (uint32_t i = 0; i < trace->n_steps; i++) {
        const noe_trace_step *s = &trace->steps[i];
        if (s->application == NOE_CONGRUENCE) {
            free(texts[i + 1]);
            continue;
        }
        const noe_directed *r = d->set->directed[d->applied[s->application].directed];
        noe_derive_step *to = &v->steps[v->n_steps++];
        to->rule = r->rule;
        to->backwards = r->backwards != s->backwards;
        to->rule_root = r->root;
        to->n_path = s->n_path;
        memcpy(to->path, s->path, sizeof s->path);
        to->after = texts[i + 1];
    }
}

static void note_size(const noe_deriver *d, noe_derive_report *report)
{
    if ((int)d->e.n_nodes > report->n_nodes)
        report->n_nodes = (int)d->e.n_nodes;
    if (d->n_rounds > report->n_rounds)
        report->n_rounds = d->n_rounds;
}

/* Proof at one instance, and wherever else it holds. */
static bool use_proof(const noe_deriver *d, instances *all, int base,
                      noe_derive_report *report)
{
    noe_trace traces[NOE_RULE_MAX_ROOTS] = {{0}};
    char **texts[NOE_RULE_MAX_ROOTS] = {NULL};
    bool ok = true;
    for (int r = 0; r < d->goal->n_roots; r++) {
        ok = ok && noe_derive_explain(d, d->goal_node[d->goal->lhs[r]],
                                      d->goal_node[d->goal->rhs[r]], &traces[r]);
        texts[r] = noe_calloc(traces[r].n_steps + 1, sizeof *texts[r]);
    }
    if (!ok)
        noe_buf_puts(&report->why, "the derivation found is too long");
    if (ok && !replay_all(d, traces, all->at[base], texts)) {
        noe_buf_puts(&report->why, "the derivation found was not confirmed by replay");
        ok = false;
    }
    if (ok) {
        for (int r = 0; r < d->goal->n_roots; r++)
            add_derivation(d, &traces[r], r, all->at[base], texts[r], report);
        for (int i = 0; i < all->n; i++) {
            if (i == base ||
                (all->scheme[i] < 0 && replay_all(d, traces, all->at[i], NULL)))
                all->scheme[i] = report->n_schemes;
        }
        report->n_schemes++;
    }
    for (int r = 0; r < d->goal->n_roots; r++) {
        for (uint32_t i = 0; !ok && i <= traces[r].n_steps; i++)
            free(texts[r][i]);
        free(texts[r]);
        noe_trace_clear(&traces[r]);
    }
    return ok;
}

static bool derive_at(noe_deriver *d, const noe_instance *inst, bool *use,
                      noe_derive_report *report)
{
    bool met = false;
    for (int all = 0; all < 2 && !met; all++) {
        choose_rules(d, !all, use);
        met = noe_derive_saturate(d, inst, use);
        note_size(d, report);
    }
    return met;
}

/* An operator of the goal that no rule speaks of, or NULL. */
static const char *unheard_of(const noe_rule_set *set, const noe_rule *goal)
{
    bool known[NOE_OP_COUNT] = {false}, own[NOE_OP_COUNT] = {false};
    for (int i = 0; i < set->n_rules; i++) {
        if (set->is_on[i])
            mark_ops(set->rules[i], known);
    }
    mark_ops(goal, own);
    for (int op = 0; op < NOE_OP_COUNT; op++) {
        if (own[op] && !known[op])
            return noe_op_get((noe_op)op)->name;
    }
    return NULL;
}

static void say_why_not(const noe_deriver *d, const noe_instance *inst,
                        noe_derive_report *report)
{
    noe_buf *b = &report->why;
    const char *op = unheard_of(d->set, d->goal);
    if ((int)d->e.n_nodes >= d->config->max_nodes)
        noe_buf_printf(b, "budget: the sides did not meet within %d nodes",
                       d->e.n_nodes);
    else if (d->n_tries >= d->config->max_tries)
        noe_buf_printf(b, "budget: the sides did not meet within %lld nodes matched",
                       (long long)d->n_tries);
    else if (d->n_rounds >= d->config->max_rounds)
        noe_buf_printf(b, "budget: the sides did not meet within %d rounds",
                       d->n_rounds);
    else
        noe_buf_printf(b,
                       "size: the sides do not meet with terms of up to %u operators",
                       d->max_ops);
    if (op)
        noe_buf_printf(b, "; no rule speaks of %s", op);
    noe_buf_puts(b, "; at ");
    noe_instance_print(b, d->goal, inst);
    if (report->n_schemes)
        noe_buf_printf(b, "; %d derivations cover other instances", report->n_schemes);
}

static void derive_all(noe_deriver *d, instances *all, noe_derive_report *report)
{
    bool *use = noe_calloc((size_t)d->set->n_directed + 1, sizeof *use);
    size_t most = (size_t)NOE_DERIVE_MAX_SCHEMES * NOE_RULE_MAX_ROOTS;
    report->derivations = noe_calloc(most, sizeof *report->derivations);
    report->verdict = NOE_DERIVE_DERIVED;
    for (int base; (base = next_instance(d->goal, all)) >= 0;) {
        report->verdict = NOE_DERIVE_UNKNOWN;
        if (report->n_schemes == NOE_DERIVE_MAX_SCHEMES) {
            noe_buf_printf(&report->why, "more than %d derivations are needed",
                           NOE_DERIVE_MAX_SCHEMES);
            break;
        }
        if (!derive_at(d, all->at[base], use, report)) {
            say_why_not(d, all->at[base], report);
            break;
        }
        if (!use_proof(d, all, base, report))
            break;
        report->verdict = NOE_DERIVE_DERIVED;
    }
    (void)noe_derive_saturate(d, NULL, use); /* gives the memory back */
    free(use);
}

/* The caller's bindings as instances. */
static void take_given(const noe_rule *goal, const noe_derive_config *config,
                       instances *all)
{
    all->at = noe_calloc((size_t)config->n_given + 1, sizeof(noe_instance *));
    for (int i = 0; i < config->n_given; i++) {
        noe_instance *inst = noe_malloc(sizeof *inst);
        inst->binding = *config->given[i];
        if (noe_instance_check(goal, inst, false))
            all->at[all->n++] = inst;
        else
            free(inst);
    }
}

void noe_derive(const noe_rule_set *set, const noe_rule *goal,
                const noe_derive_config *config, noe_derive_report *report)
{
    noe_deriver d = {.set = set, .goal = goal, .config = config};
    noe_field_report field = {0};
    instances all = {0};
    *report = (noe_derive_report){0};
    if (config->use_given) {
        take_given(goal, config, &all);
    } else {
        noe_field_config f = {config->seed, config->n_instances, MAX_ATTEMPTS, false};
        noe_field_check(goal, &f, &field);
        all.at = field.instances;
        all.n = field.n_instances;
    }
    report->n_instances = all.n;
    all.scheme = noe_malloc(((size_t)all.n + 1) * sizeof *all.scheme);
    memset(all.scheme, 0xff, (size_t)all.n * sizeof *all.scheme);
    d.scratch = noe_malloc(sizeof *d.scratch);
    if (field.difference.found) {
        report->verdict = NOE_DERIVE_REFUTED;
        noe_buf_puts(&report->why, noe_buf_text(&field.counterexample));
    } else if (all.n == 0) {
        noe_buf_puts(&report->why, "no typed instance found");
    } else {
        derive_all(&d, &all, report);
    }
    if (config->use_given) {
        for (int i = 0; i < all.n; i++)
            free(all.at[i]);
        free(all.at);
    }
    noe_field_report_clear(&field);
    free(all.scheme);
    free(d.scratch);
}

void noe_derive_report_clear(noe_derive_report *report)
{
    for (int i = 0; i < report->n_derivations; i++) {
        noe_derivation *v = &report->derivations[i];
        for (int k = 0; k < v->n_steps; k++)
            free(v->steps[k].after);
        free(v->steps);
        free(v->instance);
        free(v->start);
    }
    free(report->derivations);
    noe_buf_clear(&report->why);
    *report = (noe_derive_report){0};
}
