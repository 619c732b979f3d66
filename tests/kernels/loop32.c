/* SPDX-License-Identifier: Apache-2.0 */
/* A program of 32 bits that works for ever, four calls deep; without a C library, which few
 * machines have for these. */
#define KEEP __attribute__((noinline, noclone))

void _start(void);

/* Its number stands on the stack: gcc drops the frame of a leaf function that has nothing there. */
static KEEP void leaf(void)
{
	volatile unsigned int sum = 0;

	for (unsigned int i = 0; i < 1000000; i++)
		sum = sum * 3 + i;
}

static KEEP void inner(void)
{
	for (;;)
		leaf();
}

static KEEP void outer(void)
{
	inner();
	__builtin_trap();
}

void _start(void)
{
	outer();
	__builtin_trap();
}
