/* SPDX-License-Identifier: Apache-2.0 */
/* rawstack-sampler spool: reads a spool, also while a capturer writes it, and changes nothing. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "limits.h"
#include "log.h"
#include "options.h"
#include "sampler_command.h"
#include "spool_end.h"
#include "spool_stats.h"
#include "stdout_end.h"

enum {
	BATCH_SAMPLES = 4096
};

/* A sample as JSON takes some 30 KiB. Only a made-up spool has paths so long that it takes more
 * than this. */
#define LIMIT_SAMPLE_JSON_LEN (64 * MIB)

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
	TRY(spool_reader_open(ret, v->dir, NULL, err));
	spool_reader_from_start(*ret);
	return 0;
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

/* Writes a member of an object, whose text is empty if it is missing. */
static void put_batch_string(struct buf *out, const char *key, const struct spool_batch *b,
			     uint32_t index)
{
	if (index < b->string_count)
		json_key_text(out, key, b->strings[index].p, b->strings[index].len);
	else
		json_key_cstr(out, key, "");
}

/* Writes a member of an object, unless its text is missing. */
static void put_if_known(struct buf *out, const char *key, const struct spool_batch *b,
			 uint32_t index)
{
	if (index < b->string_count)
		put_batch_string(out, key, b, index);
}

static void put_cat_frame(struct buf *out, const struct spool_batch *b, const struct location *l)
{
	char hex[BUILD_ID_HEX_MAX];

	json_open(out, '{');
	json_key_cstr(out, "kind", kind_name(l->kind));
	json_key_cstr(out, "mode", l->mode == LOCATION_RETURN ? "return" : "exact");
	if (l->module < b->module_count) {
		const struct spool_module *m = &b->modules[l->module];

		if (m->id.len)
			json_key_cstr(out, "build_id", build_id_hex(&m->id, hex));
		put_if_known(out, "path", b, m->path);
	}
	put_if_known(out, "name", b, l->name);
	if (l->kind == LOCATION_UNRESOLVED)
		json_key_cstr(out, "reason", reason_key(l->reason));
	json_key_unsigned(out, "address", l->address);
	json_close(out, '}');
}

/* Returns the letter of ps(1) for task_struct::__state, whose bits are stable since Linux 4.14. */
static const char *state_letter(uint32_t state)
{
	return !state ? "R" : state & 1 ? "S" : state & 2 ? "D" : state & 0xc ? "T" : "X";
}

