/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_LOCAL_TABLE_H
#define RAWSTACK_LOCAL_TABLE_H
/*
 * Finds or makes the table of a file on this machine, without a service. It comes from the cache
 * (table_cache.h), or a worker process makes it. For the first few questions the worker reads only
 * what names the addresses, and only that part is kept. If it had to read so much that the next
 * question would gain from a table, a process in the background can make the table after the
 * answer. A stripped file is read together with its installed debug file, a debug file with the
 * files that it refers to.
 */
#include "rsym.h"
#include "table_cache.h"

struct local_table {
	struct rsym rsym; /* valid after local_table_need() */
	struct build_id id;
	struct build_id hash;       /* htlhash of the file; len 0: `id` is the same */
	unsigned int address_bytes; /* bytes of an address of its machine: 4 or 8 */

	const char *path;
	int fd, debug_fd;
	struct table_cache cache;
	void *p;
	size_t len;
	uint64_t *answers; /* the addresses that a new part answers, rising; or NULL */
	size_t answer_count;
	uint32_t part_ms; /* time of a part so large that a table pays, in ms; else 0 */
	bool whole, kernel, behind;
	bool debug_only; /* a debug file, without the segments of the executable */
};

#define LOCAL_TABLE_NONE                                           \
	{                                                          \
		.fd = -1, .debug_fd = -1, .cache = {.dir_fd = -1 } \
	}

/* Opens a file; `path` is borrowed. Returns ERR_UNSUPPORTED if it is not a regular ELF file, or an
 * error of err_sys(). */
int local_table_open(struct local_table *t, const char *path, bool use_cache,
		     struct err *err) _must_check_;
/* Opens the running kernel from a copy of /proc/kallsyms and takes ownership of `fd`. Addresses are
 * those of the running kernel, and nothing is kept. */
int local_table_open_kernel(struct local_table *t, int fd, const struct build_id *id,
			    struct err *err) _must_check_;
/* Returns whether the id that a profile gives a binary, in hex, means this file: it is the build id
 * or, from profilers that do not read build ids, the htlhash of the file. */
bool local_table_is(const struct local_table *t, const char *hex, size_t len);
/* Takes ownership of the descriptor of a debug file that was found elsewhere. It is used if it
 * belongs to this file and none is known, and closed otherwise. Call it before the first
 * local_table_need(). */
void local_table_debug_file(struct local_table *t, int fd);
void local_table_close(struct local_table *t);

/*
 * Makes t->rsym answer these link-time addresses; vaddrs NULL means all. It may not answer earlier
 * addresses any more. Errors are those of table_build(), with the path in the message.
 */
int local_table_need(struct local_table *t, const uint64_t *vaddrs, size_t count,
		     struct err *err) _must_check_;

/*
 * Keeps what was made; call it after the answers are out. If one more such question would cost more
 * than the whole table, it also leaves a process behind that makes and keeps the table. That
 * process has a session of its own, prints nothing, runs at low priority, and holds nothing of the
 * caller's open. Only for programs of one thread.
 */
void local_table_leave(struct local_table *t);

#endif
