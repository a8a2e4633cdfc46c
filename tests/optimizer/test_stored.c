/* SPDX-License-Identifier: Apache-2.0
 *
 * Every rule of the database, in every direction that the optimizer uses: on typed
 * instances of its left side it applies, and the graph then computes the same; so it
 * does on the same graph in f64 if it only moves data; a rule with arithmetic does not,
 * and no rule does where a weight variable is no weight.
 */
#include "core/base/rng.h"
#include "tests/optimizer/fixture.h"
#include "core/instance.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define INSTANCES 3
#define ATTEMPTS  200

/* Normal inputs only; sums of a few dozen products. */
#define TOLERANCE 1e-3

typedef enum leaf_kind {
    LEAVES_AS_TYPED,
    LEAVES_F64,
    LEAVES_NO_WEIGHTS,
} leaf_kind;

static noe_ref add_variable(noe_graph *g, const noe_variable *var, const noe_type *type,
                            leaf_kind kind)
{
    noe_type t = *type;
    int64_t n = noe_shape_elements(&t.shape);
    bool is_weight = var->is_weight && kind != LEAVES_NO_WEIGHTS;
    char *data = NULL;
    if (kind == LEAVES_F64)
        t.dtype = NOE_F64;
    size_t width = noe_dtype_bytes(t.dtype);
    if (is_weight) {
        noe_rng rng = noe_rng_split(1, var->name, 0);
        data = noe_arena_alloc(noe_pool_arena(g->pool), (size_t)n * width + 1);
        for (int64_t i = 0; i < n; i++) {
            double value = noe_rng_normal(&rng);
            noe_dtype_store(t.dtype, &value, 1, data + (size_t)i * width);
        }
    }
    uint32_t leaf = noe_pool_add_leaf(g->pool, var->name, &t, data,
                                      data ? (size_t)n * width : 0, NULL);
    return noe_graph_leaf(g, is_weight ? NOE_OP_WEIGHT : NOE_OP_INPUT, leaf);
}

/* The left side of an instance as a graph; NULL where an operator is not defined for
 * the element type, or where an f32 constant is part of an f64 graph. */
static noe_graph *left_side(noe_pool *pool, const noe_usable_rule *u,
                            const noe_instance *inst, leaf_kind kind,
                            noe_ref *first_root)
{
    noe_graph *g = noe_graph_new(pool);
    noe_ref at[NOE_RULE_MAX_NODES];
    const noe_rule *r = u->rule;
    for (uint16_t i = 0; i < r->n_nodes; i++) {
        const noe_pattern_node *n = &r->nodes[i];
        noe_ref in[NOE_RULE_MAX_INPUTS];
        at[i] = NOE_REF_NONE;
        if (n->is_var) {
            if (inst->binding.bound[n->var])
                at[i] = add_variable(g, &r->vars[n->var], &inst->type[i], kind);
            continue;
        }
        if (!(u->lhs_ops >> i & 1))
            continue;
        for (int k = 0; k < n->n_inputs; k++)
            in[k] = at[n->inputs[k]];
        if (noe_graph_add(g, n->op, &inst->params[i], in, n->n_inputs, &at[i], NULL) !=
            NOE_OK) {
            noe_graph_free(g);
            return NULL;
        }
    }
    for (int i = 0; i < r->n_roots; i++)
        noe_graph_add_output(g, at[r->lhs[i]], "");
    *first_root = at[r->lhs[0]];
    return g;
}

/* Whether the type rules cut a slice's bound down to the operand, or turn a negative
 * index: a graph has the parameter in that form only, which the pattern does not match.
 */
