/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/verifier/brute.h"
#include <math.h>
#include <stdlib.h>

#define MAX_ELEMENTS 1200
#define N_SAMPLES    3
#define TOLERANCE    1e-7

typedef struct tensor {
    noe_shape shape;
    double *data;
} tensor;

typedef struct place {
    int64_t at[NOE_MAX_RANK];
} place;

/* One operator being evaluated. */
typedef struct site {
    const noe_params *params;
    noe_op op;
    const tensor *in[NOE_RULE_MAX_INPUTS];
    const noe_shape *out;
} site;

static int64_t offset_of(const noe_shape *s, const place *i)
{
    int64_t offset = 0;
    for (int k = 0; k < s->rank; k++)
        offset = offset * s->dim[k] + i->at[k];
    return offset;
}

static place index_of(const noe_shape *s, int64_t offset)
{
    place i = {{0}};
    for (int k = s->rank; k-- > 0; offset /= s->dim[k])
        i.at[k] = offset % s->dim[k];
    return i;
}

/* Element of an operand under broadcasting to the output. */
static double spread(const site *c, int k, const place *i)
{
    const noe_shape *s = &c->in[k]->shape;
    place j = {{0}};
    for (int axis = 0; axis < s->rank; axis++)
        j.at[axis] = s->dim[axis] == 1 ? 0 : i->at[axis + c->out->rank - s->rank];
    return c->in[k]->data[offset_of(s, &j)];
}

static const noe_value *param(const site *c, noe_param p)
{
    return noe_params_get(c->op, c->params, p);
}

static double matmul(const site *c, const place *i)
{
    const noe_shape *a = &c->in[0]->shape, *b = &c->in[1]->shape;
    int64_t n = a->dim[a->rank - 1];
    double sum = 0;
    int out = c->out->rank;
    /* Vectors have no axis of their own in the output. */
    int row = b->rank == 1 ? out - 1 : out - 2, column = out - 1;
    int n_outer = (a->rank > 1 ? (b->rank > 1 ? out - 2 : out - 1) : out - 1);
    for (int64_t k = 0; k < n; k++) {
        place x = {{0}}, y = {{0}};
        for (int axis = 0; axis < a->rank - 2; axis++)
            x.at[axis] = a->dim[axis] == 1 ? 0 : i->at[axis + n_outer - (a->rank - 2)];
        for (int axis = 0; axis < b->rank - 2; axis++)
            y.at[axis] = b->dim[axis] == 1 ? 0 : i->at[axis + n_outer - (b->rank - 2)];
        if (a->rank > 1)
            x.at[a->rank - 2] = i->at[row];
        x.at[a->rank - 1] = k;
        if (b->rank > 1) {
            y.at[b->rank - 2] = k;
            y.at[b->rank - 1] = i->at[column];
        } else {
            y.at[0] = k;
        }
        sum += c->in[0]->data[offset_of(a, &x)] * c->in[1]->data[offset_of(b, &y)];
    }
    return sum;
}

/* Position in the input of tap k of the window at output position i; may lie outside.
 */
static int64_t tap(const site *c, int axis, int64_t i, int64_t k, bool dilated)
{
    int64_t d = dilated ? param(c, NOE_PARAM_DILATIONS)->list[axis] : 1;
    return i * param(c, NOE_PARAM_STRIDES)->list[axis] -
           param(c, NOE_PARAM_PADS)->list[axis] + k * d;
}

/* The next position of a box; false after the last. */
static bool step(int n, const int64_t *size, int64_t *at)
{
    for (int k = n; k-- > 0;) {
        if (++at[k] < size[k])
            return true;
        at[k] = 0;
    }
    return false;
}

static double conv(const site *c, const place *i)
{
    const noe_shape *x = &c->in[0]->shape, *w = &c->in[1]->shape;
    int64_t group = param(c, NOE_PARAM_GROUP)->i;
    int64_t first = i->at[1] / (w->dim[0] / group) * w->dim[1];
    double sum = 0;
    for (int64_t channel = 0; channel < w->dim[1]; channel++) {
        int64_t k[NOE_MAX_RANK] = {0};
        do {
            place at = {{i->at[0], first + channel}}, tap_at = {{i->at[1], channel}};
            bool inside = true;
            for (int axis = 0; axis < x->rank - 2; axis++) {
                at.at[2 + axis] = tap(c, axis, i->at[2 + axis], k[axis], true);
                tap_at.at[2 + axis] = k[axis];
                inside &= at.at[2 + axis] >= 0 && at.at[2 + axis] < x->dim[2 + axis];
            }
            if (inside)
                sum += c->in[0]->data[offset_of(x, &at)] *
                       c->in[1]->data[offset_of(w, &tap_at)];
        } while (step(x->rank - 2, &w->dim[2], k));
    }
    return sum;
}

