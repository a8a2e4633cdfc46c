/* SPDX-License-Identifier: Apache-2.0
 *
 * conformance [--optimize 'PROGRAM {in} {out}'] FOLDER...: ONNX's own tests of
 * operators below the folders, each judged four times:
 *
 *   trip   the model written back without a rewrite has the bytes that it had
 * ("equal"), or computes the very same ("same") types  with declared output types left
 * out, the inferred ones are those of the stored outputs; integer inputs are constants
 * for this ("open": not all is known) run    the reference executor gives the stored
 * outputs, within the suite's tolerance opt    so does the model that the command made
 *
 * A verdict is pass (or equal, same), open, unsupported, fail, or "-" (not tried).
 * Prints a line a test: verdicts, operator, test, and for what is not a pass why. Exit
 * status 1 if anything failed.
 */
#include "core/base/file.h"
#include "core/graph.h"
#include "onnx_io/run.h"
#include "onnx.pb-c.h"
#include "tests/onnx_io/corpus.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MAX_VALUES 64
/* Of onnx.backend.test: relative, absolute. */
#define RTOL 1e-3
#define ATOL 1e-7

typedef struct verdict {
    const char *text;
    char why[1000];
} verdict;

typedef struct test {
    const char *path;
    char folder[600], name[200], operator[80];
    verdict trip, types, run, opt;
} test;

static const char *optimize;
static int n_failed;

static void judge(verdict *v, const char *text, const char *why)
{
    v->text = text;
    snprintf(v->why, sizeof v->why, "%s", why);
    for (char *p = v->why; *p; p++)
        *p = *p == '\n' || *p == '\t' ? ' ' : *p;
}

static void judge_status(verdict *v, noe_status status, const noe_error *err)
{
    judge(v, status == NOE_ERR_UNSUPPORTED ? "unsupported" : "fail", err->text);
}

/* ---- values ---- */

typedef struct data_set {
    noe_run_value *in[MAX_VALUES], *want[MAX_VALUES];
    uint32_t n_in, n_out;
} data_set;

static void clear_set(data_set *d)
{
    for (uint32_t i = 0; i < d->n_in; i++)
        noe_run_value_release(d->in[i]);
    for (uint32_t i = 0; i < d->n_out; i++)
        noe_run_value_release(d->want[i]);
}

/* Some files of older suites hold bf16 as uint16, and results cut off instead of
 * rounded: the declared type counts, and one step of it is allowed for. */
static void as_declared(noe_run_value *v, const noe_onnx_model *m, uint32_t i)
{
    noe_elem elem;
    noe_dims shape;
    if (v->form == NOE_FORM_TENSOR && v->elem == NOE_ELEM_U16 &&
        noe_run_input_type(m, i, &elem, &shape) && elem == NOE_ELEM_BF16)
        v->elem = elem;
}

/* Set number `set`; NOE_ERR_IO where there is none. Stored inputs are those without a
 * default, in order. */
static noe_status read_set(const test *t, const noe_onnx_model *m, int set, data_set *d,
                           noe_error *err)
{
    char path[900];
    uint32_t stored = 0;
    *d = (data_set){.n_in = noe_run_n_inputs(m), .n_out = noe_run_n_outputs(m)};
    if (d->n_in > MAX_VALUES || d->n_out > MAX_VALUES)
        return noe_fail(err, NOE_ERR_UNSUPPORTED, "too many inputs or outputs");
    snprintf(path, sizeof path, "%s/test_data_set_%d", t->folder, set);
    if (access(path, R_OK) != 0)
        return noe_fail(err, NOE_ERR_IO, "no data");
    for (uint32_t i = 0; i < d->n_in; i++) {
        snprintf(path, sizeof path, "%s/test_data_set_%d/input_%u.pb", t->folder, set,
                 stored);
        if (access(path, R_OK) != 0)
            continue;
        stored++;
        NOE_TRY(noe_run_read_input(m, i, path, &d->in[i], err));
        as_declared(d->in[i], m, i);
    }
    for (uint32_t i = 0; i < d->n_out; i++) {
        snprintf(path, sizeof path, "%s/test_data_set_%d/output_%u.pb", t->folder, set,
                 i);
        if (access(path, R_OK) != 0)
            return noe_fail(err, NOE_ERR_UNSUPPORTED, "no stored output %u", i);
        NOE_TRY(noe_run_read_output(m, i, path, &d->want[i], err));
    }
    return NOE_OK;
}

