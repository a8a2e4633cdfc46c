/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as a graph: an error, or a sound graph whose text reads back as itself. */
#include "core/graph.h"
#include "tests/fuzz/fuzz.h"
#include <stdlib.h>

static noe_status parse(noe_pool *pool, const char *text, noe_buf *printed)
{
    noe_graph *g = NULL;
    noe_error err;
    noe_status status = noe_graph_parse(pool, text, &g, &err);
    if (status != NOE_OK)
        return status;
    noe_graph_check(g);
    noe_graph_print(printed, g);
    noe_graph_free(g);
    return NOE_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    noe_buf text = {0}, first = {0}, second = {0};
    noe_pool *pool = noe_pool_new();
    noe_buf_add(&text, (const char *)data, size);
    if (parse(pool, text.text, &first) == NOE_OK) {
        noe_status status = parse(pool, noe_buf_text(&first), &second);
        NOE_ASSERT(status == NOE_OK);
        NOE_ASSERT(strcmp(noe_buf_text(&first), noe_buf_text(&second)) == 0);
    }
    noe_pool_free(pool);
    noe_buf_clear(&text);
    noe_buf_clear(&first);
    noe_buf_clear(&second);
    return 0;
}
