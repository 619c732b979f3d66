/* SPDX-License-Identifier: Apache-2.0 */
#include "image_priv.h"

#include <string.h>
#include <sys/mman.h>

#include "buf.h"
#include "bytes.h"
#include "file_headers.h"
#include "inflate.h"
#include "limits.h"

/* elf.h of the build machine may be older than zstd in ELF (gABI, 2022). */
#define COMPRESS_ZSTD 2

static int image_library_failed(const char *what, struct err *err)
{
	const char *why = elf_errmsg(-1);

	return err_set(err, ERR_DATA, "damaged ELF: %s: %s", what, why ? why : "unknown reason");
}

/* Checks the identification bytes before libelf sees the file. */
static int check_ident(const uint8_t *p, size_t len, struct err *err)
{
	if (len < EI_NIDENT)
		return err_set(err, ERR_UNSUPPORTED, "not an ELF file");
	TRY(file_headers_check_ident(p, err));
	if (p[EI_VERSION] != EV_CURRENT)
		return err_set(err, ERR_DATA, "damaged ELF: unknown version");
	if (len < (p[EI_CLASS] == ELFCLASS64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr)))
		return err_set(err, ERR_DATA, "truncated ELF: the file header is cut");
	return 0;
}

/* libelf treats a header table behind the end of the file as absent; such a file must be reported
 * as truncated. */
static int check_tables(struct image *im, struct err *err)
{
	uint64_t entry = im->ehdr.e_shentsize, count = im->ehdr.e_shnum, end;

	if (im->ehdr.e_shoff && !count)
		count = 1; /* the real number is in the first header */
	if (im->ehdr.e_shoff &&
	    (!CHECKED_ADD(im->ehdr.e_shoff, entry * count, &end) || end > im->len))
		return err_set(err, ERR_DATA,
			       "truncated ELF: section headers at %llu, the file ends at %zu",
			       (unsigned long long)im->ehdr.e_shoff, im->len);
	entry = im->ehdr.e_phentsize;
	if (im->ehdr.e_phoff &&
	    (!CHECKED_ADD(im->ehdr.e_phoff, entry * im->ehdr.e_phnum, &end) || end > im->len))
		return err_set(err, ERR_DATA,
			       "truncated ELF: program headers at %llu, the file ends at %zu",
			       (unsigned long long)im->ehdr.e_phoff, im->len);
	return 0;
}

static int read_segments(struct image *im, struct err *err)
{
	size_t count;

	if (elf_getphdrnum(im->elf, &count))
		return image_library_failed("program headers", err);
	im->segments = calloc(count + 1, sizeof(*im->segments));
	if (!im->segments)
		return err_no_memory(err);
	for (size_t i = 0; i < count && im->segment_count < LIMIT_SEGMENTS; i++) {
		GElf_Phdr ph;
		uint64_t end;

		if (!gelf_getphdr(im->elf, (int)i, &ph))
			return image_library_failed("program header", err);
		if (ph.p_type != PT_LOAD)
			continue;
		if (ph.p_filesz > ph.p_memsz || !CHECKED_ADD(ph.p_vaddr, ph.p_memsz, &end) ||
		    !CHECKED_ADD(ph.p_offset, ph.p_filesz, &end))
			return err_set(err, ERR_DATA, "damaged ELF: program header %zu", i);
		im->segments[im->segment_count++] = (struct image_segment){
			.vaddr = ph.p_vaddr,
			.mem_len = ph.p_memsz,
			.file_off = ph.p_offset,
			.file_len = ph.p_filesz,
			.flags = ph.p_flags & (PF_X | PF_W | PF_R),
		};
	}
	return 0;
}

