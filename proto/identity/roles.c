/* SPDX-License-Identifier: Apache-2.0 */
#include "roles.h"

#include <stdio.h>
#include <string.h>

#include "identity_lines.h"
#include "limits.h"

/* Lines: a fleet has a line for each kind of client, not for each client. */
#define ROLES_MAX 4096

const char *const role_words[] = {"read", "host", "write", "admin", NULL};

struct role_line {
	const char *name; /* without the * at its end */
	size_t len;
	bool is_prefix;
	unsigned int role;
};

struct roles {
	struct identity_lines lines;
	struct role_line *all;
	size_t count, cap;
};

void role_names(unsigned int roles, char to[static 40])
{
	size_t at = 0;

	snprintf(to, 40, "none");
	for (size_t i = 0; role_words[i]; i++)
		if (roles & ROLE_READ << i)
			at += (size_t)snprintf(to + at, 40 - at, "%s%s", at ? ", " : "",
					       role_words[i]);
}

static unsigned int role_of_word(const char *word)
{
	for (size_t i = 0; role_words[i]; i++)
		if (!strcmp(word, role_words[i]))
			return ROLE_READ << i;
	return 0;
}

static bool is_role_name(const char *name)
{
	static const char *const kinds[] = {"spiffe://", "URI:", "DNS:", "token:"};

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (!strncmp(name, kinds[i], strlen(kinds[i])) && name[strlen(kinds[i])])
			return true;
	return false;
}

static int add_role_line(struct roles *r, const struct identity_line *line, struct err *err)
{
	struct role_line *to;
	const char *name = line->words[1];
	size_t len;

	if (line->count != 2)
		return err_set(err, ERR_DATA, "%s:%u: a line is a role and a name", line->path,
			       line->number);
	if (!role_of_word(line->words[0]))
		return err_set(err, ERR_DATA, "%s:%u: '%s' is no role (read, host, write, admin)",
			       line->path, line->number, line->words[0]);
	if (!is_role_name(name))
		return err_set(err, ERR_DATA,
			       "%s:%u: '%s' is no name (spiffe://..., URI:..., DNS:..., "
			       "token:...)",
			       line->path, line->number, name);
	if (!GROW(r->all, &r->cap, r->count + 1, ROLES_MAX))
		return err_full(err, r->count < ROLES_MAX, "%s:%u: more than %d roles", line->path,
				line->number, ROLES_MAX);
	/* A SPIFFE id is a URI. */
	if (!strncmp(name, "URI:", 4))
		name += 4;
	len = strlen(name);
	to = &r->all[r->count++];
	*to = (struct role_line){.name = name, .role = role_of_word(line->words[0])};
	to->is_prefix = name[len - 1] == '*';
	to->len = len - to->is_prefix;
	return 0;
}

int roles_read(struct roles **ret, const char *path, struct err *err)
{
	_cleanup_(roles_freep) struct roles *r = calloc(1, sizeof(*r));
	struct identity_line line;

	if (!r)
		return err_no_memory(err);
	TRY(identity_lines_open(&r->lines, path, LIMIT_ROLES_LEN, err));
	while (identity_lines_next(&r->lines, &line))
		TRY(add_role_line(r, &line, err));
	*ret = TAKE_PTR(r);
	return 0;
}

void roles_free(struct roles *r)
{
	if (!r)
		return;
	identity_lines_done(&r->lines);
	free(r->all);
	free(r);
}

unsigned int roles_of_name(const struct roles *r, const char *name)
{
	unsigned int roles = 0;
	size_t len;

	if (!strncmp(name, "URI:", 4))
		name += 4;
	len = strlen(name);
	for (size_t i = 0; i < r->count; i++) {
		const struct role_line *line = &r->all[i];

		if ((line->is_prefix ? len >= line->len : len == line->len) &&
		    !memcmp(name, line->name, line->len))
			roles |= line->role;
	}
	return roles;
}
