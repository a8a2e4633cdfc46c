/* SPDX-License-Identifier: Apache-2.0
 *
 * What may meet at a level: values by level and role, the moves for each pair of roles
 * with the shapes of their results, and the index from an instance to the supports that
 * have it. Shapes get their numbers here, in one order on any number of threads.
 */
#include "generator/engine.h"

#include <stdlib.h>

int noe_universe_shape(noe_universe *u, const noe_shape *shape)
{
    for (int i = 0; i < u->n_shapes; i++) {
        if (noe_shape_eq(&u->shapes[i], shape))
            return i;
    }
    if (u->n_shapes == NOE_MAX_SHAPES)
        return -1;
    u->shapes[u->n_shapes] = *shape;
    u->n_elements[u->n_shapes] = (uint32_t)noe_shape_elements(shape);
    return u->n_shapes++;
}

/* The roles of operands and the shapes that the moves make of them. */
typedef struct meeting {
    uint16_t role[NOE_SPACE_MAX_IN], n_in;
    struct fit {
        uint16_t move;
        noe_shape out;
    } * fits;
    uint32_t n, cap;
} meeting;

typedef struct planner {
    noe_universe *u;
    noe_plan *p;
    int level;
    meeting *meetings;
    uint32_t n_meetings, cap_meetings;
    noe_error *err;
} planner;

static void list_values(planner *pl)
{
    const noe_universe *u = pl->u;
    noe_plan *p = pl->p;
    p->n_roles = (uint32_t)u->n_shapes * u->space->n_roles;
    p->by_role = noe_calloc((size_t)p->n_roles * NOE_MAX_LEVEL, sizeof *p->by_role);
    for (uint32_t v = 0; v < u->n_values; v++) {
        const noe_gen_value *x = &u->values[v];
        if (x->is_closed)
            continue;
        noe_id_list *l = &p->by_role[x->level * p->n_roles + noe_role_of(u, x)];
        NOE_PUSH(l->id, l->n, l->cap, v);
    }
}

static bool has_values(const planner *pl, int level, uint32_t role)
{
    return pl->p->by_role[(uint32_t)level * pl->p->n_roles + role].n > 0;
}

/* Whether values of these roles may be operands of an e-node of the level. */
static bool may_meet(const planner *pl, uint32_t x, uint32_t y)
{
    int rest = pl->level - 1;
    for (int i = 0; i <= rest; i++) {
        if (!has_values(pl, i, x))
            continue;
        if (has_values(pl, rest - i, y))
            return true;
        /* With operators in common: at least one of each. */
        for (int j = 1; i >= 1 && j <= rest; j++) {
            if (i + j > rest && has_values(pl, j, y))
                return true;
        }
    }
    return false;
}

static void find_fits(void *arg, int thread, uint32_t item)
{
    (void)thread;
    const planner *pl = arg;
    const noe_universe *u = pl->u;
    meeting *m = &pl->meetings[item];
    noe_operand in[NOE_SPACE_MAX_IN];
    for (int k = 0; k < m->n_in; k++)
        in[k] = (noe_operand){&u->shapes[m->role[k] / u->space->n_roles],
                              (noe_role)(m->role[k] % u->space->n_roles)};
    for (int i = 0; i < u->space->n_moves; i++) {
        struct fit fit = {.move = (uint16_t)i};
        const noe_move *move = &u->space->moves[i];
        if (move->n_in == m->n_in && noe_move_fits(u->space, move, in, &fit.out))
            NOE_PUSH(m->fits, m->n, m->cap, fit);
    }
}

static noe_status add_application(planner *pl, const meeting *m, noe_application a,
                                  const noe_shape *out)
{
    noe_universe *u = pl->u;
    noe_plan *p = pl->p;
    int shape = noe_universe_shape(u, out);
    if (shape < 0)
        return noe_fail(pl->err, NOE_ERR_LIMIT, "space %s has over %d shapes",
                        u->space->name, NOE_MAX_SHAPES);
    const noe_move *move = &u->space->moves[a.move];
    a.shape = (uint16_t)shape;
    a.is_commutative = noe_op_has(move->op, NOE_TRAIT_COMMUTATIVE);
    int shapes[NOE_SPACE_MAX_IN] = {0};
    for (int k = 0; k < m->n_in; k++)
        shapes[k] = (int)(m->role[k] / u->space->n_roles);
    noe_projector_prepare(u, &a, shapes);
    NOE_PUSH(p->applications, p->n_applications, p->cap_applications, a);
    return NOE_OK;
}

static const noe_params *slice_params(planner *pl, const meeting *m,
                                      const noe_move *move, int64_t cut)
{
    const noe_shape *whole = &pl->u->shapes[m->role[0] / pl->u->space->n_roles];
    noe_params *params = NOE_NEW(&pl->p->arena, noe_params);
    *params = noe_move_params(move, whole, cut);
    return params;
}

