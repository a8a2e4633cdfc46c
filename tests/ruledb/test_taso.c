/* SPDX-License-Identifier: Apache-2.0
 * TASO's rule files: what the format says in rule text, the way back, what it cannot
 * say, and files that are none. Rules are given as text, written, and read back. */
#include "core/base/file.h"
#include "ruledb/taso.h"
#include "taso.pb-c.h"
#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>

#define N(A) ((int)(sizeof(A) / sizeof *(A)))

static noe_error err;

/* Text in, text back: NULL where the format cannot say it. */
static const struct {
    const char *text, *back, *why;
} cases[] = {
    {"relu(relu(?a)) => relu(?a)", "relu(relu(?a)) => relu(?a)", ""},
    {"tanh(add(?a, ?b)) => tanh(add(?b, ?a)) where shape(?a) == shape(?b)",
     "tanh(add(?a, ?b)) => tanh(add(?b, ?a)) where shape(?a) == shape(?b)", ""},
    /* no broadcasting in the format: fewer instances than the rule has */
    {"add(?a, ?b) => add(?b, ?a)",
     "add(?a, ?b) => add(?b, ?a) where shape(?a) == shape(?b)", ""},
    {"mul(?s, transpose[perm=[1, 0]](?a)) => transpose[perm=[1, 0]](mul(?a, ?s)) where "
     "rank(?s) == 0",
     "mul(transpose[perm=[1, 0]](?a), ?b) => transpose[perm=[1, 0]](mul(?a, ?b)) where "
     "rank(?a) == 2 && rank(?b) == 0",
     ""},
    {"matmul(matmul(?a, ?b), ?c) => matmul(?a, matmul(?b, ?c))",
     "matmul(matmul(?a, ?b), ?c) => matmul(?a, matmul(?b, ?c)) where rank(?a) == 2 && "
     "rank(?b) == 2 && rank(?c) == 2",
     ""},
    {"matmul(?a, identity_matrix[shape=[dim(?a, -1), dim(?a, -1)]]()) => add(?a, "
     "zeros[shape=shape(?a)]())",
     NULL, "no zeros"},
    {"transpose[perm=[1, 0]](relu(?a)) => relu(transpose[perm=[1, 0]](?a))",
     "transpose[perm=[1, 0]](relu(?a)) => relu(transpose[perm=[1, 0]](?a)) where "
     "rank(?a) == 2",
     ""},
    {"transpose[perm=[0, 2, 3, 1]](relu(?a)) => relu(transpose[perm=[0, 2, 3, 1]](?a))",
     "transpose[perm=[0, 2, 3, 1]](relu(?a)) => relu(transpose[perm=[0, 2, 3, 1]](?a)) "
     "where rank(?a) == 4",
     ""},
    /* a split cuts where the concatenation joined, also behind other operators */
    {"slice[axis=1, start=dim(?a, 1), end=dim(?a, 1) + dim(?b, "
     "1)](relu(concat[axis=1](?a, "
     "?b))) => relu(?b) where rank(?a) == 2",
     "slice[axis=1, start=dim(?a, 1), end=dim(?a, 1) + dim(?b, "
     "1)](relu(concat[axis=1](?a, "
     "?b))) => relu(?b) where rank(?a) == 2 && rank(?b) == 2",
     ""},
    {"slice[axis=1, start=0, end=1](relu(?a)) => relu(slice[axis=1, start=0, "
     "end=1](?a))",
     NULL, "where nothing was concatenated"},
    /* a condition that the format has no words for */
    {"concat[axis=0](relu(?a), relu(?b)) => relu(concat[axis=0](?a, ?b)) where "
     "rank(?a) "
     "== 2 && dim(?a, 1) == 1",
     NULL, "would say it of"},
    /* kernels and groups */
    {"conv[pads=[1, 1, 1, 1], group=dim(?x, 1) / dim(?w, 1)](?x, ?w) => conv[pads=[1, "
     "1, "
     "1, 1], group=dim(?x, 1) / dim(?w, 1)](?x, ?w)",
     "conv[strides=[1, 1], pads=[1, 1, 1, 1], group=dim(?a, 1) / dim(?b, 1)](?a, ?b) "
     "=> "
     "conv[strides=[1, 1], pads=[1, 1, 1, 1], group=dim(?a, 1) / dim(?b, 1)](?a, ?b) "
     "where rank(?a) == 4 && rank(?b) == 4 && dim(?b, 2) == 3 && dim(?b, 3) == 3",
     ""},
    {"conv[pads=[1, 1, 1, 1]](?x, ?w) => conv[pads=[1, 1, 1, 1]](?x, ?w)", NULL,
     "would say it of"},
    {"neg(?a) => sub(neg(?a), ?b)", NULL, "no neg"},
    {"relu(relu(?a)) => ?a", NULL, "variable"},
};

