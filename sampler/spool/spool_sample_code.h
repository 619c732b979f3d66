/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SPOOL_SAMPLE_CODE_H
#define RAWSTACK_SPOOL_SAMPLE_CODE_H
/*
 * Encodes the samples of one SAMPLES record. A clock ticks on each CPU in turn, at a known
 * distance, mostly in the same thread: what a sample shares with that guess takes no byte
 * (FORMAT.md, "Samples"). Writer and reader make the same guess from the samples before in the
 * record. Internal to the spool library.
 */
#include "bytes.h"
#include "spool.h"

enum {
	SPOOL_GUESS_CPUS = 256,     /* CPUs with their own guess; higher numbers share these */
	SPOOL_SAMPLE_MAX = 31,      /* bytes of a sample, at most */
	SPOOL_SAMPLE_UNIT_NS = 1000 /* the unit of a sample's time, which is rounded down */
};

struct spool_guess {
	uint64_t base;        /* the time of the first sample of the record, in units */
	uint32_t step;        /* units between two samples of a CPU */
	uint32_t before;      /* the CPU of the sample before */
	uint32_t known_count; /* of cpus[] */
	struct {
		uint64_t time;   /* of its last sample */
		uint32_t thread; /* likewise */
		uint32_t next;   /* the CPU of the sample that followed */
	} cpus[SPOOL_GUESS_CPUS];
};

/* Begins a record. A new guess is zeroed by the caller. */
void spool_guess_begin(struct spool_guess *g, uint64_t base, uint32_t step);

/* Writes a sample to `to`; returns where it ends. */
uint8_t *spool_sample_encode(struct spool_guess *g, const struct spool_sample *s,
			     uint8_t to[static SPOOL_SAMPLE_MAX]);

/* Reads a sample. Returns false for bytes that are no sample. It does not check the indexes. */
bool spool_sample_decode(struct spool_guess *g, struct bytes *in, struct spool_sample *ret);

#endif