/* One application for each index at which the axis may be cut. */
static noe_status add_cuts(planner *pl, const meeting *m, uint16_t move)
{
    noe_universe *u = pl->u;
    const noe_move *low = &u->space->moves[move];
    noe_shape whole = u->shapes[m->role[0] / u->space->n_roles];
    int64_t axis = noe_params_get(low->op, &low->params, NOE_PARAM_AXIS)->i;
    for (int64_t cut = 1; cut < whole.dim[axis] && cut < 32; cut++) {
        noe_shape part = whole;
        bool is_low = low->kind == NOE_MOVE_LOW;
        part.dim[axis] = is_low ? cut : whole.dim[axis] - cut;
        noe_application a = {.move = move,
                             .cut = (uint32_t)cut,
                             .params = slice_params(pl, m, low, cut)};
        NOE_TRY(add_application(pl, m, a, &part));
    }
    return NOE_OK;
}

static noe_status add_range(planner *pl, const meeting *m, noe_range *range)
{
    noe_plan *p = pl->p;
    range->first = p->n_applications;
    for (uint32_t i = 0; i < m->n; i++) {
        const noe_move *move = &pl->u->space->moves[m->fits[i].move];
        noe_application a = {
            .move = m->fits[i].move, .cut = NOE_NO_OPERAND, .params = &move->params};
        if (move->kind == NOE_MOVE_PLAIN && move->op == NOE_OP_SLICE)
            a.params = slice_params(pl, m, move, 0);
        NOE_TRY(move->kind == NOE_MOVE_PLAIN
                    ? add_application(pl, m, a, &m->fits[i].out)
                    : add_cuts(pl, m, a.move));
    }
    range->n = p->n_applications - range->first;
    return NOE_OK;
}

static bool is_used(const planner *pl, uint32_t role)
{
    for (int level = 0; level < pl->level; level++) {
        if (has_values(pl, level, role))
            return true;
    }
    return false;
}

/* Of three operands the first is a mask: there are few, and the only move with three
 * operands is where. */
static void list_meetings_of_three(planner *pl)
{
    const noe_plan *p = pl->p;
    for (uint32_t c = NOE_ROLE_MASK; c < p->n_roles; c += pl->u->space->n_roles) {
        if (!is_used(pl, c))
            continue;
        for (uint32_t i = 0; i < p->n_roles * p->n_roles; i++) {
            meeting m = {.role = {(uint16_t)c, (uint16_t)(i / p->n_roles),
                                  (uint16_t)(i % p->n_roles)},
                         .n_in = 3};
            if (is_used(pl, m.role[1]) && is_used(pl, m.role[2]))
                NOE_PUSH(pl->meetings, pl->n_meetings, pl->cap_meetings, m);
        }
    }
}

static void list_meetings(planner *pl)
{
    const noe_plan *p = pl->p;
    for (uint32_t x = 0; x < p->n_roles; x++) {
        if (has_values(pl, pl->level - 1, x)) {
            meeting m = {.role = {(uint16_t)x}, .n_in = 1};
            NOE_PUSH(pl->meetings, pl->n_meetings, pl->cap_meetings, m);
        }
        for (uint32_t y = 0; y < p->n_roles; y++) {
            meeting m = {.role = {(uint16_t)x, (uint16_t)y}, .n_in = 2};
            if (may_meet(pl, x, y))
                NOE_PUSH(pl->meetings, pl->n_meetings, pl->cap_meetings, m);
        }
    }
    if (pl->u->space->has_three)
        list_meetings_of_three(pl);
}

/* Of role x, with c and y. */
static noe_company *find_company(const noe_plan *p, uint32_t c, uint32_t x, uint32_t y)
{
    const struct noe_company_list *l = &p->companies[x];
    for (uint32_t i = 0; i < l->n; i++) {
        if (l->p[i].c == c && l->p[i].y == y)
            return &l->p[i];
    }
    return NULL;
}

static noe_company *company(noe_plan *p, uint32_t c, uint32_t x, uint32_t y)
{
    noe_company *old = find_company(p, c, x, y), new = {.c = c, .y = y};
    struct noe_company_list *l = &p->companies[x];
    if (old)
        return old;
    NOE_PUSH(l->p, l->n, l->cap, new);
    return &l->p[l->n - 1];
}

static noe_status number_fits(planner *pl)
{
    noe_plan *p = pl->p;
    p->unary = noe_calloc(p->n_roles + 1, sizeof *p->unary);
    p->pair_index = noe_calloc((size_t)p->n_roles * p->n_roles, sizeof *p->pair_index);
    p->companies = noe_calloc(p->n_roles + 1, sizeof *p->companies);
    for (uint32_t i = 0; i < pl->n_meetings; i++) {
        const meeting *m = &pl->meetings[i];
        noe_range range;
        NOE_TRY(add_range(pl, m, &range));
        if (m->n_in == 1) {
            p->unary[m->role[0]] = range;
        } else if (m->n_in == 2 && range.n) {
            NOE_PUSH(p->ranges, p->n_ranges, p->cap_ranges, range);
            p->pair_index[m->role[0] * p->n_roles + m->role[1]] = p->n_ranges;
        } else if (m->n_in == 3 && range.n) {
            company(p, m->role[0], m->role[1], m->role[2])->xy = range;
            company(p, m->role[0], m->role[2], m->role[1])->yx = range;
        }
    }
    return NOE_OK;
}

