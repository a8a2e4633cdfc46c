/* SPDX-License-Identifier: Apache-2.0
 *
 * Models that others made: the folders ../shared/models and ../shared/cases, and the
 * ONNX backend tests that Debian packages.
 */
#ifndef NOE_TESTS_ONNX_IO_CORPUS_H
#define NOE_TESTS_ONNX_IO_CORPUS_H

/* Calls fn with the path of each file below folder that is called `name` (or, if that
 * starts with a dot, ends in it), sorted. Returns how many there were; 0 if there is no
 * such folder. */
int noe_each_file(const char *folder, const char *name,
                  void (*fn)(void *ctx, const char *path), void *ctx);

#define NOE_BACKEND_TESTS "/usr/share/libonnx-testdata/data"

#endif
