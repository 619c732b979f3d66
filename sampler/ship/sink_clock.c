/* SPDX-License-Identifier: Apache-2.0 */
#include "sink_clock.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "build_id.h"
#include "number.h"

#define NAME                 ".clock"
/* Bytes that are read of the file, in whose directory others may write; its line has 138. */
#define LIMIT_SINK_CLOCK_LEN 256

static int print_clock(const struct sink_clock *c, char text[static LIMIT_SINK_CLOCK_LEN])
{
	int n = 0;

	for (size_t i = 0; i < sizeof(c->boot_id); i++)
		n += snprintf(text + n, LIMIT_SINK_CLOCK_LEN - (size_t)n, "%02x", c->boot_id[i]);
	return n + snprintf(text + n, LIMIT_SINK_CLOCK_LEN - (size_t)n,
			    " %020" PRIu64 " %020" PRIu64 " %020" PRIu64 " %020" PRIu64
			    " %020" PRIu64 "\n",
			    c->real_ns, c->mono_ns, c->doubt_ns, c->ahead_at_ns, c->unproven_ns);
}

/* Reads what print_clock() printed. It accepts other spellings too; the caller rejects them.
 * Returns false if the text is no clock. */
static bool scan_clock(struct sink_clock *c, const char text[static LIMIT_SINK_CLOCK_LEN])
{
	uint64_t *const times[] = {&c->real_ns, &c->mono_ns, &c->doubt_ns, &c->ahead_at_ns,
				   &c->unproven_ns};
	char hex[2 * sizeof(c->boot_id) + 1] = "";
	struct build_id id;

	memcpy(hex, text, sizeof(hex) - 1);
	if (build_id_parse(&id, hex, NULL) || id.len != sizeof(c->boot_id))
		return false;
	memcpy(c->boot_id, id.bytes, sizeof(c->boot_id));
	text += sizeof(hex) - 1;
	for (size_t i = 0; i < ARRAY_LEN(times); i++)
		if (!number_take_next(&text, 10, times[i]))
			return false;
	return true;
}

void sink_clock_load(struct sink_clock *c, const struct io *io, int dir_fd)
{
	struct sink_clock was = {0};
	char text[LIMIT_SINK_CLOCK_LEN] = "", again[LIMIT_SINK_CLOCK_LEN];
	ssize_t n;
	bool has_boot;
	int fd;

	*c = (struct sink_clock){0};
	has_boot = io_read_id(IO_BOOT_ID, c->boot_id);
	fd = io->open(io->ctx, dir_fd, NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	if (fd < 0)
		return;
	n = io->pread(io->ctx, fd, text, sizeof(text) - 1, 0);
	io->close(io->ctx, fd);
	/* A clock that prints differently from what was read is damaged. */
	if (n <= 0 || !scan_clock(&was, text) || print_clock(&was, again) != n ||
	    memcmp(again, text, (size_t)n) != 0)
		return;
	/* The monotonic clock of another boot cannot be compared; assume that no time passed. */
	if (!has_boot || memcmp(was.boot_id, c->boot_id, sizeof(c->boot_id)) != 0 ||
	    was.mono_ns > io->mono_ns(io->ctx)) {
		was.mono_ns = io->mono_ns(io->ctx);
		memcpy(was.boot_id, c->boot_id, sizeof(was.boot_id));
	}
	*c = was;
}

void sink_clock_save(const struct sink_clock *c, const struct io *io, int dir_fd)
{
	char text[LIMIT_SINK_CLOCK_LEN];
	int n = print_clock(c, text), fd;

	fd = io->open(io->ctx, dir_fd, NAME, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (fd < 0)
		return;
	(void)io_write_all(io, fd, text, (size_t)n, 0, NULL);
	io->close(io->ctx, fd);
}

void sink_clock_seed(struct sink_clock *c, const struct io *io, uint64_t newest_ns, bool has_future)
{
	const uint64_t real_ns = io->real_ns(io->ctx);

	c->real_ns = newest_ns ? newest_ns : real_ns;
	c->mono_ns = io->mono_ns(io->ctx);
	if (!newest_ns || has_future)
		c->unproven_ns = real_ns;
}

static void believe_clock(struct sink_clock *c, uint64_t real_ns, uint64_t mono_ns)
{
	c->real_ns = real_ns;
	c->mono_ns = mono_ns;
	c->doubt_ns = 0;
	c->ahead_at_ns = 0;
}

uint64_t sink_clock_now(struct sink_clock *c, const struct io *io, struct sink_clock_shift *shift)
{
	const uint64_t real = io->real_ns(io->ctx), mono = io->mono_ns(io->ctx);
	const uint64_t passed = mono - c->mono_ns, expected = c->real_ns + passed;

	*shift = (struct sink_clock_shift){0};
	if (real <= expected || real - expected <= SINK_CLOCK_SET_NS) {
		if (expected > real && expected - real > SINK_CLOCK_SET_NS)
			c->unproven_ns = real;
		believe_clock(c, real, mono);
		return real;
	}
	if (c->ahead_at_ns)
		c->doubt_ns += passed;
	else
		c->ahead_at_ns = expected;
	if (c->doubt_ns >= SINK_CLOCK_BELIEVED_NS) {
		if (c->unproven_ns && c->unproven_ns <= c->ahead_at_ns)
			*shift = (struct sink_clock_shift){c->unproven_ns, c->ahead_at_ns,
							   real - expected};
		c->unproven_ns = 0;
		believe_clock(c, real, mono);
		return real;
	}
	c->real_ns = expected;
	c->mono_ns = mono;
	return expected;
}
