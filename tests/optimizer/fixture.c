/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/optimizer/fixture.h"
#include "core/base/rng.h"
#include <stdio.h>
#include <stdlib.h>

static uint32_t weight_with_values(noe_pool *pool, const noe_leaf *leaf)
{
    int64_t n = noe_shape_elements(&leaf->type.shape);
    size_t bytes = (size_t)n * noe_dtype_bytes(leaf->type.dtype);
    double *values = noe_malloc((size_t)n * sizeof *values + 1);
    void *data = noe_arena_alloc(noe_pool_arena(pool), bytes + 1);
    noe_rng rng = noe_rng_split(1, leaf->name, 0);
    char *name = noe_strdup(leaf->name);
    noe_type type = leaf->type; /* the leaf may move when the pool grows */
    for (int64_t i = 0; i < n; i++)
        values[i] = 2 * noe_rng_unit(&rng) - 1;
    noe_dtype_store(type.dtype, values, n, data);
    uint32_t made = noe_pool_add_leaf(pool, name, &type, data, bytes, NULL);
    free(values);
    free(name);
    return made;
}

/* Graphs of one pool share leaves of equal name and type, as those of one model do. */
static uint32_t shared_leaf(noe_pool *pool, uint32_t leaf, bool is_weight)
{
    const noe_leaf *want = noe_pool_leaf(pool, leaf);
    for (uint32_t i = 0; i < noe_pool_n_leaves(pool); i++) {
        const noe_leaf *l = noe_pool_leaf(pool, i);
        if (strcmp(l->name, want->name) == 0 && noe_type_eq(&l->type, &want->type) &&
            (!is_weight || l->data))
            return i;
    }
    return is_weight ? weight_with_values(pool, want) : leaf;
}

noe_graph *fixture_graph(noe_pool *pool, const char *text)
{
    noe_graph *parsed, *g = noe_graph_new(pool);
    noe_error err;
    noe_assert_ok(noe_graph_parse(pool, text, &parsed, &err), err);
    noe_ref *map = noe_malloc((parsed->n_nodes + 1) * sizeof *map), out;
    for (uint32_t i = 0; i < parsed->n_nodes; i++) {
        const noe_node *n = noe_graph_node(parsed, i);
        map[i] = NOE_REF_NONE;
        if (n->op == NOE_OP_WEIGHT || n->op == NOE_OP_INPUT)
            map[i] = noe_graph_leaf(g, n->op,
                                    shared_leaf(pool, n->leaf, n->op == NOE_OP_WEIGHT));
    }
    for (uint32_t i = 0; i < parsed->n_outputs; i++) {
        noe_assert_ok(
            noe_graph_transfer(g, parsed, parsed->outputs[i].ref, map, &out, &err),
            err);
        noe_graph_add_output(g, out, parsed->outputs[i].name);
    }
    free(map);
    noe_graph_free(parsed);
    noe_graph_check(g);
    return g;
}

char *fixture_print(const noe_graph *g)
{
    noe_buf b = {0};
    noe_graph_print(&b, g);
    return b.text;
}

void fixture_rules(noe_rule_set *set, const char *const *texts)
{
    *set = (noe_rule_set){0};
    for (int i = 0; texts[i]; i++) {
        char id[NOE_HASH_HEX_LEN + 1];
        noe_error err;
        snprintf(id, sizeof id, "%032d", i);
        noe_assert_ok(noe_rule_set_add(set, id, texts[i], NOE_CLASS_FLOAT,
                                       NOE_DIRECTIONS_UNKNOWN, &err),
                      err);
    }
    noe_rule_set_freeze(set);
}

static double price_of(const fake_costs *f, noe_op op)
{
    for (const fake_price *p = f->prices; p && p->price >= 0; p++) {
        if (p->op == op)
            return p->price;
    }
    return f->other;
}

static double fake_seconds(const fake_costs *f, noe_kernels *k, uint32_t i)
{
    double sum = 0;
    for (uint32_t m = k->first[i]; m < k->first[i + 1]; m++) {
        const noe_node *n = noe_graph_node(k->g, k->members[m]);
        double elements = (double)noe_shape_elements(&n->types[0].shape);
        sum += price_of(f, n->op) * (f->per_element ? elements : 1);
    }
    return sum * 1e-3;
}

static noe_status fake_measure(noe_cost_model *m, noe_kernels *k, uint32_t i,
                               double *seconds, noe_error *err)
{
    fake_costs *f = (fake_costs *)m;
    (void)err;
    f->n_measured++;
    *seconds = fake_seconds(f, k, i);
    if (k->g->nodes[k->members[k->first[i]]].op == f->slowed)
        *seconds *= 10;
    return NOE_OK;
}

static noe_status fake_confirm(noe_cost_model *m, noe_kernels *k, uint32_t i,
                               double *seconds, noe_error *err)
{
    fake_costs *f = (fake_costs *)m;
    (void)err;
    f->n_confirmed++;
    *seconds = fake_seconds(f, k, i);
    return NOE_OK;
}

static double fake_estimate(const noe_cost_model *m, noe_kernels *k, uint32_t i)
{
    return fake_seconds((const fake_costs *)m, k, i);
}

void fake_costs_init(fake_costs *f, const fake_price *prices, double other)
{
    *f = (fake_costs){.model = {.measure = fake_measure, .confirm = fake_confirm},
                      .prices = prices,
                      .other = other,
                      .slowed = NOE_OP_COUNT};
}

void fake_costs_estimate(fake_costs *f)
{
    f->model.estimate = fake_estimate;
}

noe_env fixture_env(void)
{
    return (noe_env){.seed = 1, .n_threads = 1};
}

char *fixture_difference(const noe_graph *a, const noe_graph *b, double rtol)
{
    noe_env env = fixture_env();
    noe_backend *backend;
    noe_cut cut;
    noe_error err;
    noe_check_report report;
    noe_check_options options = {3, rtol, 1e-6};
    noe_assert_ok(noe_backend_open("reference", &env, &backend, &err), err);
    noe_status status = noe_cut_pair(a, b, &cut, &err);
    if (status == NOE_OK)
        status = noe_check_run(backend, &cut, 1, &options, &report, &err);
    noe_cut_clear(&cut);
    backend->vt->close(backend);
    return status == NOE_OK ? NULL : noe_strdup(err.text);
}
