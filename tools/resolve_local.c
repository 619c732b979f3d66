/* SPDX-License-Identifier: Apache-2.0 */
#include "namer.h"
#include "resolve.h"

static uint64_t looked_up(const struct rsym *t, uint64_t address, const struct resolve_query *q)
{
	/* What is in no segment is in no function either. */
	if (q->file_off && rsym_vaddr_of_file_off(t, address, &address) != 1)
		return UINT64_MAX;
	return address - (q->return_address && address);
}

int resolve_local(struct local_table *t, const struct resolve_query *q,
		  struct resolve_printer *printer, size_t *unknown, struct err *err)
{
	_cleanup_(namer_freep) struct namer *n = NULL;
	_cleanup_(freep) uint64_t *vaddrs = malloc((q->count + 1) * sizeof(*vaddrs));
	int rc = 0;

	if (!vaddrs)
		return err_set(err, ERR_MEMORY, "resolve: out of memory");
	for (size_t i = 0; i < q->count; i++)
		vaddrs[i] = q->addresses[i] - (q->return_address && q->addresses[i]);
	/* Only the table can say where in memory an offset of the file is. */
	rc = local_table_need(t, q->file_off ? NULL : vaddrs, q->count, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < q->count; i++)
		vaddrs[i] = looked_up(&t->rsym, q->addresses[i], q);
	n = namer_new(&t->rsym, q->demangle == RESOLVE_DEMANGLED, err);
	return n ? namer_print(n, q->addresses, vaddrs, q->count, printer, unknown, err)
		 : err->code;
}