static double pool(const site *c, const place *i)
{
    const noe_shape *x = &c->in[0]->shape;
    const noe_value *size = param(c, NOE_PARAM_KERNEL_SHAPE);
    bool is_max = c->op == NOE_OP_MAX_POOL;
    double sum = 0, most = -INFINITY;
    int64_t k[NOE_MAX_RANK] = {0}, n = 0;
    do {
        place at = *i;
        bool inside = true;
        for (int axis = 0; axis < x->rank - 2; axis++) {
            at.at[2 + axis] = tap(c, axis, i->at[2 + axis], k[axis], is_max);
            inside &= at.at[2 + axis] >= 0 && at.at[2 + axis] < x->dim[2 + axis];
        }
        double v = inside ? c->in[0]->data[offset_of(x, &at)] : 0;
        sum += v;
        most = inside && v > most ? v : most;
        n += inside || (!is_max && param(c, NOE_PARAM_COUNT_INCLUDE_PAD)->i);
    } while (step(x->rank - 2, size->list, k));
    return is_max ? most : sum / (double)n;
}

static bool has(const noe_value *axes, int axis)
{
    for (int i = 0; i < axes->n; i++) {
        if (axes->list[i] == axis)
            return true;
    }
    return false;
}

static double reduce(const site *c, const place *i)
{
    const noe_shape *x = &c->in[0]->shape;
    const noe_value *axes = param(c, NOE_PARAM_AXES);
    bool keep = param(c, NOE_PARAM_KEEPDIMS)->i;
    double sum = 0;
    int64_t n = 0, size = noe_shape_elements(x);
    for (int64_t k = 0; k < size; k++) {
        place at = index_of(x, k);
        bool mine = true;
        for (int axis = 0, out = 0; axis < x->rank; axis++) {
            bool reduced = has(axes, axis);
            if (!reduced)
                mine &= at.at[axis] == i->at[out];
            out += !reduced || keep;
        }
        sum += mine ? c->in[0]->data[k] : 0;
        n += mine;
    }
    return c->op == NOE_OP_REDUCE_MEAN ? sum / (double)n : sum;
}

static double softmax(const site *c, const place *i)
{
    const noe_shape *x = &c->in[0]->shape;
    int axis = (int)param(c, NOE_PARAM_AXIS)->i;
    double sum = 0;
    place at = *i;
    for (int64_t k = 0; k < x->dim[axis]; k++) {
        at.at[axis] = k;
        sum += exp(c->in[0]->data[offset_of(x, &at)]);
    }
    return exp(c->in[0]->data[offset_of(x, i)]) / sum;
}

static double concat(const site *c, const place *i)
{
    int axis = (int)param(c, NOE_PARAM_AXIS)->i;
    int64_t first = c->in[0]->shape.dim[axis];
    place at = *i;
    bool second = at.at[axis] >= first;
    at.at[axis] -= second ? first : 0;
    return c->in[second]->data[offset_of(&c->in[second]->shape, &at)];
}

static double moved(const site *c, const place *i)
{
    const noe_shape *x = &c->in[0]->shape;
    place at = *i;
    if (c->op == NOE_OP_TRANSPOSE) {
        for (int k = 0; k < x->rank; k++)
            at.at[param(c, NOE_PARAM_PERM)->list[k]] = i->at[k];
    } else if (c->op == NOE_OP_SLICE) {
        int axis = (int)param(c, NOE_PARAM_AXIS)->i;
        at.at[axis] =
            param(c, NOE_PARAM_START)->i + i->at[axis] * param(c, NOE_PARAM_STEP)->i;
    } else if (c->op == NOE_OP_GATHER) {
        int axis = (int)param(c, NOE_PARAM_AXIS)->i;
        at.at[axis] = param(c, NOE_PARAM_INDICES)->list[i->at[axis]];
    } else {
        for (int k = 0; k < x->rank; k++) {
            at.at[k] -= param(c, NOE_PARAM_PADS)->list[k];
            if (at.at[k] < 0 || at.at[k] >= x->dim[k])
                return 0;
        }
    }
    return c->in[0]->data[offset_of(x, &at)];
}

