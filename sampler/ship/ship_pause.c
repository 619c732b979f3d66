/* SPDX-License-Identifier: Apache-2.0 */
#include "ship_pause.h"

#include <poll.h>
#include <signal.h>

#include "io.h"
#include "unit_notify.h"

#define NS_PER_MS UINT64_C(1000000)

/* Sleeps until a time, or a part of it that ends when the watchdog is due. Returns whether a signal
 * came. */
static bool sleep_part(uint64_t until_ns, const struct unit_watchdog *w)
{
	const uint64_t now = io_mono_ns(), most = w->every_ns ? w->every_ns : UINT64_MAX;
	uint64_t left = until_ns > now ? until_ns - now : 0;
	struct timespec time;
	sigset_t none;

	left = left < most ? left : most;
	time = (struct timespec){.tv_sec = (time_t)(left / 1000000000),
				 .tv_nsec = (long)(left % 1000000000)};
	sigemptyset(&none);
	return ppoll(NULL, 0, &time, &none) < 0;
}

void ship_pause(uint32_t ms)
{
	static struct unit_watchdog watchdog;
	static bool is_known;
	const uint64_t until = io_mono_ns() + ms * NS_PER_MS;
	bool is_woken;

	if (!is_known)
		unit_watchdog_init(&watchdog);
	is_known = true;
	do {
		unit_watchdog_feed(&watchdog, io_mono_ns());
		is_woken = sleep_part(until, &watchdog);
	} while (!is_woken && io_mono_ns() < until);
}
