/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives each section of a relocatable file (ET_REL) an address, and applies the relocations of
 * sections that are not loaded (gABI "Relocation", and the psABI supplements named below). Linked
 * files may keep relocations of their debug sections too; the linker has applied those, and they
 * must not be applied again.
 */
#include "image_priv.h"

#include <stdio.h>
#include <string.h>

#include "bytes.h"
#include "limits.h"

enum action {
	ADDRESS = 1,  /* S + A */
	RELATIVE = 2, /* S + A - P */
	ADD = 3,      /* the present value + S + A */
	SUBTRACT = 4,
	IGNORE = 5, /* offsets of thread-local variables, and marks */
	/* These three change a ULEB128, which keeps its length. */
	SET_LEB = 6,
	ADD_LEB = 7,
	SUBTRACT_LEB = 8,
};

/* elf.h of the build machine may be older than these. */
enum {
	RISCV_SET_ULEB128 = 60,
	RISCV_SUB_ULEB128 = 61,
	LARCH_32 = 1,
	LARCH_64 = 2,
	LARCH_TLS_DTPREL32 = 8,
	LARCH_TLS_DTPREL64 = 9,
	LARCH_ADD8 = 47,
	LARCH_ADD16 = 48,
	LARCH_ADD32 = 50,
	LARCH_ADD64 = 51,
	LARCH_SUB8 = 52,
	LARCH_SUB16 = 53,
	LARCH_SUB32 = 55,
	LARCH_SUB64 = 56,
	LARCH_32_PCREL = 99,
	LARCH_ADD_ULEB128 = 107,
	LARCH_SUB_ULEB128 = 108,
	MIPS_PC32 = 248,
	BPF_64_ABS64 = 2,
	BPF_64_ABS32 = 3,
	BPF_64_NODYLD32 = 4,
};

struct rule {
	uint16_t machine;
	uint16_t type;
	uint8_t len; /* of the field, in bytes */
	uint8_t action;
};

