/* SPDX-License-Identifier: Apache-2.0
 *
 * Certificates as text: which instances of which axioms a proof rests on. A line is the
 * name of an axiom and a ground term for each of its variables:
 *
 *   reshape_none ?a=reshape[shape=cat([at(shape(?c), 0)], [1])](?c) $a=shape(?a)
 *
 * Terms are in functional form: operators as in rules with all their parameters,
 * functions of lists and numbers in front of their arguments, "+(-1, rank)". A line
 * "ranks a:1 b:2" says that what follows is for these ranks of the rule's variables;
 * without one the lines are for all ranks.
 */
#ifndef NOE_CHECKER_GROUND_H
#define NOE_CHECKER_GROUND_H

#include "core/rule.h"

/* Function or operator, variable ("?a", "$k"), number; a list has head "[". */
typedef struct noe_ground noe_ground;
struct noe_ground {
    const char *head;
    const char **param_names; /* of the operator; values are the first n_params kids */
    noe_ground **kids;
    int n_params, n_kids;
};

typedef struct noe_ground_step {
    const char *axiom;
    int line;           /* 1-based, of the certificate */
    const char **names; /* "?a", "$k" */
    noe_ground **terms;
    int n;
} noe_ground_step;

/* The steps for some ranks, or for all. */
typedef struct noe_ground_section {
    const char *ranks; /* "a:1 b:2"; NULL: all */
    bool in_domain;    /* arguments of sqrt and log on the left are not negative */
    noe_ground_step *steps;
    int n, cap;
} noe_ground_section;

typedef struct noe_ground_certificate {
    noe_arena arena;
    noe_ground_section *sections;
    int n, cap;
} noe_ground_certificate;

/* certificate is overwritten; clear it with noe_ground_clear, also after a failure.
 * Errors name the line. An empty text has one section without steps. */
NOE_NODISCARD noe_status noe_ground_parse(const char *text,
                                          noe_ground_certificate *certificate,
                                          noe_error *err);
void noe_ground_clear(noe_ground_certificate *certificate);

#endif
