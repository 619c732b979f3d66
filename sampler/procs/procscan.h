/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PROCSCAN_H
#define RAWSTACK_PROCSCAN_H
/*
 * The executable mappings a process has now, from /proc: by PROCMAP_QUERY (Linux 6.11), else from
 * the text of maps. For processes older than the sampler, and when records were lost. Their build
 * ids are asked for one by one, where a sample fell: the ioctl has them too, without opening a
 * file; the text has none, and struct file_ids finds them. One thread.
 */
#include "mappings.h"

enum procscan_way {
	PROCSCAN_BEST,
	PROCSCAN_IOCTL, /* -ENOTTY without it */
	PROCSCAN_TEXT,  /* as on a kernel without the ioctl */
};

/* All of it is the caller's. */
struct procscan {
	struct mappings *maps;
	struct module *exe; /* a reference; NULL: unknown */
	char comm[17];      /* untrusted bytes, NUL-terminated */
	bool first_ended;   /* its first thread; another one was asked */
	bool is_cut;        /* it has more mappings, above these */
};

/*
 * The build id of what a thread's process has mapped at pc: 1 and *ret; 0 when the kernel knows
 * none, is not to be asked that way, or it is another file by now than `m` has; negative errno when
 * the process is gone or must not be looked at.
 */
int procscan_id(uint32_t tid, enum procscan_way way, const struct mapping *m, uint64_t pc,
		struct build_id *ret);

/*
 * Whether what is marked as used of a table of a thread's process is mapped there now, of files at
 * the same places: 1; 0 when it is not. Nobody is told of munmap(2), nor of mremap(2), which may
 * put code without a file there. Negative errno when that cannot be found out: the process is gone,
 * or this kernel is not to be asked that way.
 */
int procscan_check(uint32_t tid, enum procscan_way way, const struct mappings *maps);

/* 0 and *ret, at most `most` mappings, the lowest ones; negative errno when the process is gone or
 * must not be looked at. No mappings: a kernel thread, or all its threads are ending. */
int procscan_read(uint32_t pid, enum procscan_way way, struct modules *modules, size_t most,
		  struct procscan *ret);

/*
 * Adds to *maps what a thread's process has mapped at each pc of a stack, leaf first, that lies in
 * no row of it. Ends behind a caller that lies in no mapping: what comes then is no stack. 0;
 * -ENOSPC when there is no room for all; another negative errno when the process is gone, or this
 * kernel is not to be asked that way (-ENOTTY).
 */
int procscan_find(uint32_t tid, enum procscan_way way, struct modules *modules,
		  struct mappings **maps, const uint64_t *pcs, size_t count);

/* Calls each() with every process there is. */
void procscan_list(void (*each)(void *arg, uint32_t pid), void *arg);

#endif
