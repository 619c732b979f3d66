/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <string.h>

#include "options_priv.h"

const struct option_row option_row_help = {
	.kind = OPTION_KIND_IGNORE, .letter = 'h', .name = "help", .help = "says all this"};
const struct option_row option_row_version = {
	.kind = OPTION_KIND_IGNORE, .name = "version", .help = "says which this is"};

const struct option_row option_row_config = {
	.kind = OPTION_KIND_TEXT,
	.name = "config",
	.argument = "FILE",
	.takes_files = true,
	.help = "read this file of lines NAME = VALUE, where NAME is the long name of an option; "
		"variables override it, and options override both"};
const struct option_row option_row_check = {
	.kind = OPTION_KIND_SET,
	.name = "check-config",
	.help = "check the file, the variables and the options, and exit"};
const struct option_row option_row_print = {.kind = OPTION_KIND_SET,
					    .name = "print-config",
					    .help = "print the values in force and the source of "
						    "each, in the format of the file, and exit"};

void option_common_rows(const struct option_usage *usage,
			const struct option_row *ret[static OPTION_COMMON_ROWS + 1])
{
	size_t count = 0;

	if (usage->config && usage->config->prefix) {
		ret[count++] = &option_row_config;
		ret[count++] = &option_row_check;
		ret[count++] = &option_row_print;
	}
	if (usage->version)
		ret[count++] = &option_row_version;
	ret[count++] = &option_row_help;
	ret[count] = NULL;
}

void option_walk_init(struct option_walk *w, const struct option_usage *usage)
{
	w->depth = usage->rows != NULL;
	w->tables[0].next = usage->rows;
	w->tables[0].offset = 0;
}

const struct option_row *option_walk_next(struct option_walk *w, size_t *ret_offset)
{
	while (w->depth) {
		const size_t offset = w->tables[w->depth - 1].offset;
		const struct option_row *row = w->tables[w->depth - 1].next++;

		if (row->kind != OPTION_KIND_ROWS) {
			*ret_offset = offset;
			return row;
		}
		if (!row->rows) {
			w->depth--;
			continue;
		}
		assert(w->depth < OPTION_DEPTH);
		w->tables[w->depth].next = row->rows;
		w->tables[w->depth++].offset = offset + row->offset;
	}
	return NULL;
}

const struct option_row *option_find_letter(const struct option_usage *usage, char letter,
					    size_t *ret_offset)
{
	const struct option_row *row;
	struct option_walk w;

	for (option_walk_init(&w, usage); (row = option_walk_next(&w, ret_offset));)
		if (row->letter == letter)
			return row;
	return letter == option_row_help.letter ? &option_row_help : NULL;
}

const struct option_row *option_find_name(const struct option_usage *usage, const char *name,
					  size_t len, size_t *ret_offset, bool *is_ambiguous)
{
	const struct option_row *common[OPTION_COMMON_ROWS + 1];
	const struct option_row *row, *found = NULL;
	size_t count = 0, offset = 0, rest = 0;
	struct option_walk w;

	option_common_rows(usage, common);
	option_walk_init(&w, usage);
	*is_ambiguous = false;
	while ((row = option_walk_next(&w, &offset)) || (row = common[rest++])) {
		if (!row->name || strncmp(row->name, name, len) != 0)
			continue;
		*ret_offset = offset;
		found = row;
		if (!row->name[len])
			return row;
		count++;
	}
	*is_ambiguous = count > 1;
	return count == 1 ? found : NULL;
}