static noe_status differ(const noe_run_value *got, const noe_run_value *want,
                         noe_error *err)
{
    noe_buf b = {0};
    noe_dims_print(&b, &got->shape);
    noe_buf_puts(&b, ", want ");
    noe_dims_print(&b, &want->shape);
    noe_status status = noe_fail(err, NOE_ERR_MISMATCH, "form %d %s%s of %s",
                                 (int)got->form, noe_elem_get((int)got->elem)->name,
                                 b.text, noe_elem_get((int)want->elem)->name);
    noe_buf_clear(&b);
    return status;
}

static noe_status compare_floats(const noe_run_value *got, const noe_run_value *want,
                                 bool exact, noe_error *err)
{
    double rtol =
        got->elem == NOE_ELEM_BF16 && want->elem == NOE_ELEM_U16 ? 0x1p-7 : RTOL;
    noe_run_value stored = *want;
    stored.elem = got->elem;
    double *a = noe_malloc((size_t)got->n * sizeof *a + 1);
    double *b = noe_malloc((size_t)got->n * sizeof *b + 1);
    noe_status status = NOE_OK;
    noe_run_load_f64(got, a);
    noe_run_load_f64(&stored, b);
    for (int64_t i = 0; i < got->n && status == NOE_OK; i++) {
        bool same = a[i] == b[i] || (isnan(a[i]) && isnan(b[i]));
        bool close = isfinite(a[i]) && isfinite(b[i]) &&
                     fabs(a[i] - b[i]) <= ATOL + rtol * fabs(b[i]);
        if (!same && (exact || !close))
            status = noe_fail(err, NOE_ERR_MISMATCH, "element %lld is %.9g, want %.9g",
                              (long long)i, a[i], b[i]);
    }
    free(a);
    free(b);
    return status;
}

static bool same_elem(const noe_run_value *got, const noe_run_value *want)
{
    return got->elem == want->elem ||
           (got->elem == NOE_ELEM_BF16 && want->elem == NOE_ELEM_U16);
}

static noe_status compare(const noe_run_value *got, const noe_run_value *want,
                          bool exact, noe_error *err)
{
    if (got->form != want->form || got->n != want->n ||
        (got->form == NOE_FORM_TENSOR &&
         (!same_elem(got, want) || !noe_dims_eq(&got->shape, &want->shape))))
        return differ(got, want, err);
    for (int64_t i = 0; got->form == NOE_FORM_SEQUENCE && i < got->n; i++)
        NOE_TRY(compare(got->items[i], want->items[i], exact, err));
    if (got->form != NOE_FORM_TENSOR)
        return NOE_OK;
    if (noe_elem_is_float((int)got->elem))
        return compare_floats(got, want, exact, err);
    for (int64_t i = 0; got->elem == NOE_ELEM_STRING && i < got->n; i++) {
        if (strcmp(noe_run_text(got, i), noe_run_text(want, i)) != 0)
            return noe_fail(err, NOE_ERR_MISMATCH, "string %lld is '%s', want '%s'",
                            (long long)i, noe_run_text(got, i), noe_run_text(want, i));
    }
    size_t width = (size_t)noe_elem_get((int)got->elem)->bytes;
    for (int64_t i = 0; got->elem != NOE_ELEM_STRING && i < got->n; i++) {
        if (memcmp((char *)got->data + (size_t)i * width,
                   (char *)want->data + (size_t)i * width, width) != 0)
            return noe_fail(err, NOE_ERR_MISMATCH, "element %lld differs",
                            (long long)i);
    }
    return NOE_OK;
}

/* ---- running ---- */

