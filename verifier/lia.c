/* SPDX-License-Identifier: Apache-2.0
 *
 * All schemes of a rule, and the proof for each. Schemes are found by typing the nodes
 * in order, choosing a rank where a variable comes up and a value where a parameter
 * does; what cannot be well-typed or contradicts the condition is left out, with
 * literals alone, before anything is proved.
 *
 * A rule is proved if it is for every scheme up to the largest rank, of which there is
 * at least one. Nothing is assumed of the ranks that typed instances happen to have.
 */
#include "verifier/lia.h"
#include "verifier/lia_equal.h"
#include "verifier/lia_scheme.h"
#include "core/base/hash.h"
#include <stdlib.h>

struct noe_lia {
    noe_lia_config config;
    noe_terms *terms;
    noe_query *query;
    noe_arena arena;
};

/* Raised when a proof of before may not be one any more. */
#define LIA_VERSION 3

uint64_t noe_lia_hash(void)
{
    int n;
    uint64_t h = LIA_VERSION;
    const noe_law *law = noe_laws(&n);
    for (int i = 0; i < n; i++) {
        h = noe_hash64(law[i].name, strlen(law[i].name), h);
        h = noe_hash64(law[i].text, strlen(law[i].text), h);
    }
    return h;
}

noe_lia *noe_lia_new(const noe_lia_config *config)
{
    noe_lia *l = noe_calloc(1, sizeof *l);
    l->config = *config;
    l->terms = noe_terms_new();
    l->query = noe_query_new(l->terms, config->rlimit);
    return l;
}

void noe_lia_free(noe_lia *l)
{
    if (!l)
        return;
    noe_query_free(l->query);
    noe_terms_free(l->terms);
    noe_arena_clear(&l->arena);
    free(l);
}

void noe_lia_proof_clear(noe_lia_proof *p)
{
    noe_buf_clear(&p->reason);
    noe_buf_clear(&p->ranks);
    noe_buf_clear(&p->laws);
    free(p->suspect);
    *p = (noe_lia_proof){0};
}

static noe_algebra start(noe_lia *l)
{
    noe_arena_clear(&l->arena);
    noe_terms_reset(l->terms);
    noe_query_reset(l->query);
    return (noe_algebra){.arena = &l->arena, .terms = l->terms, .query = l->query};
}

/* Choices for a parameter */

#define N_MODES 4 /* of resize */

static bool is_flag(noe_param p)
{
    return p == NOE_PARAM_KEEPDIMS || p == NOE_PARAM_COUNT_INCLUDE_PAD ||
           p == NOE_PARAM_TRANS_A || p == NOE_PARAM_TRANS_B;
}

static bool literals(noe_choice *c, bool is_list, int n)
{
    *c = (noe_choice){.made = true, .is_list = is_list, .is_literal = true, .n = n};
    return true;
}

static bool symbols(noe_choice *c, bool is_list, int n, bool is_natural)
{
    *c = (noe_choice){
        .made = true, .is_list = is_list, .n = n, .is_natural = is_natural};
    return true;
}

static bool nth_axis(int k, int rank, bool stored, noe_choice *c)
{
    if (k >= (stored ? rank : 2 * rank))
        return false;
    literals(c, false, 1);
    c->value[0] = (int8_t)(k < rank ? k : k - 2 * rank);
    return true;
}

/* All sets of axes; unless stored, also with all of them negative. */
static bool nth_axes(int k, int rank, bool stored, noe_choice *c)
{
    int n_sets = 1 << rank;
    bool negative = k >= n_sets;
    unsigned set = (unsigned)(negative ? k - n_sets + 1 : k);
    if (k >= (stored ? n_sets : 2 * n_sets - 1))
        return false;
    literals(c, true, 0);
    for (int i = 0; i < rank; i++) {
        if (set >> i & 1)
            c->value[c->n++] = (int8_t)(negative ? i - rank : i);
    }
    return true;
}

