/* SPDX-License-Identifier: Apache-2.0 */
#include "stack_share.h"

#include <string.h>

#include "json.h"

/* Returns whether the outermost frame says that the stack is cut: "[truncated stack]" in our
 * profiles, "[truncated]" in others'. */
static bool says_cut(const struct profile *p, uint32_t stack)
{
	static const char start[] = "[truncated";
	struct profile_location l;
	struct profile_text name;
	const uint32_t *locations;
	size_t count;

	locations = profile_stack(p, stack, &count);
	if (!count)
		return false;
	l = profile_location(p, locations[count - 1]);
	if (!l.line_count)
		return false;
	name = profile_text(p, profile_function(p, l.lines[0].function).name);
	return name.len >= sizeof(start) - 1 && !memcmp(name.p, start, sizeof(start) - 1);
}

void stack_share_count(struct stack_share *s, const struct profile_view *v)
{
	*s = (struct stack_share){.applies = stack_end_applies(&v->p)};
	for (uint32_t i = 0; i < v->p.samples.count; i++) {
		const uint32_t stack = profile_sample(&v->p, i).stack;
		const int64_t weight = profile_view_weight(v, i);

		add_capped(&s->total, weight);
		if (s->applies)
			add_capped(&s->ends[stack_end_told(&v->p, i)], weight);
		if (says_cut(&v->p, stack))
			add_capped(&s->told, weight);
	}
}

static double share_of_stack(const struct stack_share *s, int64_t part)
{
	return s->total ? (double)part / (double)s->total : 0;
}

void stack_share_text(const struct stack_share *s, struct buf *out)
{
	if (s->applies && s->total)
		buf_printf(out,
			   "stacks: %.1f %% reach a thread's or process's entry, %.1f %% are cut, "
			   "%.1f %% have an outermost frame without a name\n",
			   100 * share_of_stack(s, s->ends[STACK_END_ENTRY]),
			   100 * share_of_stack(s, s->ends[STACK_END_CUT]),
			   100 * share_of_stack(s, s->ends[STACK_END_UNNAMED]));
	else if (s->told)
		buf_printf(out, "stacks: %.1f %% are cut\n", 100 * share_of_stack(s, s->told));
}

void stack_share_json(const struct stack_share *s, struct buf *out)
{
	if (!s->applies && !s->told)
		return;
	if (s->applies) {
		json_key_share(out, "stacks_whole", share_of_stack(s, s->ends[STACK_END_ENTRY]));
		json_key_share(out, "stacks_unnamed_end",
			       share_of_stack(s, s->ends[STACK_END_UNNAMED]));
	}
	json_key_share(out, "stacks_cut",
		       share_of_stack(s, s->applies ? s->ends[STACK_END_CUT] : s->told));
}
