/* SPDX-License-Identifier: Apache-2.0 */
#include "image_debug_file.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "file_headers.h"
#include "image_summary.h"
#include "limits.h"

#define DEBUG_ROOT   "/usr/lib/debug"
/* Bytes of a section name that are compared; the wanted names are shorter. */
#define NAME_MAX_LEN 32

/* A file, and the names of its sections. */
struct debug_link_file {
	struct file_headers h;
	struct file_header names;
};

static bool open_elf(struct debug_link_file *f, int fd)
{
	return !file_headers_read(fd, &f->h, NULL) && f->h.sections.off &&
	       f->h.names_index < f->h.sections.count &&
	       !file_headers_section(&f->h, f->h.names_index, &f->names, NULL);
}

static bool is_named(struct debug_link_file *f, const struct file_header *s, const char *name)
{
	char text[NAME_MAX_LEN];

	return !file_headers_name(&f->h, &f->names, s, text, sizeof(text), NULL) &&
	       strcmp(text, name) == 0;
}

/* Finds a section by name; optionally only one with content. */
static bool find_section(struct debug_link_file *f, const char *name, bool must_have_content,
			 struct file_header *ret)
{
	for (uint32_t i = 1; i < f->h.sections.count; i++)
		if (!file_headers_section(&f->h, i, ret, NULL) &&
		    !(must_have_content && ret->type == SHT_NOBITS) && is_named(f, ret, name))
			return true;
	return false;
}

static bool has_dwarf(struct debug_link_file *f)
{
	struct file_header s;

	return find_section(f, ".debug_info", true, &s) ||
	       find_section(f, ".zdebug_info", true, &s);
}

/* Opens a candidate if it is the debug file. O_NONBLOCK keeps a named pipe from waiting. */
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

static int try_link(struct debug_link_file *f, const char *path, const struct build_id *id,
		    const struct stat *self)
{
	_cleanup_(freep) char *real = realpath(path, NULL);
	char name[NAME_MAX + 1], candidate[LIMIT_PATH_LEN];
	static const char *const places[][2] = {{"", "/"}, {"", "/.debug/"}, {DEBUG_ROOT, "/"}};
	struct file_header s;
	size_t len;

	if (!real || !find_section(f, ".gnu_debuglink", true, &s))
		return -1;
	len = file_headers_content(&f->h, &s, name, sizeof(name));
	/* The section holds a name, padding and a checksum. A path is refused, since it could lead
	 * anywhere. */
	if (!len || !memchr(name, 0, len) || !*name || strchr(name, '/'))
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
	struct file_header s;

	if (!open_elf(&f, fd))
		return false;
	for (uint32_t i = 1; i < f.h.sections.count; i++)
		if (!file_headers_section(&f.h, i, &s, NULL) && s.type == SHT_NOBITS &&
		    is_named(&f, &s, ".text"))
			return true;
	return false;
}

int image_debug_file_vaddr(int fd, uint64_t file_off, uint64_t *ret_vaddr)
{
	struct file_headers h;
	struct file_header p;

	/* Only 64-bit files are handled here; others are looked up by their table. */
	if (file_headers_read(fd, &h, NULL) || !h.is_64)
		return 0;
	for (uint32_t i = 0; i < h.segments.count; i++) {
		if (file_headers_segment(&h, i, &p, NULL))
			return 0;
		if (p.type == PT_LOAD && file_off >= p.off && file_off - p.off < p.len) {
			*ret_vaddr = p.vaddr + (file_off - p.off);
			return 1;
		}
	}
	return 0;
}

int image_debug_file_section(int fd, const char *name, struct image_debug_file_place *ret)
{
	struct debug_link_file f;
	struct file_header s;

	if (!open_elf(&f, fd) || !find_section(&f, name, false, &s))
		return 0;
	*ret = (struct image_debug_file_place){s.vaddr, s.len, s.off, f.h.type == ET_REL};
	return 1;
}

unsigned int image_debug_file_class(int fd)
{
	struct file_headers h;

	return !file_headers_read(fd, &h, NULL) && !h.is_64 ? 4 : 8;
}