static bool nth_permutation(int k, int rank, noe_choice *c)
{
    int8_t left[NOE_MAX_RANK];
    int count = 1;
    for (int i = 0; i < rank; i++) {
        left[i] = (int8_t)i;
        count *= i + 1;
    }
    if (k >= count)
        return false;
    literals(c, true, rank);
    for (int i = 0; i < rank; i++) {
        count /= rank - i;
        int at = k / count;
        k %= count;
        c->value[i] = left[at];
        for (int j = at; j < rank - i - 1; j++)
            left[j] = left[j + 1];
    }
    return true;
}

/* The k-th value to try for parameter `param` of op on an operand of this rank. */
static bool nth_choice(noe_op op, noe_param param, int rank, bool stored, int max_rank,
                       int k, noe_choice *c)
{
    int spatial = rank - 2;
    switch (noe_param_kind_of(param)) {
    case NOE_KIND_AXIS:
        return nth_axis(k, rank, stored, c);
    case NOE_KIND_AXES:
        return nth_axes(k, rank, stored, c);
    case NOE_KIND_FLOAT:
        *c = (noe_choice){.made = true, .is_real = true, .n = 1};
        return k == 0;
    case NOE_KIND_INT:
        if (param == NOE_PARAM_MODE) {
            literals(c, false, 1);
            c->value[0] = (int8_t)k;
            return k < N_MODES;
        }
        if (is_flag(param)) {
            literals(c, false, 1);
            c->value[0] = (int8_t)k;
            return k < 2;
        }
        return k == 0 && symbols(c, false, 1,
                                 param == NOE_PARAM_GROUP || param == NOE_PARAM_STEP ||
                                     (stored && (param == NOE_PARAM_START ||
                                                 param == NOE_PARAM_END)));
    case NOE_KIND_INTS:
        break;
    }
    if (param == NOE_PARAM_PERM)
        return nth_permutation(k, rank, c);
    if (param == NOE_PARAM_SHAPE)
        return k <= max_rank && symbols(c, true, k, true);
    if (param == NOE_PARAM_PADS)
        return k == 0 && (op == NOE_OP_PAD || spatial > 0) &&
               symbols(c, true, op == NOE_OP_PAD ? 2 * rank : 2 * spatial,
                       op != NOE_OP_CONV_TRANSPOSE);
    return k == 0 && spatial > 0 && symbols(c, true, spatial, true);
}

/* Enumeration */

typedef struct search {
    noe_lia *l;
    noe_scheme *s;
    int max_rank, limit;
    noe_choices *found;
    int n_found, cap_found;
    int64_t steps;
    bool too_many;
    const char *unknown;
} search;

#define MAX_STEPS 400000

/* Where parameter variable p is a whole parameter: at `node` if it is there, else the
 * first place; false if nowhere. */
static bool whole_at(const noe_rule *rule, int p, int node, noe_op *op,
                     noe_param *param, bool *here)
{
    bool found = false;
    *here = false;
    for (int pass = 0; pass < 2 && !found; pass++) {
        for (int i = 0; i < rule->n_nodes && !found; i++) {
            const noe_pattern_node *n = &rule->nodes[i];
            if (n->is_var || (pass == 0 && i != node))
                continue;
            const noe_op_info *info = noe_op_get(n->op);
            for (int k = 0; k < info->n_params && !found; k++) {
                uint16_t t = n->params[k];
                found = t != NOE_TERM_ABSENT && rule->terms[t].kind == NOE_TERM_PVAR &&
                        rule->terms[t].var == p;
                *op = n->op;
                *param = info->params[k];
            }
        }
        *here = found && pass == 0;
    }
    return found;
}

static void enumerate(search *e, int node);

