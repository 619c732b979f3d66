/* SPDX-License-Identifier: Apache-2.0 */
/* What a sample becomes: each stack says how whole it is, each frame that is not known why, and
 * none loses its weight. */
#include "limits.h"
#include "normalise.h"

#include <asm/unistd.h>
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum {
	PID = 42,
	GONE = 43,
	DEPTH = 127,
};

#define TEXT    UINT64_C(0x10000)
#define NO_ID   UINT64_C(0x20000)
#define VDSO    UINT64_C(0x30000)
#define MADE    UINT64_C(0x40000)
#define NOWHERE UINT64_C(0x99999000)
#define LEN     UINT64_C(0x1000)

static char dir[] = "normalise-XXXXXX";

static void add_row(struct modules *modules, struct mappings **maps, uint64_t start, uint8_t id_len,
		    const char *path)
{
	struct build_id id = {.kind = id_len ? BUILD_ID_GNU : BUILD_ID_NONE, .len = id_len};
	struct mapping row = {.start = start, .end = start + LEN, .file_off = start / 16};

	row.module = module_get(modules, &id, &(struct file_key){1, 2, 3}, path, strlen(path));
	assert_true(mappings_add(maps, &row));
	module_unref(row.module);
}

static int fake_scan(void *ctx _unused_, uint32_t pid, struct modules *modules,
		     size_t most _unused_, struct procscan *ret)
{
	if (pid == GONE)
		return -ESRCH;
	ret->maps = mappings_new();
	add_row(modules, &ret->maps, TEXT, 20, "/bin/a");
	add_row(modules, &ret->maps, NO_ID, 0, "/bin/without");
	add_row(modules, &ret->maps, VDSO, 0, "[vdso]");
	add_row(modules, &ret->maps, MADE, 0, "//anon");
	return 0;
}

static int fake_id(void *ctx _unused_, uint32_t tid _unused_, const struct mapping *m _unused_,
		   uint64_t pc _unused_, struct build_id *ret _unused_)
{
	return 0;
}

static const struct procs_source fake = {.scan = fake_scan, .id = fake_id};

/* The kernel part is one address in its text, in each. */
#define KERNEL_TEXT UINT64_C(0xffffffff81000000)

struct row {
	const char *what;
	uint32_t pid, sample_flags;
	int32_t syscall;
	uint16_t kernel_count, user_count;
	int16_t kernel_err;
	uint64_t pcs[3]; /* of the user part; the last one again and again */
	/* What comes of it. */
	uint32_t flags;
	uint32_t count;
	uint32_t at; /* the frame that is looked at */
	uint8_t kind, reason;
	const char *name;
	int16_t user_err;
};

