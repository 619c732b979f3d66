/* SPDX-License-Identifier: Apache-2.0 */
#include "profile_files.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>

#include "file_view.h"
#include "log.h"
#include "profile_file.h"

/* Bytes of files below which a thread costs about as much as it saves. */
#define PART_LEN MIB

struct shared {
	char *const *paths;
	size_t count, done; /* files */
	size_t failed;      /* the first failed part; those behind it need not go on */
	struct profile_filter *filter;
};

struct part {
	struct shared *shared;
	size_t index;
	size_t begin, end; /* range of paths */
	struct profile *into, own;
	pthread_t thread;
	int rc;
	struct err err;
};

static int add_one(const char *path, struct profile_filter *filter, struct profile *ret,
		   struct err *err)
{
	const struct pprof_time_filter between = {profile_filter_in_time, filter};
	_cleanup_(profile_done) struct profile one;
	int rc;

	profile_init(&one);
	if (profile_filter_keeps_all(filter))
		return profile_file_add(path, &between, ret, err);
	rc = profile_file_read(path, &one, err);
	if (rc || !profile_filter_in_time(filter, one.time_ns, one.duration_ns))
		return rc;
	rc = profile_merge(ret, &one, profile_filter_keep, filter, err);
	return rc ? err_prefix(err, "%s", path) : 0;
}

