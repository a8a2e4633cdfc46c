/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/manual.h"
#include <stdbool.h>

/* Upper limits that only keep numbers sane are not worth the room. */
#define MAX_SHOWN_LIMIT 1e9

static int is_shown_range(const noe_option *o)
{
    return o->min < o->max && o->max < MAX_SHOWN_LIMIT;
}

void noe_manual_default(const noe_option *o, noe_buf *b)
{
    switch (o->kind) {
    case NOE_OPTION_INT:
        noe_buf_printf(b, " (default %lld", (long long)*(const int64_t *)o->target);
        if (is_shown_range(o))
            noe_buf_printf(b, "; %.0f..%.0f", o->min, o->max);
        noe_buf_puts(b, ")");
        return;
    case NOE_OPTION_REAL:
        noe_buf_printf(b, " (default %g", *(const double *)o->target);
        if (is_shown_range(o))
            noe_buf_printf(b, "; %g..%g", o->min, o->max);
        noe_buf_puts(b, ")");
        return;
    case NOE_OPTION_TEXT:
        if (*(const char *const *)o->target)
            noe_buf_printf(b, " (default %s)", *(const char *const *)o->target);
        return;
    case NOE_OPTION_FLAG:
    case NOE_OPTION_TEXTS:
        return;
    }
}

/* Text as roff takes it: hyphens are to be copied, lines must not begin as requests. */
static void put_roff(noe_buf *b, const char *text)
{
    for (bool is_start = true; *text; text++) {
        if (is_start && (*text == '.' || *text == '\''))
            noe_buf_puts(b, "\\&");
        if (*text == '\\' || *text == '-')
            noe_buf_puts(b, *text == '-' ? "\\-" : "\\e");
        else
            noe_buf_add(b, text, 1);
        is_start = *text == '\n';
    }
}

static void put_entry(noe_buf *b, char letter, const char *name, const char *operand,
                      const char *help)
{
    noe_buf_puts(b, ".TP\n.B ");
    if (letter)
        noe_buf_printf(b, "\\-%c, ", letter);
    noe_buf_puts(b, "\\-\\-");
    put_roff(b, name);
    if (operand) {
        noe_buf_puts(b, " ");
        put_roff(b, operand);
    }
    noe_buf_puts(b, "\n");
    put_roff(b, help);
    noe_buf_puts(b, "\n");
}

void noe_manual_page(const noe_program *p, noe_buf *b)
{
    noe_buf_printf(b, ".TH %s 1 \"\" \"noether %s\" \"User Commands\"\n.SH NAME\n",
                   p->name, noe_version);
    put_roff(b, p->name);
    noe_buf_puts(b, " \\- ");
    put_roff(b, p->summary);
    noe_buf_puts(b, "\n.SH SYNOPSIS\n.B ");
    put_roff(b, p->name);
    noe_buf_puts(b, "\n[options] ");
    put_roff(b, p->operands ? p->operands : "");
    noe_buf_puts(b, "\n.SH OPTIONS\n");
    for (int i = 0; i < p->n_options; i++) {
        const noe_option *o = &p->options[i];
        noe_buf help = {0};
        noe_buf_puts(&help, o->help);
        noe_manual_default(o, &help);
        put_entry(b, o->letter, o->name, o->operand, help.text);
        noe_buf_clear(&help);
    }
    put_entry(b, 'h', "help", NULL, "-h shows the common options, --help all");
    put_entry(b, 0, "version", NULL, "show the version");
    if (p->epilogue) {
        noe_buf_puts(b, ".SH NOTES\n.nf\n");
        put_roff(b, p->epilogue);
        noe_buf_puts(b, "\n.fi\n");
    }
}

void noe_manual_completion(const noe_program *p, noe_buf *b)
{
    noe_buf function = {0};
    noe_buf_puts(&function, p->name);
    for (char *c = function.text; *c; c++)
        *c = *c == '-' ? '_' : *c;
    noe_buf_printf(b,
                   "# bash completion for %s\n_%s()\n{\n"
                   "    local cur=${COMP_WORDS[COMP_CWORD]}\n"
                   "    if [[ $cur == -* ]]; then\n"
                   "        COMPREPLY=($(compgen -W \"--help --version",
                   p->name, function.text);
    for (int i = 0; i < p->n_options; i++)
        noe_buf_printf(b, " --%s", p->options[i].name);
    noe_buf_printf(b,
                   "\" -- \"$cur\"))\n    else\n"
                   "        COMPREPLY=($(compgen -f -- \"$cur\"))\n    fi\n}\n"
                   "complete -o filenames -F _%s %s\n",
                   function.text, p->name);
    noe_buf_clear(&function);
}
