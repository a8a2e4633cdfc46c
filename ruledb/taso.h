/* SPDX-License-Identifier: Apache-2.0
 *
 * TASO's rule files (Jia et al., SOSP'19; protobuf, taso.proto) to rule text and back.
 *
 * What the format leaves open is read as TASO's generator and axioms mean it:
 *   - the group of a convolution is the quotient of channels and kernel channels;
 *   - SAME keeps ceil(size / stride), padding one more at the end where it is odd;
 *   - kernel sizes are part of the rule, as conditions;
 *   - operands of elementwise operators have equal shapes, no broadcasting;
 *   - matrices have two axes; a concatenation has the rank it names;
 *   - average pooling counts the padding (the axiom that makes it a convolution);
 *   - a split cuts where the last concatenation along its axis joined;
 *   - constants have the shape that their place asks for.
 */
#ifndef NOE_RULEDB_TASO_H
#define NOE_RULEDB_TASO_H

#include "core/rule.h"

/* NAME, number, inputs, name in messages. */
#define NOE_TASO_OP_MAP(XX)                    \
    XX(INPUT, 0, "input")                      \
    XX(WEIGHT, 1, "weight")                    \
    XX(ANY, 2, "any")                          \
    XX(CONV, 3, "conv2d")                      \
    XX(DROPOUT, 4, "dropout")                  \
    XX(LINEAR, 5, "linear")                    \
    XX(POOL_MAX, 6, "pool_max")                \
    XX(POOL_AVG, 7, "pool_avg")                \
    XX(RELU, 8, "relu")                        \
    XX(SIGMOID, 9, "sigmoid")                  \
    XX(TANH, 10, "tanh")                       \
    XX(BATCHNORM, 11, "batchnorm")             \
    XX(CONCAT, 12, "concat")                   \
    XX(SPLIT, 13, "split")                     \
    XX(RESHAPE, 14, "reshape")                 \
    XX(TRANSPOSE, 15, "transpose")             \
    XX(ADD, 16, "add")                         \
    XX(MUL, 17, "mul")                         \
    XX(MATMUL, 18, "matmul")                   \
    XX(SCALAR_MUL, 19, "scalar_mul")           \
    XX(ENLARGE, 20, "enlarge")                 \
    XX(MERGE_GCONV, 21, "merge_gconv")         \
    XX(IDENTITY_MATRIX, 22, "identity matrix") \
    XX(IDENTITY_CONV, 23, "identity conv")     \
    XX(ONE, 24, "one")                         \
    XX(CONST_POOL, 25, "const pool")

enum {
#define XX(ID, NUMBER, NAME) NOE_TASO_##ID = NUMBER,
    NOE_TASO_OP_MAP(XX)
#undef XX
        NOE_TASO_OPS
};

/* Parameter keys. */
enum {
    NOE_TASO_KEY_OP_TYPE,
    NOE_TASO_KEY_NUM_INPUTS,
    NOE_TASO_KEY_NUM_OUTPUTS,
    NOE_TASO_KEY_GROUP,
    NOE_TASO_KEY_KERNEL_H,
    NOE_TASO_KEY_KERNEL_W,
    NOE_TASO_KEY_STRIDE_H,
    NOE_TASO_KEY_STRIDE_W,
    NOE_TASO_KEY_PAD,        /* 0 SAME, 1 VALID */
    NOE_TASO_KEY_ACTIVATION, /* 0 none, 1 sigmoid, 2 relu, 3 tanh */
    NOE_TASO_KEY_NUMDIM,
    NOE_TASO_KEY_AXIS,
    NOE_TASO_KEY_PERM, /* entries as digits to the base numdim */
    NOE_TASO_KEY_OUTSHUFFLE,
    NOE_TASO_KEY_MERGE_GCONV_COUNT,
    NOE_TASO_KEYS
};

typedef struct noe_taso_rule {
    char *text; /* rule text, or NULL: see reason */
    char
        *narrow; /* the same under the condition that all groups are 1; NULL: no conv */
    char *reason; /* what could not be translated */
} noe_taso_rule;

typedef struct noe_taso_rules {
    noe_taso_rule *rules;
    int n;
} noe_taso_rules;

/* Whether the bytes look like a protobuf rule file rather than text. */
bool noe_taso_looks_like(const char *data, size_t len);

/* Reads a file's bytes. A rule that the algebra cannot say gets a reason; bytes that
 * are no rule file, or a rule whose numbers make no sense, are an error that names the
 * rule (from 0) and the operator. Clear with noe_taso_rules_clear. */
NOE_NODISCARD noe_status noe_taso_read(const char *data, size_t len,
                                       noe_taso_rules *rules, noe_error *err);
void noe_taso_rules_clear(noe_taso_rules *rules);

/* Adds rules to a file to be. false with a reason where the format cannot say the rule:
 * operators it lacks, conditions that do not follow from the operators, ranks left
 * open. What is written reads back as a rule with the same instances or fewer. */
typedef struct noe_taso_writer noe_taso_writer;
noe_taso_writer *noe_taso_writer_new(void);
void noe_taso_writer_free(noe_taso_writer *w);
bool noe_taso_write(noe_taso_writer *w, const noe_rule *rule, noe_buf *reason);
/* The file's bytes, added to out. */
void noe_taso_finish(const noe_taso_writer *w, noe_buf *out);

#endif
