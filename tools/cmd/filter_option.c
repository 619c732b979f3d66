/* SPDX-License-Identifier: Apache-2.0 */
/* strptime() is of X/Open. */
#include "filter_option.h"

#include <string.h>
#include <time.h>

#include "command.h"

#define NS_PER_S INT64_C(1000000000)

static int add_label_filter(struct profile_filter *f, const char *key, size_t key_len,
			    const char *value, bool regex, bool differs, struct err *err)
{
	struct label_filter *l = &f->labels[f->label_count];

	if (f->label_count == PROFILE_FILTER_LABELS)
		return err_set(err, ERR_USAGE, "more than %d --label", PROFILE_FILTER_LABELS);
	*l = (struct label_filter){.key = strndup(key, key_len), .differs = differs};
	f->label_count++;
	if (!regex)
		l->value = strdup(value);
	if (!l->key || (!regex && !l->value))
		return err_no_memory(err);
	return regex ? text_match_compile(&l->match, "--label", value, err) : 0;
}

/* KEY=VALUE, KEY!=VALUE, KEY=~REGEX, KEY!~REGEX */
static int parse_label(struct profile_filter *f, const char *text, struct err *err)
{
	size_t len = strcspn(text, "=!");
	const char *at = text + len;

	if (!len || !*at)
		return err_set(err, ERR_USAGE, "--label %s: not KEY=VALUE", text);
	if (strncmp(at, "=~", 2) == 0 || strncmp(at, "!~", 2) == 0)
		return add_label_filter(f, text, len, at + 2, true, *at == '!', err);
	if (strncmp(at, "!=", 2) == 0)
		return add_label_filter(f, text, len, at + 2, false, true, err);
	if (*at == '!')
		return err_set(err, ERR_USAGE, "--label %s: not KEY=VALUE", text);
	return add_label_filter(f, text, len, at + 1, false, false, err);
}

static int64_t unix_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

static bool parse_date(const char *text, int64_t *ret)
{
	static const char *const forms[] = {"%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S",
					    "%Y-%m-%dT%H:%M", "%Y-%m-%d"};

	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		struct tm tm = {0};
		const char *end = strptime(text, forms[i], &tm);

		if (end && !*end)
			return CHECKED_MUL((int64_t)timegm(&tm), NS_PER_S, ret);
	}
	return false;
}

/* Seconds since 1970, a span of time before now, or a date in UTC. */
static int parse_time_option(const char *option, const char *text, int64_t *ret, struct err *err)
{
	static const struct {
		char unit;
		int64_t seconds;
	} units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
	char *end;
	int64_t n = strtoll(text, &end, 10);

	if (end != text && n >= 0 && !*end && CHECKED_MUL(n, NS_PER_S, ret))
		return 0;
	for (size_t i = 0; end != text && n >= 0 && i < ARRAY_LEN(units); i++)
		if (end[0] == units[i].unit && !end[1] && CHECKED_MUL(n, units[i].seconds, &n) &&
		    CHECKED_MUL(n, NS_PER_S, &n)) {
			*ret = unix_now_ns() - n;
			return 0;
		}
	if (parse_date(text, ret))
		return 0;
	return err_set(
		err, ERR_USAGE,
		"%s %s: not a date (2026-01-31T12:00:00Z), seconds since 1970, or a span (2h)",
		option, text);
}

static int parse_group(struct profile_filter *f, const char *text, struct err *err)
{
	static const char *const names[] = {
		[GROUP_FUNCTION] = "function",
		[GROUP_FILE] = "file",
		[GROUP_LINE] = "line",
		[GROUP_MODULE] = "module",
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(text, names[i]) == 0) {
			f->group = (enum profile_group)i;
			return 1;
		}
	if (strncmp(text, "label:", 6) == 0 && text[6]) {
		f->group = GROUP_LABEL;
		f->group_label = text + 6;
		return 1;
	}
	return err_set(err, ERR_USAGE,
		       "--group-by %s: not function, file, line, module or label:KEY", text);
}

static int parse_names(struct profile_filter *f, const char *text, struct err *err)
{
	if (strcmp(text, "none") == 0)
		f->names = NAMES_MANGLED;
	else if (strcmp(text, "short") == 0)
		f->names = NAMES_SHORT;
	else if (strcmp(text, "full") == 0)
		f->names = NAMES_FULL;
	else
		return err_set(err, ERR_USAGE, "--demangle %s: not none, short or full", text);
	return 1;
}

static int option_taken(int rc)
{
	return rc ? rc : 1;
}

static int parse_frames(struct frame_match *m, const char *option, const char *value,
			struct err *err)
{
	return option_taken(text_match_compile(&m->any, option, value, err));
}

int filter_option(int option, const char *value, struct profile_filter *f, struct err *err)
{
	uint64_t pid;

	switch (option) {
	case FILTER_PID:
		if (command_number("--pid", value, 0, INT32_MAX, &pid, err))
			return ERR_USAGE;
		f->pid = (int64_t)pid;
		return 1;
	case FILTER_THREAD:
		f->thread = value;
		return 1;
	case FILTER_MODULE:
		f->module = value;
		return 1;
	case FILTER_STATE:
		return option_taken(add_label_filter(f, "state", 5, value, false, false, err));
	case FILTER_EVENT:
		return option_taken(add_label_filter(f, "event", 5, value, false, false, err));
	case FILTER_LABEL:
		return option_taken(parse_label(f, value, err));
	case FILTER_SINCE:
		return option_taken(parse_time_option("--since", value, &f->since_ns, err));
	case FILTER_UNTIL:
		return option_taken(parse_time_option("--until", value, &f->until_ns, err));
	case FILTER_FOCUS:
		return parse_frames(&f->focus, "--focus", value, err);
	case FILTER_IGNORE:
		return parse_frames(&f->ignore, "--ignore", value, err);
	case FILTER_SHOW:
		return parse_frames(&f->show, "--show", value, err);
	case FILTER_HIDE:
		return parse_frames(&f->hide, "--hide", value, err);
	case FILTER_SHOW_FROM:
		return parse_frames(&f->show_from, "--show-from", value, err);
	case FILTER_NO_SYMBOLIZE:
		f->no_symbolize = true;
		return 1;
	case FILTER_SERVER:
		f->server = value;
		return 1;
	case FILTER_EXE:
		if (f->naming.file_count == NAME_FILES_MAX)
			return err_set(err, ERR_USAGE, "more than %d -e", NAME_FILES_MAX);
		f->naming.files[f->naming.file_count++] = value;
		return 1;
	case FILTER_DEBUG_DIR:
		if (f->naming.debug_dir_count == NAME_DEBUG_DIRS_MAX)
			return err_set(err, ERR_USAGE, "more than %d --debug-dir",
				       NAME_DEBUG_DIRS_MAX);
		f->naming.debug_dirs[f->naming.debug_dir_count++] = value;
		return 1;
	case FILTER_NO_INLINES:
		f->no_inlines = true;
		return 1;
	case FILTER_DEMANGLE:
		return parse_names(f, value, err);
	case FILTER_GROUP_BY:
		return parse_group(f, value, err);
	case FILTER_SCHEMA:
		return option_taken(schema_read(&f->schema, value, err));
	default:
		return 0;
	}
}
