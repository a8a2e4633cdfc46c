/* SPDX-License-Identifier: Apache-2.0
 * Conditions that the verifier finds for refuted rules. */
#include "core/field_check.h"
#include "tests/verifier/brute.h"
#include "tests/verifier/fixture.h"
#include "verifier/condition.h"
#include "verifier/vocabulary.h"
#include <stdio.h>
#include <stdlib.h>
#include <z3.h>

/* Every predicate means what its text does. */

static const char *const speaking[] = {
    "conv[strides=$s, pads=$p, group=$g](?x, ?w) => ?y",
    "concat[axis=$k](?a, slice[axis=$j, start=$s, end=$e](?b)) => ?a",
    "add(?a, mul(?b, scalar[value=$v]())) => transpose[perm=$p](?a)",
    "reduce_sum[axes=$x](softmax[axis=$k](?a)) => ?a",
};

START_TEST(test_predicates_mean_their_text)
{
    const noe_rule *rule = fixture_rule(speaking[_i]);
    noe_vocabulary *voc = noe_vocabulary_new(rule);
    noe_instance *inst = noe_malloc(sizeof *inst);
    noe_quantities *q = noe_malloc(sizeof *q);
    noe_rule *narrow = noe_malloc(sizeof *narrow), *parsed = noe_malloc(sizeof *parsed);
    int n_predicates, n_instances = 0, n_true = 0, n_false = 0;
    (void)noe_vocabulary_predicates(voc, &n_predicates);
    ck_assert_int_gt(n_predicates, 100);
    for (int i = 0; i < 12; i++) {
        noe_rng rng = noe_rng_split(7, "predicates", (uint64_t)i);
        noe_instance_style style = {-1, i % NOE_INSTANCE_N_DIMS, 2000, true};
        bool found = false;
        for (int t = 0; t < 200 && !found; t++)
            found = noe_instance_try(rule, &rng, &style, inst);
        if (!found)
            continue;
        n_instances++;
        noe_vocabulary_measure(voc, &inst->binding, q);
        for (int a = 0; a < n_predicates; a++) {
            ck_assert(noe_vocabulary_narrow(voc, &a, 1, -1, false, narrow));
            bool holds = noe_vocabulary_holds(voc, a, q);
            ck_assert(holds == noe_rule_holds(narrow, &inst->binding));
            n_true += holds;
            n_false += !holds;
        }
    }
    ck_assert_int_gt(n_instances, 3);
    ck_assert_int_gt(n_true, 100);
    ck_assert_int_gt(n_false, 100);
    free(parsed);
    free(narrow);
    free(q);
    free(inst);
    noe_vocabulary_free(voc);
}
END_TEST

/* Dropping a conjunct of a true conditional rule must get it back, or something weaker:
 * what is found is implied by what was there. */

typedef enum recovery {
    RECOVERED,    /* equivalent or weaker, as far as instances tell */
    INCOMPARABLE, /* another condition */
    NOTHING,
    NOT_FALSE, /* FIELD does not refute it: the conjunct is not needed */
} recovery;

static bool drop_conjunct(const noe_rule *rule, int which, noe_rule *out)
{
    uint16_t term = rule->where;
    *out = *rule;
    if (term == NOE_TERM_ABSENT)
        return false;
    /* conjuncts associate to the left: ((a && b) && c) */
    uint16_t kept[8];
    int n = 0, at = 0;
    while (rule->terms[term].kind == NOE_TERM_AND && n < 7) {
        kept[n++] = rule->terms[term].kids[1];
        term = rule->terms[term].kids[0];
    }
    kept[n++] = term;
    if (which >= n)
        return false;
    out->where = NOE_TERM_ABSENT;
    for (int i = n; i-- > 0;) {
        if (at++ == which)
            continue;
        if (out->where == NOE_TERM_ABSENT) {
            out->where = kept[i];
        } else if (out->n_terms < NOE_RULE_MAX_TERMS) {
            out->terms[out->n_terms] = (noe_term){
                .kind = NOE_TERM_AND, .n_kids = 2, .kids = {out->where, kept[i]}};
            out->where = out->n_terms++;
        }
    }
    return true;
}

static bool is_implied(const noe_rule *rule, const noe_rule *found)
{
    noe_instance *inst = noe_malloc(sizeof *inst);
    bool ok = true;
    int n = 0;
    for (int i = 0; i < 60 && ok; i++) {
        int attempts = 0;
        if (!noe_instance_find(rule, 99, i, 100, inst, &attempts) ||
            !noe_instance_store(rule, inst))
            continue;
        n++;
        ok = noe_rule_holds(found, &inst->binding);
    }
    free(inst);
    return ok && n > 0;
}

