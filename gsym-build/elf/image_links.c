/* SPDX-License-Identifier: Apache-2.0 */
/* ELF headers: System V gABI; .gnu_debuglink: GDB manual, "Separate Debug Files";
 * .gnu_debugaltlink: a name, NUL, a build id, as dwz writes it. */
#include "image_links.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "bytes.h"
#include "io.h"

struct input {
	int fd;
	uint64_t len, sections_off;
	uint32_t section_count, names_index;
	bool is_64;
};

struct section {
	uint32_t name, type;
	uint64_t flags, off, len;
};

/* The sections whose names matter are told apart by these. */
enum {
	NAME_LEN = 24
};

static int read_links_at(const struct input *in, void *p, size_t len, uint64_t off, struct err *err)
{
	if (off > in->len || len > in->len - off)
		return err_set(err, ERR_DATA, "truncated ELF: %zu bytes at %llu of %llu", len,
			       (unsigned long long)off, (unsigned long long)in->len);
	return io_read_all(io_system(), in->fd, p, len, (off_t)off, err);
}

static int read_section_header(const struct input *in, uint32_t i, struct section *ret,
			       struct err *err)
{
	Elf64_Shdr s64;
	Elf32_Shdr s32;
	int rc;

	if (in->is_64) {
		rc = read_links_at(in, &s64, sizeof(s64),
				   in->sections_off + (uint64_t)i * sizeof(s64), err);
		if (!rc)
			*ret = (struct section){s64.sh_name, s64.sh_type, s64.sh_flags,
						s64.sh_offset, s64.sh_size};
		return rc;
	}
	rc = read_links_at(in, &s32, sizeof(s32), in->sections_off + (uint64_t)i * sizeof(s32),
			   err);
	if (!rc)
		*ret = (struct section){s32.sh_name, s32.sh_type, s32.sh_flags, s32.sh_offset,
					s32.sh_size};
	return rc;
}

static int open_header(struct input *in, struct err *err)
{
	union {
		uint8_t ident[EI_NIDENT];
		Elf64_Ehdr h64;
		Elf32_Ehdr h32;
	} h = {0};
	uint32_t entry_len;
	struct stat st;
	int rc;

	if (fstat(in->fd, &st))
		return err_sys(err, errno, "stat");
	in->len = (uint64_t)st.st_size;
	if (in->len < EI_NIDENT || read_links_at(in, h.ident, EI_NIDENT, 0, err) ||
	    memcmp(h.ident, ELFMAG, SELFMAG) != 0 || h.ident[EI_DATA] != ELFDATA2LSB)
		return err_set(err, ERR_UNSUPPORTED, "not a little-endian ELF file");
	in->is_64 = h.ident[EI_CLASS] == ELFCLASS64;
	rc = read_links_at(in, &h, in->is_64 ? sizeof(h.h64) : sizeof(h.h32), 0, err);
	if (rc)
		return rc;
	in->sections_off = in->is_64 ? h.h64.e_shoff : h.h32.e_shoff;
	in->section_count = in->is_64 ? h.h64.e_shnum : h.h32.e_shnum;
	in->names_index = in->is_64 ? h.h64.e_shstrndx : h.h32.e_shstrndx;
	entry_len = in->is_64 ? h.h64.e_shentsize : h.h32.e_shentsize;
	if (!in->sections_off || !in->section_count)
		return err_set(err, ERR_UNSUPPORTED, "no section headers");
	if (entry_len != (in->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr)) ||
	    in->names_index >= in->section_count)
		return err_set(err, ERR_DATA, "damaged section headers");
	return 0;
}

/* Up to max bytes of a section. */
static size_t read_content(const struct input *in, const struct section *s, void *p, size_t max)
{
	size_t n = s->len < max ? (size_t)s->len : max;

	return read_links_at(in, p, n, s->off, NULL) ? 0 : n;
}

static void take_debug_link(const struct input *in, const struct section *s,
			    struct image_links *ret)
{
	size_t n = read_content(in, s, ret->debug_name, sizeof(ret->debug_name));

	/* A file name, not a path. */
	if (!memchr(ret->debug_name, 0, n) || strchr(ret->debug_name, '/'))
		ret->debug_name[0] = 0;
}

static void take_alt_link(const struct input *in, const struct section *s, struct image_links *ret)
{
	uint8_t content[sizeof(ret->alt_name) + BUILD_ID_MAX];
	struct bytes b = bytes_of(content, read_content(in, s, content, sizeof(content)));
	size_t len;
	const char *name = bytes_cstr(&b, &len);

	if (!name || !len || len >= sizeof(ret->alt_name) ||
	    build_id_set(&ret->alt_id, BUILD_ID_GNU, b.p, b.left, NULL))
		return;
	memcpy(ret->alt_name, name, len + 1);
}

int image_links_read(int fd, struct image_links *ret, struct err *err)
{
	struct input in = {.fd = fd};
	bool code = false, code_elsewhere = false, dwarf = false, package = false;
	struct section names;
	int rc = open_header(&in, err);

	if (!rc)
		rc = read_section_header(&in, in.names_index, &names, err);
	if (rc)
		return rc;
	*ret = (struct image_links){0};
	for (uint32_t i = 1; i < in.section_count; i++) {
		char name[NAME_LEN + 1] = {0};
		struct section s;

		rc = read_section_header(&in, i, &s, err);
		if (rc)
			return rc;
		/* The last name may be shorter than what is read of it. */
		if (s.name < names.len && names.off <= in.len) {
			uint64_t left = in.len - names.off;
			uint64_t room = left > s.name ? left - s.name : 0;

			rc = read_links_at(&in, name, room < NAME_LEN ? (size_t)room : NAME_LEN,
					   names.off + s.name, err);
			if (rc)
				return rc;
		}
		if (s.flags & SHF_EXECINSTR && s.len) {
			code = code || s.type != SHT_NOBITS;
			code_elsewhere = code_elsewhere || s.type == SHT_NOBITS;
		}
		if (s.type == SHT_NOBITS || !s.len)
			continue;
		if (!strcmp(name, ".debug_info") || !strcmp(name, ".zdebug_info"))
			dwarf = true;
		else if (!strcmp(name, ".debug_cu_index"))
			package = true;
		else if (!strcmp(name, ".gnu_debuglink"))
			take_debug_link(&in, &s, ret);
		else if (!strcmp(name, ".gnu_debugaltlink"))
			take_alt_link(&in, &s, ret);
	}
	ret->kind = package          ? IMAGE_PACKAGE
		    : code           ? (dwarf ? IMAGE_BOTH : IMAGE_EXECUTABLE)
		    : code_elsewhere ? IMAGE_DEBUG
		    : dwarf          ? IMAGE_ALT
				     : IMAGE_OTHER;
	return 0;
}
