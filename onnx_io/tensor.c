/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensors and types of ONNX files, checked before anything is computed with them: sizes
 * cannot overflow, the elements are exactly as many as the dimensions say, and external
 * data lies in a file inside the model's own folder. It is mapped, so that what nobody
 * reads takes no memory.
 *
 * Elements are used where they lie when they lie well (raw_data and the typed list of
 * the same width, both aligned by unpacking); narrow types in int32_data are packed
 * anew.
 */
#include "onnx_io/model.h"
#include "onnx_io/run/value.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- types ---- */

static noe_status read_dim(noe_onnx_model *m,
                           const Onnx__TensorShapeProto__Dimension *d, int64_t *out,
                           noe_error *err)
{
    *out = NOE_DIM_UNKNOWN;
    if (d->has_dim_value && d->dim_value != -1) { /* some exporters mean "unknown" */
        if (d->dim_value < 0 || d->dim_value > NOE_MAX_ELEMENTS)
            return noe_fail(err, NOE_ERR_PARSE, "dimension %lld is out of range",
                            (long long)d->dim_value);
        *out = d->dim_value;
    } else if (d->dim_param && *d->dim_param) {
        uint32_t symbol = m->symbols.n;
        if (!noe_names_find(&m->symbols, d->dim_param, &symbol))
            noe_names_add(&m->symbols, d->dim_param, symbol);
        bool is_pinned = symbol < m->n_symbol_dims && m->symbol_dims[symbol] >= 0;
        *out =
            is_pinned ? m->symbol_dims[symbol] : NOE_DIM_UNKNOWN - 1 - (int64_t)symbol;
    }
    return NOE_OK;
}

static noe_status read_shape(noe_onnx_model *m, const Onnx__TensorShapeProto *proto,
                             noe_shape *shape, noe_error *err)
{
    shape->rank = NOE_RANK_UNKNOWN;
    if (!proto || proto->n_dim > NOE_MAX_RANK)
        return NOE_OK;
    shape->rank = (int)proto->n_dim;
    int64_t product = 1;
    for (int i = 0; i < shape->rank; i++) {
        NOE_TRY(read_dim(m, proto->dim[i], &shape->dim[i], err));
        int64_t dim = shape->dim[i] > 1 ? shape->dim[i] : 1;
        if (product > NOE_MAX_ELEMENTS / dim)
            return noe_fail(err, NOE_ERR_LIMIT, "more than %lld elements",
                            (long long)NOE_MAX_ELEMENTS);
        product *= dim;
    }
    return NOE_OK;
}

noe_status noe_onnx_read_type(noe_onnx_model *m, const Onnx__TypeProto *proto,
                              noe_type *type, noe_error *err)
{
    *type = (noe_type){.dtype = NOE_UNKNOWN, .shape.rank = NOE_RANK_UNKNOWN};
    if (!proto || !proto->tensor_type)
        return NOE_OK;
    type->dtype = noe_dtype_from_onnx(proto->tensor_type->elem_type);
    return read_shape(m, proto->tensor_type->shape, &type->shape, err);
}

/* ---- external data ---- */

typedef struct external {
    const char *location;
    uint64_t offset, length;
    bool has_length;
} external;

static noe_status read_number(const char *key, const char *text, uint64_t *out,
                              noe_error *err)
{
    char *end;
    errno = 0;
    *out = strtoull(text, &end, 10);
    if (errno || end == text || *end || *text == '-' || *text == '+' || *text == ' ')
        return noe_fail(err, NOE_ERR_PARSE, "external data: %s is '%s', want a number",
                        key, text);
    return NOE_OK;
}

static noe_status read_external(const Onnx__TensorProto *t, external *e, noe_error *err)
{
    *e = (external){0};
    for (size_t i = 0; i < t->n_external_data; i++) {
        const char *key = t->external_data[i]->key, *value = t->external_data[i]->value;
        if (!key || !value)
            continue;
        if (strcmp(key, "location") == 0)
            e->location = value;
        else if (strcmp(key, "offset") == 0)
            NOE_TRY(read_number(key, value, &e->offset, err));
        else if (strcmp(key, "length") == 0) {
            NOE_TRY(read_number(key, value, &e->length, err));
            e->has_length = true;
        }
    }
    if (!e->location || !*e->location)
        return noe_fail(err, NOE_ERR_PARSE, "external data: location is missing");
    return NOE_OK;
}

