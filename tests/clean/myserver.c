/* SPDX-License-Identifier: Apache-2.0 */
/* The program that README's commands are about: `myserver SECONDS` works, `myserver` alone says on
 * standard error where it is, as sanitizers do. Its one function is so long that it holds the
 * address in README. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static __attribute__((noinline, section(".text.hot"))) void *serve_request(unsigned long work)
{
	void *pc;

	__asm__ volatile("lea 0(%%rip), %1\n\t.rept 256\n\tadd $1, %0\n\t.endr"
			 : "+r"(work), "=r"(pc));
	return pc;
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 0);

	if (argc < 2) {
		void *pc = serve_request(1);

		fprintf(stderr, "    #0 %p (%s+%p)\n", pc, argv[0], pc);
	}
	while (time(NULL) < end)
		for (int i = 0; i < 100000; i++)
			serve_request(1);
	return 0;
}
