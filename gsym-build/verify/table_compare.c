/* SPDX-License-Identifier: Apache-2.0 */
#include "table_compare.h"

#include "companion_images.h"
#include "limits.h"
#include "verify.h"

int table_compare(const struct table_source *source, const struct rsym *t,
		  struct verify_report *report, struct buf *out, struct err *err)
{
	_cleanup_(buf_done) struct buf units = BUF_INIT(LIMIT_MISSING_LEN - LIMIT_PATH_LEN - 4);
	_cleanup_(companion_images_close) struct die_companions c = {0};
	_cleanup_(image_freep) struct image *im = NULL, *executable = NULL;
	_cleanup_(verify_freep) struct verify *v = NULL;
	struct debug_report debug = {0};

	TRY(image_open(&im, source->p, source->len, err));
	if (source->executable)
		TRY(image_open(&executable, source->executable, source->executable_len, err));
	TRY(companion_images_open(&c, source, err));
	c.missing = source->missing ? &units : NULL;
	c.columns = t->columns.p != NULL;
	c.types = t->types.p != NULL;
	TRY(verify_open(&v, im, executable, &c, &debug, err));
	TRY(verify_compare_table(v, t, report, out, err));
	if (source->missing)
		return companion_images_missing(im, &debug, &units, source->missing, err);
	return 0;
}
