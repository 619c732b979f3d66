/* SPDX-License-Identifier: Apache-2.0 */
#include "spool_pack.h"

#include <string.h>

#include "crc32c.h"
#include "limits.h"

/* Most entries of one dictionary of a segment, and most bytes of their keys in memory. A segment
 * ends when either is reached: after half a minute at 999 Hz on a machine that starts compilers all
 * the time. */
#define LIMIT_SPOOL_DICT     LIMIT(32768)
#define LIMIT_SPOOL_DICT_LEN (2 * MIB)

/* Pending entries become a record when they reach this, far below LIMIT_SPOOL_RECORD. */
#define PENDING_LEN      (UINT64_C(64) << 10)
#define MARGIN_LEN       (UINT64_C(128) << 10)
/* Heads and padding of one record of each type, and the record that seals the segment. */
#define OVERHEAD         (UINT64_C(512) + SPOOL_LOSS_COUNT * 16)
/* Most bytes of the three numbers of a late name. */
#define LATE_NUMBERS_LEN 23

void spool_pack_init(struct spool_pack *p, uint64_t segment_len, uint64_t period_ns)
{
	const uint64_t step = period_ns / SPOOL_SAMPLE_UNIT_NS;

	*p = (struct spool_pack){
		.segment_len = segment_len,
		.margin = segment_len / 8 < MARGIN_LEN ? segment_len / 8 : MARGIN_LEN,
		.samples_step = step < UINT32_MAX ? (uint32_t)step : 0,
	};
	/* No entry takes less than a byte of the segment; keys are wider in memory than on disk. */
	for (int i = 0; i < SPOOL_DICT_COUNT; i++) {
		p->dicts[i].keys =
			(struct intern)INTERN_INIT(LIMIT_SPOOL_DICT, LIMIT_SPOOL_DICT_LEN);
		buf_init(&p->dicts[i].pending, LIMIT_SPOOL_RECORD);
	}
	buf_init(&p->samples, LIMIT_SPOOL_RECORD);
	buf_init(&p->file_segments, LIMIT_SPOOL_RECORD);
	buf_init(&p->has_segments, LIMIT_SPOOL_DICT);
	buf_init(&p->out, segment_len);
}

void spool_pack_done(struct spool_pack *p)
{
	for (int i = 0; i < SPOOL_DICT_COUNT; i++) {
		intern_done(&p->dicts[i].keys);
		buf_done(&p->dicts[i].pending);
	}
	buf_done(&p->samples);
	buf_done(&p->file_segments);
	buf_done(&p->has_segments);
	buf_done(&p->out);
}

void spool_pack_reset(struct spool_pack *p, uint64_t off)
{
	for (int i = 0; i < SPOOL_DICT_COUNT; i++) {
		intern_reset(&p->dicts[i].keys);
		buf_reset(&p->dicts[i].pending);
		p->dicts[i].pending_first = 0;
	}
	buf_reset(&p->samples);
	buf_reset(&p->file_segments);
	buf_reset(&p->has_segments);
	buf_reset(&p->out);
	p->samples_count = p->file_segments_count = 0;
	p->pending_len = 0;
	p->sample_total = 0;
	p->off = off;
	p->full = p->is_tight = false;
	p->losses_changed = false;
	for (int i = 0; i < SPOOL_LOSS_COUNT; i++)
		p->losses_changed |= p->losses[i] != p->left_losses[i];
}

/* --- records --------------------------------------------------------------------------------- */

static void emit_record(struct spool_pack *p, enum spool_record_type type, const void *prefix,
			size_t prefix_len, const struct buf *body)
{
	struct spool_record_head head = {
		.magic = SPOOL_RECORD_MAGIC,
		.type = type,
		.len = (uint32_t)(prefix_len + (body ? body->len : 0)),
	};

	head.crc = crc32c(crc32c(0, &head.type, 8), prefix, prefix_len);
	if (body)
		head.crc = crc32c(head.crc, body->p, body->len);
	buf_append(&p->out, &head, sizeof(head));
	buf_append(&p->out, prefix, prefix_len);
	if (body)
		buf_append(&p->out, body->p, body->len);
	buf_align(&p->out, SPOOL_RECORD_ALIGN);
}

