/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_UNIT_NOTIFY_H
#define RAWSTACK_UNIT_NOTIFY_H
/*
 * What a daemon tells systemd of itself (sd_notify(3)): one datagram to the socket that
 * NOTIFY_SOCKET names, a path or an abstract name. Without one, or when nobody listens, nothing
 * happens. Never waits. Safe from any thread as long as nobody changes the environment.
 *
 * A process that is started by the daemon must not speak for it: unit_notify_forget() there.
 */

#define UNIT_READY    "READY=1"    /* it does its work: who waits for the unit's start may go on */
#define UNIT_STOPPING "STOPPING=1" /* it ends */
#define UNIT_ALIVE    "WATCHDOG=1" /* within WatchdogSec= of the unit */

void unit_notify(const char *text);

/* Called in a child, before its exec. */
void unit_notify_forget(void);

#endif
