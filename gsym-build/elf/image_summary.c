/* SPDX-License-Identifier: Apache-2.0 */
#include "image_summary.h"

int image_summary_read(int fd, struct image_summary *ret, struct err *err)
{
	struct image_links links;
	int rc;

	*ret = (struct image_summary){.kind = IMAGE_OTHER};
	rc = image_notes_id(fd, &ret->id, err);
	if (rc < 0)
		return rc;
	if (!image_links_read(fd, &links, NULL)) {
		ret->kind = links.kind;
		ret->alt_id = links.alt_id;
	}
	return 0;
}
