/* SPDX-License-Identifier: Apache-2.0
 *
 * Values of a plan: their buffers, layouts and the steps that fill them.
 *
 * `pending` counts the uses of a value that are still to be planned. A buffer counts
 * those of all values in it, so that an emitter may overwrite its operand exactly if
 * the use being planned is the last one of everything the buffer holds.
 */
#include "runtime/onednn.h"
#include "runtime/measure.h"
#include "core/tensor.h"
#include <stdlib.h>

noe_status noe_dnn_check(const noe_dnn_plan *p, dnnl_status_t status, const char *what,
                         noe_error *err)
{
    if (status == dnnl_success)
        return NOE_OK;
    static const char *const names[] = {
        [dnnl_success] = "success",
        [dnnl_out_of_memory] = "out of memory",
        [dnnl_invalid_arguments] = "invalid arguments",
        [dnnl_unimplemented] = "unimplemented",
        [dnnl_iterator_ends] = "iterator ends",
        [dnnl_runtime_error] = "runtime error",
        [dnnl_not_required] = "not required",
    };
    const char *name = status < sizeof names / sizeof names[0] ? names[status] : "?";
    const noe_op_info *info =
        p->node < p->g->n_nodes && p->g->nodes[p->node].op < NOE_OP_COUNT
            ? noe_op_get(p->g->nodes[p->node].op)
            : NULL;
    return noe_fail(err, NOE_ERR_BACKEND, "onednn: node %u (%s): %s: status %d (%s)",
                    p->node, info ? info->name : "-", what, (int)status, name);
}

dnnl_memory_desc_t noe_dnn_plain_dims(int n, const dnnl_dim_t *dims)
{
    dnnl_memory_desc_t md;
    dnnl_dims_t d = {1}, strides = {1};
    dnnl_dim_t stride = 1;
    for (int i = n - 1; i >= 0; i--) {
        d[i] = dims[i];
        strides[i] = stride;
        stride *= dims[i] > 0 ? dims[i] : 1;
    }
    dnnl_status_t s =
        dnnl_memory_desc_init_by_strides(&md, n ? n : 1, d, dnnl_f32, strides);
    NOE_ASSERT(s == dnnl_success);
    return md;
}

dnnl_memory_desc_t noe_dnn_plain(const noe_shape *s)
{
    return noe_dnn_plain_dims(s->rank, s->dim);
}

dnnl_memory_desc_t noe_dnn_any(int n, const dnnl_dim_t *dims)
{
    dnnl_memory_desc_t md;
    dnnl_dims_t d;
    memcpy(d, dims, (size_t)n * sizeof d[0]);
    dnnl_status_t s =
        dnnl_memory_desc_init_by_tag(&md, n, d, dnnl_f32, dnnl_format_tag_any);
    NOE_ASSERT(s == dnnl_success);
    return md;
}

bool noe_dnn_is_plain(const dnnl_memory_desc_t *md)
{
    dnnl_memory_desc_t plain = noe_dnn_plain_dims(md->ndims, md->dims);
    return dnnl_memory_desc_equal(md, &plain);
}

/* Layouts besides C order, for 3, 4 and 5 axes. */
#define MIN_SPATIAL_RANK 3
#define MAX_SPATIAL_RANK 5
#define N_TAGS           3
static const dnnl_format_tag_t layout_tags[][N_TAGS] = {
    {dnnl_nCw16c, dnnl_nCw8c, dnnl_nwc},
    {dnnl_nChw16c, dnnl_nChw8c, dnnl_nhwc},
    {dnnl_nCdhw16c, dnnl_nCdhw8c, dnnl_ndhwc},
};

static bool has_tags(int n)
{
    return n >= MIN_SPATIAL_RANK && n <= MAX_SPATIAL_RANK;
}

static dnnl_memory_desc_t tagged(int n, const dnnl_dim_t *dims, int tag)
{
    dnnl_memory_desc_t md;
    dnnl_dims_t d;
    memcpy(d, dims, (size_t)n * sizeof d[0]);
    dnnl_status_t s = dnnl_memory_desc_init_by_tag(
        &md, n, d, dnnl_f32, layout_tags[n - MIN_SPATIAL_RANK][tag]);
    NOE_ASSERT(s == dnnl_success);
    return md;
}

