/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/verifier/fixture.h"
#include "tests/verifier/mutants.h"
#include "verifier/lia_index.h"
#include "core/base/file.h"
#include <stdio.h>
#include "verifier/lia_model.h"
#include "verifier/lia_cache.h"
#include <stdlib.h>
#include <unistd.h>

static noe_error err;

static bool proves(const char *text, bool stored)
{
    noe_lia_config config = NOE_LIA_DEFAULTS;
    noe_lia *l = noe_lia_new(&config);
    noe_lia_proof proof;
    noe_lia_prove(l, fixture_rule(text), stored, &proof, NULL);
    bool proved = proof.proved;
    noe_lia_proof_clear(&proof);
    noe_lia_free(l);
    return proved;
}

#define CONV "conv[strides=$s, pads=$p, dilations=$d, group=$g]"

/* True for all sizes, and proved so; one or more for each way of proving. */
static const char *const proved[] = {
    /* broadcasting */
    "add(add(?a, ?b), ?c) => add(?a, add(?b, ?c))",
    "mul(?a, add(?b, ?c)) => add(mul(?a, ?b), mul(?a, ?c))",
    /* exchange of sums, vectors and batches included */
    "matmul(matmul(?a, ?b), ?c) => matmul(?a, matmul(?b, ?c)) where rank(?a) == 2 && "
    "rank(?b) == 2",
    "reduce_sum[axes=[0]](reduce_sum[axes=[1]](?a)) => "
    "reduce_sum[axes=[1]](reduce_sum[axes=[0]](?a))",
    /* splitting */
    "matmul(?a, concat[axis=-1](?b, ?c)) => concat[axis=-1](matmul(?a, ?b), "
    "matmul(?a, ?c)) where 2 <= rank(?b)",
    "matmul(concat[axis=-1](?a, ?b), concat[axis=-2](?c, ?d)) => add(matmul(?a, ?c), "
    "matmul(?b, ?d))",
    "relu(concat[axis=$k](?a, ?b)) => concat[axis=$k](relu(?a), relu(?b))",
    "conv[strides=$s, pads=$p, dilations=$d](?x, concat[axis=0](?w, ?v)) => "
    "concat[axis=1](conv[strides=$s, pads=$p, dilations=$d](?x, ?w), "
    "conv[strides=$s, pads=$p, dilations=$d](?x, ?v))",
    /* guards */
    "pad[pads=$p](pad[pads=$q](?a)) => pad[pads=$p + $q](?a) where rank(?a) == 2",
    "matmul(?a, identity_matrix[shape=$s]()) => ?a",
    "conv[pads=$p, group=$g](?x, identity_kernel[shape=$k]()) => ?x where len($k) == 3 "
    "&& $p == [(at($k, 2) - 1) / 2, at($k, 2) / 2]",
    /* groups, strides, dilations as symbols */
    CONV "(neg(?x), ?w) => neg(" CONV "(?x, ?w))",
    "average_pool[kernel_shape=$k, strides=$s](?x) => conv[strides=$s, group=dim(?x, "
    "1)](?x, average_kernel[shape=[dim(?x, 1), 1] ++ $k]())",
    /* counting */
    "reduce_mean[axes=[1]](concat[axis=1](?a, ?a)) => reduce_mean[axes=[1]](?a)",
    "reduce_mean[axes=$x, keepdims=$k](ones[shape=$s]()) => ones[shape=$t]()",
    /* permutations, axes, lists */
    "transpose[perm=$p](transpose[perm=$q](?a)) => transpose[perm=at($q, $p)](?a) "
    "where "
    "rank(?a) <= 3",
    "reshape[shape=$s](reshape[shape=$t](?a)) => reshape[shape=$s](?a)",
    /* laws of functions */
    "softmax[axis=$k](add(?a, ?s)) => softmax[axis=$k](?a) where rank(?a) == rank(?s) "
    "&& dim(?s, $k) == 1",
    "reduce_sum[axes=[$k]](softmax[axis=$k](?a)) => ones[shape=$t]()",
    "div(relu(?a), exp(?b)) => relu(mul(?a, exp(neg(?b))))",
    "add(?a, mul(?a, exp(?b))) => div(?a, sigmoid(neg(?b)))",
    "max_pool[kernel_shape=$k, strides=$s, pads=$p, dilations=$d](relu(?x)) => "
    "relu(max_pool[kernel_shape=$k, strides=$s, pads=$p, dilations=$d](?x))",
    "div(reciprocal(?a), sub(?b, reciprocal(?a))) => div(reciprocal(?b), sub(?a, "
    "reciprocal(?b)))",
    /* signs: of products, of functions that keep them */
    "abs(mul(?a, ?b)) => mul(abs(?a), abs(?b))",
    "abs(reciprocal(?a)) => reciprocal(abs(?a))",
    "mul(relu(?a), relu(erf(?a))) => mul(?a, relu(erf(?a)))",
    "tanh(relu(?a)) => relu(tanh(?a))",
    /* quotients and remainders of what is summed over */
    "reduce_mean[axes=[2, 3]](resize[scales=$s](?a)) => reduce_mean[axes=[2, 3]](?a) "
    "where rank(?a) == 4",
    "resize[scales=$s](resize[scales=$t](?a)) => resize[scales=$s * $t](?a)",
    "reduce_max[axes=[1]](reshape[shape=[dim(?a, 0), dim(?a, 1) * dim(?a, 2)]](?a)) => "
    "reduce_max[axes=[1]](reduce_max[axes=[2], keepdims=0](?a)) where rank(?a) == 3",
    "reduce_sum[axes=[1], keepdims=0](reduce_mean[axes=[2]](softmax[axis=1](?a))) => "
    "ones[shape=[dim(?a, -3), 1]]()",
    "max_pool[kernel_shape=$k, strides=$s, pads=$p, dilations=$d](concat[axis=1](?x, "
    "?y)) => concat[axis=1](max_pool[kernel_shape=$k, strides=$s, pads=$p, "
    "dilations=$d](?x), max_pool[kernel_shape=$k, strides=$s, pads=$p, "
    "dilations=$d](?y))",
    /* interpolation, in every mode */
    "conv(resize[mode=$m, scales=$s](?a), ?b) => resize[mode=$m, scales=$s](conv(?a, "
    "?b)) where dim(?b, 2) == 1 && dim(?b, 3) == 1 && rank(?b) == 4",
    "resize[mode=1, scales=[2, 1]](resize[mode=1, scales=[1, 3]](?a)) => "
    "resize[mode=1, scales=[2, 3]](?a)",
    "resize[mode=3, scales=$s](?a) => expand[shape=[dim(?a, 0), dim(?a, 1), at($s, 0)]]"
    "(?a) where rank(?a) == 3 && dim(?a, 2) == 1",
    /* conditions */
    "where(?a, where(?b, ?c, ?d), ?d) => where(?b, where(?a, ?c, ?d), ?d)",
    "exp(where(?c, ?a, ?b)) => where(?c, exp(?a), exp(?b))",
    "reduce_max[axes=[0]](where(?c, ?a, ?b)) => where(?c, reduce_max[axes=[0]](?a), "
    "reduce_max[axes=[0]](?b)) where rank(?c) == 0 && shape(?a) == shape(?b)",
    /* transposed convolution */
    "mul(conv_transpose[strides=$a, pads=$b, dilations=$c](?a, ?b), ?c) => "
    "conv_transpose[strides=$a, pads=$b, dilations=$c](?a, mul(?b, ?c)) where "
    "shape(?c) == [dim(?c, 0)] ++ rep(1, rank(?a) - 2)",
    "average_pool[kernel_shape=[3, 3], strides=[1, 1], pads=[1, 1, 1, 1], "
    "count_include_pad=1](?a) => conv_transpose[strides=[1, 1], pads=[1, 1, 1, 1], "
    "group=4](?a, average_kernel[shape=[4, 1, 3, 3]]())",
    /* lists of any length */
    "gather[axis=$k, indices=$i](concat[axis=$k](?a, ?b)) => gather[axis=$k, "
    "indices=$i](?a)",
    "gather[axis=$k, indices=$i](gather[axis=$k, indices=$j](?a)) => gather[axis=$k, "
    "indices=at($j, $i)](?a)",
    "concat[axis=$k](gather[axis=$k, indices=$i](?a), gather[axis=$k, indices=$j](?a)) "
    "=> gather[axis=$k, indices=$i ++ $j](?a)",
    /* signs by cases, maxima of maxima */
    "max(max(?a, ?b), ?c) => max(?a, max(?b, ?c))",
    "min(?a, max(?a, ?b)) => ?a",
    "relu(leaky_relu[alpha=0.25](?a)) => relu(?a)",
    "reduce_max[axes=[0]](concat[axis=0](?a, ?b)) => reduce_max[axes=[0]](max(?a, ?b)) "
    "where shape(?a) == shape(?b)",
    "min(reduce_max[axes=[-2]](?a), ?a) => ?a",
    "leaky_relu[alpha=0.25](reduce_max[axes=[0]](?a)) => "
    "reduce_max[axes=[0]](leaky_relu[alpha=0.25](?a))",
    /* a second look: a few numbers, quotients that are 0 */
    "sub(reduce_sum[axes=[0]](?a), ?a) => gather[axis=0, indices=[1, 0]](?a) where "
    "rank(?a) == 2",
    "conv[dilations=$d](conv[dilations=$d, group=$g](?x, ?w), "
    "identity_kernel[shape=$k]()"
    ") => conv[dilations=$d, group=$g](?x, pad[pads=[0, 0, 1, 1, 0, 0, 1, 1]](?w)) "
    "where "
    "rank(?x) == 4 && dim(?w, -3) == 1",
};

