/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names PLT stubs, which no symbol table has. A stub is known by the slot of the GOT that it jumps
 * through, and the slot by the dynamic relocation that fills it. The code patterns are those of the
 * System V ABI, x86-64 and i386 supplements, "Procedure Linkage Table"; of AAELF64, "PLT
 * sequences"; and of linkers for Intel CET (endbr, .plt.sec) and for branch target identification.
 */
#include "bisect.h"
#include "image_priv.h"

#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "bytes.h"
#include "limits.h"

enum {
	STUB_LEN = 16,       /* of x86, if the section header does not give it */
	LIMIT_STUB_LEN = 64, /* the longest stubs known have 32 bytes */
};

struct slot {
	uint64_t vaddr;
	uint32_t name;  /* with "@plt" */
	uint32_t index; /* of the relocation in .rela.plt; UINT32_MAX if it is in another section */
};

struct plt {
	struct image *im;
	struct debug_text *text;
	struct symbols *symbols;
	struct slot *slots; /* by address */
	size_t slot_count, slots_cap;
	const struct slot **by_index; /* of .rela.plt */
	uint64_t index_count;
	uint64_t got; /* base of the GOT, to which position-independent i386 code is relative */
	uint64_t added;
	bool failed; /* out of memory */
};

static void plt_done(struct plt *p)
{
	free(p->slots);
	free(p->by_index);
}

/* Returns whether a relocation fills a slot with the address of a function. */
static bool fills_slot(unsigned int machine, uint32_t type, bool *ret_indirect)
{
	static const struct {
		uint16_t machine;
		uint32_t glob_dat, jump_slot, indirect;
	} known[] = {
		{EM_X86_64, R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT, R_X86_64_IRELATIVE},
		{EM_386, R_386_GLOB_DAT, R_386_JMP_SLOT, R_386_IRELATIVE},
		{EM_AARCH64, R_AARCH64_GLOB_DAT, R_AARCH64_JUMP_SLOT, R_AARCH64_IRELATIVE},
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (known[i].machine == machine) {
			*ret_indirect = type == known[i].indirect;
			return *ret_indirect || type == known[i].glob_dat ||
			       type == known[i].jump_slot;
		}
	return false;
}

static void add_slot(struct plt *p, uint64_t vaddr, const char *name, size_t len, uint32_t index)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT(LIMIT_NAME_LEN + 8);

	buf_append(&text, name, len);
	buf_str(&text, "@plt");
	if (text.failed || !GROW(p->slots, &p->slots_cap, p->slot_count + 1, UINT32_MAX)) {
		p->failed = true;
		return;
	}
	p->slots[p->slot_count] = (struct slot){
		.vaddr = vaddr, .name = debug_string(p->text, text.p, text.len), .index = index};
	p->failed |= p->slots[p->slot_count++].name == DEBUG_NONE;
}

/* Reads one relocation, whose symbol is in section `symtab`. */
static void read_relocation(struct plt *p, const GElf_Rela *rel, Elf_Data *symbols, size_t symtab,
			    uint32_t index)
{
	const struct image *im = p->im;
	uint64_t symbol = GELF_R_SYM(rel->r_info);
	char absolute[32];
	bool indirect;
	const char *name;
	GElf_Sym sym;

	if (!fills_slot(im->ehdr.e_machine, (uint32_t)GELF_R_TYPE(rel->r_info), &indirect))
		return;
	if (!symbol && indirect) {
		/* An ifunc is resolved when the program starts. objdump gives it this name. */
		snprintf(absolute, sizeof(absolute), "*ABS*+0x%llx",
			 (unsigned long long)rel->r_addend);
		add_slot(p, rel->r_offset, absolute, strlen(absolute), index);
		return;
	}
	if (!symbols || !symbol || symbol > INT32_MAX || !gelf_getsym(symbols, (int)symbol, &sym))
		return;
	name = elf_strptr(im->elf, im->parts[symtab].shdr.sh_link, sym.st_name);
	if (name && *name)
		add_slot(p, rel->r_offset, name, strnlen(name, LIMIT_NAME_LEN), index);
}

