/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PROCSCAN_H
#define RAWSTACK_PROCSCAN_H
/*
 * Reads the executable mappings that a process has now from /proc: by PROCMAP_QUERY (Linux 6.11),
 * else from the text of maps. This is for processes older than the sampler, and for when records
 * were lost. Build ids are asked for one by one, where a sample fell: the ioctl has them too,
 * without opening a file; the text has none, and struct file_ids finds them. One thread uses it.
 */
#include "mappings.h"

enum procscan_way {
	PROCSCAN_BEST,
	PROCSCAN_IOCTL, /* -ENOTTY without it */
	PROCSCAN_TEXT,  /* as on a kernel without the ioctl */
};

/* The result of a reading; the caller owns all of it. */
struct procscan {
	struct mappings *maps;
	struct module *exe; /* a reference; NULL: unknown */
	char comm[17];      /* untrusted bytes, NUL-terminated */
	bool first_ended;   /* the first thread ended; another one was asked */
	bool is_cut;        /* there are more mappings above these */
};

/*
 * Asks for the build id of what a thread's process has mapped at pc. Returns 1 and *ret; 0 when
 * the kernel knows none, cannot be asked that way, or has another file there than `m` says;
 * negative errno when the process is gone or must not be looked at.
 */
int procscan_id(uint32_t tid, enum procscan_way way, const struct mapping *m, uint64_t pc,
		struct build_id *ret);

/*
 * Checks whether the used rows of a table are still mapped, of the same files at the same places:
 * no record tells of munmap(2), nor of mremap(2), which may put code without a file there. Returns
 * 1; 0 when they are not; negative errno when the process is gone, or this kernel cannot be asked
 * that way.
 */
int procscan_check(uint32_t tid, enum procscan_way way, const struct mappings *maps);

/* Reads the lowest `most` mappings. Returns 0 and *ret; negative errno when the process is gone or
 * must not be looked at. A kernel thread has no mappings, nor has a process whose threads are all
 * ending. */
int procscan_read(uint32_t pid, enum procscan_way way, struct modules *modules, size_t most,
		  struct procscan *ret);

/*
 * Adds to *maps what a thread's process has mapped at each pc of a stack, leaf first, that lies in
 * no row of it. Stops at a caller that lies in no mapping, because what follows is no stack.
 * Returns 0; -ENOSPC when there is no room for all; another negative errno when the process is
 * gone, or this kernel cannot be asked that way (-ENOTTY).
 */
int procscan_find(uint32_t tid, enum procscan_way way, struct modules *modules,
		  struct mappings **maps, const uint64_t *pcs, size_t count);

/* Calls each() for every process. */
void procscan_list(void (*each)(void *arg, uint32_t pid), void *arg);

#endif
