/* SPDX-License-Identifier: Apache-2.0
 *
 * NumPy's files: one array (.npy), or several in a ZIP archive (.npz).
 */
#ifndef NOE_ONNX_IO_RUN_NPY_H
#define NOE_ONNX_IO_RUN_NPY_H

#include "onnx_io/run/value.h"

const char *noe_npz_library(void); /* "zlib 1.2.13" */
/* One array. Types that NumPy lacks (bfloat16, float8) come as unsigned integers. */
NOE_NODISCARD noe_status noe_npy_read(const void *data, size_t len, noe_run_value **v,
                                      noe_error *err);
/* Strings, sequences and complex numbers have no form here. */
NOE_NODISCARD noe_status noe_npy_write(const noe_run_value *v, noe_buf *b,
                                       noe_error *err);

/* An archive that is read: entries by number. */
typedef struct noe_npz noe_npz;
NOE_NODISCARD noe_status noe_npz_open(const char *path, noe_npz **z, noe_error *err);
/* The same from memory; takes data (malloc'ed), also on failure. */
NOE_NODISCARD noe_status noe_npz_open_memory(char *data, size_t len, noe_npz **z,
                                             noe_error *err);
uint32_t noe_npz_count(const noe_npz *z);
const char *noe_npz_name(const noe_npz *z, uint32_t i); /* without ".npy" */
NOE_NODISCARD noe_status noe_npz_read(const noe_npz *z, uint32_t i, noe_run_value **v,
                                      noe_error *err);
void noe_npz_close(noe_npz *z);

/* Writes an archive, stored without compression, whole or not at all. */
NOE_NODISCARD noe_status noe_npz_write(const char *path, const char *const *names,
                                       const noe_run_value *const *values, uint32_t n,
                                       noe_error *err);

#endif