static void note_failed(struct shared *s, size_t part)
{
	size_t first = __atomic_load_n(&s->failed, __ATOMIC_RELAXED);

	while (part < first && !__atomic_compare_exchange_n(&s->failed, &first, part, false,
							    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

static void *read_part(void *arg)
{
	struct part *part = arg;
	struct shared *s = part->shared;

	for (size_t i = part->begin; !part->rc && i < part->end; i++) {
		size_t done = __atomic_add_fetch(&s->done, 1, __ATOMIC_RELAXED);

		if (__atomic_load_n(&s->failed, __ATOMIC_RELAXED) < part->index)
			break;
		if (!part->index && s->count > 1)
			log_progress("reading %zu of %zu", done, s->count);
		part->rc = add_one(s->paths[i], s->filter, part->into, &part->err);
	}
	if (part->rc)
		note_failed(s, part->index);
	return NULL;
}

static size_t count_processors(void)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);

	return n < 1 ? 1 : n > PROFILE_FILES_THREADS ? PROFILE_FILES_THREADS : (size_t)n;
}

static uint64_t len_of(const char *path)
{
	struct stat st;

	return stat(path, &st) || st.st_size < 0 ? 0 : (uint64_t)st.st_size;
}

/* Cuts files from `begin` on into parts of about equal length. Returns their number. */
static size_t cut_parts(struct shared *s, size_t begin, struct part parts[PROFILE_FILES_THREADS])
{
	uint64_t all = 0, before = 0;
	size_t n = count_processors(), at = begin;

	for (size_t i = begin; n > 1 && i < s->count; i++)
		all += len_of(s->paths[i]);
	if (n > all / PART_LEN)
		n = all < 2 * PART_LEN ? 1 : all / PART_LEN;
	for (size_t i = 0; i < n; i++) {
		parts[i] = (struct part){.shared = s, .index = i, .begin = at};
		while (at < s->count && (i + 1 == n || before < all / n * (i + 1)))
			before += n > 1 ? len_of(s->paths[at++]) : !!++at;
		parts[i].end = at;
	}
	return n;
}

/* Adds what one part has read to `ret`, where the first part already is. */
static int join_part(struct part *part, struct profile *ret, struct err *err)
{
	if (part->rc) {
		*err = part->err;
		return part->rc;
	}
	return part->index ? profile_join(ret, &part->own, err) : 0;
}

/* The first part goes to `ret` itself, and each other part gets a thread. Parts for which no thread
 * can be made are read afterwards, one by one. */
static int read_parts(struct part *parts, size_t n, struct profile *ret, struct err *err)
{
	bool has_thread[PROFILE_FILES_THREADS] = {false};
	int rc = 0;

	parts[0].into = ret;
	for (size_t i = 1; i < n; i++) {
		profile_init_like(&parts[i].own, ret);
		parts[i].into = &parts[i].own;
		has_thread[i] = !pthread_create(&parts[i].thread, NULL, read_part, &parts[i]);
	}
	for (size_t i = 0; i < n; i++) {
		if (has_thread[i])
			pthread_join(parts[i].thread, NULL);
		else if (!rc)
			read_part(&parts[i]);
		if (!rc)
			rc = join_part(&parts[i], ret, err);
		if (i)
			profile_done(&parts[i].own);
	}
	return rc;
}

static void warn_moved(const struct file_view *v)
{
	log_progress("reading: %" PRIu64 " MiB", v->before / MIB);
}

int profile_files_add(char *const *paths, size_t count, struct profile_filter *filter,
		      struct profile *ret, struct err *err)
{
	struct shared s = {.paths = paths, .count = count, .failed = SIZE_MAX, .filter = filter};
	struct part parts[PROFILE_FILES_THREADS];
	int rc = 0;

	if (count == 1)
		file_view_watch(warn_moved);
	/* The first file decides what is counted. */
	while (!rc && s.done < count && !ret->value_count)
		rc = add_one(paths[s.done++], filter, ret, err);
	if (!rc && s.done < count)
		rc = read_parts(parts, cut_parts(&s, s.done, parts), ret, err);
	file_view_watch(NULL);
	log_progress_end();
	return rc;
}

/* --- files of a directory -------------------------------------------------------------------- */

struct good {
	char *const *paths;
	size_t count;
	struct profile_filter *filter;
	struct profile *into;
	struct profile_left_out left_out;
	size_t taken, different; /* files added; files that count something else */
	size_t first_different;
	uint64_t unfolded; /* frames of files that unfold to many */
};

/* Returns whether an error is due to the file that was read, and not to this machine or program. */
static bool is_error_of_file(int code)
{
	return code == ERR_DATA || code == ERR_UNSUPPORTED || code == ERR_LIMIT ||
	       code == ERR_MISMATCH || code == ERR_IO || code == ERR_NOT_FOUND ||
	       code == ERR_DENIED;
}

static void leave_out_file(struct good *g, const struct err *why)
{
	if (g->left_out.count < PROFILE_LEFT_OUT_TOLD)
		g->left_out.why[g->left_out.count] = *why;
	g->left_out.count++;
}

static int add_good_file(struct good *g, size_t i, struct err *err)
{
	_cleanup_(profile_done) struct profile one;
	uint64_t unfolded;
	int rc;

	profile_init(&one);
	rc = add_one(g->paths[i], g->filter, &one, err);
	if (!rc) {
		rc = profile_check_share(&one, g->unfolded, &unfolded, err);
		rc = rc ? err_prefix(err, "%s", g->paths[i]) : 0;
	}
	if (is_error_of_file(rc)) {
		leave_out_file(g, err);
		return 0;
	}
	if (rc)
		return rc;
	rc = profile_merge(g->into, &one, NULL, NULL, err);
	if (rc == ERR_MISMATCH) {
		(void)err_prefix(err, "%s", g->paths[i]);
		leave_out_file(g, err);
		g->first_different = g->different++ ? g->first_different : i;
		return 0;
	}
	g->unfolded += unfolded;
	g->taken++;
	return rc;
}

/* Adds all good files that count the same as file `first`. Returns 0, 1 if more files count
 * something else, or a negative error. */
static int add_good_files(struct good *g, size_t first, struct err *err)
{
	const size_t timeless = g->filter->timeless;
	int rc;

	profile_done(g->into);
	profile_init(g->into);
	g->left_out = (struct profile_left_out){.of = g->count};
	g->taken = g->different = 0;
	g->unfolded = 0;
	rc = add_good_file(g, first, err);
	for (size_t i = 0; !rc && i < g->count; i++) {
		log_progress("reading %zu of %zu", i + 1, g->count);
		if (i != first)
			rc = add_good_file(g, i, err);
	}
	log_progress_end();
	if (rc || g->different <= g->taken)
		return rc;
	/* A file that differs from most does not decide for all because it comes first. */
	g->filter->timeless = timeless;
	return 1;
}

int profile_files_add_good(char *const *paths, size_t count, struct profile_filter *filter,
			   struct profile *ret, struct err *err)
{
	struct profile_left_out *all = &filter->left_out;
	struct good g = {.paths = paths, .count = count, .filter = filter, .into = ret};
	const size_t timeless = filter->timeless;
	int rc = profile_files_add(paths, count, filter, ret, err);

	if (!rc)
		rc = profile_check_unfolded(ret, err);
	if (!is_error_of_file(rc) || count == 1)
		return rc;
	filter->timeless = timeless;
	rc = add_good_files(&g, 0, err);
	if (rc > 0)
		rc = add_good_files(&g, g.first_different, err);
	if (rc < 0)
		return rc;
	if (!g.taken) {
		*err = g.left_out.why[0];
		return err->code;
	}
	for (size_t i = 0; i < g.left_out.count && i < PROFILE_LEFT_OUT_TOLD; i++)
		if (all->count + i < PROFILE_LEFT_OUT_TOLD)
			all->why[all->count + i] = g.left_out.why[i];
	all->count += g.left_out.count;
	all->of += count;
	return 0;
}
