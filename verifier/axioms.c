/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading axioms. An axiom has one root pair and a name of its own; whether it needs
 * equal shapes as a premise is found by searching for instances whose sides are
 * well-typed but differ in type. Missing one costs nothing but time: every step of a
 * proof is typed again afterwards (verifier/prove.c).
 */
#include "verifier/axioms.h"
#include "core/instance.h"
#include <stdlib.h>

#define GUARD_ATTEMPTS 160

static bool types_can_differ(const noe_rule *rule)
{
    noe_instance *inst = noe_malloc(sizeof *inst);
    noe_rng rng = noe_rng_split(1, "guard", 0);
    bool differ = false;
    for (int i = 0; i < GUARD_ATTEMPTS && !differ; i++) {
        noe_instance_style style = {.rank = i % 5,
                                    .dims = i / 5 % 2,
                                    .max_elements = 4000,
                                    .allow_unequal = true};
        if (noe_instance_try(rule, &rng, &style, inst))
            differ = !noe_type_eq(&inst->type[rule->lhs[0]], &inst->type[rule->rhs[0]]);
    }
    free(inst);
    return differ;
}

static const char *assumed_because(const char *name)
{
    static const struct {
        const char *name, *reason;
    } assumed[] = {
#define ASSUMED(NAME, REASON) {#NAME, REASON},
#include "verifier/assumed.def"
#undef ASSUMED
    };
    for (size_t i = 0; i < sizeof assumed / sizeof *assumed; i++) {
        if (strcmp(assumed[i].name, name) == 0)
            return assumed[i].reason;
    }
    return NULL;
}

static noe_status add_axiom(void *ctx, const noe_rule_line *line, noe_error *err)
{
    noe_axioms *axioms = ctx;
    if (line->name[0] == '\0')
        return noe_fail(err, NOE_ERR_PARSE, "line %d: an axiom needs a name",
                        line->line);
    if (noe_axioms_find(axioms, line->name) >= 0)
        return noe_fail(err, NOE_ERR_PARSE, "line %d: a second axiom named '%s'",
                        line->line, line->name);
    if (line->rule.n_roots != 1)
        return noe_fail(err, NOE_ERR_PARSE, "line %d: axiom %s has %d roots, want 1",
                        line->line, line->name, line->rule.n_roots);
    noe_axiom a = {
        .name = noe_strdup(line->name), .line = line->line, .rule = line->rule};
    a.law = assumed_because(line->name);
    a.needs_equal_shapes = types_can_differ(&a.rule);
    NOE_PUSH(axioms->axiom, axioms->n, axioms->cap, a);
    return NOE_OK;
}

noe_status noe_axioms_load(const char *text, const char *path, noe_axioms *axioms,
                           noe_error *err)
{
    *axioms = (noe_axioms){.hash = noe_hash64(text, strlen(text), 0)};
    noe_status status = noe_rules_parse(text, path, add_axiom, axioms, err);
    if (status != NOE_OK)
        noe_axioms_clear(axioms);
    return status;
}

void noe_axioms_clear(noe_axioms *axioms)
{
    for (int i = 0; i < axioms->n; i++)
        free(axioms->axiom[i].name);
    free(axioms->axiom);
    *axioms = (noe_axioms){0};
}

int noe_axioms_find(const noe_axioms *axioms, const char *name)
{
    for (int i = 0; i < axioms->n; i++) {
        if (strcmp(axioms->axiom[i].name, name) == 0)
            return i;
    }
    return -1;
}