START_TEST(test_lia_proves)
{
    ck_assert_msg(proves(proved[_i], true), "not proved: %s", proved[_i]);
}
END_TEST

/* False for some size; none may be proved. */
static const char *const wrong[] = {
    /* TASO's rules about grouped convolutions: true with as many groups only */
    CONV "(?x, concat[axis=0](?w, ?v)) => concat[axis=1](" CONV "(?x, ?w), " CONV
         "(?x, ?v))",
    "conv[strides=$s, pads=$p, dilations=$d, group=2](concat[axis=1](?x, ?y), "
    "concat[axis=0](?w, ?v)) => concat[axis=1](conv[strides=$s, pads=$p, "
    "dilations=$d](?x, ?w), conv[strides=$s, pads=$p, dilations=$d](?y, ?v))",
    /* padded and not */
    "conv[pads=[1, 0]](?x, ?w) => conv[pads=[0, 1]](?x, ?w)",
    "conv[pads=[1, 1]](?x, pad[pads=[0, 0, 1, 1]](?w)) => conv(?x, ?w)",
    "average_pool[kernel_shape=$k, pads=$p](?x) => average_pool[kernel_shape=$k, "
    "pads=$p, count_include_pad=1](?x)",
    /* an even kernel has no centre */
    "conv[pads=$p](?x, identity_kernel[shape=$k]()) => ?x where len($k) == 3",
    /* a larger kernel under a stride */
    "conv[strides=$s, pads=$p](?x, ?w) => conv[strides=$s, pads=$p + [at($q, 5), "
    "at($q, "
    "2)]](?x, pad[pads=$q](?w)) where rank(?x) == 3 && at($q, 0) == 0 && at($q, 1) == "
    "0 "
    "&& at($q, 3) == 0 && at($q, 4) == 0",
    "conv[strides=$s](?x, ?w) => conv[strides=$t](?x, ?w)",
    /* vectors against batches */
    "matmul(matmul(?a, ?b), ?c) => matmul(?a, matmul(?b, ?c)) where 2 <= rank(?b)",
    "matmul(add(?a, ?b), ?c) => add(matmul(?a, ?c), matmul(?b, ?c))",
    "matmul(?a, ?b) => matmul(?b, ?a)",
    /* order of parts */
    "concat[axis=$k](?a, ?b) => concat[axis=$k](?b, ?a)",
    "concat[axis=$j](concat[axis=$k](?a, ?b), concat[axis=$k](?c, ?d)) => "
    "concat[axis=$k](concat[axis=$j](?a, ?c), concat[axis=$j](?b, ?d)) where $j != $k "
    "&& "
    "dim(?a, $k) == dim(?c, $k)",
    "transpose[perm=$p](transpose[perm=$q](?a)) => transpose[perm=at($p, $q)](?a)",
    "slice[axis=$k, start=$s, end=$e](slice[axis=$k, start=$i, end=$j](?a)) => "
    "slice[axis=$k, start=$s, end=$e](?a)",
    /* functions */
    "relu(add(?a, ?b)) => add(relu(?a), relu(?b))",
    "reduce_sum[axes=[1]](relu(?a)) => relu(reduce_sum[axes=[1]](?a))",
    "exp(add(?a, ?b)) => add(exp(?a), exp(?b))",
    "sqrt(mul(?a, ?a)) => ?a",
    "relu(sub(?a, ?b)) => relu(sub(?b, ?a))",
    "softmax[axis=$k](add(?a, ?s)) => softmax[axis=$k](?a)",
    "softmax[axis=$j](concat[axis=$k](?a, ?b)) => "
    "concat[axis=$k](softmax[axis=$j](?a), "
    "softmax[axis=$j](?b))",
    "reduce_mean[axes=[1]](concat[axis=1](?a, ?b)) => add(reduce_mean[axes=[1]](?a), "
    "reduce_mean[axes=[1]](?b))",
    "exp(pad[pads=$p](?a)) => pad[pads=$p](exp(?a))",
    /* conditions */
    "where(?a, ?b, where(?c, ?d, ?e)) => where(?c, ?d, where(?a, ?b, ?e))",
    "where(add(?a, ?b), ?c, ?d) => where(?a, ?c, where(?b, ?c, ?d))",
    /* transposed convolution */
    "conv_transpose[strides=$a](?x, ?w) => conv[strides=$a](?x, ?w)",
    "conv_transpose[group=$g](?x, concat[axis=1](?w, ?v)) => concat[axis=1]("
    "conv_transpose[group=$g](?x, ?w), conv_transpose[group=$g](?x, ?v))",
    /* lists of any length */
    "gather[axis=$k, indices=$i](gather[axis=$k, indices=$j](?a)) => gather[axis=$k, "
    "indices=at($i, $j)](?a)",
    "transpose[perm=$p](gather[axis=$k, indices=$i](?a)) => gather[axis=at($p, $k), "
    "indices=$i](transpose[perm=$p](?a))",
    "gather[axis=$k, indices=$i](concat[axis=$k](?a, ?b)) => gather[axis=$k, "
    "indices=$i](?b)",
    /* signs and maxima */
    "max(min(?a, ?b), ?c) => min(max(?a, ?b), ?c)",
    "reduce_max[axes=[0], keepdims=$a](concat[axis=0](?a, zeros[shape=$b]())) => "
    "relu(reduce_max[axes=[0], keepdims=$a](?a))",
    "reduce_max[axes=[0]](leaky_relu[alpha=-0.5](?a)) => "
    "leaky_relu[alpha=-0.5](reduce_max[axes=[0]](?a))",
    "max(reduce_max[axes=[0]](?a), ?b) => reduce_max[axes=[0]](max(?a, ?b))",
};

