/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_BORROWED_H
#define RAWSTACK_BORROWED_H
/*
 * Puts bytes into a message that does not own them. They have to outlive the message, which is
 * packed and never freed with protobuf-c's *_free_unpacked().
 */
#include <protobuf-c/protobuf-c.h>

/* protobuf-c's field lacks the const; packing only reads. */
static inline ProtobufCBinaryData borrow_bytes(const void *p, size_t len)
{
	return (ProtobufCBinaryData){.len = len, .data = (uint8_t *)(uintptr_t)p};
}

#endif
