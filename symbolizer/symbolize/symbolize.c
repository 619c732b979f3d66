/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize.h"

#include <string.h>

#include "batch_check.h"
#include "location.h"
#include "symbolize_priv.h"

enum {
	LOCATION_COST = 4, /* status and frame count, as varints */
	FRAME_COST = 10,   /* function and line */
	COLUMN_COST = 5,
	FRAMING_COST = 256,           /* tags and lengths of the columns, the batch id */
	LIMIT_REPLY_FRAMES = 1 << 20, /* 16 for each location of the largest batch */
	CANCEL_INTERVAL = 1024,       /* locations between two checks */
	ANSWERS_MAX = 3,              /* answers to a batch that meets damaged tables */
	AHEAD = 16,                   /* locations whose memory is fetched ahead */
};

struct symbolize *symbolize_new(bool is_stream, struct err *err)
{
	struct symbolize *s = calloc(1, sizeof(*s));

	if (!s) {
		err_no_memory(err);
		return NULL;
	}
	s->is_stream = is_stream;
	s->arena = (struct arena)ARENA_INIT(LIMIT_REPLY_MEMORY);
	s->copies = (struct arena)ARENA_INIT(LIMIT_STREAM_MEMORY);
	reply_names_init(&s->names);
	return s;
}

void symbolize_free(struct symbolize *s)
{
	if (!s)
		return;
	arena_done(&s->arena);
	arena_done(&s->copies);
	reply_names_done(&s->names);
	lookups_done(&s->lookups);
	free(s->modules);
	free(s->strings);
	free(s->frame_function);
	free(s->frame_line);
	free(s->frame_column);
	free(s);
}

size_t symbolize_memory(const struct symbolize *s)
{
	return sizeof(*s) + s->arena.used + s->copies.used + reply_names_memory(&s->names) +
	       lookups_memory(&s->lookups) + s->modules_cap * sizeof(s->modules[0]) +
	       s->strings_cap * sizeof(s->strings[0]) +
	       (s->function_cap + s->line_cap + s->column_cap) * sizeof(uint32_t);
}

const Rawstack__V1__SymbolizedBatch *symbolize_reply(const struct symbolize *s)
{
	return &s->reply;
}

bool symbolize_is_cancelled(const struct symbolize *s)
{
	return s->env->cancelled && s->env->cancelled(s->env->cancelled_arg);
}

int symbolize_cancelled(struct err *err)
{
	return err_set(err, ERR_CANCELLED, "nobody waits for the answer");
}

/* --- the frames of the reply ----------------------------------------------------------------- */

enum outcome {
	FITS,
	FULL
};

static bool make_frame_room(struct symbolize *s, uint32_t count)
{
	bool columns = s->batch->want_columns;
	size_t want = s->frame_count + count;

	return reply_names_weigh(&s->names,
				 (size_t)count * (FRAME_COST + (columns ? COLUMN_COST : 0))) &&
	       GROW(s->frame_function, &s->function_cap, want, LIMIT_REPLY_FRAMES) &&
	       GROW(s->frame_line, &s->line_cap, want, LIMIT_REPLY_FRAMES) &&
	       (!columns || GROW(s->frame_column, &s->column_cap, want, LIMIT_REPLY_FRAMES));
}

static void append_reply_frame(struct symbolize *s, uint32_t function, uint32_t line,
			       uint32_t column)
{
	s->frame_function[s->frame_count] = function;
	s->frame_line[s->frame_count] = line;
	if (s->batch->want_columns)
		s->frame_column[s->frame_count] = column;
	s->frame_count++;
}

/* Appends frames whose functions are places. */
static enum outcome append_frames(struct symbolize *s, const struct rsym_frame *frames,
				  uint32_t count)
{
	if (!make_frame_room(s, count))
		return FULL;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t row = reply_names_row(&s->names, frames[i].function);

		if (row == RSYM_NONE)
			return FULL;
		append_reply_frame(s, row, frames[i].line, frames[i].column);
	}
	return FITS;
}

