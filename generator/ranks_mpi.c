/* SPDX-License-Identifier: Apache-2.0
 *
 * MPI counts in int: long messages go in pieces of BLOCK bytes. A failure of MPI itself
 * ends all processes, which is what its default error handler does.
 */
#include "generator/ranks.h"

#include "core/base/mem.h"
#include <mpi.h>
#include <stdlib.h>

#define BLOCK ((size_t)1 << 30)
#define TAG   1

static int count = 1, rank;

/* Starting MPI without mpirun costs a helper process and a third of a second. */
static bool is_started_by_mpirun(void)
{
    return getenv("OMPI_COMM_WORLD_SIZE") || getenv("PMI_RANK") || getenv("PMIX_RANK");
}

void noe_ranks_start(int *argc, char ***argv)
{
    int given;
    if (!is_started_by_mpirun())
        return;
    MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &given);
    MPI_Comm_size(MPI_COMM_WORLD, &count);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
}

void noe_ranks_end(int exit_code)
{
    int is_started;
    MPI_Initialized(&is_started);
    if (!is_started)
        return;
    if (exit_code && count > 1)
        MPI_Abort(MPI_COMM_WORLD, exit_code);
    MPI_Finalize();
}

int noe_ranks_count(void)
{
    return count;
}

int noe_rank(void)
{
    return rank;
}

int noe_ranks_max(int value)
{
    int max = value;
    if (count > 1)
        MPI_Allreduce(&value, &max, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return max;
}

static void receive(char *to, size_t bytes, int from)
{
    for (size_t at = 0; at < bytes; at += BLOCK) {
        size_t n = bytes - at < BLOCK ? bytes - at : BLOCK;
        MPI_Recv(to + at, (int)n, MPI_BYTE, from, TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    }
}

static void deliver(const char *data, size_t bytes, int to)
{
    for (size_t at = 0; at < bytes; at += BLOCK) {
        size_t n = bytes - at < BLOCK ? bytes - at : BLOCK;
        MPI_Send(data + at, (int)n, MPI_BYTE, to, TAG, MPI_COMM_WORLD);
    }
}

void *noe_ranks_gather(void *data, size_t *bytes, int to)
{
    if (count == 1)
        return data;
    uint64_t mine = *bytes, total = 0,
             *sizes = noe_calloc((size_t)count, sizeof *sizes);
    MPI_Gather(&mine, 1, MPI_UINT64_T, sizes, 1, MPI_UINT64_T, to, MPI_COMM_WORLD);
    if (rank != to) {
        deliver(data, *bytes, to);
        free(data);
        free(sizes);
        *bytes = 0;
        return NULL;
    }
    for (int i = 0; i < count; i++)
        total += sizes[i];
    char *all = noe_malloc(total + 1);
    size_t at = 0;
    for (int i = 0; i < count; at += sizes[i++]) {
        if (i == rank)
            memcpy(all + at, data, mine);
        else
            receive(all + at, sizes[i], i);
    }
    free(data);
    free(sizes);
    *bytes = total;
    return all;
}

void *noe_ranks_share(void *data, size_t *bytes, int from)
{
    if (count == 1)
        return data;
    uint64_t size = *bytes;
    MPI_Bcast(&size, 1, MPI_UINT64_T, from, MPI_COMM_WORLD);
    char *all = data;
    if (rank != from) {
        free(data);
        all = noe_malloc(size + 1);
    }
    for (size_t at = 0; at < size; at += BLOCK) {
        size_t n = size - at < BLOCK ? size - at : BLOCK;
        MPI_Bcast(all + at, (int)n, MPI_BYTE, from, MPI_COMM_WORLD);
    }
    *bytes = size;
    return all;
}
