/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/support.h"
#include "core/base/mem.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

void noe_print_skip(const char *test, const char *reason)
{
    printf("SKIP %s: skipped: %s\n", test, reason);
    fflush(stdout);
}

bool noe_contains(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

bool noe_close_f32(const float *got, const float *want, size_t n, double tol,
                   size_t *worst)
{
    double scale = 0, largest = 0;
    for (size_t i = 0; i < n; i++) {
        if (isfinite(want[i]))
            scale = fmax(scale, fabs((double)want[i]));
    }
    *worst = 0;
    for (size_t i = 0; i < n; i++) {
        double diff;
        if (isfinite(want[i]) && isfinite(got[i]))
            diff = fabs((double)got[i] - (double)want[i]) / (scale > 0 ? scale : 1);
        else if (isnan(want[i]) ? isnan(got[i]) : got[i] == want[i])
            diff = 0;
        else
            diff = INFINITY;
        if (diff > largest) {
            largest = diff;
            *worst = i;
        }
    }
    return largest <= tol;
}

void noe_tmp_make(char *path, size_t cap)
{
    const char *base = getenv("TMPDIR");
    snprintf(path, cap, "%s/noether-test-XXXXXX", base ? base : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(path));
}

void noe_tmp_remove(const char *path)
{
    noe_buf command = {0};
    noe_buf_printf(&command, "rm -rf '%s'", path);
    ck_assert_int_eq(system(command.text), 0);
    noe_buf_clear(&command);
}

int noe_run_command(const char *command, char **output)
{
    noe_buf full = {0}, out = {0};
    noe_buf_printf(&full, "( %s ) 2>&1", command);
    FILE *pipe = popen(full.text, "r");
    ck_assert_ptr_nonnull(pipe);
    char chunk[4096];
    size_t got;
    while ((got = fread(chunk, 1, sizeof chunk, pipe)) > 0)
        noe_buf_add(&out, chunk, got);
    int status = pclose(pipe);
    noe_buf_clear(&full);
    noe_buf_puts(&out, "");
    *output = out.text;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
