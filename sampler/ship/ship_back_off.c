/* SPDX-License-Identifier: Apache-2.0 */
#include "ship_back_off.h"

uint32_t ship_back_off_ms(unsigned int failures, uint32_t random)
{
	uint32_t ms = BACK_OFF_FIRST_MS;

	while (failures-- > 1 && ms < BACK_OFF_MAX_MS)
		ms *= 2;
	if (ms > BACK_OFF_MAX_MS)
		ms = BACK_OFF_MAX_MS;
	return ms * 4 / 5 + random % (ms * 2 / 5);
}

uint32_t ship_back_off_asked_ms(uint32_t back_off_ms, uint32_t asked_ms, uint32_t random)
{
	const uint32_t ms = asked_ms + (asked_ms ? random % (asked_ms / 5 + 1) : 0);

	return ms > back_off_ms ? ms : back_off_ms;
}
