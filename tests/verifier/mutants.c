/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/verifier/mutants.h"
#include "core/base/env.h"
#include <stdlib.h>

#define ATTEMPTS 40 /* for one mutant of one rule */

const char *mutation_text(mutation m)
{
    static const char *const texts[] = {
#define XX(ID, TEXT) [MUTATE_##ID] = TEXT,
        MUTATION_MAP(XX)
#undef XX
    };
    return texts[m];
}

static int pick(noe_rng *rng, int n)
{
    return (int)noe_rng_below(rng, (uint64_t)n);
}

/* The right side gets nodes of its own, so that an edit is of one side. */
static uint16_t copy_node(noe_rule *r, uint16_t node, int *copy)
{
    if (r->nodes[node].is_var)
        return node;
    if (copy[node] >= 0)
        return (uint16_t)copy[node];
    noe_pattern_node n = r->nodes[node];
    for (int k = 0; k < n.n_inputs; k++)
        n.inputs[k] = copy_node(r, n.inputs[k], copy);
    if (r->n_nodes == NOE_RULE_MAX_NODES)
        return node; /* shared after all */
    copy[node] = r->n_nodes;
    r->nodes[r->n_nodes] = n;
    return r->n_nodes++;
}

static void unshare(noe_rule *r)
{
    int copy[NOE_RULE_MAX_NODES];
    memset(copy, 0xff, sizeof copy);
    for (int i = 0; i < r->n_roots; i++)
        r->rhs[i] = copy_node(r, r->rhs[i], copy);
}

static int random_operator(const noe_rule *r, noe_rng *rng)
{
    int node = pick(rng, r->n_nodes);
    return r->nodes[node].is_var ? -1 : node;
}

static bool same_form(noe_op a, noe_op b)
{
    const noe_op_info *x = noe_op_get(a), *y = noe_op_get(b);
    return a != b && x->min_in == y->min_in && x->max_in == y->max_in &&
           x->n_params == y->n_params &&
           memcmp(x->params, y->params, (size_t)x->n_params * sizeof x->params[0]) == 0;
}

static bool replace_operator(noe_rule *r, noe_rng *rng)
{
    int node = random_operator(r, rng);
    noe_op op = (noe_op)pick(rng, NOE_OP_COUNT);
    if (node < 0 || !same_form(op, r->nodes[node].op) ||
        noe_op_has(op, NOE_TRAIT_COMPOSITE))
        return false;
    r->nodes[node].op = op;
    return true;
}

static bool swap_operands(noe_rule *r, noe_rng *rng)
{
    int node = random_operator(r, rng);
    if (node < 0 || r->nodes[node].n_inputs < 2)
        return false;
    uint16_t *in = r->nodes[node].inputs, was = in[0];
    in[0] = in[1];
    in[1] = was;
    return true;
}

/* A copy of the term, so that an edit is of one place. */
static int copy_term(noe_rule *r, uint16_t term)
{
    if (r->n_terms == NOE_RULE_MAX_TERMS)
        return -1;
    r->terms[r->n_terms] = r->terms[term];
    return r->n_terms++;
}

static bool change_term(noe_rule *r, uint16_t *place, noe_rng *rng)
{
    int copy = copy_term(r, *place);
    if (copy < 0)
        return false;
    *place = (uint16_t)copy;
    noe_term *t = &r->terms[copy];
    switch (t->kind) {
    case NOE_TERM_INT:
        t->i += pick(rng, 2) ? 1 : -1;
        return true;
    case NOE_TERM_FLOAT:
        t->f += 1;
        return true;
    case NOE_TERM_PVAR:
        t->var = (uint16_t)pick(rng, r->n_pvars);
        return true;
    case NOE_TERM_RANK:
    case NOE_TERM_SHAPE:
        t->var = (uint16_t)pick(rng, r->n_vars);
        return true;
    case NOE_TERM_DIM:
        if (pick(rng, 2)) {
            t->var = (uint16_t)pick(rng, r->n_vars);
            return true;
        }
        return change_term(r, &t->kids[0], rng);
    default:
        return t->n_kids > 0 && change_term(r, &t->kids[pick(rng, t->n_kids)], rng);
    }
}

static bool change_parameter(noe_rule *r, noe_rng *rng)
{
    int node = random_operator(r, rng);
    if (node < 0 || noe_op_get(r->nodes[node].op)->n_params == 0)
        return false;
    uint16_t *term =
        &r->nodes[node].params[pick(rng, noe_op_get(r->nodes[node].op)->n_params)];
    if (*term == NOE_TERM_ABSENT)
        return false;
    if (pick(rng, 8) == 0) {
        *term = NOE_TERM_ABSENT;
        return true;
    }
    return change_term(r, term, rng);
}

static bool change_variable(noe_rule *r, noe_rng *rng)
{
    int node = random_operator(r, rng);
    if (node < 0 || r->nodes[node].n_inputs == 0)
        return false;
    uint16_t *in = &r->nodes[node].inputs[pick(rng, r->nodes[node].n_inputs)];
    int other = pick(rng, r->n_nodes);
    if (!r->nodes[*in].is_var || !r->nodes[other].is_var || other >= node)
        return false;
    *in = (uint16_t)other;
    return true;
}