/* Element (o, i, ...) of identity_kernel and average_kernel. */
static double kernel(const site *c, const place *i)
{
    const noe_shape *s = c->out;
    double volume = 1;
    bool centre = true;
    for (int k = 2; k < s->rank; k++) {
        volume *= (double)s->dim[k];
        centre &= i->at[k] == (s->dim[k] - 1) / 2;
    }
    if (i->at[0] % s->dim[1] != i->at[1])
        return 0;
    return c->op == NOE_OP_AVERAGE_KERNEL ? 1 / volume : centre;
}

static double element(const site *c, const place *i)
{
    switch (c->op) {
    case NOE_OP_ADD:
        return spread(c, 0, i) + spread(c, 1, i);
    case NOE_OP_SUB:
        return spread(c, 0, i) - spread(c, 1, i);
    case NOE_OP_MUL:
        return spread(c, 0, i) * spread(c, 1, i);
    case NOE_OP_DIV:
        return spread(c, 0, i) / spread(c, 1, i);
    case NOE_OP_NEG:
        return -spread(c, 0, i);
    case NOE_OP_RELU:
        return fmax(spread(c, 0, i), 0);
    case NOE_OP_SIGMOID:
        return 1 / (1 + exp(-spread(c, 0, i)));
    case NOE_OP_TANH:
        return tanh(spread(c, 0, i));
    case NOE_OP_EXP:
        return exp(spread(c, 0, i));
    case NOE_OP_SQRT:
        return sqrt(spread(c, 0, i));
    case NOE_OP_RECIPROCAL:
        return 1 / spread(c, 0, i);
    case NOE_OP_MATMUL:
        return matmul(c, i);
    case NOE_OP_CONV:
        return conv(c, i);
    case NOE_OP_MAX_POOL:
    case NOE_OP_AVERAGE_POOL:
        return pool(c, i);
    case NOE_OP_REDUCE_SUM:
    case NOE_OP_REDUCE_MEAN:
        return reduce(c, i);
    case NOE_OP_SOFTMAX:
        return softmax(c, i);
    case NOE_OP_TRANSPOSE:
    case NOE_OP_SLICE:
    case NOE_OP_PAD:
    case NOE_OP_GATHER:
        return moved(c, i);
    case NOE_OP_RESHAPE:
        return c->in[0]->data[offset_of(c->out, i)];
    case NOE_OP_CONCAT:
        return concat(c, i);
    case NOE_OP_EXPAND:
        return spread(c, 0, i);
    case NOE_OP_ZEROS:
        return 0;
    case NOE_OP_ONES:
        return 1;
    case NOE_OP_IDENTITY_MATRIX:
        return i->at[0] == i->at[1];
    case NOE_OP_IDENTITY_KERNEL:
    case NOE_OP_AVERAGE_KERNEL:
        return kernel(c, i);
    case NOE_OP_SCALAR:
        return param(c, NOE_PARAM_VALUE)->f;
    default:
        return NAN;
    }
}

bool brute_knows(const noe_rule *rule)
{
    for (uint16_t i = 0; i < rule->n_nodes; i++) {
        if (rule->nodes[i].is_var)
            continue;
        switch (rule->nodes[i].op) {
        case NOE_OP_GEMM:
        case NOE_OP_CONV_BIAS:
        case NOE_OP_BATCH_NORMALIZATION:
        case NOE_OP_GLOBAL_AVERAGE_POOL:
        case NOE_OP_FLATTEN:
        case NOE_OP_SQUEEZE:
        case NOE_OP_UNSQUEEZE:
            return false;
        case NOE_OP_GATHER:
        case NOE_OP_EXPAND:
            break;
        default: /* later operators are not here yet */
            if (rule->nodes[i].op > NOE_OP_UNSQUEEZE)
                return false;
        }
    }
    return true;
}

/* Values in [-2, 2], or in [1/2, 2] where roots and quotients shall exist. */
static double draw(noe_rng *rng, bool positive)
{
    double u = noe_rng_unit(rng);
    return positive ? 0.5 + 1.5 * u : 4 * u - 2;
}

