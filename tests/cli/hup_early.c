/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded into a program: a SIGHUP comes before the constructors of its other libraries run. */
#include <signal.h>

__attribute__((constructor)) static void hang_up(void)
{
	raise(SIGHUP);
}
