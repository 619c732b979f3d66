/* SPDX-License-Identifier: Apache-2.0 */
/* make_spool DIR COUNT [MISSED UNRESOLVED [PERF_LOST]]: a spool of so many samples, each of one
 * frame of its own in /bin/workload, every third of a thread about to sleep, so that tests of what
 * reads spools need no kernel to sample; with so many ticks missed, frames unresolved and records
 * of mappings lost, as its capturer would count them. Its writer ends as if killed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "spool.h"

static void add(struct spool_writer *w, uint64_t n)
{
	struct spool_module module = {
		.id = {.kind = BUILD_ID_GNU, .len = 20, .bytes = {0xab, 0xcd}},
		.path = spool_writer_string(w, "/bin/workload", 13),
	};
	struct spool_thread thread = SPOOL_THREAD_INIT;
	struct location location = {
		.kind = LOCATION_FILE_OFF,
		.module = spool_writer_module(w, &module),
		.address = 0x1000 + n,
		.name = LOCATION_NO_INDEX,
	};
	uint32_t frame = spool_writer_location(w, &location);

	thread.pid = thread.tid = 42;
	thread.exe = module.path;
	thread.state = n % 3 == 0; /* TASK_INTERRUPTIBLE */
	thread.comm = spool_writer_string(w, "worker", 6);
	spool_writer_sample(w, &(struct spool_sample){
				       .time_ns = 1 + n,
				       .thread = spool_writer_thread(w, &thread),
				       .stack = spool_writer_stack(w, &frame, 1, 0),
				       .weight = 1,
			       });
}

int main(int argc, char **argv)
{
	const struct spool_limits limits = {.segment_len = MIB, .free_floor = 1};
	const struct spool_origin origin = {
		.host_name = "host",
		.event = "cpu-clock",
		.backend = "test",
		.period_ns = 10000000,
	};
	struct spool_writer *w = NULL;
	uint64_t count = argc == 3 || argc == 5 || argc == 6 ? strtoull(argv[2], NULL, 10) : 0;
	struct err err = {0};

	if (!count)
		return 2;
	if (spool_writer_open(&w, argv[1], &limits, &origin, NULL, &err)) {
		fprintf(stderr, "%s\n", err.message);
		return 1;
	}
	if (argc == 6)
		spool_writer_loss(w, SPOOL_LOSS_PERF_LOST, strtoull(argv[5], NULL, 10));
	if (argc >= 5) {
		spool_writer_loss(w, SPOOL_LOSS_MISSED, strtoull(argv[3], NULL, 10));
		spool_writer_loss(w, SPOOL_LOSS_UNRESOLVED, strtoull(argv[4], NULL, 10));
	}
	/* A record for each: what is torn costs the last of them. */
	for (uint64_t n = 0; n < count; n++) {
		add(w, n);
		if (spool_writer_flush(w, &err)) {
			fprintf(stderr, "%s\n", err.message);
			return 1;
		}
	}
	/* Without a seal, and without the memory of the writer given back. */
	_exit(0);
}
