/* SPDX-License-Identifier: Apache-2.0 */
#include "services.h"

#include <fnmatch.h>
#include <string.h>

#include "io.h"
#include "limits.h"

/* Most rules that name services, and most bytes of the file that holds them. */
#define LIMIT_SERVICE_RULES    LIMIT(4096)
#define LIMIT_SERVICE_FILE_LEN MIB

enum field {
	FIELD_EXE,
	FIELD_CGROUP,
	FIELD_UNIT,
	FIELD_COUNT
};

struct service_rule {
	enum field field;
	const char *glob, *service;
};

static const char *const field_names[FIELD_COUNT] = {"exe", "cgroup", "unit"};

static int add_rule(struct services *s, char *line, const char *path, size_t number,
		    struct err *err)
{
	char *rest = NULL, *word = strtok_r(line, " \t", &rest);
	struct service_rule rule = {.field = FIELD_COUNT};

	if (!word || *word == '#')
		return 0;
	for (enum field f = 0; f < FIELD_COUNT; f++)
		if (!strcmp(word, field_names[f]))
			rule.field = f;
	rule.glob = strtok_r(NULL, " \t", &rest);
	rule.service = strtok_r(NULL, " \t", &rest);
	word = strtok_r(NULL, " \t", &rest);
	if (rule.field == FIELD_COUNT || !rule.service || (word && *word != '#'))
		return err_set(err, ERR_USAGE, "%s:%zu: not 'exe|cgroup|unit GLOB SERVICE'", path,
			       number);
	if (!GROW(s->rules, &s->cap, s->count + 1, LIMIT_SERVICE_RULES))
		return err_set(err, ERR_LIMIT, "%s: more than %llu rules", path,
			       (unsigned long long)LIMIT_SERVICE_RULES);
	s->rules[s->count++] = rule;
	return 0;
}

int services_init(struct services *s, const char *path, struct err *err)
{
	char *line, *rest;
	size_t len, number = 0;
	int rc;

	*s = (struct services){.count = 0};
	if (!path)
		return 0;
	rc = io_read_file(path, LIMIT_SERVICE_FILE_LEN, (uint8_t **)&s->text, &len, err);
	if (rc)
		return rc;
	rest = s->text;
	while ((line = strsep(&rest, "\n")) && !rc)
		rc = add_rule(s, line, path, ++number, err);
	if (rc)
		services_done(s);
	return rc;
}

void services_done(struct services *s)
{
	free(s->rules);
	free(s->text);
	*s = (struct services){.count = 0};
}

const char *services_find(const struct services *s, const struct service_subject *of)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct service_rule *r = &s->rules[i];
		const char *text = r->field == FIELD_EXE      ? of->exe
				   : r->field == FIELD_CGROUP ? of->cgroup
							      : of->unit;

		if (text && !fnmatch(r->glob, text, 0))
			return r->service;
	}
	return of->unit;
}
