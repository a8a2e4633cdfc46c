/* SPDX-License-Identifier: Apache-2.0
 *
 * Pairs of ONNX models against each other in ONNX Runtime, all of its optimizations on,
 * by the project's protocol (rounds A B B A, thread CPU time where there is one).
 *
 * Usage: noe_bench_pair THREADS ROUNDS A.onnx B.onnx [A.onnx B.onnx ...]
 *
 * Prints a line a pair, tab-separated: A, B, seconds of each, ratio a/b with the ends
 * of its 95 % interval, rounds, largest relative difference of the outputs. The library
 * is found as by noether-optimize --device ort.
 */
#include "core/base/file.h"
#include "onnx_io/onnx_io.h"
#include "runtime/ort.h"
#include <stdio.h>
#include <stdlib.h>

static noe_status prepare(noe_backend *b, const char *path, noe_executor **e,
                          noe_error *err)
{
    char *data;
    size_t len;
    NOE_TRY(noe_file_read(path, UINT64_MAX, &data, &len, err));
    noe_status status = noe_ort_prepare_model(b, data, len, NULL, 0, ".", e, err);
    free(data);
    if (status != NOE_OK)
        noe_error_prefix(err, "%s: ", path);
    return status;
}

static noe_status compare(noe_backend *b, char **paths, int rounds, noe_error *err)
{
    noe_executor *e[2] = {NULL, NULL};
    noe_pair_measure m;
    double difference = 0;
    noe_status status = prepare(b, paths[0], &e[0], err);
    if (status == NOE_OK)
        status = prepare(b, paths[1], &e[1], err);
    if (status == NOE_OK)
        status = noe_ort_difference(e[0], e[1], &difference, err);
    if (status == NOE_OK)
        status = noe_time_pair(e[0], e[1], rounds, &m, err);
    for (int i = 0; i < 2; i++) {
        if (e[i])
            b->vt->release(e[i]);
    }
    if (status == NOE_OK) {
        printf("%s\t%s\t%.4g\t%.4g\t%.4f\t%.4f\t%.4f\t%d\t%.2g\n", paths[0], paths[1],
               m.seconds_a, m.seconds_b, m.ratio, m.ratio_lo, m.ratio_hi, m.n_rounds,
               difference);
        fflush(stdout);
    }
    return status;
}

int main(int argc, char **argv)
{
    noe_env env;
    noe_error err;
    noe_backend *b;
    if (argc < 5 || argc % 2 == 0) {
        fprintf(stderr, "usage: noe_bench_pair THREADS ROUNDS A B [A B ...]\n");
        return 2;
    }
    noe_env_init_cli(&env, "noe_bench_pair", NOE_LOG_WARN);
    env.n_threads = atoi(argv[1]);
    noe_status status = noe_ort_open(NULL, noe_onnx_encode, &env, &b, &err);
    if (status != NOE_OK) {
        fprintf(stderr, "noe_bench_pair: error: %s\n", err.text);
        return noe_status_exit_code(status);
    }
    for (int i = 3; i + 1 < argc; i += 2) {
        status = compare(b, argv + i, atoi(argv[2]), &err);
        if (status != NOE_OK)
            fprintf(stderr, "noe_bench_pair: error: %s\n", err.text);
    }
    b->vt->close(b);
    return noe_status_exit_code(status);
}