static const struct rule rules[] = {
	/* x86-64 psABI, table 4.9 */
	{EM_X86_64, R_X86_64_64, 8, ADDRESS},
	{EM_X86_64, R_X86_64_32, 4, ADDRESS},
	{EM_X86_64, R_X86_64_32S, 4, ADDRESS},
	{EM_X86_64, R_X86_64_PC32, 4, RELATIVE},
	{EM_X86_64, R_X86_64_PC64, 8, RELATIVE},
	{EM_X86_64, R_X86_64_NONE, 0, IGNORE},
	{EM_X86_64, R_X86_64_DTPOFF32, 0, IGNORE},
	{EM_X86_64, R_X86_64_DTPOFF64, 0, IGNORE},
	/* i386 psABI, table 2.10 */
	{EM_386, R_386_32, 4, ADDRESS},
	{EM_386, R_386_PC32, 4, RELATIVE},
	{EM_386, R_386_NONE, 0, IGNORE},
	{EM_386, R_386_TLS_LDO_32, 0, IGNORE},
	/* AAELF64, section 5.7 */
	{EM_AARCH64, R_AARCH64_ABS64, 8, ADDRESS},
	{EM_AARCH64, R_AARCH64_ABS32, 4, ADDRESS},
	{EM_AARCH64, R_AARCH64_PREL64, 8, RELATIVE},
	{EM_AARCH64, R_AARCH64_PREL32, 4, RELATIVE},
	{EM_AARCH64, R_AARCH64_NONE, 0, IGNORE},
	{EM_AARCH64, R_AARCH64_TLS_DTPREL, 0, IGNORE},
	/* AAELF32, section 5.6 */
	{EM_ARM, R_ARM_ABS32, 4, ADDRESS},
	{EM_ARM, R_ARM_REL32, 4, RELATIVE},
	{EM_ARM, R_ARM_NONE, 0, IGNORE},
	{EM_ARM, R_ARM_TLS_LDO32, 0, IGNORE},
	/* RISC-V psABI, section 8.4: differences are pairs, because the linker may shorten code */
	{EM_RISCV, R_RISCV_64, 8, ADDRESS},
	{EM_RISCV, R_RISCV_32, 4, ADDRESS},
	{EM_RISCV, R_RISCV_32_PCREL, 4, RELATIVE},
	{EM_RISCV, R_RISCV_SET8, 1, ADDRESS},
	{EM_RISCV, R_RISCV_SET16, 2, ADDRESS},
	{EM_RISCV, R_RISCV_SET32, 4, ADDRESS},
	{EM_RISCV, R_RISCV_ADD8, 1, ADD},
	{EM_RISCV, R_RISCV_ADD16, 2, ADD},
	{EM_RISCV, R_RISCV_ADD32, 4, ADD},
	{EM_RISCV, R_RISCV_ADD64, 8, ADD},
	{EM_RISCV, R_RISCV_SUB8, 1, SUBTRACT},
	{EM_RISCV, R_RISCV_SUB16, 2, SUBTRACT},
	{EM_RISCV, R_RISCV_SUB32, 4, SUBTRACT},
	{EM_RISCV, R_RISCV_SUB64, 8, SUBTRACT},
	{EM_RISCV, RISCV_SET_ULEB128, 0, SET_LEB},
	{EM_RISCV, RISCV_SUB_ULEB128, 0, SUBTRACT_LEB},
	{EM_RISCV, R_RISCV_NONE, 0, IGNORE},
	/* Power ELFv2 ABI, section 3.5.3 */
	{EM_PPC64, R_PPC64_ADDR64, 8, ADDRESS},
	{EM_PPC64, R_PPC64_ADDR32, 4, ADDRESS},
	{EM_PPC64, R_PPC64_REL64, 8, RELATIVE},
	{EM_PPC64, R_PPC64_REL32, 4, RELATIVE},
	{EM_PPC64, R_PPC64_NONE, 0, IGNORE},
	{EM_PPC64, R_PPC64_DTPREL64, 0, IGNORE},
	/* LoongArch ELF psABI, section "Relocations"; differences as in RISC-V */
	{EM_LOONGARCH, LARCH_64, 8, ADDRESS},
	{EM_LOONGARCH, LARCH_32, 4, ADDRESS},
	{EM_LOONGARCH, LARCH_32_PCREL, 4, RELATIVE},
	{EM_LOONGARCH, LARCH_ADD8, 1, ADD},
	{EM_LOONGARCH, LARCH_ADD16, 2, ADD},
	{EM_LOONGARCH, LARCH_ADD32, 4, ADD},
	{EM_LOONGARCH, LARCH_ADD64, 8, ADD},
	{EM_LOONGARCH, LARCH_SUB8, 1, SUBTRACT},
	{EM_LOONGARCH, LARCH_SUB16, 2, SUBTRACT},
	{EM_LOONGARCH, LARCH_SUB32, 4, SUBTRACT},
	{EM_LOONGARCH, LARCH_SUB64, 8, SUBTRACT},
	{EM_LOONGARCH, LARCH_ADD_ULEB128, 0, ADD_LEB},
	{EM_LOONGARCH, LARCH_SUB_ULEB128, 0, SUBTRACT_LEB},
	{EM_LOONGARCH, LARCH_TLS_DTPREL32, 0, IGNORE},
	{EM_LOONGARCH, LARCH_TLS_DTPREL64, 0, IGNORE},
	{EM_LOONGARCH, 0, 0, IGNORE},
	/* MIPS ABI supplement, table 4-10, and the 64-bit one, table 31 */
	{EM_MIPS, R_MIPS_64, 8, ADDRESS},
	{EM_MIPS, R_MIPS_32, 4, ADDRESS},
	{EM_MIPS, MIPS_PC32, 4, RELATIVE},
	{EM_MIPS, R_MIPS_NONE, 0, IGNORE},
	{EM_MIPS, R_MIPS_TLS_DTPREL32, 0, IGNORE},
	{EM_MIPS, R_MIPS_TLS_DTPREL64, 0, IGNORE},
	/* LLVM, "BPF backend: relocations" */
	{EM_BPF, BPF_64_ABS64, 8, ADDRESS},
	{EM_BPF, BPF_64_ABS32, 4, ADDRESS},
	{EM_BPF, BPF_64_NODYLD32, 4, ADDRESS},
	{EM_BPF, 0, 0, IGNORE},
};