static recovery recover(noe_verifier *v, const noe_rule *rule, int which,
                        noe_buf *condition)
{
    noe_rule *less = noe_malloc(sizeof *less);
    recovery r = NOTHING;
    noe_check check;
    ck_assert(drop_conjunct(rule, which, less));
    noe_verifier_check(v, less, &check);
    if (check.kind != NOE_VERDICT_REFUTED) {
        r = NOT_FALSE;
    } else {
        noe_precondition found;
        noe_verifier_narrow(v, less, &check, &found);
        if (found.found)
            r = is_implied(rule, found.rule) ? RECOVERED : INCOMPARABLE;
        noe_buf_puts(condition,
                     noe_buf_text(found.found ? &found.condition : &found.how));
        noe_precondition_clear(&found);
    }
    noe_check_clear(&check);
    free(less);
    return r;
}

/* By name and conjunct, from the left. */
static const struct {
    const char *axiom;
    int conjunct;
} recovered[] = {
#define RECOVERED(NAME, K) {NAME, K},
#include "tests/verifier/recovered.def"
#undef RECOVERED
};

START_TEST(test_dropped_conjunct_is_found_again)
{
    noe_verifier *v = fixture_verifier(4000);
    const noe_axioms *axioms = noe_verifier_axioms(v);
    const noe_rule *rule = NULL;
    noe_buf condition = {0};
    for (int i = 0; i < axioms->n; i++) {
        if (strcmp(axioms->axiom[i].name, recovered[_i].axiom) == 0)
            rule = &axioms->axiom[i].rule;
    }
    ck_assert_ptr_nonnull(rule);
    recovery r = recover(v, rule, recovered[_i].conjunct, &condition);
    ck_assert_msg(r == RECOVERED, "%s without conjunct %d: %s", recovered[_i].axiom,
                  recovered[_i].conjunct, noe_buf_text(&condition));
    noe_buf_clear(&condition);
    noe_verifier_free(v);
}
END_TEST

/* Rules whose condition is known. */

static const struct {
    const char *rule, *condition;
} known[] = {
    /* a convolution of concatenated kernels: for one group (TASO's rules 98 and 125) */
    {"conv[strides=$s, pads=$p, group=$g](?x, concat[axis=0](?w, ?v)) => "
     "concat[axis=1](conv[strides=$s, pads=$p, group=$g](?x, ?w), "
     "conv[strides=$s, pads=$p, group=$g](?x, ?v))",
     "$c == 1"},
    {"relu(conv[group=$g](?x, concat[axis=0](?w, ?v))) => "
     "concat[axis=1](relu(conv[group=$g](?x, ?w)), relu(conv[group=$g](?x, ?v)))",
     "$a == 1"},
    /* a grouped convolution: equal groups (TASO's rule 99) */
    {"concat[axis=1](conv(?x, ?w), conv(?y, ?v)) => "
     "conv[group=2](concat[axis=1](?x, ?y), concat[axis=0](?w, ?v))",
     "shape(?b) == shape(?d)"},
    /* no padding */
    {"exp(pad[pads=$p](?a)) => pad[pads=$p](exp(?a))", "$a == rep(0, len($a))"},
    {"average_pool[kernel_shape=$k, pads=$p](?x) => conv[pads=$p, group=dim(?x, "
     "1)](?x, "
     "average_kernel[shape=[dim(?x, 1), 1] ++ $k]())",
     "$b == rep(0, len($b))"},
    /* bounds, and an axis that is not the one of the law */
    {"slice[axis=$k, start=$s, end=$e](concat[axis=$k](?a, ?b)) => "
     "slice[axis=$k, start=$s - dim(?a, $k), end=$e - dim(?a, $k)](?b) where $s <= $e",
     "dim(?a, $a) <= $b"},
    {"matmul(?a, add(?b, ?c)) => add(matmul(?a, ?b), matmul(?a, ?c))",
     "dim(?b, -2) == dim(?c, -2)"},
    {"softmax[axis=-1](add(?a, ?s)) => softmax[axis=-1](?a) where rank(?s) == rank(?a)",
     "dim(?b, -1) == 1"},
};

