/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SERVER_LIST_H
#define RAWSTACK_SERVER_LIST_H
/*
 * Reads a list of servers, as options, variables, files and routes have it:
 * "HOST:PORT,[v6]:PORT,unix:PATH", 1 to SERVER_LIST_MAX of them. Blanks around commas do not count.
 */
#include "base.h"
#include "err.h"

#define SERVER_LIST_MAX 16
#define SERVER_NAME_LEN 256 /* with its end */

/* Puts the servers of a list of `len` bytes into names[], and their number into *ret_count. Returns
 * 0, or ERR_USAGE for a list that is empty, or has an empty or too long name or too many of them.
 */
int server_list_read(const char *list, size_t len,
		     char names[static SERVER_LIST_MAX][SERVER_NAME_LEN], size_t *ret_count,
		     struct err *err) _must_check_;

/* Checks that a server is HOST:PORT, [ADDRESS]:PORT or unix:PATH, where HOST has no scheme: 0 or
 * ERR_USAGE. Whether it is there is for who connects to it. */
int server_name_check(const char *name, struct err *err) _must_check_;

#endif