START_TEST(test_lia_proves_nothing_false)
{
    ck_assert_msg(!proves(wrong[_i], false), "proved: %s", wrong[_i]);
}
END_TEST

START_TEST(test_lia_every_operator_has_a_row)
{
    for (int op = 0; op < NOE_OP_COUNT; op++)
        ck_assert_msg(noe_index_of((noe_op)op)->is_listed ||
                          noe_op_has((noe_op)op, NOE_TRAIT_COMPOSITE),
                      "%s: no row in verifier/lia_index.c, which has INDEX and "
                      "UNINTERPRETED",
                      noe_op_get((noe_op)op)->name);
}
END_TEST

/* What has no index definition is unknown, and says so. */
START_TEST(test_lia_uninterpreted_is_unknown)
{
    noe_lia_config config = NOE_LIA_DEFAULTS;
    noe_lia *l = noe_lia_new(&config);
    noe_lia_proof proof;
    noe_lia_prove(l, fixture_rule("gemm(?a, ?b) => gemm(?a, ?b)"), true, &proof, NULL);
    ck_assert(!proof.proved);
    ck_assert_str_eq(noe_buf_text(&proof.reason),
                     "an operator without an index definition");
    noe_lia_proof_clear(&proof);
    noe_lia_free(l);
}
END_TEST