/* Runs m on a set; where `first` holds, the results are kept there. */
static noe_status run_set(const noe_onnx_model *m, const data_set *d, bool exact,
                          noe_run_value *const *against, noe_run_value **keep,
                          noe_error *err)
{
    noe_run_value *out[MAX_VALUES] = {0};
    noe_status status =
        noe_run_model(m, NULL, (const noe_run_value *const *)d->in, out, err);
    for (uint32_t i = 0; i < d->n_out && status == NOE_OK && against; i++) {
        status = compare(out[i], against[i], exact, err);
        if (status != NOE_OK)
            noe_error_prefix(err, "output %u: ", i);
    }
    for (uint32_t i = 0; i < d->n_out; i++) {
        if (keep && status == NOE_OK)
            keep[i] = out[i];
        else
            noe_run_value_release(out[i]);
    }
    return status;
}

static void judge_run(test *t, const noe_onnx_model *m, verdict *v)
{
    noe_error err;
    int n = 0;
    for (;; n++) {
        data_set d;
        noe_status status = read_set(t, m, n, &d, &err);
        bool is_end = status == NOE_ERR_IO && n > 0;
        if (status == NOE_OK)
            status = run_set(m, &d, false, d.want, NULL, &err);
        clear_set(&d);
        if (is_end)
            break;
        if (status != NOE_OK) {
            judge_status(v, status, &err);
            return;
        }
    }
    judge(v, "pass", "");
}

/* ---- the round trip ---- */

static noe_status same_results(const test *t, const noe_onnx_model *m,
                               const noe_onnx_model *again, noe_error *err)
{
    data_set d;
    noe_run_value *first[MAX_VALUES] = {0};
    noe_status status = read_set(t, m, 0, &d, err);
    if (status == NOE_OK)
        status = run_set(m, &d, true, NULL, first, err);
    if (status == NOE_OK)
        status = run_set(again, &d, true, first, NULL, err);
    for (uint32_t i = 0; i < d.n_out; i++)
        noe_run_value_release(first[i]);
    clear_set(&d);
    return status;
}

static void judge_trip(test *t, const noe_onnx_model *m, const char *was,
                       size_t was_len)
{
    noe_error err;
    char *is;
    size_t len;
    noe_onnx_model *again = NULL;
    noe_status status = noe_onnx_serialize(m, noe_onnx_graph(m), &is, &len, &err);
    if (status != NOE_OK) {
        judge_status(&t->trip, status, &err);
        return;
    }
    if (len == was_len && memcmp(is, was, len) == 0) {
        judge(&t->trip, "equal", "");
    } else {
        status = noe_onnx_load_memory(is, len, NULL, NULL, &again, &err);
        if (status == NOE_OK)
            status = same_results(t, m, again, &err);
        if (status == NOE_OK)
            judge(&t->trip, "same", "");
        else
            judge_status(&t->trip, status, &err);
    }
    noe_onnx_free(again);
    free(is);
}

/* ---- inference ---- */

static void add_initializer(Onnx__GraphProto *g, Onnx__TensorProto *t)
{
    g->initializer =
        noe_realloc(g->initializer, (g->n_initializer + 1) * sizeof *g->initializer);
    g->initializer[g->n_initializer++] = t;
}

static bool has_initializer(const Onnx__GraphProto *g, const char *name)
{
    for (size_t i = 0; i < g->n_initializer; i++) {
        if (strcmp(g->initializer[i]->name, name) == 0)
            return true;
    }
    return false;
}

/* Shapes, axes and scales are constants in real models: integer inputs (and scales)
 * become initializers with their stored value. */
static void freeze(const test *t, Onnx__GraphProto *g)
{
    size_t n = 0, stored = 0;
    for (size_t i = 0; i < g->n_input; i++) {
        Onnx__ValueInfoProto *info = g->input[i];
        char path[900], *data;
        size_t len;
        Onnx__TensorProto *tensor = NULL;
        bool is_tensor = info->type && info->type->tensor_type;
        snprintf(path, sizeof path, "%s/test_data_set_0/input_%zu.pb", t->folder,
                 stored);
        stored += !has_initializer(g, info->name);
        if (is_tensor && !has_initializer(g, info->name) &&
            noe_file_read(path, INT32_MAX, &data, &len, NULL) == NOE_OK) {
            tensor = onnx__tensor_proto__unpack(NULL, len, (uint8_t *)data);
            free(data);
        }
        bool is_setting = tensor && (noe_elem_is_integer(tensor->data_type) ||
                                     strcmp(info->name, "scales") == 0 ||
                                     strcmp(info->name, "roi") == 0);
        if (is_setting) {
            free(tensor->name);
            tensor->name = noe_strdup(info->name);
            add_initializer(g, tensor);
            onnx__value_info_proto__free_unpacked(info, NULL);
            continue;
        }
        if (tensor)
            onnx__tensor_proto__free_unpacked(tensor, NULL);
        g->input[n++] = info;
    }
    g->n_input = n;
}