START_TEST(test_known_conditions_are_found)
{
    noe_verifier *v = fixture_verifier(4000);
    noe_rule *rule = noe_malloc(sizeof *rule);
    *rule = *fixture_rule(known[_i].rule);
    noe_check check;
    noe_precondition found, again;
    noe_verifier_check(v, rule, &check);
    ck_assert_int_eq(check.kind, NOE_VERDICT_REFUTED);
    noe_verifier_narrow(v, rule, &check, &found);
    ck_assert_msg(found.found, "%s", noe_buf_text(&found.how));
    ck_assert_str_eq(noe_buf_text(&found.condition), known[_i].condition);
    ck_assert_int_eq(fixture_judge(v, found.rule), NOE_VERDICT_PROVED);
    /* the same whatever was judged before */
    noe_verifier_narrow(v, rule, &check, &again);
    ck_assert_str_eq(noe_buf_text(&found.condition), noe_buf_text(&again.condition));
    ck_assert_str_eq(noe_buf_text(&found.how), noe_buf_text(&again.how));
    noe_precondition_clear(&again);
    noe_precondition_clear(&found);
    noe_check_clear(&check);
    free(rule);
    noe_verifier_free(v);
}
END_TEST

/* Rules that no condition saves, or one shape alone. */
static const char *const hopeless[] = {
    "add(?a, ?b) => sub(?a, ?b)",
    "relu(mul(?a, ?b)) => mul(relu(?a), relu(?b))",
    "transpose[perm=[1, 0]](?a) => ?a",
    "max(?a, ?b) => add(?a, ?b)",
    "leaky_relu[alpha=0.25](?a) => leaky_relu[alpha=0.5](?a)",
};

START_TEST(test_no_condition_is_made_up)
{
    noe_verifier *v = fixture_verifier(4000);
    noe_rule *rule = noe_malloc(sizeof *rule);
    *rule = *fixture_rule(hopeless[_i]);
    noe_check check;
    noe_precondition found;
    noe_verifier_check(v, rule, &check);
    ck_assert_int_eq(check.kind, NOE_VERDICT_REFUTED);
    noe_verifier_narrow(v, rule, &check, &found);
    ck_assert_msg(!found.found, "%s", noe_buf_text(&found.condition));
    ck_assert_int_gt((int)found.how.len, 0);
    noe_precondition_clear(&found);
    noe_check_clear(&check);
    free(rule);
    noe_verifier_free(v);
}
END_TEST

/* A prover that accepts all does not get a false rule past the fresh instances. */
static bool accept(void *ctx, const noe_rule *rule)
{
    (void)rule;
    ++*(int *)ctx;
    return true;
}

START_TEST(test_narrowed_rules_are_true_by_brute_force)
{
    fixture_rules wrong;
    int n_found = 0, n_told = 0, asked = 0;
    fixture_load("wrong_rules.txt", &wrong);
    for (int i = _i; i < wrong.n; i += 6) {
        noe_precondition_config config = NOE_PRECONDITION_DEFAULTS;
        noe_precondition found;
        config.seed = 11;
        noe_precondition_find(wrong.rule[i], NULL, &config, accept, &asked, &found);
        if (found.found && brute_knows(found.rule)) {
            brute_report r;
            brute_check(found.rule, 1, 1500, 12, &r);
            ck_assert_msg(r.answer != BRUTE_FALSE, "%s where %s: %s", wrong.name[i],
                          noe_buf_text(&found.condition), noe_buf_text(&r.where));
            n_told += r.answer == BRUTE_TRUE;
            noe_buf_clear(&r.where);
        }
        n_found += found.found;
        noe_precondition_clear(&found);
    }
    ck_assert_int_gt(n_found, 1);
    ck_assert_int_gt(n_told, 0);
    fixture_unload(&wrong);
}
END_TEST

/* SMT-LIB2 says what the text form says: with the values of an instance for the
 * symbols, it is satisfiable where the condition holds, and only there. */

static void give_list(noe_buf *b, const char *length, const char *entry, int n,
                      const int64_t *list)
{
    noe_buf_printf(b, "(assert (= %s %d))\n", length, n);
    for (int i = 0; i < n; i++)
        noe_buf_printf(b, "(assert (= (%s %d) (- %lld)))\n", entry, i,
                       -(long long)list[i]);
}

static void give_values(noe_buf *b, const noe_rule *rule, const noe_binding *binding,
                        const char *declared)
{
    char length[40], entry[40], name[40];
    for (int v = 0; v < rule->n_vars; v++) {
        const noe_shape *s = &binding->type[v].shape;
        snprintf(length, sizeof length, "?%s.rank", rule->vars[v].name);
        snprintf(entry, sizeof entry, "?%s.dim", rule->vars[v].name);
        if (strstr(declared, length))
            give_list(b, length, entry, s->rank, s->dim);
    }
    for (int p = 0; p < rule->n_pvars; p++) {
        const noe_value *v = &binding->pvalue[p];
        snprintf(length, sizeof length, "$%s.len ", rule->pvars[p].name);
        snprintf(entry, sizeof entry, "$%s.at", rule->pvars[p].name);
        snprintf(name, sizeof name, "$%s ", rule->pvars[p].name);
        if (strstr(declared, length))
            give_list(b, length, entry, v->n, v->list);
        else if (strstr(declared, name) && v->kind == NOE_KIND_FLOAT)
            noe_buf_printf(b, "(assert (= %s (- %.17f)))\n", name, -v->f);
        else if (strstr(declared, name))
            noe_buf_printf(b, "(assert (= %s (- %lld)))\n", name, -(long long)v->i);
    }
}

