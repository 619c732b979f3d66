/* SPDX-License-Identifier: Apache-2.0 */
#include "sighup.h"

#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Blocks SIGHUP by a plain system call, because neither the libraries nor a sanitizer's runtime has
 * been initialised when the dynamic linker calls this. The kernel's set of signals has 64 bits.
 */
__attribute__((no_sanitize("address", "undefined"))) static void block_sighup_early(void)
{
	const uint64_t set = UINT64_C(1) << (SIGHUP - 1);

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, NULL, sizeof(set));
}

/* The dynamic linker calls the functions of this section before all constructors. */
__attribute__((section(".preinit_array"),
	       used)) static void (*const block_before_main)(void) = block_sighup_early;

static void change_mask(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	pthread_sigmask(how, &set, NULL);
}

void sighup_block(void)
{
	change_mask(SIG_BLOCK);
}

void sighup_unblock(void)
{
	change_mask(SIG_UNBLOCK);
}
