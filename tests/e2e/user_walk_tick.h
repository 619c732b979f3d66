/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef RAWSTACK_USER_WALK_TICK_H
#define RAWSTACK_USER_WALK_TICK_H
/* What user_walk.bpf.c tells user_walk.c. The including file has defined the fixed-width types. */

enum {
	USER_WALK_TICK_DEPTH = 127
};

struct user_walk_tick {
	uint32_t ours_count, theirs_count;
	int32_t syscall, zero;
	char comm[16];
	uint64_t ours[256], theirs[256];
};

#endif
