/* SPDX-License-Identifier: Apache-2.0 */
#define NOE_STORE    1
#define FAKE_KERNELS fake_kernels_1
#include "tests/runtime/fake_cuda/kernels.inc"