static bool is_normalized(const noe_usable_rule *u, const noe_instance *inst)
{
    const noe_rule *r = u->rule;
    for (int i = 0; i < r->n_nodes; i++) {
        const noe_pattern_node *n = &r->nodes[i];
        if (n->is_var || !(u->lhs_ops >> i & 1))
            continue;
        for (int k = 0; k < noe_op_get(n->op)->n_params; k++) {
            uint16_t term = n->params[k];
            if (term == NOE_TERM_ABSENT || r->terms[term].kind != NOE_TERM_PVAR)
                continue;
            const noe_value *v = &inst->binding.pvalue[r->terms[term].var];
            if (!noe_value_eq(v, &inst->params[i].v[k]))
                return true;
        }
    }
    return false;
}

static bool take_first(void *ctx, const noe_match *match)
{
    *(noe_match *)ctx = *match;
    return false;
}

static void apply_and_compare(noe_pool *pool, const noe_usable_rule *u,
                              const noe_instance *inst, leaf_kind kind,
                              const char *where)
{
    noe_ref root;
    noe_error err;
    noe_match *match = noe_malloc(sizeof *match);
    noe_graph *g = left_side(pool, u, inst, kind, &root), *out;
    ck_assert_ptr_nonnull(g);
    /* A root that is a weight, or equal to a variable, is nothing to apply a rule to.
     */
    if (g->nodes[root.node].op == u->rule->nodes[u->rule->lhs[0]].op &&
        !is_normalized(u, inst)) {
        int n = noe_rule_match(u->rule, g, root.node, take_first, match);
        ck_assert_msg(n > 0, "%s: does not match", where);
        noe_assert_ok(noe_rule_apply(u->rule, g, match, &out, &err), err);
        noe_graph_check(out);
        noe_env env = fixture_env();
        noe_backend *backend;
        noe_cut cut;
        noe_check_report report;
        noe_check_options options = {1, TOLERANCE, 1e-5};
        noe_assert_ok(noe_backend_open("reference", &env, &backend, &err), err);
        noe_assert_ok(noe_cut_pair(g, out, &cut, &err), err);
        noe_status status = noe_check_run(backend, &cut, 1, &options, &report, &err);
        ck_assert_msg(status == NOE_OK, "%s: %s", where, err.text);
        noe_cut_clear(&cut);
        backend->vt->close(backend);
        noe_graph_free(out);
    }
    noe_graph_free(g);
    free(match);
}

static void refuse(noe_pool *pool, const noe_usable_rule *u, const noe_instance *inst,
                   leaf_kind kind, const char *where)
{
    noe_ref root;
    noe_match *match = noe_malloc(sizeof *match);
    noe_graph *g = left_side(pool, u, inst, kind, &root);
    if (g && noe_rule_match(u->rule, g, root.node, take_first, match) > 0) {
        noe_graph *out = NULL;
        noe_status s = noe_rule_apply(u->rule, g, match, &out, NULL);
        ck_assert_msg(kind != LEAVES_NO_WEIGHTS && s != NOE_OK,
                      "%s: applies all the same", where);
    }
    noe_graph_free(g);
    free(match);
}

static bool has_op(const noe_usable_rule *u, noe_op op)
{
    bool has = false;
    for (int i = 0; i < u->rule->n_nodes; i++)
        has = has || (!u->rule->nodes[i].is_var && u->rule->nodes[i].op == op);
    return has;
}

static bool only_moves(const noe_usable_rule *u)
{
    bool moves = true;
    for (int i = 0; i < u->rule->n_nodes; i++) {
        const noe_pattern_node *n = &u->rule->nodes[i];
        moves = moves && (n->is_var || noe_op_computes(n->op, NOE_F64));
    }
    return moves;
}

/* A left side of constants only is f32 whatever happens. */
static bool has_variable(const noe_usable_rule *u)
{
    bool has = false;
    for (int i = 0; i < u->rule->n_nodes; i++) {
        const noe_pattern_node *n = &u->rule->nodes[i];
        for (int k = 0; (u->lhs_ops >> i & 1) && k < n->n_inputs; k++)
            has = has || u->rule->nodes[n->inputs[k]].is_var;
    }
    return has;
}

