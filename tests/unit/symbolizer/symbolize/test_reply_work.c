/* SPDX-License-Identifier: Apache-2.0 */
/* What a table can make a reply cost: one whose texts unpack to thousands of times their length
 * answers some locations, and the others are deferred. */
#define ZSTD_STATIC_LINKING_ONLY /* for the frame format without magic number */
#include <zstd.h>

#include "symbolize.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "crc32c.h"
#include "limits.h"
#include "reply_names.h"
#include "reply_texts.h"
#include "rsym_format.h"
#include "rsym_writer.h"

enum {
	STRINGS = 16, /* of a block: the first is short, the others are long */
	LONG = 60000,
	BLOCKS = LIMIT_REPLY_UNPACKED / ((STRINGS - 1) * LONG) + 20,
};

#define STATUS(name) RAWSTACK__V1__LOCATION_STATUS__LOCATION_STATUS_##name

static struct build_id id;

/* Function i stands at 16 * i; its name is a number, with a digit behind it if it is to be long. */
static size_t name_of(uint32_t i, char name[static 16])
{
	return (size_t)snprintf(name, 16, i % STRINGS ? "%06x%x" : "%06x", i / STRINGS,
				i % STRINGS);
}

/* With the row of its first address. */
static void write_function(struct rsym_writer *w, uint32_t i, const char *name, size_t name_len)
{
	const struct rsym_writer_function f = {.name = name,
					       .name_len = name_len,
					       .vaddr = 16 * (i + UINT64_C(1)),
					       .has_entry = true,
					       .from_symbol = true,
					       .file = RSYM_NONE};

	rsym_writer_row(w, f.vaddr,
			rsym_writer_node(w, RSYM_NONE, rsym_writer_function(w, &f), RSYM_NONE, 0),
			RSYM_NONE, 0);
}

static void write_table(struct buf *out)
{
	_cleanup_(rsym_writer_freep) struct rsym_writer *w = rsym_writer_new(NULL);
	const struct rsym_writer_info info = {.id = id, .flags = RSYM_HAS_SYMBOLS};

	for (uint32_t i = 0; i < BLOCKS * STRINGS; i++) {
		char name[16];

		write_function(w, i, name, name_of(i, name));
	}
	rsym_writer_row(w, 16 * (BLOCKS * STRINGS + UINT64_C(1)), RSYM_NONE, RSYM_NONE, 0);
	assert_int_equal(rsym_writer_finish(w, &info, NULL, out, NULL), 0);
}

/* The same names, the long ones with a tail. */
static void write_names(struct buf *out)
{
	_cleanup_(buf_done) struct buf raw = BUF_INIT(2 << 20), packed = BUF_INIT(1 << 20);
	ZSTD_CCtx *c = ZSTD_createCCtx();
	uint8_t zstd[4096];

	ZSTD_CCtx_setParameter(c, ZSTD_c_format, ZSTD_f_zstd1_magicless);
	ZSTD_CCtx_setParameter(c, ZSTD_c_contentSizeFlag, 0);
	ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, 1);
	buf_u32(out, BLOCKS * STRINGS);
	buf_u32(out, 0);
	buf_u32(out, 2 << 20);
	buf_u32(out, STRINGS | 32 << 8);
	for (uint32_t block = 0; block < BLOCKS; block++) {
		char name[16];
		size_t len;

		buf_reset(&raw);
		for (uint32_t i = 0; i < STRINGS; i++) {
			buf_uleb(&raw, i ? 6 : 0);
			buf_uleb(&raw, i ? 1 + LONG : 6);
		}
		for (uint32_t i = 0; i < STRINGS; i++) {
			len = name_of(block * STRINGS + i, name);
			buf_append(&raw, i ? name + 6 : name, i ? len - 6 : len);
			if (i)
				memset(buf_extend(&raw, LONG), 'x', LONG);
		}
		len = ZSTD_compress2(c, zstd, sizeof(zstd), raw.p, raw.len);
		assert_false(ZSTD_isError(len));
		buf_append(&packed, zstd, len);
		buf_u32(out, (uint32_t)packed.len);
	}
	assert_true(buf_append(out, packed.p, packed.len));
	ZSTD_freeCCtx(c);
}

