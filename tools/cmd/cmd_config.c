/* SPDX-License-Identifier: Apache-2.0 */
/* `rawstack config`: shows which service the commands ask, as whom, and why. */
#include <string.h>

#include "command.h"
#include "json.h"
#include "server_options.h"
#include "stdout_end.h"

struct arguments {
	struct server_options service;
	bool json;
};

static const struct option_row rows[] = {
	OPTION_ROWS(struct arguments, service, server_option_rows),
	OPTION_FLAG(0, "json", struct arguments, json, "one object per setting"),
	OPTION_END,
};

static const struct option_usage usage = {
	.name = "rawstack config",
	.synopsis = "[OPTIONS]",
	.about = "Prints the settings by which commands find the service and identify themselves, "
		 "and the source of each, in the format of the file. Asks no service.\n"
		 "\n"
		 "Options override variables, and variables override the file "
		 "$XDG_CONFIG_HOME/rawstack/rawstack.conf, else ~/.config/rawstack/rawstack.conf, "
		 "which has lines NAME = VALUE:\n"
		 "\n"
		 "  # Several servers: the next one when one is away.\n"
		 "  server = symbols-1.example:7077,symbols-2.example:7077\n"
		 "  ca = /etc/rawstack/ca.pem\n"
		 "  token-file = /home/ann/.config/rawstack/token\n"
		 "\n"
		 "The names are server, ca, cert, key and token-file, and paths begin with /. A "
		 "file that others may write to is refused. An empty value, as in `ca =` or "
		 "--ca '', means none, whatever a lower source says; an empty variable is as if it "
		 "were not set.",
	.rows = rows,
};

/* Appends an object for a setting; `usual` is what counts if nobody set it, or NULL. */
static void put_setting(struct buf *out, const struct server_settings *s, const char *name,
			const char *usual)
{
	static const char *const sources[] = {[CONFIG_DEFAULT] = "default",
					      [CONFIG_FILE] = "file",
					      [CONFIG_ENVIRONMENT] = "environment",
					      [CONFIG_COMMAND_LINE] = "command line"};
	const enum config_source source = config_source_of(&s->config, name);
	const struct config_value *v = NULL;

	for (size_t i = 0; i < s->config.count; i++)
		if (!strcmp(s->config.values[i].row->name, name) &&
		    s->config.values[i].source == source)
			v = &s->config.values[i];
	buf_str(out, "{");
	json_key_cstr(out, "name", name);
	json_key_cstr(out, "value", v ? v->text : usual ? usual : "");
	json_key_cstr(out, "source", sources[source]);
	if (v && source == CONFIG_FILE) {
		json_key_cstr(out, "file", s->path);
		json_key_number(out, "line", v->line);
	}
	buf_str(out, "}\n");
}

static int print_json(const struct server_settings *s, struct err *err)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(2 * CONFIG_FILE_MAX);

	put_setting(&out, s, "server", SERVER_DEFAULT);
	for (const struct option_row *row = server_file_rows; row->name; row++)
		put_setting(&out, s, row->name, NULL);
	if (out.failed)
		return err_no_memory(err);
	stdout_put(&out);
	return 0;
}

static int run_config(int argc, char **argv, struct err *err)
{
	_cleanup_(server_settings_done) struct server_settings s = {.path = ""};
	struct arguments a = {.json = false};
	int rc;

	TRY(options_parse(&usage, argc, argv, &a, NULL, err));
	TRY(server_settings_init(&s, &a.service, err));
	if (a.json)
		return print_json(&s, err);
	s.o.server = s.o.server ? s.o.server : SERVER_DEFAULT;
	s.config.wants_print = true;
	rc = config_answer(&s.config, &server_settings_usage, &s.o, err);
	return rc < 0 ? rc : 0;
}

const struct command cmd_config = {
	.usage = &usage,
	.run = run_config,
	.summary = "show which service is asked, as whom, and why",
};
