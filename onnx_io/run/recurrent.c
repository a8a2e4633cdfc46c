/* SPDX-License-Identifier: Apache-2.0
 *
 * Recurrent layers: RNN, GRU, LSTM over one or two directions. Sequences shorter than
 * the longest end early: their states stay, their outputs are zero.
 */
#include "onnx_io/run/call.h"
#include <math.h>

#define MAX_GATES 4

typedef struct activation {
    char name[24];
    double alpha, beta;
} activation;

typedef struct recurrent {
    int64_t steps, batch, in, hidden, directions, gates;
    bool batch_first;
    activation act[2][3];
    double clip; /* 0: none */
    const int64_t *lens;
    double *x, *w, *r, *b, *h, *c, *p, *y; /* as in the standard; y as [T,D,B,H] */
    bool coupled, linear_before_reset;
} recurrent;

static double activate(const activation *a, double x)
{
    static const struct {
        const char *name;
        int code;
    } known[] = {{"Sigmoid", 0},    {"Tanh", 1},        {"Relu", 2},
                 {"Affine", 3},     {"LeakyRelu", 4},   {"ThresholdedRelu", 5},
                 {"ScaledTanh", 6}, {"HardSigmoid", 7}, {"Elu", 8},
                 {"Softsign", 9},   {"Softplus", 10}};
    int code = -1;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        code = strcasecmp(known[i].name, a->name) == 0 ? known[i].code : code;
    switch (code) {
    case 0:
        return 1 / (1 + exp(-x));
    case 2:
        return x > 0 ? x : 0;
    case 3:
        return a->alpha * x + a->beta;
    case 4:
        return x < 0 ? a->alpha * x : x;
    case 5:
        return x > a->alpha ? x : 0;
    case 6:
        return a->alpha * tanh(a->beta * x);
    case 7:
        return fmin(1, fmax(0, a->alpha * x + a->beta));
    case 8:
        return x < 0 ? a->alpha * expm1(x) : x;
    case 9:
        return x / (1 + fabs(x));
    case 10:
        return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
    default:
        return tanh(x);
    }
}

static noe_status read_activations(noe_call *c, recurrent *q, const char *const *usual,
                                   int n)
{
    const Onnx__AttributeProto *a = noe_call_attr(c, "activations");
    const Onnx__AttributeProto *alpha = noe_call_attr(c, "activation_alpha");
    const Onnx__AttributeProto *beta = noe_call_attr(c, "activation_beta");
    if (a && a->n_strings != (size_t)(n * q->directions))
        return noe_call_fail(c, "%zu activations, want %d", a->n_strings,
                             n * (int)q->directions);
    for (int d = 0; d < q->directions; d++) {
        for (int i = 0; i < n; i++) {
            size_t k = (size_t)(d * n + i);
            activation *f = &q->act[d][i];
            const char *name = a ? (const char *)a->strings[k].data : usual[i];
            size_t len = a ? a->strings[k].len : strlen(usual[i]);
            len = len < sizeof f->name ? len : sizeof f->name - 1;
            memcpy(f->name, name, len);
            f->name[len] = '\0';
            bool hard = strcasecmp(f->name, "HardSigmoid") == 0;
            f->alpha = strcasecmp(f->name, "LeakyRelu") == 0 ? 0.01 : hard ? 0.2 : 1;
            f->beta = hard ? 0.5 : 0;
            if (alpha && k < alpha->n_floats)
                f->alpha = (double)alpha->floats[k];
            if (beta && k < beta->n_floats)
                f->beta = (double)beta->floats[k];
        }
    }
    return NOE_OK;
}

/* An optional input of a fixed number of elements; zeros where it is missing. */
static noe_status optional_input(noe_call *c, int i, int64_t n, double **v)
{
    const noe_run_value *x = noe_call_in(c, i);
    if (x && x->n != n)
        return noe_call_fail(c, "input %d has %lld elements, want %lld", i,
                             (long long)x->n, (long long)n);
    *v = x ? noe_call_f64(c, x) : NOE_ZEROS(c, double, n);
    return NOE_OK;
}

/* States come as [D,B,H], or [B,D,H] with layout 1. */
static double *turn_state(noe_call *c, const recurrent *q, const double *v, bool back)
{
    int64_t n = q->directions * q->batch * q->hidden;
    double *t = NOE_ZEROS(c, double, n);
    for (int64_t i = 0; i < n; i++) {
        int64_t h = i % q->hidden, b = i / q->hidden % q->batch,
                d = i / q->hidden / q->batch;
        int64_t other = (b * q->directions + d) * q->hidden + h;
        t[back ? other : i] = v[back ? i : other];
    }
    return t;
}

