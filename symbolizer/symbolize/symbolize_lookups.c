/* SPDX-License-Identifier: Apache-2.0 */
/* Looks up the addresses of a batch's locations. symbolize.c puts the frames into the order of the
 * reply. */
#include <string.h>

#include "batch_check.h"
#include "location.h"
#include "symbolize_priv.h"

/* --- which addresses are looked up ----------------------------------------------------------- */

/* Maps a file offset by the table's own segments, or else by those that the host sent. */
static bool vaddr_of_file_off(const struct module *m, uint64_t file_off, uint64_t *ret)
{
	if (m->table.flags & RSYM_HAS_SEGMENTS)
		return rsym_vaddr_of_file_off(&m->table, file_off, ret) == 1;
	return file_segments_vaddr(m->segments, m->segment_count, file_off, ret) == 1;
}

/* Finds the link-time address of a location in a ready module. Returns false if it has none. */
static bool vaddr_in_module(const struct module *m, int kind, const struct kv_bytes *section,
			    uint64_t address, bool is_return, uint64_t *ret)
{
	const struct rsym *t = &m->table;

	if (is_return && address == 0)
		return false;
	address -= is_return;
	switch (kind) {
	case LOCATION_FILE_OFF:
		return vaddr_of_file_off(m, address, ret);
	case LOCATION_KERNEL_TEXT:
		return (t->flags & RSYM_IS_KERNEL) && CHECKED_ADD(t->text_base, address, ret);
	case LOCATION_KERNEL_MODULE:
		return rsym_vaddr_of_section(t, section->p, section->len, address, ret) == 1;
	default:
		*ret = address;
		return true;
	}
}

bool symbolize_is_return(const struct symbolize *s, size_t i)
{
	const Rawstack__V1__Locations *l = s->locations;

	return l->n_mode && l->mode[i] == RAWSTACK__V1__ADDRESS_MODE__ADDRESS_MODE_RETURN;
}

/* Returns whether the address of a location is to be looked up, and stores it; otherwise stores the
 * status, which is known at once. */
static bool needs_lookup(const struct symbolize *s, size_t i, uint64_t *ret_vaddr, int *ret_status)
{
	const Rawstack__V1__Locations *l = s->locations;
	int kind = (int)l->kind[i];
	const struct kv_bytes *section = NULL;
	const struct module *m;

	*ret_status = kind == LOCATION_HOST_NAMED   ? LOCATION_STATUS(HOST_NAMED)
		      : kind == LOCATION_UNRESOLVED ? LOCATION_STATUS(UNRESOLVED)
						    : LOCATION_STATUS(MALFORMED);
	if (!batch_kind_has_module(kind))
		return false;
	m = &s->modules[l->module[i]];
	*ret_status = m->status == MODULE_STATUS(BUILDING) ? LOCATION_STATUS(BUILDING)
							   : LOCATION_STATUS(UNKNOWN_MODULE);
	if (m->status != MODULE_STATUS(READY))
		return false;
	/* batch_check() has seen that a location in a kernel module has a string. */
	if (kind == LOCATION_KERNEL_MODULE)
		section = &s->strings[l->string[i]];
	*ret_status = LOCATION_STATUS(NOT_IN_MODULE);
	return vaddr_in_module(m, kind, section, l->address[i], symbolize_is_return(s, i),
			       ret_vaddr);
}

int symbolize_gather(struct symbolize *s, struct err *err)
{
	uint64_t vaddr = 0;

	if (!lookups_reset(&s->lookups, s->reply.n_status))
		return err_no_memory(err);
	for (size_t i = 0; i < s->reply.n_status; i++) {
		int status;

		if (needs_lookup(s, i, &vaddr, &status)) {
			if (!lookups_add(&s->lookups, s->locations->module[i], vaddr, (uint32_t)i))
				return err_no_memory(err);
			continue;
		}
		s->reply.status[i] = status;
		if (status == LOCATION_STATUS(NOT_IN_MODULE))
			s->modules[s->locations->module[i]].is_odd = true;
	}
	return lookups_sort(&s->lookups) ? 0 : err_no_memory(err);
}

/* --- looking up ------------------------------------------------------------------------------ */

uint32_t symbolize_reduce(const struct symbolize *s, struct rsym_frame *frames, uint32_t count)
{
	switch (s->batch->detail) {
	case RAWSTACK__V1__DETAIL__DETAIL_NAMES:
		frames[0] = (struct rsym_frame){frames[count - 1].function, RSYM_NONE, 0, 0};
		return 1;
	case RAWSTACK__V1__DETAIL__DETAIL_LINES:
		frames[0].function = frames[count - 1].function;
		return 1;
	default:
		return count;
	}
}

int symbolize_status(const struct rsym *t, const struct rsym_frame *frames, uint32_t count)
{
	struct rsym_function f;

	if (!count)
		return LOCATION_STATUS(NOT_IN_MODULE);
	if (frames[0].line)
		return LOCATION_STATUS(RESOLVED);
	if (!rsym_function(t, frames[count - 1].function, &f, NULL) && f.from_symbol)
		return LOCATION_STATUS(SYMBOL_ONLY);
	return LOCATION_STATUS(NO_LINE);
}

/* Fills the statuses of a group and reduces its frames to those that were asked for. Returns their
 * number. */
static uint32_t reduce_group(struct symbolize *s, const struct lookup_group *g)
{
	struct module *m = &s->modules[g->module];
	struct lookup_answer *a = &s->lookups.answers[g->first];
	uint32_t first = a->first, used = first;

	for (uint32_t i = g->first; i < g->end && a->done; i++, a++) {
		struct rsym_frame *frames = s->lookups.frames + a->first;

		a->status = (uint8_t)symbolize_status(&m->table, frames, a->count);
		m->is_odd |= !a->count;
		if (a->count)
			a->count = symbolize_reduce(s, frames, a->count);
		if (used != a->first)
			memmove(s->lookups.frames + used, frames, a->count * sizeof(*frames));
		a->first = used;
		used += a->count;
	}
	return used - first;
}

/* Marks the answers that have a frame without a place as not done. */
static void leave_out_unplaced(struct lookups *l, const struct lookup_group *g)
{
	for (uint32_t i = g->first; i < g->end; i++) {
		struct lookup_answer *a = &l->answers[i];

		for (uint32_t k = a->first; a->done && k < a->first + a->count; k++)
			a->done = l->frames[k].function != RSYM_NONE;
	}
}

int symbolize_look_up(struct symbolize *s, const struct lookup_group *g, struct err *err)
{
	struct lookups *l = &s->lookups;
	struct module *m = &s->modules[g->module];
	uint32_t count;

	TRY(reply_names_table(&s->names, m->number, &m->table, err));
	if (symbolize_is_cancelled(s))
		return symbolize_cancelled(err);
	if (!lookups_run(l, g, &m->table))
		return err_no_memory(err);
	if (!l->answers[g->first].done)
		return 0;
	count = reduce_group(s, g);
	if (!reply_names_prepare(&s->names, l->frames + l->answers[g->first].first, count))
		leave_out_unplaced(l, g);
	m->is_odd |= s->names.texts.is_odd;
	s->names.texts.is_odd = false;
	return symbolize_is_cancelled(s) ? symbolize_cancelled(err) : 0;
}