/* Asks with a 1x1 convolution that keeps the channels. */
dnnl_memory_desc_t noe_dnn_liked(const noe_dnn_plan *p, const noe_shape *s)
{
    dnnl_memory_desc_t md = noe_dnn_plain(s);
    if (!has_tags(s->rank))
        return md;
    dnnl_dims_t dims = {s->dim[1], s->dim[1], 1, 1, 1}, ones = {1, 1, 1}, none = {0};
    dnnl_memory_desc_t image = noe_dnn_any(s->rank, s->dim);
    dnnl_memory_desc_t weights = noe_dnn_any(s->rank, dims);
    dnnl_convolution_desc_t desc;
    dnnl_primitive_desc_t pd = NULL;
    if (dnnl_convolution_forward_desc_init(
            &desc, dnnl_forward_inference, dnnl_convolution_direct, &image, &weights,
            NULL, &image, ones, none, none) == dnnl_success &&
        noe_dnn_describe(p, &desc, NULL, &pd, NULL) == NOE_OK && pd) {
        md = *noe_dnn_query(pd, dnnl_query_src_md);
        dnnl_primitive_desc_destroy(pd);
    }
    return md;
}

bool noe_dnn_same_layout(const dnnl_memory_desc_t *like, int n, const dnnl_dim_t *dims,
                         dnnl_memory_desc_t *md)
{
    *md = noe_dnn_plain_dims(n, dims);
    if (noe_dnn_is_plain(like))
        return true;
    if (like->ndims != n || !has_tags(n))
        return false;
    for (int tag = 0; tag < N_TAGS; tag++) {
        dnnl_memory_desc_t probe = tagged(n, like->dims, tag);
        if (!dnnl_memory_desc_equal(like, &probe))
            continue;
        *md = tagged(n, dims, tag);
        return true;
    }
    return false;
}

const noe_shape *noe_dnn_shape(const noe_dnn_plan *p, noe_ref r)
{
    return &p->g->nodes[r.node].types[0].shape;
}

bool noe_dnn_is_weight(const noe_dnn_plan *p, noe_ref r)
{
    return p->g->nodes[r.node].is_weight;
}

noe_status noe_dnn_weight_data(noe_dnn_plan *p, noe_ref r, float **data, noe_error *err)
{
    noe_dnn_value *v = &p->values[r.node];
    if (!v->plain && p->free_layout) {
        size_t n = (size_t)noe_shape_elements(noe_dnn_shape(p, r));
        v->plain = noe_arena_alloc(&p->scratch, (n + 1) * sizeof(float));
        noe_fill_random(v->plain, n, r.node);
    } else if (!v->plain) {
        NOE_TRY(noe_weight_value(p->g, r, &p->scratch, &v->plain, err));
    }
    *data = v->plain;
    return NOE_OK;
}

static uint32_t add_buffer(noe_dnn_plan *p, noe_dnn_store store,
                           const dnnl_memory_desc_t *md)
{
    noe_dnn_buffer b = {.store = store, .first = UINT32_MAX};
    b.bytes = dnnl_memory_desc_get_size(md);
    NOE_PUSH(p->buffers, p->n_buffers, p->cap_buffers, b);
    return p->n_buffers - 1;
}

noe_dnn_view noe_dnn_new_view(noe_dnn_plan *p, const dnnl_memory_desc_t *md)
{
    return (noe_dnn_view){add_buffer(p, NOE_DNN_ARENA, md), *md};
}

/* Runs a reorder now, between memory of ours. */
static noe_status reorder_now(const noe_dnn_plan *p, const dnnl_memory_desc_t *from_md,
                              const float *from, const dnnl_memory_desc_t *to_md,
                              void *to, noe_error *err)
{
    dnnl_primitive_desc_t pd = NULL;
    dnnl_primitive_t primitive = NULL;
    dnnl_memory_t mem[2] = {NULL, NULL};
    dnnl_status_t s = dnnl_reorder_primitive_desc_create(&pd, from_md, p->engine, to_md,
                                                         p->engine, NULL);
    if (s == dnnl_success)
        s = dnnl_primitive_create(&primitive, pd);
    if (s == dnnl_success)
        s = dnnl_memory_create(&mem[0], from_md, p->engine, (void *)(uintptr_t)from);
    if (s == dnnl_success)
        s = dnnl_memory_create(&mem[1], to_md, p->engine, to);
    const dnnl_exec_arg_t args[2] = {{DNNL_ARG_FROM, mem[0]}, {DNNL_ARG_TO, mem[1]}};
    if (s == dnnl_success)
        s = dnnl_primitive_execute(primitive, p->stream, 2, args);
    if (s == dnnl_success)
        s = dnnl_stream_wait(p->stream);
    dnnl_memory_destroy(mem[0]);
    dnnl_memory_destroy(mem[1]);
    dnnl_primitive_destroy(primitive);
    dnnl_primitive_desc_destroy(pd);
    return noe_dnn_check(p, s, "reorder of a weight", err);
}

