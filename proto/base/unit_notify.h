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

#define UNIT_READY    "READY=1"    /* the daemon works: systemd considers the unit started */
#define UNIT_STOPPING "STOPPING=1" /* the daemon ends */
#define UNIT_ALIVE    "WATCHDOG=1" /* due at least once in each WatchdogSec= of the unit */

void unit_notify(const char *text);

/* Removes NOTIFY_SOCKET; a child calls it before its exec. */
void unit_notify_forget(void);

#endif
