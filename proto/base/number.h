/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_NUMBER_H
#define RAWSTACK_NUMBER_H
/*
 * Reads numbers from untrusted text. A whole number consists of digits only: the blanks, sign and
 * 0x that strtoull(3) also takes are refused, and so is a number above 64 bits. Base 16 takes
 * letters of both cases. Safe from any thread.
 */
#include "base.h"

/* Reads the digits at *text and moves *text behind them. Returns false, and changes nothing, if
 * there is no number. */
bool number_take(const char **text, unsigned int base, uint64_t *ret);

/* Does the same behind blanks and tabs. */
bool number_take_next(const char **text, unsigned int base, uint64_t *ret);

/* Does the same for a text that has to be a number and nothing else. */
bool number_read(const char *text, unsigned int base, uint64_t *ret);

/* Reads a text that is a real number for strtod(3), and nothing else. */
bool number_read_real(const char *text, double *ret);

#endif