static noe_status read_inputs(noe_call *c, recurrent *q)
{
    const noe_run_value *x = c->in[0];
    const char *direction = noe_call_string(c, "direction", "forward");
    q->batch_first = noe_call_int(c, "layout", 0) != 0;
    if (x->shape.rank != 3 || c->in[1]->shape.rank != 3 || c->in[2]->shape.rank != 3)
        return noe_call_fail(c, "the input or weights are not of rank 3");
    q->steps = x->shape.dim[q->batch_first];
    q->batch = x->shape.dim[!q->batch_first];
    q->in = x->shape.dim[2];
    q->hidden = c->in[2]->shape.dim[2];
    q->directions = strcmp(direction, "bidirectional") == 0 ? 2 : 1;
    q->clip = noe_call_float(c, "clip", 0);
    int64_t rows = q->directions * q->gates * q->hidden;
    q->x = noe_call_f64(c, x);
    NOE_TRY(optional_input(c, 1, rows * q->in, &q->w));
    NOE_TRY(optional_input(c, 2, rows * q->hidden, &q->r));
    NOE_TRY(optional_input(c, 3, 2 * rows, &q->b));
    int n;
    NOE_TRY(noe_call_numbers(c, 4, &q->lens, &n));
    if (q->lens && n != q->batch)
        return noe_call_fail(c, "%d sequence_lens for a batch of %lld", n,
                             (long long)q->batch);
    NOE_TRY(optional_input(c, 5, q->directions * q->batch * q->hidden, &q->h));
    if (q->batch_first)
        q->h = turn_state(c, q, q->h, false);
    q->y = NOE_ZEROS(c, double, q->steps * q->directions * q->batch * q->hidden);
    return NOE_OK;
}

/* Sums of a gate for unit k: the input's part and the state's part. */
static void gate(const recurrent *q, int64_t d, int64_t g, int64_t k, const double *x,
                 const double *h, double *from_x, double *from_h)
{
    int64_t row = (d * q->gates + g) * q->hidden + k;
    const double *b = q->b + d * 2 * q->gates * q->hidden;
    *from_x = b[g * q->hidden + k];
    *from_h = b[(q->gates + g) * q->hidden + k];
    for (int64_t i = 0; i < q->in; i++)
        *from_x += q->w[row * q->in + i] * x[i];
    for (int64_t i = 0; i < q->hidden; i++)
        *from_h += q->r[row * q->hidden + i] * h[i];
}

static double clipped(const recurrent *q, double x)
{
    return q->clip > 0 ? fmin(q->clip, fmax(-q->clip, x)) : x;
}

typedef void cell(const recurrent *q, int64_t d, const double *x, const double *h,
                  const double *c, double *next, double *next_c);

static void rnn_cell(const recurrent *q, int64_t d, const double *x, const double *h,
                     const double *c, double *next, double *next_c)
{
    (void)c, (void)next_c;
    for (int64_t k = 0; k < q->hidden; k++) {
        double a, b;
        gate(q, d, 0, k, x, h, &a, &b);
        next[k] = activate(&q->act[d][0], clipped(q, a + b));
    }
}

/* Gates: update, reset, hidden. next_c is room for the reset state. */
static void gru_cell(const recurrent *q, int64_t d, const double *x, const double *h,
                     const double *c, double *next, double *next_c)
{
    double a, b;
    (void)c;
    for (int64_t k = 0; k < q->hidden; k++) {
        gate(q, d, 1, k, x, h, &a, &b);
        double reset = activate(&q->act[d][0], clipped(q, a + b));
        next_c[k] = q->linear_before_reset ? reset : reset * h[k];
    }
    for (int64_t k = 0; k < q->hidden; k++) {
        gate(q, d, 0, k, x, h, &a, &b);
        double update = activate(&q->act[d][0], clipped(q, a + b));
        gate(q, d, 2, k, x, q->linear_before_reset ? h : next_c, &a, &b);
        double hidden =
            activate(&q->act[d][1],
                     clipped(q, a + (q->linear_before_reset ? next_c[k] * b : b)));
        next[k] = (1 - update) * hidden + update * h[k];
    }
}

/* Gates: input, output, forget, cell; peepholes in the order i, o, f. */
static void lstm_cell(const recurrent *q, int64_t d, const double *x, const double *h,
                      const double *c, double *next, double *next_c)
{
    const double *p = q->p + d * 3 * q->hidden;
    for (int64_t k = 0; k < q->hidden; k++) {
        double sum[MAX_GATES], b;
        for (int g = 0; g < MAX_GATES; g++) {
            gate(q, d, g, k, x, h, &sum[g], &b);
            sum[g] += b;
        }
        double in = activate(&q->act[d][0], clipped(q, sum[0] + p[k] * c[k]));
        double forget =
            activate(&q->act[d][0], clipped(q, sum[2] + p[2 * q->hidden + k] * c[k]));
        forget = q->coupled ? 1 - in : forget;
        double fresh = activate(&q->act[d][1], clipped(q, sum[3]));
        next_c[k] = forget * c[k] + in * fresh;
        double out =
            activate(&q->act[d][0], clipped(q, sum[1] + p[q->hidden + k] * next_c[k]));
        next[k] = out * activate(&q->act[d][2], next_c[k]);
    }
}

