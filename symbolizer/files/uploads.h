/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_UPLOADS_H
#define RAWSTACK_UPLOADS_H
/*
 * Uploads: the bytes received so far, under DATA/uploads. A build id belongs to one upload for
 * LIMIT_UPLOAD_ALONE_NS, counted over all uploads that follow each other. After that, uploads of
 * the id go on side by side and each is built. What was received survives a cut stream and a
 * restart. An upload that nobody continues is dropped after a day, or sooner when others need the
 * room. A client that sends next to nothing loses its upload to the next client. This module
 * computes the SHA-256 of the bytes and otherwise does not look at them; a builder does. Safe from
 * any thread.
 *
 *	<token>.begin    the packed BeginRequest
 *	<token>.part     the bytes; its length is what was received
 *	<token>.finish   present when the client was promised a table, which a restart remembers;
 *	                  its length is the number of builds that began
 */
#include "digest.h"
#include "histogram.h"
#include "io.h"
#include "limits.h"
#include "rawstack/v1/binaries.pb-c.h"
#include "store.h"

/* An id belongs to one upload for this long, counted over all uploads of it that follow each other;
 * after that others go on beside it. It is less than the minute for which `rawstack push` asks
 * again. */
#define LIMIT_UPLOAD_ALONE_NS LIMIT(30000000000)

/* Uploads that were begun and are not finished. */
#define LIMIT_UPLOADS         LIMIT(256)
/* The uploads of one client: the last quarter of the places is for others. */
#define LIMIT_CLIENT_UPLOADS  LIMIT(192)
/* Tickets that wait for their build. An upload with a ticket keeps its place; the other half of the
 * places may be taken from a client that has several, for one that has none. */
#define LIMIT_UPLOAD_TICKETS  LIMIT(128)
/* When there is no room for another upload, one that nobody continued for this long gives way,
 * whoever began it: a client that was cut off is back within a minute. */
#define LIMIT_UPLOAD_SPARE_NS LIMIT(60000000000)

enum {
	UPLOAD_TOKEN_LEN = 16,
	UPLOAD_SHOWN_LEN = 4, /* of its bytes in the log */
};

enum upload_state {
	UPLOAD_RECEIVING,
	UPLOAD_QUEUED,
	UPLOAD_RUNNING,
};

/* The bytes that an upload had at a moment of the monotonic clock. */
struct upload_mark {
	int64_t at_ns;
	uint64_t received;
};

/* Uploads of one id that follow each other, or go on side by side. */
struct upload_series {
	int64_t since_ns; /* monotonic */
	int64_t asked_ns; /* when a client was last told to wait for a stream of the same content
			     after the id was free for all; INT64_MIN: never */
	bool spoiled;     /* the bytes of several clients together were not what was declared */
};

/* The fields from token to fd are fixed at Begin; `uploads` guards the others. */
/* Who began an upload, and by which call. */
struct upload_owner {
	uint64_t key;     /* the identity; 0: not known */
	uint64_t builds;  /* how many of its uploads may be built at the same time */
	uint64_t request; /* the number of the call, for the log; 0: not known */
	char who[128];    /* the name of the identity, for the log, cut; "": not known */
};

struct upload {
	struct upload *next;
	uint8_t token[UPLOAD_TOKEN_LEN];
	struct build_id id;
	Rawstack__V1__BeginRequest *begin;
	int fd; /* the open part file */

	enum upload_state state;
	uint64_t received;
	uint64_t touched_at; /* `received` at touched_ns */
	int64_t touched_ns;  /* monotonic; below 0 if it was before the machine started */
	int64_t moved_ns;    /* likewise; when bytes last came, not counting a new Begin */
	int64_t brought_ns;  /* likewise; when bytes last came, however few */
	struct upload_series series;
	struct digest digest; /* digest of the first `digested` bytes */
	uint64_t digested;
	bool proven;                 /* complete, with the SHA-256 that was declared */
	bool mixed;                  /* more than one client sent its bytes */
	struct upload_mark marks[2]; /* two points to measure its pace, the older first */
	uint32_t client;             /* the client that began it last; 0: none since the start */
	struct upload_owner owner;   /* who began it last; all zero: not known */
	bool streaming;              /* attached to a stream */
	bool writing;                /* the stream writes a chunk at this moment */
	bool lost;                   /* replaced or dropped; its stream frees it */
	bool displaced; /* lost, because its client had the most and another had no upload */
	bool promised;  /* a ticket was given, or an earlier run may have given one */
	bool given_up;  /* finished in an earlier run, and tried too often: see
			   uploads_each_given_up() */
	struct upload_waiter *waiters;
	uint64_t round;          /* QUEUED, RUNNING: its client's round */
	uint64_t queued_at;      /* builds that had begun when it was queued */
	int64_t not_before_ns;   /* QUEUED: not to be built before this time; monotonic */
	unsigned int given_back; /* how often it was given back */
	/* Monotonic, for the figures of uploads_times(); 0: not in this run, or not yet. */
	int64_t begun_ns, complete_ns, taken_ns;
};

