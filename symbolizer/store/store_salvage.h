/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_STORE_SALVAGE_H
#define RAWSTACK_STORE_SALVAGE_H
/*
 * Copies what is intact of a damaged store into a new one: records, tables, aliases of ids, times
 * of use, what is missing. Each is known by its checksum, wherever in the file it lies. Reads the
 * old file without LMDB, and changes nothing in it.
 */
#include "store.h"

struct store_salvage_use {
	void *ctx;
	/* An intact-looking table of which no record tells: true with *ret filled when it is one,
	 * and of this id. */
	bool (*describe)(void *ctx, const struct build_id *id, struct kv_bytes table,
			 struct store_binary *ret);
	/* A binary that had tables, one of which is lost. */
	void (*lost)(void *ctx, const struct build_id *id);
};

struct store_salvaged {
	size_t records, tables, tables_without_record, missing;
	size_t lost; /* binaries of which a table is gone */
};

/* from: the old store.mdb; to: a directory without a store. format: as in store_open(). ERR_DATA
 * when there is nothing of a store in it. What lies in `to` after an error is of no use. */
int store_salvage(const char *from, const char *to, uint16_t format,
		  const struct store_salvage_use *use, struct store_salvaged *ret,
		  struct err *err) _must_check_;

#endif
