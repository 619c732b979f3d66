/* SPDX-License-Identifier: Apache-2.0 */
#include "heap.h"

#include <malloc.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base.h"
#include "limits.h"

enum {
	MAPPED_LEN =
		32 << 20,   /* larger blocks are mappings of their own; the most that is allowed */
	TRIM_LEN = 4 << 20, /* free at the top, beyond what stays, before it is given back */
};

void heap_settle(size_t len)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	_cleanup_(freep) char *room = NULL;
	uintptr_t start, end;

	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, MAPPED_LEN);
	mallopt(M_TRIM_THRESHOLD, (int)(len + TRIM_LEN));
	mallopt(M_TOP_PAD, (int)len);
	room = malloc(len);
	if (!room)
		return;
	start = ((uintptr_t)room + page - 1) / page * page;
	end = ((uintptr_t)room + len) / page * page;
	/* Linux 5.14; before, pages are touched one by one. */
	if (madvise((void *)start, end - start, MADV_POPULATE_WRITE))
		memset(room, 0, len);
}
