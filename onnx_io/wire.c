/* SPDX-License-Identifier: Apache-2.0
 *
 * The wire format: a message is a row of fields, each a tag (number << 3 | wire type)
 * and a varint, 4 or 8 bytes, or a length and that many bytes.
 *
 * The check walks the message tree with an explicit stack, guided by the descriptors
 * that protoc-c makes from onnx.proto, so that there is no second list of fields. What
 * it does not look at: the inside of packed number lists (unpacking reports those) and
 * fields that onnx.proto does not have.
 */
#include "onnx_io/wire.h"
#include <stdlib.h>

enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

static bool read_varint(noe_span *rest, uint64_t *value)
{
    *value = 0;
    for (unsigned i = 0; i < 10 && i < rest->len; i++) {
        uint8_t byte = rest->at[i];
        if (i == 9 && byte > 1)
            return false;
        *value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte & 0x80)
            continue;
        rest->at += i + 1;
        rest->len -= i + 1;
        return true;
    }
    return false;
}

static const char *take(noe_span *rest, uint64_t len, noe_span *body)
{
    if (len > rest->len)
        return "a length runs past the end";
    *body = (noe_span){rest->at, (size_t)len};
    rest->at += len;
    rest->len -= (size_t)len;
    return NULL;
}

static const char *take_body(noe_span *rest, noe_wire_field *f)
{
    const uint8_t *before = rest->at;
    uint64_t len;
    switch (f->wire_type) {
    case WIRE_VARINT:
        if (!read_varint(rest, &f->varint))
            return "a number is cut off or too long";
        f->body = (noe_span){before, (size_t)(rest->at - before)};
        return NULL;
    case WIRE_64:
        return take(rest, 8, &f->body);
    case WIRE_32:
        return take(rest, 4, &f->body);
    case WIRE_BYTES:
        if (!read_varint(rest, &len))
            return "a length is cut off or too long";
        return take(rest, len, &f->body);
    default:
        return "a field has an unknown wire type";
    }
}

const char *noe_wire_next(noe_span *rest, noe_wire_field *f)
{
    const uint8_t *start = rest->at;
    uint64_t tag;
    if (!read_varint(rest, &tag) || rest->at - start > 5 || tag > UINT32_MAX)
        return "a field tag is cut off or too long";
    *f = (noe_wire_field){.number = (uint32_t)(tag >> 3), .wire_type = (int)(tag & 7)};
    if (f->number == 0)
        return "a field has number 0";
    const char *fault = take_body(rest, f);
    f->whole = (noe_span){start, (size_t)(rest->at - start)};
    return fault;
}

/* ---- checking ---- */

typedef struct frame {
    const ProtobufCMessageDescriptor *type;
    noe_span rest;
    const char *field; /* where we are in it, for messages */
    uint32_t number, index;
} frame;

typedef struct checker {
    frame stack[NOE_WIRE_MAX_DEPTH];
    int depth;
    uint32_t n_messages;
} checker;

static int wire_type_of(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_FLOAT:
        return WIRE_32;
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return WIRE_64;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE:
        return WIRE_BYTES;
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_BOOL:
    case PROTOBUF_C_TYPE_ENUM:
        return WIRE_VARINT;
    }
    return -1;
}

static const char *check_field(const ProtobufCFieldDescriptor *d,
                               const noe_wire_field *f)
{
    int want = wire_type_of(d->type);
    bool packed = d->label == PROTOBUF_C_LABEL_REPEATED && want != WIRE_BYTES &&
                  f->wire_type == WIRE_BYTES;
    if (f->wire_type != want && !packed)
        return "a field has the wrong wire type";
    if (packed && want != WIRE_VARINT && f->body.len % (want == WIRE_32 ? 4 : 8) != 0)
        return "a list of numbers has a broken length";
    if (packed && want == WIRE_VARINT && f->body.len > 0 &&
        (f->body.at[f->body.len - 1] & 0x80))
        return "a list of numbers is cut off";
    if (d->type == PROTOBUF_C_TYPE_STRING && f->body.len > 0 &&
        memchr(f->body.at, 0, f->body.len))
        return "a string contains a NUL byte";
    return NULL;
}

