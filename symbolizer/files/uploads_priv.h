/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_UPLOADS_PRIV_H
#define RAWSTACK_UPLOADS_PRIV_H
/* What the parts of `uploads` share. Functions that take `uploads` want its lock held. */
#include <pthread.h>

#include "io.h"
#include "limits.h"
#include "uploads.h"

/* What is remembered of an upload that is gone, for the next one of its id. */
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
	size_t waiter_count; /* of all */
	unsigned int builders;
	bool (*connected)(uint32_t client); /* NULL: all are */
	uint64_t begun;                     /* builds, so far */
	uint64_t round;                     /* of the last of them; see uploads_queue.c */
	bool stopped;
	struct upload_waiter *displaced;               /* to be told so when the lock is released */
	struct upload_ended ended_ones[LIMIT_UPLOADS]; /* a ring */
	size_t next_ended;

	/* Who waits for a ticket, and the one whose bytes are synced at this moment. */
	struct upload_waiter *tickets, *ticket_now;
	pthread_cond_t asked, ended;
	pthread_t ticket_thread;
	bool has_ticket_thread, gives_tickets;
};

/* "<token><suffix>", in DATA/uploads. */
void upload_file_name(const struct upload *up, const char *suffix, char name[static NAME_LEN]);

void upload_free(struct upload *up);
DEFINE_FREEP(struct upload, upload_free);

/* NULL when it is not there. */
struct upload *uploads_find_token(struct uploads *u, const void *token, size_t len);

void uploads_add(struct uploads *u, struct upload *up); /* to the list */
/* Off the list and the disk; frees it, unless a stream has it, which then does so. */
void uploads_drop(struct uploads *u, struct upload *up);
void uploads_remove_files(struct uploads *u, const struct upload *up);

/* It is to be built. */
void uploads_enqueue(struct uploads *u, struct upload *up);

/* Makes what clients left who have gone one client's: what is in the queue, or all. */
void uploads_gather_left(struct uploads *u, bool receiving_too);

/* Tells all of a list how it ended. Without the lock. */
void uploads_tell(struct uploads *u, struct upload_waiter *waiters,
		  const struct upload_result *result);

/* The series that an upload of the id is of which begins now. */
struct upload_series uploads_series(const struct uploads *u, const struct build_id *id,
				    int64_t now);
/* Remembers that of an upload that goes. */
void uploads_end_series(struct uploads *u, const struct upload *up);

/* Notes that something moved. */
void uploads_touch(struct uploads *u, struct upload *up);

/* Whether a stream has it that goes on. */
bool upload_is_held(const struct upload *up, int64_t now);

/* Its pace is that from now on. */
void upload_begin_pace(struct upload *up, int64_t now);

/* What nobody continued for a day goes. */
void uploads_drop_stale(struct uploads *u, int64_t now);

/* Whether there is room for one more upload of a client, made if need be by dropping what nobody
 * continues, or one of the client that has most; else why not, and whether that may pass. */
bool uploads_make_room(struct uploads *u, uint64_t size, uint32_t client, int64_t now,
		       const char **ret_reason, bool *ret_passing);

/* Whether its client may have one more ticket: as many as are left, so that others always find some
 * after a while, however many come. */
bool uploads_may_promise(const struct uploads *u, const struct upload *up);

/* Whether len more bytes may be written. free_bytes: of the disk, a moment ago. ERR_UNAVAILABLE
 * when there is no room as long as others hold theirs, ERR_LIMIT when there would be none without
 * them.
 */
int uploads_check_disk(struct uploads *u, struct upload *writer, size_t len, uint64_t free_bytes,
		       struct err *err);

/* Says on disk that it is to be built, whoever comes back for it; a build that begins adds a byte.
 */
int upload_mark(struct uploads *u, const struct upload *up, bool begins, struct err *err);

/* The thread that gives tickets; it ends after uploads_stop(). Without the lock. */
int uploads_tickets_open(struct uploads *u, struct err *err) _must_check_;
void uploads_tickets_close(struct uploads *u);

int64_t uploads_mono_ns(const struct uploads *u);

#endif
