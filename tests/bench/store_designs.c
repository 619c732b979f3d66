/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_designs [--budget MIB] [--pushes N] [--pinned PERCENT] [--seed N] [--touches N]:
 * three ways to keep tables within a budget, under the same pushes, uses and pins, in the current
 * folder:
 *
 *	lmdb    the store as it is: each table one value, what goes lies side by side
 *	pieces  each table in values of 256 KiB, the least recently used go; a reader needs a copy
 *	files   each table a file of its own (written, synced, renamed, its folder synced) and a
 *	        record in LMDB; the least recently used go, unlinked after the commit
 *
 * The lengths of tables are those of real ones. Prints a row of Markdown for each. Times are those
 * of a disk and include its syncs.
 */
#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base.h"
#include "store.h"

enum {
	IDS_MAX = 20000,
	PIECE = 64 * 4096 - 16, /* fills its pages: a long value has a head of 16 bytes */
	PIECES_MAX = 1024,
	USES = 8, /* between two pushes */
	ROUNDS = 8,
	READS = 6, /* places of a table that one request looks at */
};

/* KiB of tables made of Debian 12's debug files (libc6, libgsl, python3.11, valgrind, openjdk-17,
 * linux 6.1).
 */
static const uint32_t lengths_kib[] = {
	83,  87,  97,  101, 119, 298, 301, 305,  321,  328,  360,  376,  403,
	419, 426, 432, 446, 486, 560, 998, 1049, 1054, 3249, 4582, 7095, 7095,
};

static uint8_t content[64 << 20];

struct table {
	uint64_t len, used;
	bool is_live, is_pinned;
};

struct bench {
	uint64_t budget, live, driven, pushed, worst_driven, worst_len;
	uint32_t count, failed, pushes;
	struct table tables[IDS_MAX];
	/* lmdb */
	struct store *store;
	/* pieces, files */
	MDB_env *env;
	MDB_dbi dbi;
	size_t piece_offset; /* of a piece's bytes in their first page */
	int dir;
};

struct design {
	const char *name;
	void (*open)(struct bench *b);
	/* 0, or -1 when it does not fit. */
	int (*put)(struct bench *b, uint32_t n, bool pinned);
	uint64_t (*touch)(struct bench *b, uint32_t n); /* a checksum, so that it is not left out */
	void (*close)(struct bench *b);
};

static uint64_t seed;

static uint32_t draw(uint32_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)((seed >> 11) % below);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

__attribute__((noreturn)) static void fail(const char *what, const char *why)
{
	fprintf(stderr, "store_designs: %s: %s\n", what, why);
	exit(1);
}

static void check_lmdb(int rc, const char *what)
{
	if (rc)
		fail(what, mdb_strerror(rc));
}

static uint64_t sum_places(const uint8_t *p, uint64_t len)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < READS; i++)
		sum += p[len / READS * i];
	return sum;
}

/* --- lmdb ------------------------------------------------------------------------------------ */