/* Largest magnitude of all values, for the tolerance. */
static double evaluate(const noe_rule *rule, const noe_instance *inst, noe_rng *rng,
                       bool positive, noe_arena *arena, tensor *t)
{
    double most = 1;
    for (uint16_t i = 0; i < rule->n_nodes; i++) {
        const noe_pattern_node *p = &rule->nodes[i];
        int64_t n = noe_shape_elements(&inst->type[i].shape);
        site c = {.params = &inst->params[i], .op = p->op, .out = &inst->type[i].shape};
        t[i].shape = inst->type[i].shape;
        t[i].data = noe_arena_alloc(arena, (size_t)(n + 1) * sizeof *t[i].data);
        for (int k = 0; !p->is_var && k < p->n_inputs; k++)
            c.in[k] = &t[p->inputs[k]];
        for (int64_t k = 0; k < n; k++) {
            place at = index_of(&t[i].shape, k);
            t[i].data[k] = p->is_var ? draw(rng, positive) : element(&c, &at);
            if (isfinite(t[i].data[k]))
                most = fmax(most, fabs(t[i].data[k]));
        }
    }
    return most;
}

static bool differs(const noe_rule *rule, const noe_instance *inst, uint64_t seed,
                    noe_buf *where)
{
    noe_arena arena = {0};
    tensor t[NOE_RULE_MAX_NODES];
    bool found = false;
    for (int s = 0; s < N_SAMPLES && !found; s++) {
        noe_rng rng = noe_rng_split(seed, "brute", (uint64_t)s);
        double most = evaluate(rule, inst, &rng, s == 1, &arena, t);
        for (int r = 0; r < rule->n_roots && !found; r++) {
            const tensor *a = &t[rule->lhs[r]], *b = &t[rule->rhs[r]];
            int64_t n = noe_shape_elements(&a->shape);
            for (int64_t k = 0; k < n && !found; k++) {
                double x = a->data[k], y = b->data[k];
                /* Where a side does not exist, nothing is claimed. */
                if (!isfinite(x) || !isfinite(y) || fabs(x - y) <= TOLERANCE * most)
                    continue;
                found = true;
                noe_instance_print(where, rule, inst);
                noe_buf_printf(where, ": element %lld of output %d is %.9g and %.9g",
                               (long long)k, r, x, y);
            }
        }
        noe_arena_clear(&arena);
    }
    return found;
}

/* Drawing instances */

static noe_param param_of(const noe_rule *r, int pvar)
{
    for (uint16_t i = 0; i < r->n_nodes; i++) {
        const noe_pattern_node *n = &r->nodes[i];
        for (int k = 0; !n->is_var && k < noe_op_get(n->op)->n_params; k++) {
            if (n->params[k] != NOE_TERM_ABSENT &&
                r->terms[n->params[k]].kind == NOE_TERM_PVAR &&
                r->terms[n->params[k]].var == pvar)
                return noe_op_get(n->op)->params[k];
        }
    }
    return NOE_PARAM_NONE;
}

static noe_value draw_list(noe_param p, const noe_shape *like, noe_rng *rng)
{
    noe_value v = {.kind = noe_param_kind_of(p)};
    int spatial = like->rank > 2 ? like->rank - 2 : 1;
    if (p == NOE_PARAM_PERM) {
        v.n = like->rank;
        for (int i = 0; i < v.n; i++) {
            int j = (int)noe_rng_below(rng, (uint64_t)i + 1);
            v.list[i] = v.list[j];
            v.list[j] = i;
        }
        return v;
    }
    if (p == NOE_PARAM_SHAPE) {
        v.n = like->rank;
        for (int i = 0; i < v.n; i++)
            v.list[i] = noe_rng_below(rng, 4) ? like->dim[i] : noe_rng_range(rng, 1, 3);
        return v;
    }
    if (p == NOE_PARAM_AXES) {
        for (int i = 0; i < like->rank; i++) {
            if (noe_rng_below(rng, 2))
                v.list[v.n++] = i;
        }
        return v;
    }
    v.n = p == NOE_PARAM_PADS ? 2 * (noe_rng_below(rng, 2) ? spatial : like->rank)
                              : spatial;
    for (int i = 0; i < v.n && i < NOE_MAX_LIST; i++)
        v.list[i] =
            p == NOE_PARAM_PADS ? noe_rng_range(rng, 0, 1) : noe_rng_range(rng, 1, 2);
    return v;
}