static bool change_constant(noe_rule *r, noe_rng *rng)
{
    int node = random_operator(r, rng);
    if (node < 0)
        return false;
    noe_pattern_node *n = &r->nodes[node];
    if (n->op == NOE_OP_SCALAR && n->params[0] != NOE_TERM_ABSENT)
        return change_term(r, &n->params[0], rng);
    static const noe_op constants[] = {NOE_OP_ZEROS, NOE_OP_ONES,
                                       NOE_OP_IDENTITY_MATRIX, NOE_OP_IDENTITY_KERNEL,
                                       NOE_OP_AVERAGE_KERNEL};
    if (!noe_op_has(n->op, NOE_TRAIT_CONSTANT) || n->op == NOE_OP_SCALAR)
        return false;
    n->op = constants[pick(rng, 5)];
    return true;
}

/* Conjuncts are kids of && terms; one of them takes the term's place. */
static bool drop_condition(noe_rule *r, noe_rng *rng)
{
    uint16_t *place = &r->where;
    if (*place == NOE_TERM_ABSENT)
        return false;
    while (r->terms[*place].kind == NOE_TERM_AND) {
        noe_term *t = &r->terms[*place];
        int kid = pick(rng, 2);
        if (r->terms[t->kids[kid]].kind != NOE_TERM_AND || pick(rng, 2)) {
            *place = t->kids[1 - kid];
            return true;
        }
        place = &t->kids[kid];
    }
    r->where = NOE_TERM_ABSENT;
    return true;
}

static bool same_text(const noe_rule *a, const noe_rule *b)
{
    noe_hash128 x = noe_rule_id(a), y = noe_rule_id(b);
    return x.lo == y.lo && x.hi == y.hi;
}

bool mutate(const noe_rule *rule, mutation m, noe_rng *rng, noe_rule *mutant)
{
    static bool (*const edits[])(noe_rule * r, noe_rng * rng) = {
        [MUTATE_OPERATOR] = replace_operator,  [MUTATE_OPERANDS] = swap_operands,
        [MUTATE_PARAMETER] = change_parameter, [MUTATE_VARIABLE] = change_variable,
        [MUTATE_CONSTANT] = change_constant,   [MUTATE_CONDITION] = drop_condition,
    };
    noe_buf text = {0};
    noe_rule *edited = noe_malloc(sizeof *edited);
    *edited = *rule;
    unshare(edited);
    bool ok = edits[m](edited, rng);
    if (ok) {
        noe_rule_print(&text, edited);
        ok = noe_rule_parse(noe_buf_text(&text), SIZE_MAX, mutant, NULL) == NOE_OK &&
             !same_text(mutant, rule);
    }
    noe_buf_clear(&text);
    free(edited);
    return ok;
}

static void note(mutants_count *c, mutation m, const noe_rule *mutant,
                 const noe_check *check, const brute_report *brute)
{
    bool seen[NOE_OP_COUNT] = {false};
    for (uint16_t i = 0; i < mutant->n_nodes; i++) {
        if (!mutant->nodes[i].is_var)
            seen[mutant->nodes[i].op] = true;
    }
    for (int op = 0; op < NOE_OP_COUNT; op++)
        c->operators[op] += seen[op];
    c->n[m][brute->answer][check->kind]++;
    if (check->kind == NOE_VERDICT_REFUTED)
        c->refuted_by[strcmp(check->stage, "type") == 0    ? 0
                      : strcmp(check->stage, "field") == 0 ? 1
                                                           : 2]++;
    if (check->kind == NOE_VERDICT_PROVED && brute->answer == BRUTE_FALSE) {
        c->n_survivors++;
        noe_rule_print(&c->survivors, mutant);
        noe_buf_printf(&c->survivors, ": %s\n", noe_buf_text(&brute->where));
    }
    if (check->kind == NOE_VERDICT_REFUTED && brute->answer == BRUTE_TRUE &&
        c->n_rejected++ < 40) {
        noe_rule_print(&c->rejected, mutant);
        noe_buf_printf(&c->rejected, ": %s\n",
                       noe_buf_text(&check->field.counterexample));
    }
}

void count_mutants(noe_verifier *v, const noe_rule *const *rules, int n_rules, int n,
                   uint64_t seed, int n_tries, int n_found, mutants_count *count)
{
    noe_rule *mutant = noe_malloc(sizeof *mutant);
    *count = (mutants_count){0};
    int done = 0;
    for (uint64_t i = 0; done < n && i < 100 * (uint64_t)n + 1000; i++) {
        noe_rng rng = noe_rng_split(seed, "mutant", i);
        const noe_rule *rule = rules[i % (uint64_t)n_rules];
        mutation m = (mutation)((i + i / (uint64_t)n_rules) % MUTATIONS);
        bool ok = false;
        for (int k = 0; k < ATTEMPTS && !ok; k++)
            ok = mutate(rule, m, &rng, mutant);
        if (!ok || !brute_knows(mutant))
            continue;
        brute_report brute;
        noe_check check;
        double start = noe_cpu_seconds();
        brute_check(mutant, noe_rng_next(&rng), n_tries, n_found, &brute);
        double middle = noe_cpu_seconds();
        noe_verifier_check(v, mutant, &check);
        count->cpu_brute += middle - start;
        count->cpu_verify += noe_cpu_seconds() - middle;
        /* Brute force has a look at what the verifier says is a difference. */
        const noe_field_report *f = &check.field;
        if (f->difference.found && f->n_instances > 0 && brute.answer != BRUTE_FALSE)
            brute_look(mutant, f->instances[f->n_instances - 1], 1, &brute);
        note(count, m, mutant, &check, &brute);
        noe_check_clear(&check);
        noe_buf_clear(&brute.where);
        done++;
    }
    free(mutant);
}