static struct build_id id_of(uint32_t n)
{
	const uint8_t bytes[20] = {(uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n};
	struct build_id id;

	if (build_id_set(&id, BUILD_ID_GNU, bytes, sizeof(bytes), NULL))
		abort();
	return id;
}

static void lmdb_open(struct bench *b)
{
	struct err err;
	struct kv *kv;

	if (store_kv_open_lmdb(&kv, ".", b->budget, 0, &err) ||
	    store_open(&b->store, kv, b->budget, 1, &err))
		fail("open", err.message);
}

static int lmdb_put(struct bench *b, uint32_t n, bool pinned)
{
	struct store_binary binary = {.id = id_of(n),
				      .status = STORE_READY,
				      .pinned = pinned,
				      .changed_ns = b->tables[n].used,
				      .table_len = b->tables[n].len,
				      .meta = "m",
				      .meta_len = 1};
	struct store_stat stat;
	struct err err;
	int rc;

	for (uint32_t i = 0; i < n; i++) {
		const struct build_id id = id_of(i);

		store_note_used(b->store, &id, b->tables[i].used);
	}
	rc = store_put(b->store, &binary, content, &err);
	if (rc && rc != ERR_LIMIT)
		fail("put", err.message);
	if (rc)
		fprintf(stderr, "%u of %llu bytes: %s\n", n, (unsigned long long)b->tables[n].len,
			err.message);
	store_stat(b->store, &stat);
	b->live = stat.table_bytes;
	return rc ? -1 : 0;
}

static uint64_t lmdb_touch(struct bench *b, uint32_t n)
{
	const struct build_id id = id_of(n);
	struct store_table t;
	struct store_read *r;
	uint64_t sum = 0;
	struct err err;

	if (store_read_begin(b->store, &r, &err))
		fail("read", err.message);
	if (store_table(r, &id, &t, &err) == 1)
		sum = sum_places(t.p, t.len);
	store_read_end(r);
	return sum;
}

static void lmdb_close(struct bench *b)
{
	store_close(b->store);
}

/* --- what the others share ------------------------------------------------------------------- */

static void env_open(struct bench *b, uint64_t max)
{
	MDB_txn *txn;

	check_lmdb(mdb_env_create(&b->env), "env");
	check_lmdb(mdb_env_set_mapsize(b->env, max), "mapsize");
	check_lmdb(mdb_env_open(b->env, "env.mdb", MDB_NOSUBDIR | MDB_NOTLS | MDB_NORDAHEAD, 0600),
		   "open");
	check_lmdb(mdb_txn_begin(b->env, NULL, 0, &txn), "begin");
	check_lmdb(mdb_dbi_open(txn, NULL, 0, &b->dbi), "dbi");
	check_lmdb(mdb_txn_commit(txn), "commit");
}

static void env_close(struct bench *b)
{
	mdb_env_close(b->env);
}

/* Of those that may go the one that was used longest ago; IDS_MAX: none. */
static uint32_t find_oldest(const struct bench *b)
{
	uint32_t oldest = IDS_MAX;

	for (uint32_t i = 0; i < b->count; i++)
		if (b->tables[i].is_live && !b->tables[i].is_pinned &&
		    (oldest == IDS_MAX || b->tables[i].used < b->tables[oldest].used))
			oldest = i;
	return oldest;
}

/* --- pieces ---------------------------------------------------------------------------------- */

static void pieces_open(struct bench *b)
{
	env_open(b, b->budget);
}

struct piece_key {
	uint8_t bytes[6];
};

static struct piece_key key_of(uint32_t n, uint64_t piece)
{
	return (struct piece_key){{(uint8_t)(n >> 24), (uint8_t)(n >> 16), (uint8_t)(n >> 8),
				   (uint8_t)n, (uint8_t)(piece >> 8), (uint8_t)piece}};
}

static int write_pieces(struct bench *b, uint32_t n)
{
	uint64_t len = b->tables[n].len;
	MDB_txn *txn;
	int rc;

	check_lmdb(mdb_txn_begin(b->env, NULL, 0, &txn), "begin");
	for (uint64_t at = 0, i = 0; at < len; at += PIECE, i++) {
		struct piece_key key = key_of(n, i);
		MDB_val k = {sizeof(key), &key};
		MDB_val v = {len - at < PIECE ? len - at : PIECE, content + at};

		rc = mdb_put(txn, b->dbi, &k, &v, 0);
		if (rc) {
			mdb_txn_abort(txn);
			return rc;
		}
	}
	return mdb_txn_commit(txn);
}

/* One commit more, so that what was freed can be used. */
static void tick_env(struct bench *b)
{
	uint64_t number = now_ns();
	char name[] = "tick";
	MDB_val k = {sizeof(name), name}, v = {sizeof(number), &number};
	MDB_txn *txn;

	check_lmdb(mdb_txn_begin(b->env, NULL, 0, &txn), "begin");
	check_lmdb(mdb_put(txn, b->dbi, &k, &v, 0), "tick");
	check_lmdb(mdb_txn_commit(txn), "commit");
}

static bool drop_pieces(struct bench *b, uint64_t needed)
{
	uint64_t freed = 0;
	MDB_txn *txn;

	check_lmdb(mdb_txn_begin(b->env, NULL, 0, &txn), "begin");
	while (freed < needed) {
		uint32_t n = find_oldest(b);

		if (n == IDS_MAX)
			break;
		for (uint64_t at = 0, i = 0; at < b->tables[n].len; at += PIECE, i++) {
			struct piece_key key = key_of(n, i);
			MDB_val k = {sizeof(key), &key};

			check_lmdb(mdb_del(txn, b->dbi, &k, NULL), "del");
		}
		b->tables[n].is_live = false;
		b->live -= b->tables[n].len;
		freed += b->tables[n].len;
	}
	check_lmdb(mdb_txn_commit(txn), "commit");
	tick_env(b);
	return freed > 0;
}

static int pieces_put(struct bench *b, uint32_t n, bool pinned)
{
	uint64_t needed = b->tables[n].len;
	int rc = write_pieces(b, n);

	/* What is free may do already, with a little more: pieces lie anywhere. */
	if (rc == MDB_MAP_FULL && b->live + needed > b->budget)
		needed = b->live + needed - b->budget;
	for (int i = 0; rc == MDB_MAP_FULL && i < ROUNDS && drop_pieces(b, needed); i++) {
		needed = PIECE << i;
		rc = write_pieces(b, n);
	}
	if (rc == MDB_MAP_FULL)
		return -1;
	check_lmdb(rc, "put");
	b->tables[n].is_live = true;
	b->tables[n].is_pinned = pinned;
	b->live += b->tables[n].len;
	return 0;
}

static uint64_t pieces_touch(struct bench *b, uint32_t n)
{
	uint64_t len = b->tables[n].len, sum;
	uint8_t *copy = malloc(len);
	MDB_txn *txn;

	if (!copy)
		fail("copy", "out of memory");
	check_lmdb(mdb_txn_begin(b->env, NULL, MDB_RDONLY, &txn), "begin");
	for (uint64_t at = 0, i = 0; at < len; at += PIECE, i++) {
		struct piece_key key = key_of(n, i);
		MDB_val k = {sizeof(key), &key}, v;

		check_lmdb(mdb_get(txn, b->dbi, &k, &v), "get");
		b->piece_offset = (uintptr_t)v.mv_data % (size_t)sysconf(_SC_PAGESIZE);
		memcpy(copy + at, v.mv_data, v.mv_size);
	}
	mdb_txn_abort(txn);
	sum = sum_places(copy, len);
	free(copy);
	return sum;
}

/* --- files ----------------------------------------------------------------------------------- */

static void files_open(struct bench *b)
{
	env_open(b, 16 << 20);
	(void)mkdir("tables", 0700);
	b->dir = open("tables", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (b->dir < 0)
		fail("tables", strerror(errno));
}

static void write_record(struct bench *b, uint32_t n, const uint32_t *gone, size_t count)
{
	uint8_t record[100] = {1};
	MDB_val k = {sizeof(n), &n}, v = {sizeof(record), record};
	MDB_txn *txn;

	check_lmdb(mdb_txn_begin(b->env, NULL, 0, &txn), "begin");
	check_lmdb(mdb_put(txn, b->dbi, &k, &v, 0), "record");
	for (size_t i = 0; i < count; i++) {
		uint32_t victim = gone[i];
		MDB_val key = {sizeof(victim), &victim};

		check_lmdb(mdb_put(txn, b->dbi, &key, &v, 0), "record");
	}
	check_lmdb(mdb_txn_commit(txn), "commit");
}

static int files_put(struct bench *b, uint32_t n, bool pinned)
{
	uint64_t len = b->tables[n].len, pinned_bytes = 0;
	static uint32_t gone[IDS_MAX];
	size_t count = 0;
	char name[32];
	int fd;

	for (uint32_t i = 0; i < b->count; i++)
		if (b->tables[i].is_live && b->tables[i].is_pinned)
			pinned_bytes += b->tables[i].len;
	if (pinned_bytes + len > b->budget)
		return -1;
	while (b->live + len > b->budget) {
		uint32_t victim = find_oldest(b);

		gone[count++] = victim;
		b->tables[victim].is_live = false;
		b->live -= b->tables[victim].len;
	}
	fd = openat(b->dir, "new", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	for (uint64_t at = 0; at < len;) {
		ssize_t done = write(fd, content + at, len - at);

		if (done <= 0)
			fail("write", strerror(errno));
		at += (uint64_t)done;
	}
	snprintf(name, sizeof(name), "%u", n);
	if (fdatasync(fd) || close(fd) || renameat(b->dir, "new", b->dir, name) || fsync(b->dir))
		fail("file", strerror(errno));
	write_record(b, n, gone, count);
	for (size_t i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "%u", gone[i]);
		if (unlinkat(b->dir, name, 0))
			fail("unlink", strerror(errno));
	}
	b->tables[n].is_live = true;
	b->tables[n].is_pinned = pinned;
	b->live += len;
	return 0;
}

static uint64_t files_touch(struct bench *b, uint32_t n)
{
	char name[32];
	struct stat st;
	uint64_t sum;
	void *map;
	int fd;

	snprintf(name, sizeof(name), "%u", n);
	fd = openat(b->dir, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		fail(name, strerror(errno));
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		fail(name, strerror(errno));
	sum = sum_places(map, (uint64_t)st.st_size);
	munmap(map, (size_t)st.st_size);
	close(fd);
	return sum;
}

static void files_close(struct bench *b)
{
	close(b->dir);
	env_close(b);
}

/* --- the same for all ------------------------------------------------------------------------ */

static const struct design designs[] = {
	{"lmdb", lmdb_open, lmdb_put, lmdb_touch, lmdb_close},
	{"pieces", pieces_open, pieces_put, pieces_touch, env_close},
	{"files", files_open, files_put, files_touch, files_close},
};

static int by_time(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t touch_all(const struct design *d, struct bench *b, uint32_t touches,
			  uint64_t *ret_sum)
{
	uint64_t *ns = calloc(touches, sizeof(*ns)), median;
	uint32_t count = 0;

	for (uint32_t n = b->count; n-- && count < touches;) {
		uint64_t from = now_ns(), sum;

		if (d->put != lmdb_put && !b->tables[n].is_live)
			continue;
		sum = d->touch(b, n);
		*ret_sum += sum;
		if (sum)
			ns[count++] = now_ns() - from;
	}
	qsort(ns, count, sizeof(*ns), by_time);
	median = count ? ns[count / 2] : 0;
	free(ns);
	return median;
}

static void measure(const struct design *d, struct bench *b, uint32_t pinned_percent,
		    uint32_t touches)
{
	uint64_t *ns = calloc(b->pushes, sizeof(*ns)), pinned = 0, used = 0, sum = 0;
	uint64_t first, second;
	double full = 0;
	uint32_t full_count = 0;

	d->open(b);
	for (uint32_t n = 0; n < b->pushes; n++) {
		uint64_t before = b->live, from, gone;
		struct table *t = &b->tables[n];
		bool pin;
		int rc;

		t->len = (uint64_t)lengths_kib[draw(ARRAY_LEN(lengths_kib))] * 1024 - draw(1024);
		b->count = n + 1;
		t->used = ++used;
		pin = draw(8) == 0 && pinned + t->len <= b->budget / 100 * pinned_percent;
		content[0] = 1; /* so that a sum says that there is a table */
		from = now_ns();
		rc = d->put(b, n, pin);
		ns[n] = now_ns() - from;
		if (rc)
			b->failed++;
		else
			pinned += pin ? t->len : 0;
		/* Half of the uses are of what came lately. */
		for (uint32_t i = 0; i < USES; i++) {
			uint32_t back = draw(i % 2 || n < 20 ? n + 1 : 20);

			b->tables[n - back].used = ++used;
		}
		gone = before + (rc ? 0 : t->len) - b->live;
		if (!gone && !rc && b->driven == 0)
			continue; /* it is not full yet */
		b->pushed += t->len;
		b->driven += gone;
		if (gone > b->worst_driven) {
			b->worst_driven = gone;
			b->worst_len = t->len;
		}
		full += (double)b->live / (double)b->budget;
		full_count++;
	}
	qsort(ns, b->pushes, sizeof(*ns), by_time);
	first = touch_all(d, b, touches, &sum);
	second = touch_all(d, b, touches, &sum);
	printf("| %s | %.2f | %.1f for %.1f | %.0f %% | %u | %.1f / %.0f / %.0f | %.1f | "
	       "%.1f |\n",
	       d->name, (double)b->driven / (double)(b->pushed ? b->pushed : 1),
	       (double)b->worst_driven / 1e6, (double)b->worst_len / 1e6,
	       full_count ? 100 * full / full_count : 0, b->failed, (double)ns[b->pushes / 2] / 1e6,
	       (double)ns[b->pushes - 1 - b->pushes / 100] / 1e6, (double)ns[b->pushes - 1] / 1e6,
	       (double)first / 1e3, (double)second / 1e3);
	fflush(stdout);
	d->close(b);
	free(ns);
}

int main(int argc, char **argv)
{
	uint64_t budget = 128, pushes = 1000, pinned = 25, touches = 200, start = 1;
	size_t piece_offset = 0;

	for (int i = 1; i + 1 < argc; i += 2) {
		uint64_t n = strtoull(argv[i + 1], NULL, 10);

		*(!strcmp(argv[i], "--budget")    ? &budget
		  : !strcmp(argv[i], "--pushes")  ? &pushes
		  : !strcmp(argv[i], "--pinned")  ? &pinned
		  : !strcmp(argv[i], "--touches") ? &touches
						  : &start) = n;
	}
	if (argc % 2 == 0 || !pushes || pushes > IDS_MAX || !start || !budget)
		fail("usage", "see the head of tests/bench/store_designs.c");
	memset(content, 1, sizeof(content));
	printf("%llu MiB, %llu pushes, up to %llu %% pinned, seed %llu\n\n"
	       "| design | driven out / pushed | most, MB | full | failed | push p50 / "
	       "p99 / max ms | "
	       "first touch us | again us |\n|---|---|---|---|---|---|---|---|\n",
	       (unsigned long long)budget, (unsigned long long)pushes, (unsigned long long)pinned,
	       (unsigned long long)start);
	for (size_t i = 0; i < ARRAY_LEN(designs); i++) {
		static struct bench b;

		memset(&b, 0, sizeof(b));
		b.budget = budget << 20;
		b.pushes = (uint32_t)pushes;
		seed = start;
		measure(&designs[i], &b, (uint32_t)pinned, (uint32_t)touches);
		if (b.piece_offset)
			piece_offset = b.piece_offset;
	}
	printf("\nThe bytes of a piece begin %zu bytes into a page, and mmap() maps whole pages.\n",
	       piece_offset);
	return 0;
}
