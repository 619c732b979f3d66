/* SPDX-License-Identifier: Apache-2.0 */
#include "server_options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config_check.h"
#include "io.h"

const struct option_row server_file_rows[] = {
	OPTION_TEXT(0, "ca", "FILE", struct server_options, ca,
		    "speak TLS, and trust a service whose certificate one of these CAs signed "
		    "($RAWSTACK_CA)",
		    .variable = "RAWSTACK_CA", .may_be_empty = true),
	OPTION_TEXT(0, "cert", "FILE", struct server_options, cert,
		    "present this certificate to the service ($RAWSTACK_CERT)",
		    .variable = "RAWSTACK_CERT", .may_be_empty = true),
	OPTION_TEXT(0, "key", "FILE", struct server_options, key,
		    "the key of that certificate ($RAWSTACK_KEY)", .variable = "RAWSTACK_KEY",
		    .may_be_empty = true),
	OPTION_TEXT(0, "token-file", "FILE", struct server_options, token_file,
		    "send the bearer token in this file ($RAWSTACK_TOKEN_FILE)",
		    .variable = "RAWSTACK_TOKEN_FILE", .may_be_empty = true),
	OPTION_END,
};

const struct option_row server_option_rows[] = {
	OPTION_TEXT(0, "server", "HOST:PORT,...", struct server_options, server,
		    "the service; the next one when one cannot be reached ($RAWSTACK_SERVER)",
		    .variable = "RAWSTACK_SERVER", .may_be_empty = true),
	OPTION_MORE(server_file_rows),
	OPTION_END,
};

static const struct option_config no_prefix = {.prefix = NULL};

const struct option_usage server_settings_usage = {
	.name = "rawstack", .rows = server_option_rows, .config = &no_prefix};

/* Writes the path of the user's file, or an empty text if there is no place for one. */
static void name_user_file(char *path, size_t len)
{
	static const char name[] = "rawstack/rawstack.conf";
	const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	int n = 0;

	*path = 0;
	/* A relative directory is to be ignored (XDG Base Directory Specification). */
	if (xdg && *xdg == '/')
		n = snprintf(path, len, "%s/%s", xdg, name);
	else if (home && *home == '/')
		n = snprintf(path, len, "%s/.config/%s", home, name);
	if (n >= (int)len)
		*path = 0;
}

/* Finds the user's file. Refuses one that others may have written, as ssh(1) does with its own,
 * because it decides to whom a token and the user's files are sent. */
static int find_user_file(char *path, size_t len, struct err *err)
{
	struct stat st;

	name_user_file(path, len);
	if (!*path)
		return 0;
	if (stat(path, &st)) {
		const int why = errno;

		/* A directory that may not be searched is not this user's, but $HOME is still that
		 * of another one, as under setpriv(1). */
		if (why != ENOENT && why != ENOTDIR && why != EACCES)
			return err_sys(err, why, "%s", path);
		*path = 0;
		return 0;
	}
	if (st.st_uid != 0 && st.st_uid != geteuid())
		return err_set(err, ERR_DENIED,
			       "%s: is of user %u, who is neither you nor root: chown it, or "
			       "remove it",
			       path, (unsigned int)st.st_uid);
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return err_set(err, ERR_DENIED,
			       "%s: others may write to it (mode %04o): chmod go-w it", path,
			       (unsigned int)st.st_mode & 07777);
	return 0;
}

/* Refuses paths that depend on where a command is started. */
static int check_paths(const struct server_settings *s, struct err *err)
{
	for (size_t i = 0; i < s->config.count; i++) {
		const struct config_value *const v = &s->config.values[i];

		if (v->source == CONFIG_FILE && v->row != server_option_rows && *v->text &&
		    *v->text != '/')
			return err_set(err, ERR_USAGE, "%s:%u: %s %.60s is not a path from / on",
				       s->path, v->line, v->row->name, v->text);
	}
	return 0;
}

/* Treats empty texts as none. */
static void drop_empty(struct server_options *o)
{
	const char **const texts[] = {&o->server, &o->ca, &o->cert, &o->key, &o->token_file};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (*texts[i] && !**texts[i])
			*texts[i] = NULL;
}

int server_settings_init(struct server_settings *s, const struct server_options *given,
			 struct err *err)
{
	*s = (struct server_settings){0};
	TRY(find_user_file(s->path, sizeof(s->path), err));
	s->config.path = *s->path ? s->path : NULL;
	TRY(config_add_given(&server_settings_usage, given, &s->config, err));
	TRY(config_complete(&server_settings_usage, &s->o, &s->config, err));
	TRY(check_paths(s, err));
	TRY(config_check_servers(&s->config, &server_settings_usage,
				 &(struct config_named){"server", s->o.server}, err));
	drop_empty(&s->o);
	return 0;
}

void server_settings_done(struct server_settings *s)
{
	config_done(&s->config);
}
