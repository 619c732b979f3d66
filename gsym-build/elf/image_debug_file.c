/* SPDX-License-Identifier: Apache-2.0 */
#include "image_debug_file.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "image_summary.h"
#include "limits.h"

#define DEBUG_ROOT   "/usr/lib/debug"
/* Names of sections that are looked at; the ones sought are short. */
#define NAME_MAX_LEN 32

struct debug_link_file {
	int fd;
	uint64_t len, sections_off, names_off, names_len;
	uint32_t count;
	bool is_64, is_object;
};

struct section {
	uint32_t name, type, link;
	uint64_t off, len, vaddr;
};

static bool read_file_at(const struct debug_link_file *f, void *p, size_t len, uint64_t off)
{
	return off <= f->len && len <= f->len - off &&
	       pread(f->fd, p, len, (off_t)off) == (ssize_t)len;
}

static bool get_section(const struct debug_link_file *f, uint32_t i, struct section *ret)
{
	Elf64_Shdr s64;
	Elf32_Shdr s32;

	if (f->is_64) {
		if (!read_file_at(f, &s64, sizeof(s64), f->sections_off + i * sizeof(s64)))
			return false;
		*ret = (struct section){s64.sh_name,   s64.sh_type, s64.sh_link,
					s64.sh_offset, s64.sh_size, s64.sh_addr};
		return true;
	}
	if (!read_file_at(f, &s32, sizeof(s32), f->sections_off + i * sizeof(s32)))
		return false;
	*ret = (struct section){s32.sh_name,   s32.sh_type, s32.sh_link,
				s32.sh_offset, s32.sh_size, s32.sh_addr};
	return true;
}

static bool open_elf(struct debug_link_file *f, int fd)
{
	union {
		uint8_t ident[EI_NIDENT];
		Elf64_Ehdr h64;
		Elf32_Ehdr h32;
	} h = {0};
	struct section names;
	struct stat st;
	uint32_t names_index, entry_len;

	*f = (struct debug_link_file){.fd = fd};
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return false;
	f->len = (uint64_t)st.st_size;
	if (!read_file_at(f, &h, sizeof(h.h32), 0) || memcmp(h.ident, ELFMAG, SELFMAG) != 0 ||
	    h.ident[EI_DATA] != ELFDATA2LSB)
		return false;
	f->is_64 = h.ident[EI_CLASS] == ELFCLASS64;
	if (f->is_64 && !read_file_at(f, &h.h64, sizeof(h.h64), 0))
		return false;
	f->is_object = (f->is_64 ? h.h64.e_type : h.h32.e_type) == ET_REL;
	f->sections_off = f->is_64 ? h.h64.e_shoff : h.h32.e_shoff;
	f->count = f->is_64 ? h.h64.e_shnum : h.h32.e_shnum;
	names_index = f->is_64 ? h.h64.e_shstrndx : h.h32.e_shstrndx;
	entry_len = f->is_64 ? h.h64.e_shentsize : h.h32.e_shentsize;
	if (!f->sections_off || f->sections_off > f->len ||
	    entry_len != (f->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr)) ||
	    names_index >= f->count || !get_section(f, names_index, &names))
		return false;
	f->names_off = names.off;
	f->names_len = names.len;
	return true;
}

static bool section_is_named(const struct debug_link_file *f, const struct section *s,
			     const char *name)
{
	size_t len = strlen(name) + 1;
	char text[NAME_MAX_LEN];

	return s->name < f->names_len && len <= sizeof(text) &&
	       read_file_at(f, text, len, f->names_off + s->name) && memcmp(text, name, len) == 0;
}

/* A section with content, by name. */
static bool find_section(const struct debug_link_file *f, const char *name, struct section *ret)
{
	for (uint32_t i = 1; i < f->count; i++)
		if (get_section(f, i, ret) && ret->type != SHT_NOBITS &&
		    section_is_named(f, ret, name))
			return true;
	return false;
}

static bool has_dwarf(const struct debug_link_file *f)
{
	struct section s;

	return find_section(f, ".debug_info", &s) || find_section(f, ".zdebug_info", &s);
}

/* The file of a candidate name, when it is the one; O_NONBLOCK: a named pipe would wait. */
static int try_open(const char *path, const struct build_id *id, const struct stat *self)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct debug_link_file f;
	struct build_id got;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || (st.st_dev == self->st_dev && st.st_ino == self->st_ino) ||
	    !open_elf(&f, fd) || !has_dwarf(&f) || image_identify(fd, &got, NULL) ||
	    !build_id_equal(&got, id))
		return -1;
	return TAKE_FD(fd);
}

