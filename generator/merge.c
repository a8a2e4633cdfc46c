/* SPDX-License-Identifier: Apache-2.0
 *
 * From the records of a level to classes and e-nodes. Partitions are grouped by
 * fingerprint on all threads; what is kept is put in one order that depends on nothing
 * but the e-nodes, numbered, and entered.
 */
#include "generator/engine.h"
#include "generator/ranks.h"

#include <stdlib.h>

typedef struct partition_stats {
    uint64_t n_values, n_pairs, n_canonical;
} partition_stats;

typedef struct merger {
    noe_universe *u;
    const noe_plan *plan;
    int level;
    bool keep_all;
    noe_partitions *records;
    uint32_t *known; /* fingerprint -> value plus 1, open addressing */
    uint64_t n_known;
    noe_record *kept[NOE_PARTITIONS];
    size_t n_kept[NOE_PARTITIONS];
    partition_stats stats[NOE_PARTITIONS];
    uint32_t first_value; /* of the level, for data */
} merger;

static void list_known(merger *m)
{
    const noe_universe *u = m->u;
    m->n_known = 16;
    while (m->n_known < 2 * (uint64_t)u->n_values)
        m->n_known *= 2;
    m->known = noe_calloc(m->n_known, sizeof *m->known);
    for (uint32_t v = 0; v < u->n_values; v++) {
        uint64_t i = noe_mix64(u->keys[v]) & (m->n_known - 1);
        while (m->known[i])
            i = (i + 1) & (m->n_known - 1);
        m->known[i] = v + 1;
    }
}

static uint32_t find_known(const merger *m, uint64_t key)
{
    for (uint64_t i = noe_mix64(key) & (m->n_known - 1); m->known[i];
         i = (i + 1) & (m->n_known - 1)) {
        if (m->u->keys[m->known[i] - 1] == key)
            return m->known[i] - 1;
    }
    return NOE_NO_OPERAND;
}

/* What orders the e-nodes of one level before their numbers do. */
typedef struct weight {
    uint32_t n_constants, n_leaves, n_in;
} weight;

static weight weight_of(const noe_universe *u, uint64_t node)
{
    int n_in = u->space->moves[noe_node_move(node)].n_in;
    uint32_t in[NOE_SPACE_MAX_IN];
    weight w = {.n_in = (uint32_t)n_in};
    noe_node_operands(node, n_in, in);
    for (int k = 0; k < n_in; k++) {
        w.n_constants += u->classes[in[k]].n_constants;
        w.n_leaves += u->classes[in[k]].n_leaves;
    }
    return w;
}

static int compare_weights(const weight *a, const weight *b)
{
    if (a->n_constants != b->n_constants)
        return a->n_constants < b->n_constants ? -1 : 1;
    if (a->n_leaves != b->n_leaves)
        return a->n_leaves < b->n_leaves ? -1 : 1;
    return a->n_in < b->n_in ? -1 : a->n_in > b->n_in;
}

static int compare_nodes(const noe_universe *u, uint64_t x, uint64_t y)
{
    weight a = weight_of(u, x), b = weight_of(u, y);
    int order = compare_weights(&a, &b);
    return order ? order : x < y ? -1 : x > y;
}

static uint64_t least_of(const noe_universe *u, const noe_record *r, size_t n)
{
    uint64_t least = r[0].node;
    for (size_t i = 1; i < n; i++) {
        if (compare_nodes(u, r[i].node, least) < 0)
            least = r[i].node;
    }
    return least;
}

/* One value: counts it, and says whether its e-nodes are kept. */
static bool is_kept(const merger *m, const noe_record *r, size_t n,
                    partition_stats *stats)
{
    bool known = find_known(m, r->key) != NOE_NO_OPERAND;
    uint64_t n_canonical = 0;
    for (size_t i = 0; i < n; i++)
        n_canonical += noe_node_is_canonical(r[i].node);
    stats->n_values += !known;
    stats->n_pairs += n - !known;
    stats->n_canonical += n_canonical;
    if (!known && n_canonical)
        stats->n_canonical -= noe_node_is_canonical(least_of(m->u, r, n));
    return m->level < m->u->n_levels || m->keep_all ||
           (n_canonical && (known || n >= 2));
}

/* Sorts and groups the records of a partition; takes them. */
static void group_records(merger *m, int partition, noe_record *r, size_t n)
{
    size_t n_kept = 0;
    r = noe_records_sort(r, n);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && r[end].key == r[i].key; end++)
            NOE_ASSERT(r[end].node !=
                       r[end - 1].node); /* each e-node is visited once */
        if (!is_kept(m, r + i, end - i, &m->stats[partition]))
            continue;
        memmove(r + n_kept, r + i, (end - i) * sizeof *r);
        n_kept += end - i;
    }
    m->kept[partition] = noe_realloc(r, (n_kept + 1) * sizeof *r);
    m->n_kept[partition] = n_kept;
}

