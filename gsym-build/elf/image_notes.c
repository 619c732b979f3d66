/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uses no ELF library: a handful of bounded reads, every number checked against the file's length.
 * Notes: System V gABI "Note Section"; the build id: NT_GNU_BUILD_ID of GNU.
 */
#include "image_notes.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "bytes.h"
#include "htlhash.h"
#include "io.h"
#include "limits.h"

/* Bytes of notes that are read for one table of headers, which may be 65,535 headers of the same
 * megabyte; a real file has some kilobytes in all. A file shorter than this has no more than its
 * length of them, unless notes overlap. */
#define NOTES_MAX (16 * MIB)

struct input {
	int fd;
	uint64_t len;
	bool is_64;
	uint64_t notes_left;
	bool read_middle; /* something that the htlhash does not cover */
};

/* What we need of a program or section header, of either class. */
struct extent {
	uint32_t type;
	uint64_t off, len, align;
};

static int read_notes_at(struct input *in, void *p, size_t len, uint64_t off, struct err *err)
{
	if (off > in->len || len > in->len - off)
		return err_set(err, ERR_DATA, "truncated ELF: %zu bytes at %llu of %llu", len,
			       (unsigned long long)off, (unsigned long long)in->len);
	if (in->len > 2 * HTLHASH_END_LEN && off + len > HTLHASH_END_LEN &&
	    off < in->len - HTLHASH_END_LEN)
		in->read_middle = true;
	return io_read_all(io_system(), in->fd, p, len, (off_t)off, err);
}

/* 1 with *ret_id filled when the notes hold a build id, else 0; damaged notes count as none. */
static int notes_find(const uint8_t *p, size_t len, size_t align, struct build_id *ret_id)
{
	struct bytes in = bytes_of(p, len);

	/* Names and descriptors are padded to 4 bytes, or to 8 where the segment says so. */
	align = align == 8 ? 8 : 4;
	while (in.left >= 12) {
		uint32_t name_len = bytes_u32(&in), desc_len = bytes_u32(&in);
		uint32_t type = bytes_u32(&in);
		const uint8_t *name = bytes_take(&in, name_len);
		const uint8_t *desc;

		bytes_skip(&in, -(12 + (size_t)name_len) & (align - 1));
		desc = bytes_take(&in, desc_len);
		if (in.failed)
			return 0;
		if (type == NT_GNU_BUILD_ID && name_len == 4 && memcmp(name, "GNU", 4) == 0)
			return build_id_set(ret_id, BUILD_ID_GNU, desc, desc_len, NULL) == 0;
		if (in.left)
			bytes_skip(&in, -(size_t)desc_len & (align - 1));
	}
	return 0;
}

/* 1 found, 0 not, negative on a failed read. A note that cannot be read whole counts as none. */
static int extent_find(struct input *in, const struct extent *e, struct build_id *ret_id,
		       struct err *err)
{
	_cleanup_(freep) uint8_t *p = NULL;
	int rc;

	if (e->len < 12 || e->len > LIMIT_NOTE_LEN || e->off > in->len ||
	    e->len > in->len - e->off || e->len > in->notes_left)
		return 0;
	in->notes_left -= e->len;
	p = malloc(e->len);
	if (!p)
		return err_no_memory(err);
	rc = read_notes_at(in, p, e->len, e->off, err);
	return rc ? rc : notes_find(p, e->len, e->align, ret_id);
}

#define EXTENT_OF_PHDR(h)                                                                          \
	(struct extent)                                                                            \
	{                                                                                          \
		.type = (h).p_type, .off = (h).p_offset, .len = (h).p_filesz, .align = (h).p_align \
	}
#define EXTENT_OF_SHDR(h)                                                      \
	(struct extent)                                                        \
	{                                                                      \
		.type = (h).sh_type, .off = (h).sh_offset, .len = (h).sh_size, \
		.align = (h).sh_addralign                                      \
	}

