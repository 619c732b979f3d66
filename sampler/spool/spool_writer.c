/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "limits.h"
#include "spool_disk.h"
#include "spool_pack.h"

/* In a shorter segment the largest single sample would not fit beside a header. */
#define LIMIT_SPOOL_SEGMENT_MIN LIMIT(65536)

struct spool_writer {
	const struct io *io;
	struct spool_disk *disk;
	struct spool_limits limits;
	struct spool_origin origin;

	bool is_open; /* there is a segment to add to, as far as is known */
	uint64_t segment, retry_ns;
	struct spool_pack pack;
	uint64_t unwritten; /* samples that were not handed over */
	uint64_t lost;      /* samples that were never handed to the disk side */
	uint64_t came;      /* samples, stored or not */
	struct spool_ship_ends ship;
};

/* --- segments -------------------------------------------------------------------------------- */

/* Gives the current segment up: what was not handed over is lost, and counted. */
static void abandon_segment(struct spool_writer *w)
{
	w->lost += w->unwritten;
	w->unwritten = 0;
	w->is_open = false;
	w->retry_ns = w->io->mono_ns(w->io->ctx) + w->limits.sync_ns;
}

/* Takes over what the disk counted, and whether it gave the segment up. */
static struct spool_disk_state take_state(struct spool_writer *w)
{
	struct spool_disk_state d;
	uint64_t *losses = w->pack.losses;

	spool_disk_look(w->disk, &d);
	w->pack.losses_changed |= losses[SPOOL_LOSS_SPOOL_DROPPED] != d.dropped ||
				  losses[SPOOL_LOSS_SPOOL_ERROR] != d.lost + w->lost;
	losses[SPOOL_LOSS_SPOOL_DROPPED] = d.dropped;
	losses[SPOOL_LOSS_SPOOL_ERROR] = d.lost + w->lost;
	if (w->is_open && d.given_up >= w->segment)
		abandon_segment(w);
	return d;
}

enum chunk_kind {
	CHUNK_BEGINS,
	CHUNK_MOVES, /* begins a segment in another directory */
	CHUNK_ADDS,
	CHUNK_ENDS
};

/* Hands over everything emitted, as one chunk. Returns false when it was not taken. */
static bool hand_over(struct spool_writer *w, enum chunk_kind kind)
{
	const struct buf *out = &w->pack.out;
	struct spool_chunk *c = out->failed ? NULL : spool_chunk_new(out->len);
	struct err err;

	if (!c) {
		err_no_memory(&err);
		spool_disk_fail(w->disk, w->segment, &err);
		abandon_segment(w);
		buf_reset(&w->pack.out);
		return false;
	}
	if (out->len)
		memcpy(c->bytes, out->p, out->len);
	c->segment = w->segment;
	c->begins = kind <= CHUNK_MOVES;
	c->moves = kind == CHUNK_MOVES;
	memcpy(c->left_losses, w->pack.left_losses, sizeof(c->left_losses));
	c->ends = kind == CHUNK_ENDS;
	c->samples = w->unwritten;
	c->mono_ns = w->origin.mono_ns;
	c->real_ns = w->origin.real_ns;
	w->unwritten = 0;
	w->pack.off += out->len;
	buf_reset(&w->pack.out);
	return spool_disk_put(w->disk, c);
}

/* Begins the next segment. If that fails, none is open, and the writer goes on without. */
static void start_segment(struct spool_writer *w)
{
	const bool moves = w->segment <= take_state(w).leaves;
	uint64_t left_before[SPOOL_LOSS_COUNT];

	memcpy(left_before, w->pack.left_losses, sizeof(left_before));
	/* The former segment states all losses up to here. */
	if (moves)
		memcpy(w->pack.left_losses, w->pack.losses, sizeof(w->pack.left_losses));
	spool_pack_reset(&w->pack, SPOOL_HEADER_LEN);
	w->unwritten = 0;
	w->segment++;
	w->origin.mono_ns = w->io->mono_ns(w->io->ctx);
	w->origin.real_ns = w->io->real_ns(w->io->ctx);
	w->is_open = true;
	if (!hand_over(w, moves ? CHUNK_MOVES : CHUNK_BEGINS))
		memcpy(w->pack.left_losses, left_before, sizeof(left_before));
	take_state(w);
}

