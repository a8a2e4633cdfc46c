/* SPDX-License-Identifier: Apache-2.0 */
#include "generator/fingerprint.h"
#include "tests/generator/fixture.h"

#include <string.h>

static noe_space spaces[NOE_SPACE_MAX];
static const char *const names[] = {"taso",    "matrix", "layout",
                                    "product", "image",  "mask"};

/* Every term of two operators, in every built-in space: the fingerprint by sketches is
 * that of the evaluated result. */
START_TEST(test_fingerprint_sketch_is_evaluation)
{
    noe_error err = {0};
    int n;
    uint64_t n_by_op[NOE_OP_COUNT] = {0};
    noe_assert_ok(noe_space_build(names[_i], spaces, &n, &err), err);
    spaces[0].n_samples = 2;
    noe_universe *u = build_whole_universe(&spaces[0], 2, 3);
    noe_sketcher *s = noe_sketcher_new(u);
    for (uint32_t e = 0; e < u->n_enodes; e++) {
        const noe_enode *x = &u->enodes[e];
        noe_params params = noe_enode_params(u, x);
        uint32_t in[NOE_SPACE_MAX_IN];
        int n_in = noe_enode_operands(u, x, in), shapes[NOE_SPACE_MAX_IN] = {0};
        for (int k = 0; k < n_in; k++)
            shapes[k] = u->values[in[k]].shape;
        noe_application p = {.params = &params,
                             .cut = n_in > 1 ? NOE_NO_OPERAND : x->b,
                             .move = x->move,
                             .shape = u->classes[x->value].shape};
        noe_projector_prepare(u, &p, shapes);
        u->use_sketches = true;
        noe_fingerprint a = noe_sketcher_project(s, &p, in);
        u->use_sketches = false;
        noe_fingerprint b = noe_sketcher_project(s, &p, in);
        ck_assert_msg(memcmp(&a, &b, sizeof a) == 0,
                      "space %s: %s of values %u and %u differs (seed 3)", names[_i],
                      noe_op_get(spaces[0].moves[x->move].op)->name, x->a, x->b);
        n_by_op[spaces[0].moves[x->move].op]++;
    }
    for (int m = 0; m < spaces[0].n_moves; m++)
        ck_assert_uint_gt(n_by_op[spaces[0].moves[m].op], 0);
    noe_sketcher_free(s);
    noe_universe_free(u);
}
END_TEST

START_TEST(test_fingerprint_sees_every_element)
{
    noe_space space = tiny_space("add");
    noe_universe *u = build_universe(&space, 1, 9);
    size_t n = (size_t)u->n_samples * u->n_elements[u->values[0].shape];
    noe_fe *data = u->values[0].data;
    noe_fingerprint before = noe_project(u, u->values[0].shape, data);
    for (size_t i = 0; i < n; i++) {
        noe_fe old = data[i];
        data[i] = noe_fe_add(old, noe_fe_int(1));
        noe_fingerprint after = noe_project(u, u->values[0].shape, data);
        for (int l = 0; l < NOE_GEN_LANES; l++)
            ck_assert_uint_ne(before.lane[l], after.lane[l]);
        data[i] = old;
    }
    noe_universe_free(u);
}
END_TEST

START_TEST(test_fingerprint_key_depends_on_shape)
{
    noe_fingerprint p = {{5, 6}}, zero = {{0, 0}};
    ck_assert_uint_ne(noe_value_key(0, p), noe_value_key(1, p));
    ck_assert_uint_ne(noe_value_key(0, zero), noe_value_key(1, zero));
    for (int shape = 0; shape < 5; shape++) {
        noe_fingerprint back = noe_key_print(shape, noe_value_key(shape, p));
        ck_assert_mem_eq(&back, &p, sizeof p);
    }
}
END_TEST

START_TEST(test_table_finds_what_was_put)
{
    noe_key_table *t = noe_key_table_new();
    for (uint32_t i = 1; i <= 20000; i++)
        noe_key_table_put(t, noe_mix64(i), i);
    for (uint32_t i = 1; i <= 20000; i++)
        ck_assert_uint_eq(noe_key_table_get(t, noe_mix64(i)), i);
    for (uint32_t i = 20001; i <= 21000; i++)
        ck_assert_uint_eq(noe_key_table_get(t, noe_mix64(i)), UINT32_MAX);
    noe_key_table_free(t);
}
END_TEST

Suite *suite_fingerprint(void);
Suite *suite_fingerprint(void)
{
    Suite *s = suite_create("fingerprint");
    TCase *tc = tcase_create("fingerprint");
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, test_fingerprint_sketch_is_evaluation, 0,
                        (int)(sizeof names / sizeof *names));
    tcase_add_test(tc, test_fingerprint_sees_every_element);
    tcase_add_test(tc, test_fingerprint_key_depends_on_shape);
    tcase_add_test(tc, test_table_finds_what_was_put);
    suite_add_tcase(s, tc);
    return s;
}
