/* SPDX-License-Identifier: Apache-2.0 */
#include "batch_check.h"

#include "build_id.h"
#include "limits.h"

static int field_over(const char *field, size_t count, uint64_t limit, struct err *err)
{
	return err_set(err, ERR_DATA, "%s: %zu, at most %llu", field, count,
		       (unsigned long long)limit);
}

static int field_unequal(const char *field, size_t count, size_t want, struct err *err)
{
	return err_set(err, ERR_DATA, "%s: %zu values in a table of %zu rows", field, count, want);
}

static int out_of_range(const char *field, size_t at, uint64_t value, size_t count, struct err *err)
{
	return err_set(err, ERR_DATA, "%s[%zu]: %llu, there are %zu", field, at,
		       (unsigned long long)value, count);
}

bool batch_kind_has_module(int kind)
{
	return kind == RAWSTACK__V1__LOCATION_KIND__LOCATION_KIND_FILE_OFF ||
	       kind == RAWSTACK__V1__LOCATION_KIND__LOCATION_KIND_KERNEL_TEXT ||
	       kind == RAWSTACK__V1__LOCATION_KIND__LOCATION_KIND_KERNEL_MODULE ||
	       kind == RAWSTACK__V1__LOCATION_KIND__LOCATION_KIND_VADDR;
}

static bool has_string(int kind)
{
	return kind == RAWSTACK__V1__LOCATION_KIND__LOCATION_KIND_KERNEL_MODULE ||
	       kind == RAWSTACK__V1__LOCATION_KIND__LOCATION_KIND_HOST_NAMED;
}

static int check_locations(const Rawstack__V1__Locations *l, size_t module_count,
			   size_t string_count, struct err *err)
{
	const struct {
		const char *field;
		size_t count;
		bool optional;
	} columns[] = {
		{"locations.module", l->n_module, false},
		{"locations.address", l->n_address, false},
		{"locations.mode", l->n_mode, true},
		{"locations.string", l->n_string, true},
		{"locations.reason", l->n_reason, true},
		{"locations.weight", l->n_weight, true},
	};
	size_t rows = l->n_kind;

	if (rows > LIMIT_BATCH_LOCATIONS)
		return field_over("locations", rows, LIMIT_BATCH_LOCATIONS, err);
	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		if (columns[i].count != rows && !(columns[i].optional && !columns[i].count))
			return field_unequal(columns[i].field, columns[i].count, rows, err);
	for (size_t i = 0; i < rows; i++) {
		int kind = (int)l->kind[i];

		if (batch_kind_has_module(kind) && l->module[i] >= module_count)
			return out_of_range("locations.module", i, l->module[i], module_count, err);
		if (has_string(kind) && !l->n_string)
			return err_set(err, ERR_DATA,
				       "locations.string: empty, and locations.kind[%zu] has one",
				       i);
		if (has_string(kind) && l->string[i] >= string_count)
			return out_of_range("locations.string", i, l->string[i], string_count, err);
	}
	return 0;
}

static int check_stacks(const Rawstack__V1__Stacks *s, size_t location_count, struct err *err)
{
	uint64_t total = 0;

	if (s->n_flags && s->n_flags != s->n_count)
		return field_unequal("stacks.flags", s->n_flags, s->n_count, err);
	for (size_t i = 0; i < s->n_count; i++)
		total += s->count[i];
	if (total != s->n_location)
		return field_unequal("stacks.location", s->n_location, total, err);
	for (size_t i = 0; i < s->n_location; i++)
		if (s->location[i] >= location_count)
			return out_of_range("stacks.location", i, s->location[i], location_count,
					    err);
	return 0;
}

static int check_samples(const Rawstack__V1__Samples *s, size_t stack_count, struct err *err)
{
	if (s->n_unix_ns && s->n_unix_ns != s->n_stack)
		return field_unequal("samples.unix_ns", s->n_unix_ns, s->n_stack, err);
	if (s->n_weight && s->n_weight != s->n_stack)
		return field_unequal("samples.weight", s->n_weight, s->n_stack, err);
	for (size_t i = 0; i < s->n_stack; i++)
		if (s->stack[i] >= stack_count)
			return out_of_range("samples.stack", i, s->stack[i], stack_count, err);
	return 0;
}

static int check_dictionaries(const Rawstack__V1__StackBatch *b, size_t old_modules,
			      size_t old_strings, struct err *err)
{
	if (b->batch_id.len > LIMIT_BATCH_ID_LEN)
		return field_over("batch_id: length", b->batch_id.len, LIMIT_BATCH_ID_LEN, err);
	if (b->n_strings > LIMIT_BATCH_STRINGS - old_strings)
		return field_over("strings", old_strings + b->n_strings, LIMIT_BATCH_STRINGS, err);
	if (b->n_modules > LIMIT_BATCH_MODULES - old_modules)
		return field_over("modules", old_modules + b->n_modules, LIMIT_BATCH_MODULES, err);
	for (size_t i = 0; i < b->n_strings; i++)
		if (b->strings[i].len > LIMIT_STRING_LEN)
			return err_set(err, ERR_DATA, "strings[%zu]: %zu bytes, at most %llu", i,
				       b->strings[i].len, (unsigned long long)LIMIT_STRING_LEN);
	for (size_t i = 0; i < b->n_modules; i++) {
		const Rawstack__V1__Module *m = b->modules[i];

		if (m->build_id.len < BUILD_ID_MIN || m->build_id.len > BUILD_ID_MAX)
			return err_set(err, ERR_DATA,
				       "modules[%zu].build_id: %zu bytes, not %d to %d", i,
				       m->build_id.len, BUILD_ID_MIN, BUILD_ID_MAX);
		if (m->path.len > LIMIT_PATH_LEN)
			return err_set(err, ERR_DATA, "modules[%zu].path: %zu bytes, at most %llu",
				       i, m->path.len, (unsigned long long)LIMIT_PATH_LEN);
		if (m->n_segment_file_off > LIMIT_FILE_SEGMENTS ||
		    m->n_segment_vaddr != m->n_segment_file_off ||
		    m->n_segment_len != m->n_segment_file_off)
			return err_set(
				err, ERR_DATA,
				"modules[%zu].segment_file_off, _vaddr, _len: %zu, %zu and %zu "
				"values, not the same number of at most %d",
				i, m->n_segment_file_off, m->n_segment_vaddr, m->n_segment_len,
				LIMIT_FILE_SEGMENTS);
	}
	return 0;
}

int batch_check(const Rawstack__V1__StackBatch *b, size_t old_modules, size_t old_strings,
		struct err *err)
{
	size_t location_count = b->locations ? b->locations->n_kind : 0;
	size_t stack_count = b->stacks ? b->stacks->n_count : 0;

	TRY(check_dictionaries(b, old_modules, old_strings, err));
	if (b->locations)
		TRY(check_locations(b->locations, old_modules + b->n_modules,
				    old_strings + b->n_strings, err));
	if (b->stacks)
		TRY(check_stacks(b->stacks, location_count, err));
	if (b->samples)
		TRY(check_samples(b->samples, stack_count, err));
	return 0;
}
