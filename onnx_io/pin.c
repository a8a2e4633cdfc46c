/* SPDX-License-Identifier: Apache-2.0
 *
 * A pin may only fill in what the model leaves open: a size that the model states and
 * the pin contradicts is an error, since constants inside the model may rely on it.
 * Input types are read twice, the second time with the values of pinned symbols.
 * Assumptions come after the pins and are not written.
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

/* The types of inputs that nobody spoke of, with what is known of symbols by now. */
static noe_status spread(noe_onnx_model *m, noe_error *err)
{
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

/* ---- assumptions ---- */

static noe_status add_size(noe_onnx_model *m, int64_t assumed, int attempt,
                           noe_error *err)
{
    if (assumed < 1)
        return noe_fail(err, NOE_ERR_ARG, "size %lld is not at least 1",
                        (long long)assumed);
    if (!noe_open_add(m->open, assumed, attempt))
        return noe_fail(err, NOE_ERR_LIMIT, "more than %d open sizes", NOE_MAX_OPEN);
    /* The first primes are those that graph and pool know. */
    if (m->over_primes) {
        int64_t *first = &m->open->at[NOE_OPEN_FIRST][m->open->n - 1];
        int64_t *taken = &m->open->at[m->assumed_set][m->open->n - 1];
        int64_t kept = *first;
        *first = *taken;
        *taken = kept;
    }
    return NOE_OK;
}

/* What stands for an open size in the graph. */
static int64_t stand_in(const noe_onnx_model *m, int64_t size)
{
    return m->open->at[m->over_primes ? NOE_OPEN_FIRST : m->assumed_set][size];
}

static noe_status assume(noe_onnx_model *m, const pin *p, int attempt,
                         int64_t *symbol_of, noe_error *err)
{
    noe_shape *s = &m->pinned[p->input].shape;
    const Onnx__TypeProto *proto = m->inputs[p->input]->type;
    if (!proto || !proto->tensor_type)
        return noe_fail(err, NOE_ERR_ARG, "the input is no tensor");
    if (s->rank == NOE_RANK_UNKNOWN)
        return noe_fail(err, NOE_ERR_ARG,
                        "the model leaves the rank open; --input-shape fixes it");
    if (s->rank != p->shape.rank)
        return noe_fail(err, NOE_ERR_ARG, "%d sizes, the input has rank %d",
                        p->shape.rank, s->rank);
    for (int i = 0; i < s->rank; i++) {
        int64_t dim = s->dim[i], want = p->shape.dim[i];
        if (dim >= 0) {
            if (dim != want)
                return noe_fail(err, NOE_ERR_ARG,
                                "size %d is %lld, the model or a shape before has %lld",
                                i, (long long)want, (long long)dim);
            continue;
        }
        int64_t symbol = dim < NOE_DIM_UNKNOWN ? NOE_DIM_UNKNOWN - 1 - dim : -1;
        int known = symbol >= 0 ? (int)symbol_of[symbol] : -1;
        if (known >= 0 && m->open->at[NOE_OPEN_ASSUMED][known] != want)
            return noe_fail(err, NOE_ERR_ARG, "size %d is %lld here and %lld elsewhere",
                            i, (long long)want,
                            (long long)m->open->at[NOE_OPEN_ASSUMED][known]);
        if (known < 0) {
            NOE_TRY(add_size(m, want, attempt, err));
            known = m->open->n - 1;
        }
        s->dim[i] = stand_in(m, known);
        if (symbol >= 0)
            symbol_of[symbol] = known;
    }
    m->is_pinned[p->input] = true;
    return NOE_OK;
}

static noe_status assume_all(noe_onnx_model *m, const noe_onnx_options *options,
                             noe_error *err)
{
    int64_t *symbol_of = NOE_NEW_N(&m->arena, int64_t, m->n_symbol_dims);
    for (uint32_t i = 0; i < m->n_symbol_dims; i++)
        symbol_of[i] = -1;
    m->open = NOE_NEW(&m->arena, noe_open_sizes);
    m->assumed_set = options->assumed_set;
    m->attempt = options->attempt;
    m->over_primes = options->assumed_set <= NOE_OPEN_THIRD;
    m->n_assumed_shapes = options->n_assumed_shapes;
    m->assumed_shapes = NOE_NEW_N(&m->arena, const char *, m->n_assumed_shapes);
    for (int i = 0; i < options->n_assumed_shapes; i++) {
        pin p;
        m->assumed_shapes[i] = noe_arena_strdup(&m->arena, options->assumed_shapes[i]);
        noe_status status = parse_pin(m, options->assumed_shapes[i], &p, err);
        if (status == NOE_OK)
            status = assume(m, &p, options->attempt, symbol_of, err);
        if (status != NOE_OK) {
            noe_error_prefix(err, "assumed shape '%s': ", options->assumed_shapes[i]);
            return status;
        }
    }
    for (uint32_t i = 0; i < m->n_symbol_dims; i++) {
        if (symbol_of[i] >= 0)
            m->symbol_dims[i] = stand_in(m, symbol_of[i]);
    }
    return spread(m, err);
}

static void keep_written(noe_onnx_model *m)
{
    m->written =
        noe_arena_memdup(&m->arena, m->pinned, m->n_inputs * sizeof *m->pinned);
    m->is_written =
        noe_arena_memdup(&m->arena, m->is_pinned, m->n_inputs * sizeof *m->is_pinned);
}

noe_status noe_onnx_pin_inputs(noe_onnx_model *m, const noe_onnx_options *options,
                               noe_error *err)
{
    m->pinned = NOE_NEW_N(&m->arena, noe_type, m->n_inputs);
    m->is_pinned = NOE_NEW_N(&m->arena, bool, m->n_inputs);
    for (uint32_t i = 0; i < m->n_inputs; i++)
        NOE_TRY(read_input_type(m, i, &m->pinned[i], err));
    m->n_symbol_dims = m->symbols.n;
    m->symbol_dims = NOE_NEW_N(&m->arena, int64_t, m->symbols.n);
    for (uint32_t i = 0; i < m->n_symbol_dims; i++)
        m->symbol_dims[i] = -1;
    if (options && options->n_input_shapes > 0) {
        NOE_TRY(apply_pins(m, options, err));
        NOE_TRY(spread(m, err));
    }
    keep_written(m);
    return options && options->n_assumed_shapes > 0 ? assume_all(m, options, err)
                                                    : NOE_OK;
}
