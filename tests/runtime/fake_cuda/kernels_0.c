/* SPDX-License-Identifier: Apache-2.0 */
#define NOE_STORE    0
#define FAKE_KERNELS fake_kernels_0
#include "tests/runtime/fake_cuda/kernels.inc"
