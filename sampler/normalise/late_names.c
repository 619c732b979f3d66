/* SPDX-License-Identifier: Apache-2.0 */
#include "late_names.h"

#include <errno.h>
#include <string.h>

#include "file_ids.h"
#include "late_jit.h"

#define AGAIN_NS UINT64_C(1000000000)  /* pause if the helper may read no more now */
#define BUSY_NS  UINT64_C(10000000000) /* pause if threads of the process live on */

enum {
	LIMIT_LATE_ASKED = 16,  /* most requests under way */
	LIMIT_LATE_PAUSES = 20, /* most pauses of AGAIN_NS in a turn */
};

/* --- places ---------------------------------------------------------------------------------- */

static void put_place(struct late_names *l, struct late_jit *t, uint64_t pc)
{
	if (pc && t->count < LIMIT_JIT_NAMELESS && l->pc_count < LIMIT_JIT_NAMELESS_ALL)
		l->pc_count += late_jit_put(t, pc);
}

static void forget_places(struct late_names *l, struct late_jit *t)
{
	if (t->slots)
		memset(t->slots, 0, t->slot_count * sizeof(*t->slots));
	l->pc_count -= t->count;
	t->count = 0;
}

/* --- programs -------------------------------------------------------------------------------- */

static bool program_is_over(const struct jit *j)
{
	return j->refs == 1;
}

static void drop_program(struct late_names *l, size_t i)
{
	struct jit *j = l->all[i];
	struct late_jit *t = j->late;

	forget_places(l, t);
	l->asked_count -= t->is_under_way;
	free(t->slots);
	free(t->asked);
	free(t->rows);
	free(t);
	j->late = NULL;
	l->all[i] = l->all[--l->count];
	jit_unref(j);
}

void late_names_done(struct late_names *l)
{
	while (l->count)
		drop_program(l, l->count - 1);
}

/* Makes room for one more program. Returns false if all the others have requests under way. */
static bool make_program_room(struct late_names *l)
{
	size_t oldest = l->count;

	if (l->count < ARRAY_LEN(l->all))
		return true;
	for (size_t i = 0; i < l->count; i++)
		if (!l->all[i]->late->is_under_way &&
		    (oldest == l->count || l->all[i]->seen_ns < l->all[oldest]->seen_ns))
			oldest = i;
	if (oldest == l->count)
		return false;
	drop_program(l, oldest);
	return true;
}

void late_names_add(struct late_names *l, struct jit *j, uint64_t pc, uint64_t time_ns)
{
	if (!j->late) {
		if (!make_program_room(l))
			return;
		j->late = calloc(1, sizeof(*j->late));
		if (!j->late)
			return;
		l->all[l->count++] = jit_ref(j);
	}
	if (time_ns > j->seen_ns)
		j->seen_ns = time_ns;
	put_place(l, j->late, pc);
}

/* --- asking ---------------------------------------------------------------------------------- */

