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
		32 << 20,   /* larger blocks are mappings of their own; malloc() allows no more */
	TRIM_LEN = 4 << 20, /* free memory at the top is given back above the room and this */
};

/* Makes room at the top of the heap and makes it resident. */
static void prefault_room(size_t len)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	_cleanup_(freep) char *room = malloc(len);
	uintptr_t start, end;

	if (!room)
		return;
	start = ((uintptr_t)room + page - 1) / page * page;
	end = ((uintptr_t)room + len) / page * page;
	/* Linux 5.14 and later can do this; on older kernels the pages are touched one by one. */
	if (madvise((void *)start, end - start, MADV_POPULATE_WRITE))
		memset(room, 0, len);
}

void heap_prefault(struct heap *h, size_t first, size_t all)
{
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, MAPPED_LEN);
	mallopt(M_TRIM_THRESHOLD, (int)(all + TRIM_LEN));
	prefault_room(first);
	*h = (struct heap){sbrk(0), all > first ? all - first : 0};
}

void heap_poll(struct heap *h)
{
	if (!h->rest_len || (const char *)sbrk(0) <= h->end)
		return;
	prefault_room(h->rest_len);
	h->rest_len = 0;
}
