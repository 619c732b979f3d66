/* SPDX-License-Identifier: Apache-2.0 */
#include "stack_end.h"

#include <stdlib.h>
#include <string.h>

/* Functions of user space in which a thread or a process starts, as symbols name them. */
static const char *const user_entries[] = {
	/* The entry of a program, and the functions between it and main(). */
	"_start",
	"_start_c",
	"__libc_start_main",
	"__libc_start_main_impl",
	"__libc_start_main_stage2",
	"libc_start_main_stage2",
	"__libc_start_call_main",
	"generic_start_main",
	"_dl_start",
	"_dl_start_user",
	"_dlstart",
	"_dlstart_c",
	/* Functions in which threads, clone(2) and makecontext(3) begin. */
	"start_thread",
	"clone",
	"clone3",
	"__clone",
	"__clone3",
	"__clone_internal",
	"__start_context",
	"thread_start",
	"thread_native_entry",
	/* Go */
	"runtime.goexit",
	"runtime.rt0_go",
	"runtime.mstart",
	"_rt0_amd64",
	"_rt0_arm64",
	"_rt0_amd64_linux",
	"_rt0_arm64_linux",
};

/* Kernel threads start here. These count only as the last frame, because a child returns through
 * them to user space. */
static const char *const kernel_entries[] = {"ret_from_fork", "ret_from_fork_asm"};

/* Compares without the suffixes of linkers, compilers and Go's assembler: "@@GLIBC_2.34",
 * ".isra.0", ".abi0". A listed name may have a dot itself: "runtime.goexit". */
static bool is_among(struct profile_text name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const size_t len = strlen(names[i]);

		if (name.len >= len && !memcmp(name.p, names[i], len) &&
		    (name.len == len || name.p[len] == '.' || name.p[len] == '@'))
			return true;
	}
	return false;
}

/* Returns the name of a location, empty if it has none. */
static struct profile_text name_of_location(const struct profile *p,
					    const struct profile_location *l)
{
	/* The last line is the function itself; those before it are inlined into it. */
	const struct profile_line *line = l->line_count ? &l->lines[l->line_count - 1] : NULL;
	struct profile_function f;

	if (!line)
		return (struct profile_text){"", 0};
	f = profile_function(p, line->function);
	return profile_text(p, f.system_name ? f.system_name : f.name);
}

/* Classifies frames that stand for a reason and not for code. */
static enum stack_end end_of_reason(struct profile_text name)
{
	static const char *const unknown[] = {"[file without an id]",
					      "[anonymous memory]",
					      "[process gone]",
					      "[unknown]",
					      "[vdso]",
					      "[unknown kernel address]"};

	for (size_t i = 0; i < ARRAY_LEN(unknown); i++)
		if (name.len == strlen(unknown[i]) && !memcmp(name.p, unknown[i], name.len))
			return STACK_END_UNNAMED;
	return STACK_END_CUT;
}

enum stack_end stack_end_of(const struct profile *p, uint32_t stack)
{
	const uint32_t *locations;
	struct profile_location last;
	struct profile_text name;
	size_t count;

	locations = profile_stack(p, stack, &count);
	if (!count)
		return STACK_END_CUT;
	for (size_t i = 0; i < count; i++) {
		last = profile_location(p, locations[i]);
		name = name_of_location(p, &last);
		if (profile_is_kernel(p, last.module))
			continue;
		if (is_among(name, user_entries, ARRAY_LEN(user_entries)))
			return STACK_END_ENTRY;
	}
	if (profile_is_kernel(p, last.module) &&
	    is_among(name, kernel_entries, ARRAY_LEN(kernel_entries)))
		return STACK_END_ENTRY;
	if (name.len && name.p[0] == '[' && name.p[name.len - 1] == ']')
		return end_of_reason(name);
	return profile_is_placeholder(name) ? STACK_END_UNNAMED : STACK_END_CUT;
}

bool stack_end_applies(const struct profile *p)
{
	static const char ours[] = "event ", backend[] = ", backend ";

	for (size_t i = 0; i < p->comment_count; i++) {
		const struct profile_text t = profile_text(p, p->comments[i]);

		if (t.len > sizeof(ours) && !memcmp(t.p, ours, sizeof(ours) - 1) &&
		    memmem(t.p, t.len, backend, sizeof(backend) - 1))
			return true;
	}
	return false;
}

static const char *const end_names[] = {"entry", "cut", "unnamed"};

const char *stack_end_name(enum stack_end end)
{
	return end_names[end];
}

static bool is_end_label(const struct profile *p, const struct profile_label *l)
{
	return profile_text_is(profile_text(p, l->key), STACK_END_LABEL);
}

enum stack_end stack_end_told(const struct profile *p, uint32_t sample)
{
	const struct profile_sample s = profile_sample(p, sample);
	const struct profile_label *labels;
	size_t count;

	labels = profile_labels(p, s.labels, &count);
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < ARRAY_LEN(end_names) && is_end_label(p, &labels[i]); k++)
			if (profile_text_is(profile_text(p, labels[i].text), end_names[k]))
				return (enum stack_end)k;
	return stack_end_of(p, s.stack);
}

/* Returns the set of labels with this end in place of another. A full set stays as it is. */
static uint32_t labels_with_end(struct profile *p, uint32_t set, enum stack_end end)
{
	struct profile_label labels[LIMIT_PROFILE_LABELS];
	const struct profile_label *from;
	const char *name = stack_end_name(end);
	size_t count, at = 0;

	from = profile_labels(p, set, &count);
	memcpy(labels, from, count * sizeof(*labels));
	while (at < count && !is_end_label(p, &labels[at]))
		at++;
	if (at == LIMIT_PROFILE_LABELS)
		return set;
	if (at < count && profile_text_is(profile_text(p, labels[at].text), name))
		return set;
	labels[at] = (struct profile_label){.key = profile_cstr(p, STACK_END_LABEL),
					    .text = profile_cstr(p, name)};
	return profile_add_labels(p, labels, at == count ? count + 1 : count);
}

int stack_end_label(struct profile *p, struct err *err)
{
	struct intern samples = p->samples;
	int64_t *values = p->values;

	if (!stack_end_applies(p))
		return 0;
	p->samples = (struct intern)INTERN_INIT(LIMIT_PROFILE_ENTRIES, LIMIT_PROFILE_BYTES);
	p->values = NULL;
	p->values_cap = 0;
	for (uint32_t i = 0; i < samples.count && !p->failed; i++) {
		struct profile_sample s;

		memcpy(&s, intern_get(&samples, i, NULL), sizeof(s));
		s.labels = labels_with_end(p, s.labels, stack_end_of(p, s.stack));
		profile_add_sample(p, s.stack, s.labels, values + (size_t)i * p->value_count);
	}
	intern_done(&samples);
	free(values);
	return p->failed ? profile_full(p, err, "labels") : 0;
}
