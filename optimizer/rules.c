/* SPDX-License-Identifier: Apache-2.0 */
#include "optimizer/rules.h"
#include "core/base/hash.h"
#include "core/field_check.h"
#include <stdlib.h>

void noe_rule_set_clear(noe_rule_set *s)
{
    for (int i = 0; i < s->n; i++) {
        free(s->rules[i]->text);
        free(s->rules[i]->rule);
        free(s->rules[i]);
    }
    free(s->rules);
    free(s->by_op);
    free(s->by_text);
    *s = (noe_rule_set){0};
}

static bool same_params(const noe_pattern_node *a, const noe_pattern_node *b)
{
    /* Both sides share one term array in which equal terms need not be one term; a
     * difference that is none only keeps a useless rule. */
    return memcmp(a->params, b->params, sizeof a->params) == 0;
}

/* Are pattern nodes a and b equal up to the order of commutative operands? Recursion is
 * over one small pattern. */
static bool equal_up_to_order(const noe_rule *r, uint16_t a, uint16_t b)
{
    const noe_pattern_node *x = &r->nodes[a], *y = &r->nodes[b];
    if (a == b)
        return true;
    if (x->is_var || y->is_var)
        return x->is_var && y->is_var && x->var == y->var;
    if (x->op != y->op || x->n_inputs != y->n_inputs || !same_params(x, y))
        return false;
    bool same = true;
    for (int i = 0; i < x->n_inputs && same; i++)
        same = equal_up_to_order(r, x->inputs[i], y->inputs[i]);
    if (same || !noe_op_has(x->op, NOE_TRAIT_COMMUTATIVE))
        return same;
    return equal_up_to_order(r, x->inputs[0], y->inputs[1]) &&
           equal_up_to_order(r, x->inputs[1], y->inputs[0]);
}

/* Does the right side compute the left side, and more from it? Then it takes longer
 * wherever it stands (relu(?a) => relu(relu(?a))), and leads nowhere else. */
static bool only_adds(const noe_rule *r)
{
    uint64_t below = UINT64_C(1) << r->rhs[0];
    if (r->n_roots != 1)
        return false;
    for (int i = r->n_nodes; i-- > 0;) {
        const noe_pattern_node *n = &r->nodes[i];
        if (!(below >> i & 1) || n->is_var)
            continue;
        if (i != r->rhs[0] && equal_up_to_order(r, (uint16_t)i, r->lhs[0]))
            return true;
        for (int k = 0; k < n->n_inputs; k++)
            below |= UINT64_C(1) << n->inputs[k];
    }
    return false;
}

static bool does_something(const noe_rule *r)
{
    if (only_adds(r))
        return false;
    for (int i = 0; i < r->n_roots; i++) {
        if (!equal_up_to_order(r, r->lhs[i], r->rhs[i]))
            return true;
    }
    return false;
}

static uint64_t left_operators(const noe_rule *r)
{
    uint64_t mask = 0;
    for (int i = 0; i < r->n_roots; i++)
        mask |= UINT64_C(1) << r->lhs[i];
    for (int i = r->n_nodes; i-- > 0;) {
        const noe_pattern_node *n = &r->nodes[i];
        for (int k = 0; (mask >> i & 1) && !n->is_var && k < n->n_inputs; k++)
            mask |= UINT64_C(1) << n->inputs[k];
    }
    for (int i = 0; i < r->n_nodes; i++) {
        if (r->nodes[i].is_var)
            mask &= ~(UINT64_C(1) << i);
    }
    return mask;
}

static int count_op(const noe_rule *r, uint64_t ops, noe_op op)
{
    int n = 0;
    for (int i = 0; i < r->n_nodes; i++)
        n += (ops >> i & 1) && r->nodes[i].op == op;
    return n;
}

/* slice(f(?a)) => f(slice(?a)) takes slices inwards, f(slice(?a)) => slice(f(?a))
 * outwards: the operator stands on top of one side, and below the top of the other. */
