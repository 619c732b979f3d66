/* SPDX-License-Identifier: Apache-2.0 */
/* rawstack-gsym-build bench measures the cost of a lookup on this machine. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "gsym_command.h"
#include "number.h"
#include "options.h"
#include "rsym_format.h"
#include "rsym_lookup.h"
#include "sort.h"
#include "table_text.h"
#include "thread_clock.h"

enum {
	PASSES = 9, /* the median is printed, because other programs disturb single passes */
	BATCH = 4096,
	FRAMES = 1 << 16,
	OPENINGS = 101,
};

/* Large enough to cache all names and paths. The caches of the service are bounded in the
 * same way. */
#define CACHE_MAX (256 * MIB)

struct bench {
	struct table_text text;
	const struct rsym *table; /* the table of `text` */
	const struct rsym_variant *variant;
	uint64_t *vaddrs;
	size_t count, cap;
	struct rsym_frame *frames; /* an array of FRAMES */
	uint32_t ends[BATCH];
	uint8_t *name_seen, *file_seen; /* by id */
	uint64_t sum; /* sum over all answers, so that the compiler keeps every lookup */
	struct err *err;
};

static void bench_done(struct bench *b)
{
	table_text_close(&b->text);
	free(b->vaddrs);
	free(b->frames);
	free(b->name_seen);
	free(b->file_seen);
}

static int read_addresses(struct bench *b, const char *path, struct err *err)
{
	FILE *f = fopen(path, "re");
	char line[64];

	if (!f)
		return err_sys(err, errno, "%s", path);
	while (fgets(line, sizeof(line), f)) {
		if (!GROW(b->vaddrs, &b->cap, b->count + 1, SIZE_MAX)) {
			fclose(f);
			return err_no_memory(err);
		}
		line[strcspn(line, "\n")] = 0;
		if (!number_read(line + (strncmp(line, "0x", 2) ? 0 : 2), 16,
				 &b->vaddrs[b->count++])) {
			fclose(f);
			return err_set(err, ERR_USAGE, "%s: line %zu is not a hexadecimal address",
				       path, b->count);
		}
	}
	fclose(f);
	if (!b->count)
		return err_set(err, ERR_USAGE, "%s: no addresses", path);
	return 0;
}

static int one_by_one(struct bench *b)
{
	for (size_t i = 0; i < b->count; i++) {
		int n = b->variant->lookup(b->table, b->vaddrs[i], b->frames, RSYM_FRAMES_MAX);

		for (int j = 0; j < n; j++)
			b->sum += b->frames[j].function ^ b->frames[j].file ^ b->frames[j].line;
	}
	return 0;
}

/* Looks up all addresses in batches, and gives the frames of each batch to take() unless it is
 * NULL. */
static int bench_batches(struct bench *b,
			 int (*take)(struct bench *b, size_t frame_count, void *ctx), void *ctx)
{
	for (size_t i = 0; i < b->count;) {
		size_t want = b->count - i < BATCH ? b->count - i : BATCH, frame_count;
		size_t done = b->variant->batch(b->table, b->vaddrs + i, want, b->frames, FRAMES,
						b->ends);

		frame_count = b->ends[done - 1];
		b->sum += frame_count ? b->frames[frame_count - 1].function : 0;
		if (take && take(b, frame_count, ctx))
			return -1;
		i += done;
	}
	return 0;
}

static int in_batches(struct bench *b)
{
	return bench_batches(b, NULL, NULL);
}

static int decode_new(struct bench *b, size_t frame_count, void *ctx)
{
	struct rsym_reader *reader = ctx;

	for (size_t i = 0; i < frame_count; i++) {
		uint32_t name = rsym_name_id(b->table, b->frames[i].function);
		uint32_t file = b->frames[i].file;
		const uint8_t *text;
		size_t len = 0;

		if (!b->name_seen[name]) {
			b->name_seen[name] = 1;
			if (rsym_reader_name(reader, b->frames[i].function, &text, &len, b->err))
				return -1;
			b->sum += len;
		}
		if (file != RSYM_NONE && !b->file_seen[file]) {
			b->file_seen[file] = 1;
			if (rsym_reader_file(reader, file, &text, &len, b->err))
				return -1;
			b->sum += len;
		}
	}
	return 0;
}