static enum outcome append_host_named(struct symbolize *s, size_t i)
{
	struct kv_bytes name = s->strings[s->locations->string[i]];
	uint32_t row =
		make_frame_room(s, 1) ? reply_names_plain(&s->names, name.p, name.len) : RSYM_NONE;

	if (row == RSYM_NONE)
		return FULL;
	append_reply_frame(s, row, 0, 0);
	return FITS;
}

/* Answers one address by itself, because the memory did not suffice for all, or because it differs
 * from the address of the shared answer. */
static enum outcome append_late(struct symbolize *s, struct module *m, uint64_t vaddr, int *status)
{
	bool fits;

	uint32_t count = (uint32_t)rsym_lookup(&m->table, vaddr, s->scratch, ARRAY_LEN(s->scratch));

	*status = symbolize_status(&m->table, s->scratch, count);
	m->is_odd |= !count;
	if (!count)
		return FITS;
	count = symbolize_reduce(s, s->scratch, count);
	fits = !reply_names_table(&s->names, m->number, &m->table, NULL) &&
	       reply_names_prepare(&s->names, s->scratch, count);
	m->is_odd |= s->names.texts.is_odd;
	s->names.texts.is_odd = false;
	if (!fits)
		return FULL;
	return append_frames(s, s->scratch, count);
}

static void add_missing_weight(struct symbolize *s, size_t i)
{
	const Rawstack__V1__Locations *l = s->locations;
	struct module *m;

	if (!batch_kind_has_module((int)l->kind[i]))
		return;
	m = &s->modules[l->module[i]];
	add_capped_u64(&m->weight, l->n_weight ? l->weight[i] : 1);
}

static enum outcome answer_module(struct symbolize *s, size_t i, int *status)
{
	const struct lookups *l = &s->lookups;
	uint32_t row = l->address_of[i];
	const struct lookup_answer *a;
	uint64_t vaddr;

	if (row == LOOKUPS_NONE) {
		*status = (int)s->reply.status[i];
		return *status == LOCATION_STATUS(HOST_NAMED) ? append_host_named(s, i) : FITS;
	}
	a = &l->answers[row];
	vaddr = l->vaddrs[row];
	/* No function holds the byte before the address if that begins a signal trampoline, which
	 * needs an answer of its own, because other locations may share this one. */
	if (symbolize_is_return(s, i) && (!a->done || !a->count))
		vaddr = rsym_call_vaddr(&s->modules[s->locations->module[i]].table, vaddr + 1);
	if (!a->done || vaddr != l->vaddrs[row])
		return append_late(s, &s->modules[s->locations->module[i]], vaddr, status);
	*status = a->status;
	return append_frames(s, l->frames + a->first, a->count);
}

/* Returns an upper bound of the bytes of the frames if all locations are answered. */
static size_t weight_of_frames(const struct symbolize *s)
{
	const struct lookups *l = &s->lookups;
	size_t frames = s->reply.n_status; /* names of the host */

	for (size_t i = 0; i < l->count; i++)
		frames += l->answers[l->address_of[l->items[i].location]].count;
	return frames * (FRAME_COST + (s->batch->want_columns ? COLUMN_COST : 0));
}

/* Prefetches an answer and its frames: locations stand in any order, but their answers in order of
 * address. */
static void fetch_ahead(const struct symbolize *s, size_t i)
{
	const struct lookups *l = &s->lookups;
	uint32_t far = l->address_of[i + AHEAD], near = l->address_of[i + AHEAD / 2];

	if (far != LOOKUPS_NONE)
		__builtin_prefetch(&l->answers[far]);
	if (near != LOOKUPS_NONE) {
		const struct rsym_frame *f = &l->frames[l->answers[near].first];

		__builtin_prefetch(f);
		__builtin_prefetch(f +
				   3); /* an address has three frames, often in two cache lines */
	}
}