static void write_and_read(int i, char **back, noe_buf *reason)
{
    noe_rule *rule = noe_malloc(sizeof *rule);
    noe_taso_writer *w = noe_taso_writer_new();
    noe_buf bytes = {0};
    noe_taso_rules rules = {0};
    *back = NULL;
    noe_assert_ok(noe_rule_parse(cases[i].text, SIZE_MAX, rule, &err), err);
    if (noe_taso_write(w, rule, reason)) {
        noe_taso_finish(w, &bytes);
        ck_assert(noe_taso_looks_like(bytes.text, bytes.len));
        noe_assert_ok(noe_taso_read(bytes.text, bytes.len, &rules, &err), err);
        ck_assert_int_eq(rules.n, 1);
        *back = noe_strdup(rules.rules[0].text);
    }
    noe_taso_rules_clear(&rules);
    noe_buf_clear(&bytes);
    noe_taso_writer_free(w);
    free(rule);
}

START_TEST(says_what_the_format_can)
{
    noe_buf reason = {0};
    char *back;
    write_and_read(_i, &back, &reason);
    if (cases[_i].back) {
        ck_assert_msg(back, "%s: %s", cases[_i].text, noe_buf_text(&reason));
        ck_assert_str_eq(back, cases[_i].back);
    } else {
        ck_assert_msg(!back, "%s was written as %s", cases[_i].text, back);
        ck_assert_msg(strstr(noe_buf_text(&reason), cases[_i].why),
                      "%s: '%s' lacks '%s'", cases[_i].text, noe_buf_text(&reason),
                      cases[_i].why);
    }
    noe_buf_clear(&reason);
    free(back);
}
END_TEST

/* Files with one rule: source relu(x1), target another operator. */
static Taso__Tensor variable = TASO__TENSOR__INIT;

static noe_status read_with(int type, int n_inputs, int input, int key, int value,
                            noe_taso_rules *rules)
{
    Taso__Operator src = TASO__OPERATOR__INIT, dst = TASO__OPERATOR__INIT;
    Taso__MapOutput map = TASO__MAP_OUTPUT__INIT;
    Taso__Rule rule = TASO__RULE__INIT;
    Taso__RuleCollection c = TASO__RULE_COLLECTION__INIT;
    Taso__Parameter para = TASO__PARAMETER__INIT;
    Taso__Tensor in = TASO__TENSOR__INIT;
    variable.opid = -1;
    in.opid = input;
    para.key = key;
    para.value = value;
    src.type = NOE_TASO_RELU;
    src.n_input = 1;
    src.input = (Taso__Tensor *[]){&variable};
    dst.type = type;
    dst.n_input = (size_t)n_inputs;
    dst.input = (Taso__Tensor *[]){&in, &variable};
    dst.n_para = 1;
    dst.para = (Taso__Parameter *[]){&para};
    rule.n_srcop = rule.n_dstop = rule.n_mappedoutput = 1;
    rule.srcop = (Taso__Operator *[]){&src};
    rule.dstop = (Taso__Operator *[]){&dst};
    rule.mappedoutput = (Taso__MapOutput *[]){&map};
    c.n_rule = 1;
    c.rule = (Taso__Rule *[]){&rule};
    size_t len = taso__rule_collection__get_packed_size(&c);
    char *data = noe_malloc(len + 1);
    taso__rule_collection__pack(&c, (uint8_t *)data);
    noe_status status = noe_taso_read(data, len, rules, &err);
    free(data);
    return status;
}

static const struct {
    int type, n_inputs, input, key, value;
    const char *message; /* of the error */
} errors[] = {
    {99, 1, -1, 0, 0, "rule 0: target operator 0 (unknown operator): operator type 99"},
    {-1, 1, -1, 0, 0, "operator type -1"},
    {NOE_TASO_RELU, 2, -1, 0, 0, "target operator 0 (relu): 2 inputs"},
    {NOE_TASO_RELU, 1, 0, 0, 0, "input 0 is operator 0, which does not come before"},
    {NOE_TASO_RELU, 1, -1, 77, 0, "parameter key 77"},
    {NOE_TASO_RELU, 1, -1, NOE_TASO_KEY_KERNEL_H, 0, "kernel_h is 0, want 1 to 64"},
    {NOE_TASO_CONCAT, 2, -1, NOE_TASO_KEY_AXIS, 1, "parameter 10 is missing"},
    {NOE_TASO_RELU, 1, -1, NOE_TASO_KEY_AXIS, -3, "is -3"},
};

START_TEST(names_what_is_wrong)
{
    noe_taso_rules rules;
    noe_assert_fails(read_with(errors[_i].type, errors[_i].n_inputs, errors[_i].input,
                               errors[_i].key, errors[_i].value, &rules),
                     NOE_ERR_PARSE, err, errors[_i].message);
    ck_assert_int_eq(rules.n, 0);
}
END_TEST

