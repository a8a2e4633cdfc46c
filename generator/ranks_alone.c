/* SPDX-License-Identifier: Apache-2.0 */
#include "generator/ranks.h"

void noe_ranks_start(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
}

void noe_ranks_end(int exit_code)
{
    (void)exit_code;
}

int noe_ranks_count(void)
{
    return 1;
}

int noe_rank(void)
{
    return 0;
}

int noe_ranks_max(int value)
{
    return value;
}

void *noe_ranks_gather(void *data, size_t *bytes, int to)
{
    (void)bytes;
    (void)to;
    return data;
}

void *noe_ranks_share(void *data, size_t *bytes, int from)
{
    (void)bytes;
    (void)from;
    return data;
}
