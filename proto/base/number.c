/* SPDX-License-Identifier: Apache-2.0 */
#include "number.h"

#include <stdlib.h>

/* Returns the value of a digit, or 16 if it is none. */
static unsigned int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned int)(c - '0');
	c |= 0x20; /* lower case */
	return c >= 'a' && c <= 'f' ? (unsigned int)(c - 'a') + 10 : 16;
}

bool number_take(const char **text, unsigned int base, uint64_t *ret)
{
	const char *at = *text;
	uint64_t n = 0;

	for (unsigned int digit; (digit = digit_value(*at)) < base; at++)
		if (!CHECKED_MUL(n, (uint64_t)base, &n) || !CHECKED_ADD(n, (uint64_t)digit, &n))
			return false;
	if (at == *text)
		return false;
	*text = at;
	*ret = n;
	return true;
}

bool number_take_next(const char **text, unsigned int base, uint64_t *ret)
{
	const char *at = *text;

	while (*at == ' ' || *at == '\t')
		at++;
	if (!number_take(&at, base, ret))
		return false;
	*text = at;
	return true;
}

bool number_read(const char *text, unsigned int base, uint64_t *ret)
{
	uint64_t n;

	if (!number_take(&text, base, &n) || *text)
		return false;
	*ret = n;
	return true;
}

bool number_read_real(const char *text, double *ret)
{
	char *end;
	const double n = strtod(text, &end);

	if (end == text || *end)
		return false;
	*ret = n;
	return true;
}
