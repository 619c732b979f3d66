/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SPOOL_PACK_H
#define RAWSTACK_SPOOL_PACK_H
/*
 * The content of one segment on its way to the file: dictionaries, samples and losses become
 * records in memory. Does no file work. Internal to the spool library. One thread uses it at a
 * time.
 */
#include "buf.h"
#include "intern.h"
#include "spool.h"
#include "spool_format.h"
#include "spool_sample_code.h"

enum spool_dict_kind {
	SPOOL_DICT_STRINGS,
	SPOOL_DICT_MODULES,
	SPOOL_DICT_LOCATIONS,
	SPOOL_DICT_STACKS,
	SPOOL_DICT_THREADS,
	SPOOL_DICT_COUNT,
};

struct spool_dict {
	struct intern keys;
	struct buf pending; /* entries that are in no record yet */
	uint32_t pending_first;
};

/* Callers only read the fields, except for out, off and both arrays of losses, which the writer
 * sets. */
struct spool_pack {
	struct spool_dict dicts[SPOOL_DICT_COUNT];
	struct buf samples; /* those that are in no record yet */
	struct buf file_segments;
	uint32_t file_segments_count; /* modules that file_segments has */
	struct buf has_segments;      /* a byte for each module: segments stored */
	struct spool_guess guess;
	uint32_t samples_count, samples_step;
	uint64_t pending_len; /* bytes that are in no record yet */
	uint64_t sample_total;
	struct buf out;       /* whole records, to be written at off */
	uint64_t off;         /* in the segment */
	uint64_t segment_len; /* nothing is taken that would not fit */
	uint64_t margin;      /* what one more sample with everything new may take, at most */
	bool full;            /* something was not taken */
	bool is_tight;        /* a dictionary may lack room for such a sample */
	uint64_t losses[SPOOL_LOSS_COUNT];
	uint64_t left_losses[SPOOL_LOSS_COUNT]; /* the part that former directories state */
	bool losses_changed;
};

/* period_ns is the time that one sample stands for. */
void spool_pack_init(struct spool_pack *p, uint64_t segment_len, uint64_t period_ns);
void spool_pack_done(struct spool_pack *p);

/* Begins a segment whose records start at off. Losses stay. */
void spool_pack_reset(struct spool_pack *p, uint64_t off);

/* These do what the functions spool_writer_*() of the same names do. */
uint32_t spool_pack_string(struct spool_pack *p, const void *s, size_t len);
uint32_t spool_pack_module(struct spool_pack *p, const struct spool_module *m);
uint32_t spool_pack_location(struct spool_pack *p, const struct location *l);
uint32_t spool_pack_stack(struct spool_pack *p, const uint32_t *locations, size_t count,
			  uint32_t flags);
uint32_t spool_pack_thread(struct spool_pack *p, const struct spool_thread *t);

/* Does what spool_writer_file_segments() does. */
void spool_pack_file_segments(struct spool_pack *p, uint32_t module,
			      const struct file_segment *rows, size_t count);

/* Adds a sample. Returns false if it cannot be taken. */
bool spool_pack_sample(struct spool_pack *p, const struct spool_sample *s);

/*
 * Adds one record of late names, with as many of them as fit. Returns how many; 0: this segment has
 * no room.
 */
size_t spool_pack_late(struct spool_pack *p, const struct spool_late_scope *scope,
		       const struct spool_late_name *names, size_t count);

/* Returns whether len more bytes of payload surely fit into the segment. */
bool spool_pack_has_room(const struct spool_pack *p, uint64_t len);

/* Returns whether the next sample fits, whatever is new in it; otherwise the segment must end. */
bool spool_pack_takes_sample(const struct spool_pack *p);

/* Makes records of everything pending. */
void spool_pack_emit(struct spool_pack *p);

/* Writes everything pending, the losses and the record that ends a segment. */
void spool_pack_seal(struct spool_pack *p);

#endif
