/* SPDX-License-Identifier: Apache-2.0 */
#include "roles.h"

#include <stdio.h>
#include <string.h>

#include "identity_lines.h"
#include "limits.h"
#include "number.h"

/* Lines: a fleet has a line for each kind of client, not for each client. */
#define ROLES_MAX 4096

const char *const role_words[] = {"read", "host", "write", "admin", NULL};

struct role_line {
	const char *name; /* without the * at its end */
	size_t len;
	bool is_prefix;
	unsigned int role;
};

struct quota_line {
	const char *name; /* without the * at its end; "" is the default */
	size_t len;
	bool is_prefix;
	uint64_t most[QUOTA_KINDS]; /* 0: the line does not say */
};

struct roles {
	struct identity_lines lines;
	struct role_line *all;
	size_t count, cap;
	struct quota_line *quotas;
	size_t quota_count, quota_cap;
};

static const char *const quota_words[QUOTA_KINDS] = {
	[QUOTA_DAY_BYTES] = "bytes-a-day",
	[QUOTA_REQUESTS] = "requests",
	[QUOTA_BUILDS] = "builds",
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

/* Reads a number, 1 or more, behind which K, M, G or T may stand for powers of 1024. */
static bool parse_quota(const char *text, uint64_t *ret)
{
	static const char suffixes[] = "KMGT";
	const char *suffix;

	if (!number_take(&text, 10, ret) || !*ret)
		return false;
	suffix = *text ? strchr(suffixes, *text) : NULL;
	if (!suffix)
		return !*text;
	return !text[1] && CHECKED_MUL(*ret, UINT64_C(1) << (10 * (suffix - suffixes + 1)), ret);
}

static int set_quota(struct quota_line *to, const struct identity_line *line, char *word,
		     struct err *err)
{
	char *value = strchr(word, '=');

	if (value)
		*value++ = '\0';
	for (size_t i = 0; i < QUOTA_KINDS; i++) {
		if (strcmp(word, quota_words[i]) != 0)
			continue;
		if (to->most[i])
			return err_set(err, ERR_DATA, "%s:%u: %s= comes twice", line->path,
				       line->number, word);
		if (!value || !parse_quota(value, &to->most[i]))
			return err_set(err, ERR_DATA,
				       "%s:%u: behind %s= stands a number from 1 on; K, M, G or T "
				       "may follow it",
				       line->path, line->number, word);
		return 0;
	}
	return err_set(err, ERR_DATA, "%s:%u: '%s' is no quota (bytes-a-day=, requests=, builds=)",
		       line->path, line->number, word);
}

/* Adds a line "quota NAME bytes-a-day=10G requests=8 builds=1". */
static int add_quota_line(struct roles *r, const struct identity_line *line, struct err *err)
{
	const char *name = line->words[1];
	struct quota_line *to;

	if (line->count < 3 || line->count > 2 + QUOTA_KINDS)
		return err_set(err, ERR_DATA,
			       "%s:%u: a quota is: quota NAME bytes-a-day=N requests=N builds=N",
			       line->path, line->number);
	if (strcmp(name, "default") != 0 && strcmp(name, "local") != 0 &&
	    strcmp(name, "anonymous") != 0 && !is_role_name(name))
		return err_set(err, ERR_DATA,
			       "%s:%u: '%s' is no name (default, local, anonymous, spiffe://..., "
			       "URI:..., DNS:..., token:...)",
			       line->path, line->number, name);
	if (!GROW(r->quotas, &r->quota_cap, r->quota_count + 1, ROLES_MAX))
		return err_full(err, r->quota_count < ROLES_MAX, "%s:%u: more than %d quotas",
				line->path, line->number, ROLES_MAX);
	if (!strncmp(name, "URI:", 4))
		name += 4;
	if (!strcmp(name, "default"))
		name = "*";
	to = &r->quotas[r->quota_count++];
	*to = (struct quota_line){.name = name, .len = strlen(name)};
	to->is_prefix = name[to->len - 1] == '*';
	to->len -= to->is_prefix;
	for (size_t i = 2; i < line->count; i++)
		TRY(set_quota(to, line, line->words[i], err));
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
		TRY(strcmp(line.words[0], "quota") ? add_role_line(r, &line, err)
						   : add_quota_line(r, &line, err));
	*ret = TAKE_PTR(r);
	return 0;
}

void roles_free(struct roles *r)
{
	if (!r)
		return;
	identity_lines_done(&r->lines);
	free(r->all);
	free(r->quotas);
	free(r);
}

/* Returns whether the name of a line, of len bytes, stands for a client's name. */
static bool is_name_of(const char *line_name, size_t len, bool is_prefix, const char *name)
{
	const size_t name_len = strlen(name);

	return (is_prefix ? name_len >= len : name_len == len) && !memcmp(name, line_name, len);
}

unsigned int roles_of_name(const struct roles *r, const char *name)
{
	unsigned int roles = 0;

	if (!strncmp(name, "URI:", 4))
		name += 4;
	for (size_t i = 0; i < r->count; i++) {
		const struct role_line *line = &r->all[i];

		if (is_name_of(line->name, line->len, line->is_prefix, name))
			roles |= line->role;
	}
	return roles;
}

void roles_add_quota(const struct roles *r, const char *name, struct roles_quota *quota)
{
	if (!strncmp(name, "URI:", 4))
		name += 4;
	for (size_t i = 0; i < r->quota_count; i++) {
		const struct quota_line *line = &r->quotas[i];

		if (!is_name_of(line->name, line->len, line->is_prefix, name))
			continue;
		for (size_t k = 0; k < QUOTA_KINDS; k++)
			if (line->most[k] && line->len >= quota->len[k]) {
				quota->limits.most[k] = line->most[k];
				quota->len[k] = line->len;
			}
	}
}
