/* SPDX-License-Identifier: Apache-2.0
 *
 * The ZIP part is what NumPy writes and reads: entries stored or deflated (zlib), no
 * encryption, no parts; sizes up to 4 GiB when writing.
 */
#include "onnx_io/run/npy.h"
#include "core/base/file.h"
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

/* ---- arrays ---- */

static const struct {
    char kind;
    int bytes;
    noe_elem elem;
} kinds[] = {{'f', 4, NOE_ELEM_F32}, {'f', 8, NOE_ELEM_F64}, {'f', 2, NOE_ELEM_F16},
             {'i', 1, NOE_ELEM_I8},  {'i', 2, NOE_ELEM_I16}, {'i', 4, NOE_ELEM_I32},
             {'i', 8, NOE_ELEM_I64}, {'u', 1, NOE_ELEM_U8},  {'u', 2, NOE_ELEM_U16},
             {'u', 4, NOE_ELEM_U32}, {'u', 8, NOE_ELEM_U64}, {'b', 1, NOE_ELEM_BOOL}};
#define N_KINDS (sizeof kinds / sizeof *kinds)

const char *noe_npz_library(void)
{
    static char text[32];
    snprintf(text, sizeof text, "zlib %s", zlibVersion());
    return text;
}

static noe_status read_descr(const char *header, noe_elem *elem, noe_error *err)
{
    const char *at = strstr(header, "'descr':");
    char order, kind;
    int bytes;
    if (at && sscanf(at, "'descr': '%c%c%d'", &order, &kind, &bytes) == 3 &&
        order != '>') {
        for (size_t i = 0; i < N_KINDS; i++) {
            if (kinds[i].kind == kind && kinds[i].bytes == bytes) {
                *elem = kinds[i].elem;
                return NOE_OK;
            }
        }
    }
    return noe_fail(err, NOE_ERR_UNSUPPORTED,
                    "array of another type than little-endian numbers and bool: %.60s",
                    header);
}

static noe_status read_dims(const char *header, noe_dims *shape, noe_error *err)
{
    const char *at = strstr(header, "'shape':");
    at = at ? strchr(at, '(') : NULL;
    *shape = (noe_dims){0};
    while (at && *++at && *at != ')') {
        char *end;
        long long dim = strtoll(at, &end, 10);
        if (end == at) /* a blank or comma */
            continue;
        if (dim < 0 || shape->rank == NOE_RUN_MAX_RANK)
            return noe_fail(err, NOE_ERR_PARSE, "array of a strange shape");
        shape->dim[shape->rank++] = dim;
        at = end - 1;
    }
    return at ? NOE_OK : noe_fail(err, NOE_ERR_PARSE, "array without a shape");
}

/* Elements of a Fortran array into C order. */
static void turn(noe_run_value *v, const char *from)
{
    size_t width = (size_t)noe_elem_get((int)v->elem)->bytes;
    for (int64_t i = 0; i < v->n; i++) {
        int64_t rest = i, to = 0;
        for (int k = 0; k < v->shape.rank; k++) {
            to += rest % v->shape.dim[k] *
                  noe_dims_count(&v->shape, k + 1, v->shape.rank);
            rest /= v->shape.dim[k];
        }
        memcpy((char *)v->data + (size_t)to * width, from + (size_t)i * width, width);
    }
}

