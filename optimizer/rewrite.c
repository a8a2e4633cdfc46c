/* SPDX-License-Identifier: Apache-2.0 */
#include "optimizer/rewrite.h"
#include <stdlib.h>

void noe_rewriter_init(noe_rewriter *r, const noe_graph *base)
{
    *r = (noe_rewriter){.base = base, .scratch = noe_graph_copy(base)};
}

void noe_rewriter_clear(noe_rewriter *r)
{
    noe_graph_free(r->scratch);
    free(r->map);
    free(r->redirects);
    *r = (noe_rewriter){0};
}

noe_status noe_rewriter_add(noe_rewriter *r, const noe_rule *rule,
                            const noe_match *match, bool *changes, noe_error *err)
{
    noe_ref roots[NOE_RULE_MAX_ROOTS];
    *changes = false;
    NOE_TRY(noe_rule_instantiate(rule, r->scratch, match, roots, err));
    for (int i = 0; i < rule->n_roots; i++) {
        noe_redirect redirect = {match->root[i].node, roots[i]};
        if (noe_ref_eq(match->root[i], roots[i]))
            continue;
        NOE_PUSH(r->redirects, r->n_redirects, r->cap_redirects, redirect);
        *changes = true;
    }
    return NOE_OK;
}

static int by_node(const void *a, const void *b)
{
    const noe_redirect *x = a, *y = b;
    return x->from < y->from ? -1 : x->from > y->from;
}

/* Upstream roots first, so that what is copied for a later one uses their new form. */
static noe_status redirect_all(noe_rewriter *r, noe_graph *dst, noe_error *err)
{
    if (r->n_redirects > 0) /* the array may not exist yet */
        qsort(r->redirects, r->n_redirects, sizeof *r->redirects, by_node);
    for (uint32_t i = 0; i < r->n_redirects; i++) {
        const noe_redirect *d = &r->redirects[i];
        noe_ref image;
        NOE_TRY(noe_graph_transfer(dst, r->scratch, d->to, r->map, &image, err));
        r->map[d->from] = image;
        if (image.port == 0)
            noe_graph_set_name(dst, image.node, r->base->nodes[d->from].name);
    }
    return NOE_OK;
}

static noe_status copy_outputs(noe_rewriter *r, noe_graph *dst, noe_error *err)
{
    for (uint32_t i = 0; i < r->base->n_outputs; i++) {
        const noe_output *o = &r->base->outputs[i];
        noe_ref image;
        NOE_TRY(noe_graph_transfer(dst, r->scratch, o->ref, r->map, &image, err));
        noe_graph_add_output(dst, image, o->name);
    }
    return NOE_OK;
}

static uint8_t *mark_fresh(const noe_rewriter *r, const uint8_t *base_fresh,
                           const noe_graph *dst)
{
    uint8_t *fresh = noe_calloc(dst->n_nodes + 1, 1);
    for (uint32_t i = 0; i < r->scratch->n_nodes; i++) {
        bool is_new = i >= r->base->n_nodes || (base_fresh && base_fresh[i]);
        if (is_new && !noe_ref_is_none(r->map[i]))
            fresh[r->map[i].node] = 1;
    }
    /* A root that became an older value: what uses that value now has a new context. */
    for (uint32_t i = 0; i < r->n_redirects; i++)
        fresh[r->map[r->redirects[i].from].node] = 1;
    return fresh;
}

noe_status noe_rewriter_finish(noe_rewriter *r, const uint8_t *base_fresh,
                               noe_graph **out, uint8_t **fresh, noe_error *err)
{
    if (r->cap_map < r->scratch->n_nodes) {
        r->cap_map = r->scratch->n_nodes * 2;
        free(r->map);
        r->map = noe_malloc((size_t)r->cap_map * sizeof *r->map);
    }
    for (uint32_t i = 0; i < r->scratch->n_nodes; i++)
        r->map[i] = NOE_REF_NONE;
    noe_graph *dst = noe_graph_new(r->base->pool);
    noe_status status = redirect_all(r, dst, err);
    if (status == NOE_OK)
        status = copy_outputs(r, dst, err);
    if (status == NOE_OK) {
        *out = dst;
        if (fresh)
            *fresh = mark_fresh(r, base_fresh, dst);
    } else {
        noe_graph_free(dst);
    }
    r->n_redirects = 0;
    return status;
}

noe_status noe_rewriter_copy_live(const noe_graph *g, noe_graph **out, noe_error *err)
{
    noe_rewriter r;
    noe_rewriter_init(&r, g);
    noe_status status = noe_rewriter_finish(&r, NULL, out, NULL, err);
    noe_rewriter_clear(&r);
    return status;
}
