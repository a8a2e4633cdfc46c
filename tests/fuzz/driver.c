/* SPDX-License-Identifier: Apache-2.0
 *
 * A small fuzzer without coverage: the corpus as it is, then seeded mutations of it.
 * The same arguments try the same inputs, everywhere. fuzz_NAME ITERATIONS
 * CORPUS-FOLDER [SEED] Before each input the seed and iteration are put where a crash
 * leaves them readable: in the file named by NOE_FUZZ_LAST, if set, the input itself is
 * kept.
 */
#include "tests/fuzz/fuzz.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/rng.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_INPUT_BYTES ((size_t)1 << 20)
#define MAX_MUTATIONS   8
#define MAX_CHUNK_BYTES 64
#define MAX_GROWTH      256

typedef struct input {
    char *data;
    size_t len;
} input;

static input *inputs;
static size_t n_inputs, cap_inputs;

static int is_regular(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int read_corpus(const char *folder)
{
    struct dirent **entries;
    int n = scandir(folder, &entries, is_regular, alphasort);
    if (n <= 0) {
        printf("%s: no corpus\n", folder);
        return 0;
    }
    int ok = 1;
    for (int i = 0; i < n; i++) {
        noe_buf path = {0};
        input in;
        noe_error err;
        noe_buf_printf(&path, "%s/%s", folder, entries[i]->d_name);
        if (noe_file_read(path.text, MAX_INPUT_BYTES, &in.data, &in.len, &err) ==
            NOE_OK) {
            NOE_PUSH(inputs, n_inputs, cap_inputs, in);
        } else {
            printf("%s\n", err.text);
            ok = 0;
        }
        noe_buf_clear(&path);
        free(entries[i]);
    }
    free(entries);
    return ok;
}

static void flip_bit(noe_buf *b, noe_rng *r)
{
    if (b->len)
        b->text[noe_rng_below(r, b->len)] ^= (char)(1 << noe_rng_below(r, 8));
}

static void set_byte(noe_buf *b, noe_rng *r)
{
    static const char favourites[] = {0,   1,   127, -128, -1, '[',
                                      ']', '(', ',', '-',  '9'};
    if (b->len)
        b->text[noe_rng_below(r, b->len)] =
            favourites[noe_rng_below(r, sizeof favourites)];
}

static void delete_chunk(noe_buf *b, noe_rng *r)
{
    if (!b->len)
        return;
    size_t at = noe_rng_below(r, b->len), n = 1 + noe_rng_below(r, MAX_CHUNK_BYTES);
    if (n > b->len - at)
        n = b->len - at;
    memmove(b->text + at, b->text + at + n, b->len - at - n);
    b->len -= n;
}

/* Puts a piece of some input of the corpus somewhere. */
static void insert_chunk(noe_buf *b, noe_rng *r)
{
    const input *from = &inputs[noe_rng_below(r, n_inputs)];
    if (!from->len)
        return;
    size_t at = noe_rng_below(r, b->len + 1), start = noe_rng_below(r, from->len);
    size_t n = 1 + noe_rng_below(r, MAX_CHUNK_BYTES);
    if (n > from->len - start)
        n = from->len - start;
    noe_buf_add(b, from->data + start, n); /* makes room */
    memmove(b->text + at + n, b->text + at, b->len - n - at);
    memcpy(b->text + at, from->data + start, n);
}

static void cut_off(noe_buf *b, noe_rng *r)
{
    b->len = noe_rng_below(r, b->len + 1);
}

static void (*const mutations[])(noe_buf *b, noe_rng *r) = {
    flip_bit, set_byte, delete_chunk, insert_chunk, cut_off,
};

static void try_input(const char *data, size_t len)
{
    const char *last = getenv("NOE_FUZZ_LAST");
    if (last && noe_file_write(last, data, len, NULL) != NOE_OK)
        printf("%s: cannot write\n", last);
    /* In a block of just its size: reading behind the end is then seen. */
    uint8_t *exact = noe_malloc(len);
    if (len)
        memcpy(exact, data, len);
    LLVMFuzzerTestOneInput(exact, len);
    free(exact);
}

static void try_mutation(uint64_t seed, uint64_t iteration)
{
    noe_rng r = noe_rng_split(seed, "fuzz", iteration);
    const input *from = &inputs[noe_rng_below(&r, n_inputs)];
    noe_buf b = {0};
    noe_buf_add(&b, from->data, from->len);
    size_t room = b.len + MAX_GROWTH;
    if (LLVMFuzzerCustomMutator && noe_rng_below(&r, 8)) {
        uint8_t *data = noe_malloc(room);
        if (b.len)
            memcpy(data, b.text, b.len);
        size_t n =
            LLVMFuzzerCustomMutator(data, b.len, room, (unsigned)noe_rng_next(&r));
        try_input((const char *)data, n);
        free(data);
        noe_buf_clear(&b);
        return;
    }
    for (uint64_t n = 1 + noe_rng_below(&r, MAX_MUTATIONS); n > 0; n--)
        mutations[noe_rng_below(&r, sizeof mutations / sizeof *mutations)](&b, &r);
    try_input(b.text, b.len);
    noe_buf_clear(&b);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    uint64_t n = strtoull(argv[1], NULL, 10);
    uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    if (!read_corpus(argv[2])) {
        printf("FAIL corpus\n");
        return 1;
    }
    for (size_t i = 0; i < n_inputs; i++)
        try_input(inputs[i].data, inputs[i].len);
    printf("PASS corpus of %zu files\n", n_inputs);
    for (uint64_t i = 0; i < n; i++)
        try_mutation(seed, i);
    printf("PASS %llu mutations, seed %llu\n", (unsigned long long)n,
           (unsigned long long)seed);
    for (size_t i = 0; i < n_inputs; i++)
        free(inputs[i].data);
    free(inputs);
    return 0;
}
