/* SPDX-License-Identifier: Apache-2.0 */
#include "profile_notes.h"

#include <stdlib.h>
#include <string.h>

#include "buf.h"

/* Begins a note that names a host. Such notes differ in the name, while notes of other kinds differ
 * in numbers. */
static const char host[] = "host ";

/* Appends the kind of a note: its text with 0 for each number, or `host` if it names one. */
static void append_kind(struct buf *kind, struct profile_text t)
{
	bool in_number = false;

	if (t.len >= sizeof(host) - 1 && memcmp(t.p, host, sizeof(host) - 1) == 0)
		t.len = sizeof(host) - 1;
	for (size_t i = 0; i < t.len; i++) {
		const bool digit = t.p[i] >= '0' && t.p[i] <= '9';

		if (!digit || !in_number)
			buf_u8(kind, digit ? '0' : (uint8_t)t.p[i]);
		in_number = digit;
	}
}

int profile_notes_make(struct profile_notes *n, const struct profile *p, struct err *err)
{
	*n = (struct profile_notes){
		.kinds = INTERN_INIT(LIMIT_PROFILE_COMMENTS,
				     LIMIT_PROFILE_COMMENTS * LIMIT_PROFILE_STRING)};
	for (size_t i = 0; i < p->comment_count; i++) {
		_cleanup_(buf_done) struct buf kind = BUF_INIT(LIMIT_PROFILE_STRING);
		bool fresh;
		uint32_t id;

		append_kind(&kind, profile_text(p, p->comments[i]));
		id = kind.failed ? INTERN_FULL : intern_add(&n->kinds, kind.p, kind.len, &fresh);
		if (id == INTERN_FULL ||
		    !GROW(n->list, &n->cap, (size_t)id + 1, LIMIT_PROFILE_COMMENTS))
			return err_no_memory(err);
		if (fresh)
			n->list[id] = (struct profile_note){.first = p->comments[i]};
		n->list[id].count++;
	}
	return 0;
}

void profile_notes_done(struct profile_notes *n)
{
	intern_done(&n->kinds);
	free(n->list);
}
