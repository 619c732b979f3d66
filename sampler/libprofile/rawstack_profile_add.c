/* SPDX-License-Identifier: Apache-2.0 */
/* The model of librawstack-profile: adding rows. The numbers of rows are a caller's, so each is
 * checked before the model, which trusts its callers, sees it. */
#include "rawstack_profile.h"

#include "rawstack_profile_priv.h"

static uint32_t refuse_row(struct rawstack_profile *p, const char *why)
{
	if (!p->misuse && !p->profile.failed)
		p->misuse = why;
	return PROFILE_NONE;
}

static bool takes_rows(const struct rawstack_profile *p)
{
	return !p->misuse && !p->profile.failed;
}

int rawstack_profile_check(const struct rawstack_profile *p, struct rawstack_profile_error *error)
{
	struct err err;

	if (takes_rows(p))
		return 0;
	if (p->misuse)
		err_set(&err, ERR_USAGE, "%s", p->misuse);
	else
		profile_full(&p->profile, &err, "the profile");
	return rawstack_profile_give_error(error, &err);
}

static uint32_t add_text(struct rawstack_profile *p, struct rawstack_profile_text text)
{
	return profile_string(&p->profile, text.p ? text.p : "", text.p ? text.len : 0);
}

void rawstack_profile_add_value(struct rawstack_profile *p, struct rawstack_profile_text type,
				struct rawstack_profile_text unit)
{
	struct profile *own = &p->profile;

	if (!takes_rows(p))
		return;
	if (own->samples.count || own->value_count == LIMIT_PROFILE_VALUES) {
		refuse_row(p, own->samples.count ? "a type of value is added after a sample"
						 : "more types of values than a profile may have");
		return;
	}
	own->value_types[own->value_count] =
		(struct profile_value_type){add_text(p, type), add_text(p, unit)};
	if (takes_rows(p))
		own->value_count++;
}

void rawstack_profile_set_times(struct rawstack_profile *p, int64_t time_ns, int64_t duration_ns,
				int64_t period, struct rawstack_profile_text period_type,
				struct rawstack_profile_text period_unit)
{
	struct profile_value_type type;

	if (!takes_rows(p))
		return;
	type = (struct profile_value_type){add_text(p, period_type), add_text(p, period_unit)};
	if (!takes_rows(p))
		return;
	p->profile.time_ns = time_ns;
	p->profile.duration_ns = duration_ns;
	p->profile.period = period;
	p->profile.period_type = type;
}

void rawstack_profile_add_comment(struct rawstack_profile *p, struct rawstack_profile_text text)
{
	if (takes_rows(p))
		profile_comment_string(&p->profile, add_text(p, text));
}

static bool is_hex_text(struct rawstack_profile_text text)
{
	for (size_t i = 0; i < text.len; i++)
		if (!is_lower_hex(text.p[i]))
			return false;
	return true;
}

uint32_t rawstack_profile_add_module(struct rawstack_profile *p,
				     const struct rawstack_profile_module *module)
{
	struct profile_module m = {
		.start = module->start, .limit = module->limit, .file_off = module->file_offset};

	if (!takes_rows(p))
		return PROFILE_NONE;
	if (module->build_id.p && !is_hex_text(module->build_id))
		return refuse_row(p, "the build id of a module is not lower-case hex");
	m.path = add_text(p, module->path);
	m.build_id = add_text(p, module->build_id);
	return takes_rows(p) ? profile_add_module(&p->profile, &m) : PROFILE_NONE;
}

static uint32_t flags_of_frame(const struct rawstack_profile_frame *f)
{
	return PROFILE_HAS_FUNCTIONS | (f->file.len ? PROFILE_HAS_FILENAMES : 0) |
	       (f->line ? PROFILE_HAS_LINES : 0);
}

uint32_t rawstack_profile_add_location(struct rawstack_profile *p, uint32_t module,
				       uint64_t address,
				       const struct rawstack_profile_frame *frames, size_t count)
{
	struct profile_line lines[LIMIT_INLINE_DEPTH + 1];
	struct profile_location l = {
		.address = address, .module = module, .lines = lines, .line_count = count};
	uint32_t flags = count > 1 ? PROFILE_HAS_INLINES : 0;

	if (!takes_rows(p))
		return PROFILE_NONE;
	if (module != PROFILE_NONE && module >= p->profile.module_keys.count)
		return refuse_row(p, "a location is in a module that there is not");
	if (count > ARRAY_LEN(lines))
		return refuse_row(p, "a location has more frames than a profile takes");
	for (size_t i = 0; i < count; i++) {
		struct profile_function f = {
			.name = add_text(p, frames[i].function),
			.system_name = add_text(p, frames[i].system_name),
			.file = add_text(p, frames[i].file),
			.start_line = frames[i].start_line,
		};

		if (!takes_rows(p))
			return PROFILE_NONE;
		lines[i].function = profile_add_function(&p->profile, &f);
		lines[i].line = frames[i].line;
		flags |= flags_of_frame(&frames[i]);
	}
	if (!takes_rows(p))
		return PROFILE_NONE;
	if (module != PROFILE_NONE)
		profile_module_mark(&p->profile, module, flags);
	return profile_add_location(&p->profile, &l);
}

static uint32_t add_label_set(struct rawstack_profile *p,
			      const struct rawstack_profile_label *labels, size_t count)
{
	struct profile_label rows[LIMIT_PROFILE_LABELS];

	if (count > ARRAY_LEN(rows))
		return refuse_row(p, "a sample has more labels than a profile takes");
	for (size_t i = 0; i < count; i++)
		rows[i] = (struct profile_label){
			.key = add_text(p, labels[i].key),
			.text = add_text(p, labels[i].text),
			.unit = add_text(p, labels[i].unit),
			.num = labels[i].text.len ? 0 : labels[i].number,
		};
	return takes_rows(p) ? profile_add_labels(&p->profile, rows, count) : PROFILE_NONE;
}

uint32_t rawstack_profile_add_sample(struct rawstack_profile *p, const uint32_t *locations,
				     size_t location_count,
				     const struct rawstack_profile_label *labels,
				     size_t label_count, const int64_t *values)
{
	uint32_t stack, set;

	if (!takes_rows(p))
		return PROFILE_NONE;
	for (size_t i = 0; i < location_count; i++)
		if (locations[i] >= p->profile.locations.count)
			return refuse_row(p, "a sample has a location that there is not");
	set = add_label_set(p, labels, label_count);
	if (!takes_rows(p))
		return PROFILE_NONE;
	stack = profile_add_stack(&p->profile, locations, location_count);
	return takes_rows(p) ? profile_add_sample(&p->profile, stack, set, values) : PROFILE_NONE;
}