/* Gives a section the next address. At least one byte stays free behind it, so that its end is no
 * address of the next section. Returns false if there is no room. */
static bool place_part(struct image_part *part, uint64_t max, uint64_t *end)
{
	GElf_Shdr *sh = &part->shdr;
	uint64_t align = sh->sh_addralign, at = *end;

	if (!sh->sh_size)
		return true;
	if (align & (align - 1))
		align = 1;
	if (at && align > 1 && !CHECKED_ADD(at, align - 1, &at))
		return false;
	if (align > 1)
		at &= ~(align - 1);
	sh->sh_addr = IMAGE_BASE_REL + at;
	return CHECKED_ADD(at, sh->sh_size, end) && CHECKED_ADD(*end, UINT64_C(1), end) &&
	       *end <= max;
}

static int code_segments(struct image *im, struct err *err)
{
	size_t count = 0;

	for (size_t i = 1; i < im->part_count; i++)
		count += image_part_is_code(&im->parts[i]);
	if (count > LIMIT_SEGMENTS)
		return 0; /* a file of -ffunction-sections, from which nothing is ever loaded */
	free(im->segments);
	im->segment_count = 0;
	im->segments = calloc(count + 1, sizeof(*im->segments));
	if (!im->segments)
		return err_no_memory(err);
	for (size_t i = 1; i < im->part_count; i++) {
		const GElf_Shdr *sh = &im->parts[i].shdr;

		if (!image_part_is_code(&im->parts[i]) || sh->sh_type == SHT_NOBITS)
			continue;
		if (sh->sh_offset > im->len || sh->sh_size > im->len - sh->sh_offset)
			return err_set(err, ERR_DATA, "truncated ELF: section %s is cut",
				       im->parts[i].name);
		im->segments[im->segment_count++] = (struct image_segment){
			.vaddr = sh->sh_addr - IMAGE_BASE_REL,
			.mem_len = sh->sh_size,
			.file_off = sh->sh_offset,
			.file_len = sh->sh_size,
			.flags = PF_R | PF_X,
		};
	}
	return 0;
}

/* Refuses machines without rules: their debug information would be read as if all code were
 * at 0. */
static int refuse_unknown(const struct image *im, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(rules); i++)
		if (rules[i].machine == im->ehdr.e_machine)
			return 0;
	for (size_t i = 1; i < im->part_count; i++) {
		const GElf_Shdr *sh = &im->parts[i].shdr;

		if ((sh->sh_type == SHT_RELA || sh->sh_type == SHT_REL) &&
		    sh->sh_info < im->part_count &&
		    !(im->parts[sh->sh_info].shdr.sh_flags & SHF_ALLOC))
			return err_set(err, ERR_UNSUPPORTED,
				       "relocations of ELF machine %u are not supported; link it",
				       im->ehdr.e_machine);
	}
	return 0;
}

int image_lay_out(struct image *im, struct err *err)
{
	uint64_t max = (image_is_64(im) ? (uint64_t)INT64_MAX : UINT32_MAX) - IMAGE_BASE_REL;
	uint64_t end = 0;

	TRY(refuse_unknown(im, err));
	for (size_t i = 1; i < im->part_count; i++)
		im->parts[i].shdr.sh_addr = 0;
	for (int code = 1; code >= 0; code--) {
		for (size_t i = 1; i < im->part_count; i++) {
			struct image_part *part = &im->parts[i];

			if (!(part->shdr.sh_flags & SHF_ALLOC) ||
			    !!(part->shdr.sh_flags & SHF_EXECINSTR) != code)
				continue;
			if (!place_part(part, max, &end))
				return err_set(err, ERR_DATA,
					       "damaged ELF: section %s ends behind the last "
					       "address",
					       part->name);
		}
	}
	return code_segments(im, err);
}