static int compare_places(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void begin_turn(struct late_jit *t)
{
	t->asked = malloc((t->count + 1) * sizeof(*t->asked));
	t->asked_count = t->at = t->again_count = 0;
	for (size_t i = 0; t->asked && i < t->slot_count; i++)
		if (t->slots[i])
			t->asked[t->asked_count++] = t->slots[i];
	if (t->asked)
		qsort(t->asked, t->asked_count, sizeof(*t->asked), compare_places);
}

/* Ends a turn. Keeps only the places without a name, so that the others are not asked for again
 * when the program ends. */
static void end_turn(struct late_names *l, struct late_jit *t)
{
	forget_places(l, t);
	for (size_t i = 0; i < t->asked_count; i++)
		put_place(l, t, t->asked[i]);
	free(t->asked);
	t->asked = NULL;
	t->had_turn = true;
}

static void ask_part(struct late_names *l, struct file_ids *ids, struct jit *j)
{
	struct late_jit *t = j->late;

	if (l->asked_count >= LIMIT_LATE_ASKED)
		return;
	t->part = t->asked_count - t->at < LIMIT_PERF_MAP_LATE_ROWS ? t->asked_count - t->at
								    : LIMIT_PERF_MAP_LATE_ROWS;
	t->is_under_way = file_ids_ask_late(ids, j, t->asked + t->at, t->part);
	l->asked_count += t->is_under_way;
}

/* --- writing --------------------------------------------------------------------------------- */

static void write_names(const struct jit *j, struct spool_writer *spool)
{
	const struct late_jit *t = j->late;
	_cleanup_(freep) struct spool_late_name *names =
		malloc((t->row_count + 1) * sizeof(*names));
	const struct spool_late_scope scope = {j->pid, j->start_ns, j->since_ns, j->seen_ns};
	const struct perf_map_row *before = NULL;
	size_t count = 0;

	if (!names)
		return;
	for (size_t i = 0; i < t->row_count; i++) {
		const struct perf_map_row *r = &t->rows[i];

		/* Places of one function are adjacent, so one comparison drops repeats. */
		if (!r->len || (before && before->start == r->start && before->len == r->len))
			continue;
		before = r;
		names[count++] = (struct spool_late_name){r->start, r->len, r->name,
							  strnlen(r->name, sizeof(r->name))};
	}
	spool_writer_late(spool, &scope, names, count);
}

/* Takes an answer. Returns false if the turn has no more requests. */
static bool handle_answer(struct late_names *l, struct jit *j, struct spool_writer *spool,
			  uint64_t now_ns)
{
	struct late_jit *t = j->late;

	l->asked_count--;
	t->is_under_way = t->is_answered = false;
	if (t->rc == -EAGAIN && t->again_count++ < LIMIT_LATE_PAUSES && !l->is_ending) {
		t->not_before_ns = now_ns + AGAIN_NS;
		return true;
	}
	if (t->rc == -EBUSY && program_is_over(j) && !l->is_ending) {
		t->not_before_ns = now_ns + BUSY_NS;
		return true;
	}
	if (t->rc)
		return false;
	write_names(j, spool);
	for (size_t i = 0; i < t->row_count && i < t->part; i++)
		if (t->rows[i].len)
			t->asked[t->at + i] = 0;
	t->at += t->part;
	free(t->rows);
	t->rows = NULL;
	return t->at < t->asked_count;
}

/* Takes the answer of a program and asks for more. Returns false if the caller is to drop it. */
static bool poll_program(struct late_names *l, struct jit *j, struct file_ids *ids,
			 struct spool_writer *spool, uint64_t now_ns)
{
	struct late_jit *t = j->late;

	if (t->is_answered && !handle_answer(l, j, spool, now_ns)) {
		end_turn(l, t);
		return !program_is_over(j) && !l->is_ending;
	}
	if (!t->asked && !t->is_under_way) {
		if (!t->count)
			return !program_is_over(j) && !l->is_ending;
		if (!program_is_over(j) && !l->is_ending && (t->had_turn || !j->has_map))
			return true;
		begin_turn(t);
	}
	if (t->asked && !t->is_under_way && now_ns >= t->not_before_ns)
		ask_part(l, ids, j);
	return true;
}

void late_names_poll(struct late_names *l, struct file_ids *ids, struct spool_writer *spool,
		     uint64_t now_ns)
{
	if (l->is_ending && ids->fd < 0)
		late_names_done(l);
	/* The loop runs backwards, because the last row moves into the place of a dropped one. */
	for (size_t i = l->count; i-- > 0;)
		if (!poll_program(l, l->all[i], ids, spool, now_ns))
			drop_program(l, i);
}

void late_names_end(struct late_names *l)
{
	l->is_ending = true;
}

bool late_names_is_waiting(const struct late_names *l)
{
	return l->asked_count > 0 || (l->is_ending && l->count > 0);
}
