/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SCHEMA_H
#define RAWSTACK_SCHEMA_H
/*
 * Stack schemas: a file of rules that is applied when a profile is read. Tags become labels of
 * samples, for filters and groups; frames are renamed, collapsed or dropped. One rule a line, in
 * order; what one rule renamed, the next sees. The language is described in
 * tools/schemas/README.md.
 */
#include "frame_match.h"

enum schema_action {
	SCHEMA_TAG,      /* the stack gets a label */
	SCHEMA_MARK,     /* the frame's name gets " {mark}" behind it */
	SCHEMA_RENAME,   /* of the frame's function */
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
	struct frame_match match, not_under; /* no caller of the frame may match the second */
	int64_t priority;  /* of tags with one key the highest counts, else the first */
	char *key, *text;  /* label and value; mark, or new name */
	uint32_t *renamed; /* by function: what it became, and one more; 0: not asked yet */
	size_t renamed_cap;
};

struct schema {
	struct schema_rule *rules;
	size_t count, cap;
};

/* Rules of one schema; a line may have no more than this. */
#define SCHEMA_RULES_MAX 4096

/* Forgets what was answered for another profile. */
void schema_reset(struct schema *s);

/* Appends the rules of a text; `name` stands in messages. ERR_USAGE names the line. */
int schema_parse(struct schema *s, const char *name, const char *text, size_t len,
		 struct err *err) _must_check_;

/* A file, or a schema that is shipped: "copies", "locks", "tax". */
int schema_read(struct schema *s, const char *name, struct err *err) _must_check_;
void schema_done(struct schema *s);

#endif
