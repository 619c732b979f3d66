/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that is damaged while the store has it open: whatever becomes of the process, it does not
 * end without a line that names the file and what to do.
 */
#include "store_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "io.h"
#include "store_fault.h"
#include "store_pages_priv.h"

enum {
	IDS = 110,
	ENDED = 0, /* the child went through, or was told of an error */
	NOT_OPENED = 9,
	SENT = 12,
	CPU_SECONDS = 20, /* for what takes milliseconds */
};

/* No power is cut here. */
int skip_fdatasync(int fd) __asm__("fdatasync");

__attribute__((visibility("default"))) int skip_fdatasync(int fd _unused_)
{
	return 0;
}

static uint8_t table[5000];
static uint8_t *file;
static uint64_t file_len;
static size_t page_len;
static uint8_t *free_pages; /* a bit of each */

static int put(struct store *s, uint32_t n, struct err *err)
{
	struct store_binary b = {.id = id_of(n),
				 .status = STORE_READY,
				 .table_len = sizeof(table),
				 .changed_ns = n + 1,
				 .meta = "m",
				 .meta_len = 1};

	memset(table, (int)(n * 4), sizeof(table)); /* no page of it looks like one of a tree */
	return store_put(s, &b, table, err);
}

static void find_free_pages(void)
{
	struct kv_layout layout;
	struct kv_read *r;
	struct err err;
	struct kv *kv;

	assert_int_equal(store_kv_open_lmdb(&kv, ".", 0, 0, &err), 0);
	assert_int_equal(kv->ops->read_begin(kv, &r, &err), 0);
	assert_int_equal(kv->ops->layout(r, &layout, &err), 0);
	assert_int_equal(layout.page_count, file_len / page_len);
	free_pages = layout.free_pages;
	kv->ops->read_end(r);
	kv->ops->close(kv);
}

/* Branches and leaves of several trees, long values, lists of free pages. */
static void make_store(void)
{
	struct store *s;
	struct err err;

	unlink("store.mdb");
	unlink("store.mdb-lock");
	s = open_budget(&lmdb, BUDGET);
	for (uint32_t n = 0; n < IDS + 10; n++)
		if (put(s, n, &err))
			fail_msg("%s", err.message);
	for (uint32_t n = IDS; n < IDS + 10; n++) {
		const struct build_id id = id_of(n);

		assert_int_equal(store_purge(s, &id, &err), 1);
	}
	store_close(s);
	assert_int_equal(io_read_file("store.mdb", 64 << 20, &file, &file_len, &err), 0);
	page_len = (size_t)sysconf(_SC_PAGESIZE);
	find_free_pages();
}

static void restore_file(void)
{
	FILE *f = fopen("store.mdb", "w");

	assert_non_null(f);
	assert_int_equal(fwrite(file, 1, file_len, f), file_len);
	assert_int_equal(fclose(f), 0);
	unlink("store.mdb-lock");
}

/* What is done to the file: bytes of one page, or its end. */
struct harm {
	const char *name;
	size_t at, len; /* of the page */
	int byte;       /* -1: counts up */
};

static const struct harm harms[] = {
	{"no keys", 12, 4, 0},     {"zeros", 16, 4080, 0},   {"ones", 16, 4080, 0xff},
	{"garbled", 16, 4080, -1}, {"no number", 0, 8, 0x7}, {"flags", 10, 2, 0xff},
	{"sizes", 12, 4, 0x7f},    {"offsets", 16, 64, -1},  {"nodes", 2048, 2048, 0x55},
};

static void apply_harm(const struct harm *h, size_t page)
{
	_cleanup_(closep) int fd = open("store.mdb", O_WRONLY | O_CLOEXEC);
	uint8_t bytes[4096];

	for (size_t i = 0; i < h->len; i++)
		bytes[i] = (uint8_t)(h->byte < 0 ? (int)(i * 37 + 11) : h->byte);
	if (pwrite(fd, bytes, h->len, (off_t)(page * page_len + h->at)) != (ssize_t)h->len)
		_exit(NOT_OPENED);
}

static void cut_file(const struct harm *h _unused_, size_t page)
{
	if (truncate("store.mdb", (off_t)(page * page_len)))
		_exit(NOT_OPENED);
}

static void kill_self(const struct harm *h _unused_, size_t page _unused_)
{
	kill(getpid(), SIGSEGV);
	_exit(SENT);
}

static void ignore_damaged(void *ctx _unused_, const struct build_id *id _unused_,
			   const char *what _unused_)
{
}

