/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands in for libFuzzer in ordinary builds: `fuzz_x PATH...` gives each file, and each file of a
 * directory, to the target once, then cut short at every byte when it is small.
 */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "err.h"
#include "io.h"
#include "limits.h"

#define CUT_MAX ((size_t)4096)

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len);

/* An exact copy, so that a sanitizer sees the first byte read too far. */
static void run_one(const uint8_t *p, size_t len)
{
	_cleanup_(freep) uint8_t *copy = malloc(len ? len : 1);

	if (!copy)
		abort();
	memcpy(copy, p, len);
	LLVMFuzzerTestOneInput(copy, len);
}

static int run_file(const char *path)
{
	_cleanup_(freep) uint8_t *p = NULL;
	struct err err = {0};
	size_t len;

	if (io_read_file(path, LIMIT_PPROF_FILE_LEN, &p, &len, &err)) {
		fprintf(stderr, "replay: %s\n", err.message);
		return 1;
	}
	run_one(p, len);
	for (size_t cut = 0; len <= CUT_MAX && cut < len; cut++)
		run_one(p, cut);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned int files = 0;
	int rc = 0;

	for (int i = 1; i < argc; i++) {
		DIR *dir = opendir(argv[i]);
		struct dirent *entry;
		char path[4096];

		if (!dir) {
			rc |= run_file(argv[i]);
			files++;
			continue;
		}
		while ((entry = readdir(dir))) {
			if (entry->d_name[0] == '.')
				continue;
			snprintf(path, sizeof(path), "%s/%s", argv[i], entry->d_name);
			rc |= run_file(path);
			files++;
		}
		closedir(dir);
	}
	printf("replay: %u files\n", files);
	return rc || !files;
}
