/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of one value, element by element.
 */
#include "onnx_io/run/call.h"
#include <math.h>

typedef double real_function(double x, double a, double b);

/* A function with up to two parameters, attributes with defaults. The integer form
 * serves integer types; where there is none the operator is not defined for them. */
typedef struct unary {
    real_function *real;
    int64_t (*integer)(int64_t x);
    struct {
        const char *name;
        double otherwise;
    } a, b;
} unary;

static double real_abs(double x, double a, double b)
{
    (void)a, (void)b;
    return fabs(x);
}
static int64_t int_abs(int64_t x)
{
    return x < 0 ? (int64_t)(0 - (uint64_t)x) : x;
}
static int64_t int_neg(int64_t x)
{
    return (int64_t)(0 - (uint64_t)x);
}
static int64_t int_sign(int64_t x)
{
    return (x > 0) - (x < 0);
}
static int64_t int_relu(int64_t x)
{
    return x > 0 ? x : 0;
}
static int64_t int_not(int64_t x)
{
    return x == 0;
}
static int64_t int_bitwise_not(int64_t x)
{
    return ~x;
}

#define REAL(NAME, EXPR)                                    \
    static double real_##NAME(double x, double a, double b) \
    {                                                       \
        (void)a, (void)b;                                   \
        return EXPR;                                        \
    }
REAL(neg, -x)
REAL(sign, isnan(x) ? x : (double)((x > 0) - (x < 0)))
REAL(floor, floor(x))
REAL(ceil, ceil(x))
REAL(round, nearbyint(x))
REAL(sqrt, sqrt(x))
REAL(exp, exp(x))
REAL(log, log(x))
REAL(erf, erf(x))
REAL(sin, sin(x))
REAL(cos, cos(x))
REAL(tan, tan(x))
REAL(asin, asin(x))
REAL(acos, acos(x))
REAL(atan, atan(x))
REAL(sinh, sinh(x))
REAL(cosh, cosh(x))
REAL(tanh, tanh(x))
REAL(asinh, asinh(x))
REAL(acosh, acosh(x))
REAL(atanh, atanh(x))
REAL(reciprocal, 1 / x)
REAL(relu, isnan(x) || x > 0 ? x : 0)
REAL(leaky_relu, x < 0 ? a * x : x)
REAL(elu, x < 0 ? a * expm1(x) : x)
REAL(celu, fmax(x, 0) + fmin(0, a *expm1(x / a)))
REAL(selu, x > 0 ? b * x : b * a * expm1(x))
REAL(sigmoid, 1 / (1 + exp(-x)))
REAL(hard_sigmoid, isnan(x) ? x : fmax(0, fmin(1, a *x + b)))
REAL(hard_swish, x *fmax(0, fmin(1, x / 6 + 0.5)))
REAL(softplus, x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)))
REAL(softsign, x / (1 + fabs(x)))
REAL(thresholded_relu, x > a ? x : 0)
REAL(shrink, x<-b ? x + a : x> b ? x - a : 0)
REAL(mish, x *tanh(x > 0 ? x + log1p(exp(-x)) : log1p(exp(x))))
REAL(swish, x / (1 + exp(-a * x)))
REAL(gelu, 0.5 * x * (1 + erf(x / sqrt(2))))
REAL(gelu_tanh, 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))))

static noe_status run_integers(noe_call *c, const unary *u)
{
    const noe_run_value *x = c->in[0];
    int64_t *v = noe_call_i64(c, x);
    NOE_OUT(y, c, 0, x->elem, &x->shape);
    for (int64_t i = 0; i < x->n; i++)
        v[i] = u->integer(v[i]);
    noe_run_store_i64(y, v);
    return NOE_OK;
}

static noe_status apply(noe_call *c, const unary *u)
{
    const noe_run_value *x = c->in[0];
    if (noe_elem_is_integer((int)x->elem) && u->integer)
        return run_integers(c, u);
    if (!noe_elem_is_float((int)x->elem) || !u->real)
        return noe_call_bad_type(c);
    double a = u->a.name ? noe_call_float(c, u->a.name, u->a.otherwise) : 0;
    double b = u->b.name ? noe_call_float(c, u->b.name, u->b.otherwise) : 0;
    double *v = noe_call_f64(c, x);
    NOE_OUT(y, c, 0, x->elem, &x->shape);
    for (int64_t i = 0; i < x->n; i++)
        v[i] = u->real(v[i], a, b);
    noe_run_store_f64(y, v, false);
    return NOE_OK;
}

static noe_status run_unary(noe_call *c)
{
    return apply(c, c->op->how);
}

