/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merging translates each row of the source once, on first use: an array per table holds the
 * number in the target, or PROFILE_NONE while it is not known.
 */
#include <string.h>

#include "profile.h"

struct merge {
	struct profile *into;
	const struct profile *from;
	uint32_t *strings, *modules, *functions, *locations, *stacks, *label_sets;
	profile_lines_fn *name;
	void *name_ctx;
	uint32_t value_of[LIMIT_PROFILE_VALUES]; /* row of `from` for each value of `into` */
};

static void merge_done(struct merge *m)
{
	free(m->strings);
	free(m->modules);
	free(m->functions);
	free(m->locations);
	free(m->stacks);
	free(m->label_sets);
}

static bool new_merge_map(uint32_t **ret, const struct intern *table)
{
	size_t len = (table->count + 1) * sizeof(**ret);

	*ret = malloc(len);
	if (*ret)
		memset(*ret, 0xff, len);
	return *ret;
}

static uint32_t merge_string(struct merge *m, uint32_t id)
{
	struct profile_text t;

	if (m->strings[id] == PROFILE_NONE) {
		t = profile_text(m->from, id);
		m->strings[id] = profile_string(m->into, t.p, t.len);
	}
	return m->strings[id];
}

static uint32_t merge_module(struct merge *m, uint32_t id)
{
	struct profile_module mod;

	if (id == PROFILE_NONE)
		return PROFILE_NONE;
	if (m->modules[id] == PROFILE_NONE) {
		mod = m->from->modules[id];
		mod.path = merge_string(m, mod.path);
		mod.build_id = merge_string(m, mod.build_id);
		mod.segments = profile_copy_segments(m->into, m->from, mod.segments);
		m->modules[id] = profile_add_module(m->into, &mod);
	}
	return m->modules[id];
}

static uint32_t merge_function(struct merge *m, uint32_t id)
{
	struct profile_function f;

	if (m->functions[id] == PROFILE_NONE) {
		f = profile_function(m->from, id);
		f.name = merge_string(m, f.name);
		f.system_name = merge_string(m, f.system_name);
		f.file = merge_string(m, f.file);
		f.decl_file = merge_string(m, f.decl_file);
		m->functions[id] = profile_add_function(m->into, &f);
	}
	return m->functions[id];
}

/* Returns the flags that the module of a location gets when the location has names. */
static uint32_t flags_of_location(const struct profile_location *l)
{
	uint32_t flags = PROFILE_HAS_FUNCTIONS;

	for (size_t i = 0; i < l->line_count; i++)
		if (l->lines[i].line)
			flags |= PROFILE_HAS_LINES | PROFILE_HAS_FILENAMES;
	return l->line_count > 1 ? flags | PROFILE_HAS_INLINES : flags;
}

static uint32_t map_location(struct merge *m, uint32_t id)
{
	struct profile_line lines[LIMIT_INLINE_DEPTH + 1];
	struct profile_location l;
	size_t named = 0;

	if (m->locations[id] != PROFILE_NONE)
		return m->locations[id];
	l = profile_location(m->from, id);
	if (m->name && profile_is_unnamed(m->from, &l))
		named = m->name(m->name_ctx, m->from, &l, m->into, lines, ARRAY_LEN(lines));
	for (size_t i = 0; !named && i < l.line_count; i++)
		lines[i] = (struct profile_line){merge_function(m, l.lines[i].function),
						 l.lines[i].line};
	if (named)
		l.line_count = named;
	l.lines = lines;
	l.module = merge_module(m, l.module);
	if (named)
		profile_module_mark(m->into, l.module, flags_of_location(&l));
	m->locations[id] = profile_add_location(m->into, &l);
	return m->locations[id];
}

static uint32_t map_stack(struct merge *m, uint32_t id)
{
	_cleanup_(freep) uint32_t *ids = NULL;
	const uint32_t *locations;
	size_t count;

	if (m->stacks[id] != PROFILE_NONE)
		return m->stacks[id];
	locations = profile_stack(m->from, id, &count);
	ids = malloc((count + 1) * sizeof(*ids));
	if (!ids) {
		return profile_fail_memory(m->into);
	}
	for (size_t i = 0; i < count; i++)
		ids[i] = map_location(m, locations[i]);
	m->stacks[id] = profile_add_stack(m->into, ids, count);
	return m->stacks[id];
}