/* The end of a build, or a ticket for it. */
struct upload_result {
	int code; /* 0; ERR_DATA: the bytes are not what was declared; else the build failed */
	const char *message;
	struct build_id id;                      /* unset when no build was reached */
	const Rawstack__V1__BuildReport *report; /* when code is 0 */
	bool queued;             /* a ticket: no report, and the code is that of uploads_finish() */
	enum upload_state state; /* set with a ticket */
};

/* Waits for the end of a build, or for a ticket; done() is called once, from any thread. The other
 * fields are not the caller's. */
struct upload_waiter {
	struct upload_waiter *next;
	uint8_t token[UPLOAD_TOKEN_LEN];
	void (*done)(struct upload_waiter *w, const struct upload_result *result);
};

/* The answer to a Begin request. */
struct upload_begun {
	Rawstack__V1__BeginStatus status; /* NEEDED, IN_PROGRESS or OVER_QUOTA */
	uint8_t token[UPLOAD_TOKEN_LEN];  /* set with NEEDED */
	uint64_t offset;                  /* likewise: where the client goes on */
	const char *reason;               /* one line, unless the status is NEEDED */
	bool will_pass;                   /* OVER_QUOTA is due to other uploads */
};

/* The answer to a Finish request. */
struct upload_finished {
	bool waits;         /* the waiter was taken; never on failure */
	struct build_id id; /* set if the waiter was not taken, as is `state` */
	enum upload_state state;
};

struct uploads;

/* Opens DATA/uploads, continues the uploads of earlier runs, and removes files that nobody can
 * continue. Files with foreign names stay. Returns ERR_DENIED if the directory has a foreign owner.
 */
int uploads_open(struct uploads **ret, int data_fd, struct err *err) _must_check_;
void uploads_close(struct uploads *u);

/* Sets the number of builders, before the first uploads_take(); it is 1 by default. */
void uploads_set_builders(struct uploads *u, unsigned int count);

/* Sets the test for whether a client is still connected, before the first uploads_take(). It is
 * called with the lock held. */
void uploads_set_connected(struct uploads *u, bool (*connected)(uint32_t client));

/*
 * Begins an upload, or continues one. client is a number for the caller; places and builders are
 * shared between clients. Client 0 is nobody in particular and may use everything.
 *
 * Returns ERR_DATA if a field is not legal, or ERR_UNAVAILABLE if the process has no descriptor
 * left.
 *
 * When all places are taken, a client without an upload takes one from the client that has most, if
 * that one has several: its newest that is not being built and has no ticket. Whoever waits for
 * that build gets ERR_UNAVAILABLE, from the caller's thread.
 */
int uploads_begin(struct uploads *u, const Rawstack__V1__BeginRequest *request, uint32_t client,
		  struct upload_begun *ret, struct err *err);

/* Says who began an upload last: more than owner->builds wait for their turn, if its key is not 0,
 * and the log names it. A restart forgets it. */
void uploads_own(struct uploads *u, const uint8_t token[static UPLOAD_TOKEN_LEN],
		 const struct upload_owner *owner);

/*
 * Attaches an upload to one stream, until uploads_detach(). Returns ERR_NOT_FOUND if no upload has
 * the token, and ERR_MISMATCH if another stream has it, or it is complete and queued.
 */
int uploads_attach(struct uploads *u, const void *token, size_t len, struct upload **ret,
		   struct err *err);
void uploads_detach(struct uploads *u, struct upload *up);