static const struct rule *find_rule(uint16_t machine, uint32_t type)
{
	for (size_t i = 0; i < ARRAY_LEN(rules); i++)
		if (rules[i].machine == machine && rules[i].type == type)
			return &rules[i];
	return NULL;
}

static void skip_relocation(struct image *im, const struct image_part *part, uint64_t off,
			    const char *what, uint32_t number)
{
	if (im->relocations_skipped++)
		return;
	snprintf(im->relocation_skipped, sizeof(im->relocation_skipped), "%.40s at 0x%llx: %s %u",
		 part->name, (unsigned long long)off, what, number);
}

/* A table of relocations and the symbols it refers to. */
struct relocations {
	Elf_Data *data;
	Elf_Data *symbols, *extended;
	size_t count;
	bool has_addends, mips64;
};

static int open_relocations(struct image *im, size_t target, struct relocations *ret,
			    struct err *err)
{
	*ret = (struct relocations){0};
	for (size_t i = 1; i < im->part_count; i++) {
		const GElf_Shdr *sh = &im->parts[i].shdr;

		if ((sh->sh_type != SHT_RELA && sh->sh_type != SHT_REL) || sh->sh_info != target)
			continue;
		ret->has_addends = sh->sh_type == SHT_RELA;
		ret->mips64 = im->ehdr.e_machine == EM_MIPS && image_is_64(im);
		if (sh->sh_link >= im->part_count ||
		    im->parts[sh->sh_link].shdr.sh_type != SHT_SYMTAB)
			return err_set(err, ERR_DATA, "damaged ELF: section %s has no symbols",
				       im->parts[i].name);
		ret->data = image_data(im, i);
		ret->symbols = image_data(im, sh->sh_link);
		ret->extended = image_extended(im, sh->sh_link);
		if (!ret->data || !ret->symbols)
			return err_set(err, ERR_DATA, "truncated ELF: section %s is cut",
				       im->parts[i].name);
		ret->count = ret->data->d_size /
			     gelf_fsize(im->elf, ret->has_addends ? ELF_T_RELA : ELF_T_REL, 1,
					EV_CURRENT);
		/* A section has one relocation table. Reading more would let a hostile file
		 * multiply the work. */
		return ret->count > 0;
	}
	return 0;
}

/*
 * A relocation of 64-bit MIPS holds up to three operations (MIPS 64-bit ELF specification, section
 * 2.9): a symbol of 32 bits, a special symbol and three types of 8 bits each, the first type in the
 * last byte. Returns it in the form that other machines use. With one operation the type is that
 * operation; with more it is a number that no rule has, so the relocation is skipped.
 */
static uint64_t mips64_info(uint64_t info)
{
	uint32_t more = (uint32_t)(info >> 32) & 0xffffff;

	return GELF_R_INFO(info & UINT32_MAX, info >> 56 | (uint64_t)more << 8);
}

static bool get_relocation(const struct relocations *r, size_t index, GElf_Rela *ret)
{
	GElf_Rel rel;

	if (r->has_addends) {
		if (!gelf_getrela(r->data, (int)index, ret))
			return false;
	} else {
		if (!gelf_getrel(r->data, (int)index, &rel))
			return false;
		*ret = (GElf_Rela){.r_offset = rel.r_offset, .r_info = rel.r_info};
	}
	if (r->mips64)
		ret->r_info = mips64_info(ret->r_info);
	return true;
}

/* Returns whether v fits into len bytes, signed or unsigned. */
static bool value_fits(uint64_t v, size_t len)
{
	unsigned int bits = (unsigned int)len * 8;

	return bits == 64 || v >> bits == 0 || (int64_t)v >> (bits - 1) == -1;
}

