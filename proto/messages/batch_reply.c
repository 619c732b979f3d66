/* SPDX-License-Identifier: Apache-2.0 */
#include "batch_reply.h"

#include "limits.h"

int batch_reply_check(const Rawstack__V1__SymbolizedBatch *r, size_t location_count,
		      struct err *err)
{
	const Rawstack__V1__Functions *f = r->functions;
	size_t functions = f ? f->n_name : 0;
	uint64_t frames = 0;

	if (r->n_status != location_count || r->n_frame_count != location_count)
		return err_set(err, ERR_INTERNAL, "reply with %zu statuses for %zu locations",
			       r->n_status, location_count);
	if (f && f->n_file != functions)
		return err_set(err, ERR_INTERNAL, "reply with unequal columns of functions");
	if (f && ((f->n_linkage_name && f->n_linkage_name != functions) ||
		  (f->n_start_line && f->n_start_line != functions) ||
		  (f->n_start_address && f->n_start_address != functions) ||
		  (f->n_start_file && f->n_start_file != functions)))
		return err_set(err, ERR_INTERNAL, "reply with unequal columns of functions");
	for (size_t i = 0; i < r->n_frame_count; i++) {
		frames += r->frame_count[i];
		if (r->frame_count[i] > LIMIT_INLINE_DEPTH + 1)
			return err_set(err, ERR_INTERNAL, "reply with %u frames at one location",
				       r->frame_count[i]);
	}
	if (r->n_frame_function != frames || r->n_frame_line != frames)
		return err_set(err, ERR_INTERNAL, "reply with unequal columns of frames");
	for (size_t i = 0; i < frames; i++)
		if (r->frame_function[i] >= functions)
			return err_set(err, ERR_INTERNAL, "reply with a function out of range");
	for (size_t i = 0; i < functions; i++)
		if (f->name[i] >= r->n_strings || f->file[i] >= r->n_strings ||
		    (f->n_linkage_name && f->linkage_name[i] >= r->n_strings) ||
		    (f->n_start_file && f->start_file[i] >= r->n_strings))
			return err_set(err, ERR_INTERNAL, "reply with a string out of range");
	return 0;
}

bool batch_reply_names(const Rawstack__V1__SymbolizedBatch *r, size_t first_frame, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (!r->strings[r->functions->name[r->frame_function[first_frame + i]]].len)
			return false;
	return count > 0;
}