static noe_status run_gelu(noe_call *c)
{
    static const unary exact = {.real = real_gelu},
                       tanh_form = {.real = real_gelu_tanh};
    const char *form = noe_call_string(c, "approximate", "none");
    return apply(c, strcmp(form, "tanh") == 0 ? &tanh_form : &exact);
}

/* Before opset 6 the default of HardSigmoid and others was the same, only Selu's
 * differed: 1.6732 and 1.0507. */
static noe_status run_selu(noe_call *c)
{
    static const unary now = {.real = real_selu,
                              .a = {"alpha", 1.67326319217681884765625},
                              .b = {"gamma", 1.05070102214813232421875}};
    static const unary before = {
        .real = real_selu, .a = {"alpha", 1.6732}, .b = {"gamma", 1.0507}};
    return apply(c, c->opset < 6 ? &before : &now);
}

/* ---- questions ---- */

static noe_status run_is_nan(noe_call *c)
{
    const noe_run_value *x = c->in[0];
    if (!noe_elem_is_float((int)x->elem))
        return noe_call_bad_type(c);
    double *v = noe_call_f64(c, x);
    NOE_OUT(y, c, 0, NOE_ELEM_BOOL, &x->shape);
    for (int64_t i = 0; i < x->n; i++)
        ((uint8_t *)y->data)[i] = (uint8_t)(isnan(v[i]) != 0);
    return NOE_OK;
}

static noe_status run_is_inf(noe_call *c)
{
    const noe_run_value *x = c->in[0];
    if (!noe_elem_is_float((int)x->elem))
        return noe_call_bad_type(c);
    bool negative = noe_call_int(c, "detect_negative", 1) != 0;
    bool positive = noe_call_int(c, "detect_positive", 1) != 0;
    double *v = noe_call_f64(c, x);
    NOE_OUT(y, c, 0, NOE_ELEM_BOOL, &x->shape);
    for (int64_t i = 0; i < x->n; i++)
        ((uint8_t *)y->data)[i] = isinf(v[i]) && (v[i] < 0 ? negative : positive);
    return NOE_OK;
}

#define UNARY(NAME, FUNCTION, ...)                                                  \
    {                                                                               \
        NAME, run_unary, 1, &(const unary){.real = real_##FUNCTION, __VA_ARGS__}, 0 \
    }
#define PLAIN(NAME, FUNCTION) UNARY(NAME, FUNCTION, .integer = NULL)

const noe_operator noe_operators_unary[] = {
    UNARY("Abs", abs, .integer = int_abs),
    UNARY("Neg", neg, .integer = int_neg),
    UNARY("Sign", sign, .integer = int_sign),
    UNARY("Relu", relu, .integer = int_relu),
    PLAIN("Floor", floor),
    PLAIN("Ceil", ceil),
    PLAIN("Round", round),
    PLAIN("Sqrt", sqrt),
    PLAIN("Exp", exp),
    PLAIN("Log", log),
    PLAIN("Erf", erf),
    PLAIN("Sin", sin),
    PLAIN("Cos", cos),
    PLAIN("Tan", tan),
    PLAIN("Asin", asin),
    PLAIN("Acos", acos),
    PLAIN("Atan", atan),
    PLAIN("Sinh", sinh),
    PLAIN("Cosh", cosh),
    PLAIN("Tanh", tanh),
    PLAIN("Asinh", asinh),
    PLAIN("Acosh", acosh),
    PLAIN("Atanh", atanh),
    PLAIN("Reciprocal", reciprocal),
    PLAIN("Sigmoid", sigmoid),
    PLAIN("HardSwish", hard_swish),
    PLAIN("Softplus", softplus),
    PLAIN("Softsign", softsign),
    PLAIN("Mish", mish),
    UNARY("LeakyRelu", leaky_relu, .a = {"alpha", 0.01F}),
    UNARY("Elu", elu, .a = {"alpha", 1}),
    UNARY("Celu", celu, .a = {"alpha", 1}),
    UNARY("Swish", swish, .a = {"alpha", 1}),
    UNARY("ThresholdedRelu", thresholded_relu, .a = {"alpha", 1}),
    UNARY("HardSigmoid", hard_sigmoid, .a = {"alpha", 0.2F}, .b = {"beta", 0.5}),
    {"Shrink", run_unary, 1,
     &(const unary){.real = real_shrink, .a = {"bias", 0}, .b = {"lambd", 0.5}}, 0},
    {"Not", run_unary, 1, &(const unary){.integer = int_not}, 0},
    {"BitwiseNot", run_unary, 1, &(const unary){.integer = int_bitwise_not}, 0},
    {"Selu", run_selu, 1, NULL, 0},
    {"Gelu", run_gelu, 1, NULL, 0},
    {"IsNaN", run_is_nan, 1, NULL, 0},
    {"IsInf", run_is_inf, 1, NULL, 0},
    {0},
};