static void read_relocations(struct plt *p, size_t section)
{
	struct image *im = p->im;
	const GElf_Shdr *sh = &im->parts[section].shdr;
	const char *name = im->parts[section].name;
	bool is_plt = strcmp(name, ".rela.plt") == 0 || strcmp(name, ".rel.plt") == 0;
	bool is_rela = sh->sh_type == SHT_RELA;
	size_t entry = gelf_fsize(im->elf, is_rela ? ELF_T_RELA : ELF_T_REL, 1, EV_CURRENT);
	Elf_Data *data = image_data(im, section);
	bool has_symbols = sh->sh_link && sh->sh_link < im->part_count;
	Elf_Data *symbols = has_symbols ? image_data(im, sh->sh_link) : NULL;

	if (!data || !entry)
		return;
	for (size_t i = 0; i < data->d_size / entry && i < INT32_MAX && !p->failed; i++) {
		GElf_Rela rela = {0};
		GElf_Rel rel;

		if (is_rela) {
			if (!gelf_getrela(data, (int)i, &rela))
				return;
		} else {
			if (!gelf_getrel(data, (int)i, &rel))
				return;
			rela.r_offset = rel.r_offset;
			rela.r_info = rel.r_info;
		}
		read_relocation(p, &rela, symbols, sh->sh_link, is_plt ? (uint32_t)i : UINT32_MAX);
		if (is_plt)
			p->index_count = i + 1;
	}
}

static int compare_plt_slots(const void *va, const void *vb)
{
	const struct slot *a = va, *b = vb;

	if (a->vaddr != b->vaddr)
		return a->vaddr < b->vaddr ? -1 : 1;
	return (a->index > b->index) - (a->index < b->index);
}

static bool read_slots(struct plt *p)
{
	for (size_t i = 1; i < p->im->part_count; i++) {
		const GElf_Shdr *sh = &p->im->parts[i].shdr;

		if ((sh->sh_type == SHT_RELA || sh->sh_type == SHT_REL) && sh->sh_flags & SHF_ALLOC)
			read_relocations(p, i);
		if (strcmp(p->im->parts[i].name, ".got.plt") == 0 ||
		    (!p->got && strcmp(p->im->parts[i].name, ".got") == 0))
			p->got = sh->sh_addr;
	}
	if (p->failed || !p->slot_count)
		return false;
	qsort(p->slots, p->slot_count, sizeof(*p->slots), compare_plt_slots);
	p->by_index = calloc(p->index_count + 1, sizeof(const struct slot *));
	p->failed = !p->by_index;
	for (size_t i = 0; i < p->slot_count && !p->failed; i++)
		if (p->slots[i].index != UINT32_MAX)
			p->by_index[p->slots[i].index] = &p->slots[i];
	return !p->failed;
}

static const struct slot *find_slot(const struct plt *p, uint64_t vaddr)
{
	size_t at = BISECT(p->slot_count, i, p->slots[i].vaddr < vaddr);

	return at < p->slot_count && p->slots[at].vaddr == vaddr ? &p->slots[at] : NULL;
}

static void add_stub(struct plt *p, uint64_t vaddr, uint64_t len, const struct slot *slot)
{
	size_t name_len;

	if (!slot || p->failed)
		return;
	intern_get(&p->text->strings, slot->name, &name_len);
	p->failed = !symbols_add(p->symbols, &(struct symbol){.vaddr = vaddr,
							      .len = len,
							      .name = slot->name,
							      .name_len = (uint32_t)name_len,
							      .is_function = true,
							      .default_version = true});
	p->added++;
}

