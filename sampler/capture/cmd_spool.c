/* SPDX-License-Identifier: Apache-2.0 */
/* rawstack-sampler spool: reads a spool, also while a capturer writes it, and changes nothing. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "log.h"
#include "options.h"
#include "sampler_command.h"
#include "spool_end.h"
#include "spool_stats.h"
#include "stdout_end.h"

enum {
	BATCH_SAMPLES = 4096
};

struct view {
	const char *dir;
	bool json;
	enum {
		CAT_JSON,
		CAT_FOLDED
	} format;
	uint32_t pid; /* 0: all */
};

static const char *const format_words[] = {[CAT_JSON] = "json", [CAT_FOLDED] = "folded", NULL};

static const struct option_row rows[] = {
	OPTION_WORD(0, "format", "FORM", struct view, format, format_words,
		    "of cat: an object a line (json), or the stack, root first, and its weight "
		    "(folded) [json]"),
	OPTION_NUMBER(0, "pid", "PID", struct view, pid, 1, INT32_MAX, 1,
		      "of cat: only samples of this process"),
	OPTION_FLAG(0, "json", struct view, json, "of stats: one object"),
	OPTION_END,
};

static const struct option_usage usage = {
	.name = "rawstack-sampler spool",
	.synopsis = "ls DIR\n"
		    "cat [--format json|folded] [--pid PID] DIR\n"
		    "verify DIR\n"
		    "stats [--json] DIR",
	.about = "  ls      one line for each segment: samples, time, origin\n"
		 "  cat     every sample; with names that became known after it was stored, as of\n"
		 "          a perf map that is written at exit\n"
		 "  verify  reads everything; exit 1 when bytes fail their checksum\n"
		 "  stats   what the bytes are spent on, and how many a sample takes\n"
		 "\n"
		 "All of them end with what is there when they begin, while the sampler goes on. "
		 "Segments of a format that this version does not read are counted, and left out.",
	.rows = rows,
	.operands_max = OPERANDS_ANY,
};

static int open_all(const struct view *v, struct spool_reader **ret, struct err *err)
{
	int rc = spool_reader_open(ret, v->dir, NULL, err);

	if (!rc)
		spool_reader_from_start(*ret);
	return rc;
}

/* Warns of segments of another format, which are no damage. */
static void warn_skipped_segments(const struct spool_reader *r)
{
	struct spool_skipped skipped;

	spool_reader_skipped(r, &skipped);
	if (skipped.count)
		log_warn("%" PRIu64 " segments of another format are not read; %s", skipped.count,
			 skipped.why.message);
}

/* --- cat ------------------------------------------------------------------------------------- */

/* Prints untrusted bytes as a JSON string. A byte that is not ASCII becomes the code point of its
 * value. */