noe_status noe_npy_read(const void *data, size_t len, noe_run_value **v, noe_error *err)
{
    const unsigned char *p = data;
    noe_elem elem = NOE_ELEM_NONE;
    noe_dims shape;
    *v = NULL;
    if (len < 12 || memcmp(p, "\x93NUMPY", 6) != 0)
        return noe_fail(err, NOE_ERR_PARSE, "not a NumPy array");
    size_t start = p[6] == 1 ? 10 : 12;
    size_t header_len = p[8] | (size_t)p[9] << 8;
    if (p[6] > 1)
        header_len |= (size_t)p[10] << 16 | (size_t)p[11] << 24;
    if (header_len > len - start || header_len > 65536)
        return noe_fail(err, NOE_ERR_PARSE, "array with a truncated header");
    char *header = noe_calloc(header_len + 1, 1);
    memcpy(header, p + start, header_len);
    bool is_fortran = strstr(header, "'fortran_order': True") != NULL;
    noe_status status = read_descr(header, &elem, err);
    if (status == NOE_OK)
        status = read_dims(header, &shape, err);
    free(header);
    NOE_TRY(status);
    size_t rest = len - start - header_len;
    *v = noe_run_tensor_new(elem, &shape, rest);
    if (!*v || (*v)->bytes != rest) {
        noe_run_value_release(*v);
        *v = NULL;
        return noe_fail(err, NOE_ERR_PARSE,
                        "array of %zu bytes does not have its shape", rest);
    }
    if (is_fortran)
        turn(*v, (const char *)p + start + header_len);
    else
        memcpy((*v)->data, p + start + header_len, rest);
    return NOE_OK;
}

noe_status noe_npy_write(const noe_run_value *v, noe_buf *b, noe_error *err)
{
    const noe_elem_info *info = noe_elem_get((int)v->elem);
    char kind = info->bytes == 1 || info->bytes == 2 ? 'u' : '\0';
    for (size_t i = 0; i < N_KINDS; i++)
        kind = kinds[i].elem == v->elem ? kinds[i].kind : kind;
    if (v->form != NOE_FORM_TENSOR || !kind)
        return noe_fail(err, NOE_ERR_UNSUPPORTED,
                        "%s has no form as NumPy array; write to a folder instead",
                        v->form == NOE_FORM_TENSOR ? info->name : "a sequence");
    noe_buf h = {0};
    noe_buf_printf(&h, "{'descr': '%c%c%d', 'fortran_order': False, 'shape': (",
                   info->bytes == 1 ? '|' : '<', kind, info->bytes);
    for (int i = 0; i < v->shape.rank; i++)
        noe_buf_printf(&h, "%lld,%s", (long long)v->shape.dim[i],
                       i + 1 < v->shape.rank ? " " : "");
    noe_buf_puts(&h, "), }");
    while ((10 + h.len + 1) % 64 != 0)
        noe_buf_puts(&h, " ");
    noe_buf_puts(&h, "\n");
    const unsigned char start[10] = {0x93,
                                     'N',
                                     'U',
                                     'M',
                                     'P',
                                     'Y',
                                     1,
                                     0,
                                     (unsigned char)(h.len & 255),
                                     (unsigned char)(h.len >> 8)};
    noe_buf_add(b, (const char *)start, sizeof start);
    noe_buf_add(b, h.text, h.len);
    noe_buf_add(b, v->data, v->bytes);
    noe_buf_clear(&h);
    return NOE_OK;
}

/* ---- archives ---- */

typedef struct entry {
    char *name;
    uint64_t packed, size, offset;
    int method;
} entry;

struct noe_npz {
    char *data;
    size_t len;
    entry *entries;
    uint32_t n, cap;
};

static uint64_t number(const char *p, int bytes)
{
    uint64_t x = 0;
    memcpy(&x, p, (size_t)bytes); /* little-endian, as all machines that this runs on */
    return x;
}

/* Sizes of 4 GiB and more stand in an extra field, in this order. */
static void read_wide(entry *e, const char *extra, size_t len)
{
    while (len >= 4) {
        size_t id = number(extra, 2), n = number(extra + 2, 2);
        const char *p = extra + 4;
        if (n > len - 4)
            return;
        uint64_t *wide[] = {&e->size, &e->packed, &e->offset};
        for (int i = 0; id == 1 && i < 3 && n >= 8; i++) {
            if (*wide[i] == UINT32_MAX) {
                *wide[i] = number(p, 8);
                p += 8;
                n -= 8;
            }
        }
        n = number(extra + 2, 2);
        extra += 4 + n;
        len -= 4 + n;
    }
}