static void run_direction(noe_call *c, recurrent *q, int64_t d, bool backward, cell *f)
{
    double *next = NOE_ZEROS(c, double, q->hidden),
           *next_c = NOE_ZEROS(c, double, q->hidden);
    for (int64_t b = 0; b < q->batch; b++) {
        int64_t len = q->lens ? q->lens[b] : q->steps;
        double *h = q->h + (d * q->batch + b) * q->hidden;
        double *state = q->c ? q->c + (d * q->batch + b) * q->hidden : NULL;
        len = len > q->steps ? q->steps : len;
        for (int64_t i = 0; i < len; i++) {
            int64_t t = backward ? len - 1 - i : i;
            const double *x =
                q->x + (q->batch_first ? b * q->steps + t : t * q->batch + b) * q->in;
            f(q, d, x, h, state, next, next_c);
            memcpy(h, next, (size_t)q->hidden * sizeof *h);
            if (state)
                memcpy(state, next_c, (size_t)q->hidden * sizeof *state);
            memcpy(q->y + ((t * q->directions + d) * q->batch + b) * q->hidden, h,
                   (size_t)q->hidden * sizeof *h);
        }
    }
}

static noe_status store_state(noe_call *c, const recurrent *q, int i, const double *v)
{
    noe_dims shape = {3, {q->directions, q->batch, q->hidden}};
    if (q->batch_first) {
        shape = (noe_dims){3, {q->batch, q->directions, q->hidden}};
        v = turn_state(c, q, v, true);
    }
    NOE_OUT(y, c, i, c->in[0]->elem, &shape);
    noe_run_store_f64(y, v, false);
    return NOE_OK;
}

static noe_status run_layer(noe_call *c, recurrent *q, cell *f)
{
    bool reverse = strcmp(noe_call_string(c, "direction", "forward"), "reverse") == 0;
    for (int64_t d = 0; d < q->directions; d++)
        run_direction(c, q, d, reverse || d == 1, f);
    noe_dims shape = {4, {q->steps, q->directions, q->batch, q->hidden}};
    double *v = q->y;
    if (q->batch_first) {
        shape = (noe_dims){4, {q->batch, q->steps, q->directions, q->hidden}};
        int64_t n = noe_dims_count(&shape, 0, 4);
        v = NOE_ZEROS(c, double, n);
        for (int64_t i = 0; i < n; i++) {
            int64_t h = i % q->hidden, b = i / q->hidden % q->batch;
            int64_t td = i / q->hidden / q->batch; /* step and direction */
            v[(b * q->steps * q->directions + td) * q->hidden + h] = q->y[i];
        }
    }
    NOE_OUT(y, c, 0, c->in[0]->elem, &shape);
    noe_run_store_f64(y, v, false);
    NOE_TRY(store_state(c, q, 1, q->h));
    return q->c && q->gates == 4 ? store_state(c, q, 2, q->c) : NOE_OK;
}

static noe_status run_rnn(noe_call *c)
{
    static const char *const usual[] = {"Tanh"};
    recurrent q = {.gates = 1};
    NOE_TRY(read_inputs(c, &q));
    NOE_TRY(read_activations(c, &q, usual, 1));
    return run_layer(c, &q, rnn_cell);
}

static noe_status run_gru(noe_call *c)
{
    static const char *const usual[] = {"Sigmoid", "Tanh"};
    recurrent q = {.gates = 3,
                   .linear_before_reset =
                       noe_call_int(c, "linear_before_reset", 0) != 0};
    NOE_TRY(read_inputs(c, &q));
    NOE_TRY(read_activations(c, &q, usual, 2));
    return run_layer(c, &q, gru_cell);
}

static noe_status run_lstm(noe_call *c)
{
    static const char *const usual[] = {"Sigmoid", "Tanh", "Tanh"};
    recurrent q = {.gates = 4, .coupled = noe_call_int(c, "input_forget", 0) != 0};
    NOE_TRY(read_inputs(c, &q));
    NOE_TRY(read_activations(c, &q, usual, 3));
    NOE_TRY(optional_input(c, 6, q.directions * q.batch * q.hidden, &q.c));
    if (q.batch_first)
        q.c = turn_state(c, &q, q.c, false);
    NOE_TRY(optional_input(c, 7, 3 * q.directions * q.hidden, &q.p));
    return run_layer(c, &q, lstm_cell);
}

const noe_operator noe_operators_recurrent[] = {
    {"RNN", run_rnn, 3, NULL, 0},
    {"GRU", run_gru, 3, NULL, 0},
    {"LSTM", run_lstm, 3, NULL, 0},
    {0},
};