/* Answers all locations; from the first one that does not fit, all are deferred. */
static int answer_all(struct symbolize *s, struct err *err)
{
	size_t count = s->reply.n_status;

	reply_names_commit(&s->names, weight_of_frames(s));
	for (size_t i = 0; i < count; i++) {
		size_t first = s->frame_count;
		int status;

		if (i + AHEAD < count)
			fetch_ahead(s, i);

		if (i % CANCEL_INTERVAL == 0 && symbolize_is_cancelled(s))
			return symbolize_cancelled(err);
		if (answer_module(s, i, &status) == FULL) {
			s->frame_count = first;
			if (first == 0) {
				/* It alone would fill a reply, so asking again would not help. */
				s->reply.status[i] = LOCATION_STATUS(MALFORMED);
				if (!reply_names_is_spent(&s->names))
					continue;
				/* The later locations must not get the status of this one. */
				i++;
			}
			for (; i < count; i++, s->reply.deferred++)
				s->reply.status[i] = LOCATION_STATUS(DEFERRED);
			break;
		}
		add_missing_weight(s, i);
		s->reply.status[i] = status;
		s->reply.frame_count[i] = (uint32_t)(s->frame_count - first);
	}
	return 0;
}

/* --- the reply ------------------------------------------------------------------------------- */

static int fill_functions(struct symbolize *s, Rawstack__V1__Functions *f, struct err *err)
{
	const struct reply_names *n = &s->names;
	size_t count = n->function_count - n->first_function;

	f->name = arena_array(&s->arena, count, sizeof(f->name[0]));
	f->file = arena_array(&s->arena, count, sizeof(f->file[0]));
	f->linkage_name = arena_array(&s->arena, count, sizeof(f->linkage_name[0]));
	f->start_line = arena_array(&s->arena, count, sizeof(f->start_line[0]));
	f->start_address = arena_array(&s->arena, count, sizeof(f->start_address[0]));
	f->start_file = arena_array(&s->arena, count, sizeof(f->start_file[0]));
	if (!f->name || !f->file || !f->linkage_name || !f->start_line || !f->start_address ||
	    !f->start_file)
		return err_no_memory(err);
	for (size_t i = 0; i < count; i++) {
		const struct reply_function *row = &n->functions[n->first_function + i];

		f->name[i] = row->name;
		f->file[i] = row->file;
		f->linkage_name[i] = row->linkage_name;
		f->start_line[i] = row->start_line;
		f->start_address[i] = row->start_address;
		f->start_file[i] = row->start_file;
	}
	f->n_name = f->n_file = count;
	if (n->columns & REPLY_DETAILS)
		f->n_linkage_name = f->n_start_line = count;
	if (n->columns & REPLY_STARTS)
		f->n_start_address = f->n_start_file = count;
	return 0;
}

static int fill_reply(struct symbolize *s, struct err *err)
{
	Rawstack__V1__SymbolizedBatch *reply = &s->reply;
	uint32_t first = s->names.first_string;
	size_t count = s->names.strings.count - first;
	int rc;

	reply->batch_id = s->batch->batch_id;
	reply->frame_function = s->frame_function;
	reply->frame_line = s->frame_line;
	reply->n_frame_function = reply->n_frame_line = s->frame_count;
	if (s->batch->want_columns) {
		reply->frame_column = s->frame_column;
		reply->n_frame_column = s->frame_count;
	}
	reply->strings = arena_array(&s->arena, count, sizeof(reply->strings[0]));
	reply->functions = arena_alloc(&s->arena, sizeof(*reply->functions));
	if (!reply->strings || !reply->functions)
		return err_no_memory(err);
	rawstack__v1__functions__init(reply->functions);
	rc = fill_functions(s, reply->functions, err);
	reply->n_strings = count;
	for (uint32_t i = 0; i < count; i++) {
		size_t len;
		const void *p = intern_get(&s->names.strings, first + i, &len);

		/* The reply borrows from the strings, which do not grow any more. */
		memcpy(&reply->strings[i].data, &p, sizeof(p));
		reply->strings[i].len = len;
	}
	return rc;
}