static noe_status read_directory(noe_npz *z, noe_error *err)
{
    size_t end = z->len < 22 ? 0 : z->len - 22;
    while (end > 0 && memcmp(z->data + end, "PK\5\6", 4) != 0)
        end--;
    if (z->len < 22 || memcmp(z->data + end, "PK\5\6", 4) != 0)
        return noe_fail(err, NOE_ERR_PARSE, "not an archive of NumPy arrays");
    uint64_t n = number(z->data + end + 10, 2), at = number(z->data + end + 16, 4);
    for (uint64_t i = 0; i < n; i++) {
        if (at + 46 > z->len || memcmp(z->data + at, "PK\1\2", 4) != 0)
            return noe_fail(err, NOE_ERR_PARSE, "the archive's directory is damaged");
        const char *p = z->data + at;
        size_t name = number(p + 28, 2), extra = number(p + 30, 2);
        entry e = {.method = (int)number(p + 10, 2),
                   .packed = number(p + 20, 4),
                   .size = number(p + 24, 4),
                   .offset = number(p + 42, 4)};
        if (at + 46 + name + extra > z->len)
            return noe_fail(err, NOE_ERR_PARSE, "the archive's directory is damaged");
        read_wide(&e, p + 46 + name, extra);
        noe_buf b = {0};
        noe_buf_add(&b, p + 46, name);
        if (name > 4 && strcmp(b.text + name - 4, ".npy") == 0)
            b.text[name - 4] = '\0';
        e.name = b.text ? b.text : noe_strdup("");
        NOE_PUSH(z->entries, z->n, z->cap, e);
        at += 46 + name + extra + number(p + 32, 2);
    }
    return NOE_OK;
}

noe_status noe_npz_open_memory(char *data, size_t len, noe_npz **z, noe_error *err)
{
    *z = noe_calloc(1, sizeof **z);
    **z = (noe_npz){.data = data, .len = len};
    noe_status status = read_directory(*z, err);
    if (status != NOE_OK) {
        noe_npz_close(*z);
        *z = NULL;
    }
    return status;
}

noe_status noe_npz_open(const char *path, noe_npz **z, noe_error *err)
{
    char *data;
    size_t len;
    *z = NULL;
    NOE_TRY(noe_file_read(path, (uint64_t)1 << 40, &data, &len, err));
    noe_status status = noe_npz_open_memory(data, len, z, err);
    if (status != NOE_OK)
        noe_error_prefix(err, "%s: ", path);
    return status;
}

uint32_t noe_npz_count(const noe_npz *z)
{
    return z->n;
}

const char *noe_npz_name(const noe_npz *z, uint32_t i)
{
    return z->entries[i].name;
}

static noe_status inflate_entry(const entry *e, const char *from, char *to,
                                noe_error *err)
{
    z_stream s = {.next_in = (Bytef *)from, .next_out = (Bytef *)to};
    uint64_t in = e->packed, out = e->size;
    int code = inflateInit2(&s, -MAX_WBITS);
    while (code == Z_OK) { /* zlib counts in 32 bits */
        uInt give = in > UINT32_MAX / 2 ? UINT32_MAX / 2 : (uInt)in;
        uInt room = out > UINT32_MAX / 2 ? UINT32_MAX / 2 : (uInt)out;
        s.avail_in = give;
        s.avail_out = room;
        code = inflate(&s, Z_NO_FLUSH);
        in -= give - s.avail_in;
        out -= room - s.avail_out;
        if (code == Z_OK && give == s.avail_in && room == s.avail_out)
            break;
    }
    inflateEnd(&s);
    if (code != Z_STREAM_END || out > 0)
        return noe_fail(err, NOE_ERR_PARSE, "the entry is damaged");
    return NOE_OK;
}

/* Deflate makes no more than about a thousand bytes out of one. */
#define MAX_RATIO 1100

