/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every sector of every page of a small store zeroed, or garbled: looking at it ends, and either
 * says what is damaged or the store opens and can be read whole; and all that does not lie in that
 * sector is salvaged.
 */
#include "store_fixture.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "io.h"
#include "store_check.h"
#include "store_pages_priv.h"
#include "store_salvage.h"

enum {
	IDS = 110,
	SECTOR = 512,
	META = 60,
	SECONDS = 60, /* for what takes milliseconds */
};

/* No power is cut here, and hundreds of stores are made. */
int skip_fdatasync(int fd) __asm__("fdatasync");
int skip_fsync(int fd) __asm__("fsync");

__attribute__((visibility("default"))) int skip_fdatasync(int fd _unused_)
{
	return 0;
}

__attribute__((visibility("default"))) int skip_fsync(int fd _unused_)
{
	return 0;
}

static uint8_t table[5000];
static uint8_t *file;
static uint64_t file_len;
static size_t page_len;
static struct store_pages *pages; /* of the sound file */
static size_t damaged_count, lost_count;

static size_t table_len(uint32_t n)
{
	return 4100 + n % 3 * 100;
}

static void fill_table(uint32_t n)
{
	for (size_t i = 0; i < table_len(n); i++)
		table[i] = (uint8_t)(n * 31 + i * 7 + (i >> 8));
}

static void put(struct store *s, uint32_t n)
{
	uint8_t meta[META];
	struct store_binary b = {.id = id_of(n),
				 .status = STORE_READY,
				 .table_len = table_len(n),
				 .changed_ns = n + 1,
				 .meta = meta,
				 .meta_len = sizeof(meta)};
	struct err err;

	memset(meta, (int)n, sizeof(meta));
	fill_table(n);
	if (store_put(s, &b, table, &err))
		fail_msg("%s", err.message);
}

/* All kinds of pages: branches and leaves of two trees, long values, lists of free pages. */
static void make(void)
{
	struct store_missing missing = {.id = id_of(9999), .weight = 7, .last_ns = 5};
	struct store *s;
	struct err err;

	unlink("store.mdb");
	unlink("store.mdb-lock");
	s = open_budget(&lmdb, BUDGET);
	for (uint32_t n = 0; n < IDS + 10; n++)
		put(s, n);
	for (uint32_t n = IDS; n < IDS + 10; n++) {
		const struct build_id id = id_of(n);

		assert_int_equal(store_purge(s, &id, &err), 1);
	}
	assert_int_equal(store_note_missing(s, (struct kv_bytes){"b", 1}, &missing, 1, &err), 0);
	assert_int_equal(store_meta_put(s, STORE_VERSION_NAME, STORE_VERSION, &err), 0);
	store_close(s);
	assert_int_equal(io_read_file("store.mdb", 64 << 20, &file, &file_len, &err), 0);
	page_len = (size_t)sysconf(_SC_PAGESIZE);
}

static void write_file(const char *path)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(file, 1, file_len, f), file_len);
	assert_int_equal(fclose(f), 0);
}

static void tell(void *ctx _unused_, const struct build_id *id _unused_, const char *what _unused_)
{
}

/* As the service and `verify` do it: 0 sound, 1 damaged and told in a line, 2 something else. */
static int look(void)
{
	struct store_read *r;
	struct store *s = NULL;
	struct kv *kv;
	size_t found;
	struct err err = {0};
	int rc;

	alarm(SECONDS);
	rc = store_check("damaged", &err);
	if (rc)
		return rc == ERR_DATA && strstr(err.message, "rawstack admin salvage") ? 1 : 2;
	if (store_kv_open_lmdb(&kv, "damaged", BUDGET, 0, &err) ||
	    store_open(&s, kv, BUDGET, FORMAT, &err) || store_verify(s, tell, NULL, &found, &err) ||
	    store_read_begin(s, &r, &err)) {
		fprintf(stderr, "%s\n", err.message);
		return 2;
	}
	store_read_end(r);
	store_close(s);
	return 0;
}

static bool describe(void *ctx _unused_, const struct build_id *id _unused_,
		     struct kv_bytes value _unused_, struct store_binary *ret _unused_)
{
	return false;
}

static void on_lost(void *ctx, const struct build_id *id _unused_)
{
	++*(size_t *)ctx;
}

