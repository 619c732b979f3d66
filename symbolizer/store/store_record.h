/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_STORE_RECORD_H
#define RAWSTACK_STORE_RECORD_H
/*
 * The store's records as bytes: little-endian, a version first, a CRC-32C of all before it last.
 * Those of binaries and of what is missing carry one of their key, too: under a damaged key they
 * are damaged. Internal to the store. Decoding borrows from the bytes and copies nothing.
 */
#include "buf.h"
#include "store_binary.h"

enum {
	STORE_FORMATS = 4 /* of which an id may have tables; the oldest goes for a fifth */
};

struct store_record_table {
	uint16_t format;
	uint32_t crc;    /* CRC-32C of the table */
	uint64_t number; /* of the write that brought it */
	uint64_t generation, len;
};

struct store_record {
	struct store_binary binary; /* as the program of one format sees it */
	enum store_status written;  /* how the last build ended, of whatever format */
	struct store_record_table tables[STORE_FORMATS];
	size_t table_count;
};

/* NULL when there is none of the format. */
const struct store_record_table *store_record_table(const struct store_record *r, uint16_t format);

/* Fills what of `binary` depends on the format. */
void store_record_see(struct store_record *r, uint16_t format);

/* Puts a table among the others, in the place of one of its format. False when the oldest format
 * had to go for it: *ret_gone. */
bool store_record_add(struct store_record *r, const struct store_record_table *t,
		      struct store_record_table *ret_gone);

/* Takes out the table of a format. False when there is none. */
bool store_record_drop(struct store_record *r, uint16_t format);

/* A record's room: the fixed part, the largest meta and the sums. */
#define STORE_RECORD_MAX (LIMIT_BINARY_META_LEN + 192)

/* False when meta is longer than LIMIT_BINARY_META_LEN or memory is out. */
bool store_record_encode(const struct store_record *r, struct buf *out) _must_check_;
/* Decodes a record as a program of this format sees it. key is the build id. ERR_DATA: the bytes
 * are damaged. */
int store_record_decode(struct store_record *r, struct kv_bytes key, struct kv_bytes value,
			uint16_t format, struct err *err) _must_check_;

bool store_missing_encode(const struct store_missing *m, struct buf *out) _must_check_;
int store_missing_decode(struct store_missing *m, struct kv_bytes key, struct kv_bytes value,
			 struct err *err) _must_check_;

/* A row holds the id of a hash, or the hashes of an id. */
bool store_id_aliases_encode(const struct store_id_aliases *a, struct buf *out) _must_check_;
bool store_id_aliases_decode(struct store_id_aliases *a, struct kv_bytes value);

/* A number with its sum, as in KV_USED and KV_BATCHES. */
enum {
	STORE_NUMBER_LEN = 12
};
void store_number_encode(uint64_t n, uint8_t out[static STORE_NUMBER_LEN]);
bool store_number_decode(struct kv_bytes value, uint64_t *ret);

#endif
