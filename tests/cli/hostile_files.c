/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostile_files BIN EVERY FILE...: damages each 64-bit ELF file in every way of this list, one
 * at a time, and builds a table of it, with 1 GiB of memory:
 *
 *	- each field of the ELF header, each program header, each section header: all bits turned,
 *	  the lowest, the highest;
 *	- each section: half as long, empty, one byte shorter, the file cut in its middle;
 *	- each of the first 40 bytes of each debug section, where its own header is, turned.
 *
 * What comes out must be one line of error, or a table that `verify` finds nothing wrong with
 * when it reads the same damaged bytes; and within 10 s of CPU. Where libdwarf does not read a unit
 * that the table has, `verify` cannot decide: that is counted, and more than one in a hundred is a
 * failure. EVERY is 1 for all of it, N for one in N. Prints what is otherwise, and exits 1.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "io.h"
#include "limits.h"
#include "table_verify.h"

#define SECONDS_MAX 10
#define MEMORY_MAX  (UINT64_C(1) << 30)

struct trial {
	const char *worker, *verifier, *path;
	uint8_t *good, *bytes;
	size_t len, cut; /* cut: the damaged file's length */
	char what[256];
	unsigned long every, number, tried, tables, undecided, failures;
};

struct field {
	const char *name;
	size_t off, len;
};

#define FIELD(type, name)                                              \
	{                                                              \
#name, offsetof(type, name), sizeof(((type *)0)->name) \
	}

static const struct field header_fields[] = {
	{"EI_CLASS", EI_CLASS, 1},      {"EI_DATA", EI_DATA, 1},
	{"EI_VERSION", EI_VERSION, 1},  {"EI_OSABI", EI_OSABI, 1},
	FIELD(Elf64_Ehdr, e_type),      FIELD(Elf64_Ehdr, e_machine),
	FIELD(Elf64_Ehdr, e_version),   FIELD(Elf64_Ehdr, e_entry),
	FIELD(Elf64_Ehdr, e_phoff),     FIELD(Elf64_Ehdr, e_shoff),
	FIELD(Elf64_Ehdr, e_flags),     FIELD(Elf64_Ehdr, e_ehsize),
	FIELD(Elf64_Ehdr, e_phentsize), FIELD(Elf64_Ehdr, e_phnum),
	FIELD(Elf64_Ehdr, e_shentsize), FIELD(Elf64_Ehdr, e_shnum),
	FIELD(Elf64_Ehdr, e_shstrndx),
};

static const struct field segment_fields[] = {
	FIELD(Elf64_Phdr, p_type),  FIELD(Elf64_Phdr, p_flags),  FIELD(Elf64_Phdr, p_offset),
	FIELD(Elf64_Phdr, p_vaddr), FIELD(Elf64_Phdr, p_filesz), FIELD(Elf64_Phdr, p_memsz),
	FIELD(Elf64_Phdr, p_align),
};

static const struct field section_fields[] = {
	FIELD(Elf64_Shdr, sh_name),      FIELD(Elf64_Shdr, sh_type),
	FIELD(Elf64_Shdr, sh_flags),     FIELD(Elf64_Shdr, sh_addr),
	FIELD(Elf64_Shdr, sh_offset),    FIELD(Elf64_Shdr, sh_size),
	FIELD(Elf64_Shdr, sh_link),      FIELD(Elf64_Shdr, sh_info),
	FIELD(Elf64_Shdr, sh_addralign), FIELD(Elf64_Shdr, sh_entsize),
};

static void fail(struct trial *t, const char *how)
{
	t->failures++;
	printf("%s: %s: %s\n", t->path, t->what, how);
}

static int memory_file(const void *p, size_t len)
{
	int fd = memfd_create("hostile", MFD_CLOEXEC);

	if (fd < 0 || (len && io_write_all(io_system(), fd, p, len, 0, NULL))) {
		perror("memfd");
		exit(2);
	}
	return fd;
}

static void verify(struct trial *t, struct table_request *req, int table)
{
	_cleanup_(closep) int out = memory_file(NULL, 0);
	struct verify_report report;
	char text[400] = "";
	struct err err;

	t->tables++;
	req->output_fd = out;
	req->worker_path = t->verifier;
	if (table_verify(req, table, &report, &err)) {
		fail(t, err.message);
		return;
	}
	if (!report.difference_count)
		return;
	if (report.units_skipped) {
		t->undecided++;
		return;
	}
	if (pread(out, text, sizeof(text) - 1, 0) < 0)
		text[0] = 0;
	fail(t, text);
}

/* Builds of t->bytes, which are good again afterwards. */
static void attempt(struct trial *t)
{
	_cleanup_(closep) int in = -1, out = -1;
	struct table_request req;
	struct build_report report;
	struct timespec from, to;
	struct err err = {0};

	if (t->number++ % t->every == 0) {
		t->tried++;
		in = memory_file(t->bytes, t->cut);
		out = memory_file(NULL, 0);
		req = (struct table_request){
			.input_fd = in,
			.executable_fd = -1,
			.output_fd = out,
			.memory_max = MEMORY_MAX,
			.cpu_seconds_max = SECONDS_MAX,
			.wall_ms_max = 60000, /* a busy machine is no hang */
			.worker_path = t->worker,
		};
		clock_gettime(CLOCK_MONOTONIC, &from);
		if (!table_build(&req, &report, &err))
			verify(t, &req, out);
		else if (err.code == ERR_INTERNAL || !err.message[0] || strchr(err.message, '\n'))
			fail(t, err.message);
		else if (strstr(err.message, "longer than") || strstr(err.message, "of CPU"))
			fail(t, err.message);
		clock_gettime(CLOCK_MONOTONIC, &to);
		if (to.tv_sec - from.tv_sec > 60)
			fail(t, "took too long");
	}
	memcpy(t->bytes, t->good, t->len);
	t->cut = t->len;
}

