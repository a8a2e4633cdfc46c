/* SPDX-License-Identifier: Apache-2.0
 *
 * Saving models with external data, and the networks of noether-make-model.
 */
#include "core/base/file.h"
#include "core/definition.h"
#include "onnx_io/make_model/network.h"
#include "tests/onnx_io/build.h"
#include "tests/support/support.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static noe_error err;

/* ---- external data ---- */

/* Writes m/model.onnx with its initializer in m/w.bin, and a folder other. */
static void write_external_model(const char *folder)
{
    size_t len;
    char path[300];
    const float w[4] = {1, 2, 3, 4};
    char *data = noe_build_model(
        "input x f32 2,2\noutput y f32 2,2\ninit w f32 2,2\nnode Add x,w -> y", &len);
    Onnx__ModelProto *m = onnx__model_proto__unpack(NULL, len, (uint8_t *)data);
    Onnx__TensorProto *t = m->graph->initializer[0];
    Onnx__StringStringEntryProto entry, *entries[1] = {&entry};
    onnx__string_string_entry_proto__init(&entry);
    entry.key = (char[]){"location"};
    entry.value = (char[]){"w.bin"};
    t->has_raw_data = 0;
    t->has_data_location = 1;
    t->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    t->n_external_data = 1;
    t->external_data = entries;
    free(data);
    len = onnx__model_proto__get_packed_size(m);
    data = noe_malloc(len);
    onnx__model_proto__pack(m, (uint8_t *)data);
    t->n_external_data = 0;
    t->external_data = NULL;
    onnx__model_proto__free_unpacked(m, NULL);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, i ? "other" : "m");
        ck_assert_int_eq(mkdir(path, 0700), 0);
    }
    snprintf(path, sizeof path, "%s/m/model.onnx", folder);
    noe_assert_ok(noe_file_write(path, data, len, &err), err);
    snprintf(path, sizeof path, "%s/m/w.bin", folder);
    noe_assert_ok(noe_file_write(path, w, sizeof w, &err), err);
    free(data);
}

/* Saves the model as `name` and reads the initializer of the result. */
static bool is_external_in(const char *folder, const char *name)
{
    char path[300], *data;
    size_t len;
    noe_onnx_model *m, *again;
    snprintf(path, sizeof path, "%s/m/model.onnx", folder);
    noe_assert_ok(noe_onnx_load(path, NULL, NULL, &m, &err), err);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    noe_assert_ok(noe_onnx_save(m, noe_onnx_graph(m), path, &err), err);
    noe_onnx_free(m);
    noe_assert_ok(noe_onnx_load(path, NULL, NULL, &again, &err), err);
    const noe_pool *pool = noe_onnx_pool(again);
    bool found = false;
    for (uint32_t i = 0; i < noe_pool_n_leaves(pool); i++) {
        const noe_leaf *leaf = noe_pool_leaf(pool, i);
        if (strcmp(leaf->name, "w") == 0)
            found = memcmp(leaf->data, (const float[]){1, 2, 3, 4}, 16) == 0;
    }
    ck_assert(found);
    noe_onnx_free(again);
    noe_assert_ok(noe_file_read(path, 1 << 20, &data, &len, &err), err);
    Onnx__ModelProto *proto = onnx__model_proto__unpack(NULL, len, (uint8_t *)data);
    bool is_external = proto->graph->initializer[0]->n_external_data > 0;
    onnx__model_proto__free_unpacked(proto, NULL);
    free(data);
    return is_external;
}

START_TEST(test_external_data_is_referred_to_or_put_inline)
{
    char folder[200];
    noe_tmp_make(folder, sizeof folder);
    write_external_model(folder);
    ck_assert(is_external_in(folder, "m/out.onnx"));
    ck_assert(is_external_in(folder, "other/../m/out2.onnx"));
    ck_assert(!is_external_in(folder, "other/out.onnx"));
    noe_tmp_remove(folder);
}
END_TEST

