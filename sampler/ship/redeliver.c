/* SPDX-License-Identifier: Apache-2.0 */
#include "redeliver.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "limits.h"
#include "number.h"

/* Most bytes of the file that lists the batches. */
#define LIMIT_REDELIVER_LEN (16 * MIB)

#define NAME "again"

/* The file is rewritten when it would be longer than this and is twice as long as needed. */
#define REWRITE_LEN (1 * MIB)

static void drop_redelivery(struct redeliver *a, size_t i)
{
	const struct redeliver_batch *b = &a->batches[i];

	for (uint32_t k = 0; k < b->id_count; k++)
		a->used_count -= --a->uses[b->ids[k]] == 0;
	a->due -= b->is_due;
	free(b->ids);
	memmove(a->batches + i, a->batches + i + 1, (--a->count - i) * sizeof(*a->batches));
}

static size_t find_redelivery(const struct redeliver *a, uint64_t segment, uint64_t place)
{
	for (size_t i = a->count; i-- > 0;)
		if (a->batches[i].segment == segment && a->batches[i].place == place)
			return i;
	return SIZE_MAX;
}

/* Adds a batch in place of an older entry for it, and takes over ids[]. Returns false if memory is
 * short. */
static bool add_redelivery(struct redeliver *a, uint64_t segment, uint64_t place, uint32_t samples,
			   uint32_t *ids, uint32_t id_count)
{
	size_t i = find_redelivery(a, segment, place);

	if (i != SIZE_MAX)
		drop_redelivery(a, i);
	if (a->count == LIMIT_REDELIVER) {
		drop_redelivery(a, 0);
		a->forgotten++;
	}
	if (!GROW(a->batches, &a->cap, a->count + 1, LIMIT_REDELIVER)) {
		free(ids);
		return false;
	}
	for (uint32_t k = 0; k < id_count; k++)
		a->used_count += a->uses[ids[k]]++ == 0;
	a->batches[a->count++] = (struct redeliver_batch){.segment = segment,
							  .place = place,
							  .samples = samples,
							  .id_count = id_count,
							  .ids = ids};
	return true;
}

/* Returns the number of an id, or INTERN_FULL if there is no room. */
static uint32_t add_module_id(struct redeliver *a, const void *id, size_t len, bool *ret_new)
{
	if (!a->uses)
		a->uses = calloc(LIMIT_MISSING_IDS, sizeof(*a->uses));
	return a->uses ? intern_add(&a->ids, id, len, ret_new) : INTERN_FULL;
}

/* Drops ids that no batch waits for. The others get new numbers, so the file must be rewritten. */
static void compact_redeliveries(struct redeliver *a)
{
	_cleanup_(freep) uint32_t *uses = calloc(LIMIT_MISSING_IDS, sizeof(*uses));
	_cleanup_(freep) uint32_t *to = calloc(a->ids.count + 1, sizeof(*to));
	struct intern ids = INTERN_INIT(LIMIT_MISSING_IDS, LIMIT_MISSING_IDS * BUILD_ID_MAX);
	bool ok = uses && to;

	if (a->used_count == a->ids.count)
		return;
	for (uint32_t i = 0; ok && i < a->ids.count; i++) {
		size_t len;
		const void *p = intern_get(&a->ids, i, &len);

		if (!a->uses[i])
			continue;
		to[i] = intern_add(&ids, p, len, NULL);
		ok = to[i] != INTERN_FULL;
		if (ok)
			uses[to[i]] = a->uses[i];
	}
	if (!ok) {
		intern_done(&ids);
		return;
	}
	for (size_t i = 0; i < a->count; i++)
		for (uint32_t k = 0; k < a->batches[i].id_count; k++)
			a->batches[i].ids[k] = to[a->batches[i].ids[k]];
	intern_done(&a->ids);
	a->ids = ids;
	free(a->uses);
	a->uses = TAKE_PTR(uses);
	a->must_rewrite = true;
}

/* Makes room for `count` more ids. It drops the oldest batches, and more of them than needed, so
 * that the file is not rewritten for each new id. */
static void make_redeliver_room(struct redeliver *a, size_t count)
{
	const size_t most = LIMIT_MISSING_IDS - LIMIT_MISSING_IDS / 8;

	if (a->ids.count + count <= LIMIT_MISSING_IDS)
		return;
	while (a->count && a->used_count + count > most) {
		drop_redelivery(a, 0);
		a->forgotten++;
	}
	compact_redeliveries(a);
}

/* --- the file -------------------------------------------------------------------------------- */

static void print_batch(struct buf *out, const struct redeliver_batch *b)
{
	buf_printf(out, "batch %" PRIu64 " %" PRIu64 " %u", b->segment, b->place, b->samples);
	for (uint32_t i = 0; i < b->id_count; i++)
		buf_printf(out, " %u", b->ids[i]);
	buf_str(out, "\n");
}