/*
 * Appends to an attached upload. *ret_received is the new total. Bytes that came before stay,
 * whatever the error:
 *
 *	ERR_DATA         offset is not what was received, or the bytes exceed the declared size
 *	ERR_MISMATCH     the upload was too slow, and another client has it
 *	ERR_UNAVAILABLE  another client took its place and nothing of it is left, or other uploads
 *	                  hold the room on the disk
 *	ERR_LIMIT        the disk has no room, even without other uploads
 *	ERR_IO           a write failed
 */
int uploads_append(struct uploads *u, struct upload *up, uint64_t offset, const void *p, size_t len,
		   uint64_t *ret_received, struct err *err);

/*
 * Queues a complete upload for building; doing so again does no harm. The waiter gets the end of
 * the build if until_built is set and not too many wait. Otherwise it gets a ticket, the promise of
 * a table, which survives a power cut: the bytes and a note are synced first. Without a waiter the
 * ticket is given at return, which may take as long as the disk does.
 *
 *	ERR_NOT_FOUND    no such upload
 *	ERR_MISMATCH     bytes are missing, or a stream still has it
 *	ERR_UNAVAILABLE  the client has as many tickets as it may have
 *	ERR_IO           the note or the bytes cannot be synced; a table may be built nevertheless
 */
int uploads_finish(struct uploads *u, const void *token, size_t len, struct upload_waiter *waiter,
		   bool until_built, struct upload_finished *ret, struct err *err);

/* Returns whether a table of the id is queued or being built. */
bool uploads_is_building(struct uploads *u, const struct build_id *id);

/*
 * Waits for a queued upload and marks it RUNNING; returns NULL after uploads_stop(). Builders call
 * it. Clients take turns and small files go first. If there are several builders, one client has at
 * most all but one. All clients that left count as one.
 */
struct upload *uploads_take(struct uploads *u);

/* Ends an upload: removes its files and calls its waiters. ERR_UNAVAILABLE as the result of a mixed
 * upload says that its bytes were wrong: until the id has had a rest, no client continues another's
 * bytes. */
void uploads_done(struct uploads *u, struct upload *up, const struct upload_result *result);

/* Calls tell() for each upload whose build began LIMIT_UPLOAD_TRIES times in earlier runs and never
 * ended. Such an upload is queued only when a client finishes it again. Call this before the
 * builders start; tell() must not call this module. */
void uploads_each_given_up(struct uploads *u, void (*tell)(void *ctx, const struct upload *up),
			   void *ctx);

/* Queues the upload again for a little later, because it cannot be built now; its waiters go on
 * waiting. */
void uploads_postpone(struct uploads *u, struct upload *up);

/* Gives back an upload whose build failed because the machine lacks something now. Its waiters get
 * ERR_UNAVAILABLE. With a ticket it is queued again, after twice the delay each time; without one
 * it stays complete, and the next client has only to finish it. */
void uploads_give_back(struct uploads *u, struct upload *up, const struct upload_result *result);

/* Wakes builders, and tells waiters ERR_UNAVAILABLE; files stay for the next start. A build that
 * this cuts off does not count as a try. */
void uploads_stop(struct uploads *u);

/* Returns false if a sync for a ticket still runs. Call it after uploads_stop(). */
bool uploads_ended(struct uploads *u, unsigned int timeout_ms);

struct uploads_stat {
	size_t count, building;
	uint64_t received; /* bytes on disk */
};

void uploads_stat(struct uploads *u, struct uploads_stat *ret);

/* An upload as people see it. */
struct upload_shown {
	uint64_t received, size;
	uint64_t age_ns; /* of its state, in this run */
	size_t name_len;
	enum upload_state state;
	struct build_id id;
	char name[128]; /* a stranger's bytes, cut */
};

/* Fills at most max rows, those that are built first, then the queue. Returns how many. */
size_t uploads_show(struct uploads *u, struct upload_shown *rows, size_t max);

/* The times that the parts of an upload's way took, each counted when it ends. */
struct uploads_times {
	struct histogram receiving; /* from its first Begin to Finish */
	struct histogram waiting;   /* from there until a builder takes it, at the first time */
	struct histogram stored, failed; /* its build, by result */
};

/* Valid until uploads_close(). */
const struct uploads_times *uploads_times(const struct uploads *u);

/* Returns the descriptor of DATA/uploads, for temporary files beside the parts. */
int uploads_dir(const struct uploads *u);

#endif
