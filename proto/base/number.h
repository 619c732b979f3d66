/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_NUMBER_H
#define RAWSTACK_NUMBER_H
/*
 * Whole numbers in text that somebody else wrote. They are digits and nothing besides: what
 * strtoull(3) would take as well (blanks, a sign, 0x) is none, and what 64 bits do not hold is none
 * either. Base 16 takes letters of both cases. Safe from any thread.
 */
#include "base.h"

/* Takes the digits at *text and moves *text behind them. False, and nothing is changed: there is no
 * number. */
bool number_take(const char **text, unsigned int base, uint64_t *ret);

/* The same for a text that is a number and nothing else. */
bool number_read(const char *text, unsigned int base, uint64_t *ret);

#endif
