/* SPDX-License-Identifier: Apache-2.0 */
#include "kallsyms.h"

#include <string.h>

#include "bisect.h"
#include "bytes.h"
#include "limits.h"
#include "sort.h"

struct row {
	uint64_t vaddr;
	const char *name;
	size_t name_len;
	char type;
	bool foreign; /* of a module or a BPF program */
};

static bool parse_row(const char *p, size_t len, struct row *ret)
{
	size_t i = 0, digits;

	*ret = (struct row){0};
	for (; i < len; i++) {
		char c = p[i];
		int v = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;

		if (v < 0)
			break;
		ret->vaddr = ret->vaddr << 4 | (uint64_t)v;
	}
	digits = i;
	if ((digits != 8 && digits != 16) || len - i < 4 || p[i] != ' ' || p[i + 2] != ' ')
		return false;
	ret->type = p[i + 1];
	i += 3;
	ret->name = p + i;
	while (i < len && !is_blank(p[i]))
		i++;
	ret->name_len = (size_t)(p + i - ret->name);
	ret->foreign = i < len;
	return ret->name_len > 0 && ret->name_len <= LIMIT_NAME_LEN;
}

/* Takes one line off the front. Returns it; its length does not count the line end. */
static const char *next_kallsyms_line(struct bytes *in, size_t *ret_len)
{
	const char *line = (const char *)in->p;
	const char *end = memchr(line, '\n', in->left);

	*ret_len = end ? (size_t)(end - line) : in->left;
	bytes_skip(in, *ret_len + (end != NULL));
	return line;
}

bool kallsyms_detect(const void *p, size_t len)
{
	struct bytes in = bytes_of(p, len);
	struct row row;
	size_t line_len;
	const char *line;

	if (!len)
		return false;
	line = next_kallsyms_line(&in, &line_len);
	return parse_row(line, line_len, &row);
}

/* Returns the first of the sorted addresses above vaddr. UINT64_MAX must follow the last one. */
static uint64_t next_address_above(const uint64_t *all, size_t count, uint64_t vaddr)
{
	return all[BISECT(count, i, all[i] <= vaddr)];
}

struct parse {
	struct debug_text *text;
	struct symbols *symbols;
	uint64_t *addresses; /* of every row of the kernel itself */
	size_t count, cap;
	uint64_t text_base;
	bool has_base, any_address;
};

static int add_kallsyms_row(struct parse *s, const struct row *row, struct err *err)
{
	struct symbol sym = {
		.vaddr = row->vaddr,
		.name_len = (uint32_t)row->name_len,
		.is_function = true,
		.default_version = true,
	};

	s->any_address |= row->vaddr != 0;
	if (row->foreign)
		return 0;
	if (!GROW(s->addresses, &s->cap, s->count + 2, SIZE_MAX))
		return err_no_memory(err);
	s->addresses[s->count++] = row->vaddr;
	if (!strchr("tTwW", row->type))
		return 0;
	if (row->name_len == 5 && memcmp(row->name, "_text", 5) == 0) {
		s->text_base = row->vaddr;
		s->has_base = true;
	}
	sym.binding = row->type == 'T'                       ? SYMBOL_GLOBAL
		      : row->type == 'w' || row->type == 'W' ? SYMBOL_WEAK
							     : SYMBOL_LOCAL;
	sym.name = debug_string(s->text, row->name, row->name_len);
	if (sym.name == DEBUG_NONE || !symbols_add(s->symbols, &sym))
		return err_no_memory(err);
	return 0;
}

static int finish_kallsyms(struct parse *s, uint64_t *ret_text_base, struct err *err)
{
	if (s->count && !s->any_address)
		return err_set(err, ERR_DENIED,
			       "kallsyms: all addresses are 0: read it as root "
			       "(kernel.kptr_restrict)");
	if (!s->has_base)
		return err_set(err, ERR_DATA, "kallsyms: no symbol _text");
	qsort(s->addresses, s->count, sizeof(*s->addresses), compare_u64);
	s->addresses[s->count] = UINT64_MAX; /* ends the last symbol; there is room for it */
	for (size_t i = 0; i < s->symbols->count; i++) {
		struct symbol *sym = &s->symbols->list[i];
		uint64_t end = next_address_above(s->addresses, s->count, sym->vaddr);

		sym->len = end == UINT64_MAX ? 1 : end - sym->vaddr;
	}
	*ret_text_base = s->text_base;
	return 0;
}

int kallsyms_read(const void *p, size_t len, struct debug_text *text, struct symbols *symbols,
		  uint64_t *ret_text_base, struct err *err)
{
	struct parse s = {.text = text, .symbols = symbols};
	struct bytes in = bytes_of(p, len);
	int rc = 0;

	for (size_t number = 1; in.left && !rc; number++) {
		size_t line_len;
		const char *line = next_kallsyms_line(&in, &line_len);
		struct row row;

		if (!line_len)
			continue;
		if (!parse_row(line, line_len, &row))
			rc = err_set(err, ERR_DATA, "kallsyms: line %zu is not 'address type name'",
				     number);
		else
			rc = add_kallsyms_row(&s, &row, err);
	}
	if (!rc)
		rc = finish_kallsyms(&s, ret_text_base, err);
	free(s.addresses);
	return rc;
}
