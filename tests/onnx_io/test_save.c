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

/* The model with the data of its first initializer in a file, of that type if it is not
 * 0. Takes data. */
static char *put_outside(char *data, size_t *len, char *file, int type)
{
    Onnx__ModelProto *m = onnx__model_proto__unpack(NULL, *len, (uint8_t *)data);
    Onnx__TensorProto *t = m->graph->initializer[0];
    Onnx__StringStringEntryProto entry, *entries[1] = {&entry};
    onnx__string_string_entry_proto__init(&entry);
    entry.key = (char[]){"location"};
    entry.value = file;
    if (type)
        t->data_type = type;
    t->has_raw_data = 0;
    t->has_data_location = 1;
    t->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    t->n_external_data = 1;
    t->external_data = entries;
    free(data);
    *len = onnx__model_proto__get_packed_size(m);
    data = noe_malloc(*len);
    onnx__model_proto__pack(m, (uint8_t *)data);
    t->n_external_data = 0;
    t->external_data = NULL;
    onnx__model_proto__free_unpacked(m, NULL);
    return data;
}

/* Writes m/model.onnx with its initializer in m/w.bin, and a folder other. */
static void write_external_model(const char *folder)
{
    size_t len;
    char path[300];
    const float w[4] = {1, 2, 3, 4};
    char *data = noe_build_model(
        "input x f32 2,2\noutput y f32 2,2\ninit w f32 2,2\nnode Add x,w -> y", &len);
    data = put_outside(data, &len, (char[]){"w.bin"}, 0);
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

/* The weight w of a file is what it was. */
static void check_weight(const char *path)
{
    noe_onnx_model *m;
    noe_assert_ok(noe_onnx_load(path, NULL, NULL, &m, &err), err);
    const noe_pool *pool = noe_onnx_pool(m);
    bool found = false;
    for (uint32_t i = 0; i < noe_pool_n_leaves(pool); i++) {
        const noe_leaf *leaf = noe_pool_leaf(pool, i);
        if (strcmp(leaf->name, "w") == 0)
            found = memcmp(leaf->data, (const float[]){1, 2, 3, 4}, 16) == 0;
    }
    ck_assert(found);
    noe_onnx_free(m);
}

/* Saves the model as `name` and gives where its weight then lies ("" inline). */
static void save_as(const char *folder, const char *name, char *location, size_t size)
{
    char path[300], *data;
    size_t len;
    noe_onnx_model *m;
    snprintf(path, sizeof path, "%s/m/model.onnx", folder);
    noe_assert_ok(noe_onnx_load(path, NULL, NULL, &m, &err), err);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    noe_assert_ok(noe_onnx_save(m, noe_onnx_graph(m), path, &err), err);
    noe_onnx_free(m);
    check_weight(path);
    noe_assert_ok(noe_file_read(path, 1 << 20, &data, &len, &err), err);
    Onnx__ModelProto *proto = onnx__model_proto__unpack(NULL, len, (uint8_t *)data);
    const Onnx__TensorProto *t = proto->graph->initializer[0];
    snprintf(location, size, "%s",
             t->n_external_data ? t->external_data[0]->value : "");
    onnx__model_proto__free_unpacked(proto, NULL);
    free(data);
}

START_TEST(test_external_data_is_referred_to_or_goes_along)
{
    char folder[200], location[100];
    noe_tmp_make(folder, sizeof folder);
    write_external_model(folder);
    save_as(folder, "m/out.onnx", location, sizeof location);
    ck_assert_str_eq(location, "w.bin");
    save_as(folder, "other/../m/out2.onnx", location, sizeof location);
    ck_assert_str_eq(location, "w.bin");
    save_as(folder, "other/out.onnx", location, sizeof location);
    ck_assert_str_eq(location, "out.onnx.data");
    noe_tmp_remove(folder);
}
END_TEST

/* 4-bit numbers are nothing that the algebra holds; their bytes go along all the same.
 */
START_TEST(test_external_data_of_other_types_goes_along)
{
    static const char bytes[3] = {0x12, 0x34, 0x05};
    size_t len;
    char folder[200], from[300], to[300], *data;
    noe_tmp_make(folder, sizeof folder);
    write_external_model(folder);
    data =
        noe_build_model("ir 10\nopset 21\ninput x f32 5\noutput y f32 5\ninit w f32 5\n"
                        "init s f32 - = 1\nnode DequantizeLinear w,s -> d\n"
                        "node Add x,d -> y",
                        &len);
    data = put_outside(data, &len, (char[]){"w4.bin"}, 22);
    snprintf(from, sizeof from, "%s/m/model.onnx", folder);
    noe_assert_ok(noe_file_write(from, data, len, &err), err);
    free(data);
    snprintf(to, sizeof to, "%s/m/w4.bin", folder);
    noe_assert_ok(noe_file_write(to, bytes, sizeof bytes, &err), err);
    noe_onnx_model *model;
    noe_assert_ok(noe_onnx_load(from, NULL, NULL, &model, &err), err);
    snprintf(to, sizeof to, "%s/other/out.onnx", folder);
    noe_assert_ok(noe_onnx_save(model, noe_onnx_graph(model), to, &err), err);
    noe_onnx_free(model);
    snprintf(to, sizeof to, "%s/other/out.onnx.data", folder);
    noe_assert_ok(noe_file_read(to, 1 << 20, &data, &len, &err), err);
    ck_assert_uint_eq(len, sizeof bytes);
    ck_assert_mem_eq(data, bytes, len);
    free(data);
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
    tcase_add_test(tc, test_external_data_is_referred_to_or_goes_along);
    tcase_add_test(tc, test_external_data_of_other_types_goes_along);
    tcase_add_test(tc, test_serialized_model_stands_alone);
    tcase_add_test(tc, test_network_is_all_algebra);
    tcase_add_test(tc, test_network_follows_from_its_seed);
    tcase_add_test(tc, test_unknown_network_is_an_error);
    tcase_add_test(tc, test_help_names_every_network);
    tcase_add_test(tc, test_program_writes_a_file_or_says_why);
    suite_add_tcase(s, tc);
    return s;
}
