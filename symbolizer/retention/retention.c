/* SPDX-License-Identifier: Apache-2.0 */
#include "retention.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "binary_meta.h"
#include "event.h"
#include "io.h"
#include "limits.h"
#include "release_names.h"

/* A table that a rule takes, as it was when the rule was asked. */
struct victim {
	struct build_id id;
	uint64_t changed_ns, used_ns;
	size_t rule;
};

struct victims {
	struct victim *list;
	size_t count, cap;
};

/* The findings of a round for one rule. */
struct rule_state {
	uint64_t found;        /* count: tables that it selects */
	struct victims oldest; /* count: a heap; the first one was used last of them */
	struct release_names *releases;
};

struct retention {
	struct store *store;
	struct build_queue *queue;

	pthread_mutex_t lock;
	struct retain_rules next; /* under the lock, like is_new */
	bool is_new;

	/* The rest is for the thread that steps. */
	struct retain_rules rules;
	struct rule_state states[RETAIN_RULES];
	struct victims victims; /* waiting to be removed, the last one first */
	struct build_id at;     /* where the round goes on */
	bool in_round, has_started;
	bool wants_round;      /* the next round begins at once */
	uint64_t fresh_rounds; /* rounds since the rules are new */
	uint64_t ended_ns;     /* when the last round ended, monotonic */

	_Atomic uint64_t removed[RETAIN_BOUNDS], rounds;
};

/* --- open and close -------------------------------------------------------------------------- */

struct retention *retention_new(struct store *store, struct build_queue *queue, struct err *err)
{
	struct retention *r = calloc(1, sizeof(*r));

	if (!r) {
		err_no_memory(err);
		return NULL;
	}
	r->store = store;
	r->queue = queue;
	pthread_mutex_init(&r->lock, NULL);
	return r;
}

static void forget_states(struct retention *r)
{
	for (size_t i = 0; i < RETAIN_RULES; i++) {
		free(r->states[i].oldest.list);
		release_names_free(r->states[i].releases);
	}
	memset(r->states, 0, sizeof(r->states));
	r->victims.count = 0;
}