static void group_partition(void *arg, int thread, uint32_t item)
{
    (void)thread;
    merger *m = arg;
    size_t n;
    noe_record *r = noe_partitions_take(m->records, (int)item, &n);
    group_records(m, (int)item, r, n);
}

/* Partitions belong to the processes in turn. In one round each gets the records of its
 * next partition from all others, and gives all others what it keeps of them. */
static void group_round(merger *m, int first)
{
    int count = noe_ranks_count(), mine = first + noe_rank();
    for (int p = first; p < first + count && p < NOE_PARTITIONS; p++) {
        size_t n, bytes;
        noe_record *r = noe_partitions_take(m->records, p, &n);
        bytes = n * sizeof *r;
        r = noe_ranks_gather(r, &bytes, p - first);
        if (p == mine) {
            m->kept[p] = r;
            m->n_kept[p] = bytes / sizeof *r;
        }
    }
    if (mine < NOE_PARTITIONS)
        group_records(m, mine, m->kept[mine], m->n_kept[mine]);
    for (int p = first; p < first + count && p < NOE_PARTITIONS; p++) {
        size_t bytes = m->n_kept[p] * sizeof(noe_record), n = sizeof(partition_stats);
        m->kept[p] = noe_ranks_share(m->kept[p], &bytes, p - first);
        m->n_kept[p] = bytes / sizeof(noe_record);
        partition_stats *stats = noe_malloc(n);
        *stats = m->stats[p];
        stats = noe_ranks_share(stats, &n, p - first);
        m->stats[p] = *stats;
        free(stats);
    }
}

static void group_all(merger *m, int n_threads)
{
    if (noe_ranks_count() == 1) {
        noe_parallel_for(n_threads, NOE_PARTITIONS, group_partition, m);
        return;
    }
    for (int first = 0; first < NOE_PARTITIONS; first += noe_ranks_count())
        group_round(m, first);
}

/* The e-nodes of one value, in their order; the representative is the first. */
typedef struct group {
    const noe_record *r;
    uint32_t n;
    uint32_t value; /* NOE_NO_OPERAND: new */
    weight weight;
} group;

static int compare_groups(const void *x, const void *y)
{
    const group *a = x, *b = y;
    if (a->value != b->value)
        return a->value < b->value ? -1 : 1;
    int order = compare_weights(&a->weight, &b->weight);
    if (order)
        return order;
    return a->r->node < b->r->node ? -1 : a->r->node > b->r->node;
}

#define SMALL_GROUP 24

static int compare_in_group(const void *x, const void *y, void *u)
{
    const noe_record *a = x, *b = y;
    return compare_nodes(u, a->node, b->node);
}

/* Nearly all groups are small; large ones are those of constants. */
static void sort_group(noe_universe *u, noe_record *r, size_t n)
{
    if (n > SMALL_GROUP) {
        qsort_r(r, n, sizeof *r, compare_in_group, u);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        noe_record x = r[i];
        size_t k = i;
        for (; k > 0 && compare_nodes(u, x.node, r[k - 1].node) < 0; k--)
            r[k] = r[k - 1];
        r[k] = x;
    }
}

static group *list_groups(merger *m, uint64_t *n_groups)
{
    group *groups = NULL;
    uint64_t cap = 0;
    *n_groups = 0;
    for (int p = 0; p < NOE_PARTITIONS; p++) {
        noe_record *r = m->kept[p];
        for (size_t i = 0, end; i < m->n_kept[p]; i = end) {
            for (end = i + 1; end < m->n_kept[p] && r[end].key == r[i].key; end++)
                ;
            sort_group(m->u, r + i, end - i);
            group g = {r + i, (uint32_t)(end - i), find_known(m, r[i].key),
                       weight_of(m->u, r[i].node)};
            NOE_PUSH(groups, *n_groups, cap, g);
        }
    }
    if (*n_groups)
        qsort(groups, *n_groups, sizeof *groups, compare_groups);
    return groups;
}

/* Entering */

static int count_occurs(uint64_t o)
{
    int n = 0;
    for (; o; o >>= 8)
        n++;
    return n;
}

static noe_role role_of(const noe_universe *u, const noe_enode *e)
{
    uint32_t in[NOE_SPACE_MAX_IN];
    noe_role roles[NOE_SPACE_MAX_IN];
    int n = noe_enode_operands(u, e, in);
    for (int k = 0; k < n; k++)
        roles[k] = (noe_role)u->values[in[k]].role;
    return noe_move_role(&u->space->moves[e->move], roles);
}

