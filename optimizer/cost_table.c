/* SPDX-License-Identifier: Apache-2.0 */
#include "optimizer/cost_table.h"
#include "core/base/file.h"
#include "core/base/hash.h"
#include "optimizer/cost_roofline.h"
#include <math.h>
#include <stdlib.h>

static char *kernel_text(noe_kernels *k, uint32_t i)
{
    noe_buf b = {0};
    noe_pool *pool = noe_pool_new();
    noe_graph *g = noe_kernel_graph(k, i, pool, false);
    noe_graph_print(&b, g);
    noe_graph_free(g);
    noe_pool_free(pool);
    return b.text;
}

static int by_hash(const void *a, const void *b)
{
    const noe_table_cost *x = a, *y = b;
    return (x->hash > y->hash) - (x->hash < y->hash);
}

static noe_status look_up(noe_cost_model *m, noe_kernels *k, uint32_t i,
                          double *seconds, noe_error *err)
{
    (void)err;
    const noe_table_costs *t = (const noe_table_costs *)m;
    char *text = kernel_text(k, i);
    noe_table_cost want = {noe_hash64(text, strlen(text), 0), 0};
    free(text);
    const noe_table_cost *found =
        t->n ? bsearch(&want, t->costs, t->n, sizeof want, by_hash) : NULL;
    *seconds = found ? found->seconds : INFINITY;
    return NOE_OK;
}

/* One line, without its end; *at moves behind it. */
static char *next_line(char **at)
{
    char *line = *at;
    size_t len = strcspn(line, "\n");
    *at = line + len + (line[len] == '\n');
    line[len] = '\0';
    return line;
}

static noe_status read_seconds(const char *line, int number, double *seconds,
                               noe_error *err)
{
    char *end;
    *seconds = strtod(line, &end);
    if (end == line || *end || !(*seconds >= 0) || isinf(*seconds))
        return noe_fail(err, NOE_ERR_PARSE,
                        "line %d: '%.60s' is not a number of seconds", number, line);
    return NOE_OK;
}

/* Kernels are compared by text, so each is brought into the form that we print. */
static noe_status add_kernel(noe_table_costs *t, const char *text, double seconds,
                             int number, noe_error *err)
{
    noe_pool *pool = noe_pool_new();
    noe_graph *g = NULL;
    noe_buf b = {0};
    noe_status status = noe_graph_parse(pool, text, &g, err);
    if (status == NOE_OK) {
        noe_graph_print(&b, g);
        noe_table_cost cost = {noe_hash64(b.text, b.len, 0), seconds};
        NOE_PUSH(t->costs, t->n, t->cap, cost);
    } else {
        noe_error_prefix(err, "the kernel that ends at line %d: ", number);
    }
    noe_buf_clear(&b);
    noe_graph_free(g);
    noe_pool_free(pool);
    return status;
}

static noe_status read_table(noe_table_costs *t, char *at, noe_error *err)
{
    noe_buf kernel = {0};
    double seconds = -1; /* none read yet */
    noe_status status = NOE_OK;
    for (int number = 1; status == NOE_OK; number++) {
        bool at_end = *at == '\0';
        char *line = next_line(&at);
        if (*line == '#')
            continue;
        if (*line && seconds < 0) {
            status = read_seconds(line, number, &seconds, err);
        } else if (*line) {
            noe_buf_printf(&kernel, "%s\n", line);
        } else if (seconds >= 0) {
            status = add_kernel(t, noe_buf_text(&kernel), seconds, number, err);
            noe_buf_clear(&kernel);
            seconds = -1;
        }
        if (at_end)
            break;
    }
    noe_buf_clear(&kernel);
    return status;
}

noe_status noe_table_costs_load(noe_table_costs *t, const char *path, noe_error *err)
{
    char *data;
    size_t len;
    *t = (noe_table_costs){.model = {.measure = look_up,
                                     .estimate = noe_roofline_seconds,
                                     .is_closed = true}};
    NOE_TRY(noe_file_read(path, UINT64_MAX, &data, &len, err));
    noe_status status = read_table(t, data, err);
    free(data);
    if (status != NOE_OK)
        noe_error_prefix(err, "%s: ", path);
    if (t->n > 0)
        qsort(t->costs, t->n, sizeof *t->costs, by_hash);
    return status;
}

void noe_table_costs_clear(noe_table_costs *t)
{
    free(t->costs);
    *t = (noe_table_costs){0};
}

/* ---- recording ---- */

static noe_status ask_and_record(noe_cost_model *m, noe_kernels *k, uint32_t i,
                                 double *seconds, noe_error *err)
{
    noe_cost_recorder *r = (noe_cost_recorder *)m;
    NOE_TRY(r->inner->measure(r->inner, k, i, seconds, err));
    if (isinf(*seconds))
        return NOE_OK;
    char *text = kernel_text(k, i);
    noe_buf_printf(&r->text, "%.9g\n%s\n", *seconds, text);
    free(text);
    return NOE_OK;
}

static double guess(const noe_cost_model *m, noe_kernels *k, uint32_t i)
{
    const noe_cost_recorder *r = (const noe_cost_recorder *)m;
    return r->inner->estimate ? r->inner->estimate(r->inner, k, i) : 0;
}

void noe_cost_recorder_init(noe_cost_recorder *r, noe_cost_model *inner)
{
    /* No second opinions: the file is to give what this run goes by. */
    *r = (noe_cost_recorder){.model = {.measure = ask_and_record,
                                       .estimate = guess,
                                       .is_closed = inner->is_closed},
                             .inner = inner};
}

void noe_cost_recorder_clear(noe_cost_recorder *r)
{
    noe_buf_clear(&r->text);
    *r = (noe_cost_recorder){0};
}
