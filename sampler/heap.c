/* SPDX-License-Identifier: Apache-2.0 */
#include "heap.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base.h"
#include "io.h"
#include "limits.h"

enum {
	MAPPED_LEN =
		32 << 20, /* larger blocks are mappings of their own; the most that is allowed */
	HUGE_LEN = 2 << 20,
	HUGE_ORDER = 9, /* of pages of 4 KiB */
	HUGE_SPARE = 4, /* times what is needed has to be free */
	BUDDYINFO_LEN = 65536,
	TRIM_LEN = 4 << 20, /* free at the top, beyond what stays, before it is given back */
};

/*
 * Whether huge pages lie about free. A room of them takes a quarter of the time, and less of a
 * processor's tables of addresses; but the kernel makes some when there are none, and whoever asks
 * waits for that, 51 ms where it was 36.
 *
 * /proc/buddyinfo: "Node 0, zone Normal", then how many free blocks there are of 1, 2, 4, ...
 * pages.
 */
static bool has_huge(size_t len)
{
	_cleanup_(freep) uint8_t *text = NULL;
	uint64_t free_len = 0;
	size_t text_len;
	char *at;

	if (sysconf(_SC_PAGESIZE) != HUGE_LEN >> HUGE_ORDER ||
	    io_read_file("/proc/buddyinfo", BUDDYINFO_LEN, &text, &text_len, NULL))
		return false;
	at = (char *)text;
	while ((at = strstr(at, " Normal "))) {
		at += strlen(" Normal ");
		for (unsigned int order = 0; *at && *at != '\n'; order++) {
			char *end;
			uint64_t count = strtoull(at, &end, 10);

			if (end == at)
				break;
			if (order >= HUGE_ORDER)
				free_len += count << (order - HUGE_ORDER);
			at = end;
			while (*at == ' ')
				at++;
		}
	}
	return free_len >= HUGE_SPARE * (uint64_t)(len / HUGE_LEN);
}

void heap_settle(size_t len)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	_cleanup_(freep) char *room = NULL;
	uintptr_t start, end;
	bool is_huge;

	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, MAPPED_LEN);
	mallopt(M_TRIM_THRESHOLD, (int)(len + TRIM_LEN));
	mallopt(M_TOP_PAD, (int)len);
	room = malloc(len);
	if (!room)
		return;
	start = ((uintptr_t)room + page - 1) / page * page;
	end = ((uintptr_t)room + len) / page * page;
	is_huge = len >= 2 * HUGE_LEN && has_huge(len) &&
		  madvise((void *)start, end - start, MADV_HUGEPAGE) == 0;
	/* Linux 5.14; before, pages are touched one by one. */
	if (madvise((void *)start, end - start, MADV_POPULATE_WRITE))
		memset(room, 0, len);
	/* What is there stays; nobody shall wait for one later. */
	if (is_huge)
		madvise((void *)start, end - start, MADV_NOHUGEPAGE);
}