/* All that a service does to a store. */
static void use_store(struct store *s)
{
	struct store_table found;
	struct store_read *r;
	size_t count;
	struct err err;

	for (uint32_t n = 0; n < IDS; n++) {
		const struct build_id id = id_of(n);

		if (store_read_begin(s, &r, &err))
			continue;
		(void)store_table(r, &id, &found, &err);
		store_read_end(r);
	}
	if (store_verify(s, ignore_damaged, NULL, &count, &err))
		count = 0;
	for (uint32_t n = 50; n < 52; n++) {
		const struct build_id id = id_of(n);

		if (put(s, n + 500, &err) || store_purge(s, &id, &err) < 0)
			break;
	}
}

static void run_child(int out, void (*change)(const struct harm *h, size_t page),
		      const struct harm *h, size_t page)
{
	const struct rlimit cpu = {CPU_SECONDS, CPU_SECONDS}, core = {0, 0};
	struct store *s = NULL;
	struct kv *kv;
	struct err err;

	dup2(out, STDERR_FILENO);
	setrlimit(RLIMIT_CPU, &cpu);
	setrlimit(RLIMIT_CORE, &core);
	for (int i = 1; i < NSIG; i++) /* cmocka's own */
		signal(i, SIG_DFL);
	store_fault_install("program");
	if (store_kv_open_lmdb(&kv, ".", BUDGET, 0, &err) ||
	    store_open(&s, kv, BUDGET, FORMAT, &err))
		_exit(NOT_OPENED);
	change(h, page);
	use_store(s);
	_exit(ENDED);
}

/* The child's status, and what it said. */
static int watch_child(void (*change)(const struct harm *h, size_t page), const struct harm *h,
		       size_t page, char *said, size_t max)
{
	int fds[2], status;
	size_t len = 0;
	ssize_t n;
	pid_t pid;

	restore_file();
	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (!pid)
		run_child(fds[1], change, h, page);
	close(fds[1]);
	while ((n = read(fds[0], said + len, max - 1 - len)) > 0)
		len += (size_t)n;
	said[len] = 0;
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static bool is_line(const char *said)
{
	/* malloc() may have said something first. */
	return strstr(said, "program: ./store.mdb: damaged while it is open: ") &&
	       strstr(said, "`rawstack admin verify`") && strstr(said, "`rawstack admin salvage`");
}

/* What a sanitizer finds before the kernel does; it says where. */
static bool is_found_by_sanitizer(const char *said)
{
	return strstr(said, "AddressSanitizer") && strstr(said, "liblmdb");
}

static bool is_tree_page(size_t page)
{
	uint16_t flags;

	if (free_pages[page / 8] >> page % 8 & 1)
		return false;
	memcpy(&flags, file + page * page_len + 10, sizeof(flags));
	return flags & (PAGE_BRANCH | PAGE_LEAF);
}

static void test_pages(void **state _unused_)
{
	size_t died = 0, all = 0;
	char said[1 << 16];

	for (size_t page = 2; page < file_len / page_len; page++)
		for (size_t i = 0; is_tree_page(page) && i < ARRAY_LEN(harms); i++) {
			int status = watch_child(apply_harm, &harms[i], page, said, sizeof(said));

			all++;
			if (WIFEXITED(status) && WEXITSTATUS(status) == ENDED)
				continue;
			died++;
			if (!is_line(said) && !is_found_by_sanitizer(said))
				fail_msg("page %zu, %s: status %x, said '%s'", page, harms[i].name,
					 status, said);
		}
	print_message("%zu damages, it died of %zu\n", all, died);
	assert_true(died > 0);
}

static void test_truncated(void **state _unused_)
{
	char said[1 << 16];
	int status = watch_child(cut_file, NULL, file_len / page_len / 2, said, sizeof(said));

	assert_true(is_line(said));
	assert_non_null(strstr(said, "truncated"));
#ifndef __SANITIZE_ADDRESS__
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
#else
	assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
#endif
}

/* What somebody sends is no fault of the store. */
static void test_sent(void **state _unused_)
{
	char said[1 << 16];
	int status = watch_child(kill_self, NULL, 0, said, sizeof(said));

	assert_null(strstr(said, "store.mdb"));
#ifndef __SANITIZE_ADDRESS__
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
#else
	assert_false(WIFEXITED(status) && WEXITSTATUS(status) == SENT);
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_sent),
	};
	int rc;

	make_store();
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	free(free_pages);
	free(file);
	return rc;
}
