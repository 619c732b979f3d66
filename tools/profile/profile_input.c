/* SPDX-License-Identifier: Apache-2.0 */
#include "profile_input.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "arena.h"
#include "buf.h"
#include "log.h"
#include "piped_input.h"
#include "profile_files.h"
#include "profile_names.h"
#include "spool_input.h"
#include "stack_end.h"

/* Bytes of the file names of one directory: enough for a million files of a sink. */
#define NAMES_LEN (256 * MIB)

static bool file_name_ends_with(const char *s, const char *end)
{
	size_t len = strlen(s), end_len = strlen(end);

	return len > end_len && strcmp(s + len - end_len, end) == 0;
}

static int is_profile(const struct dirent *entry)
{
	return entry->d_name[0] != '.' && (file_name_ends_with(entry->d_name, ".pb.gz") ||
					   file_name_ends_with(entry->d_name, ".pb") ||
					   file_name_ends_with(entry->d_name, ".pprof"));
}

static void free_entries(struct dirent ***list, int count)
{
	for (int i = 0; i < count; i++)
		free((*list)[i]);
	free(*list);
	*list = NULL;
}

static int is_segment(const struct dirent *entry)
{
	return spool_input_is_segment(entry->d_name);
}

/* Adds the files of a directory behind what was read before. */
static int add_directory_files(char *const *paths, size_t count, struct profile_filter *filter,
			       struct profile *ret, struct err *err)
{
	_cleanup_(profile_done) struct profile more;

	profile_init(&more);
	if (!ret->value_count)
		return profile_files_add_good(paths, count, filter, ret, err);
	TRY(profile_files_add_good(paths, count, filter, &more, err));
	return profile_merge(ret, &more, NULL, NULL, err);
}

static int read_directory_entries(const char *dir, struct dirent *const *entries, size_t count,
				  struct profile_filter *filter, struct profile *ret,
				  struct err *err)
{
	_cleanup_(arena_done) struct arena names = ARENA_INIT(NAMES_LEN);
	char **paths = arena_array(&names, count, sizeof(*paths));

	for (size_t i = 0; paths && i < count; i++) {
		_cleanup_(buf_done) struct buf path = BUF_INIT(LIMIT_PATH_LEN * 2);

		buf_printf(&path, "%s/%s", dir, entries[i]->d_name);
		paths[i] = arena_copy(&names, path.p, path.len);
		if (!paths[i])
			paths = NULL;
	}
	return paths ? add_directory_files(paths, count, filter, ret, err)
		     : err_set(err, ERR_LIMIT, "%s: too many files", dir);
}

static int read_dir(const char *dir, struct profile_filter *filter, struct profile *ret,
		    struct err *err)
{
	struct dirent **entries = NULL;
	int rc, count = scandir(dir, &entries, is_segment, NULL);

	free_entries(&entries, count);
	if (count > 0)
		return spool_input_read(dir, filter, ret, err);
	count = scandir(dir, &entries, is_profile, alphasort);
	if (count < 0)
		return err_sys(err, errno, "%s", dir);
	rc = count ? read_directory_entries(dir, entries, (size_t)count, filter, ret, err)
		   : err_set(err, ERR_NOT_FOUND,
			     "%s: no profiles (*.pb.gz) and no spool (segment-*.spool) here", dir);
	free_entries(&entries, count);
	return rc;
}

static int read_piped(const char *path, struct profile_filter *filter, struct profile *ret,
		      struct err *err)
{
	_cleanup_(piped_input_done) struct piped_input in = PIPED_INPUT_NONE;
	int rc = piped_input_open(&in, path, LIMIT_PERF_DATA_LEN, err);
	char *copy = in.path;

	if (rc)
		return rc;
	rc = profile_files_add(&copy, 1, filter, ret, err);
	return rc ? piped_input_error(&in, err) : 0;
}

static int read_paths(char *const *paths, size_t count, struct profile_filter *filter,
		      struct profile *ret, struct err *err)
{
	for (size_t i = 0; i < count; i++) {
		const char *slash = strrchr(paths[i], '/');
		struct stat st = {0};
		int rc;

		if (strcmp(paths[i], "-") != 0 && stat(paths[i], &st))
			return err_sys(err, errno, "%s", paths[i]);
		if (piped_input_is(paths[i], &st))
			rc = read_piped(paths[i], filter, ret, err);
		else if (S_ISREG(st.st_mode) &&
			 spool_input_is_segment(slash ? slash + 1 : paths[i]))
			rc = err_set(err, ERR_UNSUPPORTED,
				     "%s: a segment of a spool: give its directory", paths[i]);
		else if (S_ISDIR(st.st_mode))
			rc = read_dir(paths[i], filter, ret, err);
		else
			rc = profile_files_add(&paths[i], 1, filter, ret, err);
		if (rc)
			return rc;
	}
	return 0;
}