static int try_link(const struct debug_link_file *f, const char *path, const struct build_id *id,
		    const struct stat *self)
{
	_cleanup_(freep) char *real = realpath(path, NULL);
	char name[NAME_MAX + 1], candidate[LIMIT_PATH_LEN];
	static const char *const places[][2] = {{"", "/"}, {"", "/.debug/"}, {DEBUG_ROOT, "/"}};
	struct section s;
	size_t len;

	if (!real || !find_section(f, ".gnu_debuglink", &s))
		return -1;
	len = s.len < sizeof(name) ? s.len : sizeof(name);
	/* A name, then padding and a checksum; a path would lead anywhere. */
	if (!read_file_at(f, name, len, s.off) || !memchr(name, 0, len) || !*name ||
	    strchr(name, '/'))
		return -1;
	*strrchr(real, '/') = 0;
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		int fd;

		if (snprintf(candidate, sizeof(candidate), "%s%s%s%s", places[i][0], real,
			     places[i][1], name) >= (int)sizeof(candidate))
			continue;
		fd = try_open(candidate, id, self);
		if (fd >= 0)
			return fd;
	}
	return -1;
}

int image_debug_file_open(int fd, const char *path, const struct build_id *id, int *ret_fd)
{
	char hex[BUILD_ID_HEX_MAX], candidate[BUILD_ID_HEX_MAX + 64];
	struct debug_link_file f;
	struct stat self;

	*ret_fd = -1;
	if (id->kind != BUILD_ID_GNU || !open_elf(&f, fd) || has_dwarf(&f) || fstat(fd, &self))
		return 0;
	build_id_hex(id, hex);
	snprintf(candidate, sizeof(candidate), DEBUG_ROOT "/.build-id/%.2s/%s.debug", hex, hex + 2);
	*ret_fd = try_open(candidate, id, &self);
	if (*ret_fd < 0)
		*ret_fd = try_link(&f, path, id, &self);
	return *ret_fd >= 0;
}

bool image_debug_file_is_separate(int fd)
{
	struct debug_link_file f;
	struct section s;

	if (!open_elf(&f, fd))
		return false;
	for (uint32_t i = 1; i < f.count; i++)
		if (get_section(&f, i, &s) && s.type == SHT_NOBITS &&
		    section_is_named(&f, &s, ".text"))
			return true;
	return false;
}

int image_debug_file_vaddr(int fd, uint64_t file_off, uint64_t *ret_vaddr)
{
	struct debug_link_file f = {.fd = fd};
	struct stat st;
	Elf64_Ehdr h;
	Elf64_Phdr p;

	/* 64-bit files only: others are looked up by their table. */
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return 0;
	f.len = (uint64_t)st.st_size;
	if (!read_file_at(&f, &h, sizeof(h), 0) || memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 ||
	    h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_phentsize != sizeof(p))
		return 0;
	for (uint32_t i = 0; i < h.e_phnum; i++) {
		if (h.e_phoff > f.len ||
		    !read_file_at(&f, &p, sizeof(p), h.e_phoff + i * sizeof(p)))
			return 0;
		if (p.p_type == PT_LOAD && file_off >= p.p_offset &&
		    file_off - p.p_offset < p.p_filesz) {
			*ret_vaddr = p.p_vaddr + (file_off - p.p_offset);
			return 1;
		}
	}
	return 0;
}

int image_debug_file_section(int fd, const char *name, struct image_debug_file_place *ret)
{
	struct debug_link_file f;
	struct section s;

	if (!open_elf(&f, fd))
		return 0;
	for (uint32_t i = 1; i < f.count; i++)
		if (get_section(&f, i, &s) && section_is_named(&f, &s, name)) {
			*ret = (struct image_debug_file_place){s.vaddr, s.len, s.off, f.is_object};
			return 1;
		}
	return 0;
}

unsigned int image_debug_file_class(int fd)
{
	uint8_t ident[EI_NIDENT];

	return pread(fd, ident, sizeof(ident), 0) == sizeof(ident) &&
			       memcmp(ident, ELFMAG, SELFMAG) == 0 && ident[EI_CLASS] == ELFCLASS32
		       ? 4
		       : 8;
}
