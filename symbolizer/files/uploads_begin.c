/* SPDX-License-Identifier: Apache-2.0 */
/* Begins uploads: those that clients ask for and, at the start, those of earlier runs. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "data_dir.h"
#include "digest.h"
#include "limits.h"
#include "timed_wait.h"
#include "upload_check.h"
#include "uploads_priv.h"

#define BEGIN_STATUS(name) RAWSTACK__V1__BEGIN_STATUS__BEGIN_STATUS_##name

enum {
	BEGIN_LEN = 8 * (int)LIMIT_PATH_LEN - 1, /* bytes of a request, all its fields together */
	GRACE_MS = 3000,
	ASK_AGAIN_MS = 60000,
};

#define NS_PER_MS INT64_C(1000000)

static int check_begin(const Rawstack__V1__BeginRequest *r, struct build_id *id, struct err *err)
{
	bool htl = r->id_kind == RAWSTACK__V1__ID_KIND__ID_KIND_HTLHASH;
	int rc = build_id_set(id, htl ? BUILD_ID_HTLHASH : BUILD_ID_GNU, r->build_id.data,
			      r->build_id.len, err);

	if (rc)
		return err_set(err, ERR_DATA, "build_id: %zu bytes is no build id",
			       r->build_id.len);
	if (r->size == 0 || r->size > LIMIT_UPLOAD_LEN)
		return err_set(err, ERR_DATA, "size: %llu, must be 1 to %llu",
			       (unsigned long long)r->size, (unsigned long long)LIMIT_UPLOAD_LEN);
	if (r->sha256.len != DIGEST_LEN)
		return err_set(err, ERR_DATA, "sha256: %zu bytes, not %d", r->sha256.len,
			       DIGEST_LEN);
	/* Unknown fields count too, because the request is stored as it came. */
	if (rawstack__v1__begin_request__get_packed_size(r) > BEGIN_LEN)
		return err_set(err, ERR_DATA, "the request: more than %d bytes", (int)BEGIN_LEN);
	if (r->name.len > LIMIT_PATH_LEN || r->version.len > LIMIT_PATH_LEN)
		return err_set(err, ERR_DATA, "name, version: at most %llu bytes",
			       (unsigned long long)LIMIT_PATH_LEN);
	if (r->n_labels > LIMIT_LABELS)
		return err_set(err, ERR_DATA, "labels: %zu, at most %llu", r->n_labels,
			       (unsigned long long)LIMIT_LABELS);
	for (size_t i = 0; i < r->n_labels; i++)
		if (r->labels[i]->key.len > LIMIT_LABEL_LEN ||
		    r->labels[i]->value.len > LIMIT_LABEL_LEN)
			return err_set(err, ERR_DATA, "labels[%zu]: at most %llu bytes", i,
				       (unsigned long long)LIMIT_LABEL_LEN);
	return 0;
}