/* Makes a new reader in each pass, because the first use of a string is part of the cost. */
static int with_strings(struct bench *b)
{
	_cleanup_(rsym_reader_freep) struct rsym_reader *reader =
		rsym_reader_new(b->table, CACHE_MAX, b->err);

	if (!reader)
		return -1;
	memset(b->name_seen, 0, b->table->function_count);
	memset(b->file_seen, 0, b->table->file_count);
	return bench_batches(b, decode_new, reader);
}

static int measure_pass(struct bench *b, const char *what, int (*pass)(struct bench *b))
{
	uint64_t ns[PASSES];

	for (size_t i = 0; i < PASSES; i++) {
		uint64_t start = thread_cpu_ns();

		if (pass(b))
			return b->err->code;
		ns[i] = thread_cpu_ns() - start;
	}
	qsort(ns, PASSES, sizeof(ns[0]), compare_u64);
	printf("%s: %.1f ns/address (%.1f to %.1f in %d passes)\n", what,
	       (double)ns[PASSES / 2] / (double)b->count, (double)ns[0] / (double)b->count,
	       (double)ns[PASSES - 1] / (double)b->count, PASSES);
	return 0;
}

/* Measures an uncached name: reads names that are far apart, without a cache. */
static int measure_cold_name(struct bench *b)
{
	_cleanup_(rsym_reader_freep) struct rsym_reader *reader =
		rsym_reader_new(b->table, 0, b->err);
	uint32_t count = b->table->function_count, step = count / 2 + 1, id = 0;
	uint64_t start = thread_cpu_ns();

	if (!reader)
		return b->err->code;
	for (uint32_t i = 0; i < count; i++, id = (id + step) % count) {
		const uint8_t *text;
		size_t len;

		TRY(rsym_reader_name(reader, id, &text, &len, b->err));
		b->sum += len;
	}
	printf("cold name: %.0f ns/name\n",
	       (double)(thread_cpu_ns() - start) / (count ? count : 1));
	return 0;
}

/* Returns the number of bytes that rsym_open_trusted() reads: header, directory, shape, spans,
 * segments and heads of texts. */
static uint64_t opening_reads(const struct rsym *t)
{
	struct rsym_disk_header h;

	memcpy(&h, t->p, sizeof(h));
	return sizeof(h) + h.section_count * sizeof(struct rsym_disk_entry) +
	       sizeof(struct rsym_disk_shape) + t->span_count * sizeof(struct rsym_disk_span) +
	       t->segment_count * sizeof(struct rsym_disk_segment) +
	       2 * sizeof(struct rsym_disk_texts);
}

/* Measures one opening. The table is mapped anew, so that only the page cache is warm. */
static int open_once(struct bench *b, int fd, uint64_t vaddr, uint64_t *ret_open_ns,
		     uint64_t *ret_first_ns)
{
	_cleanup_(rsym_reader_freep) struct rsym_reader *reader = NULL;
	uint64_t start = thread_cpu_ns();
	void *p = mmap(NULL, b->table->len, PROT_READ, MAP_SHARED, fd, 0);
	const uint8_t *text;
	struct rsym t;
	size_t len;
	int rc, n;

	if (p == MAP_FAILED)
		return err_sys(b->err, errno, "mapping the table");
	rc = rsym_open_trusted(&t, p, b->table->len, b->err);
	*ret_open_ns = thread_cpu_ns() - start;
	n = rc ? 0 : b->variant->lookup(&t, vaddr, b->frames, RSYM_FRAMES_MAX);
	if (!rc && !(reader = rsym_reader_new(&t, CACHE_MAX, b->err)))
		rc = b->err->code;
	for (int i = 0; i < n && !rc; i++) {
		rc = rsym_reader_name(reader, b->frames[i].function, &text, &len, b->err);
		if (!rc && b->frames[i].file != RSYM_NONE)
			rc = rsym_reader_file(reader, b->frames[i].file, &text, &len, b->err);
		b->sum += len;
	}
	*ret_first_ns = thread_cpu_ns() - start;
	munmap(p, b->table->len);
	return rc;
}

