/* SPDX-License-Identifier: Apache-2.0 */
/* Which stacks are whole, by the names of their frames. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "stack_end.h"

#define FRAMES_MAX 6

/* Leaf first; "k:" in front: of the kernel. */
static const struct {
	enum stack_end end;
	const char *frames[FRAMES_MAX];
} rows[] = {
	{STACK_END_ENTRY, {"work", "main", "__libc_start_call_main"}},
	{STACK_END_ENTRY, {"work", "main", "__libc_start_main@@GLIBC_2.34", "_start"}},
	{STACK_END_ENTRY, {"work", "start_thread", "__clone3"}},
	{STACK_END_ENTRY, {"work", "start_thread"}},
	{STACK_END_ENTRY, {"main.work", "runtime.main", "runtime.goexit.abi0"}},
	{STACK_END_ENTRY, {"runtime.futex.abi0", "runtime.mstart1", "runtime.mstart"}},
	{STACK_END_ENTRY, {"k:do_read", "k:entry_SYSCALL_64", "read", "main", "_start"}},
	/* A static program: what comes behind is chance. */
	{STACK_END_ENTRY, {"work", "main", "__libc_start_call_main", "[no mapping]"}},
	{STACK_END_ENTRY, {"work", "main", "__libc_start_call_main.isra.0", "a.out+0x12"}},
	/* Kernel threads; but a child returns to user space through the same. */
	{STACK_END_ENTRY, {"k:worker_thread", "k:kthread", "k:ret_from_fork"}},
	{STACK_END_ENTRY, {"k:kthread", "k:ret_from_fork", "k:ret_from_fork_asm"}},
	{STACK_END_CUT, {"k:schedule_tail", "k:ret_from_fork_asm", "vfork_caller"}},
	{STACK_END_CUT, {"k:worker_thread", "k:kthread"}},
	/* The chain ended with a zero in libc. */
	{STACK_END_CUT, {"compare", "msort_with_tmp"}},
	{STACK_END_CUT, {"main"}},
	{STACK_END_CUT, {"start_threads"}},
	{STACK_END_CUT, {"k:_start"}},
	{STACK_END_CUT, {"work", "main", "[truncated stack]"}},
	{STACK_END_CUT, {"work", "[no mapping]"}},
	{STACK_END_CUT, {"[no user stack: exec]"}},
	{STACK_END_UNNAMED, {"compare", "libc.so.6+0x2724a"}},
	{STACK_END_UNNAMED, {"work", "[anonymous memory]"}},
	{STACK_END_UNNAMED, {"work", "[file without an id]"}},
	{STACK_END_UNNAMED, {"k:[kernel.kallsyms]+0x12"}},
	{STACK_END_CUT, {NULL}},
};

static uint32_t add_frame(struct profile *p, const char *name)
{
	const bool is_kernel = !strncmp(name, "k:", 2);
	const struct profile_module module = {
		.path = profile_cstr(p, is_kernel ? PROFILE_KERNEL_TEXT : "/usr/bin/program")};
	const struct profile_function f = {.name = profile_cstr(p, name + (is_kernel ? 2 : 0))};
	const struct profile_line line = {profile_add_function(p, &f), 0};

	return profile_add_location(p, &(struct profile_location){
					       .module = profile_add_module(p, &module),
					       .address = line.function,
					       .lines = &line,
					       .line_count = 1,
				       });
}

static void test_ends(void **state _unused_)
{
	struct profile p;

	profile_init(&p);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint32_t ids[FRAMES_MAX];
		size_t count = 0;
		enum stack_end end;

		while (count < FRAMES_MAX && rows[i].frames[count]) {
			ids[count] = add_frame(&p, rows[i].frames[count]);
			count++;
		}
		end = stack_end_of(&p, profile_add_stack(&p, ids, count));
		if (end != rows[i].end)
			fail_msg("row %zu: %s, not %s", i, stack_end_name(end),
				 stack_end_name(rows[i].end));
	}
	profile_done(&p);
}

static void test_applies(void **state _unused_)
{
	struct profile p;

	profile_init(&p);
	assert_false(stack_end_applies(&p));
	profile_comment(&p, "event of another kind");
	assert_false(stack_end_applies(&p));
	profile_comment(&p, "event cpu-clock, backend bpf");
	assert_true(stack_end_applies(&p));
	profile_done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_ends),
					   cmocka_unit_test(test_applies)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
