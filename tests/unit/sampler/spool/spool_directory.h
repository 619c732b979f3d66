/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SPOOL_DIRECTORY_H
#define RAWSTACK_SPOOL_DIRECTORY_H
/*
 * A spool on a real file system, in a directory of the test's own, with clocks that stand still
 * until the test moves them. Failures are cmocka's.
 */
#include "spool_samples.h"

struct place {
	char top[32], spool[48], away[48]; /* paths; the two below it need not exist */
	struct io io;                      /* the system's, but for the clocks */
};

extern uint64_t clock_ns; /* what both clocks show, the real one from a date on */

/* A fresh struct place in *state for each test, whose directories have no others in them. */
int place_setup(void **state);
int place_teardown(void **state);

/* All that is in the directory; the directory too. */
void remove_content(const char *dir);
void remove_spool(const char *dir);

struct spool_writer *open_writer(struct place *p);

/* What is in a directory, and in the spool. */
struct seen read_dir(struct place *p, const char *dir);
struct seen read_all(struct place *p);

/* Samples that the writer could not store. */
uint64_t lost(struct spool_writer *w);

#define PLACE_TEST(f) cmocka_unit_test_setup_teardown(f, place_setup, place_teardown)

#endif