static void choose_pvar(search *e, int node, int p)
{
    const noe_pattern_node *n = &e->s->rule->nodes[node];
    noe_op op = n->op;
    noe_param param = NOE_PARAM_NONE;
    bool here;
    noe_choice c;
    int rank = n->n_inputs ? e->s->type[n->inputs[0]].rank : 0;
    if (!whole_at(e->s->rule, p, node, &op, &param, &here)) {
        symbols(&c, false, 1, false);
        noe_scheme_choose(e->s, p, &c);
        enumerate(e, node);
    } else if (param == NOE_PARAM_INDICES) {
        c = (noe_choice){.made = true, .is_entries = true, .n = 1, .is_natural = true};
        noe_scheme_choose(e->s, p, &c);
        enumerate(e, node);
    } else if (here || (noe_param_kind_of(param) == NOE_KIND_INT && !is_flag(param) &&
                        param != NOE_PARAM_MODE)) {
        for (int k = 0; !e->too_many && !e->unknown &&
                        nth_choice(op, param, rank, e->s->stored, e->max_rank, k, &c);
             k++) {
            noe_scheme_choose(e->s, p, &c);
            if (!noe_scheme_contradicts(e->s))
                enumerate(e, node);
        }
    } else {
        e->unknown = "a parameter is not determined where it is used";
    }
    e->s->choice.pvar[p].made = false;
}

static void enumerate_from(search *e, int node)
{
    int open = noe_scheme_open_var(e->s, node);
    if (open >= 0) {
        for (int rank = 0; rank <= e->max_rank && !e->too_many && !e->unknown; rank++) {
            noe_scheme_choose_rank(e->s, open, rank);
            if (!noe_scheme_contradicts(e->s))
                enumerate(e, node);
        }
        e->s->choice.rank[open] = -1;
        return;
    }
    open = noe_scheme_open_pvar(e->s, node);
    if (open >= 0) {
        choose_pvar(e, node, open);
        return;
    }
    noe_fit fit = noe_scheme_type(e->s, node);
    if (fit == NOE_FIT_UNKNOWN)
        e->unknown = e->s->reason;
    if (fit == NOE_FIT_YES)
        enumerate(e, node + 1);
}

/* Only literals count here: facts are not kept. */
static void enumerate(search *e, int node)
{
    int n_facts = e->s->n_facts;
    e->too_many |= ++e->steps > MAX_STEPS;
    if (e->too_many || e->unknown)
        return;
    if (node < e->s->rule->n_nodes) {
        enumerate_from(e, node);
    } else {
        noe_fit fit = noe_scheme_conclude(e->s);
        if (fit == NOE_FIT_UNKNOWN)
            e->unknown = e->s->reason;
        if (fit == NOE_FIT_YES)
            NOE_PUSH(e->found, e->n_found, e->cap_found, e->s->choice);
        e->too_many |= e->n_found > e->limit;
    }
    e->s->n_facts = n_facts;
}

static void find_schemes(search *e, const noe_rule *rule, bool stored)
{
    for (e->max_rank = e->l->config.max_rank;; e->max_rank--) {
        noe_algebra a = start(e->l);
        e->too_many = false;
        e->steps = 0;
        e->n_found = 0;
        noe_scheme_init(e->s, rule, &a, stored);
        enumerate(e, 0);
        noe_scheme_clear(e->s);
        if (!e->too_many || e->max_rank <= 3)
            return;
    }
}

/* One scheme */

static void restore(noe_scheme *s, const noe_choices *c)
{
    for (int v = 0; v < s->rule->n_vars; v++) {
        if (c->rank[v] >= 0)
            noe_scheme_choose_rank(s, v, c->rank[v]);
    }
    for (int p = 0; p < s->rule->n_pvars; p++) {
        if (c->pvar[p].made)
            noe_scheme_choose(s, p, &c->pvar[p]);
    }
}

