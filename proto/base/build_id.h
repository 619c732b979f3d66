/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_BUILD_ID_H
#define RAWSTACK_BUILD_ID_H
/*
 * The identity of a binary: its GNU build id (ELF note NT_GNU_BUILD_ID, here 2 to 64 bytes; the
 * kernel reports at most 20), or "htlhash", a hash of the ends and the length of a file without
 * one, marked as such. A value type that may be copied freely. All bytes past len are zero.
 */
#include "base.h"
#include "err.h"

enum {
	BUILD_ID_MIN = 2,
	BUILD_ID_MAX = 64,
	BUILD_ID_HEX_MAX = 2 * BUILD_ID_MAX + 1, /* with the NUL */
	HTLHASH_LEN = 16,
};

enum build_id_kind {
	BUILD_ID_NONE = 0,
	BUILD_ID_GNU = 1,
	BUILD_ID_HTLHASH =
		2, /* SHA-256 over first 4 KiB, last 4 KiB, big-endian length: 16 bytes */
};

struct build_id {
	uint8_t kind; /* enum build_id_kind */
	uint8_t len;
	uint8_t bytes[BUILD_ID_MAX];
};

/* Sets an id. Returns ERR_DATA if len is outside BUILD_ID_MIN..BUILD_ID_MAX, or is not HTLHASH_LEN
 * for that kind. */
int build_id_set(struct build_id *id, enum build_id_kind kind, const void *p, size_t len,
		 struct err *err);

/* Writes the id as lower-case hex with a NUL, and returns hex. */
const char *build_id_hex(const struct build_id *id, char hex[static BUILD_ID_HEX_MAX]);

/* Parses hex of either case as an id of the kind GNU. Returns ERR_USAGE if it is not an id. */
int build_id_parse(struct build_id *id, const char *hex, struct err *err);

/* Returns whether the bytes of an id are hex digits, 32 or more: then it is, but for one case in
 * 10^17, the text of an id that a client did not convert. */
bool build_id_is_text(const struct build_id *id);

/* The advice to such a client; takes id->len and id->len / 2. */
#define BUILD_ID_TEXT_HINT "the build id is %d hex digits as text: send its %d bytes"

/* Compares the bytes, not the kind, because an id is looked up by its bytes alone. */
bool build_id_equal(const struct build_id *a, const struct build_id *b);

#endif