/* The names of a table replaced, with checksums made good. */
static void swap_names(struct buf *table)
{
	_cleanup_(buf_done) struct buf names = BUF_INIT(1 << 20);
	struct rsym_disk_header h;
	struct rsym_disk_entry e;
	uint8_t *at;

	write_names(&names);
	memcpy(&h, table->p, sizeof(h));
	buf_align(table, RSYM_ALIGN);
	at = table->p + sizeof(h) + (RSYM_SECTION_NAMES - 1) * sizeof(e);
	memcpy(&e, at, sizeof(e));
	assert_int_equal(e.id, RSYM_SECTION_NAMES);
	e.off = table->len;
	e.len = names.len;
	e.crc = crc32c(0, names.p, names.len);
	memcpy(at, &e, sizeof(e));
	buf_append(table, names.p, names.len);
	memset(buf_extend(table, 4096), 0, 4096);
	h.file_len = table->len;
	h.directory_crc = crc32c(0, table->p + sizeof(h), h.section_count * sizeof(e));
	h.header_crc = crc32c(0, &h, offsetof(struct rsym_disk_header, header_crc));
	memcpy(table->p, &h, sizeof(h));
}

/* The short names of the blocks from `first` on: how many locations were deferred. */
static uint64_t ask(struct store *store, struct tables *tables, uint32_t first)
{
	Rawstack__V1__StackBatch batch = RAWSTACK__V1__STACK_BATCH__INIT;
	Rawstack__V1__Locations l = RAWSTACK__V1__LOCATIONS__INIT;
	Rawstack__V1__Module module = RAWSTACK__V1__MODULE__INIT, *modules = &module;
	static Rawstack__V1__LocationKind kind[BLOCKS];
	static uint32_t of_module[BLOCKS];
	static uint64_t address[BLOCKS];
	const struct symbolize_env env = {.store = store, .tables = tables, .now_ns = 5};
	const Rawstack__V1__SymbolizedBatch *reply;
	struct symbolize *s;
	struct err err;
	uint64_t deferred;
	size_t count = BLOCKS - first;

	for (size_t i = 0; i < count; i++) {
		kind[i] = RAWSTACK__V1__LOCATION_KIND__LOCATION_KIND_VADDR;
		address[i] = 16 * ((first + i) * STRINGS + 1);
	}
	module.build_id = (ProtobufCBinaryData){id.len, id.bytes};
	batch.modules = &modules;
	batch.n_modules = 1;
	batch.locations = &l;
	l.kind = kind;
	l.module = of_module;
	l.address = address;
	l.n_kind = l.n_module = l.n_address = count;
	s = symbolize_new(false, &err);
	assert_non_null(s);
	if (symbolize_run(s, &env, &batch, &err))
		fail_msg("%s", err.message);
	reply = symbolize_reply(s);
	deferred = reply->deferred;
	for (size_t i = 0; i < count; i++) {
		char name[16];
		const ProtobufCBinaryData *found;

		if (i >= count - deferred) {
			assert_int_equal(reply->status[i], STATUS(DEFERRED));
			continue;
		}
		assert_int_equal(reply->status[i], STATUS(SYMBOL_ONLY));
		found = &reply->strings[reply->functions->name[reply->frame_function[i]]];
		assert_int_equal(found->len, name_of((first + (uint32_t)i) * STRINGS, name));
		assert_memory_equal(found->data, name, found->len);
	}
	symbolize_free(s);
	return deferred;
}

static void test_inflated_names(void **state _unused_)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(64 << 20);
	struct store_binary b = {.status = STORE_READY, .changed_ns = 1};
	struct tables *tables;
	struct store *store;
	uint64_t deferred;
	struct rsym t;
	struct err err;
	struct kv *kv;

	assert_int_equal(build_id_parse(&id, "aabbccdd", &err), 0);
	write_table(&out);
	swap_names(&out);
	/* It is as good a table as any. */
	if (rsym_open(&t, out.p, out.len, &err))
		fail_msg("%s", err.message);
	b.id = id;
	b.table_len = out.len;
	tables = tables_new(&err);
	assert_int_equal(store_kv_open_memory(&kv, 64 << 20, &err), 0);
	assert_int_equal(store_open(&store, kv, 64 << 20, RSYM_MAJOR, &err), 0);
	assert_int_equal(store_put(store, &b, out.p, &err), 0);
	deferred = ask(store, tables, 0);
	assert_in_range(deferred, 1, BLOCKS - 1);
	/* Whoever asks for the rest gets on, and few names cost nobody anything. */
	assert_true(ask(store, tables, BLOCKS - (uint32_t)deferred) < deferred);
	assert_int_equal(ask(store, tables, BLOCKS - 200), 0);
	tables_free(tables);
	store_close(store);
}

