/* SPDX-License-Identifier: Apache-2.0 */
#include "profile_view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void profile_view_init(struct profile_view *v)
{
	*v = (struct profile_view){.filter = PROFILE_FILTER_NONE};
	profile_init(&v->p);
}

void profile_view_done(struct profile_view *v)
{
	profile_filter_done(&v->filter);
	profile_done(&v->p);
}

int profile_view_option(int option, const char *value, struct profile_view *v, struct err *err)
{
	switch (option) {
	case VIEW_VALUE:
		v->value = value;
		return 1;
	case VIEW_JSON:
		v->json = true;
		return 1;
	default:
		return filter_option(option, value, &v->filter, err);
	}
}

int profile_view_read(struct profile_view *v, char *const *paths, size_t count, struct err *err)
{
	int rc = profile_input_read(paths, count, &v->filter, &v->p, err);

	return rc ? rc : profile_input_value(&v->p, v->value, &v->row, err);
}

void profile_view_amount(const struct profile_view *v, int64_t amount, struct buf *out)
{
	struct profile_text type, unit;

	if (!v->p.value_count) {
		buf_str(out, "nothing");
		return;
	}
	type = profile_text(&v->p, v->p.value_types[v->row].type);
	unit = profile_text(&v->p, v->p.value_types[v->row].unit);
	if (unit.len == 11 && memcmp(unit.p, "nanoseconds", 11) == 0)
		buf_printf(out, "%.2f s of ", (double)amount / 1e9);
	else
		buf_printf(out, "%" PRId64 " ", amount);
	profile_view_text(out, type);
}

int profile_view_print(const struct buf *out, const char *command, struct err *err)
{
	if (out->failed)
		return err_set(err, ERR_MEMORY, "%s: out of memory", command);
	fwrite(out->p, 1, out->len, stdout);
	return 0;
}
