/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a stack schema: refused, or applied to a profile without a sample more than before.
 */
#include <string.h>

#include "profile_filter.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len);

static void fill(struct profile *p)
{
	static const char *const names[] = {"ab", "std::vector<int>::vector(x const&)", "malloc",
					    ""};
	uint32_t stack[ARRAY_LEN(names)];

	profile_value_type(p, "samples", "count");
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		uint32_t name = profile_cstr(p, names[i]);
		struct profile_line line = {
			profile_add_function(p, &(struct profile_function){.name = name,
									   .system_name = name,
									   .file = name}),
			7};

		stack[i] =
			profile_add_location(p, &(struct profile_location){.address = i,
									   .module = PROFILE_NONE,
									   .lines = &line,
									   .line_count = i < 3});
	}
	profile_add_sample(p, profile_add_stack(p, stack, ARRAY_LEN(stack)),
			   profile_add_labels(p, NULL, 0), (int64_t[]){1});
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	_cleanup_(profile_filter_done) struct profile_filter f = PROFILE_FILTER_NONE;
	_cleanup_(profile_done) struct profile from, into;
	struct err err;

	profile_init(&from);
	profile_init(&into);
	/* Patterns of megabytes only show that regcomp() is slow. */
	if (len > 4096 || schema_parse(&f.schema, "fuzz", (const char *)p, len, &err))
		return 0;
	fill(&from);
	if (profile_filter_edit(&f, &from, &into, &err))
		abort();
	if (into.samples.count > 1)
		abort();
	return 0;
}