static const struct row rows[] = {
	{"whole",
	 PID,
	 0,
	 -1,
	 0,
	 2,
	 0,
	 {TEXT + 8, TEXT + 16},
	 0,
	 2,
	 1,
	 LOCATION_FILE_OFF,
	 0,
	 NULL,
	 0},
	{"user depth limit",
	 PID,
	 0,
	 -1,
	 0,
	 DEPTH,
	 0,
	 {TEXT + 8, TEXT + 16, TEXT + 24},
	 SPOOL_STACK_USER_TRUNCATED,
	 DEPTH,
	 DEPTH - 1,
	 LOCATION_FILE_OFF,
	 0,
	 NULL,
	 0},
	{"kernel depth limit",
	 PID,
	 0,
	 1,
	 DEPTH,
	 1,
	 0,
	 {TEXT + 8},
	 SPOOL_STACK_KERNEL_TRUNCATED,
	 DEPTH + 1,
	 0,
	 LOCATION_KERNEL_TEXT,
	 0,
	 NULL,
	 0},
	{"kernel read fault",
	 PID,
	 0,
	 1,
	 0,
	 1,
	 -EFAULT,
	 {TEXT + 8},
	 SPOOL_STACK_NO_KERNEL,
	 1,
	 0,
	 LOCATION_FILE_OFF,
	 0,
	 NULL,
	 0},
	{"user read fault",
	 PID,
	 0,
	 1,
	 1,
	 0,
	 0,
	 {0},
	 SPOOL_STACK_NO_USER,
	 2,
	 1,
	 LOCATION_HOST_NAMED,
	 HOST_SOURCE_PSEUDO,
	 "[no user stack: read fault]",
	 0},
	{"nothing at all",
	 PID,
	 0,
	 -1,
	 0,
	 0,
	 -EFAULT,
	 {0},
	 SPOOL_STACK_NO_USER | SPOOL_STACK_NO_KERNEL,
	 1,
	 0,
	 LOCATION_HOST_NAMED,
	 HOST_SOURCE_PSEUDO,
	 "[no user stack: read fault]",
	 0},
	{"kernel thread without a stack",
	 2,
	 SAMPLE_KERNEL_THREAD,
	 -1,
	 0,
	 0,
	 -EFAULT,
	 {0},
	 SPOOL_STACK_NO_KERNEL,
	 1,
	 0,
	 LOCATION_HOST_NAMED,
	 HOST_SOURCE_PSEUDO,
	 "[no stack: read fault]",
	 0},
	{"in exec, no stack",
	 PID,
	 0,
	 __NR_execve,
	 1,
	 0,
	 0,
	 {0},
	 SPOOL_STACK_NO_USER,
	 2,
	 1,
	 LOCATION_HOST_NAMED,
	 HOST_SOURCE_PSEUDO,
	 "[no user stack: exec]",
	 0},
	{"exiting",
	 PID,
	 SAMPLE_EXITING,
	 -1,
	 1,
	 0,
	 0,
	 {0},
	 SPOOL_STACK_NO_USER,
	 2,
	 1,
	 LOCATION_HOST_NAMED,
	 HOST_SOURCE_PSEUDO,
	 "[no user stack: exiting]",
	 0},
	{"stale exec",
	 PID,
	 0,
	 __NR_execve,
	 1,
	 1,
	 0,
	 {NOWHERE},
	 SPOOL_STACK_STALE_EXEC,
	 2,
	 1,
	 LOCATION_UNRESOLVED,
	 UNRESOLVED_STALE_EXEC,
	 NULL,
	 0},
	{"stale exec by descriptor",
	 PID,
	 0,
	 __NR_execveat,
	 1,
	 1,
	 0,
	 {NOWHERE},
	 SPOOL_STACK_STALE_EXEC,
	 2,
	 1,
	 LOCATION_UNRESOLVED,
	 UNRESOLVED_STALE_EXEC,
	 NULL,
	 0},
	{"implausible frame pointer",
	 PID,
	 0,
	 -1,
	 0,
	 3,
	 0,
	 {TEXT + 8, NOWHERE, TEXT + 16},
	 SPOOL_STACK_IMPLAUSIBLE,
	 2,
	 1,
	 LOCATION_UNRESOLVED,
	 UNRESOLVED_NO_MAPPING,
	 NULL,
	 0},
	{"read fault behind a caller",
	 PID,
	 0,
	 -1,
	 0,
	 2,
	 0,
	 {TEXT + 8, TEXT + 16},
	 SPOOL_STACK_READ_FAULT,
	 2,
	 1,
	 LOCATION_FILE_OFF,
	 0,
	 NULL,
	 -EFAULT},
	{"read fault behind an implausible caller",
	 PID,
	 0,
	 -1,
	 0,
	 3,
	 0,
	 {TEXT + 8, NOWHERE, TEXT + 16},
	 SPOOL_STACK_IMPLAUSIBLE,
	 2,
	 1,
	 LOCATION_UNRESOLVED,
	 UNRESOLVED_NO_MAPPING,
	 NULL,
	 -EFAULT},
	{"leaf in no mapping",
	 PID,
	 0,
	 -1,
	 0,
	 1,
	 0,
	 {NOWHERE},
	 0,
	 1,
	 0,
	 LOCATION_UNRESOLVED,
	 UNRESOLVED_NO_MAPPING,
	 NULL,
	 0},
	{"vDSO",
	 PID,
	 0,
	 -1,
	 0,
	 2,
	 0,
	 {VDSO + 8, TEXT + 8},
	 0,
	 2,
	 0,
	 LOCATION_HOST_NAMED,
	 HOST_SOURCE_VDSO,
	 "[vdso]",
	 0},
	{"made at run time",
	 PID,
	 0,
	 -1,
	 0,
	 1,
	 0,
	 {MADE + 8},
	 0,
	 1,
	 0,
	 LOCATION_UNRESOLVED,
	 UNRESOLVED_ANONYMOUS,
	 NULL,
	 0},
	{"unreadable file",
	 PID,
	 0,
	 -1,
	 0,
	 1,
	 0,
	 {NO_ID + 8},
	 0,
	 1,
	 0,
	 LOCATION_UNRESOLVED,
	 UNRESOLVED_NO_ID,
	 NULL,
	 0},
	{"gone",
	 GONE,
	 0,
	 -1,
	 0,
	 1,
	 0,
	 {TEXT + 8},
	 0,
	 1,
	 0,
	 LOCATION_UNRESOLVED,
	 UNRESOLVED_PROCESS_GONE,
	 NULL,
	 0},
	{"kernel address in nothing",
	 PID,
	 0,
	 -1,
	 2,
	 1,
	 0,
	 {TEXT + 8},
	 0,
	 3,
	 1,
	 LOCATION_UNRESOLVED,
	 UNRESOLVED_KERNEL,
	 NULL,
	 0},
};

