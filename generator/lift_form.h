/* SPDX-License-Identifier: Apache-2.0
 *
 * What a pair may be written as: a form for each of its parameter values and conditions
 * on its variables. A choice of these is a variant.
 */
#ifndef NOE_GENERATOR_LIFT_FORM_H
#define NOE_GENERATOR_LIFT_FORM_H

#include "core/rule.h"
#include "generator/pair.h"

#define NOE_LIFT_MAX_SLOTS 16
#define NOE_LIFT_MAX_FORMS 32

typedef enum noe_form_kind {
    NOE_FORM_VARIABLE, /* of which something may be asked */
    NOE_FORM_OFFSET,   /* variable of slot `other`, plus the literal difference */
    NOE_FORM_SPATIAL,  /* variable of slot `other`, plus or minus (`sign`) what slot
                          `other2` pads spatial axes with */
    NOE_FORM_ADD,      /* the variables of two slots, added */
    NOE_FORM_PICK, /* at(variable of slot `other`, a permutation; that of `other2`) */
    NOE_FORM_TAIL, /* variable of slot `other`, all but as many sizes as var has axes
                      before its last one */
    NOE_FORM_ELEMENT,   /* at(variable of slot `other`, axis) */
    NOE_FORM_DIM,       /* dim(var, axis) */
    NOE_FORM_SUM,       /* dim(var, axis) + dim(var2, axis2) */
    NOE_FORM_HEAD,      /* [dim(var, axis)] and ones, as many as var has other axes */
    NOE_FORM_SHAPE,     /* shape(var) */
    NOE_FORM_WITH_ONES, /* shape(var) and ones behind it */
    NOE_FORM_DIMS,      /* list of dims, literals where none fits */
    NOE_FORM_DIMS_END,  /* the same, axes counted from the end */
    NOE_FORM_KERNEL,    /* [dim(var, axis), 1] and the window of slot `other` */
    NOE_FORM_WITHOUT,   /* shape(var) without the axes that slot `other` names */
    NOE_FORM_WINDOW,    /* the sizes of var's spatial axes */
    NOE_FORM_DEFAULT,   /* left out: as many ones or zeros as there are spatial axes */
    NOE_FORM_LEAD,      /* the leading axes of var, all but `axis` of them, and dims */
    NOE_FORM_FROM_END,  /* axis or axes from the end */
    NOE_FORM_LITERAL,
} noe_form_kind;

/* What is asked of a variable that stands for axes, a permutation, or pads. */
typedef enum noe_asked {
    NOE_ASKED_NOTHING,
    NOE_ASKED_OTHER,   /* none of it is what slot `other` is */
    NOE_ASKED_FROM,    /* all axes from `axis` on */
    NOE_ASKED_UNDER,   /* all axes before axis `axis` */
    NOE_ASKED_BEFORE,  /* all axes before the last `axis` ones of var */
    NOE_ASKED_OUTSIDE, /* all axes before those that var2, which has fewer, has of var
                        */
    NOE_ASKED_SINGLE,  /* one axis */
    NOE_ASKED_TAIL,    /* the last `axis` places as in the pair, counted from the end */
    NOE_ASKED_HEAD,    /* the first `axis` places as in the pair */
    NOE_ASKED_ORDER,   /* the permutation that moves nothing */
    NOE_ASKED_SPATIAL, /* pads: none on the first two axes; as many axes as var has */
} noe_asked;

typedef struct noe_form {
    noe_form_kind kind;
    noe_asked asked; /* of a variable */
    int var, axis, var2, axis2, other, other2, sign;
} noe_form;

typedef struct noe_slot {
    noe_param param;
    noe_value value;
    int rank;          /* axes: of the operand */
    int axis_slot;     /* bounds of slices: slot of the axis, else -1 */
    bool of_reshape;   /* shape of the operator reshape */
    bool of_pad;       /* pads of the operator pad, not of a window */
    bool is_tied;      /* something else follows it */
    bool is_patterned; /* shape of a constant other than zeros and ones */
    int n_uses[2];     /* on the left, on the right */
    noe_form forms[NOE_LIFT_MAX_FORMS]; /* general ones first */
    int n_forms;
} noe_slot;

typedef struct noe_forms {
    const noe_pair *pair;
    int costly; /* side that a rewrite should start from; -1: either */
    noe_slot slots[NOE_LIFT_MAX_SLOTS];
    int n_slots;
    int slot_of[NOE_PAIR_MAX_NODES][NOE_MAX_PARAMS];
    bool is_full;
} noe_forms;

/* What is asked of a variable that is broadcast in the pair, weak ones first. */
typedef enum noe_spread {
    NOE_SPREAD_ANY,
    NOE_SPREAD_AXIS,   /* 1 on the axis that a parameter variable names */
    NOE_SPREAD_SCALAR, /* one element */
    NOE_SPREAD_ROW,    /* 1 on all axes but the last */
    NOE_SPREAD_HEAD,   /* 1 on all axes but the first, and how many there are */
    NOE_SPREAD_ONES,   /* 1 where the pair has it, counted from the end; rank 0 */
    NOE_SPREAD_COUNT
} noe_spread;