/* Enters a message field. */
static const char *descend(checker *c, const ProtobufCFieldDescriptor *d, noe_span body)
{
    if (c->depth == NOE_WIRE_MAX_DEPTH)
        return "messages are nested too deeply";
    if (++c->n_messages > NOE_WIRE_MAX_MESSAGES)
        return "there are too many messages";
    c->stack[c->depth++] = (frame){.type = d->descriptor, .rest = body};
    return NULL;
}

static const char *check_next(checker *c)
{
    frame *top = &c->stack[c->depth - 1];
    noe_wire_field f;
    const char *fault = noe_wire_next(&top->rest, &f);
    if (fault)
        return fault;
    const ProtobufCFieldDescriptor *d =
        protobuf_c_message_descriptor_get_field(top->type, f.number);
    if (!d)
        return NULL;
    top->index = top->number == f.number ? top->index + 1 : 0;
    top->number = f.number;
    top->field = d->name;
    fault = check_field(d, &f);
    if (!fault && d->type == PROTOBUF_C_TYPE_MESSAGE)
        fault = descend(c, d, f.body);
    return fault;
}

/* "graph.node[17].attribute[0]: fault (byte 1234)" */
static noe_status report(const checker *c, const char *fault, noe_span message,
                         noe_error *err)
{
    noe_buf path = {0};
    for (int i = 0; i < c->depth && c->stack[i].field && path.len < 300; i++)
        noe_buf_printf(&path, "%s%s[%u]", i ? "." : "", c->stack[i].field,
                       c->stack[i].index);
    long long byte = (long long)(c->stack[c->depth - 1].rest.at - message.at);
    noe_status s = noe_fail(err, NOE_ERR_PARSE, "%s%s%s (near byte %lld)",
                            noe_buf_text(&path), path.len ? ": " : "", fault, byte);
    noe_buf_clear(&path);
    return s;
}

noe_status noe_wire_check(const ProtobufCMessageDescriptor *type, noe_span message,
                          noe_error *err)
{
    checker c = {.depth = 1};
    c.stack[0] = (frame){.type = type, .rest = message};
    while (c.depth > 0) {
        if (c.stack[c.depth - 1].rest.len == 0) {
            c.depth--;
            continue;
        }
        const char *fault = check_next(&c);
        if (fault)
            return report(&c, fault, message, err);
    }
    return NOE_OK;
}

/* ---- ropes ---- */

void noe_rope_add(noe_rope *r, noe_span piece)
{
    if (piece.len == 0)
        return;
    NOE_PUSH(r->pieces, r->n, r->cap, piece);
    r->len += piece.len;
}

void noe_rope_add_rope(noe_rope *r, const noe_rope *other)
{
    for (size_t i = 0; i < other->n; i++)
        noe_rope_add(r, other->pieces[i]);
}

static size_t write_varint(uint8_t *to, uint64_t value)
{
    size_t n = 0;
    for (; value >= 0x80; value >>= 7)
        to[n++] = (uint8_t)(value | 0x80);
    to[n++] = (uint8_t)value;
    return n;
}

void noe_rope_add_header(noe_rope *r, uint32_t number, size_t len)
{
    uint8_t bytes[20];
    size_t n = write_varint(bytes, (uint64_t)number << 3 | WIRE_BYTES);
    n += write_varint(bytes + n, len);
    noe_rope_add(r, (noe_span){noe_arena_memdup(r->arena, bytes, n), n});
}

void noe_rope_add_string(noe_rope *r, uint32_t number, const char *s)
{
    size_t len = strlen(s);
    noe_rope_add_header(r, number, len);
    noe_rope_add(r, (noe_span){noe_arena_memdup(r->arena, s, len), len});
}

void noe_rope_add_message(noe_rope *r, uint32_t number, const ProtobufCMessage *m)
{
    size_t len = protobuf_c_message_get_packed_size(m);
    uint8_t *bytes = noe_arena_alloc(r->arena, len);
    protobuf_c_message_pack(m, bytes);
    noe_rope_add_header(r, number, len);
    noe_rope_add(r, (noe_span){bytes, len});
}

void noe_rope_copy(const noe_rope *r, char *to)
{
    for (size_t i = 0; i < r->n; i++) {
        memcpy(to, r->pieces[i].at, r->pieces[i].len);
        to += r->pieces[i].len;
    }
}

void noe_rope_clear(noe_rope *r)
{
    free(r->pieces);
    *r = (noe_rope){0};
}
