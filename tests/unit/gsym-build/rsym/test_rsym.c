/* SPDX-License-Identifier: Apache-2.0 */
/* The table format: what is written is read back, and damage of any byte is an error or harmless.
 */
#include "crc32c.h"
#include "limits.h"
#include "rsym.h"
#include "rsym_code.h"
#include "rsym_format.h"
#include "rsym_writer.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SECTIONS  (RSYM_SECTION_KNOWN - 1)
#define HEADS_LEN (sizeof(struct rsym_disk_header) + SECTIONS * sizeof(struct rsym_disk_entry))

/* main() at 0x1000 calls inner() inlined from 0x1010 to 0x1020, which has leaf() inlined in its
 * second half; a gap; a symbol at 0x2000. */
static void write_sample(struct buf *out)
{
	_cleanup_(rsym_writer_freep) struct rsym_writer *w = rsym_writer_new(NULL);
	struct rsym_writer_info info = {.flags = RSYM_HAS_DWARF, .text_base = 0x1000};
	struct rsym_writer_function f = {
		.name = "main", .name_len = 4, .vaddr = 0x1000, .has_entry = true, .start_line = 3};
	uint32_t file, other, root, inner, leaf, symbol;

	assert_int_equal(build_id_set(&info.id, BUILD_ID_GNU, "\x01\x02\x03\x04", 4, NULL), 0);
	file = rsym_writer_file(w, "/src", 4, "main.c", 6);
	other = rsym_writer_file(w, "", 0, "/usr/include/leaf.h", 19);
	assert_int_equal(rsym_writer_file(w, "/src", 4, "main.c", 6), file);
	f.file = file;
	root = rsym_writer_node(w, RSYM_NONE, rsym_writer_function(w, &f), RSYM_NONE, 0);
	f = (struct rsym_writer_function){.name = "inner", .name_len = 5, .file = file};
	inner = rsym_writer_node(w, root, rsym_writer_function(w, &f), file, 7);
	f = (struct rsym_writer_function){.name = "leaf", .name_len = 4, .file = other};
	leaf = rsym_writer_node(w, inner, rsym_writer_function(w, &f), file, 12);
	f = (struct rsym_writer_function){.name = "sym",
					  .name_len = 3,
					  .vaddr = 0x2000,
					  .has_entry = true,
					  .from_symbol = true,
					  .file = RSYM_NONE};
	symbol = rsym_writer_node(w, RSYM_NONE, rsym_writer_function(w, &f), RSYM_NONE, 0);
	rsym_writer_row(w, 0x1000, root, file, 4);
	rsym_writer_row(w, 0x1008, root, file, 4); /* joins the row before */
	rsym_writer_row(w, 0x1010, inner, file, 11);
	rsym_writer_row(w, 0x1018, leaf, other, 99);
	rsym_writer_row(w, 0x1020, root, file, 8);
	rsym_writer_row(w, 0x1030, RSYM_NONE, file, 8);
	rsym_writer_row(w, 0x2000, symbol, RSYM_NONE, 0);
	rsym_writer_row(w, 0x2010, RSYM_NONE, RSYM_NONE, 0);
	rsym_writer_segment(w, &(struct rsym_writer_segment){.vaddr = 0x1000,
							     .mem_len = 0x2000,
							     .file_off = 0x400,
							     .file_len = 0x2000,
							     .flags = 5});
	assert_int_equal(rsym_writer_finish(w, &info, NULL, out, NULL), 0);
}

/* malloc() aligns to 16 bytes and no more, and shows a sanitizer the end. */
static uint8_t *copy_of(const struct buf *b)
{
	uint8_t *p = malloc(b->len);

	assert_non_null(p);
	memcpy(p, b->p, b->len);
	return p;
}

static const char *chain_at(const struct rsym *t, uint64_t vaddr, size_t cap)
{
	static char text[512];
	struct rsym_frame frames[RSYM_FRAMES_MAX];
	int n = rsym_lookup(t, vaddr, frames, cap);
	size_t at = 0;

	text[0] = 0;
	for (int i = 0; i < n; i++) {
		_cleanup_(buf_done) struct buf name = BUF_INIT(100), file = BUF_INIT(100);

		assert_int_equal(rsym_name(t, frames[i].function, &name, NULL), 0);
		if (frames[i].file != RSYM_NONE)
			assert_int_equal(rsym_file(t, frames[i].file, &file, NULL), 0);
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s@%s:%u ", buf_cstr(&name),
				       buf_cstr(&file), frames[i].line);
	}
	return text;
}

