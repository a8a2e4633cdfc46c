/* SPDX-License-Identifier: Apache-2.0
 *
 * How a table (space_spec.c) becomes moves.
 *
 * Where an operator is enumerated follows from what a space lists: it needs a value for
 * each of its parameters and operands that fit. Left out are composite operators, which
 * are definitions, and what a space names in `without` to stay small.
 */
#include "generator/space_spec.h"

#include <stdio.h>

static bool is_listed(const char *names, const char *name, char separator)
{
    size_t len = strlen(name);
    for (const char *p = names; p && *p;) {
        const char *end = strchr(p, separator);
        size_t n = end ? (size_t)(end - p) : strlen(p);
        if (n == len && memcmp(p, name, len) == 0)
            return true;
        p = end ? end + 1 : NULL;
    }
    return false;
}

static noe_value choice_value(const noe_space_choice *c, int i)
{
    noe_param_kind kind = noe_param_kind_of(c->param);
    if (kind == NOE_KIND_AXES || kind == NOE_KIND_INTS)
        return noe_value_list(kind, c->values[i].n, c->values[i].list);
    if (kind == NOE_KIND_FLOAT)
        return noe_value_float((double)c->values[i].list[0] / 4);
    return noe_value_int(kind, c->values[i].list[0]);
}

static const noe_space_choice *find_choice(const noe_space_spec *spec, noe_op op,
                                           noe_param p)
{
    for (int i = 0; i < spec->n_choices; i++) {
        const noe_space_choice *c = &spec->choices[i];
        if (c->param == p && (c->op == op || c->op == NOE_ANY_OP))
            return c;
    }
    return NULL;
}

static void add_move(noe_space *space, const noe_move *move)
{
    NOE_ASSERT(space->n_moves < NOE_SPACE_MAX_MOVES);
    space->moves[space->n_moves++] = *move;
    space->has_three = space->has_three || move->n_in > 2;
}

/* start and end of a slice come from the e-node and are 0 in the move. */
static bool is_bound(noe_param p)
{
    return p == NOE_PARAM_START || p == NOE_PARAM_END;
}

/* Number of combinations of listed values, 0 if a parameter has none. */
static int count_combinations(const noe_space_spec *spec, noe_op op)
{
    const noe_op_info *info = noe_op_get(op);
    int n = 1;
    for (int i = 0; i < info->n_params; i++) {
        const noe_space_choice *c = find_choice(spec, op, info->params[i]);
        if (is_bound(info->params[i]))
            continue;
        n *= c ? c->n_values : 0;
    }
    return n;
}

static void set_combination(const noe_space_spec *spec, noe_op op, int which,
                            noe_params *params)
{
    const noe_op_info *info = noe_op_get(op);
    params->n = info->n_params;
    for (int i = 0; i < info->n_params; i++) {
        const noe_space_choice *c = find_choice(spec, op, info->params[i]);
        if (is_bound(info->params[i])) {
            params->v[i] = noe_value_int(NOE_KIND_INT, 0);
            continue;
        }
        params->v[i] = choice_value(c, which % c->n_values);
        which /= c->n_values;
    }
}

/* Of a slice: such a one goes over the whole axis. */
static bool has_steps(const noe_params *params)
{
    return noe_params_get(NOE_OP_SLICE, params, NOE_PARAM_STEP)->i > 1;
}

static void add_moves_of(noe_space *space, const noe_space_spec *spec, noe_op op)
{
    const noe_op_info *info = noe_op_get(op);
    noe_move move = {.op = op, .n_in = info->min_in};
    move.only.rank = NOE_RANK_UNKNOWN;
    if (op == NOE_OP_RESHAPE) {
        for (int i = 0; i < spec->n_reshapes; i++) {
            const noe_reshape_spec *r = &spec->reshapes[i];
            move.only = r->from;
            move.params.n = 1;
            move.params.v[0] = noe_value_list(NOE_KIND_INTS, r->to.rank, r->to.dim);
            add_move(space, &move);
        }
        return;
    }
    int n = count_combinations(spec, op);
    for (int i = 0; i < n; i++) {
        set_combination(spec, op, i, &move.params);
        bool is_cut = op == NOE_OP_SLICE && !has_steps(&move.params);
        move.kind = is_cut ? NOE_MOVE_LOW : NOE_MOVE_PLAIN;
        add_move(space, &move);
        if (is_cut) {
            move.kind = NOE_MOVE_HIGH;
            add_move(space, &move);
        }
    }
}

