/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums as text, for reasons and for debugging: x3[i5 + 1] reads variable 3, s5 is a
 * symbol.
 */
#include "verifier/lia_scheme.h"

static void print_poly(const noe_algebra *a, noe_poly p, noe_buf *b);

static void print_atom(const noe_algebra *a, const noe_atom *x, noe_buf *b)
{
    static const char *const names[] = {"",          "div",    "clamp",
                                        "broadcast", "select", "entry"};
    if (x->kind == NOE_ATOM_SYMBOL) {
        noe_buf_printf(b, "%c%u", noe_symbol_is_bound(a->terms, x->a) ? 'k' : 's',
                       x->a);
        return;
    }
    noe_buf_printf(b, "%s(", names[x->kind]);
    print_poly(a, x->a, b);
    noe_buf_puts(b, ", ");
    print_poly(a, x->b, b);
    if (x->kind == NOE_ATOM_SELECT) {
        noe_buf_puts(b, ", ");
        print_poly(a, x->c, b);
    }
    noe_buf_puts(b, ")");
}

static void print_poly(const noe_algebra *a, noe_poly p, noe_buf *b)
{
    int n;
    const noe_monomial *m = noe_poly_monomials(a->terms, p, &n);
    if (n == 0)
        noe_buf_puts(b, "0");
    for (int i = 0; i < n; i++) {
        const noe_product *product = noe_terms_product(a->terms, m[i].product);
        if (i > 0)
            noe_buf_puts(b, " + ");
        if (m[i].coef != 1 || product->n == 0)
            noe_buf_printf(b, "%lld%s", (long long)m[i].coef, product->n ? " " : "");
        for (uint32_t k = 0; k < product->n; k++) {
            noe_buf_puts(b, k ? " " : "");
            print_atom(a, noe_terms_atom(a->terms, product->atom[k]), b);
        }
    }
}

static void print_formula(const noe_algebra *a, noe_formula f, noe_buf *b)
{
    const noe_formula_node *n = noe_terms_formula(a->terms, f);
    switch (n->kind) {
    case NOE_FORMULA_TRUE:
    case NOE_FORMULA_FALSE:
        noe_buf_puts(b, n->kind == NOE_FORMULA_TRUE ? "true" : "false");
        return;
    case NOE_FORMULA_GE:
    case NOE_FORMULA_EQ:
        print_poly(a, n->a, b);
        noe_buf_puts(b, n->kind == NOE_FORMULA_GE ? " >= 0" : " = 0");
        return;
    case NOE_FORMULA_NOT:
        noe_buf_puts(b, "!(");
        print_formula(a, n->a, b);
        noe_buf_puts(b, ")");
        return;
    default:
        noe_buf_puts(b, "(");
        print_formula(a, n->a, b);
        noe_buf_puts(b, n->kind == NOE_FORMULA_AND ? " && " : " || ");
        print_formula(a, n->b, b);
        noe_buf_puts(b, ")");
    }
}

static void print_guards(const noe_algebra *a, int n_bound, const noe_symbol *bound,
                         int n, const noe_formula *guard, noe_buf *b)
{
    for (int i = 0; i < n_bound; i++)
        noe_buf_printf(b, "%sk%u", i ? " " : "", bound[i]);
    for (int i = 0; i < n; i++) {
        noe_buf_puts(b, i ? ", " : ": ");
        print_formula(a, guard[i], b);
    }
}

static void print_factor(const noe_algebra *a, const noe_factor *f, noe_buf *b)
{
    switch (f->kind) {
    case NOE_FACTOR_READ:
        if (f->id == NOE_READ_SHARE)
            noe_buf_puts(b, "share");
        else
            noe_buf_printf(b, "x%d", f->id);
        for (int i = 0; i < f->n; i++) {
            noe_buf_puts(b, i ? ", " : "[");
            print_poly(a, f->index[i], b);
        }
        noe_buf_puts(b, f->n ? "]" : "");
        return;
    case NOE_FACTOR_CONSTANT:
        noe_buf_printf(b, "%.17g", f->bits);
        return;
    case NOE_FACTOR_COUNT:
        noe_buf_puts(b, "(");
        print_poly(a, f->count, b);
        noe_buf_puts(b, ")");
        return;
    case NOE_FACTOR_APPLY:
        noe_buf_printf(b, "%s(",
                       f->id < NOE_FUNCTION_CAST ? noe_op_get(f->id)->name : "cast");
        noe_sum_print(a, f->arg, b);
        noe_buf_puts(b, ")");
        return;
    case NOE_FACTOR_MAXIMUM:
        noe_buf_puts(b, "max(");
        for (int i = 0; i < f->n; i++) {
            const noe_family *m = &f->family[i];
            noe_buf_puts(b, i ? "; {" : "{");
            print_guards(a, m->n_bound, m->bound, m->n_guards, m->guard, b);
            noe_buf_puts(b, "} ");
            noe_sum_print(a, m->arg, b);
        }
        noe_buf_puts(b, ")");
    }
}

void noe_sum_print(const noe_algebra *a, const noe_sum *s, noe_buf *b)
{
    if (s->n == 0)
        noe_buf_puts(b, "0");
    for (int i = 0; i < s->n; i++) {
        const noe_summand *x = s->of[i];
        noe_buf_puts(b, i ? " + " : "");
        if (x->coef.num != 1 || x->coef.den != 1 || x->n_factors == 0)
            noe_buf_printf(b, "%lld", (long long)x->coef.num);
        if (x->coef.den != 1)
            noe_buf_printf(b, "/%lld", (long long)x->coef.den);
        if (x->n_bound || x->n_guards) {
            noe_buf_puts(b, " sum{");
            print_guards(a, x->n_bound, x->bound, x->n_guards, x->guard, b);
            noe_buf_puts(b, "}");
        }
        for (int k = 0; k < x->n_factors; k++) {
            noe_buf_puts(b, k || x->n_bound || x->n_guards ? " " : "");
            print_factor(a, x->factor[k], b);
        }
    }
}

void noe_scheme_print(const noe_scheme *s, noe_buf *b)
{
    const char *space = "";
    for (int v = 0; v < s->rule->n_vars; v++, space = " ")
        noe_buf_printf(b, "%s%s:%d", space, s->rule->vars[v].name, s->choice.rank[v]);
    for (int p = 0; p < s->rule->n_pvars; p++) {
        const noe_choice *c = &s->choice.pvar[p];
        if (!c->made || (!c->is_literal && !c->is_list))
            continue;
        noe_buf_printf(b, "%s$%s=", space, s->rule->pvars[p].name);
        for (int i = 0; i < c->n; i++) {
            const char *open = i ? "," : c->is_list ? "[" : "";
            if (c->is_literal)
                noe_buf_printf(b, "%s%d", open, c->value[i]);
            else
                noe_buf_printf(b, "%s_", open);
        }
        noe_buf_puts(b, !c->is_list ? "" : c->n ? "]" : "[]");
        space = " ";
    }
}
