/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_UNIT_NOTIFY_H
#define RAWSTACK_UNIT_NOTIFY_H
/*
 * Tells systemd the state of a daemon (sd_notify(3)): one datagram to the socket that NOTIFY_SOCKET
 * names, a path or an abstract name. If it is not set, or nobody listens, nothing happens. Never
 * waits. Safe from any thread as long as no thread changes the environment.
 *
 * A process that the daemon starts must not speak for it: it calls unit_notify_forget().
 */

#include <stdint.h>

#define UNIT_READY    "READY=1"    /* the daemon works: systemd considers the unit started */
#define UNIT_STOPPING "STOPPING=1" /* the daemon ends */
#define UNIT_ALIVE    "WATCHDOG=1" /* due at least once in each WatchdogSec= of the unit */

void unit_notify(const char *text);

/* When the unit's watchdog was fed last, for one thread. */
struct unit_watchdog {
	uint64_t every_ns; /* time between two messages; 0: systemd wants none */
	uint64_t fed_ns;
};

/* Reads from the environment whether this process has a watchdog (sd_watchdog_enabled(3)). Messages
 * are due in half of its time. */
void unit_watchdog_init(struct unit_watchdog *w);

/* Says UNIT_ALIVE if it is due. The loop that does the work calls it in each round, and nothing
 * else does, so that a loop that hangs is silent, and systemd starts the daemon again. */
void unit_watchdog_feed(struct unit_watchdog *w, uint64_t now_ns);

/* Removes NOTIFY_SOCKET; a child calls it before its exec. */
void unit_notify_forget(void);

#endif
