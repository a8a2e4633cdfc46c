/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NOE_TESTS_FUZZ_H
#define NOE_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* libFuzzer's entry: must return 0 and must not crash, leak or hang on any input. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* libFuzzer's too: changes the input in its room; a target may have it. */
__attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                                     size_t room, unsigned seed);

#endif
