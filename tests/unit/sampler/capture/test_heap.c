/* SPDX-License-Identifier: Apache-2.0 */
/* Two sizes of the heap: that of a quiet host, and that of one whose tables outgrew it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base.h"
#include "heap.h"

enum {
	FIRST_LEN = 1 << 20,
	ALL_LEN = 8 << 20,
	SLACK_LEN = 1 << 19, /* of stdio, meanwhile */
	PIECE_LEN = 4096,
	PIECE_COUNT = ALL_LEN / 2 / PIECE_LEN,
};

/* Memory of its own, page by page: other numbers of the kernel are not exact, and have code in
 * them, which goes when memory is short. */
static size_t resident(void)
{
	unsigned long kib = 0;
	char line[256];
	FILE *f = fopen("/proc/self/smaps_rollup", "re");

	assert_non_null(f);
	while (!kib && fgets(line, sizeof(line), f))
		if (!strncmp(line, "Anonymous:", 10))
			kib = strtoul(line + 10, NULL, 10);
	fclose(f);
	assert_true(kib > 0);
	return kib * 1024;
}

static void test_two_sizes(void **state _unused_)
{
	static void *pieces[PIECE_COUNT];
	struct heap h;
	size_t before, quiet, busy;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	skip(); /* the heap is theirs */
#endif
	before = resident();
	heap_prefault(&h, FIRST_LEN, ALL_LEN);
	quiet = resident();
	assert_true(quiet >= before + FIRST_LEN);
	assert_true(quiet < before + FIRST_LEN + SLACK_LEN);

	/* What fits asks for nothing. */
	for (size_t i = 0; i < FIRST_LEN / 2 / PIECE_LEN; i++)
		pieces[i] = calloc(1, PIECE_LEN - 16);
	heap_poll(&h);
	assert_true(resident() < quiet + SLACK_LEN);

	/* What does not takes all there is to take, once. */
	for (size_t i = FIRST_LEN / 2 / PIECE_LEN; i < 2 * FIRST_LEN / PIECE_LEN; i++)
		pieces[i] = calloc(1, PIECE_LEN - 16);
	heap_poll(&h);
	busy = resident();
	assert_true(busy >= before + ALL_LEN);
	for (size_t i = 2 * FIRST_LEN / PIECE_LEN; i < PIECE_COUNT; i++)
		pieces[i] = calloc(1, PIECE_LEN - 16);
	heap_poll(&h);
	assert_true(resident() < busy + SLACK_LEN);

	/* And it stays. */
	for (size_t i = 0; i < PIECE_COUNT; i++)
		free(pieces[i]);
	assert_true(resident() >= before + ALL_LEN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_two_sizes)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