static void test_round_trip(void **state _unused_)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(1 << 20);
	_cleanup_(freep) uint8_t *p = NULL;
	struct rsym_frame frame;
	struct rsym_function f;
	struct rsym t;
	uint64_t a, b;

	write_sample(&out);
	p = copy_of(&out);
	assert_int_equal(rsym_open(&t, p, out.len, NULL), 0);
	assert_true(out.len >= 4096);
	assert_int_equal(t.id.len, 4);
	assert_int_equal(t.flags, RSYM_HAS_DWARF | RSYM_HAS_SEGMENTS);
	assert_string_equal(chain_at(&t, 0xfff, 4), "");
	assert_string_equal(chain_at(&t, 0x1000, 4), "main@/src/main.c:4 ");
	assert_string_equal(chain_at(&t, 0x1012, 4), "inner@/src/main.c:11 main@/src/main.c:7 ");
	assert_string_equal(chain_at(&t, 0x1018, 4), "leaf@/usr/include/leaf.h:99 "
						     "inner@/src/main.c:12 main@/src/main.c:7 ");
	assert_string_equal(chain_at(&t, 0x1018, 2),
			    "leaf@/usr/include/leaf.h:99 main@/src/main.c:7 ");
	assert_string_equal(chain_at(&t, 0x1018, 0), "");
	assert_string_equal(chain_at(&t, 0x1030, 4), "");
	assert_string_equal(chain_at(&t, 0x200f, 4), "sym@:0 ");
	assert_string_equal(chain_at(&t, UINT64_MAX, 4), "");
	assert_int_equal(rsym_range(&t, 0x1009, &a, &b), 1);
	assert_true(a == 0x1000 && b == 0x1010);
	assert_int_equal(rsym_range(&t, 0x5000, &a, &b), 0);
	assert_true(a == 0x2010 && b == UINT64_MAX);
	assert_int_equal(rsym_range(&t, 1, &a, &b), 0);
	assert_true(a == 0 && b == 0x1000);
	/* In the call; where nothing is, at the address itself, if something is there. */
	assert_int_equal(rsym_call_vaddr(&t, 0x1012), 0x1011);
	assert_int_equal(rsym_call_vaddr(&t, 0x1030), 0x102f);
	assert_int_equal(rsym_call_vaddr(&t, 0x1000), 0x1000);
	assert_int_equal(rsym_call_vaddr(&t, 0xfff), 0xffe);
	assert_int_equal(rsym_call_vaddr(&t, 0x5000), 0x4fff);
	assert_int_equal(rsym_call_vaddr(&t, 0), 0);
	assert_int_equal(rsym_lookup(&t, 0x1000, &frame, 1), 1);
	assert_int_equal(rsym_function(&t, frame.function, &f, NULL), 0);
	assert_true(f.has_entry && f.vaddr == 0x1000 && f.start_line == 3 && !f.from_symbol);
	assert_int_equal(f.file, frame.file);
	assert_int_equal(rsym_function(&t, t.function_count, &f, NULL), ERR_USAGE);
	assert_int_equal(rsym_name(&t, RSYM_NONE, &out, NULL), ERR_USAGE);
	assert_int_equal(rsym_file(&t, RSYM_NONE, &out, NULL), ERR_USAGE);
	assert_int_equal(rsym_vaddr_of_file_off(&t, 0x410, &a), 1);
	assert_int_equal(a, 0x1010);
	assert_int_equal(rsym_vaddr_of_file_off(&t, 0x3ff, &a), 0);
	assert_int_equal(rsym_vaddr_of_file_off(&t, 0x2400, &a), 0);
}

static void test_same_bytes(void **state _unused_)
{
	_cleanup_(buf_done) struct buf a = BUF_INIT(1 << 20), b = BUF_INIT(1 << 20);

	write_sample(&a);
	write_sample(&b);
	assert_int_equal(a.len, b.len);
	assert_memory_equal(a.p, b.p, a.len);
}

