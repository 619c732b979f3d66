/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_FILE_ID_H
#define RAWSTACK_FILE_ID_H
/*
 * The identity of a mapped file that the kernel told no build id of: the id of its notes (the
 * kernel looks at segments of the first page only, and only when that is in memory; Go programs
 * have it in a section alone), else its htlhash. As
 * image_identify() gives it for the same file. These run in the helper process (file_helper.h), for
 * opening and reading a file may take for ever; nothing here is for the capture loop.
 */
#include "build_id.h"

/* What was mapped, as the kernel tells it; an inode of 0 is unknown. On overlay file systems the
 * device is not the one stat(2) tells, the inode is. */
struct file_key {
	uint64_t dev, inode;
	uint64_t generation; /* of the inode, where it is known */
};

/*
 * A read-only descriptor of the file a process has mapped by this path, or -errno: by the path
 * below the process's root, where no link leads out of it; else the program it runs; else, when
 * the process is gone, by the path as this process sees it. The file has the inode of `key`, and
 * is a regular one before it is opened: no FIFO waits, no device notices. -ESTALE when another file
 * is there now. Needs CAP_SYS_PTRACE for processes of others.
 */
int file_id_open(uint32_t pid, const char *path, const struct file_key *key);

/*
 * The same when the build id is known and is compared by the caller, so that any file with it will
 * do: the program that the process runs when that is what is meant, else by the path below the
 * process's root, else by the path as this process sees it.
 */
int file_id_open_any(uint32_t pid, const char *path, bool is_program);

/* 0 and *ret; negative when it is no ELF file, or cannot be read. Reads 8 KiB and some
 * headers at most. */
int file_id_of(int fd, struct build_id *ret);

#endif
