/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <string.h>

#include "options_priv.h"

static bool begins_with(const char *text, const char *begin)
{
	return strncmp(text, begin, strlen(begin)) == 0;
}

static void put_words(struct buf *out, const char *const *words, const char *begin)
{
	for (; words && *words; words++)
		if (begins_with(*words, begin))
			buf_printf(out, "%s\n", *words);
}

static void put_processes(struct buf *out, const char *begin)
{
	DIR *d = opendir("/proc");
	const struct dirent *e;

	while (d && (e = readdir(d)))
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9' && begins_with(e->d_name, begin))
			buf_printf(out, "%s\n", e->d_name);
	if (d)
		closedir(d);
}

/* Appends the completions of a row's argument. */
static void put_argument(struct buf *out, const struct option_row *row, const char *begin)
{
	put_words(out, row->words, begin);
	if (begins_with(row->argument, "PID"))
		put_processes(out, begin);
	else if (!row->words || row->takes_files)
		buf_str(out, OPTIONS_FILES "\n");
}

/* Appends a name and the first part of its help, which fits beside it. */
static void put_name(struct buf *out, const char *dashes, const char *name, size_t name_len,
		     const struct option_row *row)
{
	buf_printf(out, "%s%.*s\t%.*s\n", dashes, (int)name_len, name,
		   (int)strcspn(row->help, ",;:(\n"), row->help);
}

static void put_row_names(struct buf *out, const struct option_row *row, const char *begin)
{
	if (!row->help || row->kind == OPTION_KIND_HEADING)
		return;
	if (row->name && (begins_with("--", begin) ||
			  (begins_with(begin, "--") && begins_with(row->name, begin + 2))))
		put_name(out, "--", row->name, strlen(row->name), row);
	if (row->letter && (!begin[1] || (begin[1] == row->letter && !begin[2])))
		put_name(out, "-", &row->letter, 1, row);
}

static void put_completed_names(struct buf *out, const struct option_usage *usage,
				const char *begin)
{
	const struct option_row *common[OPTION_COMMON_ROWS + 1];
	const struct option_row *row;
	struct option_walk w;
	size_t offset;

	for (option_walk_init(&w, usage); (row = option_walk_next(&w, &offset));)
		put_row_names(out, row, begin);
	option_common_rows(usage, common);
	for (size_t i = 0; common[i] != &option_row_help; i++)
		put_row_names(out, common[i], begin);
}

/* Returns the row whose argument follows `word`, or NULL. */
static const struct option_row *find_waiting(const struct option_usage *usage, const char *word)
{
	const struct option_row *row = NULL;
	bool is_ambiguous;
	size_t offset;

	if (word[0] == '-' && word[1] == '-' && word[2] && !strchr(word, '='))
		row = option_find_name(usage, word + 2, strlen(word + 2), &offset, &is_ambiguous);
	else if (word[0] == '-' && word[1] && word[1] != '-')
		row = option_find_letter(usage, word[strlen(word) - 1], &offset);
	return row && row->argument && !row->is_optional ? row : NULL;
}

void options_complete(const struct option_usage *usage, char *const *words, size_t count,
		      struct buf *out)
{
	const char *begin = count ? words[count - 1] : "";
	const struct option_row *waiting = count > 1 ? find_waiting(usage, words[count - 2]) : NULL;

	if (waiting)
		put_argument(out, waiting, begin);
	else if (begin[0] == '-')
		put_completed_names(out, usage, begin);
	else if (count == 1 && usage->operand_words)
		put_words(out, usage->operand_words, begin);
	else
		buf_str(out, OPTIONS_FILES "\n");
}
