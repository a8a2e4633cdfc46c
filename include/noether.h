/* SPDX-License-Identifier: Apache-2.0
 *
 * Noether's library: make or load an ONNX model, optimize it with proved rules, write
 * it.
 *
 *     noether_error e;
 *     noether_model *in, *out;
 *     noether_options *o = noether_options_new();
 *     if (noether_options_set(o, "rules", "rules.db", &e) ||
 *         noether_model_load("model.onnx", o, &in, &e) ||
 *         noether_optimize(in, o, &out, NULL, &e) ||
 *         noether_model_save(out, "model.opt.onnx", &e))
 *         complain(e.text);
 *
 * Functions that can fail return NOETHER_OK (0) or what kind of trouble it was, and put
 * a message into *e (which may be NULL) that names value and place. Their results are
 * set only on success. Exhausted memory ends the process.
 *
 * An object is used by one thread at a time; different objects are independent. Nothing
 * is printed: messages go to the functions given to the options.
 *
 * This interface grows and does not change: structures and numbers stay as they are,
 * symbols carry a version.
 */
#ifndef NOETHER_H
#define NOETHER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum noether_status {
    NOETHER_OK = 0,
    NOETHER_ERR_IO = 1,          /* files */
    NOETHER_ERR_PARSE = 2,       /* malformed input */
    NOETHER_ERR_SHAPE = 3,       /* an operator does not take these tensors */
    NOETHER_ERR_ARG = 4,         /* a wrong argument or option */
    NOETHER_ERR_UNSUPPORTED = 5, /* right, but not supported */
    NOETHER_ERR_LIMIT = 6,       /* too large */
    NOETHER_ERR_DB = 7,          /* rule or cost database */
    NOETHER_ERR_BACKEND = 8,     /* the device that is measured */
    NOETHER_ERR_MISMATCH = 9, /* the result does not compute what the original does */
    NOETHER_ERR_CANCELLED = 10
} noether_status;

typedef struct noether_error {
    noether_status status;
    char text[1024];
} noether_error;

/* "0.1.0"; static. */
const char *noether_version(void);

/* ---- options ---- */

typedef struct noether_options noether_options;

noether_options *noether_options_new(void);
void noether_options_free(noether_options *o); /* NULL is fine */
/* Sets an option of noether-optimize by its long name without dashes ("budget", "200"),
 * a flag to "0" or "1"; options that may be repeated are added to. Not "output",
 * "dry-run" and "bisect", which are the program's own. The value is copied. */
noether_status noether_options_set(noether_options *o, const char *name,
                                   const char *value, noether_error *e);
/* All options as text, a line each: name, tab, what it takes ("" for flags), tab, its
 * explanation. Freed with noether_free. */
char *noether_options_list(void);
/* Called about once a second while something takes long; an answer other than 0 ends
 * the search with the best result so far. */
typedef int noether_progress(void *ctx, const char *text);
void noether_options_progress(noether_options *o, noether_progress *call, void *ctx);
/* Called with warnings (level 1), and with information (level 2) if "verbose" is set.
 */
typedef void noether_log(void *ctx, int level, const char *text);
void noether_options_log(noether_options *o, noether_log *call, void *ctx);

/* ---- models ---- */

typedef struct noether_model noether_model;

/* From a file or from memory (copied). Of the options "input-shape" and
 * "constant-initializers" count; o may be NULL. A model in memory must not refer to
 * other files. */
noether_status noether_model_load(const char *path, const noether_options *o,
                                  noether_model **m, noether_error *e);
noether_status noether_model_load_memory(const void *data, size_t len,
                                         const noether_options *o, noether_model **m,
                                         noether_error *e);
/* An empty model, to be built (operator set 17, IR 8). */
noether_model *noether_model_new(void);
void noether_model_free(noether_model *m); /* NULL is fine */

/* The ONNX file of the model: written complete or not at all, or malloc'ed. */
noether_status noether_model_save(const noether_model *m, const char *path,
                                  noether_error *e);
noether_status noether_model_serialize(const noether_model *m, void **data, size_t *len,
                                       noether_error *e);
/* The main graph as JSON: {"inputs": [{"name", "dtype", "dims"}...], "outputs":
 * likewise, "weights": likewise, "nodes": [{"op_type", "name", "inputs": [names],
 * "outputs":
 * [{"name", "dtype", "dims"}], "attributes": {}}]}. dims is null where the rank is
 * not known, a dimension null where it is not. Freed with noether_free. */
noether_status noether_model_describe(const noether_model *m, char **json,
                                      noether_error *e);
/* Elements of a weight (initializer) in C order. The memory is the model's; of a model
 * that is being built it stays valid until the model is freed. */
