/* SPDX-License-Identifier: Apache-2.0
 *
 * All pairs of operands of one level, each once.
 *
 * An e-node op(x, y) is of level L if the least union of a support of x and one of y
 * has L - 1 operators. Where that is all operators of x and all of y, the levels of x
 * and y add up to L - 1: such pairs are found by lists per level and role, and whatever
 * pair has a smaller union is left out. Otherwise the two supports share an instance,
 * and the pair is found through it: a support of L - 1 operators contains all that the
 * other operand needs, so that one is made by one of its instances (scanning the index
 * for these few is quadratic); smaller ones are found by the index from instances to
 * supports. Of several supports that have the least union, the first two count, and of
 * several shared instances the smallest.
 *
 * With three operands the first one is a mask and there are few masks, so that they are
 * gone through; then what the other two may be is looked for.
 *
 * Work is cut into blocks of values, of which the pairs are that have their larger
 * operand, or the support that is looked at, in the block.
 */
#include "generator/engine.h"
#include "generator/ranks.h"

#include <stdlib.h>

#define VALUES_PER_BLOCK 16

typedef struct worker {
    const noe_visit *v;
    noe_sketcher *sketcher;
    int thread;
    uint32_t *made; /* values inside supports */
    uint32_t n_made, cap_made;
    uint64_t n_records;
    char apart[64]; /* the counters of two threads share no cache line */
} worker;

typedef struct crew {
    const noe_visit *v;
    worker *workers;
    uint32_t n_blocks;
    double start;
} crew;

uint64_t noe_occurs_join(uint64_t a, uint64_t b)
{
    for (; b; b >>= 8) {
        uint64_t rest = a;
        int n = 0;
        while (rest && (rest & 0xFF) != (b & 0xFF)) {
            rest >>= 8;
            n++;
        }
        if (!rest && n < NOE_MAX_OCCURS)
            a |= (b & 0xFF) << (8 * n);
    }
    return a;
}

/* The variables of each group come in order: of all renamings of a term just one. */
static bool is_canonical(const noe_space *space, uint64_t occurs)
{
    uint8_t seen[NOE_SPACE_MAX_LEAVES] = {0};
    for (; occurs; occurs >>= 8) {
        const noe_space_leaf *leaf = &space->leaves[(occurs & 0xFF) - 1];
        if (leaf->index != seen[leaf->group]++)
            return false;
    }
    return true;
}

static void emit(worker *w, const noe_application *p, uint32_t a, uint32_t b)
{
    const noe_universe *u = w->v->u;
    uint32_t in[NOE_SPACE_MAX_IN] = {a, b, 0};
    uint64_t occurs = u->values[a].occurs;
    if (u->space->moves[p->move].n_in == 2)
        occurs = noe_occurs_join(occurs, u->values[b].occurs);
    noe_record r = {noe_value_key(p->shape, noe_sketcher_project(w->sketcher, p, in)),
                    noe_node_pack(p->move, a, b, is_canonical(u->space, occurs))};
    noe_partitions_push(w->v->out, w->thread, r);
    w->n_records++;
}

static void emit_three(worker *w, noe_range r, uint32_t c, uint32_t a, uint32_t b)
{
    const noe_universe *u = w->v->u;
    uint32_t in[NOE_SPACE_MAX_IN] = {c, a, b};
    uint64_t occurs = noe_occurs_join(
        noe_occurs_join(u->values[c].occurs, u->values[a].occurs), u->values[b].occurs);
    bool in_order = is_canonical(u->space, occurs);
    for (uint32_t i = r.first; i < r.first + r.n; i++) {
        const noe_application *p = &w->v->plan->applications[i];
        noe_record record = {
            noe_value_key(p->shape, noe_sketcher_project(w->sketcher, p, in)),
            noe_node_pack_three(p->move, in, in_order)};
        noe_partitions_push(w->v->out, w->thread, record);
        w->n_records++;
    }
}

static bool may_cut(const noe_universe *u, uint32_t a, const noe_application *p)
{
    const noe_move *m = &u->space->moves[p->move];
    int64_t axis = noe_params_get(m->op, &m->params, NOE_PARAM_AXIS)->i;
    return u->values[a].cuts[axis] >> p->cut & 1;
}

static void visit_unary(worker *w, uint32_t a)
{
    const noe_plan *plan = w->v->plan;
    noe_range r = plan->unary[noe_role_of(w->v->u, &w->v->u->values[a])];
    for (uint32_t i = r.first; i < r.first + r.n; i++) {
        const noe_application *p = &plan->applications[i];
        if (p->cut == NOE_NO_OPERAND || may_cut(w->v->u, a, p))
            emit(w, p, a, p->cut);
    }
}

