/* SPDX-License-Identifier: Apache-2.0 */
/* Ids of files that the kernel tells none of: by the helper, as the service computes them, and
 * never waited for. */
#include "cpu_budget.h"
#include "file_headers.h"
#include "file_ids.h"
#include "image_summary.h"
#include "io.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

static const uint8_t gnu_note[] = {4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0};

static void write_file(const char *path, const void *p, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, p, len), len);
	close(fd);
}

enum copy {
	WITH_ID,
	ID_IN_SECTION, /* and in no segment of notes, as Go's linker leaves it */
	WITHOUT_ID,
};

static void hide_segments_of_notes(uint8_t *p)
{
	Elf64_Ehdr header;
	Elf64_Phdr *segments;

	memcpy(&header, p, sizeof(header));
	segments = (void *)(p + header.e_phoff);
	for (int i = 0; i < header.e_phnum; i++)
		if (segments[i].p_type == PT_NOTE)
			segments[i].p_type = PT_NULL;
}

/* This program. */
static void write_copy(const char *path, enum copy what)
{
	uint8_t *p, *note;
	size_t len;

	assert_int_equal(io_read_file("/proc/self/exe", 256 << 20, &p, &len, NULL), 0);
	note = memmem(p, len, gnu_note, sizeof(gnu_note));
	assert_non_null(note);
	if (what == WITHOUT_ID)
		note[12] = 'X';
	if (what == ID_IN_SECTION)
		hide_segments_of_notes(p);
	write_file(path, p, len);
	free(p);
}

/* A file of 32 bits: one header of a segment and one of a section, before a note. */
static void write_32_bits(const char *path, enum copy what)
{
	struct {
		Elf32_Ehdr header;
		Elf32_Phdr segment;
		Elf32_Shdr section;
		uint8_t note[sizeof(gnu_note)], id[20];
	} f = {
		.header =
			{
				.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32,
					    ELFDATA2LSB, EV_CURRENT},
				.e_type = ET_EXEC,
				.e_machine = EM_386,
				.e_version = EV_CURRENT,
				.e_entry = 0x8049000,
				.e_phoff = offsetof(typeof(f), segment),
				.e_shoff = offsetof(typeof(f), section),
				.e_ehsize = sizeof(f.header),
				.e_phentsize = sizeof(f.segment),
				.e_phnum = 1,
				.e_shentsize = sizeof(f.section),
				.e_shnum = 1,
			},
		.segment =
			{
				.p_type = what == WITH_ID ? PT_NOTE : PT_LOAD,
				.p_offset = offsetof(typeof(f), note),
				.p_vaddr = 0x8048000,
				.p_paddr = 0x8048000,
				.p_filesz = sizeof(f.note) + sizeof(f.id),
				.p_flags = PF_R,
				.p_align = 4,
			},
		.section =
			{
				.sh_name = 1,
				.sh_type = what == ID_IN_SECTION ? SHT_NOTE : SHT_PROGBITS,
				.sh_flags = SHF_ALLOC,
				.sh_addr = 0x8048000,
				.sh_offset = offsetof(typeof(f), note),
				.sh_size = sizeof(f.note) + sizeof(f.id),
				.sh_addralign = 4,
			},
		.id = "12345678901234567890",
	};

	memcpy(f.note, gnu_note, sizeof(gnu_note));
	write_file(path, &f, sizeof(f));
}

static void identify(const char *path, struct build_id *ret, struct build_id *ret_service)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct err err;

	assert_true(fd >= 0);
	assert_int_equal(image_identify(fd, ret_service, &err), 0);
	assert_int_equal(file_id_of(fd, ret), 0);
	close(fd);
}

static void test_as_the_service(void **state)
{
	uint8_t small[100] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
	struct build_id ours, theirs;

	(void)state;
	small[18] = 62; /* x86-64 */
	small[54] = 56; /* length of a program header; there is none */
	write_copy("with", WITH_ID);
	write_copy("section", ID_IN_SECTION);
	write_copy("without", WITHOUT_ID);
	write_file("small", small, sizeof(small));
	identify("with", &ours, &theirs);
	assert_int_equal(ours.kind, BUILD_ID_GNU);
	assert_memory_equal(&ours, &theirs, sizeof(ours));
	identify("section", &ours, &theirs);
	assert_int_equal(ours.kind, BUILD_ID_GNU);
	assert_memory_equal(&ours, &theirs, sizeof(ours));
	identify("without", &ours, &theirs);
	assert_int_equal(ours.kind, BUILD_ID_HTLHASH);
	assert_memory_equal(&ours, &theirs, sizeof(ours));
	identify("small", &ours, &theirs);
	assert_int_equal(ours.kind, BUILD_ID_HTLHASH);
	assert_memory_equal(&ours, &theirs, sizeof(ours));
}

