/* SPDX-License-Identifier: Apache-2.0 */
#include "spool_profile.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "stack_end.h"

static const char truncated_name[] = "[truncated stack]";

static struct profile_text batch_text(const struct spool_profile *p, uint32_t string)
{
	if (string >= p->batch->string_count)
		return (struct profile_text){"", 0};
	return (struct profile_text){p->batch->strings[string].p, p->batch->strings[string].len};
}

static void describe_spool_profile(struct spool_profile *p)
{
	const struct spool_batch *b = p->batch;
	const struct spool_origin *o = &b->origin;
	struct profile *to = &p->profile;

	profile_value_type(to, "samples", "count");
	profile_value_type(to, "cpu", "nanoseconds");
	to->default_type = to->value_types[1].type;
	to->period_type = to->value_types[1];
	to->period = (int64_t)o->period_ns;
	profile_comment(to, "host %.*s", (int)sizeof(o->host_name), o->host_name);
	profile_comment(to, "event %.*s, backend %.*s", (int)sizeof(o->event), o->event,
			(int)sizeof(o->backend), o->backend);
	for (int i = 0; i < SPOOL_LOSS_COUNT; i++)
		if (b->losses[i] && spool_loss_is_of_samples((enum spool_loss)i))
			profile_comment(to, "lost: %s %" PRIu64 " since the sampler's start",
					spool_loss_name(i), b->losses[i]);
	if (b->losses[SPOOL_LOSS_PERF_LOST])
		profile_comment(to,
				"lost: mapping records %" PRIu64
				" since the sampler's start (no samples)",
				b->losses[SPOOL_LOSS_PERF_LOST]);
	if (b->damaged_len)
		profile_comment(to, "damaged: %" PRIu64 " bytes of the spool", b->damaged_len);
}

int spool_profile_begin(struct spool_profile *p, const struct spool_batch *batch, struct err *err)
{
	*p = (struct spool_profile){.batch = batch};
	profile_init(&p->profile);
	p->modules = malloc((batch->module_count + 1) * sizeof(*p->modules));
	p->locations = malloc((batch->location_count + 1) * sizeof(*p->locations));
	if (!p->modules || !p->locations) {
		spool_profile_done(p);
		return err_no_memory(err);
	}
	memset(p->modules, 0xff, (batch->module_count + 1) * sizeof(*p->modules));
	memset(p->locations, 0xff, (batch->location_count + 1) * sizeof(*p->locations));
	describe_spool_profile(p);
	return 0;
}

void spool_profile_done(struct spool_profile *p)
{
	profile_done(&p->profile);
	free(p->modules);
	free(p->locations);
	*p = (struct spool_profile){0};
}

/* --- modules --------------------------------------------------------------------------------- */

/* Returns the name of a kernel module in profiles, "[kernel:<name>]", whatever path or brackets the
 * host gives. For another section than .text, which has offsets of its own, the name is
 * "[kernel:<name>.<section>]". */
static uint32_t kernel_module_path(struct spool_profile *p, struct profile_text path,
				   struct profile_text section)
{
	_cleanup_(buf_done) struct buf name = BUF_INIT(LIMIT_PATH_LEN + LIMIT_STRING_LEN);
	const char *slash = path.len ? memrchr(path.p, '/', path.len) : NULL;
	const char *start = slash ? slash + 1 : path.p, *dot;
	size_t len = path.len - (size_t)(start - path.p);

	if (len >= 2 && start[0] == '[' && start[len - 1] == ']') {
		start++;
		len -= 2;
	}
	dot = len ? memchr(start, '.', len) : NULL;
	if (dot)
		len = (size_t)(dot - start);
	if (section.len == 5 && !memcmp(section.p, ".text", 5))
		section.len = 0;
	buf_printf(&name, "%s:%.*s%.*s]", PROFILE_KERNEL_PREFIX, len ? (int)len : 1,
		   len ? start : "?", (int)section.len, section.p);
	return profile_string(&p->profile, name.p, name.len);
}

