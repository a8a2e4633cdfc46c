/* SPDX-License-Identifier: Apache-2.0
 *
 * The backends: every case of op_cases.def and some graphs that use what the oneDNN
 * backend does beyond single operators, against the reference; and what they refuse.
 */
#include "tests/runtime/compare.h"
#include "tests/support/cases.h"
#include "tests/support/gen_graph.h"
#include "tests/support/support.h"
#include "runtime/fuse.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static noe_backend *onednn, *reference;
static noe_pool *pool;

static void set_up(void)
{
    noe_error err;
    noe_assert_ok(noe_backend_open("onednn", NULL, &onednn, &err), err);
    noe_assert_ok(noe_backend_open("reference", NULL, &reference, &err), err);
    pool = noe_pool_new();
}

static void tear_down(void)
{
    onednn->vt->close(onednn);
    reference->vt->close(reference);
    noe_pool_free(pool);
}

static void check_graph(const noe_graph *g, const char *what)
{
    char text[500];
    if (noe_backends_agree(onednn, reference, g, 3, text, sizeof text))
        return;
    noe_buf b = {0};
    noe_graph_print(&b, g);
    ck_abort_msg("%s: %s\n%s", what, text, noe_buf_text(&b));
}

START_TEST(test_backend_op_case)
{
    const noe_op_case *c = &noe_op_cases[_i];
    noe_op_instance in;
    noe_op_case_instance(c, &in);
    for (int first_weight = 0; first_weight <= in.n_in; first_weight++) {
        noe_graph *g = noe_op_case_graph(pool, c, first_weight);
        check_graph(g, noe_op_case_text(c));
        noe_graph_free(g);
    }
}
END_TEST

/* Timing prepares with free layouts and cold weights: every case must go through. */
START_TEST(test_backend_op_case_can_be_timed)
{
    const noe_op_case *c = &noe_op_cases[_i];
    noe_executor_options options = {.free_layout = true, .cold_weights = _i % 8 == 0};
    noe_graph *g = noe_op_case_graph(pool, c, 1);
    noe_error err;
    noe_executor *e = NULL;
    noe_assert_ok(onednn->vt->prepare(onednn, g, &options, &e, &err), err);
    noe_assert_ok(onednn->vt->repeat(e, 3, &err), err);
    noe_assert_fails(onednn->vt->run(e, NULL, NULL, &err), NOE_ERR_ARG, err,
                     "can only be timed");
    onednn->vt->release(e);
    noe_graph_free(g);
}
END_TEST

static const bool has_row[NOE_OP_COUNT] = {
#define KERNEL(ID, EMITTER, FOLLOWERS) [NOE_OP_##ID] = true,
#include "runtime/kernels.def"
};

/* A kernel for everything of the table but what the test names. */
START_TEST(test_backend_supports)
{
    const noe_op_case *c = &noe_op_cases[_i];
    noe_op_instance in;
    noe_op_case_instance(c, &in);
    bool lacks = noe_shape_elements(&in.out.shape) == 0 || !has_row[c->op];
    for (int k = 0; k < in.n_in; k++) {
        const noe_shape *s = &in.in[k].shape;
        lacks |= noe_shape_elements(s) == 0; /* no elements */
        lacks |= c->op == NOE_OP_TRANSPOSE && s->rank < 2;
    }
    noe_graph *g = noe_op_case_graph(pool, c, 1);
    bool supports = onednn->vt->supports(onednn, g, g->outputs[0].ref.node);
    if (in.n_in > 0)
        ck_assert_msg(supports == !lacks, "%s: supports is %d", noe_op_case_text(c),
                      supports);
    ck_assert(reference->vt->supports(reference, g, g->outputs[0].ref.node));
    noe_graph_free(g);
}
END_TEST

