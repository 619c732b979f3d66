/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_UPLOADS_PRIV_H
#define RAWSTACK_UPLOADS_PRIV_H
/* The uploads, as their parts share them. The caller of a function that takes `uploads` holds its
 * lock, unless the function says otherwise. */
#include <pthread.h>

#include "io.h"
#include "limits.h"
#include "uploads.h"

/* A dropped upload leaves this for the next one of its id. */
struct upload_ended {
	struct build_id id;
	struct upload_series series;
	int64_t at_ns;
};

enum {
	NAME_LEN = 2 * UPLOAD_TOKEN_LEN + sizeof(".finish")
};

struct uploads {
	int dir_fd;
	const struct io *io;
	pthread_mutex_t lock;
	pthread_cond_t queued;
	struct upload *list; /* newest last */
	size_t waiter_count; /* waiters of all uploads */
	unsigned int builders;
	bool (*connected)(uint32_t client); /* NULL: every client counts as connected */
	uint64_t begun;                     /* builds that have begun */
	uint64_t round;                     /* round of the last build; see uploads_queue.c */
	bool stopped;
	struct uploads_times times;
	struct upload_waiter
		*displaced; /* displaced waiters, to be told when the lock is released */
	struct upload_ended ended_ones[LIMIT_UPLOADS]; /* a ring */
	size_t next_ended;

	/* The waiters for a ticket, and the one whose bytes are being synced. */
	struct upload_waiter *tickets, *ticket_now;
	pthread_cond_t asked, ended;
	pthread_t ticket_thread;
	bool has_ticket_thread, gives_tickets;
};

/* Writes the name of an upload's file in DATA/uploads: "<token><suffix>". */
void upload_file_name(const struct upload *up, const char *suffix, char name[static NAME_LEN]);

void upload_free(struct upload *up);
DEFINE_FREEP(struct upload, upload_free);

/* Returns NULL if no upload has the token. */
struct upload *uploads_find_token(struct uploads *u, const void *token, size_t len);

void uploads_add(struct uploads *u, struct upload *up); /* to the list */
/* Removes the upload from list and disk and frees it; a stream that has it frees it instead. */
void uploads_drop(struct uploads *u, struct upload *up);
void uploads_remove_files(struct uploads *u, const struct upload *up);

/* Counts the end of a build in the times, and logs it. The caller need not hold the lock. */
void uploads_tell_build(struct uploads *u, const struct upload *up,
			const struct upload_result *result);

/* Queues an upload to be built. */
void uploads_enqueue(struct uploads *u, struct upload *up);

/* Moves the uploads of clients that left to one shared client: the queued ones, or all. */
void uploads_gather_left(struct uploads *u, bool receiving_too);

/* Tells all waiters of a list the result. The caller must not hold the lock. */
void uploads_tell(struct uploads *u, struct upload_waiter *waiters,
		  const struct upload_result *result);

/* Returns the series for an upload of the id that begins now. */
struct upload_series uploads_series(const struct uploads *u, const struct build_id *id,
				    int64_t now);
/* Remembers the series of an upload that is dropped. */
void uploads_end_series(struct uploads *u, const struct upload *up);

/* Notes activity of the upload. */
void uploads_touch(struct uploads *u, struct upload *up);

/* Returns whether a live stream has the upload. */
bool upload_is_held(const struct upload *up, int64_t now);

/* Restarts the measurement of the upload's pace. */
void upload_begin_pace(struct upload *up, int64_t now);

/* Drops uploads that nobody continued for a day. */
void uploads_drop_stale(struct uploads *u, int64_t now);

/* Returns whether there is room for one more upload of the client. If need be it drops an upload
 * that nobody continues, or one of the client that has most. If not, *ret_reason says why and
 * *ret_passing whether that may pass. */
bool uploads_make_room(struct uploads *u, uint64_t size, uint32_t client, int64_t now,
		       const char **ret_reason, bool *ret_passing);

/* Returns whether the upload's client may have one more ticket. A client may have as
 * many tickets as are left over, so that others always find some. */
bool uploads_may_promise(const struct uploads *u, const struct upload *up);

/* Checks that the disk has room for len more bytes. free_bytes was measured just before. Returns
 * ERR_UNAVAILABLE if other uploads hold the room, or ERR_LIMIT if there is none even without them.
 */
int uploads_check_disk(struct uploads *u, struct upload *writer, size_t len, uint64_t free_bytes,
		       struct err *err);

/* Records on disk that a table is owed, even without its client; each build that begins adds a
 * byte. */
int upload_mark(struct uploads *u, const struct upload *up, bool begins, struct err *err);

/* Starts the thread that gives tickets, which ends after uploads_stop(). The caller does not hold
 * the lock. */
int uploads_tickets_open(struct uploads *u, struct err *err) _must_check_;
void uploads_tickets_close(struct uploads *u);

int64_t uploads_mono_ns(const struct uploads *u);

#endif