static uint32_t module_of_spool_location(struct spool_profile *p, const struct location *l)
{
	struct profile_module m = {0};
	const struct spool_module *from;
	char hex[BUILD_ID_HEX_MAX];
	struct profile_text path;
	bool is_usual;
	uint32_t id;

	if (l->module >= p->batch->module_count)
		return PROFILE_NONE;
	is_usual = l->kind != LOCATION_KERNEL_MODULE;
	if (is_usual && p->modules[l->module] != PROFILE_NONE)
		return p->modules[l->module];
	from = &p->batch->modules[l->module];
	path = batch_text(p, from->path);
	if (l->kind == LOCATION_KERNEL_TEXT)
		m.path = profile_cstr(&p->profile, PROFILE_KERNEL_TEXT);
	else if (l->kind == LOCATION_KERNEL_MODULE)
		m.path = kernel_module_path(p, path, batch_text(p, l->name));
	else
		m.path = profile_string(&p->profile, path.p, path.len);
	if (from->id.kind != BUILD_ID_NONE)
		m.build_id = profile_cstr(&p->profile, build_id_hex(&from->id, hex));
	if (l->kind == LOCATION_FILE_OFF)
		m.segments = profile_segments(&p->profile, from->segments, from->segment_count);
	id = profile_add_module(&p->profile, &m);
	if (is_usual)
		p->modules[l->module] = id;
	return id;
}

/* Adds a module for code that lies in no file and has names already. */
static uint32_t pseudo_module(struct spool_profile *p, const char *path)
{
	return profile_add_module(&p->profile, &(struct profile_module){
						       .path = profile_cstr(&p->profile, path),
						       .flags = PROFILE_HAS_FUNCTIONS,
					       });
}

/* --- locations ------------------------------------------------------------------------------- */

/* Returns the address for the profile, which lies in the call and not after it, so that a later
 * lookup finds the same line. */
static uint64_t address_of(const struct location *l)
{
	return l->address - (l->mode == LOCATION_RETURN && l->address);
}

static uint32_t one_line(struct spool_profile *p, struct profile_location at, uint32_t name,
			 bool is_name)
{
	struct profile_line line = {
		profile_add_function(&p->profile,
				     &(struct profile_function){.name = name,
								.system_name = is_name ? name : 0}),
		0};

	at.lines = &line;
	at.line_count = 1;
	return profile_add_location(&p->profile, &at);
}

static const char *reason_text(uint8_t reason)
{
	static const char *const names[] = {
		[UNRESOLVED_NONE] = "[unknown]",
		[UNRESOLVED_NO_MAPPING] = "[no mapping]",
		[UNRESOLVED_ANONYMOUS] = "[anonymous memory]",
		[UNRESOLVED_NO_ID] = "[file without an id]",
		[UNRESOLVED_STALE_EXEC] = "[inside exec]",
		[UNRESOLVED_KERNEL] = "[unknown kernel address]",
		[UNRESOLVED_PROCESS_GONE] = "[process gone]",
		[UNRESOLVED_READ_FAULT] = "[read fault]",
	};

	return reason < ARRAY_LEN(names) ? names[reason] : names[UNRESOLVED_NONE];
}

static uint32_t host_named(struct spool_profile *p, const struct location *l)
{
	static const char *const modules[] = {
		[HOST_SOURCE_NONE] = NULL,
		[HOST_SOURCE_PERF_MAP] = "[jit]",
		[HOST_SOURCE_BPF] = "[kernel:bpf]",
		[HOST_SOURCE_VDSO] = "[vdso]",
		[HOST_SOURCE_KALLSYMS] = PROFILE_KERNEL_TEXT,
		[HOST_SOURCE_PSEUDO] = NULL,
	};
	const char *module = l->reason < ARRAY_LEN(modules) ? modules[l->reason] : NULL;
	struct profile_text t = batch_text(p, l->name);
	uint32_t name = profile_string(&p->profile, t.p, t.len);

	return one_line(p,
			(struct profile_location){.module = module ? pseudo_module(p, module)
								   : PROFILE_NONE},
			name, l->reason != HOST_SOURCE_PSEUDO);
}

