/* SPDX-License-Identifier: Apache-2.0 */
#include "build_inputs.h"

enum kept_role build_role(const struct image_summary *s, Rawstack__V1__BinaryKind declared)
{
	switch (declared) {
	case RAWSTACK__V1__BINARY_KIND__BINARY_KIND_ALT:
		return KEPT_ALT;
	case RAWSTACK__V1__BINARY_KIND__BINARY_KIND_DWP:
		return KEPT_DWP;
	default:
		return s->kind == IMAGE_EXECUTABLE ? KEPT_EXECUTABLE : KEPT_DEBUG;
	}
}

static void add_alias(int fd, const struct image_summary *s, const struct build_id *id,
		      struct store_id_aliases *to)
{
	struct build_id hash;

	if (fd >= 0 && build_id_equal(&s->id.id, id) &&
	    image_summary_second_name(fd, s, &hash, NULL) == 1)
		to->ids[to->count++] = hash;
}

void build_inputs_id_aliases(const struct build_inputs *in, const struct build_id *id,
			     struct store_id_aliases *ret)
{
	ret->count = 0;
	add_alias(in->executable, &in->executable_summary, id, ret);
	add_alias(in->input, &in->input_summary, id, ret);
}

void build_inputs_done(struct build_inputs *in)
{
	while (in->owned_count)
		closep(&in->owned[--in->owned_count]);
}

/* Returns the descriptor of a kept file, or -1. A kept file that cannot be read counts as absent.
 */
static int take_kept_file(struct build_inputs *in, struct kept_files *kept,
			  const struct build_id *id, enum kept_role role)
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
	int fd = take_kept_file(in, kept, id, role);

	if (fd >= 0)
		in->companions[in->companion_count++] =
			(struct table_companion){.fd = fd, .kind = kind};
}

/* Takes the file of this role: the uploaded one, or a kept one. A file that cannot be examined is
 * taken as it is, and the build reports why. */
static int take_input(struct build_inputs *in, struct kept_files *kept, const char *worker_path,
		      const struct build_id *id, enum kept_role role,
		      const struct build_input *came, struct image_summary *ret)
{
	int fd;

	if (came->fd >= 0 && came->role == role) {
		*ret = *came->summary;
		return came->fd;
	}
	fd = take_kept_file(in, kept, id, role);
	if (fd < 0 || table_inspect(fd, worker_path, ret, NULL))
		*ret = (struct image_summary){.kind = IMAGE_OTHER};
	return fd;
}

int build_inputs_gather(struct build_inputs *in, struct kept_files *kept, const char *worker_path,
			const struct build_id *id, const struct build_input *came, struct err *err)
{
	struct image_summary debug_summary, executable_summary;
	int debug = take_input(in, kept, worker_path, id, KEPT_DEBUG, came, &debug_summary);
	int executable =
		take_input(in, kept, worker_path, id, KEPT_EXECUTABLE, came, &executable_summary);

	in->input = debug >= 0 ? debug : executable;
	in->input_summary = debug >= 0 ? debug_summary : executable_summary;
	in->executable = debug >= 0 ? executable : -1;
	in->executable_summary = executable_summary;
	if (in->input < 0)
		return err_set(err, ERR_NOT_FOUND, "no file of the binary was kept");
	if (in->input_summary.alt_id.kind != BUILD_ID_NONE)
		take_companion(in, kept, &in->input_summary.alt_id, KEPT_ALT, TABLE_COMPANION_ALT);
	take_companion(in, kept, id, KEPT_DWP, TABLE_COMPANION_DWP);
	return 0;
}