noether_status noether_model_weight(const noether_model *m, const char *name,
                                    const void **data, size_t *bytes, noether_error *e);

/* ---- building ---- */

/* Element types: ONNX's numbers (TensorProto.DataType). */
enum {
    NOETHER_FLOAT = 1,
    NOETHER_UINT8 = 2,
    NOETHER_INT8 = 3,
    NOETHER_INT32 = 6,
    NOETHER_INT64 = 7,
    NOETHER_BOOL = 9,
    NOETHER_FLOAT16 = 10,
    NOETHER_DOUBLE = 11
};

#define NOETHER_MAX_RANK 8
typedef struct noether_type {
    int32_t dtype;
    int32_t rank; /* 0..NOETHER_MAX_RANK */
    int64_t dims[NOETHER_MAX_RANK];
} noether_type;

/* A value of the model that is being built. */
typedef uint32_t noether_value;
#define NOETHER_NO_VALUE UINT32_MAX /* an optional operand that is absent */

typedef enum noether_attribute_kind {
    NOETHER_ATTRIBUTE_INT = 0,    /* ints[0] */
    NOETHER_ATTRIBUTE_FLOAT = 1,  /* floats[0] */
    NOETHER_ATTRIBUTE_TEXT = 2,   /* text */
    NOETHER_ATTRIBUTE_INTS = 3,   /* n ints */
    NOETHER_ATTRIBUTE_FLOATS = 4, /* n floats */
} noether_attribute_kind;

typedef struct noether_attribute {
    const char *name;
    noether_attribute_kind kind;
    size_t n;
    const int64_t *ints;
    const float *floats;
    const char *text;
} noether_attribute;

/* Names are made up where NULL. Weights: elements in C order, little-endian, copied. */
noether_status noether_add_input(noether_model *m, const char *name,
                                 const noether_type *type, noether_value *value,
                                 noether_error *e);
noether_status noether_add_weight(noether_model *m, const char *name,
                                  const noether_type *type, const void *data,
                                  size_t bytes, noether_value *value, noether_error *e);
/* An ONNX operator of operator set 17; outputs[0..n_outputs) are set. types gives the
 * outputs' types where they do not follow from the operands, NULL where they do.
 * NOETHER_ERR_SHAPE says why the operator does not take the operands. */
noether_status noether_add_node(noether_model *m, const char *op_type,
                                const noether_value *inputs, uint32_t n_inputs,
                                const noether_attribute *attributes,
                                uint32_t n_attributes, const noether_type *types,
                                noether_value *outputs, uint32_t n_outputs,
                                noether_error *e);
/* Makes a value an output of the model. Without any, all values that nobody reads are.
 */
noether_status noether_add_output(noether_model *m, noether_value value,
                                  const char *name, noether_error *e);
noether_status noether_value_type(const noether_model *m, noether_value value,
                                  noether_type *type, noether_error *e);

/* ---- optimizing ---- */

/* What a run has done. */
typedef struct noether_report noether_report;

/* The optimized model, checked against the original; the original's copy where nothing
 * better was found. report may be NULL. o may be NULL: defaults. NOETHER_ERR_MISMATCH
 * if the check fails. Not for a model that refers to other files. */
noether_status noether_optimize(const noether_model *m, const noether_options *o,
                                noether_model **result, noether_report **report,
                                noether_error *e);
/* From file to file, as the program does it. */
noether_status noether_optimize_file(const char *in, const char *out,
                                     const noether_options *o, noether_report **report,
                                     noether_error *e);
/* Seconds of the model on the options' device: the sum of its kernels. */
noether_status noether_model_cost(const noether_model *m, const noether_options *o,
                                  double *seconds, noether_error *e);

/* Seconds of the model as a whole, measured there: what the algebra does not speak
 * about is left out. NOETHER_ERR_ARG for a device that measures nothing. */
noether_status noether_model_time(const noether_model *m, const noether_options *o,
                                  double *seconds, noether_error *e);
/* Its kernels in order as a JSON list of {"operators", "tensor", "seconds"}. Freed with
 * noether_free. */
noether_status noether_model_kernels(const noether_model *m, const noether_options *o,
                                     char **json, noether_error *e);

/* The report that noether-optimize prints, and the one of its --json. The texts are the
 * report's. */
const char *noether_report_text(const noether_report *r);
const char *noether_report_json(const noether_report *r);
/* Did the run end early, by a time limit or the progress function? */
int noether_report_interrupted(const noether_report *r);
void noether_report_free(noether_report *r); /* NULL is fine */

void noether_free(void *p);

#ifdef __cplusplus
}
#endif

#endif