static bool has_dot_dot(const char *path)
{
    for (const char *p = path; p; p = strchr(p, '/')) {
        p += *p == '/';
        if (strncmp(p, "..", 2) == 0 && (p[2] == '/' || p[2] == '\0'))
            return true;
    }
    return false;
}

/* The file behind a location, symbolic links resolved, if it lies below the folder. */
static noe_status locate(const noe_onnx_model *m, const char *location, noe_arena *a,
                         char **path, noe_error *err)
{
    if (!m->folder)
        return noe_fail(err, NOE_ERR_UNSUPPORTED,
                        "external data '%s' of a model that is not in a file",
                        location);
    if (*location == '/' || has_dot_dot(location))
        return noe_fail(err, NOE_ERR_PARSE,
                        "external data '%s' is outside the model's folder", location);
    char *joined = noe_arena_printf(a, "%s/%s", m->folder, location);
    char *folder = realpath(m->folder, NULL);
    char *file = realpath(joined, NULL);
    noe_status status = NOE_OK;
    size_t len = folder ? strlen(folder) : 0;
    if (len == 1)
        len = 0; /* the root: every path is below */
    if (!folder || !file)
        status = noe_fail(err, NOE_ERR_IO, "external data '%s': %s", joined,
                          strerror(errno));
    else if (strncmp(file, folder, len) != 0 || file[len] != '/')
        status =
            noe_fail(err, NOE_ERR_PARSE,
                     "external data '%s' leads out of the model's folder", location);
    else
        *path = noe_arena_strdup(a, file);
    free(folder);
    free(file);
    return status;
}

static noe_status read_at(int fd, const external *e, char *to, size_t bytes,
                          noe_error *err)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t got = pread(fd, to + done, bytes - done, (off_t)(e->offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return noe_fail(err, NOE_ERR_IO, "external data '%s': cannot read: %s",
                            e->location, got < 0 ? strerror(errno) : "it ends early");
        done += (size_t)got;
    }
    return NOE_OK;
}

/* bytes: what the dimensions say, or SIZE_MAX where the type is not known. */
static noe_status check_external_range(int fd, const external *e, size_t *bytes,
                                       noe_error *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return noe_fail(err, NOE_ERR_IO, "external data '%s' is not a regular file",
                        e->location);
    uint64_t size = (uint64_t)st.st_size;
    if (*bytes == SIZE_MAX)
        *bytes = e->has_length ? e->length : e->offset < size ? size - e->offset : 0;
    if (e->has_length && e->length != *bytes)
        return noe_fail(err, NOE_ERR_PARSE,
                        "external data '%s': length is %llu, the dimensions say %zu",
                        e->location, (unsigned long long)e->length, *bytes);
    if (e->offset > size || *bytes > size - e->offset)
        return noe_fail(err, NOE_ERR_PARSE,
                        "external data '%s': %zu bytes at %llu, the file has %llu",
                        e->location, *bytes, (unsigned long long)e->offset,
                        (unsigned long long)size);
    return NOE_OK;
}

/* Pages of the file come when they are read. A file that another program cuts short
 * meanwhile ends the process (SIGBUS), as with every mapped file. */
static const void *map(noe_onnx_model *m, int fd, const external *e, size_t bytes)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), before = e->offset % page;
    void *at = mmap(NULL, bytes + before, PROT_READ, MAP_PRIVATE, fd,
                    (off_t)(e->offset - before));
    if (at == MAP_FAILED)
        return NULL;
    noe_onnx_map kept = {at, bytes + before};
    NOE_PUSH(m->maps, m->n_maps, m->cap_maps, kept);
    return (const char *)at + before;
}

#define MIN_MAP_BYTES   ((size_t)64 << 10)
#define ALIGNMENT_BYTES 16 /* of the widest element */