static int read_sections(struct image *im, struct err *err)
{
	size_t names, count;
	bool code = false, code_kept = false;

	if (elf_getshdrnum(im->elf, &count))
		return image_library_failed("section headers", err);
	if (count > LIMIT_ELF_SECTIONS)
		return err_set(err, ERR_LIMIT, "%zu sections; the limit is %llu", count,
			       (unsigned long long)LIMIT_ELF_SECTIONS);
	im->parts = calloc(count + 1, sizeof(*im->parts));
	if (!im->parts)
		return err_no_memory(err);
	if (!count)
		return 0;
	if (elf_getshdrstrndx(im->elf, &names))
		return image_library_failed("section names", err);
	im->part_count = count;
	for (size_t i = 1; i < count; i++) {
		struct image_part *part = &im->parts[i];
		Elf_Scn *scn = elf_getscn(im->elf, i);

		if (!scn || !gelf_getshdr(scn, &part->shdr))
			return image_library_failed("section header", err);
		part->name = elf_strptr(im->elf, names, part->shdr.sh_name);
		if (!part->name)
			part->name = "";
		if (part->shdr.sh_flags & SHF_EXECINSTR && part->shdr.sh_flags & SHF_ALLOC) {
			code = true;
			code_kept |= part->shdr.sh_type != SHT_NOBITS;
		}
	}
	im->debug_only = code && !code_kept;
	return 0;
}

int image_open(struct image **ret, const void *p, size_t len, struct err *err)
{
	_cleanup_(image_freep) struct image *im = NULL;

	TRY(check_ident(p, len, err));
	im = calloc(1, sizeof(*im));
	if (!im)
		return err_no_memory(err);
	im->p = p;
	im->len = len;
	elf_version(EV_CURRENT);
	/* libelf does not write to an image of our own byte order, though its prototype lacks a
	 * const. */
	im->elf = elf_memory((char *)(uintptr_t)p, len);
	if (!im->elf || elf_kind(im->elf) != ELF_K_ELF || !gelf_getehdr(im->elf, &im->ehdr))
		return image_library_failed("file header", err);
	if (im->ehdr.e_type == ET_CORE)
		return err_set(err, ERR_UNSUPPORTED, "a core dump is not a program");
	if (im->ehdr.e_type < ET_REL || im->ehdr.e_type > ET_DYN)
		return err_set(err, ERR_UNSUPPORTED,
			       "ELF type %u is no program, library or object file",
			       im->ehdr.e_type);
	TRY(check_tables(im, err));
	TRY(read_segments(im, err));
	TRY(read_sections(im, err));
	if (im->ehdr.e_type == ET_REL)
		TRY(image_lay_out(im, err));
	*ret = TAKE_PTR(im);
	return 0;
}

static void free_parts(struct image *im)
{
	for (size_t i = 0; i < im->part_count; i++) {
		struct image_part *part = &im->parts[i];

		free(part->inflated);
		free(part->joined);
		part->inflated = part->joined = NULL;
		part->relocated = false;
	}
}

void image_free(struct image *im)
{
	if (!im)
		return;
	free_parts(im);
	free(im->parts);
	free(im->segments);
	elf_end(im->elf);
	free(im);
}

bool image_is_64(const struct image *im)
{
	return im->ehdr.e_ident[EI_CLASS] == ELFCLASS64;
}

uint64_t image_bias(const struct image *im)
{
	return im->ehdr.e_type == ET_REL ? IMAGE_BASE_REL : 0;
}

bool image_is_debug_only(const struct image *im)
{
	return im->debug_only;
}

const struct image_segment *image_segments(const struct image *im, size_t *ret_count)
{
	*ret_count = im->segment_count;
	return im->segments;
}

int image_code_section(const struct image *im, size_t *index, struct image_code_section *ret)
{
	while (image_bias(im) && ++*index < im->part_count) {
		const struct image_part *part = &im->parts[*index];

		if (!image_part_is_code(part))
			continue;
		*ret = (struct image_code_section){.name = part->name,
						   .vaddr = part->shdr.sh_addr - IMAGE_BASE_REL,
						   .len = part->shdr.sh_size};
		return 1;
	}
	return 0;
}

