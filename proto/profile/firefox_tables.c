/* SPDX-License-Identifier: Apache-2.0 */
#include "firefox_priv.h"

void firefox_tables_done(struct firefox_writer *w)
{
	intern_done(&w->strings);
	intern_done(&w->sources);
	intern_done(&w->modules);
	intern_done(&w->funcs);
	intern_done(&w->frames);
	intern_done(&w->stacks);
	free(w->stack_of);
	frames_done(&w->walk);
}

static uint32_t add_firefox_key(struct firefox_writer *w, struct intern *in, const void *key,
				size_t len)
{
	uint32_t id = intern_add(in, key, len, NULL);

	w->failed |= id == INTERN_FULL;
	w->no_memory |= in->no_memory;
	return id;
}

static uint32_t add_firefox_string(struct firefox_writer *w, struct profile_text t)
{
	return add_firefox_key(w, &w->strings, t.p, t.len);
}

static uint32_t add_frame(struct firefox_writer *w, const struct frame *f, uint32_t depth)
{
	struct func_row func = {add_firefox_string(w, f->name), NO_ROW, NO_ROW};
	struct frame_row row = {
		.address = f->address,
		.line = f->line,
		.depth = depth,
		.category = f->kernel                   ? CATEGORY_KERNEL
			    : f->module == PROFILE_NONE ? CATEGORY_OTHER
							: CATEGORY_USER,
	};
	uint32_t name;

	if (f->file.len) {
		name = add_firefox_string(w, f->file);
		func.source = add_firefox_key(w, &w->sources, &name, sizeof(name));
	}
	if (f->module != PROFILE_NONE) {
		add_firefox_string(w, profile_text(w->p, w->p->modules[f->module].path));
		func.resource = add_firefox_key(w, &w->modules, &f->module, sizeof(f->module));
	} else {
		row.address = UINT64_MAX;
	}
	row.func = add_firefox_key(w, &w->funcs, &func, sizeof(func));
	return add_firefox_key(w, &w->frames, &row, sizeof(row));
}

static uint32_t add_stack(struct firefox_writer *w, uint32_t stack)
{
	uint32_t at = NO_ROW, depth = 0;
	struct frame f;

	frames_begin(&w->walk, stack);
	while (frames_next(&w->walk, &f)) {
		struct stack_row row = {.prefix = at};

		depth = f.inlined ? depth + 1 : 0;
		row.frame = add_frame(w, &f, depth);
		at = add_firefox_key(w, &w->stacks, &row, sizeof(row));
	}
	return at;
}

int firefox_tables_make(struct firefox_writer *w, struct err *err)
{
	size_t count = w->p->stacks.count;

	w->stack_of = malloc((count + 1) * sizeof(*w->stack_of));
	if (!w->stack_of)
		return err_no_memory(err);
	for (uint32_t i = 0; i < count; i++)
		w->stack_of[i] = add_stack(w, i);
	return w->failed ? err_full(err, w->no_memory,
				    "firefox profile: more rows than the limits of a profile allow")
			 : 0;
}
