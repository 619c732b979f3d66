/* SPDX-License-Identifier: Apache-2.0 */
#include "file_headers.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "io.h"

/* The length of the longest header. */
#define HEADER_MAX 64

/* The layouts of both classes. They have the same fields, except that the flags of a segment are at
 * another place. Addresses, offsets and lengths have 8 bytes in one and 4 in the other. */
static const struct class_layout {
	size_t file_header_len, segment_header_len, section_header_len;
} layouts[] = {
	[ELFCLASS32] = {sizeof(Elf32_Ehdr), sizeof(Elf32_Phdr), sizeof(Elf32_Shdr)},
	[ELFCLASS64] = {sizeof(Elf64_Ehdr), sizeof(Elf64_Phdr), sizeof(Elf64_Shdr)},
};

static const struct class_layout *layout_of(const struct file_headers *h)
{
	return &layouts[h->is_64 ? ELFCLASS64 : ELFCLASS32];
}

static uint64_t read_word(struct bytes *in, bool is_64)
{
	return is_64 ? bytes_u64(in) : bytes_u32(in);
}

int file_headers_bytes(struct file_headers *h, void *p, size_t len, uint64_t off, struct err *err)
{
	if (off > h->file_len || len > h->file_len - off)
		return err_set(err, ERR_DATA, "truncated ELF: %zu bytes at %llu of %llu", len,
			       (unsigned long long)off, (unsigned long long)h->file_len);
	if (h->ends_len && h->file_len > 2 * h->ends_len && off + len > h->ends_len &&
	    off < h->file_len - h->ends_len)
		h->read_middle = true;
	return io_read_all(io_system(), h->fd, p, len, (off_t)off, err);
}

int file_headers_check_ident(const uint8_t *ident, struct err *err)
{
	if (memcmp(ident, ELFMAG, SELFMAG) != 0)
		return err_set(err, ERR_UNSUPPORTED, "not an ELF file");
	if (ident[EI_DATA] == ELFDATA2MSB)
		return err_set(err, ERR_UNSUPPORTED, "big-endian ELF is not supported");
	if (ident[EI_DATA] != ELFDATA2LSB ||
	    (ident[EI_CLASS] != ELFCLASS64 && ident[EI_CLASS] != ELFCLASS32))
		return err_set(err, ERR_DATA, "damaged ELF: unknown class or byte order");
	return 0;
}

static int open_file(int fd, struct file_headers *ret, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st))
		return err_sys(err, errno, "stat");
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_UNSUPPORTED, "not a regular file");
	*ret = (struct file_headers){.fd = fd, .file_len = (uint64_t)st.st_size};
	return ret->file_len < EI_NIDENT ? err_set(err, ERR_UNSUPPORTED, "not an ELF file") : 0;
}

int file_headers_read(int fd, struct file_headers *ret, struct err *err)
{
	uint8_t header[HEADER_MAX];
	const struct class_layout *layout;
	struct bytes in;

	TRY(open_file(fd, ret, err));
	TRY(file_headers_bytes(ret, header, EI_NIDENT, 0, err));
	TRY(file_headers_check_ident(header, err));
	ret->is_64 = header[EI_CLASS] == ELFCLASS64;
	layout = layout_of(ret);
	TRY(file_headers_bytes(ret, header, layout->file_header_len, 0, err));
	in = bytes_of(header + EI_NIDENT, layout->file_header_len - EI_NIDENT);
	ret->type = bytes_u16(&in);
	bytes_skip(&in, 2 + 4);     /* e_machine, e_version */
	read_word(&in, ret->is_64); /* e_entry */
	ret->segments.off = read_word(&in, ret->is_64);
	ret->sections.off = read_word(&in, ret->is_64);
	bytes_skip(&in, 4 + 2); /* e_flags, e_ehsize */
	ret->segments.is_usual = bytes_u16(&in) == layout->segment_header_len;
	ret->segments.count = bytes_u16(&in);
	ret->sections.is_usual = bytes_u16(&in) == layout->section_header_len;
	ret->sections.count = bytes_u16(&in);
	ret->names_index = bytes_u16(&in);
	return 0;
}