static void add_leaves(noe_space *space, const noe_space_spec *spec)
{
    for (int i = 0; i < spec->n_leaves; i++) {
        const noe_leaf_spec *s = &spec->leaves[i];
        noe_space_leaf leaf = {.shape = noe_shape_make(s->rank, s->dim),
                               .role = s->role,
                               .is_constant = s->count == 0,
                               .op = s->op,
                               .group = i};
        if (s->cut)
            leaf.cuts[s->cut_axis] = UINT32_C(1) << s->cut;
        if (spec->batch_cut && s->rank > 2)
            leaf.cuts[0] = UINT32_C(1) << spec->batch_cut;
        if (leaf.is_constant) {
            leaf.params.n = 1;
            leaf.params.v[0] = noe_value_list(NOE_KIND_INTS, s->rank, s->dim);
        }
        int n = leaf.is_constant ? 1 : s->count;
        for (leaf.index = 0; leaf.index < n; leaf.index++) {
            NOE_ASSERT(space->n_leaves < NOE_SPACE_MAX_LEAVES);
            if (leaf.is_constant)
                snprintf(leaf.name, sizeof leaf.name, "%s", noe_op_get(s->op)->name);
            else
                snprintf(leaf.name, sizeof leaf.name, "%s%d", s->name, leaf.index + 1);
            space->leaves[space->n_leaves++] = leaf;
        }
    }
}

static bool has_masks(const noe_space_spec *spec)
{
    for (int i = 0; i < spec->n_leaves; i++) {
        if (spec->leaves[i].role == NOE_ROLE_MASK)
            return true;
    }
    return false;
}

/* Without masks and halves there are two. */
static uint32_t count_roles(const noe_space_spec *spec)
{
    noe_role last = NOE_ROLE_WEIGHT;
    for (int i = 0; i < spec->n_leaves; i++) {
        if (spec->leaves[i].role > last)
            last = spec->leaves[i].role;
    }
    return (uint32_t)last + 1;
}

static bool is_wanted(const noe_space_spec *spec, const char *only, noe_op op)
{
    const char *name = noe_op_get(op)->name;
    if (noe_op_get(op)->min_in > NOE_SPACE_MAX_IN)
        return false;
    if (noe_op_has(op, NOE_TRAIT_COMPOSITE) || noe_op_has(op, NOE_TRAIT_CONSTANT))
        return false;
    if (only && !is_listed(only, name, ','))
        return false;
    if (spec->only && !is_listed(spec->only, name, ' '))
        return false;
    if (op == NOE_OP_WHERE && !has_masks(spec))
        return false;
    return !is_listed(spec->without, name, ' ');
}

static void build(const noe_space_spec *spec, const char *only, noe_space *space)
{
    *space = (noe_space){.equal_shapes = spec->equal_shapes,
                         .keep_kernels = spec->keep_kernels,
                         .is_ordered = spec->is_ordered,
                         .any_roles = spec->any_roles,
                         .wide_kernels = spec->wide_kernels,
                         .deeper = spec->deeper,
                         .odd_inner = spec->odd_inner,
                         .max_elements = spec->max_elements,
                         .max_dim = spec->max_dim,
                         .n_samples = spec->n_samples};
    snprintf(space->name, sizeof space->name, "%s", spec->name);
    space->n_roles = count_roles(spec);
    add_leaves(space, spec);
    for (int op = 0; op < NOE_OP_COUNT; op++) {
        if (is_wanted(spec, only, (noe_op)op))
            add_moves_of(space, spec, (noe_op)op);
    }
}

/* Every name of a comma-separated list is an operator that can be enumerated. */
static noe_status check_names(const char *ops, noe_error *err)
{
    for (const char *p = ops;;) {
        size_t n = strcspn(p, ",");
        noe_op op;
        if (!noe_op_from_name(p, n, &op))
            return noe_fail(err, NOE_ERR_ARG,
                            "'%.*s' is neither a set of operators (%s) nor an operator",
                            (int)n, p, noe_space_names);
        if (noe_op_has(op, NOE_TRAIT_COMPOSITE) || noe_op_has(op, NOE_TRAIT_CONSTANT))
            return noe_fail(err, NOE_ERR_ARG,
                            "operator '%.*s' is a definition or a constant and is not "
                            "enumerated",
                            (int)n, p);
        if (!p[n])
            return NOE_OK;
        p += n + 1;
    }
}

/* Whether operators are left that the space is about: other spaces have the rest. */
static bool is_of_use(const noe_space_spec *spec, const noe_space *space)
{
    for (int i = 0; i < space->n_moves; i++) {
        if (!spec->about ||
            is_listed(spec->about, noe_op_get(space->moves[i].op)->name, ' '))
            return true;
    }
    return false;
}

