/* SPDX-License-Identifier: Apache-2.0
 *
 * The reference executor: computes a model as the ONNX standard says, node by node,
 * each value in its own element type. It knows nothing of the algebra and shares no
 * code with what rewrites, so that results can be judged by it.
 */
#ifndef NOE_ONNX_IO_RUN_H
#define NOE_ONNX_IO_RUN_H

#include "onnx_io/onnx_io.h"
#include "onnx_io/run/value.h"

typedef struct noe_run_options {
    size_t max_bytes;   /* of one tensor; 0: 8 GiB */
    uint64_t max_steps; /* nodes run, those of bodies each time; 0: no limit */
} noe_run_options;

/* Graph inputs that have no initializer come first in the model's order: these must be
 * given; the others may. */
uint32_t noe_run_n_inputs(const noe_onnx_model *m);
const char *noe_run_input_name(const noe_onnx_model *m, uint32_t i);
bool noe_run_input_is_optional(const noe_onnx_model *m, uint32_t i);
/* Declared element type and shape of input i (symbolic or unknown sizes: -1; unknown
 * rank: -1); false if it is no tensor. */
bool noe_run_input_type(const noe_onnx_model *m, uint32_t i, noe_elem *elem,
                        noe_dims *shape);
uint32_t noe_run_n_outputs(const noe_onnx_model *m);
const char *noe_run_output_name(const noe_onnx_model *m, uint32_t i);

/* Computes all outputs; inputs in the order above, NULL for the default. Each
 * outputs[i] is a new reference. The message names node and operator:
 * NOE_ERR_UNSUPPORTED where an operator is not known, NOE_ERR_SHAPE where a node cannot
 * have these inputs. */
NOE_NODISCARD noe_status noe_run_model(const noe_onnx_model *m,
                                       const noe_run_options *options,
                                       const noe_run_value *const *inputs,
                                       noe_run_value **outputs, noe_error *err);
/* Does the executor know this operator of the standard domain? */
bool noe_run_knows(const char *op_type);

/* Random numbers for input i: normal floats, integers 0 or 1; open sizes are 1. */
NOE_NODISCARD noe_status noe_run_random(const noe_onnx_model *m, uint32_t i,
                                        uint64_t seed, size_t max_bytes,
                                        noe_run_value **v, noe_error *err);

/* A file with one value as ONNX's own tests store them: a TensorProto; SequenceProto or
 * OptionalProto if the input or output i is declared so. A new reference. */
NOE_NODISCARD noe_status noe_run_read_input(const noe_onnx_model *m, uint32_t i,
                                            const char *path, noe_run_value **v,
                                            noe_error *err);
NOE_NODISCARD noe_status noe_run_read_output(const noe_onnx_model *m, uint32_t i,
                                             const char *path, noe_run_value **v,
                                             noe_error *err);

/* Inputs from a folder with NAME.npy or input_N.pb (numbered without those that have a
 * NAME.npy), or from an .npz file: a new reference for each that is there, the others
 * stay as they are. Fails where an archive has a name that is no input. */
NOE_NODISCARD noe_status noe_run_read_inputs(const noe_onnx_model *m, const char *path,
                                             noe_run_value **inputs, noe_error *err);

/* A tensor as such a file. */
NOE_NODISCARD noe_status noe_run_write_pb(const noe_run_value *v, const char *name,
                                          const char *path, noe_error *err);

#endif
