/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds every table row by row, in order. New rows are appended in the order in which they were
 * seen, as if all adds had gone to one profile.
 */
#include <string.h>

#include "profile.h"

#define BATCH 64

struct join {
	struct profile *into;
	const struct profile *from;
	uint32_t *strings, *modules, *functions, *locations, *stacks, *label_sets;
};

static void join_done(struct join *j)
{
	free(j->strings);
	free(j->modules);
	free(j->functions);
	free(j->locations);
	free(j->stacks);
	free(j->label_sets);
}

static bool new_join_map(uint32_t **ret, const struct intern *table)
{
	*ret = malloc((table->count + 1) * sizeof(**ret));
	return *ret;
}

static uint32_t min_u32(size_t a, size_t b)
{
	return (uint32_t)(a < b ? a : b);
}

static void join_strings(struct join *j)
{
	struct intern_key keys[BATCH];
	uint32_t n;

	for (uint32_t i = 0; i < j->from->strings.count; i += n) {
		n = min_u32(BATCH, j->from->strings.count - i);
		for (uint32_t k = 0; k < n; k++)
			keys[k].p = intern_get(&j->from->strings, i + k, &keys[k].len);
		profile_add_strings(j->into, keys, n, j->strings + i);
	}
}

static void join_modules(struct join *j)
{
	for (uint32_t i = 0; i < j->from->module_keys.count; i++) {
		struct profile_module m = j->from->modules[i];

		m.path = j->strings[m.path];
		m.build_id = j->strings[m.build_id];
		m.segments = profile_copy_segments(j->into, j->from, m.segments);
		j->modules[i] = profile_add_module(j->into, &m);
	}
}

static void join_functions(struct join *j)
{
	struct profile_function rows[BATCH];
	uint32_t n;

	for (uint32_t i = 0; i < j->from->functions.count; i += n) {
		n = min_u32(BATCH, j->from->functions.count - i);
		for (uint32_t k = 0; k < n; k++) {
			rows[k] = profile_function(j->from, i + k);
			rows[k].name = j->strings[rows[k].name];
			rows[k].system_name = j->strings[rows[k].system_name];
			rows[k].file = j->strings[rows[k].file];
			rows[k].decl_file = j->strings[rows[k].decl_file];
		}
		profile_add_functions(j->into, rows, n, j->functions + i);
	}
}

static void join_locations(struct join *j)
{
	struct profile_location rows[BATCH];
	struct profile_line lines[2 * (LIMIT_INLINE_DEPTH + 1)];

	for (uint32_t i = 0; i < j->from->locations.count;) {
		size_t n = 0, line_count = 0;

		while (n < BATCH && i + n < j->from->locations.count) {
			struct profile_location l = profile_location(j->from, i + (uint32_t)n);

			if (l.line_count > ARRAY_LEN(lines) - line_count)
				break;
			for (size_t k = 0; k < l.line_count; k++)
				lines[line_count + k] = (struct profile_line){
					j->functions[l.lines[k].function], l.lines[k].line};
			l.lines = lines + line_count;
			line_count += l.line_count;
			if (l.module != PROFILE_NONE)
				l.module = j->modules[l.module];
			rows[n++] = l;
		}
		profile_add_locations(j->into, rows, n, j->locations + i);
		i += (uint32_t)n;
	}
}

/* Adds the stacks. Those that fit `space` are added together, a larger one alone. */
static bool join_stacks(struct join *j)
{
	_cleanup_(freep) uint32_t *space = malloc(LIMIT_PROFILE_STACK * sizeof(*space));
	struct intern_key keys[BATCH];

	if (!space)
		return false;
	for (uint32_t i = 0; i < j->from->stacks.count;) {
		size_t n = 0, used = 0, count;

		while (n < BATCH && i + n < j->from->stacks.count) {
			const uint32_t *frames = profile_stack(j->from, i + (uint32_t)n, &count);

			if (count > LIMIT_PROFILE_STACK - used)
				break;
			for (size_t k = 0; k < count; k++)
				space[used + k] = j->locations[frames[k]];
			keys[n++] = (struct intern_key){space + used, count * sizeof(*space)};
			used += count;
		}
		profile_add_stacks(j->into, keys, n, j->stacks + i);
		i += (uint32_t)n;
	}
	return true;
}

static void join_labels(struct join *j)
{
	for (uint32_t i = 0; i < j->from->label_sets.count; i++) {
		struct profile_label labels[LIMIT_PROFILE_LABELS];
		const struct profile_label *from;
		size_t count;

		from = profile_labels(j->from, i, &count);
		for (size_t k = 0; k < count; k++) {
			labels[k] = from[k];
			labels[k].key = j->strings[from[k].key];
			labels[k].text = j->strings[from[k].text];
			labels[k].unit = j->strings[from[k].unit];
		}
		j->label_sets[i] = profile_add_labels(j->into, labels, count);
	}
}

static void join_samples(struct join *j)
{
	struct profile_sample rows[PROFILE_SAMPLES_MAX];
	uint32_t n;

	for (uint32_t i = 0; i < j->from->samples.count; i += n) {
		n = min_u32(PROFILE_SAMPLES_MAX, j->from->samples.count - i);
		for (uint32_t k = 0; k < n; k++) {
			rows[k] = profile_sample(j->from, i + k);
			rows[k].stack = j->stacks[rows[k].stack];
			rows[k].labels = j->label_sets[rows[k].labels];
		}
		profile_add_samples(j->into, rows, profile_values(j->from, i), n);
	}
}

void profile_init_like(struct profile *p, const struct profile *like)
{
	profile_init(p);
	for (uint32_t i = 0; i < like->value_count; i++) {
		struct profile_value_type t = like->value_types[i];
		struct profile_text type = profile_text(like, t.type);
		struct profile_text unit = profile_text(like, t.unit);

		p->value_types[i].type = profile_string(p, type.p, type.len);
		p->value_types[i].unit = profile_string(p, unit.p, unit.len);
	}
	p->value_count = like->value_count;
}

int profile_join(struct profile *into, const struct profile *from, struct err *err)
{
	_cleanup_(join_done) struct join j = {.into = into, .from = from};

	if (into->value_count != from->value_count)
		return err_set(err, ERR_INTERNAL, "join of profiles that are not alike");
	if (!new_join_map(&j.strings, &from->strings) ||
	    !new_join_map(&j.modules, &from->module_keys) ||
	    !new_join_map(&j.functions, &from->functions) ||
	    !new_join_map(&j.locations, &from->locations) ||
	    !new_join_map(&j.stacks, &from->stacks) ||
	    !new_join_map(&j.label_sets, &from->label_sets))
		return err_no_memory(err);
	join_strings(&j);
	join_modules(&j);
	join_functions(&j);
	join_locations(&j);
	if (!join_stacks(&j))
		return err_no_memory(err);
	join_labels(&j);
	join_samples(&j);
	for (size_t i = 0; i < from->comment_count; i++)
		profile_comment_string(into, j.strings[from->comments[i]]);
	profile_add_time(into, from->time_ns, from->duration_ns);
	into->weight_unknown |= from->weight_unknown;
	if (into->failed || from->failed)
		return profile_full(into->failed ? into : from, err, "join of profiles");
	return 0;
}
