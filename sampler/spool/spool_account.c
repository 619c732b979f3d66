/* SPDX-License-Identifier: Apache-2.0 */
#include "spool_account.h"

#include <stdio.h>
#include <string.h>

#include "crc32c.h"
#include "spool_format.h"
#include "spool_halves.h"

#define ACCOUNT_NAME "account"

_Static_assert((int)SPOOL_LOSS_COUNT <= (int)SPOOL_DISK_LOSSES, "every loss has a place");
_Static_assert(sizeof(((struct spool_disk_account *)NULL)->why) == SPOOL_ACCOUNT_WHY_LEN,
	       "a reason fits");

/* One half of the file. */
struct account_half {
	struct spool_disk_account a;
	struct spool_disk_account_more more;
};
_Static_assert(sizeof(struct account_half) ==
		       sizeof(struct spool_disk_account) + sizeof(struct spool_disk_account_more),
	       "one is right behind the other");

static uint32_t account_crc(struct spool_disk_account account)
{
	account.crc = 0;
	return crc32c(0, &account, sizeof(account));
}

static uint32_t more_crc(struct spool_disk_account_more more)
{
	more.crc = 0;
	return crc32c(0, &more, sizeof(more));
}

static void decode_account(const struct spool_disk_account *a, struct spool_account *ret)
{
	*ret = (struct spool_account){
		.sequence = a->sequence,
		.unix_ns = a->unix_ns,
		.samples = a->samples,
		.run_samples = a->run_samples,
	};
	for (uint32_t i = 0; i < a->loss_count && i < SPOOL_LOSS_COUNT; i++) {
		ret->losses[i] = a->losses[i].total;
		ret->run_losses[i] = a->losses[i].run;
	}
	memcpy(ret->why, a->why, sizeof(ret->why));
	ret->why[sizeof(ret->why) - 1] = 0;
}

static void decode_more(const struct spool_disk_account_more *m, struct spool_account *ret)
{
	ret->segment = m->segment;
	ret->end = m->end;
	ret->run_stored = m->run_stored;
	ret->ship = (struct spool_ship_ends){
		.count = m->ship_ended, .status = (int)m->ship_status, .unix_ns = m->ship_ended_ns};
}

void spool_account_read(const struct io *io, int dir_fd, struct spool_account *ret)
{
	*ret = (struct spool_account){0};
	for (int half = 0; half < 2; half++) {
		struct account_half h;

		if (spool_halves_read(io, dir_fd, ACCOUNT_NAME, half, &h, sizeof(h)) ||
		    memcmp(h.a.magic, SPOOL_ACCOUNT_MAGIC, sizeof(h.a.magic)) ||
		    h.a.major != SPOOL_STATE_MAJOR || h.a.crc != account_crc(h.a) ||
		    h.a.sequence <= ret->sequence)
			continue;
		decode_account(&h.a, ret);
		if (h.a.minor >= SPOOL_ACCOUNT_MINOR && h.more.crc == more_crc(h.more) &&
		    h.more.sequence == h.a.sequence)
			decode_more(&h.more, ret);
	}
}

int spool_account_write(const struct io *io, int dir_fd, struct spool_account *account)
{
	struct account_half h = {
		.a =
			{
				.magic = SPOOL_ACCOUNT_MAGIC,
				.major = SPOOL_STATE_MAJOR,
				.minor = SPOOL_ACCOUNT_MINOR,
				.sequence = account->sequence + 1,
				.unix_ns = account->unix_ns,
				.samples = account->samples,
				.run_samples = account->run_samples,
				.loss_count = SPOOL_LOSS_COUNT,
			},
		.more =
			{
				.sequence = account->sequence + 1,
				.segment = account->segment,
				.end = account->end,
				.run_stored = account->run_stored,
				.ship_ended = account->ship.count,
				.ship_status = (uint64_t)(unsigned int)account->ship.status,
				.ship_ended_ns = account->ship.unix_ns,
			},
	};
	int rc;

	for (uint32_t i = 0; i < SPOOL_LOSS_COUNT; i++) {
		h.a.losses[i].total = account->losses[i];
		h.a.losses[i].run = account->run_losses[i];
	}
	memcpy(h.a.why, account->why, sizeof(h.a.why));
	h.a.crc = account_crc(h.a);
	h.more.crc = more_crc(h.more);
	rc = spool_halves_write(io, dir_fd, ACCOUNT_NAME, h.a.sequence, false, &h, sizeof(h));
	if (!rc)
		account->sequence = h.a.sequence;
	return rc;
}

/* --- what came behind it --------------------------------------------------------------------- */

/* Adds the samples of a segment from an offset on, and takes over the losses stated there. Returns
 * how many bytes it read. */
static uint64_t walk_behind(const struct io *io, int dir_fd, uint64_t segment, uint64_t end,
			    uint64_t *stored, uint64_t losses[static SPOOL_LOSS_COUNT])
{
	_cleanup_(spool_file_close) struct spool_file file;
	_cleanup_(spool_cursor_done) struct spool_cursor c = {.file = NULL};
	struct spool_record rec;
	uint32_t from, to;

	if (spool_file_open(&file, io, dir_fd, segment, NULL))
		return SPOOL_HEADER_MAX;
	from = end > file.info.records_off ? (uint32_t)end : file.info.records_off;
	spool_cursor_init(&c, &file, from);
	while (spool_cursor_next(&c, true, &rec, NULL) == 1) {
		struct bytes in = bytes_of(rec.payload, rec.len);

		if (rec.type == SPOOL_RECORD_SAMPLES)
			*stored += spool_samples_count(in);
		else if (rec.type == SPOOL_RECORD_LOSSES)
			spool_losses_read(in, losses);
	}
	/* The search for another record also read what is behind the last one. */
	to = c.off > c.window_off ? c.off : c.window_off;
	return SPOOL_HEADER_MAX + (to > from ? to - from : 0) + c.wasted;
}

static void add_loss(struct spool_account *a, enum spool_loss loss, uint64_t more)
{
	a->run_losses[loss] += more;
	a->losses[loss] += more;
}

void spool_account_catch_up(const struct io *io, int dir_fd, const struct spool_segments *found,
			    bool is_over, struct spool_account *a)
{
	uint64_t losses[SPOOL_LOSS_COUNT] = {0}, walked = 0, known;

	if (!a->segment)
		return;
	for (size_t i = 0; i < found->count && walked < LIMIT_SPOOL_SEGMENT; i++) {
		const uint64_t number = found->numbers[i];

		if (number > a->segment)
			walked += walk_behind(io, dir_fd, number, 0, &a->run_stored, losses);
		else if (number == a->segment && a->end < SPOOL_ACCOUNT_WHOLE)
			walked += walk_behind(io, dir_fd, number, a->end, &a->run_stored, losses);
	}
	for (int i = 0; i < SPOOL_LOSS_COUNT; i++)
		if (losses[i] > a->run_losses[i])
			add_loss(a, (enum spool_loss)i, losses[i] - a->run_losses[i]);
	known = a->run_stored + a->run_losses[SPOOL_LOSS_SPOOL_ERROR];
	if (known > a->run_samples) {
		a->samples += known - a->run_samples;
		a->run_samples = known;
	} else if (is_over && walked < LIMIT_SPOOL_SEGMENT) {
		add_loss(a, SPOOL_LOSS_SPOOL_ERROR, a->run_samples - known);
	}
}