/* "matrix,batch:add,matmul": these spaces, restricted to these operators. */
static noe_status build_listed(const char *ops, const char *colon, noe_space *spaces,
                               int *n, noe_error *err)
{
    for (const char *p = ops; p < colon;) {
        size_t len = strcspn(p, ",:");
        int i = 0;
        while (i < noe_n_space_specs && (strlen(noe_space_specs[i].name) != len ||
                                         memcmp(noe_space_specs[i].name, p, len) != 0))
            i++;
        if (i == noe_n_space_specs || *n == NOE_SPACE_MAX)
            return noe_fail(err, NOE_ERR_ARG, "'%.*s' is no space (%s)", (int)len, p,
                            noe_space_names);
        build(&noe_space_specs[i], colon + 1, &spaces[*n]);
        *n += is_of_use(&noe_space_specs[i], &spaces[*n]);
        p += len + 1;
    }
    return NOE_OK;
}

noe_status noe_space_build(const char *ops, noe_space *spaces, int *n, noe_error *err)
{
    const char *colon = strchr(ops, ':');
    *n = 0;
    if (colon) {
        NOE_TRY(check_names(colon + 1, err));
        return build_listed(ops, colon, spaces, n, err);
    }
    for (int i = 0; i < noe_n_space_specs; i++) {
        if (strcmp(ops, noe_space_specs[i].name) == 0) {
            build(&noe_space_specs[i], NULL, &spaces[(*n)++]);
            return NOE_OK;
        }
    }
    bool all = strcmp(ops, "default") == 0;
    if (!all)
        NOE_TRY(check_names(ops, err));
    for (int i = 0; i < noe_n_space_specs; i++) {
        if (!noe_space_specs[i].by_default)
            continue;
        NOE_ASSERT(*n < NOE_SPACE_MAX);
        build(&noe_space_specs[i], all ? NULL : ops, &spaces[*n]);
        *n += is_of_use(&noe_space_specs[i], &spaces[*n]);
    }
    return NOE_OK;
}

noe_params noe_move_params(const noe_move *move, const noe_shape *a, int64_t cut)
{
    noe_params params = move->params;
    if (move->op != NOE_OP_SLICE)
        return params;
    int64_t axis = noe_params_get(move->op, &params, NOE_PARAM_AXIS)->i;
    bool high = move->kind == NOE_MOVE_HIGH, low = move->kind == NOE_MOVE_LOW;
    noe_value start = noe_value_int(NOE_KIND_INT, high ? cut : 0);
    noe_value end = noe_value_int(NOE_KIND_INT, low              ? cut
                                                : axis < a->rank ? a->dim[axis]
                                                                 : 0);
    noe_params_set(move->op, &params, NOE_PARAM_START, &start);
    noe_params_set(move->op, &params, NOE_PARAM_END, &end);
    return params;
}

/* Elementwise with several operands: the result has the shape of one of them; where the
 * space asks for equal shapes, only mul takes a scalar. */
static bool fits_elementwise(const noe_space *space, const noe_move *move,
                             const noe_operand *in, const noe_shape *out)
{
    int n_like = 0;
    for (int k = 0; k < move->n_in; k++)
        n_like += noe_shape_eq(out, in[k].shape);
    /* The dense kernel of a depthwise one is wider than both. */
    bool kernels = space->wide_kernels && move->op == NOE_OP_MUL &&
                   in[0].shape->rank == 4 && in[1].shape->rank == 4;
    /* A choice between two numbers only repeats them. */
    if (move->op == NOE_OP_WHERE &&
        (in[0].role != NOE_ROLE_MASK || n_like == noe_shape_eq(out, in[0].shape)))
        return false;
    if (!space->equal_shapes)
        return n_like > 0 || kernels;
    if (n_like == move->n_in)
        return out->rank > 0;
    return move->op == NOE_OP_MUL && (in[0].shape->rank == 0 || in[1].shape->rank == 0);
}

/* Windows keep the size, up to the stride, or have no padding at all and then shrink
 * it: a pad that outgrows the kernel only multiplies shapes. */
static bool fits_window(const noe_move *move, const noe_shape *a, const noe_shape *out)
{
    const noe_value *strides =
        noe_params_get(move->op, &move->params, NOE_PARAM_STRIDES);
    const noe_value *pads = noe_params_get(move->op, &move->params, NOE_PARAM_PADS);
    bool keeps = true, pads_nothing = true;
    for (int i = 2; i < a->rank; i++) {
        int64_t s = strides->list[i - 2];
        keeps = keeps && out->dim[i] == (a->dim[i] + s - 1) / s;
    }
    for (int i = 0; i < pads->n; i++)
        pads_nothing = pads_nothing && pads->list[i] == 0;
    return keeps || pads_nothing;
}

static bool is_kernel_3x3(const noe_shape *s)
{
    return s->rank == 4 && s->dim[2] == 3 && s->dim[3] == 3;
}

static bool has_param(noe_op op, noe_param p)
{
    const noe_op_info *info = noe_op_get(op);
    for (int i = 0; i < info->n_params; i++) {
        if (info->params[i] == p)
            return true;
    }
    return false;
}

