/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a line of a log, and as /proc/PID/maps: what is found lies inside, in order. */
#include <string.h>

#include "log_scan.h"
#include "process_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len);

static void check(const char *line, size_t len, struct log_text t)
{
	if (t.len && (t.p < line || t.len > len || (size_t)(t.p - line) > len - t.len))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	struct log_frame frames[LIMIT_LOG_FRAMES];
	_cleanup_(process_map_done) struct process_map map = {0};
	char *line = malloc(len + 1);
	size_t count, end = 0;
	struct err err;

	if (!line)
		return 0;
	memcpy(line, p, len);
	count = log_scan(line, len, frames);
	for (size_t i = 0; i < count; i++) {
		check(line, len, frames[i].module);
		check(line, len, frames[i].symbol);
		check(line, len, frames[i].spaced_module);
		if (frames[i].end <= end || frames[i].end > len)
			abort();
		end = frames[i].end;
	}
	if (process_map_parse(&map, line, len, &err))
		abort();
	free(line);
	return 0;
}
