/* SPDX-License-Identifier: Apache-2.0
 *
 * noether-run: computes a model by the reference executor.
 */
#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/options.h"
#include "onnx_io/run.h"
#include "onnx_io/run/npy.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *inputs_from, *out;
static int64_t seed = -1, max_memory = 8;
static noe_option_texts input_shapes;

static const noe_option options[] = {
    {"inputs", 'i', NOE_OPTION_TEXT, &inputs_from, 0, 0, "<path>",
     "folder with NAME.npy or input_N.pb, or an .npz file", 1},
    {"random", 0, NOE_OPTION_INT, &seed, 0, 9e15, "<seed>",
     "random numbers for inputs that are not given", 1},
    {"output", 'o', NOE_OPTION_TEXT, &out, 0, 0, "<path>",
     "folder for output_N.pb, or an .npz file", 1},
    {"input-shape", 0, NOE_OPTION_TEXTS, &input_shapes, 0, 0, "<name:2,3>",
     "shape of a random input with open sizes (else 1)", 1},
    {"max-memory", 0, NOE_OPTION_INT, &max_memory, 1, 1 << 20, "<GiB>",
     "limit for one tensor", 0},
};

static const char *(*const libraries[])(void) = {noe_npz_library, noe_hash_library,
                                                 NULL};

static const noe_program program = {
    .name = "noether-run",
    .operands = "MODEL.onnx",
    .summary = "Computes an ONNX model by the reference executor, node by node in each "
               "tensor's own type.",
    .epilogue =
        "A line for each output: name, type, shape, and of numbers the smallest,\n"
        "the largest and the mean. Random floats are normal; random integers 0 or\n"
        "1, which are valid indices almost everywhere.\n"
        "\n"
        "Examples:\n"
        "  noether-run model.onnx --random 1\n"
        "  noether-run model.onnx --inputs in.npz -o out.npz\n",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .libraries = libraries,
    .min_operands = 1,
    .max_operands = 1,
};

typedef struct job {
    noe_env env;
    noe_onnx_model *m;
    uint32_t n_in, n_out;
    noe_run_value **in, **out;
} job;

static bool is_npz(const char *path)
{
    size_t n = strlen(path);
    return n > 4 && strcmp(path + n - 4, ".npz") == 0;
}

/* ---- inputs ---- */

static noe_status get_inputs(job *j, noe_error *err)
{
    if (inputs_from)
        NOE_TRY(noe_run_read_inputs(j->m, inputs_from, j->in, err));
    for (uint32_t i = 0; i < j->n_in; i++) {
        if (!j->in[i] && !noe_run_input_is_optional(j->m, i) && seed < 0)
            return noe_fail(err, NOE_ERR_ARG,
                            "input '%s' is not given; --random makes numbers up",
                            noe_run_input_name(j->m, i));
        if (!j->in[i] && !noe_run_input_is_optional(j->m, i))
            NOE_TRY(noe_run_random(j->m, i, (uint64_t)seed, (size_t)max_memory << 30,
                                   &j->in[i], err));
    }
    return NOE_OK;
}

/* ---- outputs ---- */

static noe_status write_folder(const job *j, noe_error *err)
{
    if (mkdir(out, 0777) != 0 && errno != EEXIST)
        return noe_fail(err, NOE_ERR_IO, "%s: %s", out, strerror(errno));
    for (uint32_t i = 0; i < j->n_out; i++) {
        noe_buf path = {0};
        noe_buf_printf(&path, "%s/output_%u.pb", out, i);
        noe_status status =
            noe_run_write_pb(j->out[i], noe_run_output_name(j->m, i), path.text, err);
        noe_buf_clear(&path);
        NOE_TRY(status);
    }
    return NOE_OK;
}

static noe_status write_archive(const job *j, noe_error *err)
{
    const char **names = noe_calloc(j->n_out + 1, sizeof *names);
    for (uint32_t i = 0; i < j->n_out; i++)
        names[i] = noe_run_output_name(j->m, i);
    noe_status status =
        noe_npz_write(out, names, (const noe_run_value *const *)j->out, j->n_out, err);
    free(names);
    return status;
}

static void print_numbers(const noe_run_value *v)
{
    double *x = noe_malloc((size_t)v->n * sizeof *x + 1);
    double low = INFINITY, high = -INFINITY, total = 0;
    int64_t odd = 0;
    noe_run_load_f64(v, x);
    for (int64_t i = 0; i < v->n; i++) {
        low = fmin(low, x[i]);
        high = fmax(high, x[i]);
        total += x[i] / (double)v->n;
        odd += !isfinite(x[i]);
    }
    printf("  min %.6g  max %.6g  mean %.6g", low, high, total);
    if (odd)
        printf("  not finite %lld", (long long)odd);
    free(x);
}

static void print_output(const char *name, const noe_run_value *v)
{
    noe_buf b = {0};
    noe_dims_print(&b, &v->shape);
    if (v->form == NOE_FORM_TENSOR)
        printf("%s: %s%s", name, noe_elem_get((int)v->elem)->name, b.text);
    else
        printf("%s: %s of %lld", name,
               v->form == NOE_FORM_SEQUENCE ? "sequence" : "optional", (long long)v->n);
    if (v->form == NOE_FORM_TENSOR && v->n > 0 &&
        (noe_elem_is_float((int)v->elem) || noe_elem_is_integer((int)v->elem)))
        print_numbers(v);
    printf("\n");
    noe_buf_clear(&b);
}

static noe_status run(job *j, const char *path, noe_error *err)
{
    noe_onnx_options load = {.input_shapes = input_shapes.text,
                             .n_input_shapes = input_shapes.n};
    noe_run_options limits = {.max_bytes = (size_t)max_memory << 30};
    NOE_TRY(noe_onnx_load(path, &load, &j->env, &j->m, err));
    j->n_in = noe_run_n_inputs(j->m);
    j->n_out = noe_run_n_outputs(j->m);
    j->in = noe_calloc(j->n_in + 1, sizeof *j->in);
    j->out = noe_calloc(j->n_out + 1, sizeof *j->out);
    NOE_TRY(get_inputs(j, err));
    NOE_TRY(
        noe_run_model(j->m, &limits, (const noe_run_value *const *)j->in, j->out, err));
    if (out)
        NOE_TRY(is_npz(out) ? write_archive(j, err) : write_folder(j, err));
    for (uint32_t i = 0; i < j->n_out; i++)
        print_output(noe_run_output_name(j->m, i), j->out[i]);
    return NOE_OK;
}

int main(int argc, char **argv)
{
    const char *operands[1];
    int n;
    noe_error err;
    job j = {0};
    noe_options_parse(&program, argc, argv, operands, &n);
    noe_env_init_cli(&j.env, program.name, NOE_LOG_WARN);
    noe_status status = run(&j, operands[0], &err);
    for (uint32_t i = 0; i < j.n_in; i++)
        noe_run_value_release(j.in ? j.in[i] : NULL);
    for (uint32_t i = 0; i < j.n_out; i++)
        noe_run_value_release(j.out ? j.out[i] : NULL);
    free(j.in);
    free(j.out);
    noe_onnx_free(j.m);
    return status == NOE_OK ? 0 : noe_report(&program, &err);
}
