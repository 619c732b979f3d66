/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole build, through the worker process: this program is its own input. Then every way a
 * worker can fail, with scripts in its place; and damaged input in this process.
 */
#include "rsym.h"
#include "table_build.h"
#include "table_make.h"

#include <elf.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cmocka.h>

static int self = -1;

/* Something to find: its line, and the call inlined into it. */
static inline __attribute__((always_inline)) int inlined_part(int x)
{
	__asm__ volatile("nop" : "+r"(x)); /* code of its own at any level */
	return x * 3;
}

__attribute__((noinline)) int table_build_target(int x);
int table_build_target(int x)
{
	return inlined_part(x) + 1;
}

/* The worker stands in the build's bin folder, this program does not. */
static const char *worker(void)
{
	static char path[4096];

	assert_non_null(getenv("RAWSTACK_BIN"));
	snprintf(path, sizeof(path), "%s/rawstack-table-worker", getenv("RAWSTACK_BIN"));
	return path;
}

static int memory_file(void)
{
	int fd = memfd_create("table", MFD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void test_self(void **state _unused_)
{
	_cleanup_(closep) int out = memory_file();
	struct table_request req = {
		.input_fd = self, .output_fd = out, .executable_fd = -1, .worker_path = worker()};
	struct rsym_frame frames[RSYM_FRAMES_MAX];
	_cleanup_(buf_done) struct buf text = BUF_INIT(1000);
	struct build_report report;
	struct err err = {0};
	struct stat st;
	struct rsym t;
	uint64_t vaddr = 0;
	bool found = false;
	void *p;

	assert_int_equal(table_build(&req, &report, &err), 0);
	assert_true(report.has_dwarf && report.has_segments && report.unit_count > 0);
	assert_true(report.cpu_ns && report.wall_ns && report.peak_memory && report.function_count);
	assert_int_equal(fstat(out, &st), 0);
	assert_int_equal(report.table_len, st.st_size);
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, out, 0);
	assert_int_equal(rsym_open(&t, p, (size_t)st.st_size, NULL), 0);
	for (uint32_t i = 0; i < t.function_count && !found; i++) {
		struct rsym_function f;

		buf_reset(&text);
		assert_int_equal(rsym_name(&t, i, &text, NULL), 0);
		assert_int_equal(rsym_function(&t, i, &f, NULL), 0);
		found = f.has_entry && strcmp(buf_cstr(&text), "table_build_target") == 0;
		vaddr = f.vaddr;
	}
	assert_true(found);
	found = false;
	for (int i = 0; i < 64 && !found; i++) {
		int n = rsym_lookup(&t, vaddr + (uint64_t)i, frames, ARRAY_LEN(frames));

		if (n != 2)
			continue;
		buf_reset(&text);
		assert_int_equal(rsym_name(&t, frames[0].function, &text, NULL), 0);
		found = strcmp(buf_cstr(&text), "inlined_part") == 0;
	}
	assert_true(found);
	munmap(p, (size_t)st.st_size);
}

static const char *script(const char *body)
{
	static char path[] = "worker.sh";
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fprintf(f, "#!/bin/sh\n%s\n", body);
	assert_int_equal(fchmod(fileno(f), 0755), 0);
	fclose(f);
	return path;
}

static void test_worker_ends(void **state _unused_)
{
	static const struct {
		const char *body;
		int want;
		const char *says;
	} rows[] = {
		{"exit 3", ERR_INTERNAL, "ended with status 3"},
		{"exit 0", ERR_INTERNAL, "ended with status 0"},
		{"echo garbage >&4", ERR_INTERNAL, "ended with status 0"},
		{"head -c 4096 /dev/zero >&4", ERR_INTERNAL, "ended with status 0"},
		{"kill -SEGV $$", ERR_INTERNAL, "crashed (SIGSEGV)"},
		{"kill -KILL $$", ERR_INTERNAL, "was killed (SIGKILL)"},
		{"kill -SYS $$", ERR_INTERNAL, "forbidden system call"},
		{"kill -BUS $$", ERR_INTERNAL, "SIGBUS"},
		{"kill -XCPU $$", ERR_LIMIT, "CPU"},
		{"kill -XFSZ $$", ERR_LIMIT, "larger than"},
		{"exec sleep 1000", ERR_LIMIT, "longer than 1 s"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(closep) int out = memory_file();
		struct table_request req = {
			.input_fd = self,
			.output_fd = out,
			.executable_fd = -1,
			/* Of the others none has to be quick. */
			.wall_ms_max = i + 1 < ARRAY_LEN(rows) ? 300000 : 1500,
			.worker_path = script(rows[i].body),
		};
		struct build_report report;
		struct err err = {0};

		assert_int_equal(table_build(&req, &report, &err), rows[i].want);
		if (!strstr(err.message, rows[i].says))
			fail_msg("'%s' gives '%s'", rows[i].body, err.message);
	}
}

static void test_requests(void **state _unused_)
{
	_cleanup_(closep) int out = memory_file(), text = memory_file(), big = memory_file();
	struct table_request req = {.input_fd = self, .output_fd = out, .executable_fd = -1};
	static const char kallsyms[] = "ffffffff81000000 T _text\nffffffff81000100 T next\n";
	Elf64_Ehdr e = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2MSB, EV_CURRENT}};
	struct build_report report;
	struct err err = {0};

	req.worker_path = worker();
	req.table_len_max = 5000;
	assert_int_equal(table_build(&req, &report, &err), ERR_LIMIT);
	req.table_len_max = 0;
	req.worker_path = "/nonexistent";
	assert_int_equal(table_build(&req, &report, &err), ERR_NOT_FOUND);
	req.worker_path = worker();
	req.input_fd = text;
	assert_int_equal(table_build(&req, &report, &err), ERR_UNSUPPORTED);
	assert_int_equal(write(text, kallsyms, strlen(kallsyms)), strlen(kallsyms));
	assert_int_equal(table_build(&req, &report, &err), ERR_USAGE);
	assert_int_equal(build_id_parse(&req.id, "0123456789", NULL), 0);
	assert_int_equal(table_build(&req, &report, &err), 0);
	assert_int_equal(report.symbol_count, 2);
	req.id = (struct build_id){0};
	req.input_fd = big;
	assert_int_equal(write(big, &e, sizeof(e)), sizeof(e));
	assert_int_equal(table_build(&req, &report, &err), ERR_UNSUPPORTED);
	assert_string_equal(err.message, "big-endian ELF is not supported");
	req.input_fd = self;
	req.executable_fd = text;
	assert_int_equal(table_build(&req, &report, &err), ERR_UNSUPPORTED);
}