static void test_32_bits(void **state)
{
	static const enum copy kinds[] = {WITH_ID, ID_IN_SECTION, WITHOUT_ID};
	struct build_id ours, theirs;
	const Elf32_Ehdr *header;
	uint8_t *p;
	size_t len;
	int fd;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		write_32_bits("narrow", kinds[i]);
		identify("narrow", &ours, &theirs);
		assert_int_equal(ours.kind,
				 kinds[i] == WITHOUT_ID ? BUILD_ID_HTLHASH : BUILD_ID_GNU);
		assert_int_equal(ours.len, theirs.len);
		assert_memory_equal(&ours, &theirs, sizeof(ours));
	}
	/* Cut anywhere in its headers it is an error, and read no further. */
	assert_int_equal(io_read_file("narrow", 4096, &p, &len, NULL), 0);
	header = (const void *)p;
	for (size_t cut = 0; cut < header->e_phoff + header->e_phentsize; cut++) {
		write_file("cut", p, cut);
		fd = open("cut", O_RDONLY | O_CLOEXEC);
		assert_true(file_id_of(fd, &ours) < 0);
		close(fd);
	}
	free(p);
}

/* --- executable segments --------------------------------------------------------------------- */

static int code_of(const char *path, struct file_segments *ret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc;

	assert_true(fd >= 0);
	rc = file_headers_code_segments(fd, ret);
	close(fd);
	return rc;
}

/* What <elf.h> says of this program. */
static void test_code_segments(void **state)
{
	struct file_segments got;
	const Elf64_Phdr *segments;
	size_t len, count = 0;
	uint8_t *p;

	(void)state;
	write_copy("with", WITH_ID);
	assert_int_equal(code_of("with", &got), 0);
	assert_int_equal(io_read_file("with", 256 << 20, &p, &len, NULL), 0);
	segments = (const void *)(p + ((const Elf64_Ehdr *)(const void *)p)->e_phoff);
	for (int i = 0; i < ((const Elf64_Ehdr *)(const void *)p)->e_phnum; i++) {
		if (segments[i].p_type != PT_LOAD || !(segments[i].p_flags & PF_X))
			continue;
		assert_int_equal(got.rows[count].file_off, segments[i].p_offset);
		assert_int_equal(got.rows[count].vaddr, segments[i].p_vaddr);
		assert_int_equal(got.rows[count++].len, segments[i].p_filesz);
	}
	assert_int_equal(got.count, count);
	assert_true(count > 0);
	free(p);
}

#define HEADERS_MAX 300

struct made_file {
	Elf64_Ehdr header;
	Elf64_Phdr segments[HEADERS_MAX];
};

static struct made_file *make_file(size_t count)
{
	struct made_file *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->header = (Elf64_Ehdr){
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB},
		.e_phoff = offsetof(struct made_file, segments),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = (uint16_t)count,
	};
	for (size_t i = 0; i < count; i++)
		f->segments[i] = (Elf64_Phdr){.p_type = PT_LOAD,
					      .p_flags = PF_R,
					      .p_offset = i << 12,
					      .p_vaddr = i << 20,
					      .p_filesz = 0x1000};
	return f;
}

/* A file may say anything of itself: what cannot be is no segment, and nothing is read without end.
 */
