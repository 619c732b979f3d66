/* SPDX-License-Identifier: Apache-2.0 */
/* A scan by two threads, each of which takes the next run of units when it is idle. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "die_priv.h"
#include "limits.h"
#include "rsym_report.h"

/* The length of a run of units in a plain section. In a compressed section, a run is all units that
 * are inflated. */
#define RUN ((uint64_t)512 << 10)

/* The state that both threads share. */
struct share {
	pthread_mutex_t lock;
	/* The lock guards all members below. */
	struct die_scan *owner; /* the scan that has .debug_info open */
	uint64_t next;          /* offset of the first unit that no thread has taken */
	uint32_t next_number;
	uint64_t unread;
	struct unit_filter_shared wanted;
	uint64_t reading[2]; /* offset of each thread's current run, or UINT64_MAX */
	bool over;
};

struct run {
	uint64_t off, end;
	uint64_t seen;    /* the bytes at p are readable up to this offset */
	const uint8_t *p; /* the byte at off */
	uint32_t number;  /* of its first unit */
	int found;        /* result of die_scan_find_unit() for that unit */
	struct err why;
};

/* The lengths of the notes after a unit was read. */
struct mark {
	uint32_t number;
	size_t notes_end, missing_end;
};

struct scan_thread {
	struct die_scan s;
	struct share *share;
	unsigned int index; /* 0 or 1 */
	struct section_chunk chunk;
	struct debug_report report;
	uint32_t skipped_number; /* unit that report.skipped is about */
	struct buf notes, missing;
	struct mark *marks;
	size_t mark_count, marks_cap;
	struct err err;
	int rc;
};

static void scan_thread_done(struct scan_thread *r)
{
	die_scan_close(&r->s);
	free(r->chunk.memory);
	buf_done(&r->notes);
	buf_done(&r->missing);
	free(r->marks);
}

/* Adds a unit whose end is known to the current run. */
static void add_run_unit(struct share *sh, uint64_t end, bool readable)
{
	sh->next = end;
	sh->next_number++;
	sh->unread += !readable;
	if (sh->unread == LIMIT_UNITS_SKIPPED)
		sh->over = true;
}

/* Adds the units behind the first that are readable to their ends. */
static void add_visible(struct share *sh, struct run *run, uint64_t len)
{
	while (sh->next < len && !sh->over) {
		uint64_t left = run->seen - sh->next;
		size_t have = left < DIE_HEADER_MAX ? (size_t)left : DIE_HEADER_MAX;
		struct die_unit u;
		struct err why;
		int header;

		if (have < DIE_HEADER_MAX && run->seen < len)
			return;
		header = die_unit_header(&u, run->p + (sh->next - run->off), have, sh->next, len,
					 false, &why);
		if ((header && header != ERR_UNSUPPORTED) || u.end > run->seen)
			return; /* this unit begins a later run */
		add_run_unit(sh, u.end, !header);
	}
}

/* Finds the first unit of a run, skipping units that are not wanted. Returns 1, or 0 if there is
 * none. */
static int take_first(struct share *sh, struct run *run, struct die_unit *ret)
{
	struct die_scan *owner = sh->owner;

	do {
		if (sh->over || sh->next >= die_scan_info_len(owner) ||
		    unit_filter_shared_is_done(&sh->wanted, &owner->wanted, sh->next))
			return 0;
		*run = (struct run){.off = sh->next, .number = sh->next_number};
		run->found = die_scan_find_unit(owner, run->off, ret, &run->why);
		if (run->found < 0 || ret->end <= run->off) {
			sh->over = true;
			return run->found < 0;
		}
		add_run_unit(sh, ret->end, run->found);
	} while (!ret->p);
	return 1;
}

/* Returns 1 and *run, 0 if there are no more units, or an error. */
static int take_locked(struct share *sh, struct scan_thread *r, struct run *run, struct err *err)
{
	struct die_scan *owner = sh->owner;
	uint64_t len = die_scan_info_len(owner), left;
	struct die_unit first = {0};
	int rc;

	sh->reading[r->index] = UINT64_MAX;
	unit_filter_shared_add(&sh->wanted, &r->s.wanted);
	rc = take_first(sh, run, &first);
	if (rc <= 0 || run->found < 0)
		return rc;
	sh->reading[r->index] = run->off;
	left = len - run->off;
	if (owner->files.image.whole.p) {
		run->p = owner->files.image.whole.p + run->off;
		run->seen = run->off + (left < RUN ? left : RUN);
	} else if (!owner->info.stream) {
		run->p = owner->info.p + run->off;
		run->seen = run->off + (left < RUN ? left : RUN);
		section_stream_drop_before(&owner->info, sh->reading[0] < sh->reading[1]
								 ? sh->reading[0]
								 : sh->reading[1]);
	} else {
		run->p = owner->info.p + (run->off - owner->info.off);
		run->seen = owner->info.off + owner->info.have;
	}
	if (run->seen < first.end)
		run->seen = first.end;
	add_visible(sh, run, len);
	run->end = sh->next;
	if (!owner->files.image.whole.p)
		TRY(section_stream_detach(&owner->info, run->end, &r->chunk, err));
	return 1;
}