static int read_entry(struct file_headers *h, const struct file_header_table *t, uint32_t i,
		      size_t len, uint8_t header[static HEADER_MAX], struct err *err)
{
	uint64_t at;

	if (!t->is_usual || !CHECKED_ADD(t->off, (uint64_t)i * len, &at))
		return err_set(err, ERR_DATA, "damaged ELF: header %u", i);
	return file_headers_bytes(h, header, len, at, err);
}

int file_headers_segment(struct file_headers *h, uint32_t i, struct file_header *ret,
			 struct err *err)
{
	const size_t len = layout_of(h)->segment_header_len;
	uint8_t header[HEADER_MAX];
	struct bytes in;

	TRY(read_entry(h, &h->segments, i, len, header, err));
	*ret = (struct file_header){0};
	in = bytes_of(header, len);
	ret->type = bytes_u32(&in);
	ret->flags = h->is_64 ? bytes_u32(&in) : 0;
	ret->off = read_word(&in, h->is_64);
	ret->vaddr = read_word(&in, h->is_64);
	read_word(&in, h->is_64); /* p_paddr */
	ret->len = read_word(&in, h->is_64);
	read_word(&in, h->is_64); /* p_memsz */
	if (!h->is_64)
		ret->flags = bytes_u32(&in);
	ret->align = read_word(&in, h->is_64);
	return 0;
}

int file_headers_section(struct file_headers *h, uint32_t i, struct file_header *ret,
			 struct err *err)
{
	const size_t len = layout_of(h)->section_header_len;
	uint8_t header[HEADER_MAX];
	struct bytes in;

	TRY(read_entry(h, &h->sections, i, len, header, err));
	in = bytes_of(header, len);
	ret->name = bytes_u32(&in);
	ret->type = bytes_u32(&in);
	ret->flags = read_word(&in, h->is_64);
	ret->vaddr = read_word(&in, h->is_64);
	ret->off = read_word(&in, h->is_64);
	ret->len = read_word(&in, h->is_64);
	bytes_skip(&in, 4 + 4); /* sh_link, sh_info */
	ret->align = read_word(&in, h->is_64);
	return 0;
}

size_t file_headers_content(struct file_headers *h, const struct file_header *s, void *p,
			    size_t max)
{
	const size_t n = s->len < max ? (size_t)s->len : max;

	return file_headers_bytes(h, p, n, s->off, NULL) ? 0 : n;
}

int file_headers_name(struct file_headers *h, const struct file_header *names,
		      const struct file_header *s, char *name, size_t size, struct err *err)
{
	uint64_t left;

	memset(name, 0, size);
	if (s->name >= names->len || names->off > h->file_len)
		return 0;
	left = h->file_len - names->off;
	left = left > s->name ? left - s->name : 0;
	/* The last name may be shorter than the read. */
	return file_headers_bytes(h, name, left < size - 1 ? (size_t)left : size - 1,
				  names->off + s->name, err);
}

/* Inserts a segment by file offset. Segments are in order of address, which is nearly always also
 * the order in the file. */
static void insert_segment(struct file_segments *to, const struct file_header *from)
{
	uint32_t at = to->count++;

	for (; at && to->rows[at - 1].file_off > from->off; at--)
		to->rows[at] = to->rows[at - 1];
	to->rows[at] = (struct file_segment){from->off, from->vaddr, from->len};
}

int file_headers_code_segments(int fd, struct file_segments *ret)
{
	struct file_headers h;
	struct file_header s;

	ret->count = ret->reserved = 0;
	if (file_headers_read(fd, &h, NULL))
		return -1;
	for (uint32_t i = 0; i < h.segments.count && i < LIMIT_NOTE_HEADERS; i++) {
		if (file_headers_segment(&h, i, &s, NULL))
			goto none;
		if (s.type != PT_LOAD || !(s.flags & PF_X) || !s.len)
			continue;
		if (ret->count == LIMIT_FILE_SEGMENTS)
			goto none;
		insert_segment(ret, &s);
	}
	if (ret->count && !file_segments_check(ret->rows, ret->count, NULL))
		return 0;
none:
	ret->count = 0;
	return -1;
}