static void emit_losses(struct spool_pack *p)
{
	struct {
		uint32_t count, zero;
		struct {
			uint32_t loss, zero;
			uint64_t cumulative;
		} each[SPOOL_LOSS_COUNT];
	} body = {.count = 0};

	if (!p->losses_changed)
		return;
	/* Every loss that is not zero is stated, changed or not, so that a damaged record hides
	 * none for long. */
	for (uint32_t i = 0; i < SPOOL_LOSS_COUNT; i++) {
		if (p->losses[i] <= p->left_losses[i])
			continue;
		body.each[body.count].loss = i;
		body.each[body.count++].cumulative = p->losses[i] - p->left_losses[i];
	}
	emit_record(p, SPOOL_RECORD_LOSSES, &body, 8 + body.count * sizeof(body.each[0]), NULL);
	p->losses_changed = false;
}

/* Emits dictionaries before what refers to them, so that any prefix of the segment makes sense. */
void spool_pack_emit(struct spool_pack *p)
{
	for (int i = 0; i < SPOOL_DICT_COUNT; i++) {
		struct spool_dict *d = &p->dicts[i];
		uint32_t prefix[2] = {d->pending_first, (uint32_t)d->keys.count - d->pending_first};

		if (!prefix[1])
			continue;
		emit_record(p, SPOOL_RECORD_STRINGS + i, prefix, sizeof(prefix), &d->pending);
		d->pending_first = (uint32_t)d->keys.count;
		buf_reset(&d->pending);
	}
	if (p->file_segments_count) {
		const uint32_t prefix[2] = {p->file_segments_count, 0};

		emit_record(p, SPOOL_RECORD_FILE_SEGMENTS, prefix, sizeof(prefix),
			    &p->file_segments);
		p->file_segments_count = 0;
		buf_reset(&p->file_segments);
	}
	if (p->samples_count) {
		struct {
			uint64_t base;
			uint32_t count, step;
		} prefix = {p->guess.base, p->samples_count, p->guess.step};

		emit_losses(p);
		emit_record(p, SPOOL_RECORD_SAMPLES, &prefix, sizeof(prefix), &p->samples);
		p->samples_count = 0;
		buf_reset(&p->samples);
	}
	p->pending_len = 0;
}

void spool_pack_seal(struct spool_pack *p)
{
	spool_pack_emit(p);
	emit_losses(p);
	emit_record(p, SPOOL_RECORD_SEAL, &p->sample_total, sizeof(p->sample_total), NULL);
}

size_t spool_pack_late(struct spool_pack *p, const struct spool_late_scope *scope,
		       const struct spool_late_name *names, size_t count)
{
	_cleanup_(buf_done) struct buf body = BUF_INIT(LIMIT_SPOOL_RECORD);
	struct {
		uint32_t count, pid;
		uint64_t start_ns, since_ns, until_ns;
	} prefix = {
		.pid = scope->pid,
		.start_ns = scope->start_ns,
		/* Times of samples are rounded down. */
		.since_ns = scope->since_ns - scope->since_ns % SPOOL_SAMPLE_UNIT_NS,
		.until_ns = scope->until_ns,
	};

	for (; prefix.count < count; prefix.count++) {
		const struct spool_late_name *n = &names[prefix.count];
		const size_t most = body.len + n->name_len + LATE_NUMBERS_LEN;

		if (n->name_len > LIMIT_PATH_LEN || most > p->margin ||
		    !spool_pack_has_room(p,
					 sizeof(struct spool_record_head) + sizeof(prefix) + most))
			break;
		buf_uleb(&body, n->pc);
		buf_uleb(&body, n->len);
		buf_uleb(&body, n->name_len);
		buf_append(&body, n->name, n->name_len);
	}
	if (body.failed)
		return 0;
	if (prefix.count)
		emit_record(p, SPOOL_RECORD_LATE, &prefix, sizeof(prefix), &body);
	return prefix.count;
}

