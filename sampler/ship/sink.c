/* SPDX-License-Identifier: Apache-2.0 */
#include "sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "limits.h"
#include "sink_clock.h"
#include "sink_render.h"

/* A temporary file that is older than this is left over: nobody writes one file for so long. */
#define UNFINISHED_NS UINT64_C(3600000000000)

enum {
	NAME_MAX_LEN = 2 * LIMIT_BATCH_ID_LEN + 16,
	BOOT_LEN = 64, /* the part of a name that says host and boot */
};

struct sink {
	const struct io *io;
	char *dir;
	int dir_fd;
	enum sink_kind kind;
	struct sink_clock clock; /* real_ns is 0 until the first sweep */
	bool is_used;            /* a batch was seen or written here; any thread sets it */
};

static const struct {
	const char *name, *suffix;
	int (*render)(const struct profile *p, struct buf *out, struct err *err);
} kinds[SINK_KINDS] = {
	[SINK_PPROF] = {"pprof", ".pb.gz", sink_render_pprof},
	[SINK_JSON] = {"json", ".jsonl", sink_render_json},
	[SINK_FOLDED] = {"folded", ".folded", sink_render_folded},
};

int sink_kind_of(const char *name, enum sink_kind *ret, struct err *err)
{
	for (int i = 0; i < SINK_KINDS; i++) {
		if (strcmp(name, kinds[i].name))
			continue;
		*ret = (enum sink_kind)i;
		return 0;
	}
	return err_set(err, ERR_USAGE, "'%.40s' is not pprof, json or folded", name);
}

/* Syncs the parent, because a power cut may lose the sink's name in it until then, while the
 * acknowledgement of a batch, which lies elsewhere, survives. */
static int sync_parent(const struct sink *s, struct err *err)
{
	int fd = s->io->open(s->io->ctx, s->dir_fd, "..", O_RDONLY | O_DIRECTORY, 0), rc;

	/* A user who may not read the parent did not create the sink in it, or can do no more. */
	if (fd == -EACCES)
		return 0;
	rc = fd < 0 ? fd : s->io->sync(s->io->ctx, fd);
	if (fd >= 0)
		s->io->close(s->io->ctx, fd);
	return rc < 0 ? err_sys(err, -rc, "the directory of %s", s->dir) : 0;
}

int sink_reopen(struct sink *s, struct err *err)
{
	int rc = s->io->make_dir(s->io->ctx, AT_FDCWD, s->dir, 0700), fd;
	struct stat st;

	if (rc && rc != -EEXIST)
		return err_sys(err, -rc, "%s", s->dir);
	TRY(io_check_dir(s->dir, err));
	fd = s->io->open(s->io->ctx, AT_FDCWD, s->dir, O_RDONLY | O_DIRECTORY, 0);
	if (fd < 0)
		return err_sys(err, -fd, "%s", s->dir);
	/* `dir` may name a descriptor that was handed over (child_ship.c), which still leads to a
	 * directory after its removal. */
	if (!fstat(fd, &st) && !st.st_nlink) {
		s->io->close(s->io->ctx, fd);
		return err_set(err, ERR_NOT_FOUND,
			       "%s: the sink was removed, and can be made anew only by a start of "
			       "the sampler",
			       s->dir);
	}
	if (s->dir_fd >= 0)
		s->io->close(s->io->ctx, s->dir_fd);
	s->dir_fd = fd;
	return sync_parent(s, err);
}

int sink_open(struct sink **ret, const char *dir, enum sink_kind kind, const struct io *io,
	      struct err *err)
{
	_cleanup_(sink_closep) struct sink *s = calloc(1, sizeof(*s));

	if (!s)
		return err_no_memory(err);
	s->dir_fd = -1;
	s->kind = kind;
	s->io = io ? io : io_system();
	s->dir = strdup(dir);
	if (!s->dir)
		return err_no_memory(err);
	TRY(sink_reopen(s, err));
	*ret = TAKE_PTR(s);
	return 0;
}

/* Prints the file name of a batch. Returns 0, or ERR_USAGE if the id is empty or too long. */
static int name_of_batch(const struct sink *s, const uint8_t *id, size_t id_len,
			 char name[static NAME_MAX_LEN], struct err *err)
{
	if (!id_len || id_len > LIMIT_BATCH_ID_LEN)
		return err_set(err, ERR_USAGE, "sink: batch id of %zu bytes", id_len);
	for (size_t i = 0; i < id_len; i++)
		snprintf(name + 2 * i, 3, "%02x", id[i]);
	snprintf(name + 2 * id_len, NAME_MAX_LEN - 2 * id_len, "%s", kinds[s->kind].suffix);
	return 0;
}