static bool is_uniform(const noe_move *move, noe_param p, int64_t value)
{
    const noe_value *v = noe_params_get(move->op, &move->params, p);
    for (int i = 0; i < v->n; i++) {
        if (v->list[i] != value)
            return false;
    }
    return true;
}

/* No strides, pads or dilations. */
static bool is_plain_window(const noe_move *move)
{
    return move->op == NOE_OP_CONV && is_uniform(move, NOE_PARAM_STRIDES, 1) &&
           is_uniform(move, NOE_PARAM_DILATIONS, 1) &&
           is_uniform(move, NOE_PARAM_PADS, 0);
}

/* What a space asks for beyond well-typedness, to leave out uninteresting terms. */
static bool is_interesting(const noe_space *space, const noe_move *move,
                           const noe_operand *in, const noe_shape *out)
{
    const noe_shape *a = in[0].shape;
    if (move->n_in >= 2 && noe_op_has(move->op, NOE_TRAIT_EWISE))
        return fits_elementwise(space, move, in, out);
    if (a->rank == 0)
        return !space->equal_shapes;
    if (has_param(move->op, NOE_PARAM_STRIDES)) {
        if ((in[0].role == NOE_ROLE_WEIGHT &&
             !(space->any_roles && is_plain_window(move))) ||
            (move->n_in == 2 && in[1].role != NOE_ROLE_WEIGHT))
            return false;
        if (space->keep_kernels && move->op == NOE_OP_CONV) {
            const noe_value *pads =
                noe_params_get(move->op, &move->params, NOE_PARAM_PADS);
            if (in[1].shape->dim[2] != 2 * pads->list[0] + 1 ||
                in[1].shape->dim[3] != 2 * pads->list[1] + 1)
                return false;
        }
        return fits_window(move, a, out);
    }
    if (move->op == NOE_OP_PAD && space->keep_kernels)
        return is_kernel_3x3(out);
    if (move->op == NOE_OP_MATMUL)
        return a->rank > 0 && a->rank <= 3 && a->dim[a->rank - 1] != 1 &&
               a->dim[a->rank - 1] != space->odd_inner;
    return true;
}

bool noe_leaf_is_plain(const noe_space_leaf *leaf)
{
    return leaf->is_constant && (leaf->op == NOE_OP_ONES || leaf->op == NOE_OP_ZEROS);
}

bool noe_move_widens(const noe_move *move, const noe_shape *other, const noe_shape *out)
{
    return move->n_in == 2 && noe_op_has(move->op, NOE_TRAIT_EWISE) &&
           !noe_shape_eq(other, out);
}

bool noe_move_fits(const noe_space *space, const noe_move *move, const noe_operand *in,
                   noe_shape *out)
{
    if (move->only.rank != NOE_RANK_UNKNOWN && !noe_shape_eq(&move->only, in[0].shape))
        return false;
    noe_type types[NOE_SPACE_MAX_IN], type;
    for (int k = 0; k < move->n_in; k++)
        types[k] = (noe_type){noe_role_dtype(in[k].role), *in[k].shape};
    noe_params params = move->kind == NOE_MOVE_PLAIN
                            ? noe_move_params(move, in[0].shape, 0)
                            : move->params;
    if (noe_op_infer(move->op, &params, types, move->n_in, &type, NULL) != NOE_OK ||
        !noe_op_computes(move->op, type.dtype))
        return false;
    *out = type.shape;
    int64_t n = noe_shape_elements(out);
    if (move->kind == NOE_MOVE_PLAIN && (n <= 0 || n > space->max_elements))
        return false;
    if (out->rank > NOE_SPACE_MAX_RANK)
        return false;
    for (int i = 0; i < out->rank; i++) {
        if (out->dim[i] > space->max_dim)
            return false;
    }
    return is_interesting(space, move, in, out);
}

noe_dtype noe_role_dtype(noe_role role)
{
    return role == NOE_ROLE_MASK ? NOE_BOOL : role == NOE_ROLE_HALF ? NOE_F16 : NOE_F32;
}

/* The condition of where comes first. */
noe_role noe_move_role(const noe_move *move, const noe_role *in)
{
    bool is_weight = true;
    noe_role last = in[move->n_in - 1];
    if (move->op == NOE_OP_CAST && noe_cast_type(&move->params) == NOE_F16)
        return NOE_ROLE_HALF;
    if (move->op != NOE_OP_CAST && (last == NOE_ROLE_MASK || last == NOE_ROLE_HALF))
        return last;
    for (int k = 0; k < move->n_in; k++)
        is_weight = is_weight && in[k] == NOE_ROLE_WEIGHT;
    return is_weight ? NOE_ROLE_WEIGHT : NOE_ROLE_DATA;
}
