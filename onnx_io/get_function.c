/* SPDX-License-Identifier: Apache-2.0
 *
 * Getters of functions of one value that have parameters.
 *
 * ONNX gives bounds and exponents as attributes in old opsets, as inputs in new ones.
 * An input that is a constant of one element goes into a parameter; bounds that are not
 * constant are operands of a maximum or minimum.
 */
#include "onnx_io/get.h"
#include <float.h>
#include <math.h>

#define CLIP_INPUTS_SINCE 11

/* A constant of one element, of any number type. */
static const char *get_number(noe_getting *g, size_t slot, const char *what, double *d)
{
    const float *v;
    int64_t n = 0;
    noe_value ints;
    if (!noe_get_ints(g, slot, what, &ints) && ints.n == 1) {
        *d = (double)ints.list[0];
        return NULL;
    }
    NOE_GET(noe_get_floats(g, slot, what, &v, &n));
    if (n != 1 || !isfinite(*v))
        return noe_get_why(g, "%s is not one finite number", what);
    *d = (double)*v;
    return NULL;
}

static const char *get_clip_of_attributes(noe_getting *g)
{
    noe_ref x;
    noe_params p = {0};
    const Onnx__NodeProto *proto = g->node->proto;
    NOE_GET(noe_get_function(g, "min max", &x));
    if (proto->n_attribute == 0)
        return noe_get_alias(g);
    noe_get_set_float(g->op, &p, NOE_PARAM_MIN,
                      noe_onnx_attr_float(proto, "min", -(double)FLT_MAX));
    noe_get_set_float(g->op, &p, NOE_PARAM_MAX,
                      noe_onnx_attr_float(proto, "max", (double)FLT_MAX));
    return noe_get_result(g, &p, x);
}

/* min(max(x, lo), hi) with bounds that are computed. */
static const char *get_clip_by_operands(noe_getting *g, noe_ref x)
{
    static const noe_op ops[] = {NOE_OP_MAX, NOE_OP_MIN};
    noe_op last = NOE_OP_MAX;
    for (size_t i = 0; i < 2; i++) {
        noe_ref bound;
        const noe_shape *s;
        if (!noe_get_has(g, i + 1))
            continue;
        NOE_GET(noe_get_data(g, i + 1, &bound, &s));
        if (noe_shape_elements(s) != 1)
            return "a bound is not one number";
        last = ops[i];
        NOE_GET(noe_get_add(g, last, NULL, (noe_ref[]){x, bound}, 2, &x));
    }
    noe_get_done(g, 0, last, x);
    return NULL;
}

const char *noe_get_clip(noe_getting *g)
{
    noe_ref x;
    noe_params p = {0};
    double lo = -(double)FLT_MAX, hi = (double)FLT_MAX;
    if (g->m->opset < CLIP_INPUTS_SINCE)
        return get_clip_of_attributes(g);
    NOE_GET(noe_get_only_attributes(g, ""));
    NOE_GET(noe_get_want_inputs(g, 1, 3));
    NOE_GET(noe_get_one_output(g));
    NOE_GET(noe_get_data(g, 0, &x, NULL));
    if (noe_get_n_inputs(g) == 1)
        return noe_get_alias(g);
    bool constant = (!noe_get_has(g, 1) || !get_number(g, 1, "min", &lo)) &&
                    (!noe_get_has(g, 2) || !get_number(g, 2, "max", &hi));
    if (!constant)
        return get_clip_by_operands(g, x);
    noe_get_set_float(g->op, &p, NOE_PARAM_MIN, lo);
    noe_get_set_float(g->op, &p, NOE_PARAM_MAX, hi);
    return noe_get_result(g, &p, x);
}

/* The exponent may have more axes than the base, which would widen the result. */
const char *noe_get_pow(noe_getting *g)
{
    noe_ref x;
    const noe_shape *s;
    noe_params p = {0};
    double exponent = 0;
    NOE_GET(noe_get_only_attributes(g, ""));
    NOE_GET(noe_get_want_inputs(g, 2, 2));
    NOE_GET(noe_get_one_output(g));
    NOE_GET(noe_get_data(g, 0, &x, &s));
    NOE_GET(get_number(g, 1, "the exponent", &exponent));
    if (g->m->values[g->node->in[1]].type.shape.rank > s->rank)
        return "the exponent has more axes than the base";
    noe_get_set_float(g->op, &p, NOE_PARAM_EXPONENT, exponent);
    return noe_get_result(g, &p, x);
}

const char *noe_get_gelu(noe_getting *g)
{
    noe_ref x;
    noe_params p = {0};
    NOE_GET(noe_get_function(g, "approximate", &x));
    bool by_tanh = noe_get_text_is(g, "approximate", "none", "tanh");
    if (!by_tanh && !noe_get_text_is(g, "approximate", "none", "none"))
        return "approximate is neither none nor tanh";
    noe_get_set_int(g->op, &p, NOE_PARAM_APPROXIMATE, by_tanh);
    return noe_get_result(g, &p, x);
}

/* LeakyRelu, Elu, Swish. */
const char *noe_get_alpha(noe_getting *g)
{
    noe_ref x;
    noe_params p = {0};
    double otherwise = g->op == NOE_OP_LEAKY_RELU ? (double)0.01F : 1;
    NOE_GET(noe_get_function(g, "alpha", &x));
    noe_get_set_float(g->op, &p, NOE_PARAM_ALPHA,
                      noe_onnx_attr_float(g->node->proto, "alpha", otherwise));
    return noe_get_result(g, &p, x);
}

const char *noe_get_hard_sigmoid(noe_getting *g)
{
    noe_ref x;
    noe_params p = {0};
    const Onnx__NodeProto *proto = g->node->proto;
    NOE_GET(noe_get_function(g, "alpha beta", &x));
    noe_get_set_float(g->op, &p, NOE_PARAM_ALPHA,
                      noe_onnx_attr_float(proto, "alpha", (double)0.2F));
    noe_get_set_float(g->op, &p, NOE_PARAM_BETA,
                      noe_onnx_attr_float(proto, "beta", 0.5));
    return noe_get_result(g, &p, x);
}