/* Adds a location that no service named. */
static uint32_t unnamed_function(struct spool_profile *p, uint32_t location)
{
	const struct location *l = &p->batch->locations[location];
	uint64_t address = address_of(l);
	uint32_t module;

	switch (l->kind) {
	case LOCATION_HOST_NAMED:
		return host_named(p, l);
	case LOCATION_FILE_OFF:
	case LOCATION_KERNEL_TEXT:
	case LOCATION_KERNEL_MODULE:
		module = module_of_spool_location(p, l);
		return one_line(p,
				(struct profile_location){
					.address = address,
					.module = module,
					.is_return = address != l->address,
				},
				profile_placeholder(&p->profile, module, address), false);
	default:
		/* The pc is left out: without its process it means nothing, and equal stacks would
		 * differ. */
		return one_line(p, (struct profile_location){.module = PROFILE_NONE},
				profile_cstr(&p->profile, reason_text(l->reason)), false);
	}
}

void spool_profile_name(struct spool_profile *p, uint32_t location,
			const struct profile_line *lines, size_t count)
{
	const struct location *l = &p->batch->locations[location];
	uint32_t module = module_of_spool_location(p, l), flags = PROFILE_HAS_FUNCTIONS;

	for (size_t i = 0; i < count; i++)
		if (lines[i].line)
			flags |= PROFILE_HAS_LINES | PROFILE_HAS_FILENAMES;
	if (count > 1)
		flags |= PROFILE_HAS_INLINES;
	profile_module_mark(&p->profile, module, flags);
	p->locations[location] = profile_add_location(
		&p->profile, &(struct profile_location){.address = address_of(l),
							.module = module,
							.lines = lines,
							.line_count = count});
}

/* --- samples --------------------------------------------------------------------------------- */

static uint32_t stack_of(struct spool_profile *p, uint32_t stack)
{
	uint32_t ids[LIMIT_STACK_FRAMES + 2];
	const struct spool_stack *s;
	size_t count = 0;

	if (stack >= p->batch->stack_count)
		return profile_add_stack(&p->profile, NULL, 0);
	s = &p->batch->stacks[stack];
	for (uint32_t i = 0; i < s->count && count < LIMIT_STACK_FRAMES; i++) {
		uint32_t l = s->locations[i];

		if (l >= p->batch->location_count)
			continue;
		if (p->locations[l] == PROFILE_NONE)
			p->locations[l] = unnamed_function(p, l);
		ids[count++] = p->locations[l];
	}
	if (s->flags & SPOOL_STACK_USER_TRUNCATED)
		ids[count++] = one_line(p, (struct profile_location){.module = PROFILE_NONE},
					profile_cstr(&p->profile, truncated_name), false);
	return profile_add_stack(&p->profile, ids, count);
}

enum {
	LABELS_MAX = 16 /* the sampler's labels, and the first ones of --label */
};

static void put_label(struct spool_profile *p, struct profile_label *labels, size_t *count,
		      const char *key, uint32_t string)
{
	const struct profile_text text = batch_text(p, string);

	if (!text.len && string >= p->batch->string_count && strcmp(key, "thread"))
		return;
	labels[*count].key = profile_cstr(&p->profile, key);
	labels[(*count)++].text = profile_string(&p->profile, text.p, text.len);
}

/* Adds the labels of a text such as "key=value,key=value". */
static void put_own_labels(struct spool_profile *p, struct profile_label *labels, size_t *count,
			   struct profile_text text)
{
	const char *at = text.p, *end = text.p + text.len;

	while (at < end && *count < LABELS_MAX) {
		const char *comma = memchr(at, ',', (size_t)(end - at));
		const char *stop = comma ? comma : end;
		const char *equals = memchr(at, '=', (size_t)(stop - at));

		if (equals) {
			labels[*count].key = profile_string(&p->profile, at, (size_t)(equals - at));
			labels[(*count)++].text = profile_string(&p->profile, equals + 1,
								 (size_t)(stop - equals - 1));
		}
		at = stop + 1;
	}
}

/* Returns a word for the kernel's bits of a state (TASK_* in sched.h). Sampled threads are on a
 * processor: if the state is not running, the thread is about to wait, or it was its last wait. */