static void test_hostile_segments(void **state)
{
	static const struct {
		const char *what;
		uint16_t count, code; /* headers; of these, how many of the last are executable */
		Elf64_Phdr last;      /* instead of the last one, if it has a type */
		uint32_t want;        /* 0: none */
	} cases[] = {
		{"one", 4, 1, {0}, 1},
		{"eight", 9, 8, {0}, 8},
		{"nine", 9, 9, {0}, 0},
		{"none", 4, 0, {0}, 0},
		{"no header", 0, 0, {0}, 0},
		{"behind those that are looked at", HEADERS_MAX, 1, {0}, 0},
		{"empty ones are none",
		 4,
		 2,
		 {.p_type = PT_LOAD, .p_flags = PF_X, .p_offset = 0x9000, .p_vaddr = 0x9000},
		 1},
		{"overlapping",
		 4,
		 2,
		 {.p_type = PT_LOAD, .p_flags = PF_X, .p_offset = 0x2fff, .p_filesz = 1},
		 0},
		{"the file wraps",
		 4,
		 2,
		 {.p_type = PT_LOAD, .p_flags = PF_X, .p_offset = UINT64_MAX, .p_filesz = 2},
		 0},
		{"memory wraps",
		 4,
		 2,
		 {.p_type = PT_LOAD,
		  .p_flags = PF_X,
		  .p_offset = 0x9000,
		  .p_vaddr = UINT64_MAX,
		  .p_filesz = 2},
		 0},
		{"the last is the first in the file",
		 4,
		 3,
		 {.p_type = PT_LOAD,
		  .p_flags = PF_X | PF_R,
		  .p_vaddr = 1ull << 40,
		  .p_filesz = 0x10},
		 3},
	};
	struct file_segments got;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct made_file *f = make_file(cases[i].count);

		for (uint16_t k = 0; k < cases[i].code; k++)
			f->segments[cases[i].count - 1 - k].p_flags |= PF_X;
		if (cases[i].last.p_type)
			f->segments[cases[i].count - 1] = cases[i].last;
		write_file("made", f, sizeof(*f));
		if (code_of("made", &got) != (cases[i].want ? 0 : -1) || got.count != cases[i].want)
			fail_msg("%s: %u segments", cases[i].what, got.count);
		assert_int_equal(file_segments_check(got.rows, got.count, NULL), 0);
		/* Cut anywhere in front of the last header. */
		for (size_t len = 0; cases[i].count && len < sizeof(f->header) + sizeof(Elf64_Phdr);
		     len += 7) {
			write_file("made", f, len);
			assert_int_equal(code_of("made", &got), -1);
			assert_int_equal(got.count, 0);
		}
		f->header.e_phoff = UINT64_MAX - 100;
		write_file("made", f, sizeof(*f));
		assert_int_equal(code_of("made", &got), -1);
		f->header.e_phoff = sizeof(f->header);
		f->header.e_phentsize = 8;
		write_file("made", f, sizeof(*f));
		assert_int_equal(code_of("made", &got), -1);
		free(f);
	}
}

/* Of 32 bits, where the flags stand elsewhere. */
static void test_narrow_segments(void **state)
{
	struct file_segments got;
	Elf32_Phdr *segment;
	uint8_t *p;
	size_t len;

	(void)state;
	write_32_bits("narrow", WITHOUT_ID);
	assert_int_equal(code_of("narrow", &got), -1);
	assert_int_equal(io_read_file("narrow", 4096, &p, &len, NULL), 0);
	segment = (void *)(p + ((const Elf32_Ehdr *)(const void *)p)->e_phoff);
	segment->p_flags |= PF_X;
	write_file("narrow", p, len);
	assert_int_equal(code_of("narrow", &got), 0);
	assert_int_equal(got.count, 1);
	assert_int_equal(got.rows[0].file_off, segment->p_offset);
	assert_int_equal(got.rows[0].vaddr, segment->p_vaddr);
	assert_int_equal(got.rows[0].len, segment->p_filesz);
	free(p);
}

/* What is known of an id stays, what failed may be asked for later, and there is no end of ids. */
static void test_segment_cache(void **state)
{
	const struct file_segments one = {.count = 1, .rows = {{1, 2, 3}}}, none = {.count = 0};
	struct build_id id = {.kind = BUILD_ID_GNU, .len = 20};
	const struct file_segment *rows;
	struct segment_cache c;
	size_t count;

	(void)state;
	segment_cache_init(&c);
	assert_int_equal(segment_cache_find(&c, &id, 5, &rows, &count), 0);
	segment_cache_put(&c, &id, NULL, 5);
	assert_int_equal(segment_cache_find(&c, &id, 6, &rows, &count), -1);
	assert_int_equal(segment_cache_find(&c, &id, UINT64_C(60000000000), &rows, &count), 0);
	segment_cache_put(&c, &id, &none, 7);
	assert_int_equal(segment_cache_find(&c, &id, 8, &rows, &count), -1);
	segment_cache_put(&c, &id, &one, 8);
	segment_cache_put(&c, &id, NULL, 9);
	assert_int_equal(segment_cache_find(&c, &id, 9, &rows, &count), 1);
	assert_int_equal(count, 1);
	assert_memory_equal(rows, one.rows, sizeof(*rows));
	for (uint32_t i = 0; i < 3 * LIMIT_SEGMENT_CACHE; i++) {
		memcpy(id.bytes, &i, sizeof(i));
		segment_cache_put(&c, &id, &one, 9);
		assert_int_equal(segment_cache_find(&c, &id, 9, &rows, &count), 1);
		assert_true(c.ids.count <= LIMIT_SEGMENT_CACHE);
	}
	segment_cache_done(&c);
}