/* Of x and y, one is ones or zeros. */
static bool is_widening(const noe_universe *u, const noe_application *p, uint32_t x,
                        uint32_t y)
{
    uint32_t other = u->values[x].is_plain ? y : x;
    return noe_move_widens(&u->space->moves[p->move],
                           &u->shapes[u->values[other].shape], &u->shapes[p->shape]);
}

static void apply(worker *w, noe_range r, uint32_t x, uint32_t y)
{
    const noe_universe *u = w->v->u;
    bool may_widen = u->values[x].is_plain != u->values[y].is_plain;
    for (uint32_t i = r.first; i < r.first + r.n; i++) {
        const noe_application *p = &w->v->plan->applications[i];
        if ((p->is_commutative && x > y) || (may_widen && is_widening(u, p, x, y)))
            continue;
        emit(w, p, x, y);
    }
}

static int size_of(const noe_universe *u, uint32_t value, uint32_t i)
{
    return noe_support_size(&u->supports[u->values[value].first_support + i]);
}

/* Values of rest operators that have no smaller union with x than all they need. */
static void visit_disjoint(worker *w, uint32_t x)
{
    const noe_universe *u = w->v->u;
    const noe_plan *plan = w->v->plan;
    const noe_gen_value *v = &u->values[x];
    int rest = w->v->level - 1 - v->level;
    if (rest < 0 || rest > v->level)
        return;
    const struct noe_partner_list *l = &plan->partners[noe_role_of(u, v)];
    for (uint32_t k = 0; k < l->n; k++) {
        const noe_partner *partner = &l->p[k];
        const noe_id_list *ys =
            &plan->by_role[(uint32_t)rest * plan->n_roles + partner->role];
        for (uint32_t i = 0; i < ys->n; i++) {
            uint32_t y = ys->id[i], p, q;
            noe_support both;
            if (v->mask & u->values[y].mask &&
                noe_support_least(u, x, y, &p, &q, &both) < w->v->level - 1)
                continue;
            apply(w, partner->xy, x, y);
            if (rest < v->level)
                apply(w, partner->yx, y, x);
        }
    }
}

/* (x, y), and (y, x), where the support of x in the first least union has level - 1
 * operators and so contains all that y needs. If that of y is as large, (y, x) is found
 * from there. */
static void apply_inside(worker *w, uint32_t x, uint32_t y)
{
    const noe_universe *u = w->v->u;
    const noe_plan *plan = w->v->plan;
    int want = w->v->level - 1;
    uint32_t x_role = noe_role_of(u, &u->values[x]),
             y_role = noe_role_of(u, &u->values[y]);
    noe_range xy = noe_plan_pair(plan, x_role, y_role);
    noe_range yx = noe_plan_pair(plan, y_role, x_role);
    uint32_t p, q;
    noe_support both;
    if (u->values[y].is_closed)
        return;
    if (xy.n && noe_support_least(u, x, y, &p, &q, &both) == want &&
        size_of(u, x, p) == want)
        apply(w, xy, x, y);
    if (yx.n && x != y && noe_support_least(u, y, x, &p, &q, &both) == want &&
        size_of(u, x, q) == want && size_of(u, y, p) < want)
        apply(w, yx, y, x);
}

