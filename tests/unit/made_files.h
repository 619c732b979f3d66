/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_MADE_FILES_H
#define RAWSTACK_MADE_FILES_H
/*
 * Files that a test makes below its own directory, laid out as those of a system are. Failures are
 * cmocka's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

/* Writes a file anew, and makes the directories above it. path: relative. */
static inline void made_file_put(const char *path, const void *p, size_t len)
{
	char dir[256];
	FILE *f;

	for (const char *at = strchr(path, '/'); at; at = strchr(at + 1, '/')) {
		snprintf(dir, sizeof(dir), "%.*s", (int)(at - path), path);
		mkdir(dir, 0755);
	}
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(p, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

static inline void made_file_put_text(const char *path, const char *text)
{
	made_file_put(path, text, strlen(text));
}

#endif