static void forget_types(Onnx__GraphProto *g)
{
    for (size_t i = 0; i < g->n_output; i++) {
        if (g->output[i]->type)
            onnx__type_proto__free_unpacked(g->output[i]->type, NULL);
        g->output[i]->type = NULL;
    }
    for (size_t i = 0; i < g->n_value_info; i++)
        onnx__value_info_proto__free_unpacked(g->value_info[i], NULL);
    g->n_value_info = 0;
}

/* Compares what is known; *open: not all is. */
static noe_status compare_type(const noe_type *type, const noe_run_value *want,
                               bool *open, noe_error *err)
{
    int32_t elem = noe_dtype_to_onnx(type->dtype);
    bool fits = type->dtype == NOE_UNKNOWN || elem == (int32_t)want->elem ||
                (type->dtype == NOE_BF16 && want->elem == NOE_ELEM_U16);
    *open = *open || type->dtype == NOE_UNKNOWN || !noe_shape_is_static(&type->shape);
    if (type->shape.rank != NOE_RANK_UNKNOWN) {
        fits = fits && type->shape.rank == want->shape.rank;
        for (int i = 0; fits && i < type->shape.rank; i++)
            fits = type->shape.dim[i] < 0 || type->shape.dim[i] == want->shape.dim[i];
    }
    if (fits)
        return NOE_OK;
    noe_buf b = {0};
    noe_type_print(&b, type);
    noe_buf_printf(&b, ", want %s", noe_elem_get((int)want->elem)->name);
    noe_dims_print(&b, &want->shape);
    noe_status status = noe_fail(err, NOE_ERR_MISMATCH, "%s", b.text);
    noe_buf_clear(&b);
    return status;
}

static noe_status check_types(test *t, const noe_onnx_model *whole,
                              const noe_onnx_model *m, bool *open, noe_error *err)
{
    data_set d;
    const noe_graph *g = noe_onnx_graph(m);
    noe_status status = read_set(t, whole, 0, &d, err);
    for (uint32_t i = 0; i < d.n_out && status == NOE_OK; i++) {
        if (d.want[i]->form != NOE_FORM_TENSOR)
            *open = true;
        else
            status = compare_type(noe_graph_type(g, g->outputs[i].ref), d.want[i], open,
                                  err);
    }
    clear_set(&d);
    return status;
}

static void judge_types(test *t, const noe_onnx_model *m, const char *data, size_t len)
{
    noe_error err;
    bool open = false;
    Onnx__ModelProto *proto =
        onnx__model_proto__unpack(NULL, len, (const uint8_t *)data);
    freeze(t, proto->graph);
    forget_types(proto->graph);
    size_t n = onnx__model_proto__get_packed_size(proto);
    uint8_t *bytes = noe_malloc(n);
    onnx__model_proto__pack(proto, bytes);
    onnx__model_proto__free_unpacked(proto, NULL);
    noe_onnx_model *bare = NULL;
    noe_status status = noe_onnx_load_memory(bytes, n, NULL, NULL, &bare, &err);
    if (status == NOE_OK)
        status = check_types(t, m, bare, &open, &err);
    if (status != NOE_OK)
        judge_status(&t->types, status, &err);
    else
        judge(&t->types, open ? "open" : "pass", "");
    noe_onnx_free(bare);
    free(bytes);
}

/* ---- the optimized model ---- */

