/* SPDX-License-Identifier: Apache-2.0 */
#include "companion_images.h"

#include "limits.h"

void companion_images_close(struct die_companions *c)
{
	image_free(c->alt);
	image_free(c->dwp);
	for (size_t i = 0; i < c->dwo_count; i++)
		image_free(c->dwos[i]);
	free(c->dwos);
}

/* Companions that are not ELF files are left out; their units or names are then reported as
 * missing. */
int companion_images_open(struct die_companions *c, const struct table_source *source,
			  struct err *err)
{
	c->dwos = calloc(source->companion_count + 1, sizeof(struct image *));
	if (!c->dwos)
		return err_no_memory(err);
	for (size_t i = 0; i < source->companion_count; i++) {
		const struct table_companion_bytes *b = &source->companions[i];
		struct image *im = NULL, **place;
		struct err why;

		if (!b->p || image_open(&im, b->p, b->len, &why))
			continue;
		place = b->kind == TABLE_COMPANION_ALT   ? &c->alt
			: b->kind == TABLE_COMPANION_DWP ? &c->dwp
							 : &c->dwos[c->dwo_count++];
		image_free(*place);
		*place = im;
	}
	return 0;
}

/* Writes the format of struct table_request.missing. The ceiling of `units` leaves room for the
 * link before them. */
int companion_images_missing(struct image *im, const struct debug_report *debug,
			     const struct buf *units, struct buf *out, struct err *err)
{
	const uint8_t *link = NULL;
	size_t len = 0;
	int rc = 0;

	if (debug->needs_alt_file)
		rc = image_section(im, ".gnu_debugaltlink", &link, &len, err);
	if (rc < 0)
		return rc;
	if (len > LIMIT_PATH_LEN)
		len = 0;
	buf_u32(out, (uint32_t)len);
	buf_append(out, link, len);
	buf_append(out, units->p, units->len);
	return out->failed ? err_no_memory(err) : 0;
}
