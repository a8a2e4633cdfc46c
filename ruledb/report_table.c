/* SPDX-License-Identifier: Apache-2.0
 *
 * Printing for people and for programs: escaped text, trees, aligned columns, TSV.
 */
#include "ruledb/report.h"
#include <stdlib.h>
#include <string.h>

/* Deeper or longer sides than any rule has are not drawn: indentation is quadratic. */
#define MAX_TREE_TEXT  16384
#define MAX_TREE_DEPTH 64

/* Bytes of the printable UTF-8 sequence at s, 0 if there is none. C1 controls (U+0080
 * to U+009F) are not printable. */
static size_t printable_bytes(const unsigned char *s)
{
    if (s[0] >= 0x20 && s[0] < 0x7f)
        return 1;
    size_t n = s[0] >= 0xc2 && s[0] < 0xe0   ? 2
               : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
               : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
                                             : 0;
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    }
    if (n == 2 && s[0] == 0xc2 && s[1] < 0xa0)
        return 0;
    return n;
}

void noe_report_add_text(noe_buf *out, const char *text, size_t max)
{
    const unsigned char *s = (const unsigned char *)text;
    size_t len = strlen(text);
    for (size_t i = 0; i < len;) {
        if (i >= max) {
            noe_buf_printf(out, "... (%zu bytes)", len);
            return;
        }
        size_t n = printable_bytes(s + i);
        if (n)
            noe_buf_add(out, text + i, n);
        else
            noe_buf_printf(out, "\\x%02x", s[i]);
        i += n ? n : 1;
    }
}

static void start_line(noe_buf *out, int depth, int indent)
{
    noe_buf_printf(out, "%s%*s",
                   out->len && out->text[out->len - 1] != '\n' ? "\n" : "",
                   indent + 2 * (depth < MAX_TREE_DEPTH ? depth : MAX_TREE_DEPTH), "");
}

void noe_report_add_tree(noe_buf *out, const char *side, int indent)
{
    if (strlen(side) > MAX_TREE_TEXT) {
        noe_buf_printf(out, "%*s(%zu bytes, not drawn)\n", indent, "", strlen(side));
        return;
    }
    int depth = 0, brackets = 0;
    bool at_start = true; /* a line is due before the next visible character */
    for (const char *p = side; *p; p++) {
        bool is_plain = brackets > 0;
        brackets += (*p == '[') - (*p == ']');
        if (!is_plain && (*p == '(' || *p == ')' || *p == ',')) {
            depth += (*p == '(') - (*p == ')');
            depth = depth < 0 ? 0 : depth;
            at_start = true;
        } else if (!is_plain && (*p == '{' || *p == '}' ||
                                 (*p == ' ' && (at_start || p[1] == '}')))) {
            continue; /* several roots are several trees */
        } else {
            if (at_start)
                start_line(out, depth, indent);
            at_start = false;
            noe_report_add_text(out, (char[2]){*p, 0}, 1);
        }
    }
    noe_buf_puts(out, "\n");
}

void noe_report_add_heading(noe_buf *out, const char *text, bool use_colour)
{
    noe_buf_printf(out, use_colour ? "\x1b[1m%s\x1b[0m\n" : "%s\n", text);
}

/* --- tables --- */

typedef struct table {
    noe_arena arena;
    const noe_report_options *options;
    int n_columns;
    const char **cells; /* row by row, the header first */
    size_t n_cells, cap_cells;
} table;

static void add_cell(table *t, const char *name, const char *value)
{
    noe_buf text = {0};
    size_t max = NOE_REPORT_MAX_TEXT;
    if (!t->options->is_tsv && strcmp(name, "id") == 0 && value != name)
        max = NOE_REPORT_ID_CHARS;
    noe_report_add_text(&text, value, max);
    /* A cut id needs no remark about its length. */
    if (max == NOE_REPORT_ID_CHARS && text.len > max)
        text.text[max] = 0;
    NOE_PUSH(t->cells, t->n_cells, t->cap_cells,
             noe_arena_strdup(&t->arena, noe_buf_text(&text)));
    noe_buf_clear(&text);
}

static noe_status collect_row(void *ctx, const noe_query_row *row, noe_error *err)
{
    (void)err;
    table *t = ctx;
    if (!t->n_columns) {
        t->n_columns = row->n;
        for (int i = 0; i < row->n; i++)
            add_cell(t, row->names[i], row->names[i]);
    }
    for (int i = 0; i < row->n; i++)
        add_cell(t, row->names[i], row->values[i] ? row->values[i] : "-");
    return NOE_OK;
}

static int column_width(const table *t, int column)
{
    size_t width = 0;
    for (size_t i = (size_t)column; i < t->n_cells; i += (size_t)t->n_columns) {
        size_t len = strlen(t->cells[i]);
        width = len > width ? len : width;
    }
    return (int)width;
}

static void print_columns(const table *t, const char *align, noe_buf *out)
{
    int width[32];
    int n = t->n_columns;
    NOE_ASSERT(n < 32 && strlen(align) == (size_t)n);
    for (int i = 0; i < n; i++)
        width[i] = column_width(t, i);
    for (size_t c = 0; c < t->n_cells; c++) {
        int i = (int)(c % (size_t)n);
        bool is_header = c < (size_t)n && t->options->use_colour;
        if (is_header && i == 0)
            noe_buf_puts(out, "\x1b[1m");
        if (align[i] == 'r')
            noe_buf_printf(out, "%*s", width[i], t->cells[c]);
        else if (i == n - 1)
            noe_buf_puts(out, t->cells[c]);
        else
            noe_buf_printf(out, "%-*s", width[i], t->cells[c]);
        if (is_header && i == n - 1)
            noe_buf_puts(out, "\x1b[0m");
        noe_buf_puts(out, i == n - 1 ? "\n" : "  ");
    }
}

static void print_tsv(const table *t, noe_buf *out)
{
    for (size_t c = 0; c < t->n_cells; c++) {
        noe_buf_puts(out, t->cells[c]);
        noe_buf_puts(out, (c + 1) % (size_t)t->n_columns ? "\t" : "\n");
    }
}

noe_status noe_report_add_table(noe_ruledb *db, const char *sql,
                                const char *const *args, int n_args, const char *align,
                                const noe_report_options *o, noe_buf *out,
                                noe_error *err)
{
    table t = {.options = o};
    noe_status status = noe_ruledb_query(db, sql, args, n_args, collect_row, &t, err);
    if (status == NOE_OK && t.n_cells && o->is_tsv)
        print_tsv(&t, out);
    else if (status == NOE_OK && t.n_cells)
        print_columns(&t, align, out);
    free(t.cells);
    noe_arena_clear(&t.arena);
    return status;
}