static void test_versions(void **state _unused_)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(1 << 20);
	struct rsym_disk_header *h;
	struct err err;
	struct rsym t;

	write_sample(&out);
	h = (void *)out.p;
	h->major++;
	assert_int_equal(rsym_open(&t, out.p, out.len, &err), ERR_UNSUPPORTED);
	assert_string_equal(err.message,
			    "table format 4.0; this program reads 3.x: rebuild the table");
	h->major--;
	h->byte_order = __builtin_bswap32(h->byte_order);
	assert_int_equal(rsym_open(&t, out.p, out.len, &err), ERR_UNSUPPORTED);
	h->byte_order = __builtin_bswap32(h->byte_order);
	assert_int_equal(rsym_open(&t, out.p, out.len - 1, &err), ERR_DATA);
	assert_int_equal(rsym_open(&t, out.p, 0, &err), ERR_DATA);
	assert_int_equal(rsym_open(&t, out.p + 8, out.len - 8, &err), ERR_USAGE);
}

static void seal(uint8_t *p)
{
	struct rsym_disk_header *h = (void *)p;
	struct rsym_disk_entry *e = (void *)(h + 1);

	for (uint32_t i = 0; i < h->section_count; i++)
		e[i].crc = crc32c(0, p + e[i].off, e[i].len);
	h->directory_crc = crc32c(0, e, h->section_count * sizeof(*e));
	h->header_crc = crc32c(0, h, offsetof(struct rsym_disk_header, header_crc));
}

/* A section of a later minor version changes nothing. */
static void test_unknown_section(void **state _unused_)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(1 << 20);
	struct rsym_disk_header *h;
	struct rsym_disk_entry *e;
	struct rsym t;

	write_sample(&out);
	h = (void *)out.p;
	e = (void *)(h + 1);
	e += SECTIONS - 1;
	assert_int_equal(e->id, RSYM_SECTION_SEGMENTS);
	e->id = 4711;
	h->flags &= ~(uint32_t)RSYM_HAS_SEGMENTS;
	seal(out.p);
	assert_int_equal(rsym_open(&t, out.p, out.len, NULL), 0);
	assert_int_equal(t.segment_count, 0);
	e[-1].id = 4712; /* but the files must be there */
	seal(out.p);
	assert_int_equal(rsym_open(&t, out.p, out.len, NULL), ERR_DATA);
}

/* Reads everything a table answers. */
static void use(const struct rsym *t)
{
	_cleanup_(rsym_reader_freep) struct rsym_reader *r = rsym_reader_new(t, 0, NULL);
	struct rsym_frame frames[RSYM_FRAMES_MAX];
	uint64_t a, b;

	assert_non_null(r);
	for (uint64_t vaddr = 0xff0; vaddr < 0x2020; vaddr += 4) {
		int n = rsym_lookup(t, vaddr, frames, ARRAY_LEN(frames));

		assert_in_range(n, 0, RSYM_FRAMES_MAX);
		rsym_range(t, vaddr, &a, &b);
		rsym_vaddr_of_file_off(t, vaddr, &a);
		for (int i = 0; i < n; i++) {
			struct rsym_function f;
			const uint8_t *text;
			size_t len;

			assert_int_equal(rsym_function(t, frames[i].function, &f, NULL), 0);
			assert_int_equal(rsym_reader_name(r, frames[i].function, &text, &len, NULL),
					 0);
			if (frames[i].file != RSYM_NONE)
				assert_int_equal(
					rsym_reader_file(r, frames[i].file, &text, &len, NULL), 0);
		}
	}
}

/*
 * Each byte in turn, in three ways: as it is, where a checksum or the header must notice; and with
 * checksums made good again, where the table must be refused or safe to use.
 */