static noe_status load_bytes(noe_onnx_model *m, int fd, const external *e, size_t bytes,
                             noe_span *span, noe_error *err)
{
    if (bytes >= MIN_MAP_BYTES && e->offset % ALIGNMENT_BYTES == 0)
        *span = (noe_span){map(m, fd, e, bytes), bytes};
    if (span->at)
        return NOE_OK;
    char *data = noe_arena_alloc(&m->arena, bytes);
    *span = (noe_span){(const uint8_t *)data, bytes};
    return read_at(fd, e, data, bytes, err);
}

static noe_status load_external(noe_onnx_model *m, noe_onnx_tensor *t, size_t bytes,
                                noe_error *err)
{
    external e;
    char *path = NULL;
    NOE_TRY(read_external(t->proto, &e, err));
    NOE_TRY(locate(m, e.location, &m->arena, &path, err));
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return noe_fail(err, NOE_ERR_IO, "external data '%s': cannot open: %s",
                        e.location, strerror(errno));
    noe_status status = check_external_range(fd, &e, &bytes, err);
    if (status == NOE_OK)
        status = load_bytes(m, fd, &e, bytes, &t->external, err);
    close(fd);
    return status;
}

/* Bytes of a tensor of any numeric type; SIZE_MAX where that is not known. */
static size_t packed_bytes(const Onnx__TensorProto *p)
{
    size_t bits = (size_t)noe_elem_get(p->data_type)->bits;
    for (size_t i = 0; i < p->n_dims; i++) { /* read_dims has checked the product */
        if (p->dims[i] == 0)
            return 0;
        bits *= (size_t)p->dims[i];
    }
    return bits ? (bits + 7) / 8 : SIZE_MAX;
}

/* ---- elements in the message ---- */

/* A typed list of the message: `n` numbers of `width` bytes. */
typedef struct number_list {
    const void *at;
    size_t n, width;
} number_list;

static number_list list_for(const Onnx__TensorProto *p, noe_dtype d)
{
    switch (d) {
    case NOE_F32:
        return (number_list){p->float_data, p->n_float_data, 4};
    case NOE_C64:
        return (number_list){p->float_data, p->n_float_data / 2, 8};
    case NOE_F64:
        return (number_list){p->double_data, p->n_double_data, 8};
    case NOE_C128:
        return (number_list){p->double_data, p->n_double_data / 2, 16};
    case NOE_I64:
        return (number_list){p->int64_data, p->n_int64_data, 8};
    case NOE_U32:
    case NOE_U64:
        return (number_list){p->uint64_data, p->n_uint64_data, 8};
    case NOE_U8:
    case NOE_I8:
    case NOE_U16:
    case NOE_I16:
    case NOE_I32:
    case NOE_BOOL:
    case NOE_F16:
    case NOE_BF16:
        return (number_list){p->int32_data, p->n_int32_data, 4};
    case NOE_UNKNOWN:
    case NOE_STRING:
    case NOE_DTYPE_COUNT:
        break;
    }
    return (number_list){0};
}

/* The low bytes of each number: all machines that this runs on are little-endian. */
static const void *narrow(noe_arena *a, const number_list *list, size_t width)
{
    char *to = noe_arena_alloc(a, list->n * width);
    for (size_t i = 0; i < list->n; i++)
        memcpy(to + i * width, (const char *)list->at + i * list->width, width);
    return to;
}

static noe_status take_list(noe_onnx_model *m, noe_onnx_tensor *t, int64_t elements,
                            noe_error *err)
{
    number_list list = list_for(t->proto, t->type.dtype);
    size_t width = noe_dtype_bytes(t->type.dtype);
    if (list.n != (size_t)elements)
        return noe_fail(err, NOE_ERR_PARSE, "%zu elements, the dimensions say %lld",
                        list.n, (long long)elements);
    t->data = list.width == width ? list.at : narrow(&m->arena, &list, width);
    return NOE_OK;
}

