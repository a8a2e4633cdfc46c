/* SPDX-License-Identifier: Apache-2.0
 *
 * E-graphs that remember why.
 *
 * Graphs here have some thousand nodes and are rebuilt once a round, so the table of
 * canonical forms is simply made anew until nothing is merged any more; there are no
 * lists of parents to maintain.
 */
#include "core/egraph.h"

#include "core/base/hash.h"
#include "core/base/rng.h"
#include <stdlib.h>

void noe_egraph_clear(noe_egraph *e)
{
    free(e->nodes);
    free(e->params);
    free(e->slots);
    *e = (noe_egraph){0};
}

uint32_t noe_egraph_params(noe_egraph *e, const noe_params *params)
{
    for (uint32_t i = 0; i < e->n_params; i++) {
        if (noe_params_eq(&e->params[i], params))
            return i;
    }
    NOE_PUSH(e->params, e->n_params, e->cap_params, *params);
    return e->n_params - 1;
}

uint32_t noe_egraph_find(const noe_egraph *e, uint32_t node)
{
    while (e->nodes[node].parent != node) {
        uint32_t *parent = &e->nodes[node].parent;
        *parent = e->nodes[*parent].parent;
        node = *parent;
    }
    return node;
}

/* Operands as classes, sorted where their order does not matter. */
static void canonical_operands(const noe_egraph *e, const noe_enode *node, uint32_t *in)
{
    bool is_leaf = node->op >= NOE_OP_COUNT;
    for (int k = 0; k < node->n_in; k++)
        in[k] = noe_egraph_find(e, node->in[k]);
    if (is_leaf)
        in[0] = node->in[0];
    if (!is_leaf && node->n_in == 2 && in[1] < in[0] &&
        noe_op_has(node->op, NOE_TRAIT_COMMUTATIVE)) {
        uint32_t swap = in[0];
        in[0] = in[1];
        in[1] = swap;
    }
}

static int n_words(const noe_enode *node)
{
    return node->op >= NOE_OP_COUNT ? 1 : node->n_in;
}

/* The slot of the node's canonical form: filled with a congruent node, or empty. */
static uint32_t *slot_of(const noe_egraph *e, const noe_enode *node)
{
    uint32_t in[NOE_RULE_MAX_INPUTS] = {0}, other[NOE_RULE_MAX_INPUTS];
    canonical_operands(e, node, in);
    uint64_t hash = noe_mix64((uint64_t)node->op << 32 | node->params);
    for (int k = 0; k < n_words(node); k++)
        hash = noe_mix64(hash + in[k]);
    for (uint32_t i = (uint32_t)hash & (e->n_slots - 1);;
         i = (i + 1) & (e->n_slots - 1)) {
        if (!e->slots[i])
            return &e->slots[i];
        const noe_enode *o = &e->nodes[e->slots[i] - 1];
        if (o->op != node->op || o->params != node->params || o->n_in != node->n_in)
            continue;
        canonical_operands(e, o, other);
        if (memcmp(in, other, (size_t)n_words(node) * sizeof *in) == 0)
            return &e->slots[i];
    }
}

uint32_t noe_egraph_ops(const noe_egraph *e, const noe_enode *node)
{
    uint32_t n = node->op < NOE_OP_COUNT && node->n_in > 0;
    for (int k = 0; k < node->n_in; k++)
        n += e->nodes[noe_egraph_find(e, node->in[k])].n_ops;
    return n;
}

static uint32_t congruence_of(const noe_egraph *e, uint32_t a, uint32_t b)
{
    const noe_enode *x = &e->nodes[a], *y = &e->nodes[b];
    bool same =
        x->n_in != 2 || noe_egraph_find(e, x->in[0]) == noe_egraph_find(e, y->in[0]);
    return same ? NOE_CONGRUENCE : NOE_CONGRUENCE_SWAPPED;
}