/* Both stages judge alike whatever was judged before, and by a resource limit. */
START_TEST(test_lia_is_deterministic)
{
    noe_lia_config config = NOE_LIA_DEFAULTS;
    const int n = sizeof proved / sizeof *proved;
    char answer[2][64] = {{0}};
    for (int pass = 0; pass < 2; pass++) {
        noe_lia *l = noe_lia_new(&config);
        for (int i = 0; i < n; i++) {
            int k = pass ? n - 1 - i : i;
            noe_lia_proof proof;
            if (k % 4)
                continue;
            noe_lia_prove(l, fixture_rule(proved[k]), true, &proof, NULL);
            answer[pass][k] = (char)('0' + proof.proved);
            noe_lia_proof_clear(&proof);
        }
        noe_lia_free(l);
    }
    ck_assert_mem_eq(answer[0], answer[1], sizeof answer[0]);
}
END_TEST

/* Questions to Z3 are recorded, and then each is asked; otherwise most come up again
 * and are answered from the table. */
START_TEST(test_lia_answers_kept_are_those_of_z3)
{
    noe_lia_config config = NOE_LIA_DEFAULTS;
    noe_lia *l = noe_lia_new(&config);
    for (int k = 1; k < (int)(sizeof proved / sizeof *proved); k += 6) {
        noe_lia_proof kept, asked;
        noe_buf script = {0};
        noe_lia_prove(l, fixture_rule(proved[k]), true, &kept, NULL);
        noe_lia_prove(l, fixture_rule(proved[k]), true, &asked, &script);
        ck_assert(kept.proved && asked.proved);
        ck_assert_int_eq(kept.questions, asked.questions);
        ck_assert_int_eq(kept.n_schemes, asked.n_schemes);
        noe_buf_clear(&script);
        noe_lia_proof_clear(&kept);
        noe_lia_proof_clear(&asked);
    }
    noe_lia_free(l);
}
END_TEST

