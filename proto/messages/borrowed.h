/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_BORROWED_H
#define RAWSTACK_BORROWED_H
/*
 * Bytes that a message holds and does not own: they outlive it, and it is packed and never freed
 * with protobuf-c's *_free_unpacked().
 */
#include <protobuf-c/protobuf-c.h>

/* protobuf-c's field lacks the const; packing only reads. */
static inline ProtobufCBinaryData borrow_bytes(const void *p, size_t len)
{
	return (ProtobufCBinaryData){.len = len, .data = (uint8_t *)(uintptr_t)p};
}

#endif
