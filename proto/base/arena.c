/* SPDX-License-Identifier: Apache-2.0 */
#include "arena.h"

#include <string.h>

enum {
	BLOCK_LEN = 64 << 10,
	ALIGN = 16
};

struct arena_block {
	struct arena_block *next;
	size_t used;
	size_t len;
	_Alignas(ALIGN) uint8_t data[];
};

static struct arena_block *block_new(size_t len)
{
	struct arena_block *b;
	size_t bytes;

	if (!CHECKED_ADD(sizeof(*b), len, &bytes))
		return NULL;
	b = malloc(bytes);
	if (b) {
		b->next = NULL;
		b->used = 0;
		b->len = len;
	}
	return b;
}

void *arena_take(struct arena *a, size_t len)
{
	struct arena_block *b = a->head;
	size_t rounded, total;
	void *p;

	if (!CHECKED_ADD(len, ALIGN - 1, &rounded))
		return NULL;
	rounded &= ~(size_t)(ALIGN - 1);
	if (!CHECKED_ADD(a->used, rounded, &total) || total > a->max)
		return NULL;
	if (!b || rounded > b->len - b->used) {
		b = block_new(rounded > BLOCK_LEN ? rounded : BLOCK_LEN);
		if (!b)
			return NULL;
		b->next = a->head;
		a->head = b;
	}
	p = b->data + b->used;
	b->used += rounded;
	a->used = total;
	return p;
}

void *arena_alloc(struct arena *a, size_t len)
{
	void *p = arena_take(a, len);

	if (p)
		memset(p, 0, len);
	return p;
}

void *arena_array(struct arena *a, size_t count, size_t size)
{
	size_t len;

	return CHECKED_MUL(count, size, &len) ? arena_alloc(a, len) : NULL;
}

char *arena_copy(struct arena *a, const void *p, size_t len)
{
	char *to = len < SIZE_MAX ? arena_take(a, len + 1) : NULL;

	if (!to)
		return NULL;
	if (len)
		memcpy(to, p, len);
	to[len] = 0;
	return to;
}

void arena_reset(struct arena *a)
{
	struct arena_block *keep = a->head;

	if (!keep)
		return;
	while (keep->next) {
		struct arena_block *next = keep->next;

		keep->next = next->next;
		free(next);
	}
	if (keep->len > BLOCK_LEN) {
		free(keep);
		a->head = NULL;
	} else {
		keep->used = 0;
	}
	a->used = 0;
}

void arena_done(struct arena *a)
{
	while (a->head) {
		struct arena_block *next = a->head->next;

		free(a->head);
		a->head = next;
	}
	a->used = 0;
}
