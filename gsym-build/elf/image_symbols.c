/* SPDX-License-Identifier: Apache-2.0 */
/* Reads ELF symbols as candidates for names: gABI "Symbol Table", and the GNU symbol versions. */
#include "image_priv.h"

#include <string.h>

#include "limits.h"

struct table {
	Elf_Data *data, *extended;
	size_t strings; /* section index */
	size_t count;
	Elf_Data *versions; /* .gnu.version, for .dynsym */
};

Elf_Data *image_data(const struct image *im, size_t index)
{
	const GElf_Shdr *sh = &im->parts[index].shdr;

	if (sh->sh_type == SHT_NOBITS || sh->sh_offset > im->len ||
	    sh->sh_size > im->len - sh->sh_offset)
		return NULL;
	return elf_getdata(elf_getscn(im->elf, index), NULL);
}

Elf_Data *image_extended(const struct image *im, size_t symtab)
{
	for (size_t i = 1; i < im->part_count; i++)
		if (im->parts[i].shdr.sh_type == SHT_SYMTAB_SHNDX &&
		    im->parts[i].shdr.sh_link == symtab)
			return image_data(im, i);
	return NULL;
}

size_t image_symbol_section(const struct image *im, const GElf_Sym *sym, uint32_t extended)
{
	size_t section = sym->st_shndx == SHN_XINDEX ? extended : sym->st_shndx;

	if (sym->st_shndx >= SHN_LORESERVE && sym->st_shndx != SHN_XINDEX)
		return 0;
	return section < im->part_count ? section : 0;
}

bool image_symbol_vaddr(const struct image *im, Elf_Data *symbols, Elf_Data *extended, size_t index,
			uint64_t *ret_vaddr)
{
	Elf32_Word number = 0;
	GElf_Sym sym;
	size_t section;

	if (index > INT32_MAX || !gelf_getsymshndx(symbols, extended, (int)index, &sym, &number))
		return false;
	section = image_symbol_section(im, &sym, number);
	if (!section && sym.st_shndx != SHN_ABS)
		return false;
	*ret_vaddr = sym.st_value + (section ? im->parts[section].shdr.sh_addr : 0);
	return true;
}

static bool open_symbol_table(struct image *im, uint32_t type, struct table *t)
{
	*t = (struct table){0};
	for (size_t i = 1; i < im->part_count; i++) {
		const GElf_Shdr *sh = &im->parts[i].shdr;
		size_t entry = gelf_fsize(im->elf, ELF_T_SYM, 1, EV_CURRENT);

		if (sh->sh_type != type || t->data)
			continue;
		t->data = image_data(im, i); /* a separate debug file may keep the header only */
		t->extended = image_extended(im, i);
		t->strings = sh->sh_link;
		t->count = t->data ? t->data->d_size / entry : 0;
	}
	for (size_t i = 1; i < im->part_count && type == SHT_DYNSYM; i++)
		if (im->parts[i].shdr.sh_type == SHT_GNU_versym)
			t->versions = elf_getdata(elf_getscn(im->elf, i), NULL);
	return t->count > 1;
}

/* Returns the '@' before a name's version, or NULL. Versions begin as identifiers do; linkers also
 * put an '@' and a number into the names of code that they add (e843419@0041_0000042a_1924). */
static const char *version_of(const char *name, size_t len)
{
	const char *at = memchr(name + 1, '@', len - 1), *version;

	if (!at)
		return NULL;
	version = at + 1 + (at[1] == '@');
	if (version == name + len)
		return NULL;
	return *version == '_' || ((*version | 0x20) >= 'a' && (*version | 0x20) <= 'z') ? at
											 : NULL;
}

/* Returns whether a name is a mark of ARM, AArch64 or RISC-V for the kind of bytes that follow:
 * "$a", "$d.12". */
static bool is_mapping_symbol(const char *name)
{
	return name[0] == '$' && strchr("adtx", name[1]) && name[1] &&
	       (name[2] == 0 || name[2] == '.');
}

static bool is_candidate(const struct image *im, const GElf_Sym *sym, size_t section)
{
	unsigned int type = GELF_ST_TYPE(sym->st_info);

	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return false;
	if (sym->st_shndx == SHN_UNDEF || sym->st_shndx == SHN_COMMON)
		return false;
	/* Absolute labels are constants of linker scripts; absolute functions exist. */
	if (sym->st_shndx == SHN_ABS)
		return type != STT_NOTYPE;
	/* A symbol at the end of its section in a relocatable file is outside of that section. */
	return section && im->parts[section].shdr.sh_flags & SHF_EXECINSTR &&
	       (!image_bias(im) || sym->st_value < im->parts[section].shdr.sh_size);
}

static enum symbol_binding binding_of(const GElf_Sym *sym)
{
	switch (GELF_ST_BIND(sym->st_info)) {
	case STB_LOCAL:
		return SYMBOL_LOCAL;
	case STB_WEAK:
		return SYMBOL_WEAK;
	default:
		return SYMBOL_GLOBAL;
	}
}

static int add_symbol(struct image *im, const struct table *t, size_t index,
		      struct debug_text *text, struct symbols *symbols, struct err *err)
{
	struct symbol s = {.default_version = true};
	const char *name, *at;
	Elf32_Word number = 0;
	GElf_Sym sym;
	size_t len, section;

	if (!gelf_getsymshndx(t->data, t->extended, (int)index, &sym, &number))
		return 0;
	section = image_symbol_section(im, &sym, number);
	if (!is_candidate(im, &sym, section))
		return 0;
	name = elf_strptr(im->elf, t->strings, sym.st_name);
	if (!name || !*name || is_mapping_symbol(name))
		return 0;
	len = strnlen(name, LIMIT_NAME_LEN);
	at = version_of(name, len);
	if (at) {
		s.default_version = at[1] == '@';
		len = (size_t)(at - name);
	}
	if (t->versions) {
		GElf_Versym version;

		/* The high bit hides a version from plain references. */
		if (gelf_getversym(t->versions, (int)index, &version) && version & 0x8000)
			s.default_version = false;
	}
	s.vaddr = sym.st_value;
	s.len = sym.st_size;
	s.binding = binding_of(&sym);
	s.is_function = GELF_ST_TYPE(sym.st_info) != STT_NOTYPE;
	s.name = debug_string(text, name, len);
	s.name_len = (uint32_t)len;
	/* Bit 0 of an ARM function's address says "Thumb" (AAELF32 section 5.5.3). */
	if (im->ehdr.e_machine == EM_ARM && s.is_function)
		s.vaddr &= ~UINT64_C(1);
	if (image_bias(im))
		s.vaddr += im->parts[section].shdr.sh_addr;
	if (s.name == DEBUG_NONE || !symbols_add(symbols, &s))
		return err_no_memory(err);
	return 1;
}

int image_add_symbols(struct image *im, struct debug_text *text, struct symbols *symbols,
		      uint64_t *ret_count, struct err *err)
{
	struct table t;

	*ret_count = 0;
	if (!open_symbol_table(im, SHT_SYMTAB, &t) && !open_symbol_table(im, SHT_DYNSYM, &t))
		return 0;
	if (t.count > INT32_MAX)
		return err_set(err, ERR_LIMIT, "%zu symbols", t.count);
	for (size_t i = 1; i < t.count; i++) {
		int rc = add_symbol(im, &t, i, text, symbols, err);

		if (rc < 0)
			return rc;
		*ret_count += (uint64_t)rc;
	}
	return 0;
}