static void find_movement(noe_usable_rule *u, const noe_rule *r)
{
    noe_rule back = noe_rule_reversed(r);
    uint64_t rhs_ops = left_operators(&back);
    noe_op top[2] = {r->nodes[r->lhs[0]].op, NOE_OP_COUNT};
    if (!r->nodes[r->rhs[0]].is_var)
        top[1] = r->nodes[r->rhs[0]].op;
    u->moves = NOE_OP_COUNT;
    u->reduces = __builtin_popcountll(u->lhs_ops) > __builtin_popcountll(rhs_ops);
    for (int side = 0; side < 2 && r->n_roots == 1; side++) {
        noe_op op = top[side];
        if (op == NOE_OP_COUNT || !noe_op_has(op, NOE_TRAIT_COPY) || top[!side] == op)
            continue;
        if (count_op(r, side ? rhs_ops : u->lhs_ops, op) == 1 &&
            count_op(r, side ? u->lhs_ops : rhs_ops, op) > 0) {
            u->moves = op;
            u->inwards = side == 0;
        }
    }
}

/* The slot of a text: where it is, or the empty one where it belongs. */
static uint32_t slot_of(const noe_rule_set *s, const char *text)
{
    uint32_t slot = (uint32_t)noe_hash64(text, strlen(text), 0) & (s->n_slots - 1);
    while (s->by_text[slot] >= 0 && strcmp(s->rules[s->by_text[slot]]->text, text) != 0)
        slot = (slot + 1) & (s->n_slots - 1);
    return slot;
}

static void make_room(noe_rule_set *s)
{
    if (2 * (uint32_t)s->n < s->n_slots)
        return;
    s->n_slots = s->n_slots ? 2 * s->n_slots : 64;
    free(s->by_text);
    s->by_text = noe_malloc(s->n_slots * sizeof *s->by_text);
    memset(s->by_text, -1, s->n_slots * sizeof *s->by_text);
    for (int i = 0; i < s->n; i++)
        s->by_text[slot_of(s, s->rules[i]->text)] = i;
}

static bool keeps_domain(const noe_rule *rule, bool reversed, noe_directions directions)
{
    if (directions == NOE_DIRECTIONS_UNKNOWN)
        return noe_field_keeps_domain(rule, NOE_DOMAIN_SEED);
    return directions == NOE_DIRECTIONS_BOTH ||
           directions == (reversed ? NOE_DIRECTIONS_LEFT : NOE_DIRECTIONS_RIGHT);
}

/* One direction of a row; the rule has been turned where it is reversed. */
static void add_direction(noe_rule_set *s, const char *id, const noe_rule *rule,
                          bool reversed, noe_numeric_class numeric,
                          noe_directions directions)
{
    noe_buf text = {0};
    if (!noe_rule_is_directed(rule) || !does_something(rule) ||
        !keeps_domain(rule, reversed, directions))
        return;
    noe_rule_print(&text, rule);
    make_room(s);
    uint32_t slot = slot_of(s, noe_buf_text(&text));
    if (s->by_text[slot] >= 0) {
        noe_buf_clear(&text);
        return;
    }
    noe_usable_rule *u = noe_calloc(1, sizeof *u);
    memcpy(u->id, id, strnlen(id, NOE_HASH_HEX_LEN));
    u->text = text.text;
    u->reversed = reversed;
    u->numeric = numeric;
    u->lhs_ops = left_operators(rule);
    find_movement(u, rule);
    u->rule = noe_rule_pack(rule);
    s->by_text[slot] = s->n;
    NOE_PUSH(s->rules, s->n, s->cap, u);
}

noe_status noe_rule_set_add(noe_rule_set *s, const char *id, const char *text,
                            noe_numeric_class numeric, noe_directions directions,
                            noe_error *err)
{
    _Static_assert(NOE_RULE_MAX_NODES <= 64, "lhs_ops has one bit a pattern node");
    noe_rule *rule = noe_malloc(sizeof *rule);
    noe_status status = noe_rule_parse(text, SIZE_MAX, rule, err);
    if (status == NOE_OK) {
        add_direction(s, id, rule, false, numeric, directions);
        *rule = noe_rule_reversed(rule);
        add_direction(s, id, rule, true, numeric, directions);
        s->n_rows++;
    } else {
        noe_error_prefix(err, "rule %s: ", id);
    }
    free(rule);
    return status;
}

