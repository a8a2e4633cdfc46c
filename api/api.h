/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the library share: the objects behind include/noether.h.
 */
#ifndef NOE_API_API_H
#define NOE_API_API_H

#include "include/noether.h"
#include "onnx_io/builder.h"
#include "onnx_io/onnx_io.h"
#include "optimizer/command.h"

#define NOE_API __attribute__((visibility("default")))

struct noether_options {
    noe_command command;
    noe_option table[NOE_COMMAND_MAX_OPTIONS];
    noe_program program;
    noe_arena arena; /* values */
    noether_progress *progress;
    noether_log *log;
    void *progress_ctx, *log_ctx;
};

/* One of both: being built, or loaded. */
struct noether_model {
    noe_builder *builder;
    noe_onnx_model *onnx;
};

/* Copies an error out; returns its status. */
noether_status noe_api_status(noe_status status, const noe_error *err,
                              noether_error *e);
/* Takes a malloc'ed file over into a model. */
noe_status noe_api_adopt(char *data, size_t len, noether_model **m, noe_error *err);
/* The bytes of a model. *owned is to be freed, NULL where they are the model's. */
noe_status noe_api_bytes(const noether_model *m, const void **data, size_t *len,
                         char **owned, noe_error *err);

#endif