static noe_status take_elements(noe_onnx_model *m, noe_onnx_tensor *t, noe_error *err)
{
    int64_t elements = noe_shape_elements(&t->type.shape);
    t->bytes = (size_t)elements * noe_dtype_bytes(t->type.dtype);
    const Onnx__TensorProto *p = t->proto;
    if (t->is_external) {
        NOE_TRY(load_external(m, t, t->bytes, err));
        t->data = t->external.at;
    } else if (p->has_raw_data) {
        if (p->raw_data.len != t->bytes)
            return noe_fail(err, NOE_ERR_PARSE, "%zu bytes, the dimensions say %zu",
                            p->raw_data.len, t->bytes);
        t->data = p->raw_data.data;
    } else {
        NOE_TRY(take_list(m, t, elements, err));
    }
    if (!t->data)
        t->data = ""; /* no elements, but present */
    return NOE_OK;
}

static noe_status read_dims(const Onnx__TensorProto *p, noe_shape *shape,
                            noe_error *err)
{
    int64_t product = 1;
    for (size_t i = 0; i < p->n_dims; i++) {
        int64_t dim = p->dims[i];
        if (dim < 0)
            return noe_fail(err, NOE_ERR_PARSE, "dimension %lld is negative",
                            (long long)dim);
        int64_t factor = dim > 1 ? dim : 1;
        if (product > NOE_MAX_ELEMENTS / factor)
            return noe_fail(err, NOE_ERR_LIMIT, "more than %lld elements",
                            (long long)NOE_MAX_ELEMENTS);
        product *= factor;
    }
    shape->rank = NOE_RANK_UNKNOWN;
    if (p->n_dims <= NOE_MAX_RANK)
        *shape = noe_shape_make((int)p->n_dims, p->dims);
    return NOE_OK;
}

noe_status noe_onnx_read_tensor(noe_onnx_model *m, Onnx__TensorProto *proto,
                                noe_onnx_tensor *t, noe_error *err)
{
    *t = (noe_onnx_tensor){.proto = proto};
    t->type.dtype = noe_dtype_from_onnx(proto->data_type);
    t->is_external =
        proto->has_data_location &&
        proto->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    NOE_TRY(read_dims(proto, &t->type.shape, err));
    bool is_held = noe_dtype_bytes(t->type.dtype) > 0 && !proto->segment &&
                   t->type.shape.rank != NOE_RANK_UNKNOWN;
    if (!is_held) {
        t->type = (noe_type){.dtype = NOE_UNKNOWN, .shape.rank = NOE_RANK_UNKNOWN};
        return t->is_external ? load_external(m, t, packed_bytes(proto), err) : NOE_OK;
    }
    return take_elements(m, t, err);
}

/* ---- integers ---- */

noe_onnx_ints *noe_onnx_ints_new(noe_arena *a, int rank, int64_t n)
{
    noe_onnx_ints *ints = NOE_NEW(a, noe_onnx_ints);
    ints->rank = rank;
    ints->n = n;
    ints->v = NOE_NEW_N(a, int64_t, n);
    ints->known = NOE_NEW_N(a, bool, n);
    return ints;
}

static int64_t int_at(const noe_onnx_tensor *t, int64_t i)
{
    const char *at = (const char *)t->data + (size_t)i * noe_dtype_bytes(t->type.dtype);
    int32_t i32;
    int64_t i64;
    switch (t->type.dtype) {
    case NOE_I64:
        memcpy(&i64, at, sizeof i64);
        return i64;
    case NOE_I32:
        memcpy(&i32, at, sizeof i32);
        return i32;
    default:
        return *(const unsigned char *)at;
    }
}

const noe_onnx_ints *noe_onnx_tensor_ints(noe_arena *a, const noe_onnx_tensor *t)
{
    noe_dtype d = t->type.dtype;
    if (!t->data || (d != NOE_I64 && d != NOE_I32 && d != NOE_BOOL))
        return NULL;
    int64_t n = noe_shape_elements(&t->type.shape);
    if (t->type.shape.rank > 1 || n > NOE_MAX_KNOWN_INTS)
        return NULL;
    noe_onnx_ints *ints = noe_onnx_ints_new(a, t->type.shape.rank, n);
    for (int64_t i = 0; i < n; i++) {
        ints->v[i] = int_at(t, i);
        ints->known[i] = true;
    }
    return ints;
}