static void send(struct normaliser *n, const struct row *r, uint64_t time_ns)
{
	uint64_t pcs[2 * DEPTH];
	struct event e = {
		.time_ns = time_ns,
		.pid = r->pid,
		.tid = r->pid,
		.kind = EVENT_SAMPLE,
		.data = pcs,
		.data_len = (r->kernel_count + r->user_count) * sizeof(*pcs),
	};

	for (uint16_t i = 0; i < r->kernel_count; i++)
		pcs[i] = i && r->kernel_count == 2 ? 1 : KERNEL_TEXT + 16 * (i + 1);
	for (uint16_t i = 0; i < r->user_count; i++)
		pcs[r->kernel_count + i] = r->pcs[i < 2 ? i : 2];
	e.sample.flags = r->sample_flags;
	e.sample.syscall = r->syscall;
	e.sample.kernel_err = r->kernel_err;
	e.sample.user_err = r->user_err;
	e.sample.kernel_count = r->kernel_count;
	e.sample.user_count = r->user_count;
	strcpy(e.sample.comm, "a");
	normalise_event(n, &e);
}

static struct normaliser *normaliser(struct spool_writer **w)
{
	const struct spool_limits limits = {.free_floor = 1};
	const struct spool_origin origin = {.host_name = "h", .period_ns = 1};
	struct normaliser *n = calloc(1, sizeof(*n));
	struct err err;

	assert_non_null(n);
	assert_int_equal(spool_writer_open(w, dir, &limits, &origin, NULL, &err), 0);
	normalise_init(n, *w, &fake, NULL);
	n->depth_max = DEPTH;
	/* What it says of this machine does not matter. */
	kernel_map_init(&n->kernel, KERNEL_TEXT, KERNEL_TEXT + MIB, 1, NULL);
	return n;
}

static void check(const struct spool_batch *b, size_t i)
{
	const struct row *r = &rows[i];
	const struct spool_sample *sample = b->samples;
	const struct spool_stack *s;
	const struct location *l;

	/* What waited comes later. */
	while (sample->time_ns != 1000000 + 1000 * i)
		sample++;
	s = &b->stacks[sample->stack];
	if (s->flags != r->flags || s->count != r->count)
		print_error("%s: flags %u, %u frames\n", r->what, s->flags, s->count);
	assert_int_equal(sample->weight, 1);
	assert_int_equal(s->flags, r->flags);
	assert_int_equal(s->count, r->count);
	l = &b->locations[s->locations[r->at]];
	if (l->kind != r->kind || l->reason != r->reason)
		print_error("%s: kind %u, reason %u\n", r->what, l->kind, l->reason);
	assert_int_equal(l->kind, r->kind);
	assert_int_equal(l->reason, r->reason);
	if (!r->name)
		return;
	assert_int_equal(b->strings[l->name].len, strlen(r->name));
	assert_memory_equal(b->strings[l->name].p, r->name, strlen(r->name));
}

static void test_reasons(void **state _unused_)
{
	struct spool_writer *w;
	struct normaliser *n = normaliser(&w);
	struct spool_reader *reader;
	struct spool_batch b;
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		send(n, &rows[i], 1000000 + 1000 * i);
	/* No helper runs, and nothing is waited for any longer. */
	normalise_poll(n, 2000000, true);
	assert_int_equal(n->samples, ARRAY_LEN(rows));
	assert_int_equal(n->unreadable, 1);
	assert_int_equal(spool_writer_flush(w, &err), 0);
	normalise_done(n);
	spool_writer_close(w);
	free(n);
	assert_int_equal(spool_reader_open(&reader, dir, NULL, &err), 0);
	assert_int_equal(spool_reader_next(reader, ARRAY_LEN(rows), &b, &err), 1);
	assert_int_equal(b.sample_count, ARRAY_LEN(rows));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check(&b, i);
	spool_reader_close(reader);
}

/* --- samples like the one before them -------------------------------------------------------- */

enum {
	RUN_FIRST = 5000000, /* times */
	RUN_EACH = 3,
};

/* Some of one thread, with one stack, that last. */
static void add_samples(struct events *q, uint64_t time_ns, const uint64_t *pc)
{
	for (uint64_t i = 0; i < RUN_EACH; i++)
		assert_true(events_add(q, &(struct event){
						  .time_ns = time_ns + i * 1000,
						  .pid = PID,
						  .tid = PID,
						  .kind = EVENT_SAMPLE,
						  .sample = {.start_ns = 7,
							     .syscall = -1,
							     .user_count = 1,
							     .comm = "run",
							     .stack_id = 9},
						  .data = pc,
						  .data_len = sizeof(*pc),
						  .is_lasting = true,
					  }));
}