/* x >= y + by and y >= x, as a question about new symbols. */
static noe_hash128 key_of(noe_terms *t, noe_cache *c, bool x_is_natural, int by,
                          bool swap)
{
    noe_poly x = noe_poly_symbol(t, noe_terms_symbol(t, x_is_natural));
    noe_poly y = noe_poly_symbol(t, noe_terms_symbol(t, false));
    noe_formula f[2];
    f[swap] = noe_formula_ge(t, x, noe_poly_plus(t, y, by));
    f[!swap] = noe_formula_ge(t, y, x);
    noe_question q = {.n = 2, .f = f};
    return noe_cache_key(c, &q);
}

static bool same_key(noe_hash128 a, noe_hash128 b)
{
    return a.lo == b.lo && a.hi == b.hi;
}

START_TEST(test_lia_keys_of_questions)
{
    noe_terms *t = noe_terms_new();
    noe_cache *c = noe_cache_new(t);
    noe_hash128 key = key_of(t, c, true, 1, false);
    noe_answer answer;
    ck_assert(same_key(key, key_of(t, c, true, 1, false)));
    ck_assert(same_key(key, key_of(t, c, true, 1, true)));
    ck_assert(!same_key(key, key_of(t, c, true, 0, false)));
    ck_assert(!same_key(key, key_of(t, c, false, 1, false)));
    ck_assert(!noe_cache_find(c, key, &answer));
    noe_cache_add(c, key, NOE_ANSWER_REFUTED);
    ck_assert(noe_cache_find(c, key, &answer) && answer == NOE_ANSWER_REFUTED);
    noe_cache_free(c);
    noe_terms_free(t);
}
END_TEST

/* x >= 1 and z >= y belong to parts of their own; y >= x joins them. */
START_TEST(test_lia_parts_of_questions)
{
    noe_terms *t = noe_terms_new();
    noe_cache *c = noe_cache_new(t);
    noe_poly p[3];
    for (int i = 0; i < 3; i++)
        p[i] = noe_poly_symbol(t, noe_terms_symbol(t, false));
    noe_formula alone = noe_formula_ge(t, p[0], noe_poly_int(t, 1));
    noe_formula other = noe_formula_ge(t, p[2], p[1]);
    noe_formula joins = noe_formula_ge(t, p[1], p[0]);
    noe_formula f[3] = {other, alone, joins};
    ck_assert_int_eq(noe_cache_gather(c, 2, f, 1, 0, NULL), 1);
    ck_assert(f[0] == alone && f[1] == other);
    ck_assert_int_eq(noe_cache_gather(c, 3, f, 0, 0, NULL), 3);
    ck_assert_int_eq(noe_cache_gather(c, 2, f, -1, 1, &joins), 2);
    noe_cache_free(c);
    noe_terms_free(t);
}
END_TEST

#define N_MUTANTS 200