/* Returns the slot of the x86 stub at `code`, or NULL if it is no stub. */
static const struct slot *x86_slot(const struct plt *p, const uint8_t *code, size_t len,
				   uint64_t vaddr)
{
	static const uint8_t endbr[] = {0xf3, 0x0f, 0x1e};
	bool is_64 = p->im->ehdr.e_machine == EM_X86_64;
	struct bytes in = bytes_of(code, len);
	uint8_t op, mode;
	uint32_t number;

	if (len > 4 && memcmp(code, endbr, sizeof(endbr)) == 0)
		bytes_skip(&in, 4);
	op = bytes_u8(&in);
	if (op == 0xf2) /* bnd */
		op = bytes_u8(&in);
	if (op == 0x68) { /* push of the relocation's number, or offset */
		number = bytes_u32(&in);
		if (!is_64)
			number /= (uint32_t)sizeof(Elf32_Rel);
		return !in.failed && number < p->index_count ? p->by_index[number] : NULL;
	}
	mode = bytes_u8(&in);
	number = bytes_u32(&in);
	if (in.failed || op != 0xff)
		return NULL;
	if (mode == 0x25 && is_64) /* jmp *number(%rip) */
		return find_slot(p, vaddr + (uint64_t)(in.p - code) + (uint64_t)(int32_t)number);
	if (mode == 0x25) /* jmp *number */
		return find_slot(p, number);
	if (mode == 0xa3 && !is_64) /* jmp *number(%ebx) */
		return find_slot(p, (uint32_t)(p->got + number));
	return NULL;
}

static void read_x86(struct plt *p, const GElf_Shdr *sh, const uint8_t *code, size_t len)
{
	size_t step =
		sh->sh_entsize >= 8 && sh->sh_entsize <= LIMIT_STUB_LEN ? sh->sh_entsize : STUB_LEN;

	for (size_t at = 0; at < len; at += step) {
		size_t left = len - at < step ? len - at : step;

		add_stub(p, sh->sh_addr + at, left, x86_slot(p, code + at, left, sh->sh_addr + at));
	}
}

static void read_aarch64(struct plt *p, const GElf_Shdr *sh, const uint8_t *code, size_t len)
{
	enum {
		BTI_C = 0xd503245f,
		NOP = 0xd503201f,
		BR_X17 = 0xd61f0220,
		STUB_OPS = 6, /* behind adrp, at most */
	};
	struct bytes in = bytes_of(code, len / 4 * 4);
	uint32_t before = 0;

	while (in.left >= 8) {
		uint64_t pc = sh->sh_addr + (uint64_t)(in.p - code), start = pc;
		uint32_t adrp = bytes_u32(&in), ldr;
		uint64_t page, pages;
		struct bytes ahead = in;

		if (before == BTI_C)
			start -= 4;
		before = adrp;
		ldr = bytes_u32(&ahead);
		/* adrp x16, page; ldr x17, [x16, #offset] */
		if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
			continue;
		pages = (uint64_t)(adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3);
		if (pages & 1 << 20)
			pages |= ~UINT64_C(0) << 21;
		page = (pc & ~UINT64_C(0xfff)) + (pages << 12);
		for (int i = 0; i < STUB_OPS && ahead.left; i++)
			if (bytes_u32(&ahead) == BR_X17)
				break;
		while (ahead.left) { /* skip padding up to the next stub */
			struct bytes next = ahead;

			if (bytes_u32(&next) != NOP)
				break;
			ahead = next;
		}
		add_stub(p, start, sh->sh_addr + (uint64_t)(ahead.p - code) - start,
			 find_slot(p, page + (ldr >> 10 & 0xfff) * 8));
	}
}

int image_add_plt_symbols(struct image *im, struct debug_text *text, struct symbols *symbols,
			  uint64_t *ret_count, struct err *err)
{
	static const char *const names[] = {".plt", ".plt.sec", ".plt.got", ".plt.bnd", ".iplt"};
	_cleanup_(plt_done) struct plt p = {.im = im, .text = text, .symbols = symbols};
	bool any = !image_bias(im) && read_slots(&p);

	for (size_t i = 1; i < im->part_count && any; i++) {
		const GElf_Shdr *sh = &im->parts[i].shdr;
		Elf_Data *code;
		bool is_plt = false;

		for (size_t k = 0; k < ARRAY_LEN(names); k++)
			is_plt |= strcmp(im->parts[i].name, names[k]) == 0;
		if (!is_plt || !(sh->sh_flags & SHF_EXECINSTR))
			continue;
		code = image_data(im, i);
		if (!code || !code->d_buf)
			continue;
		if (im->ehdr.e_machine == EM_AARCH64)
			read_aarch64(&p, sh, code->d_buf, code->d_size);
		else
			read_x86(&p, sh, code->d_buf, code->d_size);
	}
	*ret_count = p.added;
	return p.failed ? err_no_memory(err) : 0;
}