static void add_event(struct events *q, uint64_t time_ns, enum event_kind kind)
{
	assert_true(events_add(q, &(struct event){
					  .time_ns = time_ns,
					  .pid = PID,
					  .tid = PID,
					  .kind = (uint8_t)kind,
					  .comm.is_exec = kind == EVENT_COMM,
					  .data = "run",
					  .data_len = 3,
				  }));
}

/* That the thread is the same as at the sample before does not hide what became of its process
 * between them. */
static void test_runs(void **state _unused_)
{
	static const uint8_t kinds[] = {LOCATION_FILE_OFF, LOCATION_UNRESOLVED, LOCATION_FILE_OFF};
	const uint64_t pc = TEXT + 8;
	struct spool_writer *w;
	struct normaliser *n = normaliser(&w);
	struct spool_reader *reader;
	const struct event *e;
	size_t agains = 0, found = 0;
	struct spool_batch b;
	struct events q;
	struct err err;

	events_init(&q);
	for (uint64_t i = 0; i < ARRAY_LEN(kinds); i++)
		add_samples(&q, RUN_FIRST + i * 10000, &pc);
	add_event(&q, RUN_FIRST + 9000, EVENT_COMM);  /* another program, that maps nothing */
	add_event(&q, RUN_FIRST + 19000, EVENT_LOST); /* or something that nobody knows of */
	while ((e = events_next(&q, UINT64_MAX))) {
		agains += e->is_again;
		normalise_event(n, e);
	}
	assert_int_equal(agains, ARRAY_LEN(kinds) * RUN_EACH - 1);
	assert_int_equal(n->samples, ARRAY_LEN(kinds) * RUN_EACH);
	assert_int_equal(n->user_frames, ARRAY_LEN(kinds) * RUN_EACH);
	assert_int_equal(n->unresolved, RUN_EACH);
	assert_int_equal(spool_writer_flush(w, &err), 0);
	normalise_done(n);
	events_done(&q);
	spool_writer_close(w);
	free(n);
	assert_int_equal(spool_reader_open(&reader, dir, NULL, &err), 0);
	while (spool_reader_next(reader, 1000, &b, &err) == 1)
		for (size_t i = 0; i < b.sample_count; i++) {
			const struct spool_sample *s = &b.samples[i];

			if (s->time_ns < RUN_FIRST)
				continue;
			assert_int_equal(b.locations[b.stacks[s->stack].locations[0]].kind,
					 kinds[(s->time_ns - RUN_FIRST) / 10000]);
			found++;
		}
	assert_int_equal(found, ARRAY_LEN(kinds) * RUN_EACH);
	spool_reader_close(reader);
}

/* Where the text lies, and a BPF program, where these may be read and one runs. */
static uint64_t find_bpf(uint64_t *text, uint64_t *etext, char found[static 256])
{
	FILE *f = fopen("/proc/kallsyms", "r");
	uint64_t pc, at = 0;
	char line[512], name[256];

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%" SCNx64 " %*c %255s", &pc, name) != 2)
			continue;
		*text = strcmp(name, "_text") ? *text : pc;
		*etext = strcmp(name, "_etext") ? *etext : pc;
		if (pc && !at && strstr(line, "[bpf]")) {
			at = pc;
			strcpy(found, name);
		}
	}
	fclose(f);
	return at;
}

static void test_bpf_is_named(void **state _unused_)
{
	struct kernel_place place = {.kind = KERNEL_PLACE_UNKNOWN};
	struct kernel_map *k = calloc(1, sizeof(*k));
	uint64_t text = 0, etext = 0, at = 1;
	char found[256];

	assert_non_null(k);
	/* It may go while it is looked for. */
	for (int i = 0; i < 10 && place.kind != KERNEL_PLACE_NAMED; i++) {
		at = find_bpf(&text, &etext, found);
		if (!at || !text)
			break;
		kernel_map_init(k, text, etext, 1, NULL);
		place = kernel_map_find(k, at, 2);
		if (place.kind == KERNEL_PLACE_NAMED) {
			assert_true(place.is_bpf);
			assert_string_equal(place.name, found);
		}
		assert_int_equal(kernel_map_find(k, text + 4096, 2).kind, KERNEL_PLACE_TEXT);
		assert_int_equal(kernel_map_find(k, text + 4096, 2).off, 4096);
		assert_int_equal(kernel_map_find(k, 4096, 2).kind, KERNEL_PLACE_UNKNOWN);
		kernel_map_done(k);
	}
	free(k);
	if (!at || !text)
		print_message("no BPF program is named here\n");
	else
		assert_int_equal(place.kind, KERNEL_PLACE_NAMED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reasons),
		cmocka_unit_test(test_runs),
		cmocka_unit_test(test_bpf_is_named),
	};

	if (!mkdtemp(dir))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
