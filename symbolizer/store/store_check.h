/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_STORE_CHECK_H
#define RAWSTACK_STORE_CHECK_H
/*
 * Checks a data directory's store before it is opened. LMDB follows what it reads without a check,
 * so a damaged page makes it loop, abort or fault. A child process therefore reads all pages of the
 * trees, then opens the file and walks it, before the service does.
 */
#include "err.h"

/*
 * Checks the store in this process. Returns 0, also if there is no store yet, or ERR_DATA, with
 * what is damaged, where, and what to do. Another process may write to the store meanwhile. If the
 * file is damaged in a way that only LMDB meets, this call may never return, so only the child and
 * tests use it.
 */
int store_check(const char *dir, struct err *err) _must_check_;

/*
 * Runs store_check() in a child: this program, called as STORE_CHECK_WORD DIR, with time and memory
 * that are bounded by the length of the file. A child that does not end in time, or dies, is
 * ERR_DATA, too. Returns ERR_CANCELLED if SIGTERM or SIGINT, which the caller has blocked, came
 * meanwhile.
 */
int store_check_by_child(const char *dir, struct err *err) _must_check_;

#define STORE_CHECK_WORD "check-store"
int store_check_main(const char *dir); /* main() of the child; returns its exit status */

#endif