void retention_free(struct retention *r)
{
	if (!r)
		return;
	forget_states(r);
	free(r->victims.list);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

void retention_set(struct retention *r, const struct retain_rules *rules)
{
	pthread_mutex_lock(&r->lock);
	r->next = *rules;
	r->is_new = true;
	pthread_mutex_unlock(&r->lock);
}

void retention_stat(struct retention *r, struct retention_stat *ret)
{
	for (int i = 0; i < RETAIN_BOUNDS; i++)
		ret->removed[i] = atomic_load(&r->removed[i]);
	ret->rounds = atomic_load(&r->rounds);
}

/* --- removing -------------------------------------------------------------------------------- */

static void tell_removal(const struct retain_rule *rule, const struct build_id *id,
			 const Rawstack__V1__Binary *was, uint64_t bytes)
{
	struct event e;

	if (!event_begin(&e, LOG_INFO, EVENT_EVICTION))
		return;
	event_id(&e, "build_id", id);
	event_text(&e, "reason", retain_bound_name(rule->bound));
	event_text(&e, "rule", rule->text);
	event_number(&e, "bytes", bytes);
	if (was->name.len)
		event_bytes(&e, "name", was->name.data, was->name.len);
	if (was->version.len)
		event_bytes(&e, "version", was->version.data, was->version.len);
	event_end(&e);
}

/* One removal, as build_queue_remove() makes it. */
struct removal {
	const struct victim *victim;
	const struct retain_rule *rule;
};

/* Purges the table unless it has changed or was asked for since the rule was asked. Its record gets
 * the rule as the reason. */
static int purge_victim(void *ctx, struct store *store, const struct build_id *id, struct err *err)
{
	_cleanup_(arena_done) struct arena arena = ARENA_INIT(LIMIT_REPLY_MEMORY);
	_cleanup_(freep) uint8_t *packed = NULL;
	const struct removal *removal = ctx;
	const struct victim *v = removal->victim;
	struct store_binary b;
	Rawstack__V1__Binary *m = NULL;
	struct store_read *r;
	uint64_t bytes;
	char why[RETAIN_RULE_LEN + 8];
	size_t len;
	int rc;

	TRY(store_read_begin(store, &r, err));
	rc = store_binary(r, id, &b, err);
	if (rc == 1 && (b.pinned || b.changed_ns != v->changed_ns || b.used_ns > v->used_ns))
		rc = 0;
	if (rc == 1)
		m = binary_meta_message(&b, &arena);
	store_read_end(r);
	if (rc != 1)
		return rc;
	if (!m)
		return err_no_memory(err);
	bytes = b.table_len + b.other_len;
	snprintf(why, sizeof(why), "retain %s", removal->rule->text);
	m->reason = binary_meta_text(why);
	len = rawstack__v1__binary__get_packed_size(m);
	packed = malloc(len + 1);
	if (!packed)
		return err_no_memory(err);
	rawstack__v1__binary__pack(m, packed);
	rc = store_retire(store, id, packed, len, err);
	if (rc == 1)
		tell_removal(removal->rule, id, m, bytes);
	return rc;
}

/* Removes some of the victims. Returns whether none is left. */
static bool remove_victims(struct retention *r)
{
	for (int i = 0; i < RETENTION_REMOVALS && r->victims.count; i++) {
		const struct victim v = r->victims.list[--r->victims.count];
		struct removal removal = {&v, &r->rules.list[v.rule]};

		if (build_queue_remove(r->queue, &v.id, purge_victim, &removal, NULL) == 1)
			atomic_fetch_add(&r->removed[removal.rule->bound], 1);
	}
	return !r->victims.count;
}

static bool add_victim(struct victims *to, const struct victim *v)
{
	if (!GROW(to->list, &to->cap, to->count + 1, RETENTION_RECORDS + RETENTION_OLDEST))
		return false;
	to->list[to->count++] = *v;
	return true;
}

/* --- count ----------------------------------------------------------------------------------- */

/* Moves the last victim of the heap up to its place. */
static void raise_last(struct victims *heap)
{
	for (size_t i = heap->count - 1;
	     i && heap->list[(i - 1) / 2].used_ns < heap->list[i].used_ns; i = (i - 1) / 2) {
		const struct victim v = heap->list[i];

		heap->list[i] = heap->list[(i - 1) / 2];
		heap->list[(i - 1) / 2] = v;
	}
}

/* Moves the first victim of the heap down to its place. */
static void lower_first(struct victims *heap)
{
	for (size_t i = 0, child = 1; child < heap->count; i = child, child = 2 * i + 1) {
		const struct victim v = heap->list[i];

		if (child + 1 < heap->count &&
		    heap->list[child + 1].used_ns > heap->list[child].used_ns)
			child++;
		if (heap->list[child].used_ns <= v.used_ns)
			return;
		heap->list[i] = heap->list[child];
		heap->list[child] = v;
	}
}

/* Counts a table, and remembers it if it is among those that were used longest ago. */
static void count_table(struct rule_state *s, const struct victim *v)
{
	s->found++;
	if (s->oldest.count < RETENTION_OLDEST) {
		if (add_victim(&s->oldest, v))
			raise_last(&s->oldest);
	} else if (v->used_ns < s->oldest.list[0].used_ns) {
		s->oldest.list[0] = *v;
		lower_first(&s->oldest);
	}
}

/* Takes the tables above a count, those that were used longest ago. Returns whether there are any;
 * another round has to see what is left. */
static bool take_excess(struct retention *r, size_t rule)
{
	struct rule_state *s = &r->states[rule];
	const uint64_t limit = r->rules.list[rule].limit;
	const uint64_t excess = s->found > limit ? s->found - limit : 0;

	while (s->oldest.count > excess) {
		s->oldest.list[0] = s->oldest.list[--s->oldest.count];
		lower_first(&s->oldest);
	}
	for (size_t i = 0; i < s->oldest.count; i++)
		if (!add_victim(&r->victims, &s->oldest.list[i]))
			break;
	return s->oldest.count > 0;
}

/* --- a round --------------------------------------------------------------------------------- */

static void begin_round(struct retention *r)
{
	for (size_t i = 0; i < r->rules.count; i++) {
		struct rule_state *s = &r->states[i];
		const struct retain_rule *rule = &r->rules.list[i];

		s->found = 0;
		s->oldest.count = 0;
		if (rule->bound == RETAIN_RELEASES && !s->releases)
			s->releases = release_names_new(rule->limit);
	}
	r->in_round = true;
	r->has_started = false;
	r->wants_round = false;
}

static void end_round(struct retention *r)
{
	bool has_releases = false;

	/* A table that one rule takes, another need not take: it counts again in the next round. */
	for (size_t i = 0; i < r->rules.count && !r->wants_round; i++)
		if (r->rules.list[i].bound == RETAIN_COUNT)
			r->wants_round = take_excess(r, i);
	for (size_t i = 0; i < r->rules.count; i++)
		if (r->states[i].releases) {
			has_releases = true;
			release_names_turn(r->states[i].releases, true);
		}
	/* The first round only collects the releases. */
	if (!r->fresh_rounds++ && has_releases)
		r->wants_round = true;
	r->in_round = false;
	r->ended_ns = io_mono_ns();
	atomic_fetch_add(&r->rounds, 1);
}

/* Ends a round that cannot be finished; what half of it found counts for nothing. */
static void abandon_round(struct retention *r)
{
	for (size_t i = 0; i < r->rules.count; i++)
		if (r->states[i].releases)
			release_names_turn(r->states[i].releases, false);
	r->in_round = false;
	r->ended_ns = io_mono_ns();
}

static bool is_older(uint64_t than_ns, uint64_t age_ns, uint64_t now_ns)
{
	return now_ns > than_ns && now_ns - than_ns > age_ns;
}

/* Has the rules look at a table. Returns whether one of them takes it now; its index is then in
 * v->rule. A table that goes counts for no other rule. */
static bool judge_table(struct retention *r, const Rawstack__V1__Binary *m, uint64_t uploaded_ns,
			struct victim *v, uint64_t now_ns)
{
	const struct release_key key = {m->name.data, m->version.data, m->name.len, m->version.len};
	bool selected[RETAIN_RULES] = {false};

	for (size_t i = 0; i < r->rules.count; i++) {
		selected[i] = retain_rule_selects(&r->rules.list[i], m);
		if (selected[i] && r->rules.list[i].bound == RETAIN_FOREVER)
			return false;
	}
	for (size_t i = 0; i < r->rules.count; i++) {
		const struct retain_rule *rule = &r->rules.list[i];
		const struct release_names *releases = r->states[i].releases;

		if (!selected[i])
			continue;
		v->rule = i;
		if ((rule->bound == RETAIN_AGE && is_older(uploaded_ns, rule->limit, now_ns)) ||
		    (rule->bound == RETAIN_UNUSED && is_older(v->used_ns, rule->limit, now_ns)) ||
		    (releases && key.name_len && key.version_len &&
		     release_names_is_old(releases, &key, uploaded_ns)))
			return true;
	}
	for (size_t i = 0; i < r->rules.count; i++) {
		struct rule_state *s = &r->states[i];

		if (!selected[i])
			continue;
		v->rule = i;
		if (r->rules.list[i].bound == RETAIN_COUNT)
			count_table(s, v);
		if (s->releases && key.name_len && key.version_len)
			release_names_note(s->releases, &key, uploaded_ns);
	}
	return false;
}

/* Looks at one record. Returns false if memory is out. */
static bool judge_record(struct retention *r, const struct store_binary *b, struct arena *arena,
			 uint64_t now_ns)
{
	struct victim v = {.id = b->id, .changed_ns = b->changed_ns};
	const Rawstack__V1__Binary *m;

	if (b->status == STORE_DAMAGED || b->pinned || !(b->table_len || b->other_len))
		return true;
	m = binary_meta_message(b, arena);
	if (!m)
		return false;
	/* A table that was just made is wanted, even if nobody has asked for it yet. */
	v.used_ns = b->used_ns > b->changed_ns ? b->used_ns : b->changed_ns;
	if (judge_table(r, m, m->uploaded_unix_ns ? m->uploaded_unix_ns : b->changed_ns, &v,
			now_ns))
		return add_victim(&r->victims, &v);
	return true;
}

/* Goes on with the round. It ends at the end of the records, or at a damaged page, behind which
 * they cannot be found. */
static int walk_records(struct retention *r, struct err *err)
{
	_cleanup_(arena_done) struct arena arena = ARENA_INIT(LIMIT_REPLY_MEMORY);
	const uint64_t now_ns = io_system()->real_ns(NULL);
	struct store_read *in;
	struct store_binary b;
	int rc;

	TRY(store_read_begin(r->store, &in, err));
	for (int i = 0; i < RETENTION_RECORDS; i++) {
		rc = store_binary_next(in, r->has_started ? &r->at : NULL, &b, err);
		if (rc != 1)
			break;
		r->at = b.id;
		r->has_started = true;
		if (!judge_record(r, &b, &arena, now_ns)) {
			rc = err_no_memory(err);
			break;
		}
		arena_reset(&arena);
	}
	store_read_end(in);
	return rc;
}

/* Takes new rules, if there are any. */
static void take_rules(struct retention *r)
{
	pthread_mutex_lock(&r->lock);
	if (r->is_new) {
		forget_states(r);
		r->rules = r->next;
		r->is_new = r->in_round = false;
		r->wants_round = true;
		r->fresh_rounds = 0;
	}
	pthread_mutex_unlock(&r->lock);
}

void retention_step(struct retention *r, uint64_t pause_ns)
{
	int rc;

	take_rules(r);
	if (!r->rules.count || !remove_victims(r))
		return;
	if (!r->in_round) {
		if (!r->wants_round && io_mono_ns() - r->ended_ns < pause_ns)
			return;
		begin_round(r);
	}
	rc = walk_records(r, NULL);
	if (rc == 0)
		end_round(r);
	else if (rc < 0)
		abandon_round(r);
	(void)remove_victims(r);
}
