/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules that there are already: a pair that one of them rewrites from one side into the
 * other in one step says nothing new.
 */
#ifndef NOE_GENERATOR_KNOWN_H
#define NOE_GENERATOR_KNOWN_H

#include "generator/pair.h"

typedef struct noe_known noe_known;

noe_known *noe_known_new(void);
void noe_known_free(noe_known *k);
/* text must parse. */
void noe_known_add(noe_known *k, const char *text);
bool noe_known_derives(const noe_known *k, const noe_pair *pair);

#endif
