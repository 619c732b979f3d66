/* SPDX-License-Identifier: Apache-2.0 */
/* image_identify() on files made here: a note in a segment, in a section, none, and damaged. */
#include "image_summary.h"

#include <elf.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cmocka.h>

struct small_elf {
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdr;
	Elf64_Shdr shdr[2];
	struct {
		Elf64_Nhdr other;
		char other_name[4], other_desc[4];
		Elf64_Nhdr id;
		char id_name[4];
		uint8_t id_desc[20];
	} note;
};

static const struct small_elf good = {
	.ehdr = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		 .e_phoff = offsetof(struct small_elf, phdr),
		 .e_phentsize = sizeof(Elf64_Phdr),
		 .e_phnum = 1,
		 .e_shoff = offsetof(struct small_elf, shdr),
		 .e_shentsize = sizeof(Elf64_Shdr),
		 .e_shnum = 2},
	.phdr = {.p_type = PT_NOTE,
		 .p_offset = offsetof(struct small_elf, note),
		 .p_filesz = sizeof(good.note),
		 .p_align = 4},
	.shdr = {[1] = {.sh_type = SHT_NOTE,
			.sh_offset = offsetof(struct small_elf, note),
			.sh_size = sizeof(good.note),
			.sh_addralign = 4}},
	.note = {.other = {4, 4, 9},
		 .other_name = "GNU",
		 .id = {4, 20, NT_GNU_BUILD_ID},
		 .id_name = "GNU",
		 .id_desc = {0xde, 0xad, 0xbe, 0xef}},
};

static int identify(const void *p, size_t len, struct build_id *id, struct err *err)
{
	_cleanup_(closep) int fd = memfd_create("elf", MFD_CLOEXEC);

	assert_int_equal(write(fd, p, len), len);
	return image_identify(fd, id, err);
}

static void test_notes(void **state _unused_)
{
	struct small_elf e = good;
	struct build_id id;

	assert_int_equal(identify(&e, sizeof(e), &id, NULL), 0);
	assert_int_equal(id.kind, BUILD_ID_GNU);
	assert_int_equal(id.len, 20);
	assert_memory_equal(id.bytes, "\xde\xad\xbe\xef", 4);
	e.phdr.p_type = PT_LOAD; /* the section alone names it too */
	assert_int_equal(identify(&e, sizeof(e), &id, NULL), 0);
	assert_int_equal(id.kind, BUILD_ID_GNU);
}

/* sha256(file + file + big-endian length), for a file below 4 KiB, computed with sha256sum. */
static void test_htlhash(void **state _unused_)
{
	struct build_id id;
	char hex[BUILD_ID_HEX_MAX];
	uint8_t file[64] = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT};

	assert_int_equal(identify(file, sizeof(file), &id, NULL), 0);
	assert_int_equal(id.kind, BUILD_ID_HTLHASH);
	assert_string_equal(build_id_hex(&id, hex), "0e22652cc5719aea53a80f5b43b54d39");
}

static void test_bad(void **state _unused_)
{
	struct small_elf e = good;
	struct build_id id;
	struct err err;

	assert_int_equal(identify("hello, world: text", 18, &id, &err), ERR_UNSUPPORTED);
	assert_string_equal(err.message, "not an ELF file");
	assert_int_equal(identify(&e, 3, &id, &err), ERR_UNSUPPORTED);
	assert_int_equal(identify(&e, 40, &id, &err), ERR_DATA);
	e.ehdr.e_ident[EI_DATA] = ELFDATA2MSB;
	assert_int_equal(identify(&e, sizeof(e), &id, &err), ERR_UNSUPPORTED);
	assert_string_equal(err.message, "big-endian ELF is not supported");
	assert_int_equal(image_identify(-1, &id, &err), ERR_IO);
}

/* Whatever byte is damaged and wherever the file ends: an id or an error, nothing else. */
static void test_damage(void **state _unused_)
{
	for (size_t i = 0; i < sizeof(good); i++) {
		struct small_elf e = good;
		struct build_id id;
		int rc;

		((uint8_t *)&e)[i] ^= 0xff;
		rc = identify(&e, sizeof(e), &id, NULL);
		assert_true(rc < 0 || id.len == 20 || id.len == HTLHASH_LEN);
		rc = identify(&good, i, &id, NULL);
		assert_true(rc < 0 || id.len == 20 || id.len == HTLHASH_LEN);
	}
}

static int second_name_of(int fd, struct build_id *id, struct build_id *hash)
{
	struct image_summary s;
	int rc = image_summary_read(fd, &s, NULL);

	*id = s.id.id;
	return rc ? rc : image_summary_second_name(fd, &s, hash, NULL);
}

/* A program as large as it takes, its note at `note_at`; a section says where its code is. */
static int second_name(size_t len, size_t note_at, uint32_t code_type, uint8_t id_byte,
		       struct build_id *id, struct build_id *hash)
{
	_cleanup_(closep) int fd = memfd_create("elf", MFD_CLOEXEC);
	struct small_elf e = good;

