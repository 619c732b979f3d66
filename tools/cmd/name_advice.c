/* SPDX-License-Identifier: Apache-2.0 */
#include "name_advice.h"

#include <string.h>

#include "limits.h"
#include "text.h"

static struct name_status status_of(const struct profile_view *v, struct profile_text id)
{
	const struct name_source *source = v->filter.naming.source;

	if (!source || !id.len)
		return (struct name_status){NULL, ""};
	return source->status(source->ctx, id);
}

/* Returns whether a path may be one of a host, which begins with one slash and is shorter than
 * PATH_MAX. "//unknown" and the like stand for a path that nobody knew. */
static bool is_path(struct profile_text path)
{
	return path.len > 1 && path.len < PATH_MAX && path.p[0] == '/' && path.p[1] != '/';
}

/* Appends why there are no names. Returns false if no push helps. */
static bool append_why(struct buf *out, const struct name_status *s)
{
	if (!s->status)
		return true;
	if (strcmp(s->status, "ready") == 0 && s->reason[0]) {
		buf_printf(out, ": %s", s->reason); /* escaped already */
		return true;
	}
	if (strcmp(s->status, "ready") == 0) {
		buf_str(out, ": in none of its functions");
		return false;
	}
	if (strcmp(s->status, "building") == 0) {
		buf_str(out, ": the service is making its table: try again");
		return false;
	}
	if (strcmp(s->status, "damaged") == 0) {
		buf_printf(out, ": %s", s->reason); /* escaped already */
		return false;
	}
	if (strcmp(s->status, "failed") == 0) {
		buf_printf(out,
			   ": the service could make no table: %s: the same file again would not "
			   "help, its debug file would: rawstack push FILE.debug",
			   s->reason); /* escaped already */
		return false;
	}
	if (strcmp(s->status, "missing") == 0)
		buf_str(out, ": unknown to the service");
	else if (strcmp(s->status, "purged") == 0 && !s->reason[0])
		buf_str(out, ": no longer stored");
	else
		buf_printf(out, ": %s: %s", s->status, s->reason); /* escaped already */
	return true;
}

/* Appends the commands that push a part of the kernel. For a loaded module, "[kernel:NAME]" or
 * "[kernel:NAME.SECTION]", it adds the one that pushes the file alone, for users who want no more
 * or whose kernel runs no longer. */
static void append_kernel(struct buf *out, struct profile_text path)
{
	const size_t prefix_len = strlen(PROFILE_KERNEL_PREFIX);
	size_t end = prefix_len + 1;

	buf_str(out, ": rawstack push --kernel");
	if (path.len <= end || path.p[prefix_len] != ':')
		return;
	while (end < path.len && path.p[end] != '.' && path.p[end] != ']')
		end++;
	if (end > NAME_MAX) /* no file has such a name */
		return;
	buf_str(out, " on its host, or its file: rawstack push \"$(modinfo -n ");
	text_shell_word(out, path.p + prefix_len + 1, end - prefix_len - 1);
	buf_str(out, ")\"");
}

void name_advice_text(struct buf *out, const struct profile_view *v, uint32_t module)
{
	struct profile_text path, id;
	struct name_status status;

	if (module == PROFILE_NONE) {
		buf_str(out, "[no module]: generated code, or mappings that were gone\n");
		return;
	}
	path = profile_text(&v->p, v->p.modules[module].path);
	id = profile_text(&v->p, v->p.modules[module].build_id);
	status = status_of(v, id);
	profile_view_text(out, path);
	if (id.len) {
		buf_str(out, "  build id ");
		profile_view_text(out, id);
	}
	if (append_why(out, &status)) {
		if (profile_is_kernel(&v->p, module)) {
			append_kernel(out, path);
		} else if (is_path(path)) {
			buf_str(out, id.len ? ": rawstack push "
					    : ": the profile says no build id; name its file: -e ");
			text_shell_word(out, path.p, path.len);
		} else if (path.len > 1 && path.p[0] == '/') {
			buf_str(out,
				id.len ? ": its path is not known: rawstack push the file that has "
					 "this build id"
				       : ": its path is not known");
		} else {
			buf_str(out, ": no file to push");
		}
	}
	buf_str(out, "\n");
}

void name_advice_json(struct buf *out, const struct profile_view *v, uint32_t module)
{
	struct profile_text path = {"", 0}, id = {"", 0};
	struct name_status status;

	if (module != PROFILE_NONE) {
		path = profile_text(&v->p, v->p.modules[module].path);
		id = profile_text(&v->p, v->p.modules[module].build_id);
	}
	status = status_of(v, id);
	json_key_text(out, "path", path.p, path.len);
	json_key_text(out, "build_id", id.p, id.len);
	if (!status.status)
		return;
	json_key_cstr(out, "status", status.status);
	json_key_cstr(out, "reason", status.reason);
}
