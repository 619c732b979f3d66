/* SPDX-License-Identifier: Apache-2.0 */
#include "ship_status.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "log.h"
#include "spool_status.h"

#define EVERY_NS UINT64_C(10000000000)

static void write_metrics(struct ship_status *s)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(65536);
	struct spool_status status;
	struct err err;
	int rc;

	if (!s->metrics || spool_status_read(&status, s->spool, NULL))
		return;
	spool_status_metrics(&status, &out);
	if (out.failed)
		return;
	rc = io_write_file(s->metrics, out.p, out.len, 0644, &err);
	if (rc && !s->is_metrics_lost)
		log_warn("--metrics: %s; the state is not written there until that is mended",
			 err.message);
	if (!rc && s->is_metrics_lost)
		log_info("--metrics: %s is written again", s->metrics);
	s->is_metrics_lost = rc != 0;
}

void ship_status_tell(struct ship_status *s, const char *state, const char *why, const char *server,
		      const struct shipper_stats *stats)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(8192);
	uint64_t now = s->io->mono_ns(s->io->ctx);
	int dir;

	if (!strcmp(state, s->state) && now - s->written_ns < EVERY_NS)
		return;
	dir = s->io->open(s->io->ctx, AT_FDCWD, s->spool, O_RDONLY | O_DIRECTORY, 0);
	if (dir < 0)
		return;
	snprintf(s->state, sizeof(s->state), "%s", state);
	s->written_ns = now;
	buf_printf(&out, "state %s\nserver %s\n", state, server);
	if (why)
		buf_printf(&out, "why %s\n", why);
	buf_printf(&out,
		   "unix_ns %" PRIu64 "\nsamples %" PRIu64 "\nbatches %" PRIu64 "\nagain %" PRIu64
		   "\nwaiting %" PRIu64 "\nforgotten %" PRIu64 "\n",
		   s->io->real_ns(s->io->ctx), stats->samples, stats->batches, stats->again,
		   stats->waiting, stats->forgotten);
	if (!out.failed)
		(void)io_replace_file(s->io, dir, SPOOL_SHIPPER_NAME, out.p, out.len, NULL);
	s->io->close(s->io->ctx, dir);
	write_metrics(s);
}