static void print_id(struct buf *out, const struct redeliver *a, uint32_t id)
{
	size_t len;
	const uint8_t *p = intern_get(&a->ids, id, &len);

	buf_str(out, "id ");
	for (size_t i = 0; i < len; i++)
		buf_printf(out, "%02x", p[i]);
	buf_str(out, "\n");
}

static void read_id_line(struct redeliver *a, const char *hex)
{
	struct build_id id;

	if (build_id_parse(&id, hex, NULL) == 0)
		add_module_id(a, id.bytes, id.len, NULL);
}

static void read_batch_line(struct redeliver *a, const char *at)
{
	uint64_t segment, place, samples, id;
	uint32_t *ids = NULL, count = 0;
	size_t cap = 0;

	if (!number_take_next(&at, 10, &segment) || !number_take_next(&at, 10, &place) ||
	    !number_take_next(&at, 10, &samples))
		return;
	while (number_take_next(&at, 10, &id) && id < a->ids.count &&
	       GROW(ids, &cap, count + 1, LIMIT_BATCH_MODULES))
		ids[count++] = (uint32_t)id;
	if (segment && (uint32_t)samples && count)
		add_redelivery(a, segment, place, (uint32_t)samples, ids, count);
	else
		free(ids);
}

static void read_redeliver_line(struct redeliver *a, const char *line)
{
	if (!strncmp(line, "id ", 3)) {
		read_id_line(a, line + 3);
	} else if (!strncmp(line, "batch ", 6)) {
		read_batch_line(a, line + 6);
	} else if (!strncmp(line, "done ", 5)) {
		const char *at = line + 5;
		uint64_t segment, place;
		size_t i = SIZE_MAX;

		if (number_take_next(&at, 10, &segment) && number_take_next(&at, 10, &place))
			i = find_redelivery(a, segment, place);
		if (i != SIZE_MAX)
			drop_redelivery(a, i);
	}
}

static int load_redeliveries(struct redeliver *a, struct err *err)
{
	_cleanup_(freep) char *text = malloc(LIMIT_REDELIVER_LEN + 1);
	int fd = a->io->open(a->io->ctx, a->dir_fd, NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	size_t len = 0;
	ssize_t n = 1;

	if (fd == -ENOENT)
		return 0;
	if (fd < 0)
		return err_sys(err, -fd, NAME " of the spool");
	while (text && n > 0 && len < LIMIT_REDELIVER_LEN) {
		n = a->io->pread(a->io->ctx, fd, text + len, LIMIT_REDELIVER_LEN - len, (off_t)len);
		len += n > 0 ? (size_t)n : 0;
	}
	a->io->close(a->io->ctx, fd);
	if (!text)
		return err_no_memory(err);
	if (n < 0)
		return err_sys(err, (int)-n, NAME " of the spool");
	text[len] = 0;
	for (char *at = text, *end; (end = memchr(at, '\n', len - (size_t)(at - text)));
	     at = end + 1) {
		*end = 0;
		read_redeliver_line(a, at);
		/* A torn last line is not counted, so the next append overwrites it. */
		a->file_len = (uint64_t)(end + 1 - text);
	}
	compact_redeliveries(a);
	return 0;
}

/* Writes the whole file anew. */
static int rewrite_redeliveries(struct redeliver *a, struct err *err)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(LIMIT_REDELIVER_LEN);
	int rc;

	compact_redeliveries(a);
	a->must_rewrite = true;
	for (uint32_t i = 0; i < a->ids.count; i++)
		print_id(&out, a, i);
	for (size_t i = 0; i < a->count; i++)
		print_batch(&out, &a->batches[i]);
	if (out.failed)
		return err_set(err, ERR_LIMIT, NAME " of the spool is full");
	rc = io_replace_file(a->io, a->dir_fd, NAME, out.p, out.len, err);
	if (!rc) {
		a->file_len = out.len;
		a->must_rewrite = false;
	}
	return rc;
}

static int append_lines(struct redeliver *a, const struct buf *out, struct err *err)
{
	int fd, rc;

	if (a->must_rewrite ||
	    (a->file_len + out->len > REWRITE_LEN &&
	     a->file_len > 2 * (64 * (uint64_t)a->ids.count + 128 * (uint64_t)a->count)))
		return rewrite_redeliveries(a, err);
	fd = a->io->open(a->io->ctx, a->dir_fd, NAME, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK,
			 0600);
	if (fd < 0) {
		a->must_rewrite = true;
		return err_sys(err, -fd, NAME " of the spool");
	}
	rc = io_write_all(a->io, fd, out->p, out->len, (off_t)a->file_len, err);
	a->io->close(a->io->ctx, fd);
	if (rc)
		a->must_rewrite = true;
	else
		a->file_len += out->len;
	return rc;
}

/* --- the public rest ------------------------------------------------------------------------- */

