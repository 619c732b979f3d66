/* SPDX-License-Identifier: Apache-2.0 */
#include "profile_file.h"

#include "file_view.h"
#include "folded.h"
#include "perf_data.h"
#include "perf_script.h"
#include "pprof_read.h"

static int read_profile_view(struct file_view *file, struct profile *p, struct err *err)
{
	if (perf_data_is(file->p, file->len))
		return perf_data_read(file, p, err);
	if (perf_script_is(file->p, file->len))
		return perf_script_read(file, p, err);
	if (folded_is(file->p, file->len))
		return folded_read(file, p, err);
	return pprof_read(file->p, file->len, p, err);
}

static bool is_pprof(const struct file_view *file)
{
	return !perf_data_is(file->p, file->len) && !perf_script_is(file->p, file->len) &&
	       !folded_is(file->p, file->len);
}

static int add_view(struct file_view *file, const struct pprof_time_filter *between,
		    struct profile *into, struct err *err)
{
	_cleanup_(profile_done) struct profile one;
	int rc;

	profile_init(&one);
	if (is_pprof(file))
		return pprof_add(file->p, file->len, between, into, err);
	rc = read_profile_view(file, &one, err);
	if (rc || (between && !between->wants(between->ctx, one.time_ns, one.duration_ns)))
		return rc;
	return profile_merge(into, &one, NULL, NULL, err);
}

/* Returns whether a file is not pprof although it was taken for it, as is any file of no other
 * format. Unpacked, pprof begins with its first field, the sample types. For packed data gzip has
 * its own error. */
static bool is_foreign(const struct file_view *file)
{
	const uint8_t *p = file->p;

	return file->len >= 2 && is_pprof(file) && !(p[0] == 0x1f && p[1] == 0x8b) && p[0] != 0x0a;
}

/* Ends the reading of a file. If the file was truncated meanwhile, that is the error, because it
 * explains more than the reader's. */
static int end_profile_file(const struct file_view *file, const char *path, int rc, struct err *err)
{
	struct err cut;
	int cut_rc = file_view_check(file, &cut);

	if (cut_rc) {
		*err = cut;
		rc = cut_rc;
	} else if (rc == ERR_DATA && is_foreign(file)) {
		err_set(err, rc,
			"no profile that is read here: give pprof, perf.data, the text of perf "
			"script, or folded stacks");
	}
	return rc ? err_prefix(err, "%s", path) : 0;
}

int profile_file_add(const char *path, const struct pprof_time_filter *between,
		     struct profile *into, struct err *err)
{
	_cleanup_(file_view_done) struct file_view file;

	TRY(file_view_open(&file, path, LIMIT_PERF_DATA_LEN, err));
	return end_profile_file(&file, path, add_view(&file, between, into, err), err);
}

int profile_file_read(const char *path, struct profile *p, struct err *err)
{
	_cleanup_(file_view_done) struct file_view file;

	TRY(file_view_open(&file, path, LIMIT_PERF_DATA_LEN, err));
	return end_profile_file(&file, path, read_profile_view(&file, p, err), err);
}
