/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_STORE_KV_H
#define RAWSTACK_STORE_KV_H
/*
 * What the store needs of an engine: a few ordered tables of byte strings, snapshots to read from,
 * and commits that happen whole or not at all. Two engines exist: LMDB (store_lmdb.c) and memory
 * (store_memory.c, for tests). Records, checksums and eviction are the store's, above this line.
 *
 * Keys are 1 to KV_KEY_MAX bytes, in order of memcmp(), the shorter first. Functions return 0 (or 1
 * and 0 for found and not) or a negative err code.
 */
#include <stdatomic.h>

#include "base.h"
#include "err.h"

enum kv_table {
	KV_TABLES,      /* build id, format -> the table's bytes */
	KV_BINARIES,    /* build id -> record */
	KV_USED,        /* build id -> time */
	KV_MISSING,     /* build id -> record */
	KV_BATCHES,     /* batch id -> its number */
	KV_BATCH_ORDER, /* number, big-endian -> batch id */
	KV_META,        /* name -> number; hashes and ids of each other */
	KV_TABLE_COUNT,
};

#define KV_KEY_MAX 66

struct kv_bytes {
	const void *p;
	size_t len;
};

/* One change; value.p NULL deletes (a key that is not there is no error). */
struct kv_write {
	enum kv_table table;
	struct kv_bytes key, value;
};

struct kv;
struct kv_read;

struct kv_stat {
	uint64_t file_bytes;
	uint64_t oldest_ns;      /* age of the oldest snapshot of this process; 0: none */
	uint64_t oldest_commits; /* commits since the oldest one of any process, or its death */
	uint64_t foreign_count;  /* snapshots of other processes */
	bool failed;             /* for good: it works again once it was opened anew */
	bool gone;               /* the file is not under its name any more */
};

/* How values lie: in pages, a long one in several side by side. */
struct kv_layout {
	size_t page_len;
	size_t value_head;   /* bytes before a long value; they begin with its page's number */
	size_t long_len;     /* values of more bytes are long */
	uint64_t page_count; /* of the file */
	uint64_t room_count; /* pages to which it may grow */
	uint8_t *free_pages; /* a bit of each page of the file; the caller frees it */
};

struct kv_ops {
	/* A snapshot; any number at a time, each used by one thread. What it gives out is valid
	 * until its end. A thread ends its snapshot before it commits. */
	int (*read_begin)(struct kv *kv, struct kv_read **ret, struct err *err);
	void (*read_end)(struct kv_read *r);
	/* Values of 4 KiB and more are 16-byte aligned. */
	int (*get)(struct kv_read *r, enum kv_table table, struct kv_bytes key,
		   struct kv_bytes *ret, struct err *err);
	/* The first pair with a key above `after` (len 0: the very first). */
	int (*next)(struct kv_read *r, enum kv_table table, struct kv_bytes after,
		    struct kv_bytes *ret_key, struct kv_bytes *ret, struct err *err);
	/*
	 * All of the writes, durable when it returns 0. ERR_LIMIT: they do not fit the budget. What
	 * a commit deletes may be usable only after one more commit.
	 */
	int (*commit)(struct kv *kv, const struct kv_write *writes, size_t count, struct err *err);
	/* NULL: values need nothing side by side. */
	int (*layout)(struct kv_read *r, struct kv_layout *ret, struct err *err);
	/* Waits until the snapshots that there are have ended, at most timeout_ms: the pages that
	 * they see cannot be used again before. False when the time was over. One thread at a time,
	 * which has no snapshot. */
	bool (*settle)(struct kv *kv, unsigned int timeout_ms);
	/* Whether the disk has room for the file to grow by so many bytes, as far as it may. */
	bool (*has_room)(struct kv *kv, uint64_t bytes);
	void (*stat)(struct kv *kv, struct kv_stat *ret);
	/* Writes a compacted copy to an empty file, durable at return; ERR_UNSUPPORTED. */
	int (*copy)(struct kv *kv, int fd, struct err *err);
	/* Now and then: frees what dead readers hold. Whether there were some. */
	bool (*maintain)(struct kv *kv);
	void (*close)(struct kv *kv);
};

struct kv {
	const struct kv_ops *ops;
	/* A page, or a record above this line, was not what it should be: what is not found may be
	 * there. Set by whoever finds it, and never taken back. */
	atomic_bool damaged;
};

/*
 * The file DATA/store.mdb, never larger than max_bytes (rounded up to pages, or the present size of
 * the file if that is more); 0: read only, beside a process that has it open. It does not grow when
 * the disk would be left with less than disk_floor. ERR_DATA when the file is truncated or foreign.
 */
int store_kv_open_lmdb(struct kv **ret, const char *dir, uint64_t max_bytes, uint64_t disk_floor,
		       struct err *err) _must_check_;
int store_kv_open_memory(struct kv **ret, uint64_t max_bytes, struct err *err) _must_check_;

#endif
