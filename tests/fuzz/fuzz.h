/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NOE_TESTS_FUZZ_H
#define NOE_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* libFuzzer's entry: must return 0 and must not crash, leak or hang on any input. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