/* Operators with all their parameters, as the graph reader wants them. */
#define CONV      "conv[strides=[1,1], pads=[0,0,0,0], dilations=[1,1], group=1]"
#define CONV_SAME "conv[strides=[1,1], pads=[1,1,1,1], dilations=[1,1], group=1]"
#define POOL(K, S)                                           \
    "max_pool[kernel_shape=[" K "," K "], strides=[" S "," S \
    "], pads=[0,0,0,0], dilations=[1,1]]"
#define GEMM(A, B, T) "gemm[alpha=" A ", beta=" B ", transA=0, transB=" T "]"

static const struct {
    const char *what, *text;
} graphs[] = {
    {"a residual block of ResNet, in core operators",
     "%0 = input \"x\" : f32[2,64,7,7]\n"
     "%1 = weight \"w1\" : f32[16,64,1,1]\n"
     "%2 = weight \"b1\" : f32[1,16,1,1]\n"
     "%3 = weight \"w2\" : f32[16,16,3,3]\n"
     "%4 = weight \"b2\" : f32[16,1,1]\n"
     "%5 = weight \"w3\" : f32[64,16,1,1]\n"
     "%6 = weight \"b3\" : f32[64,1,1]\n"
     "%7 = " CONV "(%0, %1) : f32[2,16,7,7]\n"
     "%8 = add(%7, %2) : f32[2,16,7,7]\n"
     "%9 = relu(%8) : f32[2,16,7,7]\n"
     "%10 = " CONV_SAME "(%9, %3) : f32[2,16,7,7]\n"
     "%11 = add(%10, %4) : f32[2,16,7,7]\n"
     "%12 = relu(%11) : f32[2,16,7,7]\n"
     "%13 = " CONV "(%12, %5) : f32[2,64,7,7]\n"
     "%14 = add(%13, %6) : f32[2,64,7,7]\n"
     "%15 = add(%14, %0) : f32[2,64,7,7]\n"
     "%16 = relu(%15) : f32[2,64,7,7]\n"
     "%17 = " POOL("2",
                   "2") "(%16) : f32[2,64,3,3]\n"
                        "%18 = reduce_mean[axes=[2,3], keepdims=0](%17) : f32[2,64]\n"
                        "return %18\n"},
    {"a residual that is used again is not overwritten",
     "%0 = input \"x\" : f32[1,32,6,6]\n"
     "%1 = weight \"w1\" : f32[32,32,1,1]\n"
     "%2 = weight \"w2\" : f32[32,32,3,3]\n"
     "%3 = " CONV "(%0, %1) : f32[1,32,6,6]\n"
     "%4 = " CONV_SAME "(%3, %2) : f32[1,32,6,6]\n"
     "%5 = add(%4, %3) : f32[1,32,6,6]\n"
     "%6 = tanh(%5) : f32[1,32,6,6]\n"
     "%7 = mul(%6, %3) : f32[1,32,6,6]\n"
     "return %7\n"},
    {"a residual that is overwritten, twice in a row",
     "%0 = input \"x\" : f32[1,32,6,6]\n"
     "%1 = weight \"w1\" : f32[32,32,1,1]\n"
     "%2 = weight \"w2\" : f32[32,32,3,3]\n"
     "%3 = " CONV "(%0, %1) : f32[1,32,6,6]\n"
     "%4 = " CONV_SAME "(%0, %2) : f32[1,32,6,6]\n"
     "%5 = add(%4, %3) : f32[1,32,6,6]\n"
     "%6 = " CONV "(%0, %2) : f32[1,32,4,4]\n"
     "%7 = " POOL("3", "1") "(%5) : f32[1,32,4,4]\n"
                            "%8 = add(%7, %6) : f32[1,32,4,4]\n"
                            "return %8, %7\n"},
    {"the input itself as residual of its own convolution",
     "%0 = input \"x\" : f32[1,16,5,5]\n"
     "%1 = weight \"w\" : f32[16,16,3,3]\n"
     "%2 = " CONV_SAME "(%0, %1) : f32[1,16,5,5]\n"
     "%3 = add(%2, %0) : f32[1,16,5,5]\n"
     "return %3\n"},
    {"outputs that share memory, inputs that are outputs, a weight as output",
     "%0 = input \"x\" : f32[2,6]\n"
     "%1 = weight \"w\" : f32[2,3]\n"
     "%2 = relu(%0) : f32[2,6]\n"
     "%3 = reshape[shape=[3,4]](%2) : f32[3,4]\n"
     "%4 = reshape[shape=[12]](%0) : f32[12]\n"
     "%5 = neg(%1) : f32[2,3]\n"
     "return %0, %2, %3, %4, %5, %2, %1\n"},
    {"attention with transposes and softmax",
     "%0 = input \"x\" : f32[1,6,32]\n"
     "%1 = weight \"wq\" : f32[32,32]\n"
     "%2 = weight \"wk\" : f32[32,32]\n"
     "%3 = weight \"wv\" : f32[32,32]\n"
     "%4 = matmul(%0, %1) : f32[1,6,32]\n"
     "%5 = matmul(%0, %2) : f32[1,6,32]\n"
     "%6 = matmul(%0, %3) : f32[1,6,32]\n"
     "%7 = reshape[shape=[1,6,4,8]](%4) : f32[1,6,4,8]\n"
     "%8 = reshape[shape=[1,6,4,8]](%5) : f32[1,6,4,8]\n"
     "%9 = reshape[shape=[1,6,4,8]](%6) : f32[1,6,4,8]\n"
     "%10 = transpose[perm=[0,2,1,3]](%7) : f32[1,4,6,8]\n"
     "%11 = transpose[perm=[0,2,3,1]](%8) : f32[1,4,8,6]\n"
     "%12 = transpose[perm=[0,2,1,3]](%9) : f32[1,4,6,8]\n"
     "%13 = matmul(%10, %11) : f32[1,4,6,6]\n"
     "%14 = weight \"scale\" : f32[]\n"
     "%15 = mul(%13, %14) : f32[1,4,6,6]\n"
     "%16 = softmax[axis=3](%15) : f32[1,4,6,6]\n"
     "%17 = matmul(%16, %12) : f32[1,4,6,8]\n"
     "%18 = transpose[perm=[0,2,1,3]](%17) : f32[1,6,4,8]\n"
     "%19 = reshape[shape=[1,6,32]](%18) : f32[1,6,32]\n"
     "%20 = add(%19, %0) : f32[1,6,32]\n"
     "return %20\n"},
    {"blocked layouts through slice, pad, concat and broadcasting",
     "%0 = input \"x\" : f32[1,8,6,6]\n"
     "%1 = weight \"w\" : f32[48,8,3,3]\n"
     "%2 = " CONV_SAME "(%0, %1) : f32[1,48,6,6]\n"
     "%3 = slice[axis=1, start=0, end=16, step=1](%2) : f32[1,16,6,6]\n"
     "%4 = slice[axis=1, start=5, end=37, step=1](%2) : f32[1,32,6,6]\n"
     "%5 = slice[axis=2, start=0, end=6, step=2](%2) : f32[1,48,3,6]\n"
     "%6 = concat[axis=1](%3, %4) : f32[1,48,6,6]\n"
     "%7 = pad[pads=[0,0,1,0,0,0,2,1]](%6) : f32[1,48,9,7]\n"
     "%8 = global_average_pool(%2) : f32[1,48,1,1]\n"
     "%9 = sigmoid(%8) : f32[1,48,1,1]\n"
     "%10 = mul(%7, %9) : f32[1,48,9,7]\n"
     "%11 = sub(%9, %10) : f32[1,48,9,7]\n"
     "%12 = transpose[perm=[3,1,0,2]](%11) : f32[7,48,1,9]\n"
     "return %12, %5\n"},
    {"weights computed from weights and constants",
     "%0 = input \"x\" : f32[3,4]\n"
     "%1 = weight \"w\" : f32[4,5]\n"
     "%2 = ones[shape=[4,5]]() : f32[4,5]\n"
     "%3 = add(%1, %2) : f32[4,5]\n"
     "%4 = transpose[perm=[1,0]](%3) : f32[5,4]\n"
     "%5 = " GEMM("0.5", "1.0", "1") "(%0, %4) : f32[3,5]\n"
                                     "%6 = identity_matrix[shape=[5,5]]() : f32[5,5]\n"
                                     "%7 = matmul(%5, %6) : f32[3,5]\n"
                                     "%8 = weight \"b\" : f32[5]\n"
                                     "%9 = add(%7, %8) : f32[3,5]\n"
                                     "return %9\n"},
    {"gemm with biases of all kinds",
     "%0 = input \"x\" : f32[3,4]\n"
     "%1 = weight \"w\" : f32[4,5]\n"
     "%2 = weight \"b\" : f32[3,1]\n"
     "%3 = weight \"s\" : f32[]\n"
     "%4 = input \"c\" : f32[5]\n"
     "%5 = " GEMM(
         "0.5", "2.0",
         "0") "(%0, %1, %2) : f32[3,5]\n"
              "%6 = " GEMM(
                  "0.5", "2.0",
                  "0") "(%0, %1, %3) : f32[3,5]\n"
                       "%7 = " GEMM(
                           "1.0", "2.0",
                           "0") "(%0, %1, %4) : f32[3,5]\n"
                                "%8 = " GEMM(
                                    "1.0", "1.0",
                                    "0") "(%0, %1, %4) : f32[3,5]\n"
                                         "%9 = " GEMM(
                                             "4.0", "1.0",
                                             "0") "(%0, %1) : f32[3,5]\n"
                                                  "%10 = weight \"d\" : f32[5]\n"
                                                  "%11 = add(%9, %10) : f32[3,5]\n"
                                                  "return %5, %6, %7, %8, %11\n"},
    {"operators with a weight of one value", "%0 = input \"x\" : f32[3,4]\n"
                                             "%1 = weight \"s\" : f32[]\n"
                                             "%2 = weight \"t\" : f32[1,1]\n"
                                             "%3 = sub(%1, %0) : f32[3,4]\n"
                                             "%4 = sub(%0, %2) : f32[3,4]\n"
                                             "%5 = div(%1, %0) : f32[3,4]\n"
                                             "%6 = div(%0, %1) : f32[3,4]\n"
                                             "%7 = mul(%0, %1) : f32[3,4]\n"
                                             "%8 = relu(%7) : f32[3,4]\n"
                                             "%9 = zeros[shape=[1]]() : f32[1]\n"
                                             "%10 = div(%0, %9) : f32[3,4]\n"
                                             "return %3, %4, %5, %6, %8, %10\n"},
    {"no operator at all", "%0 = input \"x\" : f32[3,4]\n"
                           "return %0\n"},
};