static int table_find(struct input *in, bool sections, uint64_t off, uint32_t count,
		      uint32_t entry_len, struct build_id *ret_id, struct err *err)
{
	size_t want = sections ? (in->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr))
			       : (in->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr));

	if (!off || entry_len < want)
		return 0;
	in->notes_left = in->len < NOTES_MAX ? in->len : NOTES_MAX;
	for (uint32_t i = 0; i < count; i++) {
		struct extent e;
		union {
			Elf64_Phdr p64;
			Elf32_Phdr p32;
			Elf64_Shdr s64;
			Elf32_Shdr s32;
		} u;
		int rc;

		if (off > in->len || want > in->len - off)
			return 0;
		rc = read_notes_at(in, &u, want, off, err);
		if (rc)
			return rc;
		if (sections)
			e = in->is_64 ? EXTENT_OF_SHDR(u.s64) : EXTENT_OF_SHDR(u.s32);
		else
			e = in->is_64 ? EXTENT_OF_PHDR(u.p64) : EXTENT_OF_PHDR(u.p32);
		off += entry_len;
		if (e.type != (uint32_t)(sections ? SHT_NOTE : PT_NOTE))
			continue;
		rc = extent_find(in, &e, ret_id, err);
		if (rc)
			return rc;
	}
	return 0;
}

static int open_input(struct input *in, int fd, struct err *err)
{
	struct stat st;

	*in = (struct input){.fd = fd};
	if (fstat(fd, &st))
		return err_sys(err, errno, "stat");
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_UNSUPPORTED, "not a regular file");
	in->len = (uint64_t)st.st_size;
	if (in->len > LIMIT_ELF_FILE_LEN)
		return err_set(err, ERR_LIMIT, "file of %llu bytes; the limit is %llu",
			       (unsigned long long)in->len, (unsigned long long)LIMIT_ELF_FILE_LEN);
	return in->len < EI_NIDENT ? err_set(err, ERR_UNSUPPORTED, "not an ELF file") : 0;
}

/* 1 with the build id, 0 when there is none. */
static int read_headers(struct input *in, struct build_id *ret_id, struct err *err)
{
	union {
		uint8_t ident[EI_NIDENT];
		Elf64_Ehdr h64;
		Elf32_Ehdr h32;
	} h = {0};
	int rc = read_notes_at(in, h.ident, EI_NIDENT, 0, err);

	if (rc)
		return rc;
	if (memcmp(h.ident, ELFMAG, SELFMAG) != 0)
		return err_set(err, ERR_UNSUPPORTED, "not an ELF file");
	if (h.ident[EI_DATA] == ELFDATA2MSB)
		return err_set(err, ERR_UNSUPPORTED, "big-endian ELF is not supported");
	if (h.ident[EI_DATA] != ELFDATA2LSB ||
	    (h.ident[EI_CLASS] != ELFCLASS64 && h.ident[EI_CLASS] != ELFCLASS32))
		return err_set(err, ERR_DATA, "ELF header: unknown class or byte order");
	in->is_64 = h.ident[EI_CLASS] == ELFCLASS64;
	rc = read_notes_at(in, &h, in->is_64 ? sizeof(h.h64) : sizeof(h.h32), 0, err);
	if (rc)
		return rc;
	/* Segments first: a stripped file may have no sections. In a separate debug file they may
	 * point anywhere, so sections come second. */
	if (in->is_64) {
		rc = table_find(in, false, h.h64.e_phoff, h.h64.e_phnum, h.h64.e_phentsize, ret_id,
				err);
		if (!rc)
			rc = table_find(in, true, h.h64.e_shoff, h.h64.e_shnum, h.h64.e_shentsize,
					ret_id, err);
	} else {
		rc = table_find(in, false, h.h32.e_phoff, h.h32.e_phnum, h.h32.e_phentsize, ret_id,
				err);
		if (!rc)
			rc = table_find(in, true, h.h32.e_shoff, h.h32.e_shnum, h.h32.e_shentsize,
					ret_id, err);
	}
	return rc;
}

int image_notes_id(int fd, struct image_id *ret, struct err *err)
{
	struct input in;
	int rc = open_input(&in, fd, err);

	*ret = (struct image_id){0};
	if (!rc)
		rc = read_headers(&in, &ret->id, err);
	if (rc < 0)
		return rc;
	ret->file_len = in.len;
	ret->in_ends = rc && !in.read_middle;
	return rc;
}
