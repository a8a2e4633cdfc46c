/* SPDX-License-Identifier: Apache-2.0
 *
 * What else an option table is: a manual page and a shell's completions. Programs print
 * them with --man and --completion, which is how the build makes the files.
 */
#ifndef NOE_CORE_BASE_MANUAL_H
#define NOE_CORE_BASE_MANUAL_H

#include "core/base/mem.h"
#include "core/base/options.h"

/* A page of section 1 in roff's man macros. */
void noe_manual_page(const noe_program *program, noe_buf *b);
/* A function for bash that completes the program's options, and files. */
void noe_manual_completion(const noe_program *program, noe_buf *b);
/* " (default 3; 1..10)" behind the explanation of an option, or nothing. */
void noe_manual_default(const noe_option *o, noe_buf *b);

#endif
