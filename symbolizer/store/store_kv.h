/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_STORE_KV_H
#define RAWSTACK_STORE_KV_H
/*
 * The interface of an engine to the store: a few ordered tables of byte strings, snapshots to read
 * from, and commits that happen whole or not at all. There are two engines: LMDB (store_lmdb.c) and
 * memory (store_memory.c, for tests). Records, checksums and eviction are above this interface.
 *
 * A key has 1 to KV_KEY_MAX bytes. Keys are ordered as by memcmp(), and a prefix comes before what
 * it begins. Functions return 0, or 1 and 0 for found and not found, or a negative err code.
 *
 *	table        key                      value                        bytes
 *	tables       build id, format         table                        rsym
 *	binaries     build id                 struct store_record          store_record.h
 *	used         build id                 Unix time in ns              store_number_encode()
 *	missing      build id                 struct store_missing         store_record.h
 *	batches      batch id                 its number                   store_number_encode()
 *	batch_order  number, 8, big-endian    batch id
 *	meta         name                     number                       store_number_encode()
 *	meta         1, htlhash               the id that has this alias   store_id_aliases_encode()
 *	meta         2, build id              its aliases, newest first    store_id_aliases_encode()
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

/* One change. A value.p of NULL deletes the key; it is no error if the key does not exist. */
struct kv_write {
	enum kv_table table;
	struct kv_bytes key, value;
};

struct kv;
struct kv_read;

struct kv_stat {
	uint64_t file_bytes;
	uint64_t oldest_ns;      /* age of the oldest snapshot of this process; 0: none */
	uint64_t oldest_commits; /* commits since the oldest snapshot of any process began */
	uint64_t foreign_count;  /* snapshots of other processes */
	bool failed;             /* the engine does nothing more until it is opened anew */
	bool gone;               /* the file lost its name: removed or replaced */
};

/* Describes where values lie: in pages, and a long value in pages side by side. */
struct kv_layout {
	size_t page_len;
	size_t value_head;   /* bytes before a long value; its page number comes first */
	size_t long_len;     /* a value of more bytes than this is long */
	uint64_t page_count; /* pages of the file */
	uint64_t room_count; /* pages that the file may grow to */
	uint8_t *free_pages; /* one bit for each page of the file, 1: free; the caller frees it */
};

struct kv_ops {
	/* Begins a snapshot. There may be any number, each used by one thread. What it gives out is
	 * valid until its end. A thread ends its snapshot before it commits. */
	int (*read_begin)(struct kv *kv, struct kv_read **ret, struct err *err);
	void (*read_end)(struct kv_read *r);
	/* Finds a value. Values of 4 KiB and more are aligned to 16 bytes. */
	int (*get)(struct kv_read *r, enum kv_table table, struct kv_bytes key,
		   struct kv_bytes *ret, struct err *err);
	/* Finds the first pair with a key above `after` (len 0: the first pair of all). */
	int (*next)(struct kv_read *r, enum kv_table table, struct kv_bytes after,
		    struct kv_bytes *ret_key, struct kv_bytes *ret, struct err *err);
	/*
	 * Makes all of the writes, durable at return of 0. Returns ERR_LIMIT if they do not fit the
	 * budget. What a commit deletes may become usable only after one more commit.
	 */
	int (*commit)(struct kv *kv, const struct kv_write *writes, size_t count, struct err *err);
	/* Tells where values lie. NULL if this engine needs no pages side by side. */
	int (*layout)(struct kv_read *r, struct kv_layout *ret, struct err *err);
	/* Waits, for at most timeout_ms, until all snapshots of this moment have ended, because the
	 * pages that they see cannot be used again before. Returns false on timeout. One thread at
	 * a time may call it, and holds no snapshot. */
	bool (*settle)(struct kv *kv, unsigned int timeout_ms);
	/* Returns whether the disk has room for the file to grow by so many bytes, as far as its
	 * budget lets it. */
	bool (*has_room)(struct kv *kv, uint64_t bytes);
	void (*stat)(struct kv *kv, struct kv_stat *ret);
	/* Writes a compacted copy to an empty file, durable at return, or returns ERR_UNSUPPORTED.
	 */
	int (*copy)(struct kv *kv, int fd, struct err *err);
	/* Frees what the snapshots of dead processes hold, and returns whether there were any. To
	 * be called now and then. */
	bool (*maintain)(struct kv *kv);
	void (*close)(struct kv *kv);
};

struct kv {
	const struct kv_ops *ops;
	/* A damaged page or record was met, so that a key that is not found may be there. Whoever
	 * meets damage sets it; nobody clears it. */
	atomic_bool damaged;
};

/*
 * Opens the file DATA/store.mdb. The file never gets larger than max_bytes, rounded up to pages, or
 * than it is now if that is more. max_bytes 0 opens it read-only, beside a process that has it
 * open. The file does not grow if that leaves the disk with less than disk_floor bytes. Returns
 * ERR_DATA if the file is truncated or foreign.
 */
int store_kv_open_lmdb(struct kv **ret, const char *dir, uint64_t max_bytes, uint64_t disk_floor,
		       struct err *err) _must_check_;
int store_kv_open_memory(struct kv **ret, uint64_t max_bytes, struct err *err) _must_check_;

#endif
