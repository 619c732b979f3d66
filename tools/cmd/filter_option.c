/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the options of a filter. strptime() belongs to X/Open. */
#include "filter_option.h"

#include <string.h>
#include <time.h>

#include "number.h"

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

/* Parses KEY=VALUE, KEY!=VALUE, KEY=~REGEX or KEY!~REGEX. */
static int set_label(void *at_filter, const char *option, const char *text, struct err *err)
{
	struct profile_filter *f = at_filter;
	size_t len = strcspn(text, "=!");
	const char *at = text + len;

	if (!len || !*at)
		return err_set(err, ERR_USAGE, "%s %s: not KEY=VALUE", option, text);
	if (strncmp(at, "=~", 2) == 0 || strncmp(at, "!~", 2) == 0)
		return add_label_filter(f, text, len, at + 2, true, *at == '!', err);
	if (strncmp(at, "!=", 2) == 0)
		return add_label_filter(f, text, len, at + 2, false, true, err);
	if (*at == '!')
		return err_set(err, ERR_USAGE, "%s %s: not KEY=VALUE", option, text);
	return add_label_filter(f, text, len, at + 1, false, false, err);
}

/* Sets the label of --state X or --event X. */
static int set_known_label(void *at_filter, const char *option, const char *text, struct err *err)
{
	const char *key = option + strlen("--");

	return add_label_filter(at_filter, key, strlen(key), text, false, false, err);
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

/* Parses seconds since 1970, a span of time before now, or a date in UTC. */
static int set_time(void *at_ns, const char *option, const char *text, struct err *err)
{
	static const struct {
		char unit;
		int64_t seconds;
	} units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
	const char *end = text;
	int64_t *ret = at_ns, ns;
	uint64_t n;

	if (!number_take(&end, 10, &n))
		end = "";
	else if (!*end && CHECKED_MUL(n, NS_PER_S, ret))
		return 0;
	for (size_t i = 0; *end && !end[1] && i < ARRAY_LEN(units); i++)
		if (*end == units[i].unit && CHECKED_MUL(n, units[i].seconds * NS_PER_S, &ns)) {
			*ret = unix_now_ns() - ns;
			return 0;
		}
	if (parse_date(text, ret))
		return 0;
	return err_set(
		err, ERR_USAGE,
		"%s %s: not a date (2026-01-31T12:00:00Z), seconds since 1970, or a span (2h)",
		option, text);
}

static const char *const group_words[] = {
	[GROUP_FUNCTION] = "function", [GROUP_FILE] = "file",    [GROUP_LINE] = "line",
	[GROUP_MODULE] = "module",     [GROUP_LABEL] = "label:", NULL,
};

static int set_group(void *at_filter, const char *option, const char *text, struct err *err)
{
	const size_t label_len = strlen(group_words[GROUP_LABEL]);
	struct profile_filter *f = at_filter;
	int word;

	if (strncmp(text, group_words[GROUP_LABEL], label_len) == 0 && text[label_len]) {
		f->group = GROUP_LABEL;
		f->group_label = text + label_len;
		return 0;
	}
	word = options_word(option, text, group_words, err);
	if (word == GROUP_LABEL)
		return err_set(err, ERR_USAGE, "%s %s: the label's KEY is missing", option, text);
	if (word >= 0)
		f->group = (enum profile_group)word;
	return word < 0 ? word : 0;
}

static int set_frames(void *at_match, const char *option, const char *text, struct err *err)
{
	struct frame_match *m = at_match;

	return text_match_compile(&m->any, option, text, err);
}

static int add_schema(void *at_schema, const char *option _unused_, const char *text,
		      struct err *err)
{
	return schema_read(at_schema, text, err);
}

static const char *const schema_words[] = {"copies", "locks", "tax", NULL};
static const char *const name_words[] = {"none", "short", "full", NULL}; /* from NAMES_MANGLED on */

/* Makes a row that passes its argument, and the address of one member, to a setter. */
#define FILTER_CALL(name, argument, m, setter, ...)         \
	OPTION_CALL(0, name, argument, setter, __VA_ARGS__, \
		    .offset = offsetof(struct profile_filter, m))

const struct option_row filter_rows[] = {
	OPTION_HEADING("Choose samples and edit their stacks:"),
	OPTION_NUMBER(0, "pid", "PID", struct profile_filter, pid, 0, INT32_MAX, 1,
		      "only this process"),
	OPTION_TEXT(0, "thread", "NAME", struct profile_filter, thread,
		    "only threads of this name"),
	OPTION_TEXT(0, "module", "PART", struct profile_filter, module,
		    "only stacks with a frame in a binary whose path contains PART"),
	OPTION_CALL(0, "label", "KEY=VALUE", set_label,
		    "only samples with this label; also KEY!=VALUE, KEY=~REGEX and KEY!~REGEX; may "
		    "be repeated; --state X and --event X are short for --label state=X and "
		    "--label event=X"),
	OPTION_CALL(0, "state", "X", set_known_label, NULL),
	OPTION_CALL(0, "event", "X", set_known_label, NULL),
	FILTER_CALL("since", "TIME", since_ns, set_time,
		    "only files (of a spool: samples) from this time on: 2026-01-31, "
		    "2026-01-31T12:00:00Z, seconds since 1970, or how long ago: 90s, 15m, 2h, 7d; "
		    "files without a time are left out, and counted"),
	FILTER_CALL("until", "TIME", until_ns, set_time, "only files or samples up to this time"),
	FILTER_CALL("schema", "FILE", schema, add_schema,
		    "first apply a stack schema: a file, or copies, locks, tax; may be repeated "
		    "(see tools/schemas/README.md)",
		    .words = schema_words, .takes_files = true),
	FILTER_CALL("focus", "REGEX", focus, set_frames,
		    "only stacks with a frame whose function, file or binary matches"),
	FILTER_CALL("ignore", "REGEX", ignore, set_frames, "only stacks without such a frame"),
	FILTER_CALL("show-from", "REGEX", show_from, set_frames,
		    "remove the callers of the outermost frame that matches"),
	FILTER_CALL("hide", "REGEX", hide, set_frames, "remove frames that match"),
	FILTER_CALL("show", "REGEX", show, set_frames, "keep only frames that match"),
	OPTION_FLAG(0, "no-inlines", struct profile_filter, no_inlines,
		    "count inlined calls for the function that they are inlined into"),
	OPTION_WORD(0, "demangle", "HOW", struct profile_filter, names, name_words,
		    "show C++, Rust and D names as: none (linkage names), short (no parameters), "
		    "full; names that the profile lacks are short by default",
		    .min = NAMES_MANGLED),
	OPTION_CALL(0, "group-by", "WHAT", set_group,
		    "add up by function, file, line, module, or label:KEY", .words = group_words),
	OPTION_HEADING("Find names for addresses without one, by build id:"),
	OPTION_TEXT(0, "server", "HOST:PORT,...", struct profile_filter, service.server,
		    "ask this service (or $RAWSTACK_SERVER, or that of `rawstack config`); what it "
		    "lacks comes from files of "
		    "this machine, at the paths that the profile has, or from:"),
	OPTION_LIST('e', "exe", "FILE", struct profile_filter, naming.files, naming.file_count,
		    NAME_FILES_MAX, "a binary or its debug file; may be repeated"),
	OPTION_LIST(0, "debug-dir", "DIR", struct profile_filter, naming.debug_dirs,
		    naming.debug_dir_count, NAME_DEBUG_DIRS_MAX,
		    "directory of debug files, as DIR/.build-id/ab/cdef.debug; may be repeated"),
	OPTION_ROWS(struct profile_filter, service, server_file_rows),
	OPTION_FLAG(0, "no-symbolize", struct profile_filter, no_symbolize,
		    "do not look for names"),
	OPTION_END,
};