/* Conditions and casts have types of their own. */
static void try_in_f64(noe_pool *pool, const noe_usable_rule *u,
                       const noe_instance *inst, const char *where)
{
    if (has_op(u, NOE_OP_CAST) || has_op(u, NOE_OP_WHERE))
        return;
    if (only_moves(u))
        apply_and_compare(pool, u, inst, LEAVES_F64, where);
    else if (has_variable(u))
        refuse(pool, u, inst, LEAVES_F64, where);
}

static bool needs_a_weight(const noe_usable_rule *u)
{
    bool needs = false;
    for (int i = 0; i < u->rule->n_vars; i++)
        needs = needs || u->rule->vars[i].is_weight;
    return needs;
}

/* The number of instances that were tried. */
static int try_rule(const noe_usable_rule *u)
{
    int n = 0, attempts;
    noe_instance *inst = noe_malloc(sizeof *inst);
    for (int i = 0; i < INSTANCES; i++) {
        noe_buf where = {0};
        noe_pool *pool = noe_pool_new();
        if (noe_instance_find(u->rule, 1, i, ATTEMPTS, inst, &attempts)) {
            noe_buf_printf(&where, "%s at ", u->text);
            noe_instance_print(&where, u->rule, inst);
            apply_and_compare(pool, u, inst, LEAVES_AS_TYPED, where.text);
            try_in_f64(pool, u, inst, where.text);
            if (needs_a_weight(u))
                refuse(pool, u, inst, LEAVES_NO_WEIGHTS, where.text);
            n++;
        }
        noe_buf_clear(&where);
        noe_pool_free(pool);
    }
    free(inst);
    return n;
}

START_TEST(test_stored_rules_apply_and_compute_the_same)
{
    const char *path = getenv("NOETHER_RULES");
    noe_rule_set rules = {0};
    noe_error err;
    int n_without = 0;
    if (!path)
        noe_skip("no rule database (NOETHER_RULES)");
    const noe_rule_filter filter = {.classes =
                                        NOE_CLASSES_SAFE | 1U << NOE_CLASS_FINITE};
    noe_assert_ok(noe_rule_set_load(&rules, path, &filter, &err), err);
    for (int i = 0; i < rules.n; i++)
        n_without += try_rule(rules.rules[i]) == 0;
    /* The verifier found dozens of instances of each; the reverse direction has the
     * same ones. */
    ck_assert_msg(n_without * 20 <= rules.n, "%d of %d directions have no instance",
                  n_without, rules.n);
    noe_rule_set_clear(&rules);
}
END_TEST

/* The same machinery on a list of laws, so that it is tested without a database. */
START_TEST(test_stored_machinery_on_laws)
{
    static const char *const laws[] = {
        "mul(?a, add(?b, ?c)) => add(mul(?a, ?b), mul(?a, ?c))",
        "matmul(?a, matmul(?b, ?c)) => matmul(matmul(?a, ?b), ?c) "
        "where rank(?a) == 2 && rank(?b) == 2 && rank(?c) == 2",
        "concat[axis=$k](relu(?a), relu(?b)) => relu(concat[axis=$k](?a, ?b))",
        "add(?x, neg(?w:weight)) => sub(?x, ?w)", NULL};
    noe_rule_set rules;
    fixture_rules(&rules, laws);
    for (int i = 0; i < rules.n; i++)
        ck_assert_msg(try_rule(rules.rules[i]) > 0, "%s: no instance",
                      rules.rules[i]->text);
    noe_rule_set_clear(&rules);
}
END_TEST

Suite *suite_stored(void);
Suite *suite_stored(void)
{
    Suite *s = suite_create("optimizer.stored");
    TCase *tc = tcase_create("stored");
    tcase_set_timeout(tc, 240);
    tcase_add_test(tc, test_stored_machinery_on_laws);
    tcase_add_test(tc, test_stored_rules_apply_and_compute_the_same);
    suite_add_tcase(s, tc);
    return s;
}
