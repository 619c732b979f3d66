/* SPDX-License-Identifier: Apache-2.0 */
/*
 * same_readers [FILE]...: reads each file with the scanner and with the plain reader over libdwarf,
 * and compares the report of each unit and the tables that they make, byte by byte. Without FILE:
 * this program itself. Exits 1 when anything differs.
 */
#include <stdio.h>

#include "builder.h"
#include "crc32c.h"
#include "die_scan.h"
#include "io.h"
#include "limits.h"
#include "made_dwarf.h"
#include "plain_reader.h"

/* What one reader says of a file. */
struct answer {
	struct buf table;
	uint32_t *units; /* a checksum of each */
	size_t unit_count, units_cap;
	uint64_t scopes, rows;
	struct debug_report report;
};

struct recorder {
	struct answer *answer;
	struct builder *builder;
};

static int record(void *ctx, const struct debug_unit *u, struct err *err)
{
	struct recorder *r = ctx;
	struct answer *a = r->answer;
	_cleanup_(buf_done) struct buf text = BUF_INIT(SIZE_MAX);
	struct debug_sink sink = builder_sink(r->builder);

	made_print(&r->builder->text, u, &text);
	if (text.failed || !GROW(a->units, &a->units_cap, a->unit_count + 1, SIZE_MAX))
		return err_set(err, ERR_MEMORY, "out of memory");
	a->units[a->unit_count++] = crc32c(0, text.p, text.len);
	a->scopes += u->span_count;
	a->rows += u->row_count;
	return sink.unit(sink.ctx, u, err);
}

static int build(struct builder *b, struct buf *out, struct err *err)
{
	_cleanup_(rsym_writer_freep) struct rsym_writer *w = rsym_writer_new(err);
	struct builder_counts counts;
	int rc = w ? symbols_choose(&b->symbols, &b->flat.code, err) : ERR_MEMORY;

	if (!rc)
		rc = builder_write(b, w, &counts, err);
	return rc ? rc : rsym_writer_finish(w, &(struct rsym_writer_info){0}, NULL, out, err);
}

static int ask(made_reader *reader, const void *p, size_t len, struct answer *ret, struct err *err)
{
	_cleanup_(image_freep) struct image *im = NULL;
	struct builder b;
	struct recorder r = {.answer = ret, .builder = &b};
	struct debug_sink sink = {.ctx = &r, .unit = record};
	int rc = image_open(&im, p, len, err);

	*ret = (struct answer){.table = BUF_INIT(LIMIT_TABLE_LEN)};
	if (rc)
		return rc;
	builder_init(&b);
	rc = image_add_code(im, &b.flat.code, err);
	if (!rc)
		rc = interval_overlay_flatten(&b.flat.code, err);
	if (!rc)
		rc = reader(im, &b.text, &sink, &ret->report, err);
	if (!rc)
		rc = build(&b, &ret->table, err);
	builder_done(&b);
	return rc;
}

static void answer_done(struct answer *a)
{
	buf_done(&a->table);
	free(a->units);
}

static int differ(const char *path, const struct answer *a, const struct answer *b)
{
	size_t bad = 0;

	for (size_t i = 0; i < a->unit_count && i < b->unit_count; i++) {
		if (a->units[i] == b->units[i])
			continue;
		if (!bad++)
			printf("%s: facts of unit %zu differ\n", path, i);
	}
	if (a->unit_count != b->unit_count || a->report.units_skipped != b->report.units_skipped ||
	    a->report.needs_alt_file != b->report.needs_alt_file)
		printf("%s: units: %zu and %llu skipped, plain reader %zu and %llu\n", path,
		       a->unit_count, (unsigned long long)a->report.units_skipped, b->unit_count,
		       (unsigned long long)b->report.units_skipped);
	else if (a->table.len != b->table.len || memcmp(a->table.p, b->table.p, a->table.len) != 0)
		printf("%s: tables differ\n", path);
	else if (!bad)
		return 0;
	return 1;
}

static int compare(const char *path)
{
	_cleanup_(freep) uint8_t *p = NULL;
	_cleanup_(answer_done) struct answer scan = {0}, plain = {0};
	struct err err = {0};
	size_t len;

	if (io_read_file(path, LIMIT_ELF_FILE_LEN, &p, &len, &err) ||
	    ask(die_scan, p, len, &scan, &err) || ask(plain_read, p, len, &plain, &err)) {
		printf("%s: not read: %s\n", path, err.message);
		return err.code != ERR_UNSUPPORTED;
	}
	if (differ(path, &scan, &plain))
		return 1;
	printf("%s: %zu units, %llu ranges, %llu rows, a table of %zu bytes: the same\n", path,
	       scan.unit_count, (unsigned long long)scan.scopes, (unsigned long long)scan.rows,
	       scan.table.len);
	return 0;
}

int main(int argc, char **argv)
{
	int rc = argc < 2 ? compare("/proc/self/exe") : 0;

	for (int i = 1; i < argc; i++)
		rc |= compare(argv[i]);
	return rc;
}