/* Measures opening a validated table, and the first answer from it with all its strings. */
static int measure_open(struct bench *b, const char *path)
{
	uint64_t open_ns[OPENINGS], first_ns[OPENINGS], start, check_ns;
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct rsym t;
	int rc = 0;

	if (fd < 0)
		return err_sys(b->err, errno, "%s", path);
	for (size_t i = 0; i < OPENINGS; i++)
		TRY(open_once(b, fd, b->vaddrs[i * b->count / OPENINGS], &open_ns[i],
			      &first_ns[i]));
	start = thread_cpu_ns();
	rc = rsym_open(&t, b->table->p, b->table->len, b->err);
	check_ns = thread_cpu_ns() - start;
	qsort(open_ns, OPENINGS, sizeof(open_ns[0]), compare_u64);
	qsort(first_ns, OPENINGS, sizeof(first_ns[0]), compare_u64);
	printf("open: %.1f us, reads %llu of %zu bytes\n", (double)open_ns[OPENINGS / 2] / 1000,
	       (unsigned long long)opening_reads(b->table), b->table->len);
	printf("first answer: %.1f us (%.1f to %.1f in %d openings)\n",
	       (double)first_ns[OPENINGS / 2] / 1000, (double)first_ns[0] / 1000,
	       (double)first_ns[OPENINGS - 1] / 1000, OPENINGS);
	printf("check all: %.1f us\n", (double)check_ns / 1000);
	return rc;
}

static int run_all(struct bench *b, const char *path)
{
	/* Warm up: one pass brings the table and the code into memory. */
	one_by_one(b);
	TRY(measure_pass(b, "random, no strings", one_by_one));
	TRY(measure_pass(b, "random batches, no strings", in_batches));
	TRY(measure_pass(b, "random, with strings", with_strings));
	qsort(b->vaddrs, b->count, sizeof(*b->vaddrs), compare_u64);
	TRY(measure_pass(b, "sorted, no strings", in_batches));
	TRY(measure_pass(b, "sorted, with strings", with_strings));
	TRY(measure_cold_name(b));
	return measure_open(b, path);
}

static int bench_table(struct bench *b, const char *path, const char *addresses)
{
	int rc;

	TRY(table_text_open(&b->text, path, b->err));
	TRY(read_addresses(b, addresses, b->err));
	b->table = &b->text.table;
	b->frames = calloc(FRAMES, sizeof(*b->frames));
	b->name_seen = calloc((size_t)b->table->function_count + 1, 1);
	b->file_seen = calloc((size_t)b->table->file_count + 1, 1);
	if (!b->frames || !b->name_seen || !b->file_seen)
		return err_no_memory(b->err);
	printf("%s: %zu addresses, %s\n", path, b->count, b->variant->name);
	rc = run_all(b, path);
	/* Printing the sum keeps the compiler from removing lookups. */
	printf("check: %016llx\n", (unsigned long long)b->sum);
	return rc;
}

struct options {
	bool base;
};

static const struct option_row rows[] = {
	OPTION_FLAG(0, "base", struct options, base,
		    "use only instructions that every x86-64 processor has"),
	OPTION_END,
};

static const struct option_usage usage = {
	.name = "rawstack-gsym-build bench",
	.synopsis = "[--base] TABLE ADDRFILE",
	.about = "Looks up the addresses of ADDRFILE (hexadecimal, one per line, in random order) "
		 "repeatedly and prints the time of one lookup: one by one, in batches of 4096, in "
		 "sorted order, and with each distinct name and path decoded once. Then it prints "
		 "the time to open the table and to get the first answer from it.",
	.rows = rows,
	.operands_min = 2,
	.operands_max = 2,
	.operands_wanted = "give one TABLE and one ADDRFILE",
};

static int run_bench(int argc, char **argv, struct err *err)
{
	_cleanup_(bench_done) struct bench b = {.err = err};
	struct options o = {0};
	struct operands operands;

	TRY(options_parse(&usage, argc, argv, &o, &operands, err));
	b.variant = o.base ? NULL : rsym_variant_v3();
	if (!b.variant)
		b.variant = rsym_variant_base();
	return bench_table(&b, operands.list[0], operands.list[1]);
}

const struct command gsym_command_bench = {
	.usage = &usage,
	.summary = "measure the time of a lookup",
	.run = run_bench,
};