/* However often it is asked: at once so much, and a share in the long run. */
static void test_budget(void **state)
{
	const uint64_t ms = 1000000, begin = 5 * ms;
	struct cpu_budget b = cpu_budget_full(begin);
	uint64_t now = begin, spent = 0;

	(void)state;
	for (; now < begin + 100000 * ms; now += ms / 3) {
		if (!cpu_budget_allows(&b, now))
			continue;
		cpu_budget_spend(&b, 70 * ms);
		spent += 70 * ms;
		now += 70 * ms;
	}
	assert_in_range(spent, 4000 * ms - 70 * ms, 4000 * ms + 70 * ms);
	/* A long rest fills it, and no more. */
	assert_true(cpu_budget_allows(&b, now + 1000000 * ms));
	assert_int_equal(b.left, CPU_BUDGET_BURST);
	cpu_budget_spend(&b, 3 * CPU_BUDGET_BURST);
	assert_false(cpu_budget_allows(&b, now + 1000000 * ms + 99 * CPU_BUDGET_BURST));
	assert_true(cpu_budget_allows(&b, now + 1000000 * ms + 101 * CPU_BUDGET_BURST));
}

/* --- through the helper ---------------------------------------------------------------------- */

static uint64_t clock_ns = 1;

static struct module *module_of(struct modules *ms, const char *path)
{
	const struct build_id none = {.kind = BUILD_ID_NONE};
	char full[5000], dir[4096];
	struct file_key key = {0, 0, 0};
	struct stat st;

	assert_non_null(getcwd(dir, sizeof(dir)));
	snprintf(full, sizeof(full), "%s/%s", dir, path);
	if (!stat(full, &st))
		key = (struct file_key){st.st_dev, st.st_ino, 0};
	return module_get(ms, &none, &key, full, strlen(full));
}

static enum module_id_state answer_of(struct file_ids *f, struct module *m)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	for (int i = 0; i < 120000 && m->id_state == MODULE_ID_ASKED; i++) {
		file_ids_poll(f, clock_ns);
		nanosleep(&pause, NULL);
	}
	return m->id_state;
}

static enum module_id_state ask(struct file_ids *f, struct module *m, pid_t pid)
{
	assert_true(file_ids_want(f, m, (uint32_t)pid, clock_ns));
	assert_int_equal(m->id_state, MODULE_ID_ASKED);
	assert_true(file_ids_want(f, m, (uint32_t)pid, clock_ns)); /* once is enough */
	return answer_of(f, m);
}

/* Of a file that can be read: it is given up where the machine holds its reader up for a second,
 * and then asked for again when it may be. */
static void ask_known(struct file_ids *f, struct module *m, pid_t pid)
{
	enum module_id_state got = ask(f, m, pid);

	for (int i = 0; i < 20 && got == MODULE_ID_FAILED; i++) {
		clock_ns += UINT64_C(60000000000);
		got = ask(f, m, pid);
	}
	assert_int_equal(got, MODULE_ID_KNOWN);
}