static void print_json_text(const struct spool_batch *b, uint32_t index)
{
	putchar('"');
	for (uint32_t i = 0; index < b->string_count && i < b->strings[index].len; i++) {
		unsigned char c = (unsigned char)b->strings[index].p[i];

		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}

static void print_spool_string(const struct spool_batch *b, uint32_t index)
{
	for (uint32_t i = 0; index < b->string_count && i < b->strings[index].len; i++) {
		unsigned char c = (unsigned char)b->strings[index].p[i];

		putchar(c < 0x20 || c >= 0x7f || c == ';' ? '?' : c);
	}
}

static const char *kind_name(uint8_t kind)
{
	static const char *const names[] = {
		"none", "file_off", "kernel_text", "kernel_module", "host_named", "unresolved",
	};

	return kind < ARRAY_LEN(names) ? names[kind] : "unknown";
}

static const char *reason_key(uint8_t reason)
{
	static const char *const names[] = {
		"none",       "no_mapping", "anonymous",    "no_id",
		"stale_exec", "kernel",     "process_gone", "read_fault",
	};

	return reason < ARRAY_LEN(names) ? names[reason] : "unknown";
}

static void print_json_frame(const struct spool_batch *b, const struct location *l)
{
	char hex[BUILD_ID_HEX_MAX];

	printf("{\"kind\":\"%s\",\"mode\":\"%s\"", kind_name(l->kind),
	       l->mode == LOCATION_RETURN ? "return" : "exact");
	if (l->module < b->module_count) {
		const struct spool_module *m = &b->modules[l->module];

		if (m->id.len)
			printf(",\"build_id\":\"%s\"", build_id_hex(&m->id, hex));
		if (m->path < b->string_count) {
			printf(",\"path\":");
			print_json_text(b, m->path);
		}
	}
	if (l->name < b->string_count) {
		printf(",\"name\":");
		print_json_text(b, l->name);
	}
	if (l->kind == LOCATION_UNRESOLVED)
		printf(",\"reason\":\"%s\"", reason_key(l->reason));
	printf(",\"address\":%" PRIu64 "}", l->address);
}

/* Prints a member of an object, unless its text is missing. */
static void print_json_member(const struct spool_batch *b, const char *key, uint32_t index)
{
	if (index >= b->string_count)
		return;
	printf(",\"%s\":", key);
	print_json_text(b, index);
}

/* Returns the letter of ps(1) for task_struct::__state, whose bits are stable since Linux 4.14. */
static const char *state_letter(uint32_t state)
{
	return !state ? "R" : state & 1 ? "S" : state & 2 ? "D" : state & 0xc ? "T" : "X";
}

static void print_sample_json(const struct spool_batch *b, const struct spool_sample *s)
{
	const struct spool_thread *t = &b->threads[s->thread];
	const struct spool_stack *stack = &b->stacks[s->stack];

	printf("{\"time_ns\":%" PRIu64 ",\"cpu\":%u,\"weight\":%u,\"pid\":%u,\"tid\":%u,\"comm\":",
	       s->time_ns, s->cpu, s->weight, t->pid, t->tid);
	print_json_text(b, t->comm);
	printf(",\"exe\":");
	print_json_text(b, t->exe);
	printf(",\"state\":\"%s\"", state_letter(t->state));
	print_json_member(b, "cgroup", t->cgroup);
	print_json_member(b, "container", t->container);
	print_json_member(b, "service", t->service);
	print_json_member(b, "labels", t->labels);
	printf(",\"cgroup_id\":%" PRIu64 ",\"flags\":%u,\"end\":\"%s\",\"frames\":[", t->cgroup_id,
	       stack->flags, spool_end_name(spool_end_of(stack)));
	for (uint32_t i = 0; i < stack->count; i++) {
		if (i)
			putchar(',');
		print_json_frame(b, &b->locations[stack->locations[i]]);
	}
	printf("]}\n");
}

static void print_folded_frame(const struct spool_batch *b, const struct location *l)
{
	char hex[BUILD_ID_HEX_MAX];

	putchar(';');
	if (l->kind == LOCATION_HOST_NAMED) {
		print_spool_string(b, l->name);
		return;
	}
	if (l->module < b->module_count && b->modules[l->module].id.len)
		printf("%.16s+", build_id_hex(&b->modules[l->module].id, hex));
	else
		printf("[%s]", reason_key(l->reason));
	printf("0x%" PRIx64, l->address);
}

static void print_folded(const struct spool_batch *b, const struct spool_sample *s)
{
	const struct spool_stack *stack = &b->stacks[s->stack];

	print_spool_string(b, b->threads[s->thread].comm);
	for (uint32_t i = stack->count; i-- > 0;)
		print_folded_frame(b, &b->locations[stack->locations[i]]);
	printf(" %u\n", s->weight);
}

static int run_cat(const struct view *v, struct err *err)
{
	_cleanup_(spool_reader_closep) struct spool_reader *r = NULL;
	struct spool_batch b;
	int rc = open_all(v, &r, err);

	if (!rc)
		spool_reader_name_late(r);
	while (!rc && (rc = spool_reader_next(r, BATCH_SAMPLES, &b, err)) == 1) {
		for (size_t i = 0; i < b.sample_count; i++) {
			if (v->pid && b.threads[b.samples[i].thread].pid != v->pid)
				continue;
			if (v->format == CAT_FOLDED)
				print_folded(&b, &b.samples[i]);
			else
				print_sample_json(&b, &b.samples[i]);
		}
		rc = ferror(stdout) ? stdout_flush(err) : 0;
	}
	if (!rc)
		warn_skipped_segments(r);
	return rc;
}

/* --- ls and verify --------------------------------------------------------------------------- */

struct totals {
	uint64_t segment, samples, first_ns, last_ns, all_samples, segments;
	struct spool_origin origin;
};

static void print_segment(struct totals *t)
{
	if (!t->samples)
		return;
	printf("%016" PRIx64 "  %8" PRIu64 " samples  %10.3f s from %" PRIu64 ".%03u  %s %s %s\n",
	       t->segment, t->samples, (double)(t->last_ns - t->first_ns) / 1e9,
	       (t->origin.real_ns + t->first_ns - t->origin.mono_ns) / 1000000000,
	       (unsigned int)((t->origin.real_ns + t->first_ns - t->origin.mono_ns) / 1000000 %
			      1000),
	       t->origin.host_name, t->origin.backend, t->origin.event);
	t->segments++;
	t->all_samples += t->samples;
	t->samples = 0;
}

static void add_batch_totals(struct totals *t, const struct spool_batch *b)
{
	for (size_t i = 0; i < b->sample_count; i++) {
		uint64_t time_ns = b->samples[i].time_ns;

		if (!t->samples++)
			t->first_ns = t->last_ns = time_ns;
		if (time_ns < t->first_ns)
			t->first_ns = time_ns;
		if (time_ns > t->last_ns)
			t->last_ns = time_ns;
	}
	t->segment = b->segment;
	t->origin = b->origin;
}

static int run_spool_ls(const struct view *v, struct err *err)
{
	_cleanup_(spool_reader_closep) struct spool_reader *r = NULL;
	struct totals t = {.segment = 0};
	struct spool_batch b;
	uint64_t left = 0;
	int rc = open_all(v, &r, err);

	while (!rc && (rc = spool_reader_next(r, BATCH_SAMPLES, &b, err)) == 1) {
		if (b.segment != t.segment)
			print_segment(&t);
		add_batch_totals(&t, &b);
		rc = 0;
	}
	if (rc)
		return rc;
	print_segment(&t);
	warn_skipped_segments(r);
	spool_reader_closep(&r);
	r = NULL;
	/* Read the spool once more, from the acknowledgement on. */
	rc = spool_reader_open(&r, v->dir, NULL, err);
	while (!rc && (rc = spool_reader_next(r, BATCH_SAMPLES, &b, err)) == 1) {
		left += b.sample_count;
		rc = 0;
	}
	if (!rc)
		printf("%" PRIu64 " segments with %" PRIu64 " samples, %" PRIu64
		       " of them not shipped\n",
		       t.segments, t.all_samples, left);
	return rc;
}

static int run_verify(const struct view *v, struct err *err)
{
	_cleanup_(spool_reader_closep) struct spool_reader *r = NULL;
	uint64_t samples = 0;
	struct spool_batch b;
	int rc = open_all(v, &r, err);

	while (!rc && (rc = spool_reader_next(r, BATCH_SAMPLES, &b, err)) == 1) {
		samples += b.sample_count;
		rc = 0;
	}
	if (rc)
		return rc;
	warn_skipped_segments(r);
	printf("%" PRIu64 " samples, %" PRIu64 " damaged bytes\n", samples,
	       spool_reader_damaged_len(r));
	if (spool_reader_damaged_len(r))
		return err_set(err, ERR_DATA,
			       "%s: %" PRIu64 " bytes fail their checksum; what is whole is read "
			       "and shipped",
			       v->dir, spool_reader_damaged_len(r));
	return 0;
}

/* --- stats ----------------------------------------------------------------------------------- */

static const char *const type_names[SPOOL_STATS_TYPES] = {
	[SPOOL_RECORD_STRINGS] = "strings",     [SPOOL_RECORD_MODULES] = "modules",
	[SPOOL_RECORD_LOCATIONS] = "locations", [SPOOL_RECORD_STACKS] = "stacks",
	[SPOOL_RECORD_THREADS] = "threads",     [SPOOL_RECORD_SAMPLES] = "samples",
	[SPOOL_RECORD_LOSSES] = "losses",       [SPOOL_RECORD_SEAL] = "seal",
	[SPOOL_RECORD_LATE] = "late",           [SPOOL_RECORD_FILE_SEGMENTS] = "file_segments",
};

static double ratio_of(uint64_t a, uint64_t b)
{
	return b ? (double)a / (double)b : 0;
}

static void print_ends(const struct view *v, const uint64_t counts[static SPOOL_END_COUNT])
{
	uint64_t total = 0;

	for (int i = 0; i < SPOOL_END_COUNT; i++)
		total += counts[i];
	if (v->json)
		printf(",\"stack_ends\":{");
	else
		printf("\nstacks end\n");
	for (int i = 0; i < SPOOL_END_COUNT; i++)
		if (v->json)
			printf("%s\"%s\":%" PRIu64, i ? "," : "", spool_end_name(i), counts[i]);
		else if (counts[i])
			printf("%6.1f %%  %s\n", 100 * ratio_of(counts[i], total),
			       spool_end_name(i));
	if (v->json)
		printf("}");
	else if (counts[SPOOL_END_UNVERIFIED])
		printf("unverified: only names tell whether the last function has a caller; see "
		       "rawstack stats\n");
}

static int run_spool_stats(const struct view *v, struct err *err)
{
	uint64_t ends[SPOOL_END_COUNT] = {0};
	struct spool_stats s;
	int rc = spool_stats_read(&s, v->dir, err);

	if (!rc)
		rc = spool_end_count(ends, v->dir, err);
	if (rc)
		return rc;
	if (!v->json && s.unread)
		printf("%" PRIu64 " segments of another format, not read\n", s.unread);
	if (v->json)
		printf("{\"segments\":%" PRIu64 ",\"packed\":%" PRIu64 ",\"bytes\":%" PRIu64
		       ",\"raw_bytes\":%" PRIu64 ",\"samples\":%" PRIu64
		       ",\"damaged_bytes\":%" PRIu64 ",\"unread_segments\":%" PRIu64
		       ",\"bytes_per_sample\":%.2f,\"types\":{",
		       s.segments, s.packed, s.len, s.raw_len, s.samples, s.damaged_len, s.unread,
		       ratio_of(s.len, s.samples));
	else
		printf("%" PRIu64 " segments, %" PRIu64 " of them packed: %" PRIu64
		       " bytes on the disk, %" PRIu64 " unpacked\n%" PRIu64
		       " samples, %.2f bytes each (%.2f unpacked)\n\n"
		       "%-13s %10s %10s %12s %8s\n",
		       s.segments, s.packed, s.len, s.raw_len, s.samples,
		       ratio_of(s.len, s.samples), ratio_of(s.raw_len, s.samples), "record",
		       "records", "entries", "bytes", "/sample");
	for (int i = 1; i < SPOOL_STATS_TYPES; i++) {
		if (v->json)
			printf("%s\"%s\":{\"records\":%" PRIu64 ",\"entries\":%" PRIu64
			       ",\"bytes\":%" PRIu64 "}",
			       i > 1 ? "," : "", type_names[i], s.types[i].records,
			       s.types[i].entries, s.types[i].len);
		else
			printf("%-13s %10" PRIu64 " %10" PRIu64 " %12" PRIu64 " %8.2f\n",
			       type_names[i], s.types[i].records, s.types[i].entries,
			       s.types[i].len, ratio_of(s.types[i].len, s.samples));
	}
	if (v->json)
		printf("}");
	print_ends(v, ends);
	if (v->json)
		printf("}\n");
	return 0;
}

/* --- the command ----------------------------------------------------------------------------- */

static const struct verb {
	const char *name;
	int (*run)(const struct view *v, struct err *err);
} verbs[] = {
	{"ls", run_spool_ls}, {"cat", run_cat}, {"verify", run_verify}, {"stats", run_spool_stats}};

static int run_verb(struct view *v, const struct operands *operands, struct err *err)
{
	const struct verb *verb = NULL;

	for (size_t i = 0; operands->count && i < ARRAY_LEN(verbs); i++)
		if (!strcmp(operands->list[0], verbs[i].name))
			verb = &verbs[i];
	if (!verb)
		return options_refuse(&usage, err, "ls, cat, verify or stats");
	if (operands->count != 2)
		return options_refuse(&usage, err, "%s: one DIR is needed", verb->name);
	v->dir = operands->list[1];
	return verb->run(v, err);
}

static int run_spool(int argc, char **argv, struct err *err)
{
	struct view v = {.dir = NULL};
	struct operands operands;
	int rc = options_parse(&usage, argc, argv, &v, &operands, err);

	return rc ? rc : run_verb(&v, &operands, err);
}

const struct command cmd_spool = {
	.usage = &usage,
	.run = run_spool,
	.summary = "look into a spool: ls, cat, verify, stats",
};
