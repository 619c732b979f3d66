/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_FILE_ID_H
#define RAWSTACK_FILE_ID_H
/*
 * Identifies a mapped file for which the kernel told no build id, by the id in its notes, else by
 * its htlhash, as image_identify() does. The kernel finds an id only in segments of the first page,
 * and only when that is in memory; Go programs have it in a section alone. These functions run in
 * the helper process (file_helper.h), because opening and reading a file may take for ever; the
 * capture loop must not call them.
 */
#include "build_id.h"

/* A mapped file, as the kernel tells it; inode 0: unknown. On overlay file systems the inode is the
 * one that stat(2) tells, but the device is not. */
struct file_key {
	uint64_t dev, inode;
	uint64_t generation; /* of the inode, where it is known */
};

/*
 * Opens the file that a process has mapped by this path: the path below the process's root, which
 * no link leaves; else the program that it runs; else, when the process is gone, the path as this
 * process sees it. The inode, if `key` has one, and the type are checked before the file is opened,
 * so that no FIFO waits and no device notices. Returns a read-only descriptor, or -errno: -ESTALE
 * when another file is there now. Needs CAP_SYS_PTRACE for other users' processes.
 */
int file_id_open(uint32_t pid, const char *path, const struct file_key *key);

/*
 * Does the same for a caller that knows the build id and compares it, so that any file with that id
 * will do: the program that the process runs, if is_program; else the path below the process's
 * root; else the path as this process sees it.
 */
int file_id_open_any(uint32_t pid, const char *path, bool is_program);

/* Returns 0 and *ret, or negative when the file is no ELF file or cannot be read. Reads at most 8
 * KiB and some headers. */
int file_id_of(int fd, struct build_id *ret);

#endif
