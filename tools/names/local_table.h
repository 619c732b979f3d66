/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_LOCAL_TABLE_H
#define RAWSTACK_LOCAL_TABLE_H
/*
 * The table of a file on this machine, without a service: from the cache (table_cache.h), else made
 * in the worker process and kept. For the first few questions only what names the
 * addresses is read, and no more than that is kept; when that was so much that the next would gain,
 * the table can be made behind the answer, by a process of its own. A stripped file is read
 * together with its installed debug file, a debug file with what it refers to.
 */
#include "rsym.h"
#include "table_cache.h"

struct local_table {
	struct rsym rsym; /* after local_table_need() */
	struct build_id id;
	struct build_id hash; /* of the file itself, when that is not `id`; else its len is 0 */
	unsigned int address_bytes; /* of the machine: 4 or 8 */

	const char *path;
	int fd, debug_fd;
	struct table_cache cache;
	void *p;
	size_t len;
	uint64_t *answers; /* NULL, or the addresses that a part just made answers; they rise */
	size_t answer_count;
	uint32_t part_ms; /* 0, or how long a part took that was so large that a table pays */
	bool whole, kernel, behind;
	bool debug_only; /* its segments are not those of the executable */
};

#define LOCAL_TABLE_NONE                                           \
	{                                                          \
		.fd = -1, .debug_fd = -1, .cache = {.dir_fd = -1 } \
	}

/* `path` is borrowed. ERR_UNSUPPORTED: not a regular ELF file; else as err_sys(). */
int local_table_open(struct local_table *t, const char *path, bool use_cache,
		     struct err *err) _must_check_;
/* The kernel whose text of /proc/kallsyms `fd` holds; takes the descriptor. Its addresses are those
 * of the running kernel, and nothing is kept. */
int local_table_open_kernel(struct local_table *t, int fd, const struct build_id *id,
			    struct err *err) _must_check_;
/* Returns whether a profile that calls a binary so, in hex, means this one: by its build id, or as
 * profilers do that did not read it, by the hash of the file. */
bool local_table_is(const struct local_table *t, const char *hex, size_t len);
/* Takes the descriptor of a debug file that was found elsewhere, if it is one of this file and none
 * is known; closes it otherwise. Before the first local_table_need(). */
void local_table_debug_file(struct local_table *t, int fd);
void local_table_close(struct local_table *t);

/*
 * Makes t->rsym answer these link-time addresses; vaddrs NULL: all. What it answered before may be
 * gone. Errors as table_build(), with the path in the message.
 */
int local_table_need(struct local_table *t, const uint64_t *vaddrs, size_t count,
		     struct err *err) _must_check_;

/*
 * After the answers are out: keeps what was made for them, and, where so large a part of the file
 * was read for them that one more such question would cost more than the table, leaves a process
 * behind that makes and keeps the table. It has a session of its own, says nothing, gives way to
 * everybody, and holds nothing of the caller's open. For programs of one thread.
 */
void local_table_leave(struct local_table *t);

#endif
