/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_BINARY_META_H
#define RAWSTACK_BINARY_META_H
/*
 * Reads and makes what the service keeps of a binary besides its table: a packed
 * rawstack.v1.Binary, opaque to the store. What the store knows itself (id, status, pin, times) is
 * taken from the record.
 */
#include <string.h>

#include "arena.h"
#include "rawstack/v1/binaries.pb-c.h"
#include "store.h"
#include "table_build.h"

/* Unpacks the message of a record into the arena; NULL if memory is out. From a damaged meta it
 * makes a message that has the record's fields only. */
Rawstack__V1__Binary *binary_meta_message(const struct store_binary *b,
					  struct arena *arena) _must_check_;

/* Returns the status that clients see. */
Rawstack__V1__ModuleStatus binary_meta_status(enum store_status status);

/* Writes the reason of a failure to `to`, cut to len bytes with the NUL, or "" if there is none. */
void binary_meta_reason(const struct store_binary *b, char *to, size_t len);

/* Fills a report message from that of a build. It borrows build->skipped and *skipped. */
void binary_meta_report(Rawstack__V1__BuildReport *to, const struct build_report *build,
			uint64_t input_len, uint64_t generation, ProtobufCBinaryData *skipped);

/* Returns a text as a field of a message, which borrows it. */
static inline ProtobufCBinaryData binary_meta_text(const char *s)
{
	ProtobufCBinaryData d = {.len = strlen(s)};

	memcpy(&d.data, &s, sizeof(d.data)); /* protobuf-c reads only; its type lacks the const */
	return d;
}

#endif
