/* SPDX-License-Identifier: Apache-2.0
 *
 * write_back IN OUT [--storm RULES SEED STEPS | --fresh] [NAME:SIZES...]: imports a
 * model, expands it into core operators, rewrites it STEPS times at random with rules
 * that are true, and writes it back; --fresh: as if every node of the algebra were new.
 * For judging by ONNX Runtime what was understood and what was written.
 */
#include "core/base/file.h"
#include "core/base/rng.h"
#include "core/definition.h"
#include "core/match.h"
#include "onnx_io/onnx_io.h"
#include <stdio.h>
#include <stdlib.h>

#define MAX_RULES      64
#define MAX_MATCHES    16
#define TRIES_PER_STEP 400
#define MAX_RULE_BYTES (1 << 20)

typedef struct storm {
    noe_rule *rules;
    int n_rules;
    noe_rng rng;
    noe_match *matches;
    int n_matches;
} storm;

static noe_status keep_rule(void *ctx, const noe_rule_line *line, noe_error *err)
{
    storm *s = ctx;
    if (s->n_rules == MAX_RULES)
        return noe_fail(err, NOE_ERR_LIMIT, "more than %d rules", MAX_RULES);
    s->rules[s->n_rules++] = line->rule;
    return NOE_OK;
}

static bool keep_match(void *ctx, const noe_match *match)
{
    storm *s = ctx;
    s->matches[s->n_matches++] = *match;
    return s->n_matches < MAX_MATCHES;
}

/* Tries one rule at one node; *g is the result. */
static bool try_step(storm *s, noe_graph **g)
{
    const noe_rule *rule = &s->rules[noe_rng_below(&s->rng, (uint64_t)s->n_rules)];
    uint32_t node = (uint32_t)noe_rng_below(&s->rng, (*g)->n_nodes);
    noe_graph *next;
    s->n_matches = 0;
    noe_rule_match(rule, *g, node, keep_match, s);
    if (s->n_matches == 0)
        return false;
    const noe_match *m = &s->matches[noe_rng_below(&s->rng, (uint64_t)s->n_matches)];
    if (noe_rule_apply(rule, *g, m, &next, NULL) != NOE_OK)
        return false;
    noe_graph_free(*g);
    *g = next;
    return true;
}

static void run_storm(storm *s, int steps, noe_graph **g)
{
    int done = 0;
    for (int i = 0; i < steps * TRIES_PER_STEP && done < steps; i++)
        done += try_step(s, g);
    noe_graph_check(*g);
    printf("%d rewrites\n", done);
}

static noe_status read_rules(storm *s, const char *path, noe_error *err)
{
    char *text;
    size_t len;
    NOE_TRY(noe_file_read(path, MAX_RULE_BYTES, &text, &len, err));
    noe_status status = noe_rules_parse(text, path, keep_rule, s, err);
    free(text);
    return status;
}

/* argv: RULES SEED STEPS, or NULL for no storm. */
static noe_status rewrite(char **argv, noe_graph **g, noe_error *err)
{
    if (!argv)
        return NOE_OK;
    storm s = {.rng = noe_rng_split(strtoull(argv[1], NULL, 10), "storm", 0)};
    s.rules = noe_calloc(MAX_RULES, sizeof *s.rules);
    s.matches = noe_calloc(MAX_MATCHES, sizeof *s.matches);
    noe_status status = read_rules(&s, argv[0], err);
    if (status == NOE_OK)
        run_storm(&s, atoi(argv[2]), g);
    free(s.rules);
    free(s.matches);
    return status;
}

/* No node stems from one of the model. */
static void forget_origins(noe_graph *g)
{
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (g->nodes[i].op < NOE_OP_COUNT)
            noe_graph_set_origin(g, i, 0);
    }
}

static noe_status write_back(const char *in, const char *out, char **storm_args,
                             bool fresh, const noe_onnx_options *options,
                             noe_error *err)
{
    noe_onnx_model *m;
    noe_graph *core = NULL;
    NOE_TRY(noe_onnx_load(in, options, NULL, &m, err));
    noe_status status = noe_graph_expand(noe_onnx_graph(m), &core, err);
    if (status == NOE_OK)
        status = rewrite(storm_args, &core, err);
    if (status == NOE_OK && fresh)
        forget_origins(core);
    if (status == NOE_OK)
        status = noe_onnx_save(m, core, out, err);
    noe_graph_free(core);
    noe_onnx_free(m);
    return status;
}

int main(int argc, char **argv)
{
    noe_error err;
    if (argc < 3)
        return 2;
    bool has_storm = argc >= 7 && strcmp(argv[3], "--storm") == 0;
    bool fresh = argc > 3 && strcmp(argv[3], "--fresh") == 0;
    int first = has_storm ? 7 : fresh ? 4 : 3;
    noe_onnx_options options = {.input_shapes = (const char *const *)argv + first,
                                .n_input_shapes = argc - first};
    if (write_back(argv[1], argv[2], has_storm ? argv + 4 : NULL, fresh, &options,
                   &err) != NOE_OK) {
        fprintf(stderr, "%s\n", err.text);
        return noe_status_exit_code(err.status);
    }
    return 0;
}