static void test_damage(void **state _unused_)
{
	static const uint8_t masks[] = {0xff, 0x01, 0x80};
	_cleanup_(buf_done) struct buf out = BUF_INIT(1 << 20);
	size_t sections_end, noticed = 0, covered = HEADS_LEN;
	const struct rsym_disk_entry *e;

	write_sample(&out);
	e = (void *)(out.p + sizeof(struct rsym_disk_header));
	sections_end = e[SECTIONS - 1].off + e[SECTIONS - 1].len;
	for (size_t i = 0; i < SECTIONS; i++)
		covered += e[i].len;
	for (size_t i = 0; i < sections_end; i++) {
		for (size_t m = 0; m < ARRAY_LEN(masks); m++) {
			_cleanup_(freep) uint8_t *p = copy_of(&out);
			struct rsym_disk_header *h = (void *)p;
			struct rsym t;
			int rc;

			p[i] ^= masks[m];
			rc = rsym_open(&t, p, out.len, NULL);
			if (!rc)
				use(&t); /* a byte of padding between sections */
			noticed += rc != 0;
			if (h->section_count != SECTIONS || (i >= sizeof(*h) && i < HEADS_LEN))
				continue;
			seal(p);
			if (!rsym_open(&t, p, out.len, NULL))
				use(&t);
		}
	}
	assert_int_equal(noticed, covered * ARRAY_LEN(masks));
}

/* Directory entries with good checksums that point anywhere. */
static void test_damaged_directory(void **state _unused_)
{
	static const uint64_t values[] = {0, 1, 15, 16, 4096, 1 << 20, UINT32_MAX, UINT64_MAX};
	_cleanup_(buf_done) struct buf out = BUF_INIT(1 << 20);

	write_sample(&out);
	for (size_t s = 0; s < SECTIONS; s++) {
		for (size_t v = 0; v < 2 * ARRAY_LEN(values); v++) {
			_cleanup_(freep) uint8_t *p = copy_of(&out);
			struct rsym_disk_header *h = (void *)p;
			struct rsym_disk_entry *e = (void *)(h + 1);
			struct rsym t;

			if (v % 2)
				e[s].off = values[v / 2];
			else
				e[s].len = values[v / 2];
			if (e[s].off <= out.len && e[s].len <= out.len - e[s].off)
				e[s].crc = crc32c(0, p + e[s].off, e[s].len);
			h->directory_crc = crc32c(0, e, SECTIONS * sizeof(*e));
			h->header_crc = crc32c(0, h, offsetof(struct rsym_disk_header, header_crc));
			if (!rsym_open(&t, p, out.len, NULL))
				use(&t);
		}
	}
}

/* A chain deeper than the limit loses its middle. */
static void test_depth(void **state _unused_)
{
	_cleanup_(rsym_writer_freep) struct rsym_writer *w = rsym_writer_new(NULL);
	_cleanup_(buf_done) struct buf out = BUF_INIT(1 << 20), name = BUF_INIT(100);
	struct rsym_writer_info info = {0};
	struct rsym_frame frames[RSYM_FRAMES_MAX];
	uint32_t node = RSYM_NONE;
	struct rsym t;

	for (uint32_t i = 0; i < 2 * LIMIT_INLINE_DEPTH; i++) {
		char text[16];
		struct rsym_writer_function f = {.name = text, .file = RSYM_NONE};

		f.name_len = (size_t)snprintf(text, sizeof(text), "f%u", i);
		node = rsym_writer_node(w, node, rsym_writer_function(w, &f), RSYM_NONE, i);
	}
	rsym_writer_row(w, 1, node, RSYM_NONE, 5);
	assert_int_equal(rsym_writer_finish(w, &info, NULL, &out, NULL), 0);
	assert_int_equal(rsym_open(&t, out.p, out.len, NULL), 0);
	assert_int_equal(rsym_lookup(&t, 1, frames, ARRAY_LEN(frames)), RSYM_FRAMES_MAX);
	assert_int_equal(rsym_name(&t, frames[0].function, &name, NULL), 0);
	assert_string_equal(buf_cstr(&name), "f1023");
	buf_reset(&name);
	assert_int_equal(rsym_name(&t, frames[RSYM_FRAMES_MAX - 1].function, &name, NULL), 0);
	assert_string_equal(buf_cstr(&name), "f0");
	assert_int_equal(rsym_lookup(&t, UINT64_MAX - 1, frames, 1), 1);
	assert_int_equal(rsym_lookup(&t, UINT64_MAX, frames, 1), 0);
}

