/* SPDX-License-Identifier: Apache-2.0 */
#include "frame_match.h"

#include <string.h>

enum {
	UNKNOWN,
	NO,
	YES
};

void frame_match_done(struct frame_match *m)
{
	text_match_done(&m->function);
	text_match_done(&m->file);
	text_match_done(&m->module);
	text_match_done(&m->any);
	frame_match_reset(m);
}

bool frame_match_is_set(const struct frame_match *m)
{
	return m->function.set || m->file.set || m->module.set || m->any.set;
}

void frame_match_reset(struct frame_match *m)
{
	free(m->by_function);
	free(m->by_module);
	m->by_function = m->by_module = NULL;
	m->functions_cap = m->modules_cap = 0;
}

static bool matches_string(const struct text_match *m, const struct profile *p, uint32_t string)
{
	struct profile_text t = profile_text(p, string);

	return text_match(m, t.p, t.len);
}

static bool ask_function(const struct frame_match *m, const struct profile *p, uint32_t function)
{
	struct profile_function f = profile_function(p, function);

	if (m->any.set)
		return matches_string(&m->any, p, f.name) || matches_string(&m->any, p, f.file);
	return (!m->function.set || matches_string(&m->function, p, f.name)) &&
	       (!m->file.set || matches_string(&m->file, p, f.file));
}

static bool ask_module(const struct frame_match *m, const struct profile *p, uint32_t module)
{
	return matches_string(m->any.set ? &m->any : &m->module, p, p->modules[module].path);
}

/* Returns the slot of an answer, or NULL when there is no memory for it. */
static uint8_t *answer_slot(uint8_t **list, size_t *cap, uint32_t id)
{
	size_t before = *cap;

	if (!GROW(*list, cap, (size_t)id + 1, LIMIT_PROFILE_ENTRIES))
		return NULL;
	if (*cap > before)
		memset(*list + before, UNKNOWN, *cap - before);
	return &(*list)[id];
}

static bool function_matches(struct frame_match *m, const struct profile *p, uint32_t function)
{
	uint8_t *kept;

	if (function == PROFILE_NONE)
		return !m->any.set && !m->function.set && !m->file.set;
	kept = answer_slot(&m->by_function, &m->functions_cap, function);
	if (!kept)
		return ask_function(m, p, function);
	if (*kept == UNKNOWN)
		*kept = ask_function(m, p, function) ? YES : NO;
	return *kept == YES;
}

static bool module_matches(struct frame_match *m, const struct profile *p, uint32_t module)
{
	uint8_t *kept;

	if (module == PROFILE_NONE)
		return false;
	kept = answer_slot(&m->by_module, &m->modules_cap, module);
	if (!kept)
		return ask_module(m, p, module);
	if (*kept == UNKNOWN)
		*kept = ask_module(m, p, module) ? YES : NO;
	return *kept == YES;
}

bool frame_match(struct frame_match *m, const struct profile *p, const struct view_frame *f)
{
	if (m->any.set)
		return function_matches(m, p, f->function) || module_matches(m, p, f->module);
	return function_matches(m, p, f->function) &&
	       (!m->module.set || module_matches(m, p, f->module));
}