noe_status noe_npz_read(const noe_npz *z, uint32_t i, noe_run_value **v, noe_error *err)
{
    const entry *e = &z->entries[i];
    *v = NULL;
    if (e->offset > z->len || z->len - e->offset < 30)
        return noe_fail(err, NOE_ERR_PARSE, "array '%s' is outside the archive",
                        e->name);
    const char *p = z->data + e->offset;
    uint64_t start = e->offset + 30 + number(p + 26, 2) + number(p + 28, 2);
    if (start > z->len || e->packed > z->len - start ||
        (e->method != 0 && e->method != 8) ||
        (e->method == 0 && e->size != e->packed) || e->size / MAX_RATIO > e->packed)
        return noe_fail(err, NOE_ERR_PARSE, "array '%s' is not stored in a known way",
                        e->name);
    noe_status status = NOE_OK;
    char *plain = e->method ? noe_malloc(e->size + 1) : NULL;
    if (plain)
        status = inflate_entry(e, z->data + start, plain, err);
    if (status == NOE_OK)
        status = noe_npy_read(plain ? plain : z->data + start, e->size, v, err);
    free(plain);
    if (status != NOE_OK)
        noe_error_prefix(err, "array '%s': ", e->name);
    return status;
}

void noe_npz_close(noe_npz *z)
{
    if (!z)
        return;
    for (uint32_t i = 0; i < z->n; i++)
        free(z->entries[i].name);
    free(z->entries);
    free(z->data);
    free(z);
}

/* ---- writing ---- */

static void put(noe_buf *b, uint64_t x, int bytes)
{
    noe_buf_add(b, (const char *)&x, (size_t)bytes);
}

/* What local header and directory have in common. No time: same input, same bytes. */
static void put_facts(noe_buf *b, uint32_t crc, uint64_t size, size_t name_len)
{
    put(b, 20, 2);     /* version needed */
    put(b, 0x0800, 2); /* names in UTF-8 */
    put(b, 0, 2);
    put(b, 0, 2);
    put(b, 0x21, 2); /* 1 January 1980 */
    put(b, crc, 4);
    put(b, size, 4);
    put(b, size, 4);
    put(b, name_len, 2);
    put(b, 0, 2);
}

static noe_status add_entry(noe_buf *file, noe_buf *directory, const char *name,
                            const noe_run_value *v, noe_error *err)
{
    noe_buf array = {0};
    uint64_t offset = file->len;
    size_t len = strlen(name) + 4;
    noe_status status = noe_npy_write(v, &array, err);
    if (status == NOE_OK && (array.len >= UINT32_MAX || offset >= UINT32_MAX))
        status = noe_fail(err, NOE_ERR_LIMIT, "an archive takes no more than 4 GiB");
    if (status == NOE_OK) {
        uint32_t crc = (uint32_t)crc32_z(0, (const Bytef *)array.text, array.len);
        noe_buf_puts(file, "PK\3\4");
        put_facts(file, crc, array.len, len);
        noe_buf_printf(file, "%s.npy", name);
        noe_buf_add(file, array.text, array.len);
        noe_buf_puts(directory, "PK\1\2");
        put(directory, 20, 2);
        put_facts(directory, crc, array.len, len);
        put(directory, 0, 2 + 2 + 2); /* comment, disk, inner attributes */
        put(directory, 0, 4);
        put(directory, offset, 4);
        noe_buf_printf(directory, "%s.npy", name);
    }
    noe_buf_clear(&array);
    if (status != NOE_OK)
        noe_error_prefix(err, "'%s': ", name);
    return status;
}

noe_status noe_npz_write(const char *path, const char *const *names,
                         const noe_run_value *const *values, uint32_t n, noe_error *err)
{
    noe_buf file = {0}, directory = {0};
    noe_status status = NOE_OK;
    for (uint32_t i = 0; i < n && status == NOE_OK; i++)
        status = add_entry(&file, &directory, names[i], values[i], err);
    if (status == NOE_OK && file.len >= UINT32_MAX)
        status = noe_fail(err, NOE_ERR_LIMIT, "an archive takes no more than 4 GiB");
    if (status == NOE_OK) {
        uint64_t start = file.len;
        if (directory.len)
            noe_buf_add(&file, directory.text, directory.len);
        noe_buf_puts(&file, "PK\5\6");
        put(&file, 0, 4);
        put(&file, n, 2);
        put(&file, n, 2);
        put(&file, directory.len, 4);
        put(&file, start, 4);
        put(&file, 0, 2);
        status = noe_file_write(path, file.text, file.len, err);
    }
    noe_buf_clear(&directory);
    noe_buf_clear(&file);
    return status;
}
