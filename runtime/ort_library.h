/* SPDX-License-Identifier: Apache-2.0
 *
 * The user's own ONNX Runtime, found and loaded at run time. No header of it is needed:
 * the library exports one symbol, OrtGetApiBase, which leads to an append-only table of
 * functions (ort_slots.def).
 */
#ifndef NOE_RUNTIME_ORT_LIBRARY_H
#define NOE_RUNTIME_ORT_LIBRARY_H

#include "core/base/mem.h"
#include <stdbool.h>

typedef struct ort_status ort_status;
typedef struct ort_env ort_env;
typedef struct ort_options ort_options;
typedef struct ort_session ort_session;
typedef struct ort_value ort_value;
typedef struct ort_allocator ort_allocator;
typedef struct ort_memory ort_memory;
typedef struct ort_type_info ort_type_info;
typedef struct ort_tensor_info ort_tensor_info;

/* The oldest version of the table that has all our slots. */
#define NOE_ORT_API_VERSION 11

typedef struct noe_ort_library {
#define SLOT(POSITION, TYPE, NAME, PARAMETERS) TYPE(*NAME) PARAMETERS;
#include "runtime/ort_slots.def"
    void *handle;
    char version[32]; /* "1.20.1" */
} noe_ort_library;

/* Where the library is: the option's path if given; else $NOETHER_ORT; else the wheel
 * `onnxruntime` of the active Python environment ($VIRTUAL_ENV, $CONDA_PREFIX, then
 * the python3 that $PATH finds); else what the linker knows as libonnxruntime.so. *path
 * is malloc'ed. Where nothing is found the message says where it was looked for. */
NOE_NODISCARD noe_status noe_ort_find(const char *option, char **path, noe_error *err);
/* Never unloaded: its threads and destructors do not allow it. */
NOE_NODISCARD noe_status noe_ort_load(const char *path, noe_ort_library *lib,
                                      noe_error *err);
/* OK for NULL; else the message of the status, which is released. */
NOE_NODISCARD noe_status noe_ort_check(const noe_ort_library *lib, ort_status *status,
                                       const char *what, noe_error *err);
/* The newest operator set that this version is sure to know, at most 20. */
int noe_ort_opset(const char *version);

#endif
