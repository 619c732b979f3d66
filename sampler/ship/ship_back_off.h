/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SHIP_BACK_OFF_H
#define RAWSTACK_SHIP_BACK_OFF_H
/* Computes how long the shipper waits before it tries again. The caller sleeps. */
#include <stdint.h>

#define BACK_OFF_FIRST_MS 500
#define BACK_OFF_MAX_MS   30000

/* Returns the wait after `failures` failures in a row, 1 or more. It doubles from BACK_OFF_FIRST_MS
 * up to BACK_OFF_MAX_MS, with jitter of a fifth to either side from `random`, so that the shippers
 * of a fleet do not come back all at once. */
uint32_t ship_back_off_ms(unsigned int failures, uint32_t random);

/* Returns the wait if the service asked for one of asked_ms (0: it did not): never less than that,
 * with jitter of a fifth on top, nor less than back_off_ms. */
uint32_t ship_back_off_asked_ms(uint32_t back_off_ms, uint32_t asked_ms, uint32_t random);

/* The shipper keeps trying to connect to a service that it could not reach. When the service is
 * there again, the shippers of a fleet come back spread over this time. */
#define BACK_OFF_SPREAD_MS 1000

#endif
