/* SPDX-License-Identifier: Apache-2.0 */
#include "config_check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config_priv.h"
#include "limits.h"
#include "server_list.h"

int config_blame(const struct config *c, const struct option_usage *usage, const char *name,
		 struct err *err)
{
	const struct config_value *from = NULL;
	char variable[CONFIG_VARIABLE_MAX];
	struct err said = *err;

	/* The last one of the highest source counts. */
	for (size_t i = 0; i < c->count; i++)
		if (strcmp(c->values[i].row->name, name) == 0 &&
		    (!from || c->values[i].source >= from->source))
			from = &c->values[i];
	if (!from)
		return said.code;
	if (from->source == CONFIG_FILE)
		return err_set(err, said.code, "%s:%u: %s %s", c->path, from->line, name,
			       said.message);
	if (from->source == CONFIG_ENVIRONMENT && config_find_variable(usage, from->row, variable))
		return err_set(err, said.code, "%s %s", variable, said.message);
	return err_set(err, said.code, "--%s %s", name, said.message);
}

static bool names_nothing(const struct config_named *named)
{
	return !named->value || !*named->value;
}

int config_check_file(const struct config *c, const struct option_usage *usage,
		      const struct config_named *named, struct err *err)
{
	struct stat st;

	if (names_nothing(named))
		return 0;
	if (stat(named->value, &st) || access(named->value, R_OK))
		err_sys(err, errno, "%s", named->value);
	else if (S_ISDIR(st.st_mode))
		err_sys(err, EISDIR, "%s", named->value);
	else
		return 0;
	return config_blame(c, usage, named->option, err);
}

int config_check_place(const struct config *c, const struct option_usage *usage,
		       const struct config_named *named, struct err *err)
{
	char folder[LIMIT_PATH_LEN];
	char *slash;

	if (names_nothing(named))
		return 0;
	if (snprintf(folder, sizeof(folder), "%s", named->value) >= (int)sizeof(folder)) {
		err_set(err, ERR_USAGE, "the path is too long");
		return config_blame(c, usage, named->option, err);
	}
	slash = strrchr(folder, '/');
	if (slash == folder)
		slash[1] = 0;
	else if (slash)
		*slash = 0;
	else
		snprintf(folder, sizeof(folder), ".");
	if (!access(folder, W_OK | X_OK))
		return 0;
	err_sys(err, errno, "%s", folder);
	return config_blame(c, usage, named->option, err);
}

int config_check_output(const struct config *c, const struct option_usage *usage,
			const struct config_named *named, struct err *err)
{
	struct stat st;

	if (names_nothing(named) || stat(named->value, &st) || !S_ISDIR(st.st_mode))
		return 0;
	err_sys(err, EISDIR, "%s", named->value);
	return config_blame(c, usage, named->option, err);
}

int config_check_dir(const struct config *c, const struct option_usage *usage,
		     const struct config_named *named, struct err *err)
{
	struct stat st;

	if (names_nothing(named))
		return 0;
	if (stat(named->value, &st)) {
		if (errno == ENOENT)
			return 0;
		err_sys(err, errno, "%s", named->value);
	} else if (!S_ISDIR(st.st_mode)) {
		err_sys(err, ENOTDIR, "%s", named->value);
	} else if (access(named->value, W_OK | X_OK)) {
		err_sys(err, errno, "%s", named->value);
	} else {
		return 0;
	}
	return config_blame(c, usage, named->option, err);
}

int config_check_servers(const struct config *c, const struct option_usage *usage,
			 const struct config_named *named, struct err *err)
{
	char names[SERVER_LIST_MAX][SERVER_NAME_LEN];
	size_t count = 0;
	int rc;

	if (names_nothing(named))
		return 0;
	rc = server_list_read(named->value, strlen(named->value), names, &count, err);
	for (size_t i = 0; !rc && i < count; i++)
		rc = server_name_check(names[i], err);
	return rc ? config_blame(c, usage, named->option, err) : 0;
}