static void judge_optimized(test *t)
{
    noe_error err;
    char out[] = "/tmp/conformanceXXXXXX";
    noe_buf command = {0};
    int fd = mkstemp(out);
    noe_onnx_model *m = NULL;
    if (fd < 0)
        return;
    close(fd);
    for (const char *p = optimize; *p; p++) {
        if (strncmp(p, "{in}", 4) == 0)
            noe_buf_printf(&command, "'%s'", t->path), p += 3;
        else if (strncmp(p, "{out}", 5) == 0)
            noe_buf_printf(&command, "%s", out), p += 4;
        else
            noe_buf_add(&command, p, 1);
    }
    int code = system(command.text);
    if (code != 0)
        judge(&t->opt, "fail", "the command failed");
    else if (noe_onnx_load(out, NULL, NULL, &m, &err) != NOE_OK)
        judge(&t->opt, "fail", err.text);
    else
        judge_run(t, m, &t->opt);
    noe_onnx_free(m);
    noe_buf_clear(&command);
    unlink(out);
}

/* ---- one test ---- */

/* The operator, if the model has one only. */
static void name_operator(test *t, const char *data, size_t len)
{
    Onnx__ModelProto *m = onnx__model_proto__unpack(NULL, len, (const uint8_t *)data);
    const char *name = "";
    for (size_t i = 0; m && m->graph && i < m->graph->n_node; i++) {
        const Onnx__NodeProto *n = m->graph->node[i];
        bool other = n->domain && *n->domain && strcmp(n->domain, "ai.onnx") != 0;
        name = other                                     ? "other domains"
               : i == 0 || strcmp(name, n->op_type) == 0 ? n->op_type
                                                         : "several";
        if (other || strcmp(name, "several") == 0)
            break;
    }
    snprintf(t->operator, sizeof t->operator, "%s", name);
    if (m)
        onnx__model_proto__free_unpacked(m, NULL);
}

static void print(const test *t)
{
    const verdict *all[] = {&t->trip, &t->types, &t->run, &t->opt};
    printf("%s\t%s\t%s\t%s\t%s\t%s\t", t->trip.text, t->types.text, t->run.text,
           t->opt.text, t->operator, t->name);
    for (int i = 0; i < 4; i++) {
        if (*all[i]->why)
            printf(" %s: %s;", (const char *[]){"trip", "types", "run", "opt"}[i],
                   all[i]->why);
        n_failed += strcmp(all[i]->text, "fail") == 0;
    }
    printf("\n");
    fflush(stdout);
}

static void judge_model(void *ctx, const char *path)
{
    test t = {.path = path};
    noe_error err;
    char *data;
    size_t len;
    noe_onnx_model *m = NULL;
    (void)ctx;
    verdict *all[] = {&t.trip, &t.types, &t.run, &t.opt};
    for (int i = 0; i < 4; i++)
        judge(all[i], "-", "");
    snprintf(t.folder, sizeof t.folder, "%.*s", (int)(strrchr(path, '/') - path), path);
    snprintf(t.name, sizeof t.name, "%s", strrchr(t.folder, '/') + 1);
    noe_status status = noe_file_read(path, INT32_MAX, &data, &len, &err);
    if (status == NOE_OK) {
        name_operator(&t, data, len);
        status = noe_onnx_load(path, NULL, NULL, &m, &err);
    }
    if (status != NOE_OK) {
        judge_status(&t.trip, status, &err);
    } else {
        judge_run(&t, m, &t.run);
        judge_trip(&t, m, data, len);
        judge_types(&t, m, data, len);
        if (optimize && strcmp(t.run.text, "pass") == 0)
            judge_optimized(&t);
    }
    noe_onnx_free(m);
    free(data);
    print(&t);
}

int main(int argc, char **argv)
{
    int n = 0, i = 1;
    if (argc > 2 && strcmp(argv[1], "--optimize") == 0) {
        optimize = argv[2];
        i = 3;
    }
    for (; i < argc; i++)
        n += noe_each_file(argv[i], "model.onnx", judge_model, NULL);
    if (n == 0)
        fprintf(stderr, "conformance: no model.onnx below the folders\n");
    return n == 0 ? 77 : n_failed > 0;
}
