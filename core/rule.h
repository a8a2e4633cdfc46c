/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules: pairs of patterns over shared variables, with conditions.
 *
 *   slice[axis=$k, start=0, end=dim(?a, $k)](concat[axis=$k](?a, ?b)) => ?a
 *   add(conv(?x, ?w), ?b) => conv_bias(?x, ?w, reshape[shape=[dim(?w, 0)]](?b))
 *       where shape(?b) == [dim(?w, 0)] ++ rep(1, rank(?x) - 2)
 *   { f(?x), g(?x) } => { h(?x), k(?x) }     several roots: outputs pairwise equal
 *
 * ?a is a tensor variable; `?w:weight` (said once, anywhere) is a variable of role
 * weight. $k is a parameter variable: it stands for one whole parameter value. Terms
 * compute parameter values from parameter variables and from shapes of variables.
 *
 * A parameter that a pattern does not write has its default (noe_param_default), which
 * for strides, dilations and pads adapts to the number of spatial axes.
 *
 * Meaning: for all values of the tensor and parameter variables such that the condition
 * holds and both sides are well-typed with equal output types, both sides compute the
 * same over the reals. Requirements on whoever makes a rule:
 *   1. parameter variables on the right occur on the left;
 *   2. to be used left to right, tensor variables on the right occur on the left;
 *   3. every parameter variable occurs on the left at least once as a whole parameter
 *      value (there it is bound; elsewhere it is evaluated and compared).
 */
#ifndef NOE_CORE_RULE_H
#define NOE_CORE_RULE_H

#include "core/base/hash.h"
#include "core/graph.h"

#define NOE_RULE_MAX_NODES  48
#define NOE_RULE_MAX_VARS   12
#define NOE_RULE_MAX_PVARS  16
#define NOE_RULE_MAX_TERMS  192
#define NOE_RULE_MAX_ROOTS  4
#define NOE_RULE_MAX_INPUTS 5

typedef enum noe_term_kind {
    NOE_TERM_INT,       /* i */
    NOE_TERM_FLOAT,     /* f */
    NOE_TERM_PVAR,      /* $name: var */
    NOE_TERM_DIM,       /* dim(?a, t): var, kid 0; t may be negative */
    NOE_TERM_RANK,      /* rank(?a): var */
    NOE_TERM_SHAPE,     /* shape(?a): var, a list */
    NOE_TERM_LIST,      /* [t, ...]: kids, each a number */
    NOE_TERM_CAT,       /* t ++ t: lists */
    NOE_TERM_REP,       /* rep(t, n): list of n times t */
    NOE_TERM_AT,        /* at(list, i); i may be a list of places */
    NOE_TERM_LEN,       /* len(list) */
    NOE_TERM_PROD,      /* prod(list) */
    NOE_TERM_SUM,       /* sum(list) */
    NOE_TERM_TAKE,      /* take(list, n): the first n */
    NOE_TERM_SKIP,      /* skip(list, n): all but the first n */
    NOE_TERM_WITHOUT,   /* without(list, axes): what squeezing those axes leaves */
    NOE_TERM_WITH_ONES, /* with_ones(list, axes): 1 at those places of the result */
    NOE_TERM_RANGE,     /* range(n): [0, 1, ..., n - 1] */
    NOE_TERM_HAS,       /* has(list, i): whether i is in it, 0 or 1 */
    NOE_TERM_ADD,       /* numbers, or lists of equal length, elementwise */
    NOE_TERM_SUB,
    NOE_TERM_MUL,
    NOE_TERM_DIV, /* exact or floor; by zero: the term has no value */
    NOE_TERM_MOD,
    NOE_TERM_MIN, /* min(t, t) */
    NOE_TERM_MAX,
    NOE_TERM_EQ, /* conditions; value 0 or 1 */
    NOE_TERM_NE,
    NOE_TERM_LT,
    NOE_TERM_LE,
    NOE_TERM_AND,
    NOE_TERM_OR,
    NOE_TERM_NOT,
} noe_term_kind;

typedef struct noe_term {
    noe_term_kind kind;
    uint16_t var; /* variable or parameter variable */
    uint16_t n_kids;
    int64_t i;
    double f;
    uint16_t kids[NOE_MAX_LIST]; /* indices into noe_rule.terms */
} noe_term;

#define NOE_TERM_ABSENT UINT16_MAX /* parameter not written: its default */

typedef struct noe_pattern_node {
    bool is_var;
    uint16_t var; /* is_var: the variable */
    noe_op op;    /* otherwise */
    uint16_t n_inputs;
    uint16_t inputs[NOE_RULE_MAX_INPUTS]; /* indices into noe_rule.nodes, smaller than
                                             ours */
    uint16_t params[NOE_MAX_PARAMS]; /* terms, in the order of the operator's row */
} noe_pattern_node;