/* Edits of true rules: none that FIELD refutes is proved for all sizes. */
START_TEST(test_lia_no_refuted_mutant_is_proved)
{
    noe_lia_config config = NOE_LIA_DEFAULTS;
    config.max_rank = 3; /* enough for FIELD to differ, and quick */
    config.max_schemes = 300;
    noe_lia *l = noe_lia_new(&config);
    noe_rule *mutant = noe_malloc(sizeof *mutant);
    noe_rng rng = noe_rng_split(1, "lia", 0);
    fixture_rules base;
    int n_refuted = 0, n_proved = 0;
    fixture_load("true_rules.txt", &base);
    for (int i = 0, k = 0; i < N_MUTANTS && k < 40 * N_MUTANTS; k++) {
        noe_field_config few = {(uint64_t)k, 16, 200, false};
        noe_field_report report;
        noe_lia_proof proof;
        if (!mutate(base.rule[k % base.n], (mutation)(k / base.n % MUTATIONS), &rng,
                    mutant))
            continue;
        i++;
        noe_field_check(mutant, &few, &report);
        noe_lia_prove(l, mutant, false, &proof, NULL);
        bool refuted = report.difference.found && !report.is_doubtful;
        if (refuted && proof.proved) {
            noe_buf text = {0};
            noe_rule_print(&text, mutant);
            ck_abort_msg("proved: %s, but %s", noe_buf_text(&text),
                         noe_buf_text(&report.counterexample));
        }
        n_refuted += refuted;
        n_proved += proof.proved;
        noe_lia_proof_clear(&proof);
        noe_field_report_clear(&report);
    }
    ck_assert_int_gt(n_refuted, N_MUTANTS / 4);
    ck_assert_int_gt(n_proved, 0);
    fixture_unload(&base);
    free(mutant);
    noe_lia_free(l);
}
END_TEST

/* A wrong axiom is caught even where FIELD's instances miss it: matmul_associates was
 * one. */
START_TEST(test_lia_wrong_axiom_is_not_proved)
{
    static const char text[] =
        "right: neg(neg(?a)) => ?a\n"
        "w1: matmul(matmul(?a, ?b), ?c) => matmul(?a, matmul(?b, ?c)) "
        "where 2 <= rank(?b)\n"
        "w2: mul(?a, add(?b, ?c)) => add(mul(?a, ?b), ?c)\n";
    noe_verifier_config config = NOE_VERIFIER_DEFAULTS;
    noe_verifier *v;
    int counts[NOE_AXIOM_OPEN + 1];
    noe_assert_ok(noe_verifier_new(&config, text, &v, &err), err);
    noe_verifier_check_axioms(v, NULL, NULL, counts);
    ck_assert_int_eq(counts[NOE_AXIOM_PROVED], 1);
    ck_assert_int_eq(counts[NOE_AXIOM_WRONG] + counts[NOE_AXIOM_OPEN], 2);
    ck_assert_int_ge(counts[NOE_AXIOM_WRONG], 1);
    noe_verifier_free(v);
}
END_TEST

START_TEST(test_lia_laws_hold)
{
    noe_verifier *v = fixture_verifier(0);
    ck_assert_int_eq(noe_verifier_check_laws(v, NULL, NULL), 0);
    noe_verifier_free(v);
}
END_TEST

/* Models are found where there are some, and are none where there are none. */
START_TEST(test_lia_models)
{
    noe_terms *t = noe_terms_new();
    noe_model *m = noe_model_new(t);
    noe_poly one = noe_poly_int(t, 1);
    noe_poly d = noe_poly_symbol(t, noe_terms_symbol(t, true));
    noe_poly e = noe_poly_symbol(t, noe_terms_symbol(t, true));
    noe_poly i = noe_poly_symbol(t, noe_terms_symbol(t, false));
    noe_formula positive = noe_formula_ge(t, d, one);
    noe_formula within = noe_formula_ge(t, d, noe_poly_plus(t, i, 1));
    noe_formula natural = noe_formula_ge(t, i, noe_poly_int(t, 0));
    noe_formula product = noe_formula_eq(t, noe_poly_mul(t, d, e), noe_poly_int(t, 6));
    noe_formula odd = noe_formula_eq(t, noe_poly_mod(t, d, noe_poly_int(t, 2)), one);
    noe_formula empty = noe_formula_ge(t, noe_poly_int(t, 0), d);
    const struct {
        noe_formula f[4];
        int n;
        bool exists;
    } cases[] = {
        {{positive, within, natural}, 3, true},    {{product, odd}, 2, true},
        {{empty, within, natural}, 3, false},      {{positive, empty}, 2, false},
        {{noe_formula_not(t, positive)}, 1, true}, {{product, empty}, 2, false},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const noe_formula *list = cases[k].f;
        ck_assert_int_eq(noe_model_exists(m, 1, &list, &cases[k].n, 0, NULL, NULL),
                         cases[k].exists);
    }
    /* A sum over guards: 1 where i < d, -1 everywhere: not 0 where i >= d. */
    const noe_formula guard[2] = {within, NOE_FORMULA_TRUE_ID}, *none = guard;
    const int64_t coef[2] = {1, -1};
    const int zero = 0, n_within = 1;
    ck_assert(noe_model_exists(m, 1, &none, &zero, 2, coef, guard));
    ck_assert(!noe_model_exists(m, 1, &none, &n_within, 2, coef, guard));
    noe_model_free(m);
    noe_terms_free(t);
}
END_TEST

