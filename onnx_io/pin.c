/* SPDX-License-Identifier: Apache-2.0
 *
 * A pin may only fill in what the model leaves open: a size that the model states and
 * the pin contradicts is an error, since constants inside the model may rely on it.
 * Input types are read twice, the second time with the values of pinned symbols.
 */
#include "onnx_io/pin.h"
#include <errno.h>
#include <stdlib.h>

typedef struct pin {
    uint32_t input;
    noe_shape shape;
} pin;

static noe_status parse_dims(const char *text, noe_shape *shape, noe_error *err)
{
    *shape = (noe_shape){0};
    for (const char *p = text; *p;) {
        char *end;
        errno = 0;
        long long dim = strtoll(p, &end, 10);
        if (end == p || errno || dim < 0 || dim > NOE_MAX_ELEMENTS || *p == '+' ||
            (*end && *end != ',' && *end != 'x') || (*end && !end[1]))
            return noe_fail(err, NOE_ERR_ARG, "'%s' is no list of sizes", text);
        if (shape->rank == NOE_MAX_RANK)
            return noe_fail(err, NOE_ERR_ARG, "more than %d sizes", NOE_MAX_RANK);
        shape->dim[shape->rank++] = dim;
        p = *end ? end + 1 : end;
    }
    if (noe_shape_elements(shape) < 0)
        return noe_fail(err, NOE_ERR_ARG, "'%s' has more than %lld elements", text,
                        (long long)NOE_MAX_ELEMENTS);
    return NOE_OK;
}

static noe_status find_input(const noe_onnx_model *m, const char *name, size_t len,
                             uint32_t *input, noe_error *err)
{
    for (uint32_t i = 0; i < m->n_inputs; i++) {
        const char *candidate = m->inputs[i]->name;
        if (candidate && strlen(candidate) == len &&
            memcmp(candidate, name, len) == 0) {
            *input = i;
            return NOE_OK;
        }
    }
    return noe_fail(err, NOE_ERR_ARG, "the model has no input '%.*s'", (int)len, name);
}

/* The name ends at the last colon: names may contain some themselves. */
static noe_status parse_pin(const noe_onnx_model *m, const char *text, pin *p,
                            noe_error *err)
{
    const char *colon = strrchr(text, ':');
    if (!colon)
        return noe_fail(err, NOE_ERR_ARG, "want NAME:SIZE,SIZE,...");
    NOE_TRY(find_input(m, text, (size_t)(colon - text), &p->input, err));
    return parse_dims(colon + 1, &p->shape, err);
}

static void pin_symbol(noe_onnx_model *m, int64_t dim, int64_t value)
{
    uint32_t symbol = (uint32_t)(NOE_DIM_UNKNOWN - 1 - dim);
    m->symbol_dims[symbol] = value;
}

static noe_status apply_pin(noe_onnx_model *m, const pin *p, noe_error *err)
{
    noe_type *type = &m->pinned[p->input];
    const Onnx__TypeProto *proto = m->inputs[p->input]->type;
    if (!proto || !proto->tensor_type)
        return noe_fail(err, NOE_ERR_ARG, "the input is no tensor");
    const noe_shape *declared = &type->shape;
    if (declared->rank != NOE_RANK_UNKNOWN && declared->rank != p->shape.rank)
        return noe_fail(err, NOE_ERR_ARG, "%d sizes, the input has rank %d",
                        p->shape.rank, declared->rank);
    for (int i = 0; i < declared->rank; i++) {
        int64_t dim = declared->dim[i], want = p->shape.dim[i];
        if (dim < NOE_DIM_UNKNOWN && m->symbol_dims[NOE_DIM_UNKNOWN - 1 - dim] >= 0)
            dim = m->symbol_dims[NOE_DIM_UNKNOWN - 1 - dim];
        if (dim >= 0 && dim != want)
            return noe_fail(err, NOE_ERR_ARG, "size %d is %lld, the model has %lld", i,
                            (long long)want, (long long)dim);
        if (dim < NOE_DIM_UNKNOWN)
            pin_symbol(m, dim, want);
    }
    type->shape = p->shape;
    m->is_pinned[p->input] = true;
    return NOE_OK;
}

static noe_status read_input_type(noe_onnx_model *m, uint32_t i, noe_type *type,
                                  noe_error *err)
{
    const Onnx__ValueInfoProto *input = m->inputs[i];
    noe_status status = noe_onnx_read_type(m, input->type, type, err);
    if (status != NOE_OK)
        noe_error_prefix(err, "graph input '%s': ", input->name ? input->name : "");
    return status;
}

static noe_status apply_pins(noe_onnx_model *m, const noe_onnx_options *options,
                             noe_error *err)
{
    for (int i = 0; i < options->n_input_shapes; i++) {
        pin p;
        noe_status status = parse_pin(m, options->input_shapes[i], &p, err);
        if (status == NOE_OK)
            status = apply_pin(m, &p, err);
        if (status != NOE_OK) {
            noe_error_prefix(err, "input shape '%s': ", options->input_shapes[i]);
            return status;
        }
    }
    return NOE_OK;
}

noe_status noe_onnx_pin_inputs(noe_onnx_model *m, const noe_onnx_options *options,
                               noe_error *err)
{
    m->pinned = NOE_NEW_N(&m->arena, noe_type, m->n_inputs);
    m->is_pinned = NOE_NEW_N(&m->arena, bool, m->n_inputs);
    for (uint32_t i = 0; i < m->n_inputs; i++)
        NOE_TRY(read_input_type(m, i, &m->pinned[i], err));
    if (!options || options->n_input_shapes == 0)
        return NOE_OK;
    m->n_symbol_dims = m->symbols.n;
    m->symbol_dims = NOE_NEW_N(&m->arena, int64_t, m->symbols.n);
    for (uint32_t i = 0; i < m->n_symbol_dims; i++)
        m->symbol_dims[i] = -1;
    NOE_TRY(apply_pins(m, options, err));
    for (uint32_t i = 0; i < m->n_inputs; i++) {
        noe_type again;
        if (m->is_pinned[i])
            continue;
        NOE_TRY(read_input_type(m, i, &again, err));
        m->is_pinned[i] =
            again.shape.rank > 0 && again.shape.rank <= NOE_MAX_RANK &&
            memcmp(&again.shape, &m->pinned[i].shape, sizeof again.shape) != 0;
        m->pinned[i] = again;
    }
    return NOE_OK;
}