/* Every byte of the file header and of each section header: a table or an error, in this process,
 * so that a sanitizer sees everything. */
/* Two threads say what one said. */
static void check_two(const struct table_source *one, struct helper *helper, int rc,
		      const struct buf *want)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(64 << 20);
	struct table_source source = *one;
	struct build_report report;

	source.helper = helper;
	assert_int_equal(table_make(&source, &out, &report, NULL), rc);
	if (rc)
		return;
	assert_int_equal(out.len, want->len);
	assert_memory_equal(out.p, want->p, out.len);
}

static void test_damage(void **state _unused_)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(64 << 20);
	_cleanup_(helper_freep) struct helper *helper = NULL;
	struct build_report report;
	const Elf64_Ehdr *e;
	struct stat st;
	uint8_t *p;

	assert_int_equal(helper_new(&helper, NULL), 0);
	assert_int_equal(fstat(self, &st), 0);
	p = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, self, 0);
	assert_true(p != MAP_FAILED);
	e = (void *)p;
	for (size_t i = 0; i < 64 + (size_t)e->e_shnum * sizeof(Elf64_Shdr); i++) {
		struct table_source source = {.p = p, .len = (size_t)st.st_size};
		uint8_t *at = i < 64 ? p + i : p + e->e_shoff + i - 64;
		int rc;

		if (i > 64 && i % 7) /* a part of them: each is a whole build */
			continue;
		*at ^= 0xff;
		buf_reset(&out);
		rc = table_make(&source, &out, &report, NULL);
		if (!rc)
			assert_true(out.len >= 4096);
		if (i % 35 < 2)
			check_two(&source, helper, rc, &out);
		*at ^= 0xff;
	}
	for (size_t len = 0; len < (size_t)st.st_size; len += (size_t)st.st_size / 50 + 1) {
		struct table_source source = {.p = p, .len = len};

		buf_reset(&out);
		assert_true(table_make(&source, &out, &report, NULL) < 0);
	}
	munmap(p, (size_t)st.st_size);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_self),
		cmocka_unit_test(test_worker_ends),
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_damage),
	};

	self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