	e.shdr[0].sh_type = SHT_NULL;
	e.shdr[1] = (Elf64_Shdr){.sh_type = code_type,
				 .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				 .sh_offset = 512,
				 .sh_size = 16};
	e.phdr.p_offset = note_at;
	e.note.id_desc[0] = id_byte;
	assert_int_equal(ftruncate(fd, (off_t)len), 0);
	assert_int_equal(pwrite(fd, &e, offsetof(struct small_elf, note), 0),
			 offsetof(struct small_elf, note));
	assert_int_equal(pwrite(fd, &e.note, sizeof(e.note), (off_t)note_at), sizeof(e.note));
	return second_name_of(fd, id, hash);
}

/* Who could change the id and keep the hash has no alias: one byte makes the difference. */
static void test_second_name(void **state _unused_)
{
	const size_t note_len = sizeof(good.note), len = 100000;
	struct build_id id, hash, other;

	assert_int_equal(second_name(len, 1024, SHT_PROGBITS, 1, &id, &hash), 1);
	assert_int_equal(id.kind, BUILD_ID_GNU);
	assert_int_equal(id.bytes[0], 1);
	assert_int_equal(hash.kind, BUILD_ID_HTLHASH);
	assert_int_equal(second_name(len, 1024, SHT_PROGBITS, 2, &id, &other), 1);
	assert_false(build_id_equal(&hash, &other));
	assert_int_equal(second_name(len, 4096 - note_len, SHT_PROGBITS, 1, &id, &hash), 1);
	assert_int_equal(second_name(len, 4096 - note_len + 1, SHT_PROGBITS, 1, &id, &hash), 0);
	assert_int_equal(second_name(len, len - 4096, SHT_PROGBITS, 1, &id, &hash), 1);
	assert_int_equal(second_name(len, len - 4097, SHT_PROGBITS, 1, &id, &hash), 0);
	/* Ends that meet leave nothing out. */
	assert_int_equal(second_name(8192, 4096 - note_len / 2, SHT_PROGBITS, 1, &id, &hash), 1);
	assert_int_equal(second_name(8193, 4096 - note_len / 2, SHT_PROGBITS, 1, &id, &hash), 0);
	/* A debug file: code that is not in it. */
	assert_int_equal(second_name(len, 1024, SHT_NOBITS, 1, &id, &hash), 0);
	assert_int_equal(second_name_of(-1, &id, &hash), ERR_IO);
}

static void test_second_name_of_none(void **state _unused_)
{
	_cleanup_(closep) int fd = memfd_create("elf", MFD_CLOEXEC);
	uint8_t file[64] = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT};
	struct build_id id, hash;

	assert_int_equal(write(fd, file, sizeof(file)), sizeof(file));
	assert_int_equal(second_name_of(fd, &id, &hash), 0);
}

/* So many headers that share one megabyte of notes, in front of the one that has the id: segments
 * or sections. */
static int identify_shared_notes(bool sections, struct build_id *id)
{
	enum {
		COUNT = 65534
	};
	const uint64_t notes_len = 1 << 20, headers_len = (uint64_t)COUNT * sizeof(Elf64_Shdr);
	_cleanup_(closep) int fd = memfd_create("elf", MFD_CLOEXEC);
	_cleanup_(freep) uint8_t *p = calloc(1, notes_len + headers_len + sizeof(Elf64_Ehdr));
	Elf64_Ehdr ehdr = good.ehdr;
	uint8_t *notes = p + sizeof(ehdr), *headers = notes + notes_len;

	/* Empty notes: of all, they take the most steps. */
	ehdr.e_phoff = sections ? 0 : sizeof(ehdr) + notes_len;
	ehdr.e_phnum = sections ? 0 : COUNT;
	ehdr.e_shoff = sections ? sizeof(ehdr) + notes_len : 0;
	ehdr.e_shnum = sections ? COUNT : 0;
	memcpy(p, &ehdr, sizeof(ehdr));
	for (size_t i = 0; i < COUNT; i++)
		if (sections)
			((Elf64_Shdr *)(void *)headers)[i] = (Elf64_Shdr){.sh_type = SHT_NOTE,
									  .sh_offset = sizeof(ehdr),
									  .sh_size = notes_len,
									  .sh_addralign = 4};
		else
			((Elf64_Phdr *)(void *)headers)[i] = (Elf64_Phdr){.p_type = PT_NOTE,
									  .p_offset = sizeof(ehdr),
									  .p_filesz = notes_len,
									  .p_align = 4};
	assert_int_equal(write(fd, p, sizeof(ehdr) + notes_len + headers_len),
			 sizeof(ehdr) + notes_len + headers_len);
	return image_identify(fd, id, NULL);
}

/* Read for each header again, these would take half a minute of CPU: the limit ends the test. */
static void test_shared_notes(void **state _unused_)
{
	struct rlimit before, few;
	struct rusage used;
	struct build_id id;

	assert_int_equal(getrusage(RUSAGE_SELF, &used), 0);
	assert_int_equal(getrlimit(RLIMIT_CPU, &before), 0);
	few = before;
	few.rlim_cur = (rlim_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + 10;
	assert_int_equal(setrlimit(RLIMIT_CPU, &few), 0);
	for (int sections = 0; sections < 2; sections++) {
		assert_int_equal(identify_shared_notes(sections, &id), 0);
		assert_int_equal(id.kind, BUILD_ID_HTLHASH);
	}
	assert_int_equal(setrlimit(RLIMIT_CPU, &before), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_notes),
		cmocka_unit_test(test_htlhash),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_second_name),
		cmocka_unit_test(test_second_name_of_none),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_shared_notes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