START_TEST(test_backend_graph)
{
    noe_graph *g = noe_text_graph_new(pool, graphs[_i].text);
    check_graph(g, graphs[_i].what);
    noe_graph_free(g);
}
END_TEST

/* A fused group computes what its members compute one by one: the same graph with every
 * value also an output cannot fuse. */
START_TEST(test_backend_fused_is_unfused)
{
    noe_error err;
    noe_graph *g = noe_text_graph_new(pool, graphs[0].text), *all = noe_graph_copy(g);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (g->nodes[i].op < NOE_OP_COUNT)
            noe_graph_add_output(all, (noe_ref){i, 0}, "also");
    }
    noe_arena arena = {0};
    const noe_graph *pair[2] = {g, all};
    float **outputs[2];
    uint64_t calls[2];
    for (int k = 0; k < 2; k++) {
        noe_executor *e = NULL;
        float **inputs = noe_gen_inputs(pair[k], &arena, 9);
        outputs[k] = noe_gen_outputs(pair[k], &arena);
        noe_assert_ok(onednn->vt->prepare(onednn, pair[k], NULL, &e, &err), err);
        noe_assert_ok(
            onednn->vt->run(e, (const float *const *)inputs, outputs[k], &err), err);
        calls[k] = e->n_calls;
        onednn->vt->release(e);
    }
    size_t worst;
    ck_assert(noe_close_f32(outputs[0][0], outputs[1][0], 2 * 64, NOE_BACKEND_TOLERANCE,
                            &worst));
    ck_assert_uint_lt(calls[0], calls[1]);
    noe_arena_clear(&arena);
    noe_graph_free(all);
    noe_graph_free(g);
}
END_TEST

