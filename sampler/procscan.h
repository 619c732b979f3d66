/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PROCSCAN_H
#define RAWSTACK_PROCSCAN_H
/*
 * The executable mappings a process has now, from /proc: by PROCMAP_QUERY (Linux 6.11), which gives
 * build ids without opening a file; else from the text of maps, which has none: struct file_ids
 * finds them. For processes older than the sampler, and when records were lost. One thread.
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
};

/* 0 and *ret; negative errno when the process is gone or must not be looked at. No mappings: a
 * kernel thread, or all its threads are ending. */
int procscan_read(uint32_t pid, enum procscan_way way, struct modules *modules,
		  struct procscan *ret);

/* Calls each() with every process there is. */
void procscan_list(void (*each)(void *arg, uint32_t pid), void *arg);

#endif
