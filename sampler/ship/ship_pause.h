/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SHIP_PAUSE_H
#define RAWSTACK_SHIP_PAUSE_H
/* The sleep of the shipper's loop. Each round of the loop has one, so this is also where systemd's
 * watchdog is fed: a call that hangs keeps it hungry. */
#include <stdint.h>

/* Sleeps for `ms`, or until a signal comes. Signals are blocked everywhere else, and in gRPC's
 * threads for good, so none is lost between a check for a signal and the sleep. For one thread. */
void ship_pause(uint32_t ms);

#endif