/* Whether the sector has a part of the record of an id, or of its table. */
static bool is_hit(uint32_t n, size_t sector)
{
	const struct build_id id = id_of(n);
	size_t page = sector * SECTOR / page_len, from = sector * SECTOR % page_len;
	const uint8_t *p = file + page * page_len, *at;
	size_t first = page;

	for (at = p; (at = memmem(at, (size_t)(p + page_len - at), id.bytes, id.len)); at++) {
		struct store_node node;
		size_t off = (size_t)(at - p) - NODE_HEADER_LEN;

		if (at >= p + NODE_HEADER_LEN && store_page_node_at(pages, p, off, true, &node) &&
		    off < from + SECTOR && node.end > from)
			return true;
	}
	/* The page where a long value begins is one or two before. */
	for (; first + 1 >= page && first > 1; first--) {
		const uint8_t *value = file + first * page_len + PAGE_HEADER_LEN;

		fill_table(n);
		if (store_page_flags(value - PAGE_HEADER_LEN) == PAGE_OVERFLOW &&
		    first * page_len + PAGE_HEADER_LEN + table_len(n) <= file_len &&
		    !memcmp(value, table, table_len(n)))
			return sector * SECTOR < first * page_len + PAGE_HEADER_LEN + table_len(n);
	}
	return false;
}

static void check_salvaged(size_t sector, const char *how)
{
	const struct store_salvage_use use = {&lost_count, describe, on_lost};
	struct store_salvaged found;
	struct store_read *r;
	struct store *s;
	struct kv *kv;
	struct err err;

	unlink("salvaged/store.mdb");
	unlink("salvaged/store.mdb-lock");
	if (store_salvage("damaged/store.mdb", "salvaged", FORMAT, &use, &found, &err))
		fail_msg("sector %zu %s: %s", sector, how, err.message);
	if (store_check("salvaged", &err) || store_kv_open_lmdb(&kv, "salvaged", BUDGET, 0, &err) ||
	    store_open(&s, kv, BUDGET, FORMAT, &err) || store_read_begin(s, &r, &err))
		fail_msg("sector %zu %s: %s", sector, how, err.message);
	for (uint32_t n = 0; n < IDS; n++) {
		const struct build_id id = id_of(n);
		struct store_binary b;
		struct store_table t;

		if (store_binary(r, &id, &b, &err) == 1 && b.status == STORE_READY &&
		    b.meta_len == META && store_table(r, &id, &t, &err) == 1) {
			fill_table(n);
			assert_int_equal(t.len, table_len(n));
			assert_memory_equal(t.p, table, t.len);
		} else if (!is_hit(n, sector)) {
			fail_msg("sector %zu of page %zu %s: %u is lost",
				 sector * SECTOR % page_len / SECTOR, sector * SECTOR / page_len,
				 how, n);
		}
	}
	store_read_end(r);
	store_close(s);
}

static void check_sector(size_t sector, bool zero)
{
	uint8_t saved[SECTOR], *at = file + sector * SECTOR;
	const char *how = zero ? "zeroed" : "garbled";
	bool same = true;
	int status;
	pid_t pid;

	memcpy(saved, at, SECTOR);
	for (size_t i = 0; i < SECTOR; i++) {
		at[i] = zero ? 0 : (uint8_t)(at[i] ^ (0x55 + i * 13));
		same = same && at[i] == saved[i];
	}
	if (!same) {
		write_file("damaged/store.mdb");
		unlink("damaged/store.mdb-lock");
		pid = fork();
		assert_int_not_equal(pid, -1);
		if (pid == 0)
			_exit(look());
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (!WIFEXITED(status) || WEXITSTATUS(status) > 1)
			fail_msg("sector %zu of page %zu %s: ends with status %x", sector % 8,
				 sector * SECTOR / page_len, how, (unsigned int)status);
		damaged_count += WEXITSTATUS(status) == 1;
	}
	memcpy(at, saved, SECTOR);
	if (!same)
		check_salvaged(sector, how);
}

static void test_sectors(void **state _unused_)
{
	struct err err;
	FILE *f;

	make();
	if (store_check(".", &err))
		fail_msg("%s", err.message);
	mkdir("damaged", 0700);
	mkdir("salvaged", 0700);
	f = fopen("store.mdb", "r");
	assert_non_null(f);
	assert_int_equal(store_pages_open(&pages, fileno(f), "store.mdb", &err), 0);
	for (size_t i = 0; i < file_len / SECTOR; i++) {
		size_t page = i * SECTOR / page_len, in_page = i % (page_len / SECTOR);
		uint16_t flags = store_page_flags(file + page * page_len);

		/* Of long values and of pages that are free some will do. */
		if ((flags & PAGE_OVERFLOW || file[page * page_len + 8]) &&
		    (page % 16 || in_page % 3))
			continue;
		check_sector(i, in_page % 2 == 0 || i % 3 == 0);
	}
	print_message("%zu damages told\n", damaged_count);
	assert_true(damaged_count > 30);
	store_pages_close(pages);
	fclose(f);
	free(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_sectors)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
