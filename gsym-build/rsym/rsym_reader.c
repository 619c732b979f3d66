/* SPDX-License-Identifier: Apache-2.0 */
/* Reads functions, names and files of a table by their ids. */
#include "rsym.h"

#include "rsym_records.h"
#include "rsym_text.h"
#include "rsym_types.h"

struct rsym_reader {
	const struct rsym *t;
	struct rsym_text_reader *names, *files;
	struct rsym_text_reader *types; /* NULL until the first use */
	size_t cache_max;
};

static int no_function(const struct rsym *t, uint32_t function, struct err *err)
{
	return err_set(err, ERR_USAGE, "function %u of %u", function, t->function_count);
}

static int no_file(const struct rsym *t, uint32_t file, struct err *err)
{
	return err_set(err, ERR_USAGE, "file %u of %u", file, t->file_count);
}

static const uint8_t *function_group(const struct rsym *t, uint32_t function)
{
	return t->functions + (size_t)(function / RSYM_GROUP) * t->function_stride;
}

/* Counts the bits set in a map of a group up to and including the function's. */
static uint32_t count_through(const uint8_t *group, size_t map, uint32_t function)
{
	return bits_count(rsym_load64(group + map) &
			  (UINT64_MAX >> (RSYM_GROUP - 1 - function % RSYM_GROUP)));
}

static bool has_bit(const uint8_t *group, size_t map, uint32_t function)
{
	return rsym_load64(group + map) >> function % RSYM_GROUP & 1;
}

uint32_t rsym_name_id(const struct rsym *t, uint32_t function)
{
	const uint8_t *group = function_group(t, function);
	uint32_t id;

	if (function >= t->function_count)
		return RSYM_NONE;
	id = rsym_load32(group) +
	     count_through(group, offsetof(struct rsym_disk_functions, name), function) - 1;
	return id < t->names.count ? id : RSYM_NONE;
}

/* Finds the first line base of a function: first the group it must be in, then its bit in
 * the map. */
static bool first_line_base(const struct rsym *t, uint32_t function, struct rsym_line_base *e)
{
	uint32_t low = 0, count = (t->line_base_count + RSYM_GROUP - 1) / RSYM_GROUP, k;
	const uint8_t *group;
	struct bits_tally map;

	while (count > 1) { /* find the last group with at most `function` functions before it */
		uint32_t half = count / 2;

		if (rsym_load32(t->line_bases + (size_t)(low + half) * t->line_base_stride) <=
		    function)
			low += half;
		count -= half;
	}
	group = t->line_bases + (size_t)low * t->line_base_stride;
	k = function - rsym_load32(group);
	if (!t->line_base_count)
		return false;
	map = bits_tally(rsym_load64(group + 4));
	if (k >= bits_tally_count(&map))
		return false;
	low = low * RSYM_GROUP + bits_tally_select(&map, k);
	if (low >= t->line_base_count)
		return false;
	rsym_line_base_read(t, low, e);
	return true;
}

static bool listed_decl(const struct rsym *t, uint32_t function, struct rsym_function *ret)
{
	uint32_t low = 0, count = t->decl_count;

	while (count) {
		uint32_t half = count / 2;
		const uint8_t *p = t->decls + (size_t)(low + half) * sizeof(struct rsym_disk_decl);
		uint32_t at = rsym_load32(p);

		if (at == function) {
			ret->file = rsym_load32(p + 4);
			ret->start_line = rsym_load32(p + 8);
			return true;
		}
		if (at < function) {
			low += half + 1;
			count -= half + 1;
		} else {
			count = half;
		}
	}
	return false;
}

/* Reads the i-th entry address, which is packed in up to 64 bits. */
static uint64_t function_entry(const struct rsym *t, uint32_t i)
{
	uint64_t at = (uint64_t)i * t->entry_bits, v = bits_word(t->entries, at);

	return t->entry_base + (t->entry_bits < 64 ? bits_low(v, t->entry_bits) : v);
}

int rsym_function(const struct rsym *t, uint32_t function, struct rsym_function *ret,
		  struct err *err)
{
	const uint8_t *group;
	struct rsym_line_base e = {.file = RSYM_NONE};
	uint32_t delta;

