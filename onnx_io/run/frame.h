/* SPDX-License-Identifier: Apache-2.0
 *
 * Names in scope while nodes are executed: of the main graph, of a body (which sees the
 * names around it), or of a function (which does not).
 */
#ifndef NOE_ONNX_IO_RUN_FRAME_H
#define NOE_ONNX_IO_RUN_FRAME_H

#include "onnx_io/names.h"
#include "onnx_io/run/call.h"

typedef struct noe_frame {
    struct noe_frame
        *outer;      /* whose names are seen too, and whose caller's attributes */
    bool is_closed;  /* names of outer are not seen: a function */
    noe_names names; /* -> index into values */
    noe_run_value **values;
    uint32_t n, cap;
    const Onnx__FunctionProto *function; /* the frame is a call of it */
    const Onnx__NodeProto *caller;       /* by this node */
    const noe_names *uses; /* how often each name is read here, or NULL: keep all */
} noe_frame;

typedef struct noe_run {
    const noe_onnx_model *m;
    size_t max_bytes;          /* of one tensor */
    uint64_t steps, max_steps; /* nodes run, and how many may be */
    uint64_t seed;             /* of random operators */
    int depth;                 /* nested bodies and functions */
    const noe_env *env;
    void (*trace)(void *ctx, const Onnx__NodeProto *node,
                  const noe_run_value *const *out);
    void *trace_ctx;
} noe_run;

#endif
