/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SCHEMA_H
#define RAWSTACK_SCHEMA_H
/*
 * Stack schemas: rules in a file that are applied to the stacks of a profile. Tags become labels of
 * samples, for filters and groups; frames are renamed, collapsed or dropped. One rule is one line;
 * rules run in order, and each sees what earlier ones renamed. tools/schemas/README.md describes
 * the language.
 */
#include "frame_match.h"

enum schema_action {
	SCHEMA_TAG,      /* the stack gets a label */
	SCHEMA_MARK,     /* the frame's name gets " {mark}" behind it */
	SCHEMA_RENAME,   /* the frame's function gets another name */
	SCHEMA_COLLAPSE, /* frames beside each other become one */
	SCHEMA_DROP_FRAME,
	SCHEMA_DROP_STACK,
};

enum schema_where {
	SCHEMA_ANYWHERE,
	SCHEMA_LEAF, /* the innermost frame */
	SCHEMA_ROOT, /* the outermost */
};

struct schema_rule {
	enum schema_action action;
	enum schema_where where;
	struct frame_match match, not_under; /* no caller of the frame may match not_under */
	int64_t priority;  /* among tags of one key the highest wins, then the first */
	char *key, *text;  /* label and value; mark, or new name */
	uint32_t *renamed; /* by function: its new name plus 1; 0: not asked yet */
	size_t renamed_cap;
};

struct schema {
	struct schema_rule *rules;
	size_t count, cap;
};

/* The most rules of one schema. Each frame of a profile is matched with each of them; the shipped
 * schemas have at most some ten. */
#define LIMIT_SCHEMA_RULES 4096

/* Forgets the answers, so that another profile can be next. */
void schema_reset(struct schema *s);

/* Appends the rules of a text; `name` is for messages. Returns ERR_USAGE with the number of the
 * line. */
int schema_parse(struct schema *s, const char *name, const char *text, size_t len,
		 struct err *err) _must_check_;

/* Reads a file, or a schema that comes with the program: "copies", "locks", "tax". */
int schema_read(struct schema *s, const char *name, struct err *err) _must_check_;
void schema_done(struct schema *s);

#endif