typedef struct noe_variable {
    char name[24]; /* without the '?' or '$' */
    bool is_weight;
    noe_param_kind kind; /* parameter variables: of the parameter they stand for */
} noe_variable;

/* Both sides live in one node array (shared subterms are one node). */
typedef struct noe_rule {
    noe_pattern_node nodes[NOE_RULE_MAX_NODES];
    uint16_t n_nodes;
    noe_variable vars[NOE_RULE_MAX_VARS];
    uint16_t n_vars;
    noe_variable pvars[NOE_RULE_MAX_PVARS];
    uint16_t n_pvars;
    uint16_t lhs[NOE_RULE_MAX_ROOTS], rhs[NOE_RULE_MAX_ROOTS];
    uint16_t n_roots;
    uint16_t where;   /* condition term, or NOE_TERM_ABSENT */
    bool is_reversed; /* made by noe_rule_reversed: proved from right to left */
    uint16_t n_terms;
    noe_term terms[NOE_RULE_MAX_TERMS]; /* last: see noe_rule_pack */
} noe_rule;

/* A copy (free) that ends behind the last term in use, a sixth of the size for most
 * rules: to be read by its members, never copied whole. */
noe_rule *noe_rule_pack(const noe_rule *rule);

/* What variables stand for in one instance. */
typedef struct noe_binding {
    noe_type type[NOE_RULE_MAX_VARS]; /* types of the tensor variables */
    noe_ref ref[NOE_RULE_MAX_VARS];   /* matcher: where in the graph */
    bool bound[NOE_RULE_MAX_VARS];
    noe_value pvalue[NOE_RULE_MAX_PVARS];
    bool pbound[NOE_RULE_MAX_PVARS];
} noe_binding;

/* Parses one rule. len may be SIZE_MAX for a NUL-terminated text. "=>" and ":=" are the
 * same to the parser. Error messages carry column and offending text. */
NOE_NODISCARD noe_status noe_rule_parse(const char *text, size_t len, noe_rule *rule,
                                        noe_error *err);
/* Canonical text: variables renamed to ?a ?b ... and $a $b ... in order of first
 * occurrence, default parameters left out. parse(print(r)) prints the same. */
void noe_rule_print(noe_buf *b, const noe_rule *rule);
void noe_rule_print_side(noe_buf *b, const noe_rule *rule, bool rhs);
/* A node without its operands, "conv[strides=$a]" or "?b". */
void noe_rule_print_node(noe_buf *b, const noe_rule *rule, uint16_t node);
void noe_rule_print_where(noe_buf *b, const noe_rule *rule); /* "" if none */
/* Content id: hash of the canonical text. Same rule, same id, anywhere. */
noe_hash128 noe_rule_id(const noe_rule *rule);
/* The rule right to left. A rule is proved for parameters that its left side binds as a
 * node has them stored, so slice bounds within the dimension. Read from right to left
 * it keeps to that: noe_rule_params fails where a node of the side that was the left
 * one would store another value than the variable has. */
noe_rule noe_rule_reversed(const noe_rule *rule);
/* Can be used left to right: requirements 1 to 3 above hold, the left is no variable.
 */
bool noe_rule_is_directed(const noe_rule *rule);
/* Which nodes belong to a side: used has NOE_RULE_MAX_NODES entries. */
void noe_rule_mark_side(const noe_rule *rule, bool rhs, bool *used);
int noe_rule_count_ops(const noe_rule *rule, bool rhs); /* shared nodes once, no vars */
/* Operators of a side by name, sorted, each as often as it occurs: "add matmul matmul".
 */
void noe_rule_print_ops(noe_buf *b, const noe_rule *rule, bool rhs);

/* Value of a term under a binding (types, refs not needed); false if it has none
 * (unbound variable, index out of range, division by zero, list too long). */
bool noe_term_eval(const noe_rule *rule, uint16_t term, const noe_binding *binding,
                   noe_value *out);
/* Condition of the rule; true if there is none; a condition without value is false. */
bool noe_rule_holds(const noe_rule *rule, const noe_binding *binding);
/* Concrete parameters of a pattern node, given its input types. */
NOE_NODISCARD noe_status noe_rule_params(const noe_rule *rule, uint16_t node,
                                         const noe_binding *binding, const noe_type *in,
                                         int n_in, noe_params *params, noe_error *err);

/* Lines of a rule file: '#' starts a comment line, blank lines are skipped, a line that
 * ends in '\' continues; `name: rule` names it. Calls fn for each; fn's failure ends.
 */
typedef struct noe_rule_line {
    const char *name; /* "" if unnamed */
    int line;         /* 1-based */
    noe_rule rule;
} noe_rule_line;
NOE_NODISCARD noe_status noe_rules_parse(const char *text, const char *path,
                                         noe_status (*fn)(void *ctx,
                                                          const noe_rule_line *line,
                                                          noe_error *err),
                                         void *ctx, noe_error *err);

#endif
