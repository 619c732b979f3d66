/* SPDX-License-Identifier: Apache-2.0 */
#include "table_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "demangle_budget.h"

/* The size of each of the caches of unpacked names and of paths. Tables of large programs need
 * less. */
#define CACHE_MAX (32 * MIB)

int table_text_open(struct table_text *t, const char *path, struct err *err)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	int rc;

	*t = (struct table_text){0};
	if (fd < 0 || fstat(fd, &st))
		return err_sys(err, errno, "%s", path);
	if (!S_ISREG(st.st_mode) || st.st_size == 0)
		return err_set(err, ERR_DATA, "%s: not a Rawstack table", path);
	t->map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (t->map == MAP_FAILED) {
		t->map = NULL;
		return err_sys(err, errno, "%s", path);
	}
	t->map_len = (size_t)st.st_size;
	rc = rsym_open(&t->table, t->map, t->map_len, err);
	if (!rc) {
		t->reader = rsym_reader_new(&t->table, CACHE_MAX, err);
		rc = t->reader ? 0 : ERR_MEMORY;
	}
	if (rc) {
		table_text_close(t);
		return err_prefix(err, "%s", path);
	}
	return 0;
}

void table_text_close(struct table_text *t)
{
	rsym_reader_free(t->reader);
	if (t->map)
		munmap(t->map, t->map_len);
	*t = (struct table_text){0};
}

int table_text_name(const struct table_text *t, uint32_t function, struct buf *out, struct err *err)
{
	const uint8_t *raw;
	size_t len;
	int rc = rsym_reader_name(t->reader, function, &raw, &len, err);

	buf_reset(out);
	return !rc && !demangle_budget_append(t->style, raw, len, out) ? err_no_memory(err) : rc;
}

int table_text_file(const struct table_text *t, uint32_t file, struct buf *out, struct err *err)
{
	const uint8_t *raw;
	size_t len;

	buf_reset(out);
	if (file == RSYM_NONE)
		return 0;
	TRY(rsym_reader_file(t->reader, file, &raw, &len, err));
	if (!buf_append(out, raw, len))
		return err_full(err, out->no_memory, "path longer than the %zu bytes allowed",
				out->max);
	return 0;
}

void table_text_put(const void *p, size_t len)
{
	const uint8_t *s = p;

	for (size_t i = 0; i < len; i++)
		putchar(s[i] < 0x20 || s[i] == 0x7f ? '?' : s[i]);
}
