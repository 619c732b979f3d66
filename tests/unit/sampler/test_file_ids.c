/* SPDX-License-Identifier: Apache-2.0 */
/* Ids of files that the kernel tells none of: by the helper, as the service computes them, and
 * never waited for. */
#include "cpu_budget.h"
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
		cmocka_unit_test(test_as_the_service), cmocka_unit_test(test_32_bits),
		cmocka_unit_test(test_budget),         cmocka_unit_test(test_helper),
		cmocka_unit_test(test_deleted),        cmocka_unit_test(test_never_waits),
	};

	if (argc > 1 && !strcmp(argv[1], "--wait"))
		for (;;)
			pause();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