/* Fills the table; true if congruent nodes of two classes were merged on the way. */
static bool fill_table(noe_egraph *e)
{
    bool merged = false;
    memset(e->slots, 0, e->n_slots * sizeof *e->slots);
    for (uint32_t i = 0; i < e->n_nodes; i++) {
        uint32_t *slot = slot_of(e, &e->nodes[i]);
        if (!*slot) {
            *slot = i + 1;
        } else if (noe_egraph_find(e, *slot - 1) != noe_egraph_find(e, i)) {
            noe_egraph_union(e, *slot - 1, i, congruence_of(e, *slot - 1, i));
            merged = true;
        }
    }
    return merged;
}

static bool lower_ops(noe_egraph *e)
{
    bool changed = false;
    for (uint32_t i = 0; i < e->n_nodes; i++) {
        uint32_t *n = &e->nodes[noe_egraph_find(e, i)].n_ops;
        uint32_t here = noe_egraph_ops(e, &e->nodes[i]);
        changed |= here < *n;
        *n = here < *n ? here : *n;
    }
    return changed;
}

void noe_egraph_rebuild(noe_egraph *e)
{
    if (!e->is_dirty)
        return;
    while (fill_table(e))
        ;
    while (lower_ops(e))
        ;
    e->is_dirty = false;
}

static void grow_table(noe_egraph *e)
{
    if (2 * (e->n_nodes + 1) < e->n_slots)
        return;
    e->n_slots = e->n_slots ? 2 * e->n_slots : 1024;
    e->slots = noe_realloc(e->slots, e->n_slots * sizeof *e->slots);
    memset(e->slots, 0, e->n_slots * sizeof *e->slots);
    /* Between rebuilds the first of several congruent nodes stands for them. */
    for (uint32_t i = 0; i < e->n_nodes; i++) {
        uint32_t *slot = slot_of(e, &e->nodes[i]);
        if (!*slot)
            *slot = i + 1;
    }
}

uint32_t noe_egraph_lookup(const noe_egraph *e, const noe_enode *node)
{
    if (!e->n_slots)
        return NOE_ENODE_NONE;
    const uint32_t *slot = slot_of(e, node);
    return *slot ? *slot - 1 : NOE_ENODE_NONE;
}

uint32_t noe_egraph_add(noe_egraph *e, const noe_enode *node)
{
    uint32_t found = noe_egraph_lookup(e, node), id = e->n_nodes;
    if (found != NOE_ENODE_NONE)
        return found;
    grow_table(e);
    noe_enode n = *node;
    n.parent = n.next = id;
    n.n_ops = noe_egraph_ops(e, node);
    n.proof = NOE_ENODE_NONE;
    n.proof_by = NOE_CONGRUENCE;
    if (n.op < NOE_OP_COUNT) {
        n.is_weight = true;
        for (int k = 0; k < n.n_in; k++)
            n.is_weight &= e->nodes[n.in[k]].is_weight;
    }
    NOE_PUSH(e->nodes, e->n_nodes, e->cap_nodes, n);
    *slot_of(e, &e->nodes[id]) = id + 1;
    return id;
}

/* Turns the edges between node and the root of its proof tree around. */
static void make_proof_root(noe_egraph *e, uint32_t node)
{
    uint32_t to = NOE_ENODE_NONE, by = NOE_CONGRUENCE;
    while (node != NOE_ENODE_NONE) {
        noe_enode *n = &e->nodes[node];
        uint32_t next = n->proof, next_by = n->proof_by;
        n->proof = to;
        n->proof_by = by;
        to = node;
        by = next_by;
        node = next;
    }
}

void noe_egraph_union(noe_egraph *e, uint32_t a, uint32_t b, uint32_t by)
{
    uint32_t x = noe_egraph_find(e, a), y = noe_egraph_find(e, b);
    if (x == y)
        return;
    make_proof_root(e, a);
    e->nodes[a].proof = b;
    e->nodes[a].proof_by = by;
    uint32_t keep = x < y ? x : y, drop = x < y ? y : x;
    noe_enode *k = &e->nodes[keep], *d = &e->nodes[drop];
    d->parent = keep;
    k->n_ops = k->n_ops < d->n_ops ? k->n_ops : d->n_ops;
    uint32_t next = k->next;
    k->next = d->next;
    d->next = next;
    e->is_dirty = true;
}