/* Changes the ULEB128 at p. Returns false if it does not end within `left` bytes. */
static bool apply_leb(uint8_t *p, size_t left, uint8_t action, uint64_t v)
{
	struct bytes in = bytes_of(p, left);
	uint64_t there = bytes_uleb(&in);
	size_t len = (size_t)(in.p - p);

	if (in.failed)
		return false;
	v = action == ADD_LEB ? there + v : action == SUBTRACT_LEB ? there - v : v;
	for (size_t i = 0; i < len; i++, v >>= 7)
		p[i] = (uint8_t)((v & 0x7f) | (i + 1 < len ? 0x80 : 0));
	return true;
}

/* Applies one relocation to a section, which has len bytes when decompressed. */
static void apply_relocations(struct image *im, const struct image_part *part, size_t len,
			      const struct relocations *r, const GElf_Rela *rel)
{
	uint32_t type = (uint32_t)GELF_R_TYPE(rel->r_info);
	const struct rule *rule = find_rule(im->ehdr.e_machine, type);
	uint64_t v = 0, there = 0;
	uint8_t *field;

	if (!rule) {
		skip_relocation(im, part, rel->r_offset, "unknown relocation", type);
		return;
	}
	if (rule->action == IGNORE)
		return;
	if (rel->r_offset > len || rule->len > len - rel->r_offset) {
		skip_relocation(im, part, rel->r_offset, "behind the section's end: relocation",
				type);
		return;
	}
	/* An undefined symbol leaves the field 0, which is below every section, like addresses of
	 * dropped code. */
	if (!image_symbol_vaddr(im, r->symbols, r->extended, GELF_R_SYM(rel->r_info), &v))
		return;
	field = part->inflated + rel->r_offset;
	if (rule->action >= SET_LEB) {
		if (!apply_leb(field, len - rel->r_offset, rule->action,
			       v + (uint64_t)rel->r_addend))
			skip_relocation(im, part, rel->r_offset, "no number for relocation", type);
		return;
	}
	memcpy(&there, field, rule->len);
	v += r->has_addends ? (uint64_t)rel->r_addend : there;
	if (rule->action == RELATIVE)
		v -= part->shdr.sh_addr + rel->r_offset;
	else if (rule->action == ADD)
		v = there + v;
	else if (rule->action == SUBTRACT)
		v = there - v;
	/* Only addresses of 64-bit files are checked: other sums wrap by design, and those of
	 * 32-bit files wrap at 32 bits, but are computed in 64. */
	if (rule->action == ADDRESS && r->has_addends && image_is_64(im) &&
	    !value_fits(v, rule->len)) {
		skip_relocation(im, part, rel->r_offset, "too far for its field: relocation", type);
		return;
	}
	memcpy(field, &v, rule->len);
}

int image_relocate(struct image *im, struct image_part *part, const uint8_t *p, size_t len,
		   struct err *err)
{
	struct relocations r;
	GElf_Rela rel;
	int rc;

	if (part->relocated || part->shdr.sh_flags & SHF_ALLOC)
		return 0;
	rc = open_relocations(im, (size_t)(part - im->parts), &r, err);
	if (rc < 0)
		return rc;
	part->relocated = true;
	if (!rc)
		return 0;
	if (!part->inflated) {
		part->inflated = malloc(len + SECTION_PAD);
		if (!part->inflated)
			return err_no_memory(err);
		memcpy(part->inflated, p, len);
		memset(part->inflated + len, 0, SECTION_PAD);
	}
	for (size_t i = 0; i < r.count && i < INT32_MAX; i++)
		if (get_relocation(&r, i, &rel))
			apply_relocations(im, part, len, &r, &rel);
	return 0;
}

uint64_t image_relocations_skipped(const struct image *im, const char **ret_first)
{
	*ret_first = im->relocation_skipped;
	return im->relocations_skipped;
}
