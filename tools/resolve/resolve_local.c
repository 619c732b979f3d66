/* SPDX-License-Identifier: Apache-2.0 */
#include "frame_printer.h"
#include "image_debug_file.h"
#include "resolve.h"

/* Translates the addresses of a query to places. q->file_off then says whether these are file
 * offsets. */
static int place_query(const struct local_table *t, struct resolve_query *q, uint64_t *places,
		       struct err *err)
{
	struct image_debug_file_place s;

	for (size_t i = 0; i < q->count; i++)
		places[i] = q->addresses[i];
	if (!q->section)
		return 0;
	if (!image_debug_file_section(t->fd, q->section, &s))
		return err_set(err, ERR_NOT_FOUND, "%s: no section %s", t->path, q->section);
	q->file_off = s.is_object;
	for (size_t i = 0; i < q->count; i++)
		places[i] = places[i] >= s.len ? UINT64_MAX
					       : places[i] + (s.is_object ? s.file_off : s.vaddr);
	return 0;
}

static uint64_t looked_up(const struct rsym *t, uint64_t address, const struct resolve_query *q)
{
	const bool back = q->return_address && address;

	/* An offset in no segment is in no function either. */
	if (q->file_off) {
		if (rsym_vaddr_of_file_off(t, address - back, &address) != 1)
			return UINT64_MAX;
		address += back;
	}
	return back ? rsym_call_vaddr(t, address) : address;
}

/* Lists the addresses that may be looked up, so that the table knows them. `ret` has room for two
 * for each address of the query. Returns their number. */
static size_t wanted_of(const struct resolve_query *q, const uint64_t *places, uint64_t *ret)
{
	size_t count = 0;

	for (size_t i = 0; i < q->count; i++) {
		ret[count++] = places[i];
		if (q->return_address && places[i])
			ret[count++] = places[i] - 1;
	}
	return count;
}

int resolve_local(struct local_table *t, const struct resolve_query *query,
		  struct resolve_printer *printer, size_t *unknown, struct err *err)
{
	_cleanup_(frame_printer_freep) struct frame_printer *n = NULL;
	_cleanup_(freep) uint64_t *places = calloc(query->count + 1, sizeof(*places));
	_cleanup_(freep) uint64_t *vaddrs = calloc(query->count + 1, 2 * sizeof(*vaddrs));
	struct resolve_query q = *query;
	size_t wanted;

	if (!vaddrs || !places)
		return err_no_memory(err);
	TRY(place_query(t, &q, places, err));
	wanted = wanted_of(&q, places, vaddrs);
	/* Only the table can say where in memory an offset of the file is. */
	TRY(local_table_need(t, q.file_off ? NULL : vaddrs, wanted, err));
	for (size_t i = 0; i < q.count; i++)
		vaddrs[i] = looked_up(&t->rsym, places[i], &q);
	n = frame_printer_new(&t->rsym, q.demangle == RESOLVE_DEMANGLED, err);
	return n ? frame_printer_print(n, q.addresses, vaddrs, q.count, printer, unknown, err)
		 : err->code;
}