int sink_write(struct sink *s, const uint8_t *id, size_t id_len, const void *file, size_t len,
	       struct err *err)
{
	char name[NAME_MAX_LEN];
	int rc;

	TRY(name_of_batch(s, id, id_len, name, err));
	rc = io_replace_file(s->io, s->dir_fd, name, file, len, err);
	if (rc)
		return err_prefix(err, "%s", s->dir);
	__atomic_store_n(&s->is_used, true, __ATOMIC_RELAXED);
	return 0;
}

int sink_write_profile(struct sink *s, const uint8_t *id, size_t id_len, const struct profile *p,
		       struct err *err)
{
	_cleanup_(buf_done) struct buf file = BUF_INIT(LIMIT_PPROF_FILE_LEN);
	int rc;

	if (p->failed)
		return profile_full(p, err, "sink");
	rc = kinds[s->kind].render(p, &file, err);
	if (!rc && file.failed)
		rc = err_full(err, file.no_memory, "sink: a batch of more than %llu MiB",
			      (unsigned long long)(LIMIT_PPROF_FILE_LEN / MIB));
	return rc ? rc : sink_write(s, id, id_len, file.p, file.len, err);
}

int sink_has(struct sink *s, const uint8_t *id, size_t id_len)
{
	char name[NAME_MAX_LEN];
	int fd;

	if (name_of_batch(s, id, id_len, name, NULL))
		return 0;
	fd = s->io->open(s->io->ctx, s->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	if (fd < 0)
		return 0;
	s->io->close(s->io->ctx, fd);
	return 1;
}

/* --- retention ------------------------------------------------------------------------------- */

struct found {
	uint64_t time_ns, len;
	char name[NAME_MAX_LEN];
};

struct sweep {
	const struct sink *s;
	uint64_t now_ns, total;
	struct found *files;
	size_t count, cap;
	bool failed; /* files[] does not hold all files; total counts them nevertheless */
};

static bool is_sink_file(const struct sink *s, const char *name)
{
	const char *suffix = kinds[s->kind].suffix;
	size_t hex = strspn(name, "0123456789abcdef");

	return hex && hex % 2 == 0 && strlen(name) < NAME_MAX_LEN && !strcmp(name + hex, suffix);
}

/* Returns whether a name is ".<name>.<16 hex digits>.tmp", as io_replace_file() makes it. */
static bool is_unfinished_batch(const struct sink *s, const char *name)
{
	size_t len = strlen(name);
	char of[NAME_MAX_LEN];

	if (name[0] != '.' || len < 22 || len - 22 >= sizeof(of) || strcmp(name + len - 4, ".tmp"))
		return false;
	memcpy(of, name + 1, len - 22);
	of[len - 22] = 0;
	return is_sink_file(s, of);
}

static uint64_t date_of(const struct stat *st)
{
	return (uint64_t)st->st_mtim.tv_sec * 1000000000 + (uint64_t)st->st_mtim.tv_nsec;
}

static void sweep_one(void *arg, const char *name)
{
	struct sweep *w = arg;
	struct found *f;
	struct stat st;

	if (!is_sink_file(w->s, name) || fstatat(w->s->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) ||
	    !S_ISREG(st.st_mode))
		return;
	w->total += (uint64_t)st.st_size;
	if (!GROW(w->files, &w->cap, w->count + 1, LIMIT_SINK_FILES)) {
		w->failed = true;
		return;
	}
	f = &w->files[w->count++];
	*f = (struct found){.time_ns = date_of(&st), .len = (uint64_t)st.st_size};
	memcpy(f->name, name, strlen(name) + 1);
}

static void sweep_unfinished(void *arg, const char *name)
{
	const struct sweep *w = arg;
	struct stat st;

	if (is_unfinished_batch(w->s, name) &&
	    !fstatat(w->s->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode) &&
	    w->now_ns > date_of(&st) && w->now_ns - date_of(&st) > UNFINISHED_NS)
		unlinkat(w->s->dir_fd, name, 0);
}

static int compare_found_names(const void *a, const void *b)
{
	return strcmp(((const struct found *)a)->name, ((const struct found *)b)->name);
}

/* Gives files from the future, whose clock was ahead or compared with which ours is behind, the
 * date of the file that follows by name: the names of one boot sort by time. */
static void place_future(struct sweep *w)
{
	const struct found *behind = NULL;

	qsort(w->files, w->count, sizeof(*w->files), compare_found_names);
	for (size_t i = w->count; i-- > 0;) {
		struct found *f = &w->files[i];

		if (f->time_ns > w->now_ns && f->time_ns - w->now_ns > SINK_CLOCK_SET_NS)
			f->time_ns = behind && !strncmp(behind->name, f->name, BOOT_LEN)
					     ? behind->time_ns
					     : w->now_ns;
		behind = f;
	}
}

/* Seeds the clock from the dates of the files, as no other time is known. */
static void seed_clock(struct sink *s, const struct sweep *w)
{
	const uint64_t real = s->io->real_ns(s->io->ctx);
	uint64_t newest = 0;
	bool has_future = false;

	for (size_t i = 0; i < w->count; i++) {
		const uint64_t time = w->files[i].time_ns;

		if (time > real && time - real > SINK_CLOCK_SET_NS)
			has_future = true;
		else if (time > newest)
			newest = time;
	}
	sink_clock_seed(&s->clock, s->io, newest, has_future);
}

/* Corrects the dates of files that a clock wrote while it was behind. */
static void shift_sweep(struct sweep *w, const struct sink_clock_shift *by)
{
	for (size_t i = 0; by->by_ns && i < w->count; i++) {
		struct found *f = &w->files[i];
		struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}};

		if (f->time_ns < by->from_ns || f->time_ns > by->to_ns)
			continue;
		f->time_ns += by->by_ns;
		times[1].tv_sec = (time_t)(f->time_ns / 1000000000);
		times[1].tv_nsec = (long)(f->time_ns % 1000000000);
		(void)utimensat(w->s->dir_fd, f->name, times, AT_SYMLINK_NOFOLLOW);
	}
}