	if (function >= t->function_count)
		return no_function(t, function, err);
	group = function_group(t, function);
	*ret = (struct rsym_function){
		.file = RSYM_NONE,
		.from_symbol =
			has_bit(group, offsetof(struct rsym_disk_functions, symbol), function),
		.has_entry = has_bit(group, offsetof(struct rsym_disk_functions, entry), function),
	};
	delta = (uint32_t)bits_get(group + sizeof(struct rsym_disk_functions),
				   function % RSYM_GROUP * t->decl_bits, t->decl_bits);
	if (delta == (UINT64_C(1) << t->decl_bits) - 1) {
		listed_decl(t, function, ret);
	} else if (!ret->from_symbol && first_line_base(t, function, &e)) {
		ret->file = e.file;
		ret->start_line = e.line - delta;
	}
	if (ret->has_entry) {
		uint32_t i =
			rsym_load32(group + 4) - 1 +
			count_through(group, offsetof(struct rsym_disk_functions, entry), function);

		ret->vaddr = i < t->entry_count ? function_entry(t, i) : 0;
	}
	return 0;
}

struct rsym_reader *rsym_reader_new(const struct rsym *t, size_t cache_max, struct err *err)
{
	struct rsym_reader *r = calloc(1, sizeof(*r));

	if (r) {
		r->t = t;
		r->cache_max = cache_max;
		r->names = rsym_text_reader_new(&t->names, cache_max);
		r->files = rsym_text_reader_new(&t->files, cache_max);
	}
	if (!r || !r->names || !r->files) {
		rsym_reader_free(r);
		err_no_memory(err);
		return NULL;
	}
	return r;
}

void rsym_reader_free(struct rsym_reader *r)
{
	if (!r)
		return;
	rsym_text_reader_free(r->names);
	rsym_text_reader_free(r->files);
	rsym_text_reader_free(r->types);
	free(r);
}

int rsym_reader_name(struct rsym_reader *r, uint32_t function, const uint8_t **ret, size_t *ret_len,
		     struct err *err)
{
	uint32_t name = rsym_name_id(r->t, function);

	if (name == RSYM_NONE)
		return no_function(r->t, function, err);
	return rsym_text_get(r->names, name, ret, ret_len, err);
}

int rsym_reader_file(struct rsym_reader *r, uint32_t file, const uint8_t **ret, size_t *ret_len,
		     struct err *err)
{
	if (file >= r->t->file_count)
		return no_file(r->t, file, err);
	return rsym_text_get(r->files, file, ret, ret_len, err);
}

uint64_t rsym_reader_unpacked_len(const struct rsym_reader *r)
{
	return rsym_text_unpacked_len(r->names) + rsym_text_unpacked_len(r->files);
}

int rsym_reader_type(struct rsym_reader *r, uint32_t function, const uint8_t **ret, size_t *ret_len,
		     struct err *err)
{
	uint32_t type = rsym_types_index(r->t, function);

	if (type == RSYM_NONE)
		return 0;
	if (!r->types)
		r->types = rsym_text_reader_new(&r->t->signatures, r->cache_max);
	if (!r->types)
		return err_no_memory(err);
	TRY(rsym_text_get(r->types, type, ret, ret_len, err));
	return 1;
}

static int append_stored_text(const struct rsym_texts *texts, uint32_t i, struct buf *out,
			      struct err *err)
{
	struct rsym_text_reader *r = rsym_text_reader_new(texts, 0);
	const uint8_t *p;
	size_t len;
	int rc;

	if (!r)
		return err_no_memory(err);
	rc = rsym_text_get(r, i, &p, &len, err);
	if (!rc && !buf_append(out, p, len))
		rc = err_full(err, out->no_memory, "text longer than the %zu bytes allowed",
			      out->max);
	rsym_text_reader_free(r);
	return rc;
}

int rsym_name(const struct rsym *t, uint32_t function, struct buf *out, struct err *err)
{
	uint32_t name = rsym_name_id(t, function);

	if (name == RSYM_NONE)
		return no_function(t, function, err);
	return append_stored_text(&t->names, name, out, err);
}

int rsym_file(const struct rsym *t, uint32_t file, struct buf *out, struct err *err)
{
	if (file >= t->file_count)
		return no_file(t, file, err);
	return append_stored_text(&t->files, file, out, err);
}