static noe_value draw_param(noe_param p, const noe_shape *like, noe_rng *rng)
{
    switch (noe_param_kind_of(p)) {
    case NOE_KIND_AXIS:
        return noe_value_int(NOE_KIND_AXIS,
                             noe_rng_range(rng, 0, like->rank ? like->rank - 1 : 0));
    case NOE_KIND_INT:
        if (p == NOE_PARAM_STEP || p == NOE_PARAM_GROUP)
            return noe_value_int(NOE_KIND_INT, noe_rng_range(rng, 1, 2));
        return noe_value_int(NOE_KIND_INT, noe_rng_range(rng, 0, 3));
    case NOE_KIND_FLOAT:
        return noe_value_float((double)noe_rng_range(rng, -2, 2) / 2);
    default:
        return draw_list(p, like, rng);
    }
}

/* Ranks mostly alike, sizes mostly alike: what need not fit often does. */
static bool draw_instance(const noe_rule *r, noe_rng *rng, noe_instance *inst)
{
    noe_binding *b = &inst->binding;
    int rank = (int)noe_rng_below(rng, 5);
    int64_t most = noe_rng_range(rng, 1, 3);
    noe_shape base = {.rank = rank};
    for (int k = 0; k < NOE_MAX_RANK; k++)
        base.dim[k] = noe_rng_range(rng, 1, 3);
    for (int v = 0; v < r->n_vars; v++) {
        noe_shape s = base;
        bool is_own = noe_rng_below(rng, 3) == 0;
        if (noe_rng_below(rng, 4) == 0)
            s.rank = (int)noe_rng_below(rng, 5);
        for (int k = 0; k < s.rank; k++) {
            if (is_own || noe_rng_below(rng, 4) == 0)
                s.dim[k] = noe_rng_range(rng, 1, most);
        }
        b->type[v] = (noe_type){NOE_F32, s};
        b->bound[v] = true;
    }
    for (int v = 0; v < r->n_pvars; v++) {
        noe_param p = param_of(r, v);
        if (p == NOE_PARAM_NONE)
            return false;
        const noe_shape *like =
            r->n_vars ? &b->type[noe_rng_below(rng, (uint64_t)r->n_vars)].shape : &base;
        b->pvalue[v] = draw_param(p, like, rng);
        b->pbound[v] = true;
    }
    return noe_instance_check(r, inst, false);
}

static bool is_small(const noe_rule *r, const noe_instance *inst)
{
    for (uint16_t i = 0; i < r->n_nodes; i++) {
        if (noe_shape_elements(&inst->type[i].shape) > MAX_ELEMENTS)
            return false;
    }
    return true;
}

static void look_at_match(const noe_rule *r, const noe_instance *match, uint64_t seed,
                          brute_report *report)
{
    report->n_instances++;
    if (report->answer == BRUTE_NOTHING)
        report->answer = BRUTE_TRUE;
    if (differs(r, match, seed, &report->where))
        report->answer = BRUTE_FALSE;
}

/* A rule speaks of matches: a parameter that the left side binds has the value that the
 * matched node has (core/instance.h, noe_instance_store), so an end beyond the axis' is
 * none. */
void brute_look(const noe_rule *r, const noe_instance *inst, uint64_t seed,
                brute_report *report)
{
    noe_instance *match = noe_malloc(sizeof *match);
    *match = *inst;
    if (is_small(r, inst) && noe_instance_store(r, match))
        look_at_match(r, match, seed, report);
    free(match);
}

void brute_check(const noe_rule *rule, uint64_t seed, int n_tries, int n_found,
                 brute_report *report)
{
    noe_instance *inst = noe_malloc(sizeof *inst);
    *report = (brute_report){0};
    noe_rng rng = noe_rng_split(seed, "brute shapes", 0);
    for (int i = 0; i < n_tries && report->answer != BRUTE_FALSE; i++) {
        if (draw_instance(rule, &rng, inst))
            brute_look(rule, inst, seed + (uint64_t)i, report);
    }
    for (int i = 0; i < n_found && report->answer != BRUTE_FALSE; i++) {
        int attempts = 0;
        if (noe_instance_find(rule, seed ^ 0x5bd1e995, i, 60, inst, &attempts))
            brute_look(rule, inst, seed + (uint64_t)i, report);
    }
    free(inst);
}
