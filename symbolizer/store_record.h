/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_STORE_RECORD_H
#define RAWSTACK_STORE_RECORD_H
/*
 * The store's records as bytes: little-endian, a version first, a CRC-32C of all before it last.
 * Internal to the store. Decoding borrows from the bytes and copies nothing.
 */
#include "buf.h"
#include "store.h"

struct store_record {
	struct store_binary binary;
	uint64_t number;    /* of the write that brought the table */
	uint32_t table_crc; /* CRC-32C of the table */
};

/* A record's room: the fixed part, the largest meta and the sum. */
#define STORE_RECORD_MAX (LIMIT_BINARY_META_LEN + 128)

/* False when meta is longer than LIMIT_BINARY_META_LEN or memory is out. */
bool store_record_encode(const struct store_record *r, struct buf *out) _must_check_;
/* ERR_DATA when the bytes are damaged. key is the build id. */
int store_record_decode(struct store_record *r, struct kv_bytes key, struct kv_bytes value,
			struct err *err) _must_check_;

bool store_missing_encode(const struct store_missing *m, struct buf *out) _must_check_;
int store_missing_decode(struct store_missing *m, struct kv_bytes key, struct kv_bytes value,
			 struct err *err) _must_check_;

/* A number with its sum, as in KV_USED and KV_BATCHES. */
enum {
	STORE_NUMBER_LEN = 12
};
void store_number_encode(uint64_t n, uint8_t out[static STORE_NUMBER_LEN]);
bool store_number_decode(struct kv_bytes value, uint64_t *ret);

#endif
