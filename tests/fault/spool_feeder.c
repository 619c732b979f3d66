/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool_feeder DIR PROGRESS FIRST SAMPLES SPOOL-MIB BUILD-ID [END]: what a capturer is to its
 * spool, without a kernel to sample: every 10 ms so many samples, each of one frame at the offset
 * of its own number, from FIRST on, below END. In the file PROGRESS, whatever happens to this
 * process, stand two numbers of eight bytes: the next sample, and how many syncs of files with
 * samples have ended well. SIGTERM ends it in order: then it prints what it added and what its
 * writer lost.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "spool.h"

enum {
	NEXT,
	SYNCS,
	PROGRESS_COUNT,
	FDS_MAX = 256
};

static volatile sig_atomic_t stopping;
static _Atomic uint64_t *progress;
static atomic_bool has_samples[FDS_MAX]; /* behind the header, of the file with this descriptor */

static void on_signal(int signum _unused_)
{
	stopping = 1;
}

static ssize_t noted_pwrite(void *ctx, int fd, const void *p, size_t len, off_t off)
{
	if (off > 0 && fd < FDS_MAX)
		atomic_store(&has_samples[fd], true);
	return io_system()->pwrite(ctx, fd, p, len, off);
}

static int noted_sync(void *ctx, int fd)
{
	int rc = io_system()->sync(ctx, fd);

	if (!rc && fd < FDS_MAX && atomic_load(&has_samples[fd]))
		atomic_fetch_add(&progress[SYNCS], 1);
	return rc;
}

static int noted_close(void *ctx, int fd)
{
	if (fd < FDS_MAX)
		atomic_store(&has_samples[fd], false);
	return io_system()->close(ctx, fd);
}

/* The file is there when it says where this begins, not before. */
static int open_progress(const char *path, uint64_t first, struct err *err)
{
	char temp[4096];
	_cleanup_(closep) int fd = -1;
	const size_t len = PROGRESS_COUNT * sizeof(*progress);

	snprintf(temp, sizeof(temp), "%s.new", path);
	fd = open(temp, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, (off_t)len))
		return err_set(err, ERR_IO, "%s", temp);
	progress = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (progress == MAP_FAILED)
		return err_set(err, ERR_IO, "%s: mmap", temp);
	atomic_store(&progress[NEXT], first);
	return rename(temp, path) ? err_set(err, ERR_IO, "%s: rename", temp) : 0;
}

static void add(struct spool_writer *w, uint64_t n, const struct build_id *id)
{
	struct spool_module module = {
		.id = *id,
		.path = spool_writer_string(w, "/bin/feeder", 11),
	};
	struct spool_thread thread = {.pid = 42, .tid = 42, .exe = module.path};
	struct location location = {
		.kind = LOCATION_FILE_OFF,
		.module = spool_writer_module(w, &module),
		.address = n,
		.name = LOCATION_NO_INDEX,
	};
	uint32_t frame = spool_writer_location(w, &location);
	const struct io *io = io_system();

	thread.comm = spool_writer_string(w, "feeder", 6);
	spool_writer_sample(w, &(struct spool_sample){
				       .time_ns = io->mono_ns(io->ctx),
				       .thread = spool_writer_thread(w, &thread),
				       .stack = spool_writer_stack(w, &frame, 1, 0),
				       .weight = 1,
			       });
}

static int feed(char **argv, struct err *err)
{
	struct spool_limits limits = {
		.segment_len = 256 << 10, .free_floor = 1, .sync_ns = 200000000};
	const struct spool_origin origin = {
		.host_name = "host",
		.event = "cpu-clock",
		.backend = "feeder",
		.boot_id = "one boot",
		.period_ns = 10000000,
	};
	struct io io = *io_system();
	uint64_t first = strtoull(argv[3], NULL, 10), count = strtoull(argv[4], NULL, 10),
		 n = first, end = argv[7] ? strtoull(argv[7], NULL, 10) : UINT64_MAX;
	struct spool_writer *w = NULL;
	struct build_id id;
	int rc;

	io.pwrite = noted_pwrite;
	io.sync = noted_sync;
	io.close = noted_close;
	limits.total_len = strtoull(argv[5], NULL, 10) * MIB;
	rc = open_progress(argv[2], first, err);
	if (!rc)
		rc = build_id_parse(&id, argv[6], err);
	if (!rc)
		rc = spool_writer_open(&w, argv[1], &limits, &origin, &io, err);
	if (!rc)
		rc = spool_writer_detach(w, err);
	while (!rc && !stopping) {
		const struct timespec pause = {.tv_nsec = 10000000};

		for (uint64_t i = 0; i < count && n < end; i++, n++)
			add(w, n, &id);
		atomic_store(&progress[NEXT], n);
		if (spool_writer_flush(w, err))
			fprintf(stderr, "%s\n", err->message);
		nanosleep(&pause, NULL);
	}
	/* What waits for the disk may be lost yet. */
	if (!rc)
		spool_writer_end(w);
	if (!rc)
		printf("{\"added\":%" PRIu64 ",\"spool_error\":%" PRIu64
		       ",\"spool_dropped\":%" PRIu64 "}\n",
		       n - first, spool_writer_lost(w, SPOOL_LOSS_SPOOL_ERROR),
		       spool_writer_lost(w, SPOOL_LOSS_SPOOL_DROPPED));
	spool_writer_close(w);
	return rc;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_signal};
	struct err err = {0};

	sigaction(SIGTERM, &action, NULL);
	if (argc != 7 && argc != 8)
		return 2;
	if (feed(argv, &err)) {
		fprintf(stderr, "%s\n", err.message);
		return 1;
	}
	return 0;
}