static void list_partners(planner *pl)
{
    noe_plan *p = pl->p;
    p->partners = noe_calloc(p->n_roles + 1, sizeof *p->partners);
    for (uint32_t x = 0; x < p->n_roles; x++) {
        struct noe_partner_list *l = &p->partners[x];
        for (uint32_t y = 0; y < p->n_roles; y++) {
            noe_partner partner = {y, noe_plan_pair(p, x, y), noe_plan_pair(p, y, x)};
            if (partner.xy.n || partner.yx.n)
                NOE_PUSH(l->p, l->n, l->cap, partner);
        }
    }
}

/* Supports of at most level - 2 operators by the instances they have, small ones first:
 * those of level - 1 meet only what they contain. */
static void list_users(planner *pl)
{
    const noe_universe *u = pl->u;
    noe_plan *p = pl->p;
    uint32_t n = u->n_values + u->n_cuts;
    p->users_first = noe_calloc((size_t)n + 2, sizeof *p->users_first);
    uint32_t *first = p->users_first + 1;
    for (int pass = 0; pass < 2; pass++) {
        for (int size = 1; size <= pl->level - 2; size++) {
            for (uint32_t s = 0; s < u->n_supports; s++) {
                if (noe_support_size(&u->supports[s]) != size)
                    continue;
                for (int k = 0; k < size; k++) {
                    uint32_t i = noe_instance_index(u, u->supports[s].instance[k]);
                    if (pass)
                        p->users[first[i]++] = s;
                    else
                        first[i + 1]++;
                }
            }
        }
        if (pass)
            break;
        for (uint32_t i = 0; i < n; i++)
            first[i + 1] += first[i];
        p->users = noe_malloc(((size_t)first[n] + 1) * sizeof *p->users);
    }
}

noe_status noe_plan_make(noe_universe *u, int level, int n_threads, noe_plan **out,
                         noe_error *err)
{
    noe_plan *p = noe_calloc(1, sizeof *p);
    planner pl = {.u = u, .p = p, .level = level, .err = err};
    list_values(&pl);
    list_meetings(&pl);
    noe_parallel_for(n_threads, pl.n_meetings, find_fits, &pl);
    noe_status status = number_fits(&pl);
    if (status == NOE_OK) {
        list_partners(&pl);
        list_users(&pl);
    }
    for (uint32_t i = 0; i < pl.n_meetings; i++)
        free(pl.meetings[i].fits);
    free(pl.meetings);
    if (status == NOE_OK)
        *out = p;
    else
        noe_plan_free(p);
    return status;
}

void noe_plan_free(noe_plan *p)
{
    if (!p)
        return;
    for (uint32_t i = 0; i < p->n_roles * NOE_MAX_LEVEL; i++)
        free(p->by_role[i].id);
    for (uint32_t i = 0; p->partners && i < p->n_roles; i++)
        free(p->partners[i].p);
    for (uint32_t i = 0; p->companies && i < p->n_roles; i++)
        free(p->companies[i].p);
    free(p->by_role);
    free(p->partners);
    free(p->companies);
    free(p->applications);
    free(p->unary);
    free(p->pair_index);
    free(p->ranges);
    free(p->users_first);
    free(p->users);
    noe_arena_clear(&p->arena);
    free(p);
}

noe_range noe_plan_pair(const noe_plan *p, uint32_t x_role, uint32_t y_role)
{
    uint32_t i = p->pair_index[x_role * p->n_roles + y_role];
    return i ? p->ranges[i - 1] : (noe_range){0, 0};
}

noe_range noe_plan_three(const noe_plan *p, uint32_t c_role, uint32_t x_role,
                         uint32_t y_role)
{
    const noe_company *k = find_company(p, c_role, x_role, y_role);
    return k ? k->xy : (noe_range){0, 0};
}

const noe_application *noe_plan_find(const noe_universe *u, const noe_plan *p,
                                     const noe_enode *e)
{
    uint32_t in[NOE_SPACE_MAX_IN], roles[NOE_SPACE_MAX_IN];
    int n = noe_enode_operands(u, e, in);
    for (int k = 0; k < n; k++)
        roles[k] = noe_role_of(u, &u->values[in[k]]);
    noe_range r = n == 1   ? p->unary[roles[0]]
                  : n == 2 ? noe_plan_pair(p, roles[0], roles[1])
                           : noe_plan_three(p, roles[0], roles[1], roles[2]);
    uint32_t cut = n == 1 ? e->b : NOE_NO_OPERAND;
    for (uint32_t i = r.first; i < r.first + r.n; i++) {
        if (p->applications[i].move == e->move && p->applications[i].cut == cut)
            return &p->applications[i];
    }
    return NULL;
}