static uint32_t map_labels(struct merge *m, uint32_t id)
{
	struct profile_label labels[LIMIT_PROFILE_LABELS];
	const struct profile_label *from;
	size_t count;

	if (m->label_sets[id] != PROFILE_NONE)
		return m->label_sets[id];
	from = profile_labels(m->from, id, &count);
	for (size_t i = 0; i < count; i++) {
		labels[i] = from[i];
		labels[i].key = merge_string(m, from[i].key);
		labels[i].text = merge_string(m, from[i].text);
		labels[i].unit = merge_string(m, from[i].unit);
	}
	m->label_sets[id] = profile_add_labels(m->into, labels, count);
	return m->label_sets[id];
}

static struct profile_value_type map_type(struct merge *m, struct profile_value_type t)
{
	return (struct profile_value_type){merge_string(m, t.type), merge_string(m, t.unit)};
}

static int match_merged_values(struct merge *m, struct err *err)
{
	struct profile *into = m->into;
	const struct profile *from = m->from;
	bool common = false;

	if (!into->value_count && !into->samples.count) {
		for (uint32_t i = 0; i < from->value_count; i++)
			into->value_types[i] = map_type(m, from->value_types[i]);
		into->value_count = from->value_count;
		into->default_type = merge_string(m, from->default_type);
		into->period_type = map_type(m, from->period_type);
		into->period = from->period;
	}
	for (uint32_t i = 0; i < into->value_count; i++) {
		m->value_of[i] = PROFILE_NONE;
		for (uint32_t k = 0; k < from->value_count; k++) {
			struct profile_value_type t = map_type(m, from->value_types[k]);

			if (t.type != into->value_types[i].type ||
			    t.unit != into->value_types[i].unit)
				continue;
			m->value_of[i] = k;
			common = true;
			break;
		}
	}
	if (!common && from->samples.count)
		return err_set(err, ERR_MISMATCH, "profiles count different things");
	return 0;
}

int profile_merge(struct profile *into, const struct profile *from, profile_keep_fn *keep,
		  void *ctx, struct err *err)
{
	return profile_merge_named(into, from, keep, ctx, NULL, NULL, err);
}

int profile_merge_named(struct profile *into, const struct profile *from, profile_keep_fn *keep,
			void *keep_ctx, profile_lines_fn *name, void *name_ctx, struct err *err)
{
	_cleanup_(merge_done) struct merge m = {
		.into = into, .from = from, .name = name, .name_ctx = name_ctx};

	if (!new_merge_map(&m.strings, &from->strings) ||
	    !new_merge_map(&m.modules, &from->module_keys) ||
	    !new_merge_map(&m.functions, &from->functions) ||
	    !new_merge_map(&m.locations, &from->locations) ||
	    !new_merge_map(&m.stacks, &from->stacks) ||
	    !new_merge_map(&m.label_sets, &from->label_sets))
		return err_no_memory(err);
	TRY(match_merged_values(&m, err));
	for (uint32_t i = 0; i < from->module_keys.count; i++)
		merge_module(&m, i);
	for (uint32_t i = 0; i < from->samples.count && !into->failed; i++) {
		struct profile_sample s = profile_sample(from, i);
		const int64_t *v = profile_values(from, i);
		int64_t values[LIMIT_PROFILE_VALUES] = {0};

		if (keep && !keep(keep_ctx, from, i))
			continue;
		for (uint32_t k = 0; k < into->value_count; k++)
			values[k] = m.value_of[k] == PROFILE_NONE ? 0 : v[m.value_of[k]];
		profile_add_sample(into, map_stack(&m, s.stack), map_labels(&m, s.labels), values);
	}
	for (size_t i = 0; i < from->comment_count; i++)
		profile_comment_string(into, merge_string(&m, from->comments[i]));
	profile_add_time(into, from->time_ns, from->duration_ns);
	into->weight_unknown |= from->weight_unknown;
	if (into->failed)
		return profile_full(into, err, "merge of profiles");
	return 0;
}