static uint64_t occurs_of(const noe_universe *u, const noe_enode *e)
{
    uint32_t in[NOE_SPACE_MAX_IN];
    int n = noe_enode_operands(u, e, in);
    uint64_t occurs = u->values[in[0]].occurs;
    for (int k = 1; k < n; k++)
        occurs = noe_occurs_join(occurs, u->values[in[k]].occurs);
    return occurs;
}

static void count_operator(noe_enode *e, noe_op op)
{
    e->n_runtime++;
    e->n_heavy = (uint8_t)(e->n_heavy + noe_op_has(op, NOE_TRAIT_HEAVY));
}

/* The operators are those of the first least union, each value made by its
 * representative. */
static void count_operators(const noe_universe *u, noe_enode *e)
{
    const noe_move *move = &u->space->moves[e->move];
    uint32_t in[NOE_SPACE_MAX_IN];
    noe_support s;
    if (role_of(u, e) != NOE_ROLE_WEIGHT)
        count_operator(e, move->op);
    noe_support_least_of(u, in, noe_enode_operands(u, e, in), &s);
    for (int k = 0; k < NOE_MAX_SUPPORT && s.instance[k] != NOE_NO_OPERAND; k++) {
        bool is_cut = s.instance[k] & NOE_CUT_INSTANCE;
        uint32_t v =
            is_cut ? u->cuts[s.instance[k] & ~NOE_CUT_INSTANCE].a : s.instance[k];
        if (u->values[v].role == NOE_ROLE_WEIGHT)
            continue;
        count_operator(
            e, is_cut ? NOE_OP_SLICE
                      : u->space->moves[u->enodes[u->classes[v].first - 1].move].op);
    }
}

static noe_enode make_enode(const merger *m, const noe_record *r, uint32_t value)
{
    const noe_universe *u = m->u;
    weight w = weight_of(u, r->node);
    uint32_t in[NOE_SPACE_MAX_IN];
    noe_node_operands(r->node, (int)w.n_in, in);
    noe_enode e = {.a = in[0],
                   .b = in[1],
                   .c = in[2] & NOE_NODE_NONE,
                   .value = value,
                   .move = noe_node_move(r->node),
                   .level = (uint8_t)m->level,
                   .n_constants = (uint8_t)w.n_constants,
                   .n_leaves = (uint8_t)w.n_leaves,
                   .is_canonical = noe_node_is_canonical(r->node)};
    e.n_vars = (uint8_t)count_occurs(occurs_of(u, &e));
    count_operators(u, &e);
    return e;
}

static void link_enode(noe_universe *u, const noe_enode *e)
{
    noe_gen_class *c = &u->classes[e->value];
    uint32_t id = u->n_enodes;
    NOE_PUSH(u->enodes, u->n_enodes, u->cap_enodes, *e);
    if (c->last)
        u->enodes[c->last - 1].next = id + 1;
    else
        c->first = id + 1;
    c->last = id + 1;
}

static void add_class(merger *m, const group *g)
{
    noe_universe *u = m->u;
    noe_enode e = make_enode(m, g->r, u->n_classes);
    const noe_application *p = noe_plan_find(u, m->plan, &e);
    NOE_ASSERT(p);
    noe_gen_class c = {.shape = p->shape,
                       .level = e.level,
                       .n_constants = e.n_constants,
                       .n_leaves = e.n_leaves,
                       .n_heavy = e.n_heavy};
    c.fixed = (uint8_t)noe_fixed_of(u, p->shape, noe_key_print(p->shape, g->r->key));
    NOE_PUSH(u->classes, u->n_classes, u->cap_classes, c);
}

static void add_value(merger *m, const group *g, uint32_t id)
{
    noe_universe *u = m->u;
    const noe_gen_class *c = &u->classes[id];
    const noe_enode *e = &u->enodes[c->first - 1];
    noe_gen_value v = {.occurs = occurs_of(u, e),
                       .shape = c->shape,
                       .level = c->level,
                       .role = (uint8_t)role_of(u, e),
                       .is_closed = c->fixed != NOE_FIXED_NONE};
    /* Each of its e-nodes shows it as a concatenation in a way of its own. */
    for (uint32_t i = c->first; i; i = u->enodes[i - 1].next) {
        uint32_t cuts[NOE_SPACE_MAX_RANK];
        noe_cuts_derive(u, &u->enodes[i - 1], v.shape, cuts);
        for (int axis = 0; axis < NOE_SPACE_MAX_RANK; axis++)
            v.cuts[axis] |= cuts[axis];
    }
    if (u->n_values == u->cap_values) {
        u->cap_values = u->cap_values * 2;
        u->values = noe_realloc(u->values, u->cap_values * sizeof *u->values);
        u->keys = noe_realloc(u->keys, u->cap_values * sizeof *u->keys);
    }
    u->keys[u->n_values] = g->r->key;
    u->values[u->n_values++] = v;
}

