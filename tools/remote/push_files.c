/* SPDX-License-Identifier: Apache-2.0 */
#include "push_files.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static int add_push_file(struct push_files *f, const char *path, bool found, struct err *err)
{
	char *copy;

	if (!GROW(f->list, &f->cap, f->count + 1, LIMIT_PUSH_FILES))
		return err_set(err, ERR_LIMIT, "more than %llu files",
			       (unsigned long long)LIMIT_PUSH_FILES);
	copy = strdup(path);
	if (!copy)
		return err_no_memory(err);
	f->list[f->count++] = (struct push_file){.path = copy, .found = found};
	return 0;
}

static int compare_entry_names(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static int add_directory(struct push_files *f, const char *path, struct err *err)
{
	char *paths[] = {strdup(path), NULL};
	FTS *tree =
		paths[0] ? fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, compare_entry_names) : NULL;
	FTSENT *e;
	int rc = 0;

	if (!tree)
		rc = err_sys(err, errno, "%s", path);
	while (!rc && (e = fts_read(tree))) {
		if (e->fts_info == FTS_F)
			rc = add_push_file(f, e->fts_path, true, err);
		else if (e->fts_info == FTS_DNR || e->fts_info == FTS_ERR)
			rc = err_sys(err, e->fts_errno, "%s", e->fts_path);
	}
	if (tree)
		fts_close(tree);
	free(paths[0]);
	return rc;
}

static int add_listed_files(struct push_files *f, FILE *in, struct err *err)
{
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;
	int rc = 0;

	while (!rc && (n = getline(&line, &cap, in)) > 0) {
		if (line[n - 1] == '\n')
			line[--n] = 0;
		if (n && !strcmp(line, "-"))
			rc = err_set(err, ERR_USAGE, "'-' is not a path in a list");
		else if (n)
			rc = push_files_add(f, line, err);
	}
	if (!rc && ferror(in))
		rc = err_set(err, ERR_IO, "standard input: cannot read");
	free(line);
	return rc;
}

int push_files_add(struct push_files *f, const char *path, struct err *err)
{
	struct stat st;

	if (!strcmp(path, "-"))
		return add_listed_files(f, stdin, err);
	/* A path that cannot be opened is reported in its turn, so that the others are sent. */
	if (!stat(path, &st) && S_ISDIR(st.st_mode))
		return add_directory(f, path, err);
	return add_push_file(f, path, false, err);
}

int push_files_add_loaded(struct push_files *f, const char *path, const struct build_id *loaded,
			  struct err *err)
{
	TRY(add_push_file(f, path, false, err));
	f->list[f->count - 1].loaded = *loaded;
	return 0;
}

void push_files_done(struct push_files *f)
{
	for (size_t i = 0; i < f->count; i++)
		free(f->list[i].path);
	free(f->list);
	*f = (struct push_files){0};
}
