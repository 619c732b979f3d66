/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PROTOBUF_PUT_H
#define RAWSTACK_PROTOBUF_PUT_H
/*
 * Writes fields of protobuf messages (protobuf.dev, "Encoding") one by one, because profiles have
 * too many rows to be built as objects first. A field is a tag, which holds its number and wire
 * type, and a value. A failure stays in the buffer.
 */
#include "buf.h"

enum protobuf_wire_type {
	WIRE_VARINT = 0,
	WIRE_FIXED64 = 1,
	WIRE_BYTES = 2,
	WIRE_FIXED32 = 5,
};

static inline void protobuf_put_tag(struct buf *b, uint32_t field, enum protobuf_wire_type type)
{
	buf_uleb(b, (uint64_t)field << 3 | type);
}

/* Writes a number, but not 0, which proto3 leaves out. */
static inline void protobuf_put_number(struct buf *b, uint32_t field, uint64_t v)
{
	if (!v)
		return;
	protobuf_put_tag(b, field, WIRE_VARINT);
	buf_uleb(b, v);
}

static inline void protobuf_put_bytes(struct buf *b, uint32_t field, const void *p, size_t len)
{
	protobuf_put_tag(b, field, WIRE_BYTES);
	buf_uleb(b, len);
	buf_append(b, p, len);
}

#endif