/* Writes everything pending, and marks the end of the segment. */
static void seal_segment(struct spool_writer *w)
{
	if (!w->is_open)
		return;
	spool_pack_seal(&w->pack);
	hand_over(w, CHUNK_ENDS);
	w->is_open = false;
}

static void rotate_chunk(struct spool_writer *w)
{
	seal_segment(w);
	start_segment(w);
}

/* --- opening --------------------------------------------------------------------------------- */

static int check_limits(struct spool_limits *l, struct err *err)
{
	l->segment_len = l->segment_len ? l->segment_len : SPOOL_SEGMENT_LEN;
	l->total_len = l->total_len ? l->total_len : SPOOL_TOTAL_LEN;
	l->free_floor = l->free_floor ? l->free_floor : SPOOL_FREE_FLOOR;
	l->sync_ns = l->sync_ns ? l->sync_ns : UINT64_C(2000000000);
	if (l->segment_len < LIMIT_SPOOL_SEGMENT_MIN || l->segment_len > LIMIT_SPOOL_SEGMENT ||
	    l->segment_len % SPOOL_RECORD_ALIGN)
		return err_set(err, ERR_USAGE,
			       "a spool segment has 64 KiB to 64 MiB, not %llu bytes",
			       (unsigned long long)l->segment_len);
	if (l->total_len / 2 < l->segment_len)
		return err_set(err, ERR_USAGE, "a spool holds at least two segments");
	return 0;
}

int spool_writer_open(struct spool_writer **ret, const char *dir, const struct spool_limits *limits,
		      const struct spool_origin *origin, const struct io *io, struct err *err)
{
	struct spool_writer *w = calloc(1, sizeof(*w));
	int rc;

	if (!w)
		return err_no_memory(err);
	w->io = io ? io : io_system();
	w->origin = *origin;
	if (limits)
		w->limits = *limits;
	else
		w->limits.age_ns = UINT64_C(7) * 86400 * 1000000000;
	rc = check_limits(&w->limits, err);
	if (!rc)
		rc = spool_disk_open(&w->disk, dir, &w->limits, &w->origin, w->io, err);
	if (rc) {
		free(w);
		return rc;
	}
	spool_pack_init(&w->pack, w->limits.segment_len, w->origin.period_ns);
	w->segment = spool_disk_first(w->disk) - 1;
	start_segment(w);
	*ret = w;
	return 0;
}

int spool_writer_detach(struct spool_writer *w, struct err *err)
{
	return spool_disk_detach(w->disk, err);
}

/* --- dictionaries ---------------------------------------------------------------------------- */

uint32_t spool_writer_string(struct spool_writer *w, const void *p, size_t len)
{
	return !w->is_open ? LOCATION_NO_INDEX : spool_pack_string(&w->pack, p, len);
}

uint32_t spool_writer_module(struct spool_writer *w, const struct spool_module *m)
{
	return !w->is_open ? LOCATION_NO_INDEX : spool_pack_module(&w->pack, m);
}

uint32_t spool_writer_location(struct spool_writer *w, const struct location *l)
{
	return !w->is_open ? LOCATION_NO_INDEX : spool_pack_location(&w->pack, l);
}

uint32_t spool_writer_stack(struct spool_writer *w, const uint32_t *locations, size_t count,
			    uint32_t flags)
{
	return !w->is_open ? LOCATION_NO_INDEX
			   : spool_pack_stack(&w->pack, locations, count, flags);
}

uint32_t spool_writer_thread(struct spool_writer *w, const struct spool_thread *t)
{
	return !w->is_open ? LOCATION_NO_INDEX : spool_pack_thread(&w->pack, t);
}

void spool_writer_file_segments(struct spool_writer *w, uint32_t module,
				const struct file_segment *rows, size_t count)
{
	if (w->is_open)
		spool_pack_file_segments(&w->pack, module, rows, count);
}

uint64_t spool_writer_segment(const struct spool_writer *w)
{
	return w->segment;
}

/* --- samples --------------------------------------------------------------------------------- */