/* --- entries --------------------------------------------------------------------------------- */

/* Returns whether len more bytes of payload surely fit into the segment. */
bool spool_pack_has_room(const struct spool_pack *p, uint64_t len)
{
	return p->off + p->out.len + p->pending_len + OVERHEAD + len <= p->segment_len;
}

bool spool_pack_takes_sample(const struct spool_pack *p)
{
	return !p->full && !p->is_tight && spool_pack_has_room(p, p->margin);
}

static bool is_tight(const struct spool_pack *p, const struct intern *keys)
{
	return keys->count + 2 * LIMIT_STACK_FRAMES > keys->max_count ||
	       keys->data_len + p->margin > keys->max_data;
}

/*
 * Returns the index of a key. If the key is new, the caller appends its entry, of at most max_len
 * bytes, to *ret_to, and calls end_entry(); otherwise *ret_to is NULL.
 */
static uint32_t begin_entry(struct spool_pack *p, enum spool_dict_kind kind, const void *key,
			    size_t len, size_t max_len, struct buf **ret_to)
{
	struct spool_dict *d = &p->dicts[kind];
	uint32_t index;
	bool is_new;

	*ret_to = NULL;
	if (!spool_pack_has_room(p, max_len)) {
		index = intern_find(&d->keys, key, len);
		p->full |= index == INTERN_FULL;
		return index;
	}
	index = intern_add(&d->keys, key, len, &is_new);
	if (index == INTERN_FULL) {
		p->full = true;
	} else if (is_new) {
		*ret_to = &d->pending;
		p->is_tight |= is_tight(p, &d->keys);
	}
	return index;
}

static void end_entry(struct spool_pack *p, const struct buf *to, size_t len_before)
{
	p->pending_len += to->len - len_before;
	if (to->len >= PENDING_LEN)
		spool_pack_emit(p);
}

static void put_ref(struct buf *b, uint32_t index)
{
	buf_uleb(b, index == LOCATION_NO_INDEX ? 0 : (uint64_t)index + 1);
}

uint32_t spool_pack_string(struct spool_pack *p, const void *s, size_t len)
{
	struct buf *to;
	uint32_t index;
	size_t before;

	if (len > LIMIT_PATH_LEN)
		return LOCATION_NO_INDEX;
	index = begin_entry(p, SPOOL_DICT_STRINGS, s, len, len + 2, &to);
	if (to) {
		before = to->len;
		buf_uleb(to, len);
		buf_append(to, s, len);
		end_entry(p, to, before);
	}
	return index;
}

uint32_t spool_pack_module(struct spool_pack *p, const struct spool_module *m)
{
	uint8_t key[BUILD_ID_MAX + 7], flags = m->is_kernel ? SPOOL_MODULE_KERNEL : 0;
	struct buf *to;
	uint32_t index;
	size_t before;

	if (m->id.len > BUILD_ID_MAX)
		return LOCATION_NO_INDEX;
	key[0] = flags;
	key[1] = m->id.kind;
	key[2] = m->id.len;
	memcpy(key + 3, &m->path, 4);
	memcpy(key + 7, m->id.bytes, m->id.len);
	index = begin_entry(p, SPOOL_DICT_MODULES, key, 7 + (size_t)m->id.len, sizeof(key) + 2,
			    &to);
	if (to) {
		before = to->len;
		buf_append(to, key, 3);
		buf_append(to, m->id.bytes, m->id.len);
		put_ref(to, m->path);
		end_entry(p, to, before);
	}
	return index;
}

uint32_t spool_pack_location(struct spool_pack *p, const struct location *l)
{
	struct location key = *l;
	struct buf *to;
	uint32_t index;
	size_t before;

	key.pad = 0;
	key.pad2 = 0;
	index = begin_entry(p, SPOOL_DICT_LOCATIONS, &key, sizeof(key), sizeof(key), &to);
	if (to) {
		before = to->len;
		buf_u8(to, l->kind);
		buf_u8(to, l->mode);
		buf_u8(to, l->reason);
		put_ref(to, l->module);
		buf_uleb(to, l->address);
		put_ref(to, l->name);
		end_entry(p, to, before);
	}
	return index;
}