/* Names all unnamed locations at once, so that each table is made once. */
static int name_all(struct profile *raw, struct profile_filter *filter, struct profile *ret,
		    struct err *err)
{
	struct profile_names names;
	int rc;

	profile_names_init(&names, &filter->naming);
	rc = profile_names_prepare(&names, raw, err);
	if (!rc && names.count) {
		rc = profile_merge_named(ret, raw, NULL, NULL, profile_names_lines, &names, err);
	} else if (!rc) {
		profile_done(ret);
		*ret = *raw;
		*raw = (struct profile){0};
	}
	profile_names_done(&names);
	return rc;
}

static int read_all(char *const *paths, size_t count, struct profile_filter *filter,
		    struct profile *ret, struct err *err)
{
	_cleanup_(profile_done) struct profile raw;

	profile_init(&raw);
	TRY(read_paths(paths, count, filter, filter->no_symbolize ? ret : &raw, err));
	if (!filter->no_symbolize)
		TRY(name_all(&raw, filter, ret, err));
	return stack_end_label(ret, err);
}

static int read_edited(char *const *paths, size_t count, struct profile_filter *filter,
		       struct profile *ret, struct err *err)
{
	_cleanup_(profile_done) struct profile all;

	profile_init(&all);
	if (!profile_filter_edits(filter))
		return read_all(paths, count, filter, ret, err);
	TRY(read_all(paths, count, filter, &all, err));
	return profile_filter_edit(filter, &all, ret, err);
}

static int64_t negated_value(int64_t v)
{
	return v == INT64_MIN ? INT64_MAX : -v;
}

/* Negates every value, and adds the old ones to totals, which has an entry for each value type of
 * `like`. */
static void negate_profile(struct profile *p, const struct profile *like, int64_t *totals)
{
	for (uint32_t k = 0; k < p->value_count; k++) {
		struct profile_text type = profile_text(p, p->value_types[k].type);
		_cleanup_(buf_done) struct buf name = BUF_INIT(LIMIT_STRING_LEN + 1);
		uint32_t row;

		buf_append(&name, type.p, type.len);
		row = profile_value_index(like, buf_cstr(&name));
		for (size_t i = 0; i < p->samples.count; i++) {
			int64_t *v = &p->values[i * p->value_count + k];

			if (row != PROFILE_NONE && !CHECKED_ADD(totals[row], *v, &totals[row]))
				totals[row] = INT64_MAX;
			*v = negated_value(*v);
		}
	}
}

static int read_difference(char *const *paths, size_t count, struct profile_filter *filter,
			   struct profile *ret, struct err *err)
{
	_cleanup_(profile_done) struct profile base;
	char *base_path = (char *)(uintptr_t)filter->diff_base;
	int rc = read_edited(paths, count, filter, ret, err);

	profile_init(&base);
	if (rc || !base_path)
		return rc;
	TRY(read_edited(&base_path, 1, filter, &base, err));
	negate_profile(&base, ret, filter->diff_totals);
	return profile_merge(ret, &base, NULL, NULL, err);
}

int profile_input_read(char *const *paths, size_t count, struct profile_filter *filter,
		       struct profile *ret, struct err *err)
{
	int rc = read_difference(paths, count, filter, ret, err);

	if (!rc)
		rc = profile_check_unfolded(ret, err);
	if (!rc && !ret->samples.count && (filter->thread || filter->pid >= 0))
		log_warn("no sample is of the thread or process that was asked for");
	if (filter->timeless)
		log_warn("%zu %s no time: left out by --since and --until", filter->timeless,
			 filter->timeless == 1 ? "file says" : "files say");
	return rc;
}

int profile_input_value(const struct profile *p, const char *type, uint32_t *ret, struct err *err)
{
	_cleanup_(buf_done) struct buf names = BUF_INIT(4096);

	if (!type) {
		*ret = p->value_count ? p->value_count - 1 : 0;
		for (uint32_t i = 0; p->default_type && i < p->value_count; i++)
			if (p->value_types[i].type == p->default_type)
				*ret = i;
		return 0;
	}
	*ret = profile_value_index(p, type);
	if (*ret != PROFILE_NONE)
		return 0;
	for (uint32_t i = 0; i < p->value_count; i++) {
		struct profile_text t = profile_text(p, p->value_types[i].type);

		buf_printf(&names, "%s%.*s", i ? ", " : "", (int)t.len, t.p);
	}
	return err_set(err, ERR_NOT_FOUND, "--value %s: there is only %s", type, buf_cstr(&names));
}
