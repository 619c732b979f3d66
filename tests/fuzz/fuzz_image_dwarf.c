/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole build from memory: ELF, decompression, symbols, DWARF, kallsyms, flattening, writing.
 * What comes out must be a table that opens.
 */
#include <assert.h>
#include <stdlib.h>

#include "rsym.h"
#include "table_make.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	struct table_source source = {.columns = true, .types = true, .p = p, .len = len};
	struct buf out = BUF_INIT(64 << 20);
	struct build_report report;
	struct rsym t;

	if (build_id_set(&source.id, BUILD_ID_GNU, "fuzz", 4, NULL))
		abort();
	if (table_make(&source, &out, &report, NULL) == 0) {
		int rc = rsym_open(&t, out.p, out.len, NULL);

		assert(rc == 0);
		(void)rc;
	}
	buf_done(&out);
	return 0;
}
