/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_UPLOADS_H
#define RAWSTACK_UPLOADS_H
/*
 * Files on their way in: bytes received so far under DATA/uploads. A build id is one upload's for
 * LIMIT_UPLOAD_ALONE_NS, counted over all that follow each other; after that uploads of it go on
 * side by side, and each is built. A cut stream and a restart keep what was received; what nobody
 * continued for a day is dropped, and sooner when others need the room. Who sends next to nothing
 * is overtaken. Does not look at the bytes, but for their SHA-256: the builder does. Safe from any
 * thread.
 *
 * On disk: <token>.begin, the packed BeginRequest, and <token>.part, the bytes. The length of the
 * part is what was received. <token>.finish is there when a table is owed of it, which a restart
 * does not forget; its length is the number of builds that began.
 */
#include "digest.h"
#include "io.h"
#include "rawstack/v1/binaries.pb-c.h"
#include "store.h"

enum {
	UPLOAD_TOKEN_LEN = 16
};

enum upload_state {
	UPLOAD_RECEIVING,
	UPLOAD_QUEUED,
	UPLOAD_RUNNING,
};

/* The bytes of an upload at a moment; monotonic. */
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

/* Fields are fixed at Begin, but for those named at the end, which `uploads` guards. */
struct upload {
	struct upload *next;
	uint8_t token[UPLOAD_TOKEN_LEN];
	struct build_id id;
	Rawstack__V1__BeginRequest *begin;
	int fd; /* of the part */

