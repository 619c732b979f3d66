/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_STORE_SALVAGE_H
#define RAWSTACK_STORE_SALVAGE_H
/*
 * Copies the intact part of a damaged store into a new one: records, tables, aliases, times of use
 * and missing ids. A checksum proves each, wherever in the file it lies. Reads the old file without
 * LMDB and changes nothing in it.
 */
#include "store.h"

struct store_salvage_use {
	void *ctx;
	/* Describes a table that looks intact and has no record. Returns true and fills *ret if it
	 * is a table, and one of this id. */
	bool (*describe)(void *ctx, const struct build_id *id, struct kv_bytes table,
			 struct store_binary *ret);
	/* Is called for a binary that lost one of its tables. */
	void (*lost)(void *ctx, const struct build_id *id);
};

struct store_salvaged {
	size_t records, tables, tables_without_record, missing;
	size_t lost; /* binaries that lost a table */
};

/* Copies from the file `from`, an old store.mdb, into the directory `to`, which holds no store.
 * format is that of store_open(). Returns ERR_DATA if the file holds nothing of a store. After an
 * error the files in `to` are of no use. */
int store_salvage(const char *from, const char *to, uint16_t format,
		  const struct store_salvage_use *use, struct store_salvaged *ret,
		  struct err *err) _must_check_;

#endif
