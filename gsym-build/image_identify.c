/* SPDX-License-Identifier: Apache-2.0 */
#include "htlhash.h"
#include "image_links.h"
#include "image_notes.h"
#include "table_build.h"

int table_identify(int fd, struct build_id *ret_id, struct err *err)
{
	struct image_id found;
	int rc = image_notes_id(fd, &found, err);

	if (rc < 0)
		return rc;
	*ret_id = found.id;
	return rc ? 0 : htlhash_of_file(fd, found.file_len, ret_id, err);
}

int table_second_name(int fd, struct build_id *ret_id, struct build_id *ret_hash, struct err *err)
{
	struct image_links links;
	struct image_id found;
	int rc = image_notes_id(fd, &found, err);

	if (rc != 1)
		return rc;
	*ret_id = found.id;
	if (!found.in_ends || image_links_read(fd, &links, NULL) ||
	    (links.kind != IMAGE_EXECUTABLE && links.kind != IMAGE_BOTH))
		return 0;
	rc = htlhash_of_file(fd, found.file_len, ret_hash, err);
	return rc ? rc : 1;
}
