/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_KEPT_FILES_H
#define RAWSTACK_KEPT_FILES_H
/*
 * Keeps uploaded files that may be needed again, under DATA/kept and compressed by zstd: files
 * whose companion has not come, files that others refer to, and with --keep-debug all files, for
 * rebuilds. They have a byte budget of their own; the least recently used go first. Safe from any
 * thread.
 *
 * On disk: <build id>.<role>, a zstd frame; its modification time is that of its last use.
 */
#include "build_id.h"
#include "err.h"

/* The part that a file has in the table of its id. */
enum kept_role {
	KEPT_DEBUG,      /* holds DWARF or the full symbols, and perhaps code */
	KEPT_EXECUTABLE, /* the file that a debug file was split from */
	KEPT_ALT,        /* dwz alternate file, under its own id */
	KEPT_DWP,        /* package of split units, under the id of the program */
	KEPT_FAILED,     /* made no table; kept for people to look at */
	KEPT_ROLES,
};

struct kept_files;

/* Opens DATA/kept and removes what a crash left; files with foreign names stay. Returns ERR_IO, or
 * ERR_DENIED if the directory belongs to somebody else. */
int kept_files_open(struct kept_files **ret, int data_fd, uint64_t max_bytes,
		    struct err *err) _must_check_;
void kept_files_close(struct kept_files *k);

/* Sets another budget, and removes the least recently used files above it at once. */
void kept_files_set_max(struct kept_files *k, uint64_t max_bytes);

/* Stores a copy of len bytes, durable at return, in place of an older one of this id and role.
 * Returns ERR_LIMIT if it exceeds the budget or the disk has no room, or ERR_IO. */
int kept_files_put(struct kept_files *k, const struct build_id *id, enum kept_role role, int fd,
		   uint64_t len, struct err *err) _must_check_;

bool kept_files_have(struct kept_files *k, const struct build_id *id, enum kept_role role);

/* Returns 1, with *ret_fd an unnamed file that holds the unpacked bytes, 0 if no such file is kept,
 * or a negative code. A damaged file is removed. */
int kept_files_get(struct kept_files *k, const struct build_id *id, enum kept_role role,
		   int *ret_fd, struct err *err);

void kept_files_remove(struct kept_files *k, const struct build_id *id, enum kept_role role);

/* Removes all files of an id, durably: none comes back after a power cut. Returns 0 or ERR_IO. */
int kept_files_remove_all(struct kept_files *k, const struct build_id *id, struct err *err);

/* Returns the descriptor of the directory; it stays the module's. */
int kept_files_dir(const struct kept_files *k);

struct kept_files_stat {
	uint64_t count, bytes, max_bytes;
};

void kept_files_stat(struct kept_files *k, struct kept_files_stat *ret);

#endif