void spool_writer_sample(struct spool_writer *w, const struct spool_sample *s)
{
	w->came++;
	if (w->is_open && spool_pack_sample(&w->pack, s)) {
		w->unwritten++;
	} else {
		w->lost++;
		w->pack.losses[SPOOL_LOSS_SPOOL_ERROR]++;
		w->pack.losses_changed = true;
	}
	if (w->is_open && !spool_pack_takes_sample(&w->pack))
		rotate_chunk(w);
}

void spool_writer_late(struct spool_writer *w, const struct spool_late_scope *scope,
		       const struct spool_late_name *names, size_t count)
{
	bool is_fresh = false;

	while (count && w->is_open) {
		size_t taken = spool_pack_late(&w->pack, scope, names, count);

		/* A name that does not fit into an empty segment is left out. */
		if (!taken && is_fresh)
			taken = 1;
		else if (!taken)
			rotate_chunk(w);
		is_fresh = !taken;
		names += taken;
		count -= taken;
	}
}

void spool_writer_loss(struct spool_writer *w, enum spool_loss loss, uint64_t cumulative)
{
	if (loss == SPOOL_LOSS_SPOOL_DROPPED || loss == SPOOL_LOSS_SPOOL_ERROR ||
	    w->pack.losses[loss] == cumulative)
		return;
	w->pack.losses[loss] = cumulative;
	w->pack.losses_changed = true;
}

uint64_t spool_writer_lost(const struct spool_writer *w, enum spool_loss loss)
{
	struct spool_disk_state d;

	if (loss != SPOOL_LOSS_SPOOL_DROPPED && loss != SPOOL_LOSS_SPOOL_ERROR)
		return w->pack.losses[loss];
	spool_disk_look(w->disk, &d);
	return loss == SPOOL_LOSS_SPOOL_DROPPED ? d.dropped : d.lost + w->lost;
}

/* Passes on the counts of this side; the disk side adds its own. */
static void tell_tally(struct spool_writer *w)
{
	struct spool_tally tally = {.samples = w->came, .ship = w->ship};

	memcpy(tally.losses, w->pack.losses, sizeof(tally.losses));
	tally.losses[SPOOL_LOSS_SPOOL_ERROR] = w->lost;
	tally.losses[SPOOL_LOSS_SPOOL_DROPPED] = 0;
	spool_disk_tally(w->disk, &tally);
}

uint64_t spool_writer_dropped(struct spool_writer *w, enum spool_drop_reason *ret_reason)
{
	struct spool_disk_state d;

	spool_disk_look(w->disk, &d);
	*ret_reason = d.dropped_by;
	return d.dropped;
}

void spool_writer_ship_ended(struct spool_writer *w, int status)
{
	w->ship = (struct spool_ship_ends){w->ship.count + 1, status, w->io->real_ns(w->io->ctx)};
}

int spool_writer_why(struct spool_writer *w, struct err *err)
{
	return spool_disk_why(w->disk, err);
}

int spool_writer_flush(struct spool_writer *w, struct err *err)
{
	uint64_t now = w->io->mono_ns(w->io->ctx);

	tell_tally(w);

	if (w->is_open) {
		spool_pack_emit(&w->pack);
		if (w->pack.out.len || w->pack.out.failed)
			hand_over(w, CHUNK_ADDS);
	}
	spool_disk_poll(w->disk);
	if (w->segment <= take_state(w).leaves && w->is_open)
		rotate_chunk(w);
	if (!w->is_open) {
		if (now >= w->retry_ns)
			start_segment(w);
	} else if (w->limits.age_ns && w->pack.sample_total &&
		   now - w->origin.mono_ns > w->limits.age_ns / 8) {
		rotate_chunk(w);
	}
	return spool_disk_error(w->disk, err);
}

void spool_writer_end(struct spool_writer *w)
{
	seal_segment(w);
	tell_tally(w);
	spool_disk_end(w->disk);
}

void spool_writer_close(struct spool_writer *w)
{
	if (!w)
		return;
	spool_writer_end(w);
	spool_disk_close(w->disk);
	spool_pack_done(&w->pack);
	free(w);
}
