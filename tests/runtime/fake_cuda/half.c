/* SPDX-License-Identifier: Apache-2.0
 *
 * Stored numbers, by the compiler's own _Float16: not the module's conversions.
 */
#include "tests/runtime/fake_cuda/fake.h"
#include <string.h>

__extension__ typedef _Float16 half;

float fake_load(const void *p, int64_t i, int bytes, bool is_bf16)
{
    const char *at = (const char *)p + i * bytes;
    float x;
    half h;
    uint16_t bits;
    if (bytes == 4) {
        memcpy(&x, at, sizeof x);
    } else if (is_bf16) {
        memcpy(&bits, at, sizeof bits);
        uint32_t wide = (uint32_t)bits << 16;
        memcpy(&x, &wide, sizeof x);
    } else {
        memcpy(&h, at, sizeof h);
        x = (float)h;
    }
    return x;
}

void fake_store(void *p, int64_t i, float x, int bytes, bool is_bf16)
{
    char *at = (char *)p + i * bytes;
    if (bytes == 4) {
        memcpy(at, &x, sizeof x);
    } else if (is_bf16) {
        uint32_t wide;
        memcpy(&wide, &x, sizeof wide);
        wide += 0x7fff + (wide >> 16 & 1);
        uint16_t bits = (uint16_t)(wide >> 16);
        memcpy(at, &bits, sizeof bits);
    } else {
        half h = (half)x;
        memcpy(at, &h, sizeof h);
    }
}