int image_add_code(const struct image *im, struct interval_overlay *code, struct err *err)
{
	bool ok = true;

	for (size_t i = 1; i < im->part_count; i++) {
		const GElf_Shdr *sh = &im->parts[i].shdr;
		uint64_t end;

		if (!image_part_is_code(&im->parts[i]))
			continue;
		if (!CHECKED_ADD(sh->sh_addr, sh->sh_size, &end))
			end = UINT64_MAX;
		ok = ok && interval_overlay_add(code, sh->sh_addr, end, i, 0);
	}
	for (size_t i = 0; !code->count && i < im->segment_count; i++) {
		const struct image_segment *s = &im->segments[i];

		if (s->flags & PF_X)
			ok = ok &&
			     interval_overlay_add(code, s->vaddr, s->vaddr + s->mem_len, i, 0);
	}
	return ok ? 0 : err_no_memory(err);
}

/* Finds the stream inside a compressed section: gABI "Compressed sections", or the older GNU form
 * ".zdebug_*", which is "ZLIB" | u64 size, big-endian | stream. */
static int find_stream(struct image *im, const struct image_part *part, struct image_packed *ret,
		       struct err *err)
{
	struct bytes in = bytes_of(ret->p, ret->len);

	ret->kind = INFLATE_ZLIB;
	ret->plain_len = 0;
	if (!(part->shdr.sh_flags & SHF_COMPRESSED)) {
		const uint8_t *magic = bytes_take(&in, 4);

		if (!magic || memcmp(magic, "ZLIB", 4) != 0)
			return err_set(err, ERR_DATA, "no ZLIB header");
		for (int i = 0; i < 8; i++)
			ret->plain_len = ret->plain_len << 8 | bytes_u8(&in);
	} else {
		uint32_t type = bytes_u32(&in);

		if (image_is_64(im)) {
			bytes_u32(&in); /* reserved */
			ret->plain_len = bytes_u64(&in);
			bytes_u64(&in); /* alignment */
		} else {
			ret->plain_len = bytes_u32(&in);
			bytes_u32(&in);
		}
		if (type != ELFCOMPRESS_ZLIB && type != COMPRESS_ZSTD)
			return err_set(err, ERR_UNSUPPORTED, "unknown compression %u", type);
		ret->kind = type == ELFCOMPRESS_ZLIB ? INFLATE_ZLIB : INFLATE_ZSTD;
	}
	if (in.failed)
		return err_set(err, ERR_DATA, "its compression header is cut");
	ret->p = in.p;
	ret->len = in.left;
	return 0;
}

static int part_packed(struct image *im, const struct image_part *part, struct image_packed *ret,
		       struct err *err)
{
	const GElf_Shdr *sh = &part->shdr;
	int rc;

	if (sh->sh_type == SHT_NOBITS || !sh->sh_size)
		return 0;
	if (sh->sh_offset > im->len || sh->sh_size > im->len - sh->sh_offset)
		return err_set(
			err, ERR_DATA, "truncated ELF: section %s ends at %llu, the file at %zu",
			part->name, (unsigned long long)sh->sh_offset + sh->sh_size, im->len);
	if (sh->sh_size > LIMIT_SECTION_LEN)
		return err_set(err, ERR_LIMIT, "section %s is too long", part->name);
	*ret = (struct image_packed){
		.p = im->p + sh->sh_offset, .len = sh->sh_size, .plain_len = sh->sh_size};
	if (strncmp(part->name, ".zdebug_", 8) == 0 || sh->sh_flags & SHF_COMPRESSED) {
		rc = find_stream(im, part, ret, err);
		if (rc)
			return err_prefix(err, "section %s", part->name);
	}
	return ret->plain_len != 0;
}

static bool part_is_named(const struct image_part *part, const char *name)
{
	return strcmp(part->name, name) == 0 ||
	       (strncmp(part->name, ".zdebug_", 8) == 0 && strncmp(name, ".debug_", 7) == 0 &&
		strcmp(part->name + 8, name + 7) == 0);
}

/* Returns the next section of that name behind `after`, or the first if `after` is NULL; NULL if
 * there is none. */
static struct image_part *find_part(const struct image *im, const char *name,
				    const struct image_part *after)
{
	for (size_t i = after ? (size_t)(after - im->parts) + 1 : 1; i < im->part_count; i++)
		if (part_is_named(&im->parts[i], name))
			return &im->parts[i];
	return NULL;
}