static void add_memo(noe_universe *u, uint32_t enode)
{
    const noe_enode *e = &u->enodes[enode];
    uint64_t i = noe_memo_hash(e->move, e->a, e->b, e->c) & (u->n_memo - 1);
    while (u->memo[i])
        i = (i + 1) & (u->n_memo - 1);
    u->memo[i] = enode + 1;
}

void noe_memo_rebuild(noe_universe *u)
{
    free(u->memo);
    u->n_memo = 1024;
    while (u->n_memo < 2 * (uint64_t)u->n_enodes)
        u->n_memo *= 2;
    u->memo = noe_calloc(u->n_memo, sizeof *u->memo);
    for (uint32_t e = 0; e < u->n_enodes; e++)
        add_memo(u, e);
}

static noe_status enter_groups(merger *m, const group *groups, uint64_t n_groups,
                               noe_error *err)
{
    noe_universe *u = m->u;
    uint32_t first = u->n_classes;
    uint64_t n = u->n_enodes, first_new = n_groups;
    for (uint64_t i = 0; i < n_groups; i++)
        n += groups[i].n;
    for (; first_new > 0 && groups[first_new - 1].value == NOE_NO_OPERAND; first_new--)
        ;
    bool has_values = m->level < u->n_levels;
    uint64_t most = u->space->has_three ? NOE_MAX_VALUES_THREE : NOE_MAX_VALUES;
    if (n > UINT32_MAX - 1 || (has_values && first + (n_groups - first_new) > most))
        return noe_fail(err, NOE_ERR_LIMIT,
                        "space %s has too many terms at level %d: %llu, of %llu values",
                        u->space->name, m->level, (unsigned long long)n,
                        (unsigned long long)(n_groups - first_new));
    for (uint64_t i = first_new; i < n_groups; i++)
        add_class(m, &groups[i]);
    for (uint64_t i = 0; i < n_groups; i++) {
        const group *g = &groups[i];
        uint32_t value = g->value;
        if (value == NOE_NO_OPERAND)
            value = first + (uint32_t)(i - first_new);
        for (uint32_t k = 0; k < g->n; k++) {
            noe_enode e = make_enode(m, &g->r[k], value);
            link_enode(u, &e);
        }
    }
    for (uint64_t i = first_new; i < n_groups && has_values; i++)
        add_value(m, &groups[i], first + (uint32_t)(i - first_new));
    noe_memo_rebuild(u);
    u->stats[m->level].n_kept = n;
    return NOE_OK;
}

static void add_stats(merger *m)
{
    noe_level_stats *s = &m->u->stats[m->level];
    for (int p = 0; p < NOE_PARTITIONS; p++) {
        s->n_values += m->stats[p].n_values;
        s->n_pairs += m->stats[p].n_pairs;
        s->n_canonical += m->stats[p].n_canonical;
    }
    s->n_enodes = s->n_values + s->n_pairs;
    s->n_spilled = noe_partitions_spilled(m->records);
}

noe_status noe_merge_level(noe_universe *u, const noe_plan *p, int level, int n_threads,
                           bool keep_all, noe_partitions *records, noe_error *err)
{
    merger *m = noe_calloc(1, sizeof *m);
    *m = (merger){
        .u = u, .plan = p, .level = level, .keep_all = keep_all, .records = records};
    uint64_t n_groups = 0;
    group *groups = NULL;
    list_known(m);
    group_all(m, n_threads);
    noe_status status = noe_partitions_status(records, err);
    if (status != NOE_OK && noe_rank() != 0)
        noe_log(u->env, NOE_LOG_ERROR, "process %d: %s", noe_rank(), err->text);
    if (noe_ranks_max(status != NOE_OK) && status == NOE_OK)
        status = noe_fail(err, NOE_ERR_IO, "another process cannot keep its records");
    if (status == NOE_OK) {
        add_stats(m);
        groups = list_groups(m, &n_groups);
        status = enter_groups(m, groups, n_groups, err);
    }
    for (int i = 0; i < NOE_PARTITIONS; i++)
        free(m->kept[i]);
    free(groups);
    free(m->known);
    free(m);
    return status;
}