static int create_upload(struct uploads *u, const Rawstack__V1__BeginRequest *r,
			 const struct build_id *id, struct upload **ret, struct err *err)
{
	_cleanup_(upload_freep) struct upload *up = calloc(1, sizeof(*up));
	size_t len = rawstack__v1__begin_request__get_packed_size(r);
	_cleanup_(freep) uint8_t *packed = malloc(len + 1);
	char name[NAME_LEN];
	int rc;

	if (!up || !packed)
		return err_no_memory(err);
	up->fd = -1;
	up->id = *id;
	up->moved_ns = up->brought_ns = up->begun_ns = uploads_mono_ns(u);
	digest_init(&up->digest);
	upload_begin_pace(up, up->moved_ns);
	u->io->random(u->io->ctx, up->token, sizeof(up->token));
	rawstack__v1__begin_request__pack(r, packed);
	up->begin = rawstack__v1__begin_request__unpack(NULL, len, packed);
	if (!up->begin)
		return err_no_memory(err);
	upload_file_name(up, ".part", name);
	up->fd = openat(u->dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (up->fd < 0 && (errno == EMFILE || errno == ENFILE))
		return err_set(err, ERR_UNAVAILABLE,
			       "the service has no descriptor for another upload: begin again a "
			       "little later");
	if (up->fd < 0)
		return err_sys(err, errno, "uploads/%s", name);
	upload_file_name(up, ".begin", name);
	rc = io_replace_file(u->io, u->dir_fd, name, packed, len, err);
	if (rc) {
		uploads_remove_files(u, up);
		return rc;
	}
	*ret = TAKE_PTR(up);
	return 0;
}

static bool same_content(const struct upload *up, const Rawstack__V1__BeginRequest *r)
{
	return up->begin->size == r->size && up->begin->kind == r->kind &&
	       !memcmp(up->begin->sha256.data, r->sha256.data, DIGEST_LEN);
}

/*
 * Takes an upload over from a stream that brings next to nothing: it continues under the same token
 * for whoever begins now. The stream keeps the old struct, with which it can do nothing more.
 * Returns NULL if memory or descriptors are out.
 */
static struct upload *overtake_upload(struct uploads *u, struct upload *up)
{
	struct upload *next = malloc(sizeof(*next)), **at = &u->list;
	int fd = dup(up->fd);

	if (!next || fd < 0) {
		free(next);
		closep(&fd);
		return NULL;
	}
	*next = *up;
	next->fd = fd;
	next->streaming = false;
	while (*at != up)
		at = &(*at)->next;
	*at = next;
	up->begin = NULL;
	up->lost = true;
	return next;
}

/* A client's Begin request. */
struct ask {
	const Rawstack__V1__BeginRequest *request;
	const struct build_id *id;
	uint32_t client;
	int64_t now;
	struct upload_series series;
};

/* Returns whether both are uploads of one id that may stand in each other's way. */
static bool is_rival(const struct ask *a, const struct upload *up)
{
	return build_id_equal(&up->id, a->id) &&
	       upload_kind_is_of_host(up->begin->kind) == upload_kind_is_of_host(a->request->kind);
}

static bool series_is_alone(const struct ask *a)
{
	return a->now - a->series.since_ns < (int64_t)LIMIT_UPLOAD_ALONE_NS;
}

/*
 * Returns whether somebody sends this upload, or it is complete. While the id belongs to one
 * upload, any live stream counts. Later, a stream of the same content that brought nothing for a
 * moment may be the asker's own broken one, so it does not count.
 */
static bool upload_is_taken(const struct ask *a, const struct upload *up)
{
	if (up->state != UPLOAD_RECEIVING)
		return true;
	if (!upload_is_held(up, a->now))
		return false;
	return up->writing || series_is_alone(a) || !same_content(up, a->request) ||
	       a->now - up->brought_ns < (int64_t)LIMIT_UPLOAD_EMPTY_NS;
}

/* Returns whether a client has to wait a little although the id is free for all. That happens once
 * a minute when a stream is bringing the same content: if that stream is the client's own and
 * broken, the client can go on where it stopped. */
static bool is_in_grace(const struct ask *a, struct upload *up)
{
	const bool is_first = a->series.asked_ns == INT64_MIN ||
			      a->now - a->series.asked_ns > ASK_AGAIN_MS * NS_PER_MS;

	if (is_first)
		up->series.asked_ns = a->now;
	return is_first || a->now - a->series.asked_ns < GRACE_MS * NS_PER_MS;
}

/* Returns why the client is not to send its file now, or NULL. Complete bytes with the same
 * declared SHA-256 are not sent again, however long the build takes to start. */
static const char *find_hindrance(struct uploads *u, const struct ask *a)
{
	for (struct upload *up = u->list; up; up = up->next) {
		bool receiving = up->state == UPLOAD_RECEIVING;
		bool same;

		if (!is_rival(a, up) || !upload_is_taken(a, up))
			continue;
		same = same_content(up, a->request);
		if (series_is_alone(a) || (same && (receiving ? is_in_grace(a, up) : up->proven)))
			return receiving ? "another client is sending it"
					 : "its table is being built";
	}
	return NULL;
}

/* Finds the upload that the client continues: the one of the same content with the most bytes.
 * After mixed bytes were wrong, it has to be the client's own. */
static struct upload *find_continued(struct uploads *u, const struct ask *a)
{
	struct upload *most = NULL;

	for (struct upload *up = u->list; up; up = up->next)
		if (build_id_equal(&up->id, a->id) && !upload_is_taken(a, up) &&
		    same_content(up, a->request) &&
		    (!a->series.spoiled || (a->client && up->client == a->client)) &&
		    (!most || up->received > most->received))
			most = up;
	return most;
}

/* Drops uploads of the id that nobody sends when a client begins other content: all of them while
 * the id belongs to one upload, later only the client's own. */
static void drop_others(struct uploads *u, const struct ask *a)
{
	struct upload *next;

	for (struct upload *up = u->list; up; up = next) {
		next = up->next;
		if (is_rival(a, up) && !upload_is_taken(a, up) && !same_content(up, a->request) &&
		    (series_is_alone(a) || (a->client && up->client == a->client)))
			uploads_drop(u, up);
	}
}

static int begin_upload(struct uploads *u, const struct ask *a, struct upload_begun *ret,
			struct err *err)
{
	struct upload *up;

	*ret = (struct upload_begun){.status = BEGIN_STATUS(IN_PROGRESS),
				     .reason = find_hindrance(u, a)};
	if (ret->reason)
		return 0;
	up = find_continued(u, a);
	if (up && up->streaming) {
		up = overtake_upload(u, up);
		if (!up) {
			ret->reason = "another client is sending it";
			return 0;
		}
	}
	drop_others(u, a);
	if (!up && !uploads_make_room(u, a->request->size, a->client, a->now, &ret->reason,
				      &ret->will_pass)) {
		ret->status = BEGIN_STATUS(OVER_QUOTA);
		return 0;
	}
	if (!up) {
		TRY(create_upload(u, a->request, a->id, &up, err));
		uploads_add(u, up);
	}
	uploads_touch(u, up);
	up->mixed |= up->received && up->client != a->client;
	up->client = a->client;
	up->series = a->series;
	*ret = (struct upload_begun){.status = BEGIN_STATUS(NEEDED), .offset = up->received};
	memcpy(ret->token, up->token, UPLOAD_TOKEN_LEN);
	return 0;
}

int uploads_begin(struct uploads *u, const Rawstack__V1__BeginRequest *request, uint32_t client,
		  struct upload_begun *ret, struct err *err)
{
	static const struct upload_result no_place = {
		.code = ERR_UNAVAILABLE,
		.message = "all places are taken, and another client had none: its place went to "
			   "that; begin again a little later",
	};
	struct upload_waiter *displaced;
	struct build_id id;
	struct ask ask = {.request = request, .id = &id, .client = client};
	int rc;

	TRY(check_begin(request, &id, err));
	pthread_mutex_lock(&u->lock);
	ask.now = uploads_mono_ns(u);
	uploads_drop_stale(u, ask.now);
	ask.series = uploads_series(u, &id, ask.now);
	rc = begin_upload(u, &ask, ret, err);
	displaced = TAKE_PTR(u->displaced);
	pthread_mutex_unlock(&u->lock);
	uploads_tell(u, displaced, &no_place);
	return rc;
}

/* --- of earlier runs ------------------------------------------------------------------------- */

/* Queues a finished upload, because its table is still owed. An upload whose builds seem to have
 * ended the service each time waits until a client finishes it again. */
static void take_up_promise(struct uploads *u, struct upload *up)
{
	char name[NAME_LEN];
	struct stat st;

	upload_file_name(up, ".finish", name);
	if (up->received != up->begin->size || fstatat(u->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) ||
	    !S_ISREG(st.st_mode))
		return;
	up->given_up = (uint64_t)st.st_size >= LIMIT_UPLOAD_TRIES;
	up->promised = !up->given_up;
	if (!up->given_up)
		uploads_enqueue(u, up);
}

/* Takes up an upload of an earlier run from its .begin file. Returns false if it is of no use. */
static bool take_up(struct uploads *u, const char *hex)
{
	_cleanup_(upload_freep) struct upload *up = calloc(1, sizeof(*up));
	_cleanup_(closep) int fd = -1;
	uint8_t packed[BEGIN_LEN + 1];
	struct build_id token;
	char name[NAME_LEN];
	struct stat st;
	int64_t idle_ns;
	ssize_t len;

	if (!up || build_id_parse(&token, hex, NULL) || token.len != UPLOAD_TOKEN_LEN)
		return false;
	up->fd = -1;
	memcpy(up->token, token.bytes, UPLOAD_TOKEN_LEN);
	upload_file_name(up, ".begin", name);
	if (data_dir_open_file(u->dir_fd, "uploads", name, O_RDONLY, &fd, NULL))
		return false;
	len = read(fd, packed, sizeof(packed));
	if (len < 0 || (size_t)len == sizeof(packed))
		return false;
	up->begin = rawstack__v1__begin_request__unpack(NULL, (size_t)len, packed);
	if (!up->begin || check_begin(up->begin, &up->id, NULL))
		return false;
	upload_file_name(up, ".part", name);
	if (data_dir_open_file(u->dir_fd, "uploads", name, O_RDWR, &up->fd, NULL) ||
	    fstat(up->fd, &st) || (uint64_t)st.st_size > up->begin->size)
		return false;
	up->received = (uint64_t)st.st_size;
	/* A clock that was set back must not make it old. */
	idle_ns = (int64_t)u->io->real_ns(u->io->ctx) - st.st_mtim.tv_sec * INT64_C(1000000000);
	up->touched_ns = uploads_mono_ns(u) - (idle_ns > 0 ? idle_ns : 0);
	up->moved_ns = up->brought_ns = up->touched_ns;
	up->series = (struct upload_series){uploads_mono_ns(u), INT64_MIN, false};
	digest_init(&up->digest);
	upload_begin_pace(up, up->touched_ns);
	take_up_promise(u, up);
	uploads_add(u, TAKE_PTR(up));
	return true;
}

static bool is_suffix(const char *text)
{
	return !strcmp(text, ".begin") || !strcmp(text, ".part") || !strcmp(text, ".finish");
}

/* Returns whether the name is ".<token>.begin.<salt>.tmp", which io_replace_file() gives a .begin
 * file until it is whole. */
static bool is_unfinished_begin(const char *name)
{
	size_t hex = strspn(name + 1, "0123456789abcdef");
	const char *rest = name + 1 + hex;
	size_t salt;

	if (hex != 2 * UPLOAD_TOKEN_LEN || strncmp(rest, ".begin.", 7) != 0)
		return false;
	salt = strspn(rest + 7, "0123456789abcdef");
	return salt == 16 && !strcmp(rest + 7 + salt, ".tmp");
}

/* Returns whether a name has the shape of ours, and the token in it. */
static bool parse_upload_name(const char *name, char hex[static 2 * UPLOAD_TOKEN_LEN + 1])
{
	if (strspn(name, "0123456789abcdef") != 2 * UPLOAD_TOKEN_LEN ||
	    !is_suffix(name + 2 * UPLOAD_TOKEN_LEN))
		return false;
	snprintf(hex, 2 * UPLOAD_TOKEN_LEN + 1, "%s", name);
	return true;
}

/* Runs in two passes: one takes uploads up, the other removes what nobody can continue. Files with
 * foreign names stay. */
static int scan_uploads(struct uploads *u, bool clean, struct err *err)
{
	int fd = openat(u->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!dir) {
		closep(&fd);
		return err_sys(err, errno, "uploads");
	}
	while ((e = readdir(dir))) {
		char hex[2 * UPLOAD_TOKEN_LEN + 1];
		struct build_id token;

		if (e->d_name[0] == '.') {
			if (clean && is_unfinished_begin(e->d_name))
				unlinkat(u->dir_fd, e->d_name, 0);
			continue;
		}
		if (!parse_upload_name(e->d_name, hex))
			continue;
		if (!clean && !strcmp(e->d_name + 2 * UPLOAD_TOKEN_LEN, ".begin"))
			take_up(u, hex);
		else if (clean && (build_id_parse(&token, hex, NULL) ||
				   !uploads_find_token(u, token.bytes, token.len)))
			unlinkat(u->dir_fd, e->d_name, 0);
	}
	closedir(dir);
	return 0;
}

int uploads_open(struct uploads **ret, int data_fd, struct err *err)
{
	struct uploads *u = calloc(1, sizeof(*u));
	int rc;

	if (!u)
		return err_no_memory(err);
	u->io = io_system();
	pthread_mutex_init(&u->lock, NULL);
	timed_wait_init(&u->queued);
	timed_wait_init(&u->ended);
	pthread_cond_init(&u->asked, NULL);
	u->dir_fd = -1;
	u->builders = 1;
	if ((rc = data_dir_open_part(data_fd, "uploads", &u->dir_fd, err)) ||
	    (rc = scan_uploads(u, false, err)) || (rc = scan_uploads(u, true, err)) ||
	    (rc = uploads_tickets_open(u, err))) {
		uploads_close(u);
		return rc;
	}
	*ret = u;
	return 0;
}