uint32_t spool_pack_stack(struct spool_pack *p, const uint32_t *locations, size_t count,
			  uint32_t flags)
{
	uint32_t key[LIMIT_STACK_FRAMES + 1] = {flags}, index;
	struct buf *to;
	size_t before;

	if (count > LIMIT_STACK_FRAMES)
		return LOCATION_NO_INDEX;
	for (size_t i = 0; i < count; i++) {
		if (locations[i] == LOCATION_NO_INDEX)
			return LOCATION_NO_INDEX;
		key[i + 1] = locations[i];
	}
	index = begin_entry(p, SPOOL_DICT_STACKS, key, (count + 1) * sizeof(*key), (count + 2) * 5,
			    &to);
	if (to) {
		before = to->len;
		buf_uleb(to, flags);
		buf_uleb(to, count);
		for (size_t i = 0; i < count; i++)
			buf_uleb(to, locations[i]);
		end_entry(p, to, before);
	}
	return index;
}

uint32_t spool_pack_thread(struct spool_pack *p, const struct spool_thread *t)
{
	const uint64_t key[] = {t->pid,       t->tid,       t->start_ns, t->comm,
				t->exe,       t->cgroup_id, t->state,    t->cgroup,
				t->container, t->service,   t->labels};
	struct buf *to;
	uint32_t index;
	size_t before;

	index = begin_entry(p, SPOOL_DICT_THREADS, key, sizeof(key), sizeof(key) + 8, &to);
	if (to) {
		before = to->len;
		buf_uleb(to, t->pid);
		buf_uleb(to, t->tid);
		buf_uleb(to, t->start_ns);
		put_ref(to, t->comm);
		put_ref(to, t->exe);
		buf_uleb(to, t->cgroup_id);
		buf_uleb(to, t->state);
		put_ref(to, t->cgroup);
		put_ref(to, t->container);
		put_ref(to, t->service);
		put_ref(to, t->labels);
		end_entry(p, to, before);
	}
	return index;
}

/* Notes that the file segments of a module are stored in this segment of the spool. Returns false
 * if they are already: a process that is read anew has new modules with the same segments. */
static bool set_has_segments(struct spool_pack *p, uint32_t module)
{
	struct buf *b = &p->has_segments;
	const size_t before = b->len;

	if (module >= before) {
		if (!buf_extend(b, module + 1 - before))
			return false;
		memset(b->p + before, 0, b->len - before);
	}
	if (b->p[module])
		return false;
	b->p[module] = 1;
	return true;
}

void spool_pack_file_segments(struct spool_pack *p, uint32_t module,
			      const struct file_segment *rows, size_t count)
{
	const size_t before = p->file_segments.len;

	if (!count || module >= p->dicts[SPOOL_DICT_MODULES].keys.count ||
	    !spool_pack_has_room(p, 5 + FILE_SEGMENTS_PACKED_MAX) || !set_has_segments(p, module))
		return;
	buf_uleb(&p->file_segments, module);
	file_segments_put(&p->file_segments, rows, count);
	p->file_segments_count++;
	end_entry(p, &p->file_segments, before);
}

bool spool_pack_sample(struct spool_pack *p, const struct spool_sample *s)
{
	const size_t before = p->samples.len;
	uint8_t *to;

	if (s->thread >= p->dicts[SPOOL_DICT_THREADS].keys.count ||
	    s->stack >= p->dicts[SPOOL_DICT_STACKS].keys.count || !spool_pack_has_room(p, 64))
		return false;
	to = buf_extend(&p->samples, SPOOL_SAMPLE_MAX);
	if (!to)
		return false;
	if (!p->samples_count)
		spool_guess_begin(&p->guess, s->time_ns / SPOOL_SAMPLE_UNIT_NS, p->samples_step);
	p->samples.len = before + (size_t)(spool_sample_encode(&p->guess, s, to) - to);
	p->samples_count++;
	p->sample_total++;
	end_entry(p, &p->samples, before);
	return true;
}