/* A field of up to 8 bytes: all bits turned, the lowest, the highest. */
static void turn(struct trial *t, size_t off, size_t len, const char *of, size_t index,
		 const char *name)
{
	static const char *const how[] = {"all bits", "lowest bit", "highest bit"};

	for (int i = 0; i < 3 && off <= t->len && len <= t->len - off; i++) {
		snprintf(t->what, sizeof(t->what), "%s %zu: %s: %s turned", of, index, name,
			 how[i]);
		for (size_t j = 0; j < len; j++)
			t->bytes[off + j] ^= i == 0                   ? 0xff
					     : i == 1 && j == 0       ? 1
					     : i == 2 && j == len - 1 ? 0x80
								      : 0;
		attempt(t);
	}
}

static void turn_fields(struct trial *t, size_t base, const struct field *f, size_t count,
			const char *of, size_t index)
{
	for (size_t i = 0; i < count; i++)
		turn(t, base + f[i].off, f[i].len, of, index, f[i].name);
}

static void shorten(struct trial *t, size_t header, const char *name, uint64_t size)
{
	const struct {
		const char *how;
		uint64_t size;
	} cases[] = {{"half", size / 2}, {"empty", 0}, {"a byte shorter", size - 1}};

	for (size_t i = 0; i < ARRAY_LEN(cases) && size; i++) {
		snprintf(t->what, sizeof(t->what), "section %s: %s", name, cases[i].how);
		memcpy(t->bytes + header + offsetof(Elf64_Shdr, sh_size), &cases[i].size,
		       sizeof(cases[i].size));
		attempt(t);
	}
}

static void damage_section(struct trial *t, size_t header, size_t index, const char *names,
			   size_t names_len)
{
	Elf64_Shdr s;
	const char *name;

	memcpy(&s, t->good + header, sizeof(s));
	name = s.sh_name < names_len ? names + s.sh_name : "?";
	turn_fields(t, header, section_fields, ARRAY_LEN(section_fields), name, index);
	shorten(t, header, name, s.sh_type == SHT_NOBITS ? 0 : s.sh_size);
	if (s.sh_type == SHT_NOBITS || s.sh_offset > t->len || s.sh_size > t->len - s.sh_offset)
		return;
	snprintf(t->what, sizeof(t->what), "file cut in section %s", name);
	t->cut = s.sh_offset + s.sh_size / 2;
	attempt(t);
	for (size_t i = 0; i < 40 && i < s.sh_size && strstr(name, "debug"); i++) {
		snprintf(t->what, sizeof(t->what), "%s: byte %zu turned", name, i);
		t->bytes[s.sh_offset + i] ^= 0xff;
		attempt(t);
	}
}

static void damage(struct trial *t)
{
	const char *names = "";
	size_t names_len = 0;
	Elf64_Ehdr e;
	Elf64_Shdr s;

	memcpy(&e, t->good, sizeof(e));
	turn_fields(t, 0, header_fields, ARRAY_LEN(header_fields), "ELF header", 0);
	for (size_t i = 0; i < e.e_phnum; i++)
		turn_fields(t, e.e_phoff + i * sizeof(Elf64_Phdr), segment_fields,
			    ARRAY_LEN(segment_fields), "segment", i);
	memcpy(&s, t->good + e.e_shoff + e.e_shstrndx * sizeof(s), sizeof(s));
	names = (const char *)t->good + s.sh_offset;
	names_len = s.sh_size;
	for (size_t i = 0; i < e.e_shnum; i++)
		damage_section(t, e.e_shoff + i * sizeof(s), i, names, names_len);
}

int main(int argc, char **argv)
{
	char worker[LIMIT_PATH_LEN], verifier[LIMIT_PATH_LEN];
	unsigned long failures = 0;

	if (argc < 4)
		return 2;
	snprintf(worker, sizeof(worker), "%s/rawstack-table-worker", argv[1]);
	snprintf(verifier, sizeof(verifier), "%s/rawstack-table-verifier", argv[1]);
	for (int i = 3; i < argc; i++) {
		struct trial t = {.worker = worker,
				  .verifier = verifier,
				  .path = argv[i],
				  .every = strtoul(argv[2], NULL, 10)};
		struct err err;

		if (io_read_file(t.path, SIZE_MAX, &t.good, &t.len, &err) ||
		    t.len < sizeof(Elf64_Ehdr) || memcmp(t.good, ELFMAG "\2", SELFMAG + 1) != 0 ||
		    !t.every) {
			fprintf(stderr, "hostile_files: %s: not a 64-bit ELF file\n", t.path);
			return 2;
		}
		t.bytes = malloc(t.len);
		if (!t.bytes)
			return 2;
		memcpy(t.bytes, t.good, t.len);
		t.cut = t.len;
		strcpy(t.what, "unchanged");
		attempt(&t);
		damage(&t);
		printf("%s: %lu of %lu damages tried, %lu gave a table, %lu undecided, %lu "
		       "failures\n",
		       t.path, t.tried, t.number, t.tables, t.undecided, t.failures);
		failures += t.undecided > 1 + t.tables / 100;
		failures += t.failures;
		free(t.good);
		free(t.bytes);
	}
	return failures ? 1 : 0;
}