/* What is well-formed but has no counterpart is no error. */
START_TEST(gives_a_reason)
{
    noe_taso_rules rules;
    noe_assert_ok(read_with(NOE_TASO_BATCHNORM, 1, -1, 0, 0, &rules), err);
    ck_assert_int_eq(rules.n, 1);
    ck_assert_ptr_null(rules.rules[0].text);
    ck_assert_str_eq(rules.rules[0].reason, "batchnorm has no counterpart");
    noe_taso_rules_clear(&rules);
    noe_assert_ok(read_with(NOE_TASO_SPLIT, 1, -1, NOE_TASO_KEY_AXIS, 0, &rules), err);
    ck_assert(noe_contains(rules.rules[0].reason, "nothing was concatenated"));
    noe_taso_rules_clear(&rules);
    noe_assert_ok(read_with(NOE_TASO_RELU, 1, -1, NOE_TASO_KEY_ACTIVATION, 9, &rules),
                  err);
    ck_assert(noe_contains(rules.rules[0].reason, "activation 9"));
    noe_taso_rules_clear(&rules);
}
END_TEST

START_TEST(refuses_other_bytes)
{
    noe_taso_rules rules;
    const char bytes[] = "\x0a\xff\x01 no rules";
    noe_assert_fails(noe_taso_read(bytes, sizeof bytes - 1, &rules, &err),
                     NOE_ERR_PARSE, err, "no TASO rule file");
    ck_assert(!noe_taso_looks_like("relu(?a) => ?a\n\t\r\n", 18));
}
END_TEST

/* Files cut short anywhere are read or refused, never worse. */
START_TEST(survives_cut_files)
{
    char *data;
    size_t len;
    noe_taso_rules rules;
    if (noe_file_read(NOE_SHARED_DIR "/yardsticks/taso_133.pb", 1 << 20, &data, &len,
                      NULL) != NOE_OK)
        noe_skip("no shared data");
    int n_read = 0;
    for (size_t n = 0; n < len; n += 97) {
        if (noe_taso_read(data, n, &rules, &err) == NOE_OK) {
            n_read++;
            noe_taso_rules_clear(&rules);
        }
    }
    ck_assert_int_gt(n_read, 0);
    free(data);
}
END_TEST

static const struct {
    const char *path;
    int n_rules;
} files[] = {
    {NOE_SHARED_DIR "/yardsticks/taso_133.pb", 133},
    {NOE_SHARED_DIR "/yardsticks/taso_619.pb", 619},
};

/* Every rule of the yardsticks can be read, and written again as itself. */
START_TEST(reads_back_the_yardsticks)
{
    char *data;
    size_t len;
    noe_taso_rules rules;
    if (noe_file_read(files[_i].path, 1 << 20, &data, &len, NULL) != NOE_OK)
        noe_skip("no shared data");
    noe_assert_ok(noe_taso_read(data, len, &rules, &err), err);
    ck_assert_int_eq(rules.n, files[_i].n_rules);
    noe_rule *rule = noe_malloc(sizeof *rule);
    for (int i = 0; i < rules.n; i++) {
        noe_taso_writer *w = noe_taso_writer_new();
        noe_buf bytes = {0}, reason = {0};
        noe_taso_rules back;
        ck_assert_msg(rules.rules[i].text, "rule %d: %s", i, rules.rules[i].reason);
        noe_assert_ok(noe_rule_parse(rules.rules[i].text, SIZE_MAX, rule, &err), err);
        ck_assert_msg(noe_taso_write(w, rule, &reason), "rule %d: %s: %s", i,
                      rules.rules[i].text, noe_buf_text(&reason));
        noe_taso_finish(w, &bytes);
        noe_assert_ok(noe_taso_read(bytes.text, bytes.len, &back, &err), err);
        ck_assert_msg(strcmp(back.rules[0].text, rules.rules[i].text) == 0,
                      "rule %d: %s\nread back as %s", i, rules.rules[i].text,
                      back.rules[0].text);
        noe_taso_rules_clear(&back);
        noe_buf_clear(&bytes);
        noe_buf_clear(&reason);
        noe_taso_writer_free(w);
    }
    free(rule);
    noe_taso_rules_clear(&rules);
    free(data);
}
END_TEST

Suite *suite_taso(void)
{
    Suite *s = suite_create("ruledb.taso");
    TCase *t = tcase_create("taso");
    tcase_set_timeout(t, 600);
    tcase_add_loop_test(t, says_what_the_format_can, 0, N(cases));
    tcase_add_loop_test(t, names_what_is_wrong, 0, N(errors));
    tcase_add_test(t, gives_a_reason);
    tcase_add_test(t, refuses_other_bytes);
    tcase_add_test(t, survives_cut_files);
    tcase_add_loop_test(t, reads_back_the_yardsticks, 0, N(files));
    suite_add_tcase(s, t);
    return s;
}