static void test_helper(void **state)
{
	struct module *m, *other, *gone;
	pid_t killed;
	struct build_id ours, theirs;
	struct file_ids f;
	struct modules ms;

	(void)state;
	modules_init(&ms);
	assert_int_equal(file_ids_init(&f, 1, NULL), 0);
	write_copy("without", WITHOUT_ID);
	identify("without", &ours, &theirs);
	m = module_of(&ms, "without");
	ask_known(&f, m, getpid());
	assert_memory_equal(&m->id, &theirs, sizeof(theirs));
	/* The next mapping of the file, which comes without an id again, is the same module. */
	other = module_of(&ms, "without");
	assert_ptr_equal(other, m);
	module_unref(other);
	/* One written over it is another file; the old one is not taken for it. */
	rename("without", "moved");
	write_copy("without", WITH_ID);
	other = module_of(&ms, "without");
	assert_ptr_not_equal(other, m);
	rename("moved", "without");
	assert_int_equal(ask(&f, other, getpid()), MODULE_ID_FAILED);
	/* It is asked for again, but not at once. */
	assert_false(file_ids_want(&f, other, (uint32_t)getpid(), clock_ns));
	clock_ns += UINT64_C(60000000000);
	assert_int_equal(ask(&f, other, getpid()), MODULE_ID_FAILED);
	/* A process that is gone: by the path here, for it is the same file. */
	gone = module_of(&ms, "../unit_file_ids/without");
	ask_known(&f, gone, INT32_MAX);
	/* The helper dies: nothing hangs, and later there is another one. */
	killed = f.pid;
	kill(killed, SIGKILL);
	clock_ns += UINT64_C(60000000000);
	file_ids_want(&f, other, (uint32_t)getpid(), clock_ns);
	for (int i = 0; i < 60000 && (f.fd < 0 || f.pid == killed); i++) {
		usleep(1000);
		file_ids_poll(&f, clock_ns);
	}
	write_copy("moved", WITHOUT_ID);
	module_unref(gone);
	gone = module_of(&ms, "moved");
	ask_known(&f, gone, getpid());
	module_unref(gone);
	module_unref(other);
	module_unref(m);
	file_ids_done(&f);
	assert_int_equal(ms.count, 0);
	modules_done(&ms);
}

/* Asks until there is an answer: as segment_cache_find(). A reader that is held up for a second is
 * asked again. */
static int ask_segments(struct file_ids *f, struct module *m, pid_t pid, bool is_program,
			const struct file_segment **ret, size_t *ret_count)
{
	int rc = 0;

	for (int i = 0; i < 20 && rc <= 0; i++) {
		clock_ns += UINT64_C(60000000000);
		assert_true(file_ids_ask_segments(f, m, (uint32_t)pid, is_program));
		for (int k = 0; k < 120000 && f->segments_asked; k++) {
			usleep(1000);
			file_ids_poll(f, clock_ns);
		}
		rc = segment_cache_find(&f->segments, &m->id, clock_ns, ret, ret_count);
	}
	return rc;
}

/* Of a module whose id the kernel told: from the file that has this id, and from no other. */
static void test_known_id(void **state)
{
	struct module *m, *liar;
	const struct file_segment *rows;
	struct file_segments want;
	struct build_id ours, theirs;
	struct file_ids f;
	struct modules ms;
	char path[5000];
	size_t count;

	(void)state;
	modules_init(&ms);
	write_copy("with", WITH_ID);
	identify("with", &ours, &theirs);
	assert_int_equal(code_of("with", &want), 0);
	assert_non_null(getcwd(path, sizeof(path) - 10));
	strcat(path, "/with");
	m = module_get(&ms, &ours, NULL, path, strlen(path));
	assert_int_equal(m->id_state, MODULE_ID_KNOWN);
	assert_int_equal(file_ids_init(&f, 1, NULL), 0);
	assert_int_equal(ask_segments(&f, m, getpid(), false, &rows, &count), 1);
	assert_int_equal(count, want.count);
	assert_memory_equal(rows, want.rows, count * sizeof(*rows));
	/* Another file lies there now, or that is no program of the process. */
	theirs.bytes[0] ^= 1;
	liar = module_get(&ms, &theirs, NULL, path, strlen(path));
	assert_true(file_ids_ask_segments(&f, liar, (uint32_t)getpid(), false));
	assert_true(file_ids_ask_segments(&f, liar, (uint32_t)getpid(), true));
	for (int k = 0; k < 120000 && f.segments_asked; k++) {
		usleep(1000);
		file_ids_poll(&f, clock_ns);
	}
	assert_int_equal(segment_cache_find(&f.segments, &liar->id, clock_ns, &rows, &count), -1);
	module_unref(liar);
	module_unref(m);
	/* The program itself, wherever its path leads; and a process that is gone. */
	segment_cache_done(&f.segments);
	segment_cache_init(&f.segments);
	m = module_get(&ms, &ours, NULL, "/nowhere/with", 13);
	assert_int_equal(ask_segments(&f, m, getpid(), true, &rows, &count), 1);
	assert_memory_equal(rows, want.rows, count * sizeof(*rows));
	module_unref(m);
	segment_cache_done(&f.segments);
	segment_cache_init(&f.segments);
	m = module_get(&ms, &ours, NULL, path, strlen(path));
	assert_int_equal(ask_segments(&f, m, INT32_MAX, false, &rows, &count), 1);
	module_unref(m);
	/* Only so many at a time, and all are answered when the helper dies. */
	m = module_get(&ms, &theirs, NULL, path, strlen(path));
	kill(f.pid, SIGSTOP);
	for (size_t i = 0; i < LIMIT_SEGMENTS_ASKED; i++)
		assert_true(file_ids_ask_segments(&f, m, (uint32_t)getpid(), false));
	assert_false(file_ids_ask_segments(&f, m, (uint32_t)getpid(), false));
	kill(f.pid, SIGKILL);
	for (int k = 0; k < 120000 && f.segments_asked; k++) {
		usleep(1000);
		file_ids_poll(&f, clock_ns);
	}
	assert_int_equal(f.segments_asked, 0);
	assert_int_equal(segment_cache_find(&f.segments, &m->id, clock_ns, &rows, &count), -1);
	module_unref(m);
	file_ids_done(&f);
	assert_int_equal(ms.count, 0);
	modules_done(&ms);
}