/* What is said of a variable's rank, weak ones first. */
typedef enum noe_rank_said {
    NOE_RANK_NOT_SAID,
    NOE_RANK_AT_LEAST, /* what the pair has */
    NOE_RANK_EXACTLY,
} noe_rank_said;

typedef struct noe_choice {
    int form[NOE_LIFT_MAX_SLOTS];
    noe_rank_said rank[NOE_PAIR_MAX_VARS];
    int twin[NOE_PAIR_MAX_VARS]; /* has the shape of this earlier variable; -1: any */
    int aligned[NOE_PAIR_MAX_VARS]; /* has the rank of this earlier variable, and its
                                       size on the axes that slots name; -1: any */
    noe_spread spread[NOE_PAIR_MAX_VARS];
    int head[NOE_PAIR_MAX_VARS]; /* SPREAD_HEAD: whose first axis */
} noe_choice;

void noe_forms_collect(noe_forms *f, const noe_pair *pair, int costly);
bool noe_slot_is_axis(const noe_slot *s);
bool noe_slot_is_perm(const noe_slot *s);
bool noe_slot_is_shape(const noe_slot *s);
/* Of a slice. */
bool noe_slot_is_bound(const noe_slot *s);
/* What says how, not what: worth less than the axes. */
bool noe_slot_is_flag(const noe_slot *s);
/* None of these, and no shape. */
bool noe_slot_is_plain(const noe_slot *s);
/* Numbers of one shape are worth nothing unless they are 1. */
bool noe_slot_is_useless(const noe_slot *s);
/* Number of the first form of a kind, or -1. */
int noe_slot_find(const noe_slot *s, noe_form_kind kind);
/* The same of a variable of which that is asked. */
int noe_slot_find_asked(const noe_slot *s, noe_asked asked);
/* Whether a form speaks of two other slots' variables. */
bool noe_form_has_two(const noe_form *f);
/* Forms that speak of other slots' variables do so only where these are variables. */
bool noe_forms_fit(const noe_forms *f, const noe_choice *c);

/* The earlier variable of the same shape, or -1. */
int noe_forms_twin(const noe_forms *f, int var);
/* The same among those that an elementwise operator of the pair has for another
 * operand. */
int noe_forms_other_operand(const noe_forms *f, int var);
/* The earlier variable that is the other operand of a product or of an elementwise
 * operator and has this one's rank and its size on the axis of the slot, or -1. */
int noe_forms_aligned(const noe_forms *f, int var, int slot);
/* Whether the condition can be said of the variable; ANY always can. */
bool noe_forms_can_spread(const noe_forms *f, const noe_choice *c, int var,
                          noe_spread spread);

/* Slot of an axis variable for this axis at this rank, or -1. */
int noe_forms_axis_variable(const noe_forms *f, const noe_choice *c, int rank,
                            int axis);
int noe_forms_largest(
    const noe_pair *pair); /* the variable of most axes, fewest ones */

/* All variables but one (-1: all) have as many axes as in the pair at least: a vector
 * is no matrix, to a product. */
void noe_choice_say_matrices(noe_choice *c, const noe_pair *pair, int but);

/* Leaves dilations of 1 out; whether that says something: of a kernel widened by zeros,
 * which is wider by more than these where it is dilated. */
bool noe_choice_drop_dilations(noe_choice *c, const noe_forms *forms);

/* Leaves groups of 1 out that several convolutions of one side have; whether there are
 * such: channels of a group times groups are products of two unknowns to a proof, most
 * of all where they are broadcast. */
bool noe_choice_drop_groups(noe_choice *c, const noe_forms *forms);

/* Where a variable is 1 on an axis that a parameter variable names, that is said, not
 * which axis it is in the pair; whether there is such a variable. */
bool noe_choice_spread_axes(noe_choice *c, const noe_forms *forms);

/* Images have the rank of the pair, so that ones counted from the end are those of all
 * spatial axes; whether that says something. */
bool noe_choice_say_images(noe_choice *c, const noe_forms *forms);

bool noe_forms_have_axes(const noe_forms *f);
/* All axes in that form. */
void noe_choice_set_axes(noe_choice *c, const noe_forms *forms, noe_form_kind kind);

/* Whether a bound of a slice is the pair's number. */
bool noe_choice_fixes_bound(const noe_choice *c, const noe_forms *forms);

/* Whether steps of slices may be strides of windows. */
bool noe_forms_have_elements(const noe_forms *f);
char noe_var_letter(int var);
/* lift_text.c. Rule text: variables by letter, parameter variables "$p<slot>". */
void noe_variant_print(noe_buf *b, const noe_forms *f, const noe_choice *c);

#endif