static const char *state_word(uint32_t state)
{
	static const struct {
		uint32_t bits;
		const char *name;
	} rows[] = {
		{0x402, "idle"},    {0x001, "sleeping"}, {0x002, "blocked"}, {0x004, "stopped"},
		{0x008, "stopped"}, {0x080, "dead"},     {0x040, "parked"},
	};

	if (!state)
		return "running";
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if ((state & rows[i].bits) == rows[i].bits)
			return rows[i].name;
	return "other";
}

static void put_text_label(struct spool_profile *p, struct profile_label *labels, size_t *count,
			   const char *key, const char *text, size_t len)
{
	labels[*count].key = profile_cstr(&p->profile, key);
	labels[(*count)++].text = profile_string(&p->profile, text, len);
}

/* Adds labels for the thread's state and the event. Samples of perf backends have no state. */
static void put_circumstances(struct spool_profile *p, struct profile_label *labels, size_t *count,
			      const struct spool_thread *t)
{
	const struct spool_origin *o = &p->batch->origin;
	const char *state = state_word(t->state);
	size_t event_len = strnlen(o->event, sizeof(o->event));

	if (strncmp(o->backend, "perf", 4) != 0)
		put_text_label(p, labels, count, "state", state, strlen(state));
	if (event_len)
		put_text_label(p, labels, count, "event", o->event, event_len);
}

/* Adds a label if the stack is not whole, judging by its names. */
static void put_end_label(struct spool_profile *p, struct profile_label *labels, size_t *count,
			  uint32_t stack)
{
	const enum stack_end end = stack_end_of(&p->profile, stack);
	const char *name = stack_end_name(end);

	if (end != STACK_END_ENTRY)
		put_text_label(p, labels, count, STACK_END_LABEL, name, strlen(name));
}

/* Adds the labels of a sample. `thread` is an index of the batch, `stack` one of the profile. */
static uint32_t labels_of_sample(struct spool_profile *p, uint32_t thread, uint32_t stack)
{
	struct profile_label labels[LABELS_MAX] = {0};
	const struct spool_thread *t;
	size_t count = 0;

	if (thread >= p->batch->thread_count)
		return profile_add_labels(&p->profile, NULL, 0);
	t = &p->batch->threads[thread];
	put_label(p, labels, &count, "thread", t->comm);
	labels[count].key = profile_cstr(&p->profile, "pid");
	labels[count++].num = t->pid;
	put_circumstances(p, labels, &count, t);
	put_end_label(p, labels, &count, stack);
	put_label(p, labels, &count, "container", t->container);
	put_label(p, labels, &count, "service", t->service);
	put_own_labels(p, labels, &count, batch_text(p, t->labels));
	return profile_add_labels(&p->profile, labels, count);
}

/* Converts the time of a sample to nanoseconds since 1970. */
static int64_t unix_ns(const struct spool_origin *o, uint64_t mono_ns)
{
	return (int64_t)(o->real_ns + (mono_ns - o->mono_ns));
}

static bool is_in_time(const struct spool_profile *p, int64_t at_ns)
{
	return (!p->since_ns || at_ns >= p->since_ns) && (!p->until_ns || at_ns <= p->until_ns);
}

int spool_profile_end(struct spool_profile *p, struct err *err)
{
	const struct spool_batch *b = p->batch;
	const struct spool_origin *o = &b->origin;
	uint64_t first = UINT64_MAX, last = 0;

	for (size_t i = 0; i < b->sample_count && !p->profile.failed; i++) {
		const struct spool_sample *s = &b->samples[i];
		int64_t values[2] = {s->weight, 0};
		uint32_t stack;

		if (!is_in_time(p, unix_ns(o, s->time_ns)))
			continue;
		if (!CHECKED_MUL((int64_t)o->period_ns, values[0], &values[1]))
			values[1] = INT64_MAX;
		if (s->time_ns < first)
			first = s->time_ns;
		if (s->time_ns > last)
			last = s->time_ns;
		stack = stack_of(p, s->stack);
		profile_add_sample(&p->profile, stack, labels_of_sample(p, s->thread, stack),
				   values);
	}
	if (p->profile.samples.count) {
		p->profile.time_ns = unix_ns(o, first);
		p->profile.duration_ns = (int64_t)(last - first + o->period_ns);
	}
	if (p->profile.failed)
		return profile_full(&p->profile, err, "batch");
	return 0;
}