/* Saves the clock, but leaves no file in a sink that never held a batch whose age it could tell. */
static void keep_clock(const struct sink *s)
{
	if (__atomic_load_n(&s->is_used, __ATOMIC_RELAXED))
		sink_clock_save(&s->clock, s->io, s->dir_fd);
}

/* Sets w->now_ns to the time by which files age, and saves the clock. */
static void tell_time(struct sink *s, struct sweep *w)
{
	struct sink_clock_shift by;

	if (!s->clock.real_ns)
		sink_clock_load(&s->clock, s->io, s->dir_fd);
	if (!s->clock.real_ns)
		seed_clock(s, w);
	w->now_ns = sink_clock_now(&s->clock, s->io, &by);
	shift_sweep(w, &by);
	if (w->count)
		__atomic_store_n(&s->is_used, true, __ATOMIC_RELAXED);
	keep_clock(s);
}

/* Orders by age, the oldest first, and files of one date by name, which is by place. */
static int compare_found_batches(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Lists the batches by age, the oldest first. Returns 0 or -errno. */
static int list_batches(struct sink *s, struct sweep *w)
{
	TRY(s->io->list(s->io->ctx, s->dir_fd, sweep_one, w));
	tell_time(s, w);
	TRY(s->io->list(s->io->ctx, s->dir_fd, sweep_unfinished, w));
	if (w->count) {
		place_future(w);
		qsort(w->files, w->count, sizeof(*w->files), compare_found_batches);
	}
	return 0;
}

/* Removes what is above the limits. Returns 0, or the -errno of the last file that stays. */
static int remove_old_batches(const struct sink_limits *limits, struct sweep *w,
			      uint64_t *ret_removed)
{
	int rc = 0;

	for (size_t i = 0; i < w->count; i++) {
		const struct found *f = &w->files[i];
		bool old = limits->age_ns && w->now_ns > f->time_ns &&
			   w->now_ns - f->time_ns > limits->age_ns;

		if (!old && !(limits->bytes && w->total > limits->bytes))
			break;
		/* A file that cannot be removed counts as gone; no other makes room for it. */
		if (unlinkat(w->s->dir_fd, f->name, 0) && errno != ENOENT)
			rc = -errno;
		else
			++*ret_removed;
		w->total -= f->len;
	}
	return rc;
}

int sink_sweep(struct sink *s, const struct sink_limits *limits, uint64_t *ret_removed,
	       struct err *err)
{
	struct sweep w = {.s = s};
	int rc = list_batches(s, &w);

	*ret_removed = 0;
	rc = rc ? rc : remove_old_batches(limits, &w, ret_removed);
	free(w.files);
	if (rc)
		return err_sys(err, -rc, "%s: removing old batches", s->dir);
	if (w.failed)
		return err_set(err, ERR_LIMIT,
			       "%s: more than %zu batches, of which the oldest are not known",
			       s->dir, w.count);
	return 0;
}

void sink_close(struct sink *s)
{
	if (!s)
		return;
	if (s->clock.real_ns)
		keep_clock(s);
	if (s->dir_fd >= 0)
		s->io->close(s->io->ctx, s->dir_fd);
	free(s->dir);
	free(s);
}
