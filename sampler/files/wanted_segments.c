/* SPDX-License-Identifier: Apache-2.0 */
#include "wanted_segments.h"

void wanted_segments_done(struct wanted_segments *w)
{
	while (w->count)
		module_unref(w->list[--w->count].module);
}

/* Returns whether nothing is left to do: the segments are in the spool, or cannot be read. */
static bool segments_are_settled(const struct file_ids *f, struct spool_writer *spool,
				 const struct module *m, uint64_t now_ns)
{
	const struct file_segment *rows;
	size_t count;
	const int rc = segment_cache_find(&f->segments, &m->id, now_ns, &rows, &count);

	if (rc > 0 && m->spool_segment == spool_writer_segment(spool))
		spool_writer_file_segments(spool, m->spool_module, rows, count);
	return rc != 0;
}

void wanted_segments_add(struct wanted_segments *w, struct file_ids *f, struct spool_writer *spool,
			 struct module *m, uint32_t tid, bool is_program, uint64_t now_ns)
{
	if (m->kind != MODULE_FILE || !m->id.len || segments_are_settled(f, spool, m, now_ns) ||
	    w->count == ARRAY_LEN(w->list))
		return;
	for (size_t i = 0; i < w->count; i++)
		if (w->list[i].module == m)
			return;
	w->list[w->count++] = (struct wanted_module){module_ref(m), tid, is_program, false};
}

void wanted_segments_poll(struct wanted_segments *w, struct file_ids *f, struct spool_writer *spool,
			  uint64_t now_ns)
{
	for (size_t i = 0; i < w->count;) {
		struct wanted_module *at = &w->list[i];

		if (segments_are_settled(f, spool, at->module, now_ns)) {
			module_unref(at->module);
			*at = w->list[--w->count];
			continue;
		}
		if (!at->is_asked)
			at->is_asked =
				file_ids_ask_segments(f, at->module, at->tid, at->is_program);
		i++;
	}
}

bool wanted_segments_are_asked(const struct wanted_segments *w)
{
	for (size_t i = 0; i < w->count; i++)
		if (w->list[i].is_asked)
			return true;
	return false;
}