static int take_run(struct share *sh, struct scan_thread *r, struct run *run, struct err *err)
{
	int rc;

	pthread_mutex_lock(&sh->lock);
	rc = take_locked(sh, r, run, err);
	pthread_mutex_unlock(&sh->lock);
	return rc;
}

static int read_one(struct scan_thread *r, const struct die_unit *u, uint32_t number, int found,
		    struct err *why, struct err *err)
{
	size_t notes_len = r->notes.len, missing_len = r->missing.len;
	bool skipped = r->report.skipped[0];
	int rc;

	rc = die_scan_read_unit(&r->s, u, number, found, why, err);
	if (!skipped)
		r->skipped_number = number;
	if (rc || (notes_len == r->notes.len && missing_len == r->missing.len))
		return rc;
	if (!GROW(r->marks, &r->marks_cap, r->mark_count + 1, SIZE_MAX))
		return err_no_memory(err);
	r->marks[r->mark_count++] = (struct mark){
		.number = number, .notes_end = r->notes.len, .missing_end = r->missing.len};
	return 0;
}

static int read_run(struct scan_thread *r, struct run *run, struct err *err)
{
	uint64_t len = die_scan_info_len(r->share->owner);
	uint32_t number = run->number;
	const struct die_file *f = &r->s.files.image;
	struct die_unit u = {.off = run->off, .file = f};

	if (run->found < 0)
		return read_one(r, &u, number, run->found, &run->why, err);
	for (uint64_t off = run->off; off < run->end; off = u.end) {
		const uint8_t *p = run->p + (off - run->off);
		uint64_t left = run->seen - off;
		struct err why = {0};
		int header = die_unit_header(&u, p,
					     left < DIE_HEADER_MAX ? (size_t)left : DIE_HEADER_MAX,
					     off, len, false, &why);

		u.file = f;
		u.p = unit_filter_need(&r->s.wanted, off) == UNIT_FILTER_SKIP ? NULL : p;
		TRY(read_one(r, &u, number++, !header, &why, err));
	}
	return 0;
}

static void read_runs(void *ctx)
{
	struct scan_thread *r = ctx;
	struct run run;

	while ((r->rc = take_run(r->share, r, &run, &r->err)) > 0) {
		r->rc = read_run(r, &run, &r->err);
		if (r->rc)
			break;
	}
	if (r->rc) {
		pthread_mutex_lock(&r->share->lock);
		r->share->over = true;
		pthread_mutex_unlock(&r->share->lock);
	}
}

static void take_notes(struct buf *to, const struct buf *from, size_t at, size_t end)
{
	struct bytes in = bytes_of(end > at ? from->p + at : NULL, end - at);
	const char *part, *name, *why;
	size_t ignored;

	while ((part = bytes_cstr(&in, &ignored)) && (name = bytes_cstr(&in, &ignored)) &&
	       (why = bytes_cstr(&in, &ignored)))
		rsym_report_note(to, part, name, why);
}

/* Joins the notes of both threads, in the order of units. */
static void join_notes(const struct scan_thread r[2], const struct die_companions *c)
{
	size_t at[2] = {0};

	while (at[0] < r[0].mark_count || at[1] < r[1].mark_count) {
		bool second = at[0] == r[0].mark_count ||
			      (at[1] < r[1].mark_count &&
			       r[1].marks[at[1]].number < r[0].marks[at[0]].number);
		const struct scan_thread *from = &r[second];
		const struct mark *m = &from->marks[at[second]++];
		const struct mark none = {0}, *before = at[second] > 1 ? m - 1 : &none;

		if (c->notes)
			take_notes(c->notes, &from->notes, before->notes_end, m->notes_end);
		if (c->missing && m->missing_end > before->missing_end)
			buf_append(c->missing, from->missing.p + before->missing_end,
				   m->missing_end - before->missing_end);
	}
}

