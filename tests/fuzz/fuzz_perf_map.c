/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a perf map: what is found holds the address it was asked for, and what is kept of it
 * is in order. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "jit.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len);

static int open_bytes(const uint8_t *p, size_t len)
{
	int fd = memfd_create("perf-map", MFD_CLOEXEC);

	if (fd < 0 || write(fd, p, len) != (ssize_t)len || lseek(fd, 0, SEEK_SET))
		abort();
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	const uint64_t pcs[] = {0, 1, 0x7f0000001000, 0x7f000000100f, 0x7f0000001020, UINT64_MAX};
	struct perf_map_row rows[ARRAY_LEN(pcs)];
	struct jit *j = jit_new();
	int fd = open_bytes(p, len);

	if (!j || perf_map_find(fd, pcs, ARRAY_LEN(pcs), rows))
		abort();
	close(fd);
	for (size_t i = 0; i < ARRAY_LEN(pcs); i++) {
		if (!memchr(rows[i].name, 0, sizeof(rows[i].name)))
			abort();
		if (rows[i].len &&
		    (pcs[i] < rows[i].start || pcs[i] - rows[i].start >= rows[i].len))
			abort();
		/* Two rows are parts of one line, the same, or apart. */
		for (size_t k = 0; k < i && rows[i].len; k++)
			if (rows[k].len && rows[k].start + rows[k].len > rows[i].start &&
			    (rows[k].start != rows[i].start || rows[k].len != rows[i].len))
				abort();
		jit_want(j, pcs[i], 1);
	}
	jit_answer(j, 0, rows, ARRAY_LEN(rows), 1);
	/* What came last is there, unless it wraps around. */
	if (rows[2].len && rows[2].start + rows[2].len > rows[2].start && !jit_find(j, pcs[2], 2))
		abort();
	if (jit_find(j, pcs[2], UINT64_MAX))
		abort(); /* believed for ever */
	jit_unref(j);
	return 0;
}