	enum upload_state state;
	uint64_t received;
	uint64_t touched_at; /* `received` at touched_ns */
	int64_t touched_ns;  /* monotonic; below 0 when that was before the machine's start */
	int64_t moved_ns;    /* likewise, of the last bytes; a new Begin does not count */
	int64_t brought_ns;  /* likewise, of the last bytes, however few */
	struct upload_series series;
	struct digest digest; /* of the first bytes, so many of them: */
	uint64_t digested;
	bool proven;                 /* it is complete, and has the SHA-256 that was declared */
	bool mixed;                  /* its bytes came from more than one client */
	struct upload_mark marks[2]; /* the older first: what its pace is reckoned by */
	uint32_t client;             /* who began it last; 0: nobody since the start */
	bool streaming;              /* a stream has it */
	bool writing;                /* the stream is writing a chunk now */
	bool lost;                   /* only its stream has it: it was replaced or dropped */
	bool displaced; /* lost, because its client had the most and another had none */
	bool promised;  /* a ticket was given, or an earlier run may have given one */
	bool given_up;  /* finished in an earlier run, and tried too often: see
			   uploads_each_given_up() */
	struct upload_waiter *waiters;
	uint64_t round;          /* QUEUED, RUNNING: the round of its client */
	uint64_t queued_at;      /* the number of builds begun when it was queued */
	int64_t not_before_ns;   /* QUEUED, and not to be built sooner; monotonic */
	unsigned int given_back; /* how often it was given back */
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

struct uploads;

/* Takes up what earlier runs left in DATA/uploads, and removes what nobody can continue. Files with
 * names that we do not give stay. ERR_DENIED when the directory is not ours. */
int uploads_open(struct uploads **ret, int data_fd, struct err *err) _must_check_;
void uploads_close(struct uploads *u);

/* Sets the number of builders, before the first uploads_take(); it is 1 by default. */
void uploads_set_builders(struct uploads *u, unsigned int count);

/* Sets the test for whether a client is still connected, before the first uploads_take(). It is
 * called with the lock held. */
void uploads_set_connected(struct uploads *u, bool (*connected)(uint32_t client));

/*
 * client: a number for who asks; places and builders are shared between them. 0: nobody in
 * particular, and everything is his.
 *
 * The upload that this request begins or continues: *ret_status is NEEDED with token and offset
 * filled, or IN_PROGRESS, OVER_QUOTA with *reason set to a line. *ret_passing: OVER_QUOTA for what
 * other uploads hold, and not for good. ERR_DATA when a field is not legal, ERR_UNAVAILABLE when
 * the process has no descriptor for it at this moment.
 *
 * A client that has no upload takes the place of another's, if all are taken: of the client that
 * has most, and several, the newest that is not being built and has no ticket. Who waits for its
 * build is told ERR_UNAVAILABLE, from the caller's thread.
 */
int uploads_begin(struct uploads *u, const Rawstack__V1__BeginRequest *request, uint32_t client,
		  Rawstack__V1__BeginStatus *ret_status, uint8_t token[static UPLOAD_TOKEN_LEN],
		  uint64_t *ret_offset, const char **ret_reason, bool *ret_passing,
		  struct err *err);

/*
 * Gives an upload to one stream, until it is released. ERR_NOT_FOUND when no upload has the token,
 * ERR_MISMATCH when another stream has it, or it is complete and queued.
 */
int uploads_attach(struct uploads *u, const void *token, size_t len, struct upload **ret,
		   struct err *err);
void uploads_detach(struct uploads *u, struct upload *up);

/* Appends to an upload that is attached. ERR_DATA when offset is not what was received, or the
 * bytes exceed the declared size; ERR_MISMATCH when it was too slow, and another client has it;
 * ERR_UNAVAILABLE when another client has its place, with nothing left of it, or when the disk has
 * no room for it at this moment, ERR_LIMIT when it has none at
 * all; ERR_IO. What came before stays, whatever the error. *ret_received is the new total. */
int uploads_append(struct uploads *u, struct upload *up, uint64_t offset, const void *p, size_t len,
		   uint64_t *ret_received, struct err *err);

/*
 * Queues a complete upload for building (again: no harm). The waiter is told the end of the build
 * if it asked for that and not too many wait, else that a table is owed: a ticket, which outlasts a
 * power cut, for the bytes and a note of it are synced first. Without a waiter that is so at
 * return, which may take as long as the disk does. ERR_NOT_FOUND, ERR_MISMATCH when bytes are
 * missing or a stream is still on it, ERR_UNAVAILABLE when its client has as many
 * tickets that wait as are left, ERR_IO when it cannot be noted or synced (it may be built
 * nevertheless). On failure the waiter was not taken (*ret_waits). *ret_id and *ret_state are
 * filled without one.
 */
int uploads_finish(struct uploads *u, const void *token, size_t len, struct upload_waiter *waiter,
		   bool until_built, struct build_id *ret_id, enum upload_state *ret_state,
		   bool *ret_waits, struct err *err);

/* Whether a table of the id is queued or being built. */
bool uploads_is_building(struct uploads *u, const struct build_id *id);

/*
 * For builders: waits for a queued upload and marks it RUNNING; NULL after uploads_stop(). Clients
 * take turns, small files go first, and one client may have all builders but one, if there are
 * several. What clients left who are not there any more is one client's.
 */
struct upload *uploads_take(struct uploads *u);

/* Ends an upload: removes its files and calls its waiters. ERR_UNAVAILABLE for a mixed one: clients
 * do not continue the bytes of others until its id had a rest. */
void uploads_done(struct uploads *u, struct upload *up, const struct upload_result *result);

/* Call it before builders start. Tells the uploads whose builds began LIMIT_UPLOAD_TRIES times in
 * earlier runs and never ended. They are queued only when somebody finishes them again. tell()
 * calls nothing of `uploads`. */
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

/* Call it after uploads_stop(): false when a sync for a ticket still runs. */
bool uploads_ended(struct uploads *u, unsigned int timeout_ms);

struct uploads_stat {
	size_t count, building;
	uint64_t received; /* bytes on disk */
};

void uploads_stat(struct uploads *u, struct uploads_stat *ret);

/* The directory of the parts, for temporary files beside them. */
int uploads_dir(const struct uploads *u);

#endif
