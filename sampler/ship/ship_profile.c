/* SPDX-License-Identifier: Apache-2.0 */
#include "ship_profile.h"

#include "batch_reply.h"

int ship_profile_begin(struct ship_profile *p, const struct spool_batch *batch, struct err *err)
{
	*p = (struct ship_profile){0};
	TRY(spool_profile_begin(&p->of, batch, err));
	p->missing = calloc(batch->module_count + 1, sizeof(*p->missing));
	if (p->missing)
		return 0;
	ship_profile_done(p);
	return err_no_memory(err);
}

void ship_profile_done(struct ship_profile *p)
{
	spool_profile_done(&p->of);
	free(p->missing);
	*p = (struct ship_profile){0};
}

static uint32_t function_of_reply(struct ship_profile *p, const Rawstack__V1__SymbolizedBatch *r,
				  uint32_t function)
{
	const ProtobufCBinaryData *name = &r->strings[r->functions->name[function]];
	const ProtobufCBinaryData *file = &r->strings[r->functions->file[function]];
	struct profile_function f = {
		.name = profile_string(&p->of.profile, name->data, name->len),
		.file = profile_string(&p->of.profile, file->data, file->len),
	};

	f.system_name = f.name;
	if (r->functions->n_start_file) {
		const ProtobufCBinaryData *from = &r->strings[r->functions->start_file[function]];

		f.decl_file = profile_string(&p->of.profile, from->data, from->len);
	}
	if (r->functions->n_start_address && !f.decl_file)
		f.start = r->functions->start_address[function];
	return profile_add_function(&p->of.profile, &f);
}

static void name_location(struct ship_profile *p, uint32_t location,
			  const Rawstack__V1__SymbolizedBatch *r, size_t first, uint32_t count)
{
	struct profile_line lines[LIMIT_INLINE_DEPTH + 1];

	for (uint32_t i = 0; i < count; i++)
		lines[i] =
			(struct profile_line){function_of_reply(p, r, r->frame_function[first + i]),
					      r->frame_line[first + i]};
	spool_profile_name(&p->of, location, lines, count);
}

/* Marks the module of a location that a later table may name. */
static void note_missing(struct ship_profile *p, uint32_t location,
			 Rawstack__V1__LocationStatus status)
{
	const struct location *l = &p->of.batch->locations[location];

	if ((status == RAWSTACK__V1__LOCATION_STATUS__LOCATION_STATUS_BUILDING ||
	     status == RAWSTACK__V1__LOCATION_STATUS__LOCATION_STATUS_UNKNOWN_MODULE) &&
	    l->module < p->of.batch->module_count)
		p->missing[l->module] = true;
}

int ship_profile_answer(struct ship_profile *p, const struct ship_request *request,
			const Rawstack__V1__SymbolizedBatch *reply, uint32_t *deferred,
			size_t *ret_deferred, struct err *err)
{
	size_t first = 0, left = 0;

	TRY(batch_reply_check(reply, request->count, err));
	for (size_t i = 0; i < request->count; i++) {
		uint32_t count = reply->frame_count[i];

		note_missing(p, request->locations[i], reply->status[i]);
		if (reply->status[i] == RAWSTACK__V1__LOCATION_STATUS__LOCATION_STATUS_DEFERRED)
			deferred[left++] = request->locations[i];
		else if (reply->status[i] ==
			 RAWSTACK__V1__LOCATION_STATUS__LOCATION_STATUS_BUILDING)
			p->building++;
		else if (batch_reply_names(reply, first, count))
			name_location(p, request->locations[i], reply, first, count);
		first += count;
	}
	*ret_deferred = left;
	return 0;
}

int ship_profile_end(struct ship_profile *p, struct err *err)
{
	return spool_profile_end(&p->of, err);
}