noe_status noe_dnn_new_weight(noe_dnn_plan *p, const float *plain,
                              const dnnl_memory_desc_t *plain_md,
                              const dnnl_memory_desc_t *md, noe_dnn_view *out,
                              noe_error *err)
{
    *out = (noe_dnn_view){add_buffer(p, NOE_DNN_WEIGHT, md), *md};
    noe_dnn_buffer *b = &p->buffers[out->buffer];
    b->data = aligned_alloc(64, (b->bytes + 64) / 64 * 64);
    if (!b->data)
        return noe_fail(err, NOE_ERR_LIMIT, "no memory for a weight of %zu bytes",
                        b->bytes);
    memset(b->data, 0, b->bytes);
    if (dnnl_memory_desc_equal(md, plain_md)) {
        memcpy(b->data, plain, b->bytes);
        return NOE_OK;
    }
    return reorder_now(p, plain_md, plain, md, b->data, err);
}

static void remember_view(noe_dnn_value *v, const noe_dnn_view *view)
{
    if (v->n_views < NOE_DNN_MAX_VIEWS)
        v->views[v->n_views++] = *view;
}

void noe_dnn_decide(noe_dnn_plan *p, noe_ref r, const dnnl_memory_desc_t *md)
{
    noe_dnn_value *v = &p->values[r.node];
    noe_dnn_view view = {add_buffer(p, NOE_DNN_INPUT, md), *md};
    p->buffers[view.buffer].number = v->number;
    p->buffers[view.buffer].pending = v->pending;
    v->is_undecided = false;
    remember_view(v, &view);
}

noe_status noe_dnn_get(noe_dnn_plan *p, noe_ref r, const dnnl_memory_desc_t *liked,
                       noe_dnn_view *out, noe_error *err)
{
    noe_dnn_value *v = &p->values[r.node];
    NOE_ASSERT(v->is_known);
    dnnl_memory_desc_t plain = noe_dnn_plain(noe_dnn_shape(p, r));
    if (v->is_weight)
        return noe_dnn_get_as(p, r, liked ? liked : &plain, out, err);
    if (v->is_undecided)
        noe_dnn_decide(p, r, liked ? liked : &plain);
    *out = v->views[0];
    return NOE_OK;
}

noe_status noe_dnn_get_as(noe_dnn_plan *p, noe_ref r, const dnnl_memory_desc_t *md,
                          noe_dnn_view *out, noe_error *err)
{
    noe_dnn_value *v = &p->values[r.node];
    NOE_ASSERT(v->is_known);
    if (v->is_undecided)
        noe_dnn_decide(p, r, md);
    for (int i = 0; i < v->n_views; i++) {
        if (dnnl_memory_desc_equal(&v->views[i].md, md)) {
            *out = v->views[i];
            return NOE_OK;
        }
    }
    if (v->is_weight) {
        float *data = NULL;
        NOE_TRY(noe_dnn_weight_data(p, r, &data, err));
        dnnl_memory_desc_t plain = noe_dnn_plain(noe_dnn_shape(p, r));
        NOE_TRY(noe_dnn_new_weight(p, data, &plain, md, out, err));
    } else {
        *out = noe_dnn_new_view(p, md);
        p->buffers[out->buffer].pending = v->pending;
        NOE_TRY(noe_dnn_add_reorder(p, &v->views[0], out, err));
    }
    remember_view(v, out);
    return NOE_OK;
}

noe_status noe_dnn_get_plain(noe_dnn_plan *p, noe_ref r, noe_dnn_view *out,
                             noe_error *err)
{
    dnnl_memory_desc_t plain = noe_dnn_plain(noe_dnn_shape(p, r));
    return noe_dnn_get_as(p, r, &plain, out, err);
}

noe_status noe_dnn_get_plain_dims(noe_dnn_plan *p, noe_ref r, int n,
                                  const dnnl_dim_t *dims, noe_dnn_view *out,
                                  noe_error *err)
{
    NOE_TRY(noe_dnn_get_plain(p, r, out, err));
    out->md = noe_dnn_plain_dims(n, dims);
    return NOE_OK;
}