/* Three convolutions with all that follows them, a pool, a mean: five calls, and those
 * that bring the input into blocks and the result out of them. */
START_TEST(test_backend_fuses_and_stays_blocked)
{
    noe_error err;
    noe_executor *e = NULL;
    noe_graph *g = noe_text_graph_new(pool, graphs[0].text);
    noe_executor_options options = {.free_layout = true};
    noe_assert_ok(onednn->vt->prepare(onednn, g, &options, &e, &err), err);
    ck_assert_msg(e->n_calls <= 6, "%llu calls", (unsigned long long)e->n_calls);
    onednn->vt->release(e);
    noe_graph_free(g);
}
END_TEST

/* Reshapes of inputs are no work. */
START_TEST(test_backend_views_are_free)
{
    noe_error err;
    noe_executor *e = NULL;
    noe_measure m;
    noe_executor_options options = {.free_layout = true};
    noe_graph *g = noe_text_graph_new(pool, "%0 = input \"x\" : f32[2,6]\n"
                                            "%1 = reshape[shape=[3,4]](%0) : f32[3,4]\n"
                                            "%2 = flatten[axis=0](%1) : f32[1,12]\n"
                                            "return %2\n");
    noe_assert_ok(onednn->vt->prepare(onednn, g, &options, &e, &err), err);
    ck_assert_uint_eq(e->n_calls, 0);
    noe_assert_ok(onednn->vt->time(e, &m, &err), err);
    ck_assert(m.seconds == 0);
    onednn->vt->release(e);
    noe_graph_free(g);
}
END_TEST