static void put_cat_sample(struct buf *out, const struct spool_batch *b,
			   const struct spool_sample *s)
{
	const struct spool_thread *t = &b->threads[s->thread];
	const struct spool_stack *stack = &b->stacks[s->stack];

	json_open(out, '{');
	json_key_unsigned(out, "time_ns", s->time_ns);
	json_key_number(out, "cpu", s->cpu);
	json_key_number(out, "weight", s->weight);
	json_key_number(out, "pid", t->pid);
	json_key_number(out, "tid", t->tid);
	put_batch_string(out, "comm", b, t->comm);
	put_batch_string(out, "exe", b, t->exe);
	json_key_cstr(out, "state", state_letter(t->state));
	put_if_known(out, "cgroup", b, t->cgroup);
	put_if_known(out, "container", b, t->container);
	put_if_known(out, "service", b, t->service);
	put_if_known(out, "labels", b, t->labels);
	json_key_unsigned(out, "cgroup_id", t->cgroup_id);
	json_key_number(out, "flags", stack->flags);
	json_key_cstr(out, "end", spool_end_name(spool_end_of(stack)));
	json_key(out, "frames");
	json_open(out, '[');
	for (uint32_t i = 0; i < stack->count; i++)
		put_cat_frame(out, b, &b->locations[stack->locations[i]]);
	json_close(out, ']');
	json_close(out, '}');
	buf_str(out, "\n");
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

/* Prints the samples of a batch, and uses `line` for each of them. */
static int print_samples(const struct view *v, const struct spool_batch *b, struct buf *line,
			 struct err *err)
{
	for (size_t i = 0; i < b->sample_count; i++) {
		if (v->pid && b->threads[b->samples[i].thread].pid != v->pid)
			continue;
		if (v->format == CAT_FOLDED) {
			print_folded(b, &b->samples[i]);
			continue;
		}
		buf_reset(line);
		put_cat_sample(line, b, &b->samples[i]);
		if (line->failed)
			return err_full(err, line->no_memory,
					"%s: a sample of more than %" PRIu64 " bytes of JSON",
					v->dir, LIMIT_SAMPLE_JSON_LEN);
		stdout_put(line);
	}
	return ferror(stdout) ? stdout_flush(err) : 0;
}

static int run_cat(const struct view *v, struct err *err)
{
	_cleanup_(spool_reader_closep) struct spool_reader *r = NULL;
	_cleanup_(buf_done) struct buf line = BUF_INIT(LIMIT_SAMPLE_JSON_LEN);
	struct spool_batch b;
	int rc;

	TRY(open_all(v, &r, err));
	spool_reader_name_late(r);
	while ((rc = spool_reader_next(r, BATCH_SAMPLES, &b, err)) == 1)
		TRY(print_samples(v, &b, &line, err));
	if (rc == 0)
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
	_cleanup_(spool_reader_closep) struct spool_reader *all = NULL;
	_cleanup_(spool_reader_closep) struct spool_reader *unshipped = NULL;
	struct totals t = {.segment = 0};
	struct spool_batch b;
	uint64_t left = 0;
	int rc;

	TRY(open_all(v, &all, err));
	while ((rc = spool_reader_next(all, BATCH_SAMPLES, &b, err)) == 1) {
		if (b.segment != t.segment)
			print_segment(&t);
		add_batch_totals(&t, &b);
	}
	TRY(rc);
	print_segment(&t);
	warn_skipped_segments(all);
	TRY(spool_reader_open(&unshipped, v->dir, NULL, err));
	while ((rc = spool_reader_next(unshipped, BATCH_SAMPLES, &b, err)) == 1)
		left += b.sample_count;
	TRY(rc);
	printf("%" PRIu64 " segments with %" PRIu64 " samples, %" PRIu64 " of them not shipped\n",
	       t.segments, t.all_samples, left);
	return 0;
}

static int run_verify(const struct view *v, struct err *err)
{
	_cleanup_(spool_reader_closep) struct spool_reader *r = NULL;
	uint64_t samples = 0;
	struct spool_batch b;
	int rc;

	TRY(open_all(v, &r, err));
	while ((rc = spool_reader_next(r, BATCH_SAMPLES, &b, err)) == 1)
		samples += b.sample_count;
	TRY(rc);
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

/* The figures that `stats` tells: the bytes by kind of record, and how the stacks end. */
struct spool_facts {
	struct spool_stats bytes;
	uint64_t ends[SPOOL_END_COUNT];
};

static void print_facts(const struct spool_facts *f)
{
	const struct spool_stats *s = &f->bytes;
	uint64_t total = 0;

	if (s->unread)
		printf("%" PRIu64 " segments of another format, not read\n", s->unread);
	printf("%" PRIu64 " segments, %" PRIu64 " of them packed: %" PRIu64
	       " bytes on the disk, %" PRIu64 " unpacked\n%" PRIu64
	       " samples, %.2f bytes each (%.2f unpacked)\n\n"
	       "%-13s %10s %10s %12s %8s\n",
	       s->segments, s->packed, s->len, s->raw_len, s->samples, ratio_of(s->len, s->samples),
	       ratio_of(s->raw_len, s->samples), "record", "records", "entries", "bytes",
	       "/sample");
	for (int i = 1; i < SPOOL_STATS_TYPES; i++)
		printf("%-13s %10" PRIu64 " %10" PRIu64 " %12" PRIu64 " %8.2f\n", type_names[i],
		       s->types[i].records, s->types[i].entries, s->types[i].len,
		       ratio_of(s->types[i].len, s->samples));
	printf("\nstacks end\n");
	for (int i = 0; i < SPOOL_END_COUNT; i++)
		total += f->ends[i];
	for (int i = 0; i < SPOOL_END_COUNT; i++)
		if (f->ends[i])
			printf("%6.1f %%  %s\n", 100 * ratio_of(f->ends[i], total),
			       spool_end_name(i));
	if (f->ends[SPOOL_END_UNVERIFIED])
		printf("unverified: only names tell whether the last function has a caller; see "
		       "rawstack stats\n");
}

static void put_facts(struct buf *out, const struct spool_facts *f)
{
	const struct spool_stats *s = &f->bytes;

	json_open(out, '{');
	json_key_unsigned(out, "segments", s->segments);
	json_key_unsigned(out, "packed", s->packed);
	json_key_unsigned(out, "bytes", s->len);
	json_key_unsigned(out, "raw_bytes", s->raw_len);
	json_key_unsigned(out, "samples", s->samples);
	json_key_unsigned(out, "damaged_bytes", s->damaged_len);
	json_key_unsigned(out, "unread_segments", s->unread);
	json_key(out, "bytes_per_sample");
	json_decimal(out, ratio_of(s->len, s->samples));
	json_key(out, "types");
	json_open(out, '{');
	for (int i = 1; i < SPOOL_STATS_TYPES; i++) {
		json_key(out, type_names[i]);
		json_open(out, '{');
		json_key_unsigned(out, "records", s->types[i].records);
		json_key_unsigned(out, "entries", s->types[i].entries);
		json_key_unsigned(out, "bytes", s->types[i].len);
		json_close(out, '}');
	}
	json_close(out, '}');
	json_key(out, "stack_ends");
	json_open(out, '{');
	for (int i = 0; i < SPOOL_END_COUNT; i++)
		json_key_unsigned(out, spool_end_name(i), f->ends[i]);
	json_close(out, '}');
	json_close(out, '}');
	buf_str(out, "\n");
}

static int run_spool_stats(const struct view *v, struct err *err)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(MIB);
	struct spool_facts facts = {.ends = {0}};

	TRY(spool_stats_read(&facts.bytes, v->dir, err));
	TRY(spool_end_count(facts.ends, v->dir, err));
	if (!v->json) {
		print_facts(&facts);
		return 0;
	}
	put_facts(&out, &facts);
	if (out.failed)
		return err_no_memory(err);
	stdout_put(&out);
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
