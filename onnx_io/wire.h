/* SPDX-License-Identifier: Apache-2.0
 *
 * The protobuf wire format by hand: reading fields in place, checking a whole file
 * before anything is unpacked, and putting a file together from pieces of another one.
 */
#ifndef NOE_ONNX_IO_WIRE_H
#define NOE_ONNX_IO_WIRE_H

#include "core/base/mem.h"
#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>

typedef struct noe_span {
    const uint8_t *at;
    size_t len;
} noe_span;

/* One field of a message: `whole` has its tag, `body` is the content of a
 * length-delimited one (or the bytes of a number). */
typedef struct noe_wire_field {
    uint32_t number;
    int wire_type;
    uint64_t varint; /* value of wire type 0 */
    noe_span whole, body;
} noe_wire_field;

/* Takes the next field off `rest`; NULL, or what is wrong with it. rest must not be
 * empty. */
const char *noe_wire_next(noe_span *rest, noe_wire_field *field);

#define NOE_WIRE_MAX_DEPTH    100     /* what common protobuf readers accept */
#define NOE_WIRE_MAX_MESSAGES 4000000 /* bounds the memory that unpacking takes */

/* Checks all of a message against its descriptor without recursion: lengths within
 * their parents, wire types that fit, no groups, no NUL in strings, depth and count
 * within the limits above. Afterwards unpacking is safe. Unknown fields are allowed. */
NOE_NODISCARD noe_status noe_wire_check(const ProtobufCMessageDescriptor *type,
                                        noe_span message, noe_error *err);

/* Text made of pieces that lie elsewhere, joined once at the end. */
typedef struct noe_rope {
    noe_arena *arena; /* holds what the rope makes itself */
    noe_span *pieces;
    size_t n, cap, len;
} noe_rope;

void noe_rope_add(noe_rope *r, noe_span piece);
void noe_rope_add_rope(noe_rope *r, const noe_rope *other);
/* Tag and length of a length-delimited field. */
void noe_rope_add_header(noe_rope *r, uint32_t number, size_t len);
void noe_rope_add_string(noe_rope *r, uint32_t number, const char *s);
/* Packs a message as field `number`. */
void noe_rope_add_message(noe_rope *r, uint32_t number, const ProtobufCMessage *m);
/* Copies all pieces to `to`, which has room for r->len bytes. */
void noe_rope_copy(const noe_rope *r, char *to);
void noe_rope_clear(noe_rope *r);

#endif