static bool prove_root(noe_scheme *s, int root, noe_buf *why)
{
    noe_terms *t = s->a->terms;
    const noe_dims *d = &s->type[s->rule->lhs[root]];
    noe_poly index[NOE_MAX_RANK];
    noe_formula within[NOE_MAX_RANK];
    for (int i = 0; i < d->rank; i++) {
        int64_t size;
        bool is_one = noe_poly_is_int(t, d->dim[i], &size) && size == 1;
        index[i] =
            is_one ? noe_poly_int(t, 0) : noe_poly_symbol(t, noe_terms_symbol(t, true));
        within[i] = noe_formula_ge(t, d->dim[i], noe_poly_plus(t, index[i], 1));
        if (within[i] == NOE_FORMULA_FALSE_ID)
            return true; /* no elements */
    }
    const noe_expr *x = noe_scheme_element(s, s->rule->lhs[root], index);
    const noe_expr *y = noe_scheme_element(s, s->rule->rhs[root], index);
    return !s->a->gave_up && noe_expr_equal(s->a, x, y, d->rank, within, why);
}

/* The facts contradict each other: there is nothing to prove. */
static bool is_vacuous(noe_scheme *s)
{
    return noe_query_refutes(s->a->query, NULL, 0);
}

static bool prove_solved(noe_scheme *s, noe_buf *why)
{
    for (int i = 0; i < s->n_facts; i++)
        noe_query_assume(s->a->query, s->fact[i]);
    for (int i = 0; i < s->rule->n_roots; i++) {
        if (!prove_root(s, i, why) || noe_terms_overflowed(s->a->terms))
            return is_vacuous(s);
    }
    return true;
}

/* Suspects */

#define MAX_SUSPECTS 8
#define MAX_LENGTH   4 /* of a list of any length */

static noe_param_kind kind_of_pvar(const noe_rule *rule, int p, const noe_choice *c)
{
    noe_op op;
    noe_param param;
    bool here;
    if (whole_at(rule, p, -1, &op, &param, &here))
        return noe_param_kind_of(param);
    return c->is_list ? NOE_KIND_INTS : NOE_KIND_INT;
}

static bool pvar_in_model(noe_scheme *s, noe_model *m, int p, uint64_t seed,
                          noe_value *v)
{
    const noe_choice *c = &s->choice.pvar[p];
    noe_terms *t = s->a->terms;
    int64_t length = c->n;
    *v = (noe_value){.kind = kind_of_pvar(s->rule, p, c)};
    if (!c->made || c->is_real) {
        v->f = 0.25 * (double)(1 + seed);
        return c->made;
    }
    if (c->is_entries &&
        !noe_model_value(m, noe_poly_symbol(t, s->pvar[p][0]), &length))
        return false;
    if (length < 0 || length > (c->is_entries ? MAX_LENGTH : NOE_MAX_LIST))
        return false;
    for (int i = 0; i < (int)length; i++) {
        noe_poly x = c->is_literal   ? noe_poly_int(t, c->value[i])
                     : c->is_entries ? noe_poly_entry(t, p, noe_poly_int(t, i))
                                     : noe_poly_symbol(t, s->pvar[p][i]);
        if (!noe_model_value(m, x, &v->list[i]))
            return false;
    }
    v->n = c->is_list || c->is_entries ? (int)length : 0;
    if (!c->is_list && !c->is_entries) {
        v->i = v->list[0];
        v->list[0] = 0;
    }
    return true;
}

static bool binding_in_model(noe_scheme *s, noe_model *m, uint64_t seed, noe_binding *b)
{
    *b = (noe_binding){0};
    for (int v = 0; v < s->rule->n_vars; v++) {
        noe_shape *shape = &b->type[v].shape;
        b->type[v].dtype = NOE_F32;
        shape->rank = s->choice.rank[v];
        b->bound[v] = true;
        for (int i = 0; i < shape->rank; i++) {
            noe_poly d = noe_poly_symbol(s->a->terms, s->dim[v][i]);
            if (!noe_model_value(m, d, &shape->dim[i]) || shape->dim[i] < 0)
                return false;
        }
        if (noe_shape_elements(shape) < 0)
            return false;
    }
    for (int p = 0; p < s->rule->n_pvars; p++) {
        b->pbound[p] = true;
        if (!pvar_in_model(s, m, p, seed, &b->pvalue[p]))
            return false;
    }
    return true;
}