enum {
	NAMES = 400
};

/* A table as a client builds it, without texts for people. */
static void open_plain(struct rsym *t, struct buf *out)
{
	_cleanup_(rsym_writer_freep) struct rsym_writer *w = rsym_writer_new(NULL);
	const struct rsym_writer_info info = {.id = id, .flags = RSYM_HAS_SYMBOLS};
	struct err err;

	for (uint32_t i = 0; i < NAMES; i++) {
		char name[32];

		write_function(w, i, name,
			       (size_t)snprintf(name, sizeof(name), "_Z5f%04ui", 1000 + i));
	}
	assert_int_equal(rsym_writer_finish(w, &info, NULL, out, NULL), 0);
	if (rsym_open(t, out->p, out->len, &err))
		fail_msg("%s", err.message);
}

static bool fetch_all(struct reply_texts *x)
{
	struct name_ask *asks = reply_texts_asks(x, NAMES);

	assert_non_null(asks);
	for (uint32_t i = 0; i < NAMES; i++)
		asks[i].id = i;
	buf_reset(&x->bytes);
	x->is_spent = false;
	return reply_texts_fetch(x, NAME_FULL, NAMES);
}

/* When the time of a reply is spent its names end, and whoever asks again gets on. */
static void test_time(void **state _unused_)
{
	_cleanup_(reply_texts_done) struct reply_texts x;
	_cleanup_(buf_done) struct buf out = BUF_INIT(64 << 20);
	struct name_cache *cache = name_cache_new(MIB, NULL);
	size_t rounds = 0;
	struct rsym t;

	assert_non_null(cache);
	open_plain(&t, &out);
	reply_texts_init(&x);
	x.bytes.max = MIB;
	x.unpack_left = LIMIT_REPLY_UNPACKED;
	reply_texts_table(&x, 1, &t);
	x.time_left_ns = 0;
	assert_false(fetch_all(&x));
	assert_true(x.is_spent);
	/* Each look at the clock takes this time. */
	x.cache = cache;
	do
		x.time_left_ns = 1;
	while (!fetch_all(&x) && ++rounds <= NAMES);
	assert_in_range(rounds, 1, NAMES);
	assert_false(x.is_spent);
	for (uint32_t i = 0; i < NAMES; i++) {
		char text[32];

		assert_int_equal(x.asks[i].len,
				 snprintf(text, sizeof(text), "f%04u(int)", 1000 + i));
		assert_memory_equal(x.bytes.p + x.asks[i].off, text, x.asks[i].len);
	}
	/* What is known takes no time. */
	x.time_left_ns = 0;
	assert_true(fetch_all(&x));
	name_cache_free(cache);
}

static bool is_gone(void *arg)
{
	++*(size_t *)arg;
	return true;
}

/* Who has gone costs no more than the names between two looks at the clock. */
static void test_cancelled(void **state _unused_)
{
	_cleanup_(reply_texts_done) struct reply_texts x;
	_cleanup_(buf_done) struct buf out = BUF_INIT(64 << 20);
	size_t looks = 0, made = 0;
	struct name_ask *asks;
	struct rsym t;

	open_plain(&t, &out);
	reply_texts_init(&x);
	x.bytes.max = MIB;
	x.unpack_left = LIMIT_REPLY_UNPACKED;
	x.time_left_ns = UINT64_MAX;
	x.cancelled = is_gone;
	x.cancelled_arg = &looks;
	reply_texts_table(&x, 1, &t);
	asks = reply_texts_asks(&x, NAMES);
	assert_non_null(asks);
	memset(asks, 0, NAMES * sizeof(*asks));
	assert_false(fetch_all(&x));
	assert_true(x.is_spent);
	assert_int_equal(looks, 1);
	for (uint32_t i = 0; i < NAMES; i++)
		made += x.asks[i].len != 0;
	assert_in_range(made, 1, NAMES / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_inflated_names),
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_cancelled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
