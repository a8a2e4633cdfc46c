/* SPDX-License-Identifier: Apache-2.0
 *
 * What has to be refuted for a rule to be proved, in SMT-LIB: operators are functions
 * that nothing is known of, variables and texts of parameters are constants. The
 * instances of axioms that refute it are those of the certificate.
 */
#include "ruledb/report.h"
#include <string.h>

typedef struct printer {
    const noe_rule *rule;
    noe_buf *b;
    noe_buf seen; /* names that are declared, each between newlines */
} printer;

/* Is this the first time? */
static bool is_new(printer *p, const char *name)
{
    noe_buf line = {0};
    noe_buf_printf(&line, "\n%s\n", name);
    bool is_known = strstr(noe_buf_text(&p->seen), line.text) != NULL;
    if (!is_known)
        noe_buf_puts(&p->seen, line.text);
    noe_buf_clear(&line);
    return !is_known;
}

/* The parameters of a node, as the name of one constant; what text holds is its. NULL
 * for operators that have none. */
static const char *parameters(const noe_rule *r, uint16_t node, noe_buf *text)
{
    if (noe_op_get(r->nodes[node].op)->n_params == 0)
        return NULL;
    noe_rule_print_node(text, r, node);
    char *start = strchr(text->text, '[');
    if (!start)
        return "defaults";
    start[strlen(start) - 1] = '\0';
    return start + 1;
}

static void declare_operator(printer *p, uint16_t node)
{
    const noe_pattern_node *n = &p->rule->nodes[node];
    const char *name = noe_op_get(n->op)->name;
    noe_buf text = {0};
    const char *constant = parameters(p->rule, node, &text);
    if (constant && is_new(p, constant))
        noe_buf_printf(p->b, "(declare-const |%s| P)\n", constant);
    if (is_new(p, name)) {
        noe_buf_printf(p->b, "(declare-fun op.%s (%s", name, constant ? "P" : "");
        for (uint16_t k = 0; k < n->n_inputs; k++)
            noe_buf_puts(p->b, k || constant ? " T" : "T");
        noe_buf_puts(p->b, ") T)\n");
    }
    noe_buf_clear(&text);
}

static void declare_variable(printer *p, uint16_t node)
{
    noe_buf name = {0};
    noe_rule_print_node(&name, p->rule, node);
    if (is_new(p, name.text))
        noe_buf_printf(p->b, "(declare-const %s T)\n", name.text);
    noe_buf_clear(&name);
}

static void put_term(printer *p, uint16_t node)
{
    const noe_pattern_node *n = &p->rule->nodes[node];
    if (n->is_var) {
        noe_rule_print_node(p->b, p->rule, node);
        return;
    }
    noe_buf text = {0};
    const char *constant = parameters(p->rule, node, &text);
    noe_buf_printf(p->b, "(op.%s", noe_op_get(n->op)->name);
    if (constant)
        noe_buf_printf(p->b, " |%s|", constant);
    noe_buf_clear(&text);
    for (uint16_t k = 0; k < n->n_inputs; k++) {
        noe_buf_puts(p->b, " ");
        put_term(p, n->inputs[k]);
    }
    noe_buf_puts(p->b, ")");
}

void noe_report_smt2(noe_buf *b, const noe_rule *rule)
{
    printer p = {.rule = rule, .b = b};
    bool left[NOE_RULE_MAX_NODES], right[NOE_RULE_MAX_NODES];
    noe_rule_mark_side(rule, false, left);
    noe_rule_mark_side(rule, true, right);
    noe_buf_puts(b, "(set-logic QF_UF)\n(declare-sort T 0) ; tensors\n"
                    "(declare-sort P 0) ; parameters\n");
    for (uint16_t i = 0; i < rule->n_nodes; i++) {
        if (!left[i] && !right[i])
            continue;
        if (rule->nodes[i].is_var)
            declare_variable(&p, i);
        else
            declare_operator(&p, i);
    }
    noe_buf_puts(b, "(assert (or false");
    for (uint16_t i = 0; i < rule->n_roots; i++) {
        noe_buf_puts(b, "\n  (not (= ");
        put_term(&p, rule->lhs[i]);
        noe_buf_puts(b, "\n          ");
        put_term(&p, rule->rhs[i]);
        noe_buf_puts(b, "))");
    }
    noe_buf_puts(b, "))\n");
    noe_buf_clear(&p.seen);
}
