/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/onnx_io/corpus.h"
#include "core/base/mem.h"
#include <fts.h>
#include <stdlib.h>

static int compare(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static int is_wanted(const char *file, const char *name)
{
    size_t len = strlen(file), want = strlen(name);
    if (name[0] != '.')
        return strcmp(file, name) == 0;
    return len > want && strcmp(file + len - want, name) == 0;
}

int noe_each_file(const char *folder, const char *name,
                  void (*fn)(void *ctx, const char *path), void *ctx)
{
    char *roots[2] = {noe_strdup(folder), NULL};
    FTS *tree = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, compare);
    int n = 0;
    for (FTSENT *e; tree && (e = fts_read(tree));) {
        if (e->fts_info != FTS_F || !is_wanted(e->fts_name, name))
            continue;
        n++;
        fn(ctx, e->fts_path);
    }
    if (tree)
        fts_close(tree);
    free(roots[0]);
    return n;
}