bool noe_dnn_can_overwrite(const noe_dnn_plan *p, const noe_dnn_view *view)
{
    const noe_dnn_buffer *b = &p->buffers[view->buffer];
    return b->store == NOE_DNN_ARENA && b->pending == 1;
}

void noe_dnn_set_value(noe_dnn_plan *p, uint32_t node, const noe_dnn_view *view)
{
    noe_dnn_value *v = &p->values[node];
    v->is_known = true;
    v->pending = p->uses[node];
    v->n_views = 0;
    p->buffers[view->buffer].pending += p->uses[node];
    remember_view(v, view);
}

static noe_dnn_step *push_step(noe_dnn_plan *p, noe_dnn_step_kind kind,
                               const noe_dnn_arg *args, int n_args)
{
    NOE_ASSERT(n_args <= NOE_DNN_MAX_ARGS);
    noe_dnn_step step = {.kind = kind, .node = p->node, .n_args = n_args};
    step.args = noe_arena_memdup(&p->arena, args, (size_t)n_args * sizeof *args);
    for (int i = 0; i < n_args; i++) {
        noe_dnn_buffer *b = &p->buffers[args[i].view.buffer];
        if (b->first == UINT32_MAX)
            b->first = p->n_steps;
        b->end = p->n_steps + 1;
    }
    NOE_PUSH(p->steps, p->n_steps, p->cap_steps, step);
    return &p->steps[p->n_steps - 1];
}

void noe_dnn_add_plain_step(noe_dnn_plan *p, noe_dnn_step_kind kind,
                            const noe_dnn_arg *args, int n_args)
{
    push_step(p, kind, args, n_args);
}

noe_status noe_dnn_add_step(noe_dnn_plan *p, dnnl_primitive_desc_t pd,
                            const noe_dnn_arg *args, int n_args, noe_error *err)
{
    dnnl_primitive_t primitive = NULL;
    dnnl_status_t s = dnnl_primitive_create(&primitive, pd);
    dnnl_primitive_desc_destroy(pd);
    NOE_TRY(noe_dnn_check(p, s, "primitive", err));
    push_step(p, NOE_DNN_PRIMITIVE, args, n_args)->primitive = primitive;
    return NOE_OK;
}

noe_status noe_dnn_add_reorder(noe_dnn_plan *p, const noe_dnn_view *from,
                               const noe_dnn_view *to, noe_error *err)
{
    dnnl_primitive_desc_t pd = NULL;
    /* oneDNN's reorder between equal layouts is slower than a copy of the bytes. */
    if (from->md.offset0 == 0 && dnnl_memory_desc_equal(&from->md, &to->md) &&
        dnnl_memory_desc_get_size(&to->md) == p->buffers[to->buffer].bytes) {
        push_step(p, NOE_DNN_COPY, (noe_dnn_arg[]){{0, *from}, {1, *to}}, 2);
        return NOE_OK;
    }
    NOE_TRY(noe_dnn_check(p,
                          dnnl_reorder_primitive_desc_create(&pd, &from->md, p->engine,
                                                             &to->md, p->engine, NULL),
                          "reorder", err));
    const noe_dnn_arg args[] = {{DNNL_ARG_FROM, *from}, {DNNL_ARG_TO, *to}};
    return noe_dnn_add_step(p, pd, args, 2, err);
}

noe_status noe_dnn_describe(const noe_dnn_plan *p, const void *op_desc,
                            dnnl_primitive_attr_t attr, dnnl_primitive_desc_t *pd,
                            noe_error *err)
{
    *pd = NULL;
    dnnl_status_t s = dnnl_primitive_desc_create(pd, op_desc, attr, p->engine, NULL);
    if (s == dnnl_unimplemented || s == dnnl_invalid_arguments) {
        *pd = NULL;
        return NOE_OK;
    }
    return noe_dnn_check(p, s, "primitive descriptor", err);
}

bool noe_dnn_is_slow(const_dnnl_primitive_desc_t pd)
{
    const char *name = "";
    dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name);
    return strstr(name, "ref") != NULL;
}

const dnnl_memory_desc_t *noe_dnn_query(const_dnnl_primitive_desc_t pd,
                                        dnnl_query_t what)
{
    return dnnl_primitive_desc_query_md(pd, what, 0);
}