static noe_rule_entry entry_of(const noe_rule *r, int number)
{
    _Static_assert(NOE_OP_COUNT < NOE_OPERAND_ANY, "an operator is a byte");
    const noe_pattern_node *root = &r->nodes[r->lhs[0]];
    noe_rule_entry e = {.rule = number,
                        .n_inputs = (uint8_t)root->n_inputs,
                        .commutes = noe_op_has(root->op, NOE_TRAIT_COMMUTATIVE)};
    for (int k = 0; k < NOE_OPERANDS_LISTED; k++) {
        bool is_op = k < root->n_inputs && !r->nodes[root->inputs[k]].is_var;
        e.operand[k] = is_op ? (uint8_t)r->nodes[root->inputs[k]].op : NOE_OPERAND_ANY;
    }
    return e;
}

void noe_rule_set_freeze(noe_rule_set *s)
{
    free(s->by_op);
    s->by_op = noe_malloc((size_t)s->n * sizeof *s->by_op + 1);
    int at = 0;
    for (int op = 0; op < NOE_OP_COUNT; op++) {
        s->first[op] = at;
        for (int i = 0; i < s->n; i++) {
            const noe_rule *r = s->rules[i]->rule;
            if ((int)r->nodes[r->lhs[0]].op == op)
                s->by_op[at++] = entry_of(r, i);
        }
    }
    s->first[NOE_OP_COUNT] = at;
}

typedef struct loader {
    noe_rule_set *set;
    const noe_rule_filter *filter;
    bool *used; /* by each of only, then of skip */
} loader;

/* Does id begin with one of the texts? Marks which. */
static bool is_named(const char *id, const char *const *texts, int n, bool *used)
{
    bool any = false;
    for (int i = 0; i < n; i++) {
        if (strncmp(id, texts[i], strlen(texts[i])) != 0)
            continue;
        used[i] = any = true;
    }
    return any;
}

static noe_status load_row(void *ctx, const noe_rule_row *row, noe_error *err)
{
    loader *l = ctx;
    const noe_rule_filter *f = l->filter;
    bool wanted = is_named(row->id, f->only, f->n_only, l->used) || f->n_only == 0;
    if (is_named(row->id, f->skip, f->n_skip, l->used + f->n_only) || !wanted ||
        !(f->classes >> row->numeric & 1))
        return NOE_OK;
    int before = l->set->n;
    NOE_TRY(noe_rule_set_add(l->set, row->id, row->text, row->numeric, row->directions,
                             err));
    for (int i = before; i < l->set->n; i++)
        l->set->rules[i]->tier = row->tier;
    return NOE_OK;
}

static noe_status check_used(const loader *l, noe_error *err)
{
    const noe_rule_filter *f = l->filter;
    for (int i = 0; i < f->n_only + f->n_skip; i++) {
        if (!l->used[i])
            return noe_fail(err, NOE_ERR_ARG,
                            "no current rule has an id that begins "
                            "with '%s'",
                            i < f->n_only ? f->only[i] : f->skip[i - f->n_only]);
    }
    return NOE_OK;
}

noe_status noe_rule_set_load(noe_rule_set *s, const char *path,
                             const noe_rule_filter *filter, noe_error *err)
{
    noe_ruledb *db;
    NOE_TRY(noe_ruledb_open(path, NOE_RULEDB_READ, &db, err));
    loader l = {
        s, filter,
        noe_calloc((size_t)(filter->n_only + filter->n_skip) + 1, sizeof(bool))};
    noe_status status =
        noe_ruledb_each_rule(db, noe_op_table_hash(), load_row, &l, err);
    noe_ruledb_close(db);
    if (status == NOE_OK)
        status = check_used(&l, err);
    if (status != NOE_OK)
        noe_error_prefix(err, "%s: ", path);
    free(l.used);
    noe_rule_set_freeze(s);
    return status;
}