START_TEST(test_backend_threads_agree)
{
    noe_error err;
    noe_graph *g = noe_text_graph_new(pool, graphs[0].text);
    noe_arena arena = {0};
    float **inputs = noe_gen_inputs(g, &arena, 2), **outputs[2];
    for (int k = 0; k < 2; k++) {
        noe_executor *e = NULL;
        noe_executor_options options = {.n_threads = k + 1};
        outputs[k] = noe_gen_outputs(g, &arena);
        noe_assert_ok(onednn->vt->prepare(onednn, g, &options, &e, &err), err);
        ck_assert_int_eq(e->n_threads, k + 1);
        noe_assert_ok(
            onednn->vt->run(e, (const float *const *)inputs, outputs[k], &err), err);
        onednn->vt->release(e);
    }
    size_t worst;
    ck_assert(noe_close_f32(outputs[0][0], outputs[1][0], 2 * 64, NOE_BACKEND_TOLERANCE,
                            &worst));
    noe_arena_clear(&arena);
    noe_graph_free(g);
}
END_TEST

static const char *const backend_names[] = {"onednn", "reference"};

START_TEST(test_backend_refuses)
{
    noe_error err;
    noe_executor *e = NULL;
    noe_backend *b = _i ? reference : onednn;
    noe_graph *g = NULL;
    const char *integers = "%0 = input \"x\" : i64[2]\n"
                           "%1 = neg(%0) : i64[2]\n"
                           "return %1\n";
    noe_assert_ok(noe_graph_parse(pool, integers, &g, &err), err);
    noe_assert_fails(b->vt->prepare(b, g, NULL, &e, &err), NOE_ERR_UNSUPPORTED, err,
                     "i64[2]");
    ck_assert_ptr_null(e);
    noe_graph_free(g);
    const char *huge = "%0 = input \"x\" : f32[1048576,1048576]\n"
                       "%1 = neg(%0) : f32[1048576,1048576]\n"
                       "return %1\n";
    noe_assert_ok(noe_graph_parse(pool, huge, &g, &err), err);
    noe_assert_fails(b->vt->prepare(b, g, NULL, &e, &err), NOE_ERR_LIMIT, err,
                     "f32[1048576,1048576]");
    ck_assert_ptr_null(e);
    noe_graph_free(g);
    g = noe_graph_new(pool);
    noe_type type = {NOE_F32, noe_shape_make(1, (int64_t[]){2})};
    noe_ref r = noe_graph_add_opaque(g, 1, NULL, 0, &type, 1);
    noe_graph_add_output(g, r, "y");
    noe_assert_fails(b->vt->prepare(b, g, NULL, &e, &err), NOE_ERR_UNSUPPORTED, err,
                     "outside the algebra");
    ck_assert_ptr_null(e);
    noe_graph_free(g);
}
END_TEST

