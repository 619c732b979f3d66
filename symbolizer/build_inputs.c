/* SPDX-License-Identifier: Apache-2.0 */
#include "build_inputs.h"

#include "image_links.h"

enum kept_role build_role(int fd, Rawstack__V1__BinaryKind declared)
{
	struct image_links links;

	switch (declared) {
	case RAWSTACK__V1__BINARY_KIND__BINARY_KIND_ALT:
		return KEPT_ALT;
	case RAWSTACK__V1__BINARY_KIND__BINARY_KIND_DWP:
		return KEPT_DWP;
	default:
		break;
	}
	return !image_links_read(fd, &links, NULL) && links.kind == IMAGE_EXECUTABLE
		       ? KEPT_EXECUTABLE
		       : KEPT_DEBUG;
}

int build_inputs_alt(int fd, struct build_id *ret)
{
	struct image_links links;

	if (image_links_read(fd, &links, NULL) || !links.alt_name[0])
		return 0;
	*ret = links.alt_id;
	return 1;
}

static void add_alias(int fd, const struct build_id *id, struct store_aliases *to)
{
	struct build_id found, hash;

	if (fd >= 0 && table_second_name(fd, &found, &hash, NULL) == 1 &&
	    build_id_equal(&found, id))
		to->ids[to->count++] = hash;
}

void build_inputs_aliases(const struct build_inputs *in, const struct build_id *id,
			  struct store_aliases *ret)
{
	ret->count = 0;
	add_alias(in->stripped, id, ret);
	add_alias(in->input, id, ret);
}

void build_inputs_done(struct build_inputs *in)
{
	while (in->owned_count)
		closep(&in->owned[--in->owned_count]);
}

/* -1 when it is not there. A kept one that cannot be read is one that is not there. */
static int take(struct build_inputs *in, struct kept_files *kept, const struct build_id *id,
		enum kept_role role)
{
	int fd;

	if (kept_files_get(kept, id, role, &fd, NULL) != 1)
		return -1;
	in->owned[in->owned_count++] = fd;
	return fd;
}

static void take_companion(struct build_inputs *in, struct kept_files *kept,
			   const struct build_id *id, enum kept_role role,
			   enum table_companion_kind kind)
{
	int fd = take(in, kept, id, role);

	if (fd >= 0)
		in->companions[in->companion_count++] =
			(struct table_companion){.fd = fd, .kind = kind};
}

int build_inputs_gather(struct build_inputs *in, struct kept_files *kept, const struct build_id *id,
			enum kept_role role, int fd, struct err *err)
{
	int debug = fd >= 0 && role == KEPT_DEBUG ? fd : take(in, kept, id, KEPT_DEBUG);
	int executable =
		fd >= 0 && role == KEPT_EXECUTABLE ? fd : take(in, kept, id, KEPT_EXECUTABLE);
	struct build_id alt;

	in->input = debug >= 0 ? debug : executable;
	in->stripped = debug >= 0 ? executable : -1;
	if (in->input < 0)
		return err_set(err, ERR_NOT_FOUND, "no file of it was kept");
	if (build_inputs_alt(in->input, &alt) == 1)
		take_companion(in, kept, &alt, KEPT_ALT, TABLE_COMPANION_ALT);
	take_companion(in, kept, id, KEPT_DWP, TABLE_COMPANION_DWP);
	return 0;
}