/* The answers that cvc5 prints, one a line, against those recorded as :status. */
static void compare_answers(const char *script, const char *answers)
{
    int n = 0;
    for (const char *s = strstr(script, ":status "); s; s = strstr(s, ":status ")) {
        s += strlen(":status ");
        size_t len = strcspn(answers, "\n");
        ck_assert_msg(strncmp(s, answers, len) == 0 && s[len] == ')',
                      "question %d: Z3 says %.5s, cvc5 %.*s", n, s, (int)len, answers);
        answers += len + 1;
        n++;
    }
    ck_assert_int_gt(n, 1);
}

/* An independent solver gives the same answers to the same questions. */
START_TEST(test_lia_cvc5_agrees)
{
    static const char *const rules[] = {
        "matmul(concat[axis=-1](?a, ?b), concat[axis=-2](?c, ?d)) => add(matmul(?a, "
        "?c), matmul(?b, ?d)) where rank(?a) == 2 && rank(?c) == 2",
        "conv[strides=$s, pads=$p](concat[axis=0](?x, ?y), ?w) => "
        "concat[axis=0](conv[strides=$s, pads=$p](?x, ?w), conv[strides=$s, "
        "pads=$p](?y, ?w)) where rank(?x) == 3",
        "slice[axis=$k, start=$b, end=$c](concat[axis=$k](?a, ?b)) => slice[axis=$k, "
        "start=$b - dim(?a, $k), end=$c - dim(?a, $k)](?b) where dim(?a, $k) <= $b && "
        "rank(?a) == 3",
    };
    if (access("/usr/bin/cvc5", X_OK) != 0) {
        printf("skipped: no cvc5\n");
        return;
    }
    noe_lia_config config = NOE_LIA_DEFAULTS;
    noe_lia *l = noe_lia_new(&config);
    noe_lia_proof proof;
    noe_buf script = {0};
    char *answers = NULL;
    size_t len;
    noe_lia_prove(l, fixture_rule(rules[_i]), true, &proof, &script);
    ck_assert(proof.proved);
    noe_assert_ok(noe_file_write("lia.smt2", noe_buf_text(&script), script.len, &err),
                  err);
    ck_assert_int_eq(system("cvc5 --incremental lia.smt2 >lia.answers"), 0);
    noe_assert_ok(noe_file_read("lia.answers", 1 << 20, &answers, &len, &err), err);
    compare_answers(noe_buf_text(&script), answers);
    free(answers);
    noe_buf_clear(&script);
    noe_lia_proof_clear(&proof);
    noe_lia_free(l);
}
END_TEST

Suite *suite_lia(void)
{
    Suite *s = suite_create("verifier.lia");
    TCase *t = tcase_create("lia");
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, test_lia_proves, 0, sizeof proved / sizeof *proved);
    tcase_add_loop_test(t, test_lia_proves_nothing_false, 0,
                        sizeof wrong / sizeof *wrong);
    tcase_add_test(t, test_lia_every_operator_has_a_row);
    tcase_add_test(t, test_lia_uninterpreted_is_unknown);
    tcase_add_test(t, test_lia_is_deterministic);
    tcase_add_test(t, test_lia_answers_kept_are_those_of_z3);
    tcase_add_test(t, test_lia_keys_of_questions);
    tcase_add_test(t, test_lia_parts_of_questions);
    tcase_add_test(t, test_lia_no_refuted_mutant_is_proved);
    tcase_add_test(t, test_lia_wrong_axiom_is_not_proved);
    tcase_add_test(t, test_lia_laws_hold);
    tcase_add_test(t, test_lia_models);
    tcase_add_loop_test(t, test_lia_cvc5_agrees, 0, 3);
    suite_add_tcase(s, t);
    return s;
}
