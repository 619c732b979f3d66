/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_STORE_RECORD_H
#define RAWSTACK_STORE_RECORD_H
/*
 * The records of the store as bytes, internal to the store. In the drawing a number is the length
 * of a field in bytes; fields are little-endian. Decoding borrows from the bytes and copies
 * nothing. The last four bytes are a CRC-32C of all before them;
 * sums of keys make a record under a damaged key count as damaged.
 *
 *	binary    version 1, status of the last build 1, pinned 1, kind of id 1, changed_ns 8,
 *	           count of tables 1, tables 30 each, meta ..., tag 5, sum of the key 4, sum 4
 *	  table    format 2, CRC-32C 4, number 8, generation 8, length 8
 *	missing   version 1, kind of id 1, weight 8, first_ns 8, last_ns 8, count of paths 1,
 *	           paths: length 2, bytes ...; sum of the key 4, client 4, sum 4
 *	aliases   version 1, ids: kind 1, length 1, bytes ...; sum 4
 *	number    number 8, sum 4
 *
 * Older records lack the tag and the sum of the key, or the client.
 */
#include "buf.h"
#include "store_binary.h"

enum {
	STORE_FORMATS = 4 /* formats that an id may have tables of; a fifth replaces the oldest */
};

struct store_record_table {
	uint16_t format;
	uint32_t crc;    /* CRC-32C of the table */
	uint64_t number; /* number of the write that stored it */
	uint64_t generation, len;
};

struct store_record {
	struct store_binary binary; /* as a program of one format sees it */
	enum store_status written;  /* result of the last build, of any format */
	struct store_record_table tables[STORE_FORMATS];
	size_t table_count;
};

/* Returns the table of a format, or NULL. */
const struct store_record_table *store_record_table(const struct store_record *r, uint16_t format);

/* Fills the fields of `binary` that depend on the format. */
void store_record_see(struct store_record *r, uint16_t format);

/* Adds a table, or replaces the one of the same format. Returns false if the oldest format had to
 * go for it; that table is then in *ret_gone. */
bool store_record_add(struct store_record *r, const struct store_record_table *t,
		      struct store_record_table *ret_gone);

/* Removes the table of a format. Returns false if there is none. */
bool store_record_drop(struct store_record *r, uint16_t format);

/* The most bytes of a record: the fixed part, the largest meta and the sums. */
#define STORE_RECORD_MAX (LIMIT_BINARY_META_LEN + 192)

/* Returns false if meta is longer than LIMIT_BINARY_META_LEN or memory is out. */
bool store_record_encode(const struct store_record *r, struct buf *out) _must_check_;
/* Decodes a record as a program of this format sees it. key is the build id. Returns ERR_DATA if
 * the bytes are damaged. */
int store_record_decode(struct store_record *r, struct kv_bytes key, struct kv_bytes value,
			uint16_t format, struct err *err) _must_check_;

bool store_missing_encode(const struct store_missing *m, struct buf *out) _must_check_;
int store_missing_decode(struct store_missing *m, struct kv_bytes key, struct kv_bytes value,
			 struct err *err) _must_check_;

/* Encode and decode the value of an alias in KV_META: the one id of a hash, or the hashes of an id.
 */
bool store_id_aliases_encode(const struct store_id_aliases *a, struct buf *out) _must_check_;
bool store_id_aliases_decode(struct store_id_aliases *a, struct kv_bytes value);

/* A number with its checksum, as in KV_USED, KV_BATCHES and KV_META. */
enum {
	STORE_NUMBER_LEN = 12
};
void store_number_encode(uint64_t n, uint8_t out[static STORE_NUMBER_LEN]);
bool store_number_decode(struct kv_bytes value, uint64_t *ret);

#endif