static void find_suspects(noe_scheme *s, noe_lia_proof *proof)
{
    const noe_algebra *a = s->a;
    proof->suspect = noe_malloc(MAX_SUSPECTS * sizeof *proof->suspect);
    for (uint64_t seed = 0; a->witness && seed < MAX_SUSPECTS; seed++) {
        noe_model *m = noe_query_model(a->query, a->witness, a->n_witness, seed);
        noe_binding *b = &proof->suspect[proof->n_suspects];
        proof->n_suspects += m && binding_in_model(s, m, seed, b);
    }
}

static bool prove_scheme(noe_lia *l, noe_scheme *s, const noe_rule *rule, bool stored,
                         const noe_choices *choice, noe_lia_proof *proof)
{
    noe_buf why = {0};
    noe_algebra a = start(l);
    noe_scheme_init(s, rule, &a, stored);
    restore(s, choice);
    noe_fit fit = noe_scheme_solve(s);
    bool ok = fit == NOE_FIT_NO || (fit == NOE_FIT_YES && prove_solved(s, &why));
    if (!ok) {
        if (fit == NOE_FIT_YES && !noe_terms_overflowed(l->terms))
            find_suspects(s, proof);
        noe_buf_puts(&proof->reason, "with ");
        noe_scheme_print(s, &proof->reason);
        noe_buf_printf(&proof->reason, ": %s",
                       fit == NOE_FIT_UNKNOWN             ? s->reason
                       : a.gave_up                        ? a.cause
                       : noe_terms_overflowed(l->terms)   ? "a number leaves its range"
                       : noe_query_count(l->query).undone ? "resource limit"
                                                          : noe_buf_text(&why));
    }
    proof->questions += noe_query_count(l->query).asked;
    for (int i = 0; i < NOE_LAW_PACK_COUNT; i++) {
        const char *name = noe_law_pack_name((noe_law_pack)i);
        if ((a.laws >> i & 1) && !strstr(noe_buf_text(&proof->laws), name))
            noe_buf_printf(&proof->laws, "%s%s", proof->laws.len ? " " : "", name);
    }
    noe_scheme_clear(s);
    noe_buf_clear(&why);
    return ok;
}

static void prove_all(search *e, const noe_rule *rule, bool stored,
                      noe_lia_proof *proof)
{
    for (int i = 0; i < e->n_found; i++) {
        if (!prove_scheme(e->l, e->s, rule, stored, &e->found[i], proof))
            return;
        if (proof->questions > e->l->config.questions) {
            noe_buf_printf(&proof->reason, "more than %lld questions",
                           (long long)e->l->config.questions);
            return;
        }
        proof->n_schemes++;
    }
    proof->proved = true;
    proof->max_rank = e->max_rank;
    noe_buf_printf(&proof->ranks, "%d schemes, ranks to %d", e->n_found, e->max_rank);
}

void noe_lia_prove(noe_lia *l, const noe_rule *rule, bool stored, noe_lia_proof *proof,
                   noe_buf *smt2)
{
    search e = {.l = l, .limit = l->config.max_schemes};
    int64_t before = noe_query_rlimit(l->query);
    *proof = (noe_lia_proof){0};
    e.s = noe_calloc(1, sizeof *e.s);
    noe_query_record(l->query, smt2);
    find_schemes(&e, rule, stored);
    if (e.unknown)
        noe_buf_puts(&proof->reason, e.unknown);
    else if (e.too_many)
        noe_buf_printf(&proof->reason, "more than %d schemes", e.limit);
    else if (e.n_found == 0)
        noe_buf_puts(&proof->reason, "no well-typed scheme");
    else
        prove_all(&e, rule, stored, proof);
    noe_query_record(l->query, NULL);
    proof->rlimit = noe_query_rlimit(l->query) - before;
    free(e.found);
    free(e.s);
}
