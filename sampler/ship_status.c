/* SPDX-License-Identifier: Apache-2.0 */
#include "ship_status.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "json.h"

#define EVERY_NS UINT64_C(10000000000)

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
	json_open(&out, '{');
	json_key_cstr(&out, "state", state);
	if (why)
		json_key_cstr(&out, "why", why);
	json_key_cstr(&out, "server", server);
	json_key_number(&out, "pid", getpid());
	json_key_number(&out, "unix_ns", (int64_t)s->io->real_ns(s->io->ctx));
	json_key_number(&out, "delivered_samples", (int64_t)stats->samples);
	json_key_number(&out, "delivered_batches", (int64_t)stats->batches);
	json_key_number(&out, "delivered_again", (int64_t)stats->again);
	json_key_number(&out, "waiting_for_names", (int64_t)stats->waiting);
	json_close(&out, '}');
	buf_str(&out, "\n");
	if (!out.failed)
		(void)io_replace_file(s->io, dir, SHIP_STATUS_NAME, out.p, out.len, NULL);
	s->io->close(s->io->ctx, dir);
}
