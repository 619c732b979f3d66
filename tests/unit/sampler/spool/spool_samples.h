/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SPOOL_SAMPLES_H
#define RAWSTACK_SPOOL_SAMPLES_H
/*
 * Samples that tell from their time alone what they must look like, put into a spool over memory
 * and checked when they come out. Include behind <cmocka.h>'s own needs; failures are cmocka's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "memory_io.h"
#include "spool.h"

#define SEGMENT "segment-"
#define SECOND  UINT64_C(1000000000)

extern const struct spool_limits small; /* 64 KiB segments, 1 MiB in all */
extern const struct spool_origin origin;

/* Over the directory of m; failing to open fails the test. */
struct spool_writer *writer(struct memory_io *m, const struct spool_limits *limits);
struct spool_reader *reader(struct memory_io *m);

/* A time from which the number can be told, in whole units of the spool. */
static inline uint64_t sample_time(uint64_t n)
{
	return 1000 * n;
}

static inline uint64_t sample_number(const struct spool_sample *s)
{
	return s->time_ns / 1000;
}

/* Sample n: its own stack of three frames, a thread of ten, a module of three. */
void add(struct spool_writer *w, uint64_t n);

/* count samples from n on, and a flush. */
void add_many(struct spool_writer *w, uint64_t n, uint64_t count);

struct seen {
	uint64_t count, next, gaps, damaged_len, batches;
	uint64_t losses[SPOOL_LOSS_COUNT];
	uint64_t replaced; /* samples whose stack damage took */
	bool is_damaged;   /* damage is expected: the content of samples is not looked at */
};

/* Checks the samples of a batch, and that none comes twice or late. */
void see(struct seen *seen, const struct spool_batch *b);

bool is_text(const struct spool_batch *b, uint32_t index, const char *want);

/* Everything the reader has now. */
struct seen drain(struct spool_reader *r, size_t max_samples);
struct seen drain_as(struct spool_reader *r, size_t max_samples, bool is_damaged);

/* Everything in the directory, acknowledged or not. */
struct seen drain_all(struct memory_io *m);
struct seen drain_all_as(struct memory_io *m, bool is_damaged);

/* A fresh struct memory_io in *state for each test. */
int setup(void **state);
int teardown(void **state);

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#endif
