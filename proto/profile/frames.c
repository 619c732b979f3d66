/* SPDX-License-Identifier: Apache-2.0 */
#include "frames.h"

#include <inttypes.h>

void frames_begin(struct frames *f, uint32_t stack)
{
	f->locations = profile_stack(f->p, stack, &f->left);
	f->lines = 0;
}

void frames_done(struct frames *f)
{
	buf_done(&f->name);
}

/* Returns "<path>+0x<address>", or "[0x<address>]" without a module. */
static struct profile_text frame_placeholder(struct frames *f, const struct frame *frame)
{
	buf_reset(&f->name);
	if (frame->module == PROFILE_NONE) {
		buf_printf(&f->name, "[0x%" PRIx64 "]", frame->address);
	} else {
		struct profile_text path = profile_text(f->p, f->p->modules[frame->module].path);

		buf_append(&f->name, path.p, path.len);
		buf_printf(&f->name, "+0x%" PRIx64, frame->address);
	}
	if (f->name.failed)
		return (struct profile_text){"[unknown]", 9};
	return (struct profile_text){(const char *)f->name.p, f->name.len};
}

bool frames_next(struct frames *f, struct frame *ret)
{
	struct profile_location l;
	struct profile_function function;

	if (!f->lines) {
		if (!f->left)
			return false;
		f->left--;
		f->lines = profile_location(f->p, f->locations[f->left]).line_count;
	} else {
		f->lines--;
		if (!f->lines)
			return frames_next(f, ret);
	}
	l = profile_location(f->p, f->locations[f->left]);
	*ret = (struct frame){
		.location = f->locations[f->left],
		.module = l.module,
		.address = l.address,
		.kernel = profile_is_kernel(f->p, l.module),
		.function = PROFILE_NONE,
	};
	if (!l.line_count) {
		ret->name = frame_placeholder(f, ret);
		return true;
	}
	ret->function = l.lines[f->lines - 1].function;
	function = profile_function(f->p, ret->function);
	ret->name = profile_text(f->p, function.name);
	ret->file = profile_text(f->p, function.file);
	ret->line = l.lines[f->lines - 1].line;
	ret->inlined = f->lines < l.line_count;
	if (!ret->name.len)
		ret->name = frame_placeholder(f, ret);
	return true;
}
