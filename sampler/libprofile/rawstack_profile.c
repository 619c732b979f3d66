/* SPDX-License-Identifier: Apache-2.0 */
/* The model of librawstack-profile: looking at rows. */
#include "rawstack_profile.h"

#include <string.h>

#include "rawstack_profile_priv.h"

_Static_assert((int)RAWSTACK_PROFILE_ERROR_USAGE == (int)ERR_USAGE &&
		       (int)RAWSTACK_PROFILE_ERROR_DATA == (int)ERR_DATA &&
		       (int)RAWSTACK_PROFILE_ERROR_UNSUPPORTED == (int)ERR_UNSUPPORTED &&
		       (int)RAWSTACK_PROFILE_ERROR_LIMIT == (int)ERR_LIMIT &&
		       (int)RAWSTACK_PROFILE_ERROR_NOT_FOUND == (int)ERR_NOT_FOUND &&
		       (int)RAWSTACK_PROFILE_ERROR_IO == (int)ERR_IO &&
		       (int)RAWSTACK_PROFILE_ERROR_MEMORY == (int)ERR_MEMORY &&
		       (int)RAWSTACK_PROFILE_ERROR_DENIED == (int)ERR_DENIED &&
		       (int)RAWSTACK_PROFILE_ERROR_MISMATCH == (int)ERR_MISMATCH &&
		       (int)RAWSTACK_PROFILE_ERROR_CANCELLED == (int)ERR_CANCELLED,
	       "the codes of the library are those of err.h");
_Static_assert(RAWSTACK_PROFILE_NONE == PROFILE_NONE, "no row is no row");

int rawstack_profile_give_error(struct rawstack_profile_error *error, const struct err *err)
{
	_Static_assert(sizeof(error->message) == sizeof(err->message), "no message is cut");

	if (error) {
		error->code = err->code;
		memcpy(error->message, err->message, sizeof(error->message));
	}
	return err->code;
}

struct rawstack_profile *rawstack_profile_new(void)
{
	struct rawstack_profile *p = calloc(1, sizeof(*p));

	if (p)
		profile_init(&p->profile);
	return p;
}

void rawstack_profile_free(struct rawstack_profile *p)
{
	if (p)
		profile_done(&p->profile);
	free(p);
}

/* Copies a structure to a caller that was compiled with another length of it. */
static void give_row(void *ret, size_t ret_len, const void *from, size_t len)
{
	memset(ret, 0, ret_len);
	memcpy(ret, from, ret_len < len ? ret_len : len);
}

static struct rawstack_profile_text text_of(const struct profile *p, uint32_t string)
{
	struct profile_text t = profile_text(p, string);

	return rawstack_profile_text(t.p, t.len);
}

void rawstack_profile_info(const struct rawstack_profile *p, struct rawstack_profile_info *ret,
			   size_t ret_len)
{
	const struct profile *own = &p->profile;
	const struct rawstack_profile_info info = {
		.time_ns = own->time_ns,
		.duration_ns = own->duration_ns,
		.period = own->period,
		.period_type = text_of(own, own->period_type.type),
		.period_unit = text_of(own, own->period_type.unit),
		.value_count = own->value_count,
		.module_count = (uint32_t)own->module_keys.count,
		.location_count = (uint32_t)own->locations.count,
		.sample_count = (uint32_t)own->samples.count,
		.comment_count = (uint32_t)own->comment_count,
	};

	give_row(ret, ret_len, &info, sizeof(info));
}

int rawstack_profile_value(const struct rawstack_profile *p, uint32_t value,
			   struct rawstack_profile_text *ret_type,
			   struct rawstack_profile_text *ret_unit)
{
	const struct profile *own = &p->profile;

	if (value >= own->value_count)
		return 0;
	*ret_type = text_of(own, own->value_types[value].type);
	*ret_unit = text_of(own, own->value_types[value].unit);
	return 1;
}

int rawstack_profile_comment(const struct rawstack_profile *p, uint32_t comment,
			     struct rawstack_profile_text *ret)
{
	if (comment >= p->profile.comment_count)
		return 0;
	*ret = text_of(&p->profile, p->profile.comments[comment]);
	return 1;
}

int rawstack_profile_module(const struct rawstack_profile *p, uint32_t module,
			    struct rawstack_profile_module *ret, size_t ret_len)
{
	const struct profile *own = &p->profile;
	struct rawstack_profile_module row;
	const struct profile_module *m;

	if (module >= own->module_keys.count)
		return 0;
	m = &own->modules[module];
	row = (struct rawstack_profile_module){
		.start = m->start,
		.limit = m->limit,
		.file_offset = m->file_off,
		.path = text_of(own, m->path),
		.build_id = text_of(own, m->build_id),
		.is_kernel = profile_is_kernel(own, module),
	};
	give_row(ret, ret_len, &row, sizeof(row));
	return 1;
}

int rawstack_profile_location(const struct rawstack_profile *p, uint32_t location,
			      struct rawstack_profile_location *ret, size_t ret_len)
{
	const struct profile *own = &p->profile;
	struct rawstack_profile_location row;
	struct profile_location l;

	if (location >= own->locations.count)
		return 0;
	l = profile_location(own, location);
	row = (struct rawstack_profile_location){
		.address = l.address,
		.module = l.module,
		.frame_count = (uint32_t)l.line_count,
		.is_unnamed = profile_is_unnamed(own, &l),
		.is_return = l.is_return,
	};
	give_row(ret, ret_len, &row, sizeof(row));
	return 1;
}

int rawstack_profile_frame(const struct rawstack_profile *p, uint32_t location, uint32_t frame,
			   struct rawstack_profile_frame *ret, size_t ret_len)
{
	const struct profile *own = &p->profile;
	struct rawstack_profile_frame row;
	struct profile_function f;
	struct profile_location l;

	if (location >= own->locations.count)
		return 0;
	l = profile_location(own, location);
	if (frame >= l.line_count)
		return 0;
	f = profile_function(own, l.lines[frame].function);
	row = (struct rawstack_profile_frame){
		.function = text_of(own, f.name),
		.system_name = text_of(own, f.system_name),
		.file = text_of(own, f.file),
		.line = l.lines[frame].line,
		.start_line = f.start_line,
	};
	give_row(ret, ret_len, &row, sizeof(row));
	return 1;
}

int rawstack_profile_sample(const struct rawstack_profile *p, uint32_t sample,
			    struct rawstack_profile_sample *ret, size_t ret_len)
{
	const struct profile *own = &p->profile;
	struct rawstack_profile_sample row = {0};
	struct profile_sample s;

	if (sample >= own->samples.count)
		return 0;
	s = profile_sample(own, sample);
	row.locations = profile_stack(own, s.stack, &row.location_count);
	row.values = profile_values(own, sample);
	profile_labels(own, s.labels, &row.label_count);
	give_row(ret, ret_len, &row, sizeof(row));
	return 1;
}

int rawstack_profile_label(const struct rawstack_profile *p, uint32_t sample, uint32_t label,
			   struct rawstack_profile_label *ret, size_t ret_len)
{
	const struct profile *own = &p->profile;
	const struct profile_label *labels;
	struct rawstack_profile_label row;
	size_t count;

	if (sample >= own->samples.count)
		return 0;
	labels = profile_labels(own, profile_sample(own, sample).labels, &count);
	if (label >= count)
		return 0;
	row = (struct rawstack_profile_label){
		.key = text_of(own, labels[label].key),
		.text = text_of(own, labels[label].text),
		.unit = text_of(own, labels[label].unit),
		.number = labels[label].num,
	};
	give_row(ret, ret_len, &row, sizeof(row));
	return 1;
}