static bool is_satisfiable(Z3_context z3, const char *text)
{
    Z3_solver solver = Z3_mk_simple_solver(z3);
    Z3_solver_inc_ref(z3, solver);
    Z3_solver_from_string(z3, solver, text);
    ck_assert_msg(Z3_get_error_code(z3) == Z3_OK, "%s: %s",
                  Z3_get_error_msg(z3, Z3_get_error_code(z3)), text);
    Z3_lbool answer = Z3_solver_check(z3, solver);
    ck_assert_msg(answer != Z3_L_UNDEF, "not decided: %s", text);
    Z3_solver_dec_ref(z3, solver);
    return answer == Z3_L_TRUE;
}

/* Instances of the rule without its condition, so that both answers come up. */
static void compare_smt2(Z3_context z3, const noe_rule *rule, int counts[2])
{
    noe_buf text = {0}, smt2 = {0};
    noe_instance *inst = noe_malloc(sizeof *inst);
    noe_rule *named = noe_malloc(sizeof *named), *free_rule = noe_malloc(sizeof *named);
    noe_rule_print(&text, rule);
    ck_assert_int_eq(noe_rule_parse(noe_buf_text(&text), text.len, named, NULL),
                     NOE_OK);
    noe_condition_print_smt2(&smt2, named);
    *free_rule = *named;
    free_rule->where = NOE_TERM_ABSENT;
    for (int i = 0; i < 6; i++) {
        int attempts = 0;
        size_t len = smt2.len;
        const noe_rule *from = i % 2 ? named : free_rule;
        if (!noe_instance_find(from, 3, i, 60, inst, &attempts))
            continue;
        bool holds = noe_rule_holds(named, &inst->binding);
        char *declared = noe_strdup(noe_buf_text(&smt2));
        give_values(&smt2, named, &inst->binding, declared);
        ck_assert_msg(is_satisfiable(z3, noe_buf_text(&smt2)) == holds,
                      "%s: the condition is %s: %s", noe_buf_text(&text),
                      holds ? "true" : "false", noe_buf_text(&smt2));
        counts[holds]++;
        free(declared);
        smt2.len = len;
        smt2.text[len] = '\0';
    }
    free(free_rule);
    free(named);
    free(inst);
    noe_buf_clear(&smt2);
    noe_buf_clear(&text);
}

START_TEST(test_smt2_says_the_same)
{
    noe_verifier *v = fixture_verifier(0);
    const noe_axioms *axioms = noe_verifier_axioms(v);
    int counts[2] = {0};
    Z3_config config = Z3_mk_config();
    Z3_context z3 = Z3_mk_context(config);
    Z3_set_error_handler(z3, NULL);
    for (int i = _i; i < axioms->n; i += 16) {
        if (axioms->axiom[i].rule.where != NOE_TERM_ABSENT)
            compare_smt2(z3, &axioms->axiom[i].rule, counts);
    }
    ck_assert_int_gt(counts[0], 4);
    ck_assert_int_gt(counts[1], 4);
    Z3_del_context(z3);
    Z3_del_config(config);
    noe_verifier_free(v);
}
END_TEST

#define LENGTH(LIST) (int)(sizeof LIST / sizeof *LIST)

Suite *suite_precondition(void)
{
    Suite *s = suite_create("verifier.precondition");
    TCase *t = tcase_create("precondition");
    tcase_set_timeout(t, 600);
    tcase_add_loop_test(t, test_predicates_mean_their_text, 0, LENGTH(speaking));
    tcase_add_loop_test(t, test_dropped_conjunct_is_found_again, 0, LENGTH(recovered));
    tcase_add_loop_test(t, test_known_conditions_are_found, 0, LENGTH(known));
    tcase_add_loop_test(t, test_no_condition_is_made_up, 0, LENGTH(hopeless));
    tcase_add_loop_test(t, test_narrowed_rules_are_true_by_brute_force, 0, 3);
    tcase_add_loop_test(t, test_smt2_says_the_same, 0, 4);
    suite_add_tcase(s, t);
    return s;
}
