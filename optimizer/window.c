/* SPDX-License-Identifier: Apache-2.0 */
#include "optimizer/window.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Rounds of A B B A; fewer than for whole models: there are many of them. */
#define MAX_ROUNDS   32
#define SLOW_ROUNDS  12
#define SLOW_SECONDS 2e-3

/* ---- names ---- */

/* Weights by first use, over both graphs; inputs have names of their own. */
typedef struct names {
    uint64_t *hashes;
    uint32_t n, cap;
} names;

static uint32_t number_of(names *w, uint64_t hash)
{
    for (uint32_t i = 0; i < w->n; i++) {
        if (w->hashes[i] == hash)
            return i;
    }
    NOE_PUSH(w->hashes, w->n, w->cap, hash);
    return w->n - 1;
}

static noe_ref rename_leaf(names *w, noe_graph *dst, const noe_graph *g, uint32_t i)
{
    const noe_leaf *l = noe_graph_leaf_of(g, i);
    bool is_weight = g->nodes[i].op == NOE_OP_WEIGHT;
    char name[24];
    snprintf(name, sizeof name, "w%u", is_weight ? number_of(w, l->hash) : 0);
    uint32_t leaf = noe_pool_add_leaf(dst->pool, is_weight ? name : l->name, &l->type,
                                      NULL, 0, NULL);
    return noe_graph_leaf(dst, g->nodes[i].op, leaf);
}

/* The text of g's live part with weights named by w. */
static void print_renamed(noe_buf *b, names *w, const noe_graph *g)
{
    noe_pool *pool = noe_pool_new();
    noe_graph *dst = noe_graph_new(pool);
    noe_ref *map = noe_malloc((g->n_nodes + 1) * sizeof *map);
    uint8_t *live = noe_malloc(g->n_nodes + 1);
    noe_graph_mark_live(g, live);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const noe_node *n = &g->nodes[i];
        noe_ref in[NOE_MAX_INPUTS];
        noe_error err;
        if (!live[i])
            continue;
        if (n->op == NOE_OP_INPUT || n->op == NOE_OP_WEIGHT) {
            map[i] = rename_leaf(w, dst, g, i);
            continue;
        }
        for (uint32_t k = 0; k < n->n_inputs; k++)
            in[k] = map[noe_graph_inputs(g, i)[k].node];
        noe_status status =
            noe_graph_add(dst, n->op, n->params, in, (int)n->n_inputs, &map[i], &err);
        NOE_ASSERT(status == NOE_OK);
    }
    for (uint32_t k = 0; k < g->n_outputs; k++)
        noe_graph_add_output(dst, map[g->outputs[k].ref.node], "");
    noe_graph_print(b, dst);
    free(map);
    free(live);
    noe_graph_free(dst);
    noe_pool_free(pool);
}

static char *pair_text(const noe_referee *r, const noe_graph *a, const noe_graph *b)
{
    noe_buf text = {0};
    names w = {0};
    noe_buf_printf(&text, "pair; %s\n", r->backend->description);
    print_renamed(&text, &w, a);
    noe_buf_puts(&text, "=>\n");
    print_renamed(&text, &w, b);
    free(w.hashes);
    return text.text;
}

/* ---- what is kept ---- */

static noe_status get_row(noe_referee *r, const char *text, const char *what,
                          bool *found, noe_cost_row *row, noe_error *err)
{
    noe_buf key = {0};
    noe_buf_printf(&key, "%s\n%s", text, what);
    noe_status status = noe_ruledb_get_cost(r->db, key.text, found, row, err);
    noe_buf_clear(&key);
    return status;
}

noe_status noe_referee_recall(noe_referee *r, const char *text, bool *found,
                              noe_pair_measure *m, noe_error *err)
{
    noe_cost_row row = {0};
    *found = false;
    if (!r->db)
        return NOE_OK;
    NOE_TRY(get_row(r, text, "ratio", found, &row, err));
    if (!*found)
        return NOE_OK;
    *m = (noe_pair_measure){.ratio = row.seconds,
                            .ratio_lo = row.second_best,
                            .n_rounds = row.n_batches,
                            .clock = strcmp(row.clock, "wall") ? "thread-cpu" : "wall"};
    NOE_TRY(get_row(r, text, "ratio high", found, &row, err));
    m->ratio_hi = row.seconds;
    if (*found)
        NOE_TRY(get_row(r, text, "seconds", found, &row, err));
    m->seconds_a = row.seconds;
    m->seconds_b = row.second_best;
    r->n_found += *found;
    return NOE_OK;
}

static noe_status put_row(noe_referee *r, const char *text, const char *what, double x,
                          double y, const noe_pair_measure *m, noe_error *err)
{
    noe_buf key = {0};
    noe_buf_printf(&key, "%s\n%s", text, what);
    noe_cost_row row = {key.text, x, y, m->n_rounds, m->clock};
    noe_status status = noe_ruledb_put_cost(r->db, &row, err);
    noe_buf_clear(&key);
    return status;
}

/* "ratio" last: where it is, the others are. */
noe_status noe_referee_keep(noe_referee *r, const char *text, const noe_pair_measure *m,
                            noe_error *err)
{
    if (!r->db)
        return NOE_OK;
    NOE_TRY(put_row(r, text, "seconds", m->seconds_a, m->seconds_b, m, err));
    NOE_TRY(put_row(r, text, "ratio high", m->ratio_hi, m->ratio_hi, m, err));
    return put_row(r, text, "ratio", m->ratio, m->ratio_lo, m, err);
}

char *noe_referee_trial_text(const noe_referee *r, uint64_t original, uint64_t result)
{
    noe_buf text = {0};
    noe_buf_printf(&text, "trial; %s; %016llx => %016llx", r->backend->description,
                   (unsigned long long)original, (unsigned long long)result);
    return text.text;
}

/* ---- timing ---- */

static noe_status time_graphs(noe_referee *r, const noe_graph *a, const noe_graph *b,
                              int max_rounds, noe_pair_measure *m, noe_error *err)
{
    noe_executor_options options = {.free_layout = true,
                                    .n_threads = r->env->n_threads};
    noe_executor *x = NULL, *y = NULL;
    const noe_backend_vtable *vt = r->backend->vt;
    noe_status status = vt->prepare(r->backend, a, &options, &x, err);
    if (status == NOE_OK)
        status = vt->prepare(r->backend, b, &options, &y, err);
    if (status == NOE_OK)
        status = noe_time_pair(x, y, max_rounds, m, err);
    if (x)
        vt->release(x);
    if (y)
        vt->release(y);
    return status;
}

noe_status noe_referee_compare(noe_referee *r, const noe_graph *a, const noe_graph *b,
                               double seconds, bool *known, noe_pair_measure *m,
                               noe_error *err)
{
    noe_error fault;
    int rounds = seconds < SLOW_SECONDS ? MAX_ROUNDS : SLOW_ROUNDS;
    *known = false;
    if (!r->backend)
        return NOE_OK;
    char *text = pair_text(r, a, b);
    noe_status status = noe_referee_recall(r, text, known, m, err);
    if (status == NOE_OK && !*known && !r->frozen) {
        r->n_timed++;
        status = time_graphs(r, a, b, rounds, m, &fault);
        *known = status == NOE_OK;
        if (*known) {
            status = noe_referee_keep(r, text, m, err);
        } else if (status == NOE_ERR_CANCELLED) {
            if (err)
                *err = fault;
        } else {
            r->n_failed++;
            noe_log(r->env, NOE_LOG_WARN, "two forms cannot be compared: %s",
                    fault.text);
            status = NOE_OK;
        }
    }
    free(text);
    return status;
}
