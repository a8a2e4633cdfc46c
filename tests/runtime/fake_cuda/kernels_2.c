/* SPDX-License-Identifier: Apache-2.0 */
#define NOE_STORE    2
#define FAKE_KERNELS fake_kernels_2
#include "tests/runtime/fake_cuda/kernels.inc"