static enum demangle_style style_of(Rawstack__V1__Demangle d)
{
	switch (d) {
	case RAWSTACK__V1__DEMANGLE__DEMANGLE_NONE:
		return DEMANGLE_NONE;
	case RAWSTACK__V1__DEMANGLE__DEMANGLE_FULL:
		return DEMANGLE_FULL;
	default:
		return DEMANGLE_SHORT;
	}
}

static int begin_symbolize(struct symbolize *s, struct err *err)
{
	const Rawstack__V1__StackBatch *batch = s->batch;
	size_t count = s->locations->n_kind;
	uint32_t columns = batch->want_function_starts ? REPLY_STARTS : 0;
	int rc;

	if (batch->want_function_details)
		columns = REPLY_DETAILS | REPLY_STARTS;
	rc = reply_names_begin(&s->names, style_of(batch->demangle), columns,
			       FRAMING_COST + count * LOCATION_COST, err);

	if (rc)
		return rc;
	s->names.texts.is_odd = false;
	s->names.texts.cancelled = s->env->cancelled;
	s->names.texts.cancelled_arg = s->env->cancelled_arg;
	s->frame_count = 0;
	s->reply.status = arena_array(&s->arena, count, sizeof(s->reply.status[0]));
	s->reply.frame_count = arena_array(&s->arena, count, sizeof(s->reply.frame_count[0]));
	if (!s->reply.status || !s->reply.frame_count)
		return err_no_memory(err);
	s->reply.n_status = s->reply.n_frame_count = count;
	return symbolize_dictionaries_add(s, err);
}

/* Opens the modules and answers all locations inside one read, from which the tables borrow. */
static int resolve_modules(struct symbolize *s, struct store_read *r, struct err *err)
{
	const struct lookups *l = &s->lookups;

	TRY(symbolize_modules_open(s, r, err));
	TRY(symbolize_gather(s, err));
	for (size_t i = 0; i < l->group_count; i++)
		TRY(symbolize_look_up(s, &l->groups[i], err));
	TRY(answer_all(s, err));
	return symbolize_modules_recheck(s, r, err);
}

/* Answers a batch once. If it returns ERR_DAMAGED, *ret_again says whether the batch can be
 * answered anew without the damaged table. */
static int answer_batch(struct symbolize *s, const struct symbolize_env *env,
			const Rawstack__V1__StackBatch *batch, bool *ret_again, struct err *err)
{
	static const Rawstack__V1__Locations none = RAWSTACK__V1__LOCATIONS__INIT;
	struct store_read *r;
	int rc;

	if (!s->is_stream) {
		reply_names_reset(&s->names);
		s->module_count = s->string_count = 0;
	}
	TRY(batch_check(batch, s->module_count, s->string_count, err));
	arena_reset(&s->arena);
	rawstack__v1__symbolized_batch__init(&s->reply);
	s->env = env;
	s->names.texts.cache = env->names;
	s->batch = batch;
	s->locations = batch->locations ? batch->locations : &none;
	rc = begin_symbolize(s, err);
	*ret_again = false;
	if (rc)
		return rc;
	rc = store_read_begin(env->store, &r, err);
	if (rc == ERR_DATA) {
		if (err)
			err->code = ERR_DAMAGED;
		return ERR_DAMAGED;
	}
	if (rc)
		return rc;
	*ret_again = true;
	rc = resolve_modules(s, r, err);
	reply_names_leave_table(&s->names);
	store_read_end(r);
	return rc ? rc : fill_reply(s, err);
}

int symbolize_run(struct symbolize *s, const struct symbolize_env *env,
		  const Rawstack__V1__StackBatch *batch, struct err *err)
{
	int rc, left = ANSWERS_MAX;
	bool again = false;

	do
		rc = answer_batch(s, env, batch, &again, err);
	while (rc == ERR_DAMAGED && again && !s->is_stream && --left);
	if (rc == ERR_DAMAGED && again) /* an earlier reply of the stream had the module */
		return err_set(err, ERR_UNAVAILABLE, "a table turned out to be damaged: ask again");
	return rc ? rc : symbolize_record_use(s, err);
}