START_TEST(test_serialized_model_stands_alone)
{
    char folder[200], path[300], *data;
    size_t len;
    noe_onnx_model *m, *again;
    noe_tmp_make(folder, sizeof folder);
    write_external_model(folder);
    snprintf(path, sizeof path, "%s/m/model.onnx", folder);
    noe_assert_ok(noe_onnx_load(path, NULL, NULL, &m, &err), err);
    noe_assert_ok(noe_onnx_serialize(m, noe_onnx_graph(m), &data, &len, &err), err);
    noe_assert_ok(noe_onnx_load_memory(data, len, NULL, NULL, &again, &err), err);
    noe_onnx_free(again);
    free(data);
    noe_onnx_free(m);
    noe_tmp_remove(folder);
}
END_TEST

/* ---- networks ---- */

static noe_onnx_model *load_network(const char *name, uint64_t seed, char **data,
                                    size_t *len)
{
    noe_onnx_model *m = NULL;
    noe_assert_ok(noe_network_make(name, seed, data, len, &err), err);
    noe_assert_ok(noe_onnx_load_memory(*data, *len, NULL, NULL, &m, &err), err);
    return m;
}

START_TEST(test_network_is_all_algebra)
{
    for (int i = 0; noe_network_name(i); i++) {
        char *data;
        size_t len;
        noe_onnx_model *m = load_network(noe_network_name(i), 1, &data, &len);
        for (uint32_t origin = 1; *noe_onnx_op_type(m, origin); origin++)
            ck_assert_str_eq(noe_onnx_why_opaque(m, origin), "");
        noe_onnx_free(m);
        free(data);
    }
}
END_TEST

START_TEST(test_network_follows_from_its_seed)
{
    char *a, *b, *c;
    size_t len_a, len_b, len_c;
    noe_assert_ok(noe_network_make("squeezenet", 7, &a, &len_a, &err), err);
    noe_assert_ok(noe_network_make("squeezenet", 7, &b, &len_b, &err), err);
    noe_assert_ok(noe_network_make("squeezenet", 8, &c, &len_c, &err), err);
    ck_assert_uint_eq(len_a, len_b);
    ck_assert_mem_eq(a, b, len_a);
    ck_assert(len_a != len_c || memcmp(a, c, len_a) != 0);
    free(a);
    free(b);
    free(c);
}
END_TEST

START_TEST(test_unknown_network_is_an_error)
{
    char *data;
    size_t len;
    noe_assert_fails(noe_network_make("alexnet", 1, &data, &len, &err), NOE_ERR_ARG,
                     err, "no network 'alexnet'");
}
END_TEST

/* The help text lists the networks by hand. */
START_TEST(test_help_names_every_network)
{
    char *output;
    ck_assert_int_eq(noe_run_command(NOE_BIN_DIR "/noether-make-model --help", &output),
                     0);
    for (int i = 0; noe_network_name(i); i++)
        ck_assert_msg(noe_contains(output, noe_network_name(i)), "%s is missing",
                      noe_network_name(i));
    free(output);
}
END_TEST

START_TEST(test_program_writes_a_file_or_says_why)
{
    char folder[200], command[500], *output;
    noe_tmp_make(folder, sizeof folder);
    snprintf(command, sizeof command, "%s/noether-make-model mlp %s/m.onnx --seed 3",
             NOE_BIN_DIR, folder);
    ck_assert_int_eq(noe_run_command(command, &output), 0);
    free(output);
    snprintf(command, sizeof command, "%s/noether-make-model nothing %s/n.onnx",
             NOE_BIN_DIR, folder);
    ck_assert_int_ne(noe_run_command(command, &output), 0);
    ck_assert_msg(noe_contains(output, "no network 'nothing'"), "%s", output);
    free(output);
    noe_tmp_remove(folder);
}
END_TEST

Suite *suite_save(void)
{
    Suite *s = suite_create("save");
    TCase *tc = tcase_create("save");
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, test_external_data_is_referred_to_or_put_inline);
    tcase_add_test(tc, test_serialized_model_stands_alone);
    tcase_add_test(tc, test_network_is_all_algebra);
    tcase_add_test(tc, test_network_follows_from_its_seed);
    tcase_add_test(tc, test_unknown_network_is_an_error);
    tcase_add_test(tc, test_help_names_every_network);
    tcase_add_test(tc, test_program_writes_a_file_or_says_why);
    suite_add_tcase(s, tc);
    return s;
}
