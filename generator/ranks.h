/* SPDX-License-Identifier: Apache-2.0
 *
 * The processes of one run: a single one, or those that mpirun started. Every process
 * has all of the universe; what is divided is the work of a level and the records that
 * come out of it, whose partitions belong to the processes in turn. So all processes
 * call these functions in the same order.
 *
 * ranks_alone.c is for programs that are built without MPI, ranks_mpi.c for the others.
 */
#ifndef NOE_GENERATOR_RANKS_H
#define NOE_GENERATOR_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Before anything else, and at the end. A program that mpirun did not start is alone. A
 * failure ends the other processes with that exit code. */
void noe_ranks_start(int *argc, char ***argv);
void noe_ranks_end(int exit_code);
int noe_ranks_count(void);
int noe_rank(void); /* 0 to count - 1; number 0 prunes, prints and stores */

/* The largest of all values. */
int noe_ranks_max(int value);
/* Bytes of all processes one after the other, at `to`; takes the malloc'ed data and
 * gives what is to be freed, NULL elsewhere. */
void *noe_ranks_gather(void *data, size_t *bytes, int to);
/* The bytes of `from` everywhere; takes and gives likewise. */
void *noe_ranks_share(void *data, size_t *bytes, int from);

#endif
