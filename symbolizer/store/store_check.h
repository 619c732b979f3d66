/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_STORE_CHECK_H
#define RAWSTACK_STORE_CHECK_H
/*
 * Whether a data directory's store can be opened. LMDB looks at nothing before it follows it: a
 * damaged page makes it loop, abort or fault. So a child reads all pages of the trees, opens the
 * file and walks it, before anybody else does.
 */
#include "err.h"

/*
 * For the child, and tests: 0, also when there is no store yet; ERR_DATA with what is damaged,
 * where, and what to do. Also beside a process that writes to it. May not come back if the file is
 * damaged in a way that only LMDB knows.
 */
int store_check(const char *dir, struct err *err) _must_check_;

/*
 * Has it done by a child, this program called as STORE_CHECK_WORD DIR, whose time and memory are
 * bounded by the length of the file; a child that does not come back is ERR_DATA too. ERR_CANCELLED
 * when SIGTERM or SIGINT, which the caller has blocked, came meanwhile.
 */
int store_check_by_child(const char *dir, struct err *err) _must_check_;

#define STORE_CHECK_WORD "check-store"
int store_check_main(const char *dir); /* the child: its exit status */

#endif