static void test_writer_errors(void **state _unused_)
{
	_cleanup_(rsym_writer_freep) struct rsym_writer *w = rsym_writer_new(NULL);
	_cleanup_(buf_done) struct buf small = BUF_INIT(2000), out = BUF_INIT(1 << 20);
	struct rsym_writer_info info = {0};
	struct rsym_writer_function f = {.name = "", .file = RSYM_NONE};
	uint32_t node = rsym_writer_node(w, RSYM_NONE, rsym_writer_function(w, &f), RSYM_NONE, 0);

	rsym_writer_row(w, 10, node, RSYM_NONE, 1);
	assert_int_equal(rsym_writer_finish(w, &info, NULL, &small, NULL), ERR_LIMIT);
	rsym_writer_row(w, 9, RSYM_NONE, RSYM_NONE, 0);
	assert_int_equal(rsym_writer_finish(w, &info, NULL, &out, NULL), ERR_INTERNAL);
}

/* Requests and files may have a section without a name, which then has no address either. */
static void test_code_sections(void **state _unused_)
{
	_cleanup_(rsym_writer_freep) struct rsym_writer *w = rsym_writer_new(NULL);
	struct rsym_code_section sections[] = {
		{.name = ".text", .name_len = 5, .vaddr = 0x100, .len = 0x10},
		{.name = NULL, .name_len = 0, .vaddr = 0x200, .len = 0x10},
	};
	_cleanup_(buf_done) struct buf out = BUF_INIT(MIB);
	const struct rsym_writer_info info = {.id = {.kind = BUILD_ID_GNU, .len = 4}};
	uint64_t vaddr;
	struct rsym t;

	rsym_writer_row(w, 0x100, RSYM_NONE, RSYM_NONE, 0);
	rsym_code_put(rsym_writer_optional(w, RSYM_SECTION_CODE), sections, 2);
	assert_int_equal(rsym_writer_finish(w, &info, NULL, &out, NULL), 0);
	assert_int_equal(rsym_open(&t, out.p, out.len, NULL), 0);
	assert_int_equal(rsym_vaddr_of_section(&t, ".text", 5, 8, &vaddr), 1);
	assert_int_equal(vaddr, 0x108);
	assert_int_equal(rsym_vaddr_of_section(&t, NULL, 0, 4, &vaddr), 1);
	assert_int_equal(vaddr, 0x204);
	assert_int_equal(rsym_vaddr_of_section(&t, ".tex", 4, 8, &vaddr), 0);
}

/* A table that is written is one that is read: what is too long is cut. */
static void test_long_texts(void **state _unused_)
{
	const size_t len = LIMIT_NAME_LEN + 10;
	_cleanup_(rsym_writer_freep) struct rsym_writer *w = rsym_writer_new(NULL);
	_cleanup_(buf_done) struct buf out = BUF_INIT(MIB), text = BUF_INIT(4 * MIB);
	_cleanup_(freep) char *name = malloc(len);
	const struct rsym_writer_info info = {.id = {.kind = BUILD_ID_GNU, .len = 4}};
	struct rsym_writer_function f = {.name = name, .name_len = len};
	struct rsym_frame frame;
	struct rsym t;

	memset(name, 'n', len);
	f.file = rsym_writer_file(w, name, len, name, len);
	rsym_writer_row(w, 0x100,
			rsym_writer_node(w, RSYM_NONE, rsym_writer_function(w, &f), RSYM_NONE, 0),
			f.file, 1);
	assert_int_equal(rsym_writer_finish(w, &info, NULL, &out, NULL), 0);
	assert_int_equal(rsym_open(&t, out.p, out.len, NULL), 0);
	assert_int_equal(rsym_lookup(&t, 0x100, &frame, 1), 1);
	assert_int_equal(rsym_name(&t, frame.function, &text, NULL), 0);
	assert_int_equal(text.len, LIMIT_NAME_LEN);
	buf_reset(&text);
	assert_int_equal(rsym_file(&t, frame.file, &text, NULL), 0);
	assert_int_equal(text.len, LIMIT_NAME_LEN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),    cmocka_unit_test(test_same_bytes),
		cmocka_unit_test(test_versions),      cmocka_unit_test(test_unknown_section),
		cmocka_unit_test(test_damage),        cmocka_unit_test(test_damaged_directory),
		cmocka_unit_test(test_depth),         cmocka_unit_test(test_writer_errors),
		cmocka_unit_test(test_code_sections), cmocka_unit_test(test_long_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
