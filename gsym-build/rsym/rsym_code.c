/* SPDX-License-Identifier: Apache-2.0 */
#include "rsym_code.h"

#include <stdlib.h>
#include <string.h>

#include "rsym_format.h"

static int compare_section_names(const void *va, const void *vb)
{
	const struct rsym_code_section *a = va, *b = vb;
	size_t shared = a->name_len < b->name_len ? a->name_len : b->name_len;
	/* The pointer to an empty name may be NULL, which memcmp() must not get (C17 7.24.1). */
	int order = shared ? memcmp(a->name, b->name, shared) : 0;

	return order ? order : (a->name_len > b->name_len) - (a->name_len < b->name_len);
}

static size_t keep_unique(struct rsym_code_section *list, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count;) {
		size_t same = 1;

		while (i + same < count && compare_section_names(&list[i], &list[i + same]) == 0)
			same++;
		if (same == 1)
			list[kept++] = list[i];
		i += same;
	}
	return kept;
}

void rsym_code_put(struct buf *out, struct rsym_code_section *list, size_t count)
{
	uint64_t name_at = 0;

	if (!count || count > LIMIT_CODE_SECTIONS)
		return;
	qsort(list, count, sizeof(*list), compare_section_names);
	count = keep_unique(list, count);
	for (size_t i = 0; i < count; i++) {
		struct rsym_disk_code disk = {.vaddr = list[i].vaddr,
					      .len = list[i].len,
					      .name_at = (uint32_t)name_at,
					      .name_len = (uint32_t)list[i].name_len};

		if (i == 0)
			buf_u64(out, count);
		buf_append(out, &disk, sizeof(disk));
		name_at += list[i].name_len;
		out->failed |= name_at > UINT32_MAX;
	}
	for (size_t i = 0; i < count; i++)
		buf_append(out, list[i].name, list[i].name_len);
}

/* Returns the number of code sections, or 0 if the section is inconsistent. */
static uint64_t code_count(const struct rsym *t)
{
	uint64_t count;

	if (!t->code.p || t->code.len < sizeof(count))
		return 0;
	memcpy(&count, t->code.p, sizeof(count));
	return count <= LIMIT_CODE_SECTIONS && count <= (t->code.len - sizeof(count)) /
								sizeof(struct rsym_disk_code)
		       ? count
		       : 0;
}

static bool code_at(const struct rsym *t, uint64_t count, uint64_t i, struct rsym_code_section *ret)
{
	uint64_t names = sizeof(count) + count * sizeof(struct rsym_disk_code);
	struct rsym_disk_code disk;

	memcpy(&disk, t->code.p + sizeof(count) + i * sizeof(disk), sizeof(disk));
	if (disk.name_len > LIMIT_NAME_LEN || disk.name_at > t->code.len - names ||
	    disk.name_len > t->code.len - names - disk.name_at)
		return false;
	*ret = (struct rsym_code_section){.name = (const char *)t->code.p + names + disk.name_at,
					  .name_len = disk.name_len,
					  .vaddr = disk.vaddr,
					  .len = disk.len};
	return true;
}

int rsym_vaddr_of_section(const struct rsym *t, const void *name, size_t name_len, uint64_t off,
			  uint64_t *ret_vaddr)
{
	struct rsym_code_section want = {.name = name, .name_len = name_len}, s;
	uint64_t low = 0, count = code_count(t), left = count;

	while (left) {
		uint64_t half = left / 2;
		int order;

		if (!code_at(t, count, low + half, &s))
			return 0;
		order = compare_section_names(&s, &want);
		if (order == 0)
			return off < s.len && CHECKED_ADD(s.vaddr, off, ret_vaddr);
		if (order < 0) {
			low += half + 1;
			left -= half + 1;
		} else {
			left = half;
		}
	}
	return 0;
}

int rsym_code_check(const struct rsym *t, struct err *err)
{
	uint64_t count = code_count(t), end;
	struct rsym_code_section s, before = {0};
	bool ok = !t->code.p || count;

	for (uint64_t i = 0; i < count && ok; i++) {
		ok = code_at(t, count, i, &s) && CHECKED_ADD(s.vaddr, s.len, &end) &&
		     (!i || compare_section_names(&before, &s) < 0);
		before = s;
	}
	return ok ? 0
		  : err_set(err, ERR_DATA, "damaged table: section %d does not fit the others",
			    RSYM_SECTION_CODE);
}