static void report_both(struct debug_report *to, const struct scan_thread r[2])
{
	const struct scan_thread *first = &r[0];

	if (!first->report.skipped[0] ||
	    (r[1].report.skipped[0] && r[1].skipped_number < first->skipped_number))
		first = &r[1];
	if (!to->skipped[0])
		memcpy(to->skipped, first->report.skipped, sizeof(to->skipped));
	for (int i = 0; i < 2; i++) {
		to->unit_count += r[i].report.unit_count;
		to->units_skipped += r[i].report.units_skipped;
		to->info_read += r[i].report.info_read;
		to->needs_alt_file |= r[i].report.needs_alt_file;
	}
}

/* The state of loading sections in both threads, each of which takes the next section. */
struct loading {
	struct image *im;
	atomic_size_t taken;
};

/* Errors are ignored here, because they recur when the sections are opened. */
static void open_second(void *ctx)
{
	/* Ordered by typical size, the largest first. */
	static const char *const names[] = {".debug_line",   ".debug_str",  ".debug_rnglists",
					    ".debug_ranges", ".debug_addr", ".debug_abbrev"};
	struct loading *l = ctx;
	struct err ignored;
	const uint8_t *p;
	size_t len, i;

	while ((i = atomic_fetch_add_explicit(&l->taken, 1, memory_order_relaxed)) <
	       ARRAY_LEN(names))
		(void)image_section(l->im, names[i], &p, &len, &ignored);
}

/* Opens the scans of both threads. Returns 1, 0 if there are no units, or an error. Only the first
 * scan notes damaged companions. */
static int open_both(struct scan_thread r[2], struct image *im,
		     const struct die_companions *companions, const struct die_part parts[2],
		     struct debug_report *report, struct err *err)
{
	struct die_companions c = *companions;
	int rc;

	c.helper = NULL; /* the helper reads units itself */
	TRY(die_scan_open(&r[0].s, im, &c, parts[0].text, parts[0].sink, &r[0].report, err));
	rc = die_scan_open_info(&r[0].s, im, &c, err);
	*report = r[0].report;
	r[0].report = (struct debug_report){0};
	if (rc <= 0)
		return rc;
	c.missing = c.notes = NULL;
	c.wanted_count = 0;
	TRY(die_scan_open(&r[1].s, im, &c, parts[1].text, parts[1].sink, &r[1].report, err));
	TRY(unit_filter_copy(&r[1].s.wanted, &r[0].s.wanted, err));
	r[1].report = (struct debug_report){0};
	r[1].s.current.repeats = &r[0].s.repeats;
	r[1].s.files.image.whole = r[0].s.files.image.whole;
	TRY(die_file_list_units(&r[1].s.files.image, err));
	for (int i = 0; i < 2; i++) {
		r[i].s.notes.notes = companions->notes ? &r[i].notes : NULL;
		r[i].s.notes.missing = companions->missing ? &r[i].missing : NULL;
	}
	return 1;
}

/* The threads' state is allocated, because it is too large for the stack. */
int scan_parallel(struct image *im, const struct die_companions *companions,
		  struct die_part parts[2], struct debug_report *report, struct helper *helper,
		  struct err *err)
{
	struct scan_thread *r = calloc(2, sizeof(*r));
	struct share share = {.lock = PTHREAD_MUTEX_INITIALIZER,
			      .reading = {UINT64_MAX, UINT64_MAX}};
	int rc;

	*report = (struct debug_report){0};
	if (!r)
		return err_no_memory(err);
	for (unsigned int i = 0; i < 2; i++) {
		r[i].index = i;
		r[i].share = &share;
		r[i].notes = (struct buf)BUF_INIT(LIMIT_SKIPPED_LEN);
		r[i].missing = (struct buf)BUF_INIT(LIMIT_MISSING_LEN);
	}
	share.owner = &r[0].s;
	if (!image_bias(im)) {
		struct loading loading = {.im = im};

		helper_start(helper, open_second, &loading);
		open_second(&loading);
		helper_wait(helper);
	}
	/* One thread loads the remaining sections; from then on both threads only read them. */
	rc = open_both(r, im, companions, parts, report, err);
	if (rc > 0)
		rc = unit_filter_shared_open(&share.wanted, &r[0].s.wanted, err) ? ERR_MEMORY : rc;
	if (rc > 0) {
		helper_start(helper, read_runs, &r[1]);
		read_runs(&r[0]);
		helper_wait(helper);
		rc = r[0].rc ? r[0].rc : r[1].rc;
		if (rc)
			err_set(err, rc, "%s", r[r[0].rc ? 0 : 1].err.message);
	}
	if (!rc) {
		report->info_len = die_scan_info_len(&r[0].s);
		join_notes(r, companions);
		report_both(report, r);
	}
	for (int i = 2; i--;)
		scan_thread_done(&r[i]);
	unit_filter_shared_close(&share.wanted);
	free(r);
	return rc;
}