int redeliver_open(struct redeliver *a, const char *spool, const struct io *io, struct err *err)
{
	int rc;

	*a = (struct redeliver){
		.io = io,
		.ids = INTERN_INIT(LIMIT_MISSING_IDS, LIMIT_MISSING_IDS * BUILD_ID_MAX),
	};
	a->dir_fd = io->open(io->ctx, AT_FDCWD, spool, O_RDONLY | O_DIRECTORY, 0);
	if (a->dir_fd < 0)
		return err_sys(err, -a->dir_fd, "%s", spool);
	rc = load_redeliveries(a, err);
	if (rc)
		redeliver_close(a);
	return rc;
}

void redeliver_close(struct redeliver *a)
{
	while (a->count)
		free(a->batches[--a->count].ids);
	free(a->batches);
	free(a->uses);
	intern_done(&a->ids);
	if (a->io && a->dir_fd >= 0)
		a->io->close(a->io->ctx, a->dir_fd);
	*a = (struct redeliver){.dir_fd = -1};
}

int redeliver_note(struct redeliver *a, const struct spool_batch *batch, const bool *missing,
		   struct err *err)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(LIMIT_REDELIVER_LEN);
	_cleanup_(freep) uint32_t *ids = NULL;
	uint32_t count = 0;
	size_t cap = 0, wanted = 0;
	bool lacks_room = false;

	for (uint32_t i = 0; i < batch->module_count; i++)
		wanted += missing[i] && batch->modules[i].id.len;
	make_redeliver_room(a, wanted);
	for (uint32_t i = 0; i < batch->module_count; i++) {
		const struct build_id *id = &batch->modules[i].id;
		uint32_t number;
		bool is_new;

		if (!missing[i] || !id->len)
			continue;
		number = add_module_id(a, id->bytes, id->len, &is_new);
		if (number == INTERN_FULL || !GROW(ids, &cap, count + 1, LIMIT_BATCH_MODULES)) {
			lacks_room = true;
			continue;
		}
		if (is_new)
			print_id(&out, a, number);
		ids[count++] = number;
	}
	a->forgotten += lacks_room;
	if (!count)
		return redeliver_forget(a, batch->segment, batch->place, err);
	if (!add_redelivery(a, batch->segment, batch->place, (uint32_t)batch->sample_count,
			    TAKE_PTR(ids), count))
		return err_no_memory(err);
	print_batch(&out, &a->batches[a->count - 1]);
	return append_lines(a, &out, err);
}

int redeliver_forget(struct redeliver *a, uint64_t segment, uint64_t place, struct err *err)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(128);
	size_t i = find_redelivery(a, segment, place);

	if (i == SIZE_MAX)
		return 0;
	drop_redelivery(a, i);
	buf_printf(&out, "done %" PRIu64 " %" PRIu64 "\n", segment, place);
	return append_lines(a, &out, err);
}

static bool batch_has_id(const struct redeliver_batch *b, uint32_t id)
{
	for (uint32_t i = 0; i < b->id_count; i++)
		if (b->ids[i] == id)
			return true;
	return false;
}

void redeliver_ready(struct redeliver *a, const void *id, size_t len)
{
	const uint64_t now = a->io->mono_ns(a->io->ctx);
	uint32_t number = intern_find(&a->ids, id, len);

	if (number == INTERN_FULL)
		return;
	for (size_t i = 0; i < a->count; i++) {
		struct redeliver_batch *b = &a->batches[i];

		if (b->is_due || now < b->put_off_ns || !batch_has_id(b, number))
			continue;
		b->is_due = true;
		a->due++;
	}
}

const struct redeliver_batch *redeliver_due(struct redeliver *a)
{
	for (size_t i = 0; a->due && i < a->count; i++)
		if (a->batches[i].is_due)
			return &a->batches[i];
	return NULL;
}

bool redeliver_is_worse(const struct redeliver *a, const struct redeliver_batch *noted,
			const struct spool_batch *batch, const bool *missing)
{
	for (uint32_t i = 0; i < batch->module_count; i++) {
		const struct build_id *id = &batch->modules[i].id;
		uint32_t number;

		if (!missing[i] || !id->len)
			continue;
		number = intern_find(&a->ids, id->bytes, id->len);
		if (number == INTERN_FULL || !batch_has_id(noted, number))
			return true;
	}
	return false;
}

void redeliver_put_off(struct redeliver *a, uint64_t segment, uint64_t place, uint64_t ns)
{
	size_t i = find_redelivery(a, segment, place);

	if (i == SIZE_MAX)
		return;
	a->due -= a->batches[i].is_due;
	a->batches[i].is_due = false;
	a->batches[i].put_off_ns = a->io->mono_ns(a->io->ctx) + ns;
}

bool redeliver_waits_for(const struct redeliver *a, uint32_t id)
{
	return id < a->ids.count && a->uses[id];
}