/* A program that was deleted is found as long as it runs. */
static void test_deleted(void **state)
{
	struct build_id theirs, ours;
	struct file_ids f;
	struct modules ms;
	struct module *m;
	int fds[2];
	pid_t pid;

	(void)state;
	modules_init(&ms);
	write_copy("deleted", WITHOUT_ID);
	identify("deleted", &ours, &theirs);
	m = module_of(&ms, "deleted");
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl("./deleted", "deleted", "--wait", NULL);
		_exit(127);
	}
	close(fds[1]);
	/* exec closes the other end. */
	assert_int_equal(read(fds[0], &(char){0}, 1), 0);
	close(fds[0]);
	unlink("deleted");
	assert_int_equal(file_ids_init(&f, 1, NULL), 0);
	ask_known(&f, m, pid);
	assert_memory_equal(&m->id, &theirs, sizeof(theirs));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	module_unref(m);
	file_ids_done(&f);
	modules_done(&ms);
}

/* A file system whose daemon never says a word, in a mount namespace of its own. */
static pid_t start_silent(int ready_fd)
{
	char options[100];
	pid_t pid = fork();
	int fd;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fd = open("/dev/fuse", O_RDWR);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
	if (fd < 0 || unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("silent", "silent", "fuse", 0, options))
		_exit(1);
	if (write(ready_fd, "r", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static void test_never_waits(void **state)
{
	struct module *fifo, *device, *silent, *good;
	struct file_ids f;
	struct modules ms;
	bool has_silent;
	pid_t pid;
	int fds[2];

	(void)state;
	modules_init(&ms);
	unlink("fifo");
	assert_int_equal(mkfifo("fifo", 0600), 0);
	mkdir("silent", 0700);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	pid = start_silent(fds[1]);
	close(fds[1]);
	has_silent = read(fds[0], &(char){0}, 1) == 1;
	close(fds[0]);
	assert_int_equal(file_ids_init(&f, 1, NULL), 0);
	fifo = module_of(&ms, "fifo");
	assert_int_equal(ask(&f, fifo, getpid()), MODULE_ID_FAILED);
	device = module_get(&ms, &(struct build_id){.kind = BUILD_ID_NONE}, NULL, "/dev/zero", 9);
	assert_int_equal(ask(&f, device, getpid()), MODULE_ID_FAILED);
	write_copy("without", WITHOUT_ID);
	good = module_of(&ms, "without");
	silent = module_of(&ms, "silent/file");
	if (has_silent) {
		/* Asked one behind the other: the second is answered though the first never is. */
		assert_true(file_ids_want(&f, silent, (uint32_t)pid, clock_ns));
		ask_known(&f, good, getpid());
		assert_int_equal(answer_of(&f, silent), MODULE_ID_FAILED);
	} else {
		print_message("no FUSE here: a file system that never answers is not tried\n");
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	module_unref(fifo);
	module_unref(device);
	module_unref(good);
	module_unref(silent);
	file_ids_done(&f);
	assert_int_equal(ms.count, 0);
	modules_done(&ms);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_the_service),  cmocka_unit_test(test_32_bits),
		cmocka_unit_test(test_budget),          cmocka_unit_test(test_helper),
		cmocka_unit_test(test_deleted),         cmocka_unit_test(test_never_waits),
		cmocka_unit_test(test_code_segments),   cmocka_unit_test(test_hostile_segments),
		cmocka_unit_test(test_segment_cache),   cmocka_unit_test(test_known_id),
		cmocka_unit_test(test_narrow_segments),
	};

	if (argc > 1 && !strcmp(argv[1], "--wait"))
		for (;;)
			pause();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
