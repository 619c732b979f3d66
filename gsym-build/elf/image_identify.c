/* SPDX-License-Identifier: Apache-2.0 */
#include "image_summary.h"

#include "htlhash.h"

int image_summary_identity(int fd, const struct image_summary *s, struct build_id *ret,
			   struct err *err)
{
	*ret = s->id.id;
	return ret->kind != BUILD_ID_NONE ? 0 : htlhash_of_file(fd, s->id.file_len, ret, err);
}

int image_summary_second_name(int fd, const struct image_summary *s, struct build_id *ret,
			      struct err *err)
{
	if (s->id.id.kind == BUILD_ID_NONE || !s->id.in_ends ||
	    (s->kind != IMAGE_EXECUTABLE && s->kind != IMAGE_BOTH))
		return 0;
	TRY(htlhash_of_file(fd, s->id.file_len, ret, err));
	return 1;
}

int image_identify(int fd, struct build_id *ret_id, struct err *err)
{
	struct image_id found;
	int rc = image_notes_id(fd, &found, err);

	if (rc < 0)
		return rc;
	*ret_id = found.id;
	return rc ? 0 : htlhash_of_file(fd, found.file_len, ret_id, err);
}
