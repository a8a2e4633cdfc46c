/* SPDX-License-Identifier: Apache-2.0
 *
 * Losses over classes: x[N,C,...] with targets [N,...], weights of classes, an index
 * that does not count.
 */
#include "onnx_io/run/call.h"
#include <math.h>

typedef struct classes {
    int64_t n, c, inner; /* batch, classes, places */
} classes;

static noe_status read_classes(noe_call *c, classes *k)
{
    const noe_run_value *x = c->in[0], *target = c->in[1];
    if (x->shape.rank < 2 || target->shape.rank != x->shape.rank - 1 ||
        !noe_elem_is_integer((int)target->elem) || !noe_elem_is_float((int)x->elem))
        return noe_call_fail(c, "scores and targets do not fit");
    k->n = x->shape.dim[0];
    k->c = x->shape.dim[1];
    k->inner = noe_dims_count(&x->shape, 2, x->shape.rank);
    const noe_run_value *weight = noe_call_in(c, 2);
    if (target->n != k->n * k->inner || (weight && weight->n != k->c))
        return noe_call_fail(c, "targets or weights do not fit");
    return NOE_OK;
}

/* Output 0 from logarithms of probabilities. */
static noe_status reduce_loss(noe_call *c, const classes *k, const double *p)
{
    const noe_run_value *target = c->in[1], *weight = noe_call_in(c, 2);
    const char *reduction = noe_call_string(c, "reduction", "mean");
    bool has_ignored = noe_call_attr(c, "ignore_index") != NULL;
    int64_t ignored = noe_call_int(c, "ignore_index", 0), *at = noe_call_i64(c, target);
    const double *w = weight ? noe_call_f64(c, weight) : NULL;
    double *loss = NOE_ZEROS(c, double, target->n), total = 0, mass = 0;
    for (int64_t i = 0; i < target->n; i++) {
        if (has_ignored && at[i] == ignored)
            continue;
        if (at[i] < 0 || at[i] >= k->c)
            return noe_call_fail(c, "class %lld of %lld", (long long)at[i],
                                 (long long)k->c);
        double f = w ? w[at[i]] : 1;
        loss[i] = -f * p[(i / k->inner * k->c + at[i]) * k->inner + i % k->inner];
        total += loss[i];
        mass += f;
    }
    noe_dims none = {0};
    bool each = strcmp(reduction, "none") == 0;
    NOE_OUT(y, c, 0, c->in[0]->elem, each ? &target->shape : &none);
    total = strcmp(reduction, "mean") == 0 ? total / mass : total;
    noe_run_store_f64(y, each ? loss : &total, false);
    return NOE_OK;
}

static noe_status run_nll_loss(noe_call *c)
{
    classes k;
    NOE_TRY(read_classes(c, &k));
    return reduce_loss(c, &k, noe_call_f64(c, c->in[0]));
}

static noe_status run_softmax_cross_entropy(noe_call *c)
{
    classes k;
    NOE_TRY(read_classes(c, &k));
    double *x = noe_call_f64(c, c->in[0]);
    for (int64_t i = 0; i < k.n * k.inner; i++) {
        double *row = x + i / k.inner * k.c * k.inner + i % k.inner, most = -INFINITY;
        double total = 0;
        for (int64_t j = 0; j < k.c; j++)
            most = fmax(most, row[j * k.inner]);
        for (int64_t j = 0; j < k.c; j++)
            total += exp(row[j * k.inner] - most);
        for (int64_t j = 0; j < k.c; j++)
            row[j * k.inner] -= most + log(total);
    }
    NOE_TRY(reduce_loss(c, &k, x));
    NOE_OUT(logs, c, 1, c->in[0]->elem, &c->in[0]->shape);
    noe_run_store_f64(logs, x, false);
    return NOE_OK;
}

const noe_operator noe_operators_loss[] = {
    {"NegativeLogLikelihoodLoss", run_nll_loss, 2, NULL, 0},
    {"SoftmaxCrossEntropyLoss", run_softmax_cross_entropy, 2, NULL, 0},
    {0},
};
