/* SPDX-License-Identifier: Apache-2.0 */
#include "build_reports.h"

#include <string.h>

#include "binary_meta.h"
#include "bytes.h"
#include "limits.h"
#include "rsym_report.h"

#define KIND(name) RAWSTACK__V1__BINARY_KIND__BINARY_KIND_##name

enum {
	MISSING_MAX = 4
};

/* --- what would make it better --------------------------------------------------------------- */

static bool report_misses_file(const Rawstack__V1__BuildReport *r, Rawstack__V1__BinaryKind kind)
{
	for (size_t i = 0; i < r->n_missing; i++)
		if (r->missing[i]->kind == kind)
			return true;
	return false;
}

int build_score(const Rawstack__V1__BuildReport *r)
{
	return 4 * r->has_dwarf + 2 * r->has_segments +
	       !(report_misses_file(r, KIND(ALT)) || report_misses_file(r, KIND(DWP)));
}

static bool add_missing(Rawstack__V1__BuildReport *r, struct arena *arena,
			Rawstack__V1__BinaryKind kind, const struct build_id *id, const char *name)
{
	Rawstack__V1__Companion *c = arena_alloc(arena, sizeof(*c));

	if (!c)
		return false;
	rawstack__v1__companion__init(c);
	c->kind = kind;
	c->build_id.data = (uint8_t *)arena_copy(arena, id->bytes, id->len);
	c->build_id.len = id->len;
	c->name.len = strlen(name);
	c->name.data = (uint8_t *)arena_copy(arena, name, c->name.len);
	r->missing[r->n_missing++] = c;
	return c->build_id.data && c->name.data;
}

/* Adds the companion files that the worker did not find. */
static bool add_companions(Rawstack__V1__BuildReport *r, struct arena *arena,
			   const struct build_id *id, const struct buf *missing)
{
	struct bytes in = bytes_of(missing->p, missing->len);
	uint32_t link_len = bytes_u32(&in);
	struct bytes link = bytes_of(in.p, link_len <= in.left ? link_len : 0);
	struct build_id alt = {0};
	const char *dir, *name;
	size_t len;

	bytes_skip(&in, link_len);
	name = bytes_cstr(&link, &len);
	if (!link.failed && len && len < LIMIT_PATH_LEN) {
		build_id_set(&alt, BUILD_ID_GNU, link.p, link.left, NULL);
		if (!add_missing(r, arena, KIND(ALT), &alt, name))
			return false;
	}
	dir = bytes_cstr(&in, &len);
	name = bytes_cstr(&in, &len);
	return in.failed || !dir || len >= LIMIT_PATH_LEN ||
	       add_missing(r, arena, KIND(DWP), id, name);
}

/* --- reports --------------------------------------------------------------------------------- */

int build_report_made(const struct rsym *table, const struct build_said *said, struct arena *arena,
		      Rawstack__V1__BuildReport **ret, struct err *err)
{
	const char *skipped = said->report->skipped;
	ProtobufCBinaryData *why = arena_alloc(arena, sizeof(*why));
	Rawstack__V1__BuildReport *r = arena_alloc(arena, sizeof(*r));
	char *copy = arena_copy(arena, skipped, strlen(skipped));
	bool fits;

	if (!why || !r || !copy)
		return err_no_memory(err);
	binary_meta_report(r, said->report, said->input_len, table->generation, why);
	*why = binary_meta_text(copy);
	r->missing = arena_array(arena, MISSING_MAX, sizeof(r->missing[0]));
	r->table_bytes = table->len;
	r->builder_version = TABLE_BUILDER_VERSION;
	fits = r->missing && add_companions(r, arena, &table->id, said->missing);
	if (fits && !said->is_kallsyms && !r->has_segments)
		fits = add_missing(r, arena, KIND(EXECUTABLE), &table->id, "");
	if (fits && !said->is_kallsyms && !r->has_dwarf)
		fits = add_missing(r, arena, KIND(DEBUG), &table->id, "");
	*ret = r;
	return fits ? 0 : err_no_memory(err);
}

int build_report_kept(uint64_t input_len, struct arena *arena, Rawstack__V1__BuildReport **ret,
		      struct err *err)
{
	Rawstack__V1__BuildReport *r = arena_alloc(arena, sizeof(*r));

	if (!r)
		return err_no_memory(err);
	rawstack__v1__build_report__init(r);
	r->input_bytes = input_len;
	*ret = r;
	return 0;
}

int build_report_taken(const struct rsym *table, struct arena *arena,
		       Rawstack__V1__BuildReport **ret, struct err *err)
{
	Rawstack__V1__BuildReport *r = arena_alloc(arena, sizeof(*r));
	struct rsym_report said;

	if (!r)
		return err_no_memory(err);
	rawstack__v1__build_report__init(r);
	r->client_built = true;
	r->functions = table->function_count;
	r->ranges = table->range_count;
	r->files = table->file_count;
	r->has_dwarf = (table->flags & RSYM_HAS_DWARF) != 0;
	r->has_segments = (table->flags & RSYM_HAS_SEGMENTS) != 0;
	r->table_bytes = r->input_bytes = table->len;
	r->generation = table->generation;
	r->builder_version = TABLE_BUILDER_VERSION;
	if (rsym_report_read(table, &said)) {
		r->units = said.unit_count;
		r->units_skipped = said.units_skipped;
		r->symbols = said.symbol_count;
		r->inline_nodes = said.inline_count;
		r->input_bytes = said.input_len;
	}
	*ret = r;
	return 0;
}