static int compare_numbers(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* What the instances of a support make. */
static void list_made(worker *w, const noe_support *s)
{
    const noe_universe *u = w->v->u;
    for (int k = 0; k < NOE_MAX_SUPPORT && s->instance[k] != NOE_NO_OPERAND; k++) {
        uint32_t made = s->instance[k];
        if (made & NOE_CUT_INSTANCE) {
            const noe_cut *c = &u->cuts[made & ~NOE_CUT_INSTANCE];
            NOE_PUSH(w->made, w->n_made, w->cap_made, c->low);
            made = c->high;
        }
        NOE_PUSH(w->made, w->n_made, w->cap_made, made);
    }
}

/* Some support of x has level - 1 operators: y is made by one of them. */
static void visit_inside(worker *w, uint32_t x)
{
    const noe_universe *u = w->v->u;
    w->n_made = 0;
    for (uint32_t i = 0; i < u->values[x].n_supports; i++) {
        if (size_of(u, x, i) == w->v->level - 1)
            list_made(w, &u->supports[u->values[x].first_support + i]);
    }
    if (w->n_made)
        qsort(w->made, w->n_made, sizeof *w->made, compare_numbers);
    for (uint32_t i = 0; i < w->n_made; i++) {
        if ((i == 0 || w->made[i] != w->made[i - 1]) && u->values[w->made[i]].level > 0)
            apply_inside(w, x, w->made[i]);
    }
}

/* Whether support number i of x and number j of y are the first ones with the least
 * union, which is known to be of level - 1 operators or less. */
static bool is_first_least(const worker *w, uint32_t x, uint32_t i, uint32_t y,
                           uint32_t j)
{
    const noe_universe *u = w->v->u;
    const noe_support *xs = u->supports + u->values[x].first_support;
    const noe_support *ys = u->supports + u->values[y].first_support;
    for (uint32_t p = 0; p < u->values[x].n_supports; p++) {
        for (uint32_t q = 0; q < u->values[y].n_supports; q++) {
            noe_support both;
            int size = noe_support_unite(&xs[p], &ys[q], &both);
            bool is_before = p < i || (p == i && q < j);
            if (size < w->v->level - 1 || (size == w->v->level - 1 && is_before))
                return false;
        }
    }
    return true;
}

/* Whether instance number k of s is the smallest that s and t share. */
static bool is_first_shared(const noe_support *s, const noe_support *t, int k)
{
    for (int p = 0; p < k; p++) {
        for (int q = 0; q < NOE_MAX_SUPPORT; q++) {
            if (s->instance[p] == t->instance[q])
                return false;
        }
    }
    return true;
}

/* Other supports that share an instance with support number i of x. */
static void visit_users(worker *w, uint32_t x, uint32_t i)
{
    const noe_universe *u = w->v->u;
    const noe_plan *plan = w->v->plan;
    const noe_gen_value *v = &u->values[x];
    const noe_support *s = &u->supports[v->first_support + i];
    for (int k = 0; k < NOE_MAX_SUPPORT && s->instance[k] != NOE_NO_OPERAND; k++) {
        uint32_t at = noe_instance_index(u, s->instance[k]);
        for (uint32_t n = plan->users_first[at]; n < plan->users_first[at + 1]; n++) {
            uint32_t other = plan->users[n], y = u->owners[other];
            const noe_gen_value *b = &u->values[y];
            const noe_support *t = &u->supports[other];
            noe_support both;
            if (v->level + b->level <= w->v->level - 1 || !is_first_shared(s, t, k) ||
                noe_support_unite(s, t, &both) != w->v->level - 1)
                continue;
            noe_range r = noe_plan_pair(plan, noe_role_of(u, v), noe_role_of(u, b));
            if (r.n && is_first_least(w, x, i, y, other - b->first_support))
                apply(w, r, x, y);
        }
    }
}

/* Three operands */

/* (c, x, y) and (c, y, x), if this is their level. */
static void apply_three(worker *w, const noe_company *k, uint32_t c, uint32_t x,
                        uint32_t y)
{
    const uint32_t in[NOE_SPACE_MAX_IN] = {c, x, y};
    noe_support all;
    if (noe_support_least_of(w->v->u, in, 3, &all) != w->v->level - 1)
        return;
    emit_three(w, k->xy, c, x, y);
    if (x != y)
        emit_three(w, k->yx, c, y, x);
}

/* Where c and x need all operators, y is a leaf or made by one of them. */
static void visit_three_inside(worker *w, const noe_company *k, uint32_t c, uint32_t x)
{
    const noe_universe *u = w->v->u;
    const noe_gen_value *cv = &u->values[c], *xv = &u->values[x];
    w->n_made = 0;
    for (uint32_t i = 0; i < (cv->n_supports ? cv->n_supports : 1); i++) {
        for (uint32_t j = 0; j < (xv->n_supports ? xv->n_supports : 1); j++) {
            noe_support both;
            if (noe_support_unite(noe_support_at(u, c, i), noe_support_at(u, x, j),
                                  &both) == w->v->level - 1)
                list_made(w, &both);
        }
    }
    if (w->n_made)
        qsort(w->made, w->n_made, sizeof *w->made, compare_numbers);
    for (uint32_t i = 0; i < w->n_made; i++) {
        uint32_t y = w->made[i];
        if ((i == 0 || y != w->made[i - 1]) && y <= x && u->values[y].level > 0 &&
            !u->values[y].is_closed && noe_role_of(u, &u->values[y]) == k->y)
            apply_three(w, k, c, x, y);
    }
}

/* The values of a level that are not after x and, if asked for, may share operators
 * with c or x. */
static void visit_three_listed(worker *w, const noe_company *k, uint32_t c, uint32_t x,
                               int level, bool sharing)
{
    const noe_universe *u = w->v->u;
    const noe_plan *plan = w->v->plan;
    const noe_id_list *ys = &plan->by_role[(uint32_t)level * plan->n_roles + k->y];
    uint64_t mask = u->values[c].mask | u->values[x].mask;
    for (uint32_t i = 0; i < ys->n && ys->id[i] <= x; i++) {
        if (!sharing || mask & u->values[ys->id[i]].mask)
            apply_three(w, k, c, x, ys->id[i]);
    }
}

/* Mask c and x: y brings what is left of the operators by itself, or shares some. */
static void visit_three_with(worker *w, const noe_company *k, uint32_t c, uint32_t x)
{
    const noe_universe *u = w->v->u;
    const uint32_t in[2] = {c, x};
    noe_support both;
    int rest = w->v->level - 1 - noe_support_least_of(u, in, 2, &both);
    if (rest < 0)
        return;
    visit_three_listed(w, k, c, x, rest, false);
    if (rest == 0) {
        visit_three_inside(w, k, c, x);
        return;
    }
    for (int level = rest + 1; level <= u->values[x].level; level++)
        visit_three_listed(w, k, c, x, level, true);
}

/* x is the later one of the last two operands. */
static void visit_three(worker *w, uint32_t x)
{
    const noe_universe *u = w->v->u;
    const noe_plan *plan = w->v->plan;
    const struct noe_company_list *l = &plan->companies[noe_role_of(u, &u->values[x])];
    for (uint32_t k = 0; k < l->n; k++) {
        for (int level = 0; level < w->v->level; level++) {
            const noe_id_list *cs =
                &plan->by_role[(uint32_t)level * plan->n_roles + l->p[k].c];
            for (uint32_t i = 0; i < cs->n; i++)
                visit_three_with(w, &l->p[k], cs->id[i], x);
        }
    }
}

static void visit_value(worker *w, uint32_t x)
{
    const noe_universe *u = w->v->u;
    const noe_gen_value *v = &u->values[x];
    if (v->is_closed || v->level >= w->v->level)
        return;
    if (v->level == w->v->level - 1)
        visit_unary(w, x);
    visit_disjoint(w, x);
    visit_inside(w, x);
    for (uint32_t i = 0; i < v->n_supports; i++) {
        if (size_of(u, x, i) < w->v->level - 1)
            visit_users(w, x, i);
    }
    if (u->space->has_three)
        visit_three(w, x);
}

/* The other threads and processes are about as far as this one. */
static void report(const crew *c, uint32_t block)
{
    const noe_visit *v = c->v;
    uint64_t n = c->workers[0].n_records * (uint64_t)(v->n_threads * noe_ranks_count());
    double seconds = noe_wall_seconds() - c->start + 1e-9;
    double left = seconds * (double)(c->n_blocks - block) / (double)(block + 1);
    noe_progress(
        v->u->env,
        "%s: level %d, %.1f M e-nodes, %.0f k/s, %u values, %ld MB, %.0f s left",
        v->u->space->name, v->level, 1e-6 * (double)n, 1e-3 * (double)n / seconds,
        v->u->n_values, noe_peak_rss_kib() / 1024, left);
}

static void visit_block(void *arg, int thread, uint32_t item)
{
    const crew *c = arg;
    worker *w = &c->workers[thread];
    /* Large values first: they have about equally many partners. */
    uint32_t block = c->n_blocks - 1 - item;
    uint32_t end = (block + 1) * VALUES_PER_BLOCK;
    if (noe_cancelled(c->v->u->env) ||
        block % (uint32_t)noe_ranks_count() != (uint32_t)noe_rank())
        return;
    for (uint32_t x = block * VALUES_PER_BLOCK; x < end; x++) {
        if (x < c->v->u->n_values)
            visit_value(w, x);
    }
    if (thread == 0)
        report(c, item);
}

uint64_t noe_visit_level(const noe_visit *v)
{
    crew c = {.v = v, .start = noe_wall_seconds()};
    c.n_blocks = v->u->n_values / VALUES_PER_BLOCK + 1;
    c.workers = noe_calloc((size_t)v->n_threads, sizeof *c.workers);
    for (int i = 0; i < v->n_threads; i++)
        c.workers[i] =
            (worker){.v = v, .sketcher = noe_sketcher_new(v->u), .thread = i};
    noe_parallel_for(v->n_threads, c.n_blocks, visit_block, &c);
    uint64_t n = 0;
    for (int i = 0; i < v->n_threads; i++) {
        n += c.workers[i].n_records;
        noe_sketcher_free(c.workers[i].sketcher);
        free(c.workers[i].made);
    }
    free(c.workers);
    return n;
}
