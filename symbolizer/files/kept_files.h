/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_KEPT_FILES_H
#define RAWSTACK_KEPT_FILES_H
/*
 * Uploaded files that may be needed again, under DATA/kept, zstd-compressed: one whose companion
 * has not come, one that others refer to, and with --keep-debug all, so that tables can be made
 * anew. Within a budget of bytes of its own; what was not used for the longest goes. Safe from any
 * thread.
 *
 * On disk: <build id>.<role>, a zstd frame; its modification time is that of its last use.
 */
#include "build_id.h"
#include "err.h"

/* What a file is to the table of its id. */
enum kept_role {
	KEPT_DEBUG,      /* holds DWARF or the full symbols; perhaps the code as well */
	KEPT_EXECUTABLE, /* the one that a debug file was split from */
	KEPT_ALT,        /* dwz alternate file, under its own id */
	KEPT_DWP,        /* package of split units, under the id of the program */
	KEPT_FAILED,     /* made no table; for people to look at */
	KEPT_ROLES,
};

struct kept_files;

/* ERR_IO, ERR_DENIED when DATA/kept is not ours. What a crash left is removed; files with names
 * that we do not give stay. */
int kept_files_open(struct kept_files **ret, int data_fd, uint64_t max_bytes,
		    struct err *err) _must_check_;
void kept_files_close(struct kept_files *k);

/* A copy of len bytes, durable at return; replaces an older one of its id and role. ERR_LIMIT when
 * it does not fit the budget, ERR_IO. */
int kept_files_put(struct kept_files *k, const struct build_id *id, enum kept_role role, int fd,
		   uint64_t len, struct err *err) _must_check_;

bool kept_files_have(struct kept_files *k, const struct build_id *id, enum kept_role role);

/* 1 with *ret_fd an unnamed file that holds the bytes, 0 when it is not there, or negative; a
 * damaged one is removed. */
int kept_files_get(struct kept_files *k, const struct build_id *id, enum kept_role role,
		   int *ret_fd, struct err *err);

void kept_files_remove(struct kept_files *k, const struct build_id *id, enum kept_role role);

/* All of an id, durable at return: none comes back after a power cut. ERR_IO. */
int kept_files_remove_all(struct kept_files *k, const struct build_id *id, struct err *err);

/* The directory that they lie in. */
int kept_files_dir(const struct kept_files *k);

struct kept_files_stat {
	uint64_t count, bytes, max_bytes;
};

void kept_files_stat(struct kept_files *k, struct kept_files_stat *ret);

#endif