/*
 * A compiler puts each type unit into a section of its own, in a COMDAT group, so files that are
 * not linked (relocatable and .dwo files) have many sections of one name. Nothing outside refers to
 * offsets in such a section, so they can be concatenated.
 */
static bool is_split_by_units(const struct image *im, const char *name,
			      const struct image_part *part)
{
	return (strncmp(name, ".debug_info", 11) == 0 || strncmp(name, ".debug_types", 12) == 0) &&
	       find_part(im, name, part);
}

int image_section_packed(struct image *im, const char *name, struct image_packed *ret,
			 struct err *err)
{
	const struct image_part *part = find_part(im, name, NULL);

	*ret = (struct image_packed){0};
	if (part && (image_bias(im) || is_split_by_units(im, name, part))) {
		/* Relocating or joining needs the whole content. */
		int rc = image_section(im, name, &ret->p, &ret->len, err);

		ret->plain_len = ret->len;
		return rc;
	}
	return part ? part_packed(im, part, ret, err) : 0;
}

static int part_content(struct image *im, struct image_part *part, const uint8_t **ret_p,
			size_t *ret_len, struct err *err)
{
	struct image_packed packed;
	int rc = part_packed(im, part, &packed, err);

	if (rc <= 0)
		return rc;
	*ret_p = packed.p;
	*ret_len = packed.plain_len;
	if (packed.kind != INFLATE_NONE && !part->inflated) {
		rc = inflate_bytes(packed.kind, packed.p, packed.len, packed.plain_len,
				   &part->inflated, err);
		if (rc)
			return err_prefix(err, "section %s", part->name);
	}
	if (image_bias(im))
		TRY(image_relocate(im, part, packed.p, packed.plain_len, err));
	if (part->inflated)
		*ret_p = part->inflated;
	return 1;
}

/* Concatenates the sections of that name into first->joined. Returns 1, or 0 if all are empty, or a
 * negative error. */
static int join_parts(struct image *im, const char *name, struct image_part *first, struct err *err)
{
	_cleanup_(buf_done) struct buf all = BUF_INIT(LIMIT_SECTION_LEN);

	for (struct image_part *part = first; part; part = find_part(im, name, part)) {
		const uint8_t *p;
		size_t len;
		int rc = part_content(im, part, &p, &len, err);

		if (rc < 0)
			return rc;
		if (rc)
			buf_append(&all, p, len);
		free(part->inflated);
		part->inflated = NULL;
		part->relocated = false;
	}
	first->joined_len = all.len;
	buf_append(&all, (const uint8_t[SECTION_PAD]){0}, SECTION_PAD);
	if (all.failed)
		return err_full(err, all.no_memory, "sections %s: more than %llu bytes", name,
				(unsigned long long)LIMIT_SECTION_LEN);
	first->joined = TAKE_PTR(all.p);
	return first->joined_len != 0;
}

int image_section(struct image *im, const char *name, const uint8_t **ret_p, size_t *ret_len,
		  struct err *err)
{
	struct image_part *part = find_part(im, name, NULL);
	int rc;

	if (!part)
		return 0;
	if (!is_split_by_units(im, name, part))
		return part_content(im, part, ret_p, ret_len, err);
	rc = part->joined ? part->joined_len != 0 : join_parts(im, name, part, err);
	if (rc <= 0)
		return rc;
	*ret_p = part->joined;
	*ret_len = part->joined_len;
	return 1;
}

void image_forget(struct image *im)
{
	free_parts(im);
	image_drop(im, im->p, im->len);
}

void image_set_mapped(struct image *im)
{
	im->mapped = true;
}

void image_drop(const struct image *im, const uint8_t *p, size_t len)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t first = ((uintptr_t)p + page - 1) & ~(page - 1);
	uintptr_t end = ((uintptr_t)p + len) & ~(page - 1);

	/* Only mapped bytes can be read again; copied or decompressed ones would be lost. A failure
	 * only costs memory. */
	if (im->mapped && first < end && p >= im->p && p < im->p + im->len)
		(void)madvise((void *)first, end - first, MADV_DONTNEED);
}