/* A weight without data is an error where values count, and none where only time does.
 */
START_TEST(test_backend_weight_without_data)
{
    noe_error err;
    noe_executor *e = NULL;
    noe_graph *g = NULL;
    noe_assert_ok(noe_graph_parse(pool, graphs[0].text, &g, &err), err);
    ck_assert_int_ne(onednn->vt->prepare(onednn, g, NULL, &e, &err), NOE_OK);
    ck_assert_ptr_null(e);
    ck_assert_int_ne(reference->vt->prepare(reference, g, NULL, &e, &err), NOE_OK);
    noe_executor_options options = {.free_layout = true};
    for (int i = 0; i < 2; i++) {
        noe_backend *b = i ? reference : onednn;
        noe_measure m;
        noe_assert_ok(b->vt->prepare(b, g, &options, &e, &err), err);
        noe_assert_ok(b->vt->time(e, &m, &err), err);
        ck_assert_msg(m.seconds > 0 && m.seconds < 1, "%s: %g", b->vt->name, m.seconds);
        noe_assert_fails(b->vt->run(e, NULL, NULL, &err), NOE_ERR_ARG, err,
                         "can only be timed");
        b->vt->release(e);
    }
    noe_graph_free(g);
}
END_TEST

START_TEST(test_backend_open)
{
    noe_error err;
    noe_backend *b = NULL;
    noe_assert_fails(noe_backend_open("abacus", NULL, &b, &err), NOE_ERR_ARG, err,
                     "abacus");
    ck_assert_ptr_null(b);
    noe_env env = {.n_threads = 3};
    noe_assert_ok(noe_backend_open(backend_names[_i], &env, &b, &err), err);
    ck_assert_str_eq(b->vt->name, backend_names[_i]);
    ck_assert(noe_contains(b->description, backend_names[_i]));
    ck_assert(noe_contains(b->description, _i ? "threads=1" : "threads=3"));
    b->vt->close(b);
}
END_TEST

Suite *suite_backend(void)
{
    Suite *s = suite_create("backend");
    TCase *t = tcase_create("backend");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, test_backend_op_case, 0, noe_n_op_cases);
    tcase_add_loop_test(t, test_backend_op_case_can_be_timed, 0, noe_n_op_cases);
    tcase_add_loop_test(t, test_backend_supports, 0, noe_n_op_cases);
    tcase_add_loop_test(t, test_backend_graph, 0, sizeof graphs / sizeof graphs[0]);
    tcase_add_test(t, test_backend_fused_is_unfused);
    tcase_add_test(t, test_backend_fuses_and_stays_blocked);
    tcase_add_test(t, test_backend_views_are_free);
    tcase_add_test(t, test_backend_threads_agree);
    tcase_add_loop_test(t, test_backend_refuses, 0, 2);
    tcase_add_test(t, test_backend_weight_without_data);
    tcase_add_loop_test(t, test_backend_open, 0, 2);
    suite_add_tcase(s, t);
    return s;
}
