/* SPDX-License-Identifier: Apache-2.0 */
#include "local_table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gsym_companions.h"
#include "htlhash.h"
#include "image_debug_file.h"
#include "image_summary.h"
#include "log.h"
#include "sort.h"
#include "table_build.h"

/* Reading a part costs up to a third of making the table, so three cost as much as the table. */
#define PARTS_MAX 3

/*
 * A part that reads most of a file costs two thirds of its table, so a second such part would cost
 * more than the table. A part that reads less debug information than this takes a few milliseconds.
 */
#define LARGE_MIN (256 * 1024)

/* The number of addresses whose answer is likely to read most of the file, and the cost of an
 * answer to fewer and to as many, in hundredths of one that reads most of the file. */
#define MANY      256
#define FEW_COST  40
#define MANY_COST 100

int local_table_open(struct local_table *t, const char *path, bool use_cache, struct err *err)
{
	struct stat st;
	int rc;

	*t = (struct local_table){
		.path = path,
		.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY),
		.debug_fd = -1,
		.cache = {.dir_fd = -1},
	};
	if (t->fd < 0)
		return err_sys(err, errno, "%s", path);
	rc = image_identify(t->fd, &t->id, err);
	if (rc)
		return err_prefix(err, "%s", path);
	t->address_bytes = image_debug_file_class(t->fd);
	t->debug_only = image_debug_file_is_separate(t->fd);
	if (!t->debug_only && t->id.kind != BUILD_ID_HTLHASH && !fstat(t->fd, &st) &&
	    htlhash_of_file(t->fd, (uint64_t)st.st_size, &t->hash, NULL))
		t->hash.len = 0;
	image_debug_file_open(t->fd, path, &t->id, &t->debug_fd);
	if (use_cache)
		table_cache_open(&t->cache, &t->id, (const int[]){t->fd, t->debug_fd}, 2);
	return 0;
}

int local_table_open_kernel(struct local_table *t, int fd, const struct build_id *id,
			    struct err *err)
{
	*t = (struct local_table)LOCAL_TABLE_NONE;
	if (fd < 0)
		return err_set(err, ERR_USAGE, "no kernel symbols");
	t->path = "/proc/kallsyms";
	t->fd = fd;
	t->id = *id;
	t->address_bytes = 8;
	t->kernel = true;
	return 0;
}

static bool is_called(const struct build_id *id, const char *hex, size_t len)
{
	char own[BUILD_ID_HEX_MAX];
	size_t own_len = strlen(build_id_hex(id, own));

	if (!own_len || own_len > len || memcmp(own, hex, own_len) != 0)
		return false;
	/* perf cuts ids to 20 bytes and fills shorter ones up with zeros. */
	for (size_t i = own_len; i < len; i++)
		if (hex[i] != '0')
			return false;
	return true;
}

bool local_table_is(const struct local_table *t, const char *hex, size_t len)
{
	return is_called(&t->id, hex, len) || is_called(&t->hash, hex, len);
}

void local_table_debug_file(struct local_table *t, int fd)
{
	_cleanup_(closep) int debug_fd = fd;
	struct build_id id;

	if (t->p || t->debug_fd >= 0 || t->debug_only || t->kernel ||
	    !image_debug_file_is_separate(fd) || image_identify(fd, &id, NULL) ||
	    !build_id_equal(&id, &t->id))
		return;
	t->debug_fd = TAKE_FD(debug_fd);
	/* The cached table is made of both files. */
	if (t->cache.dir_fd >= 0) {
		table_cache_close(&t->cache);
		table_cache_open(&t->cache, &t->id, (const int[]){t->fd, t->debug_fd}, 2);
	}
}

static void unmap_table_file(struct local_table *t)
{
	if (t->p)
		munmap(t->p, t->len);
	t->p = NULL;
}

void local_table_close(struct local_table *t)
{
	unmap_table_file(t);
	free(t->answers);
	t->answers = NULL;
	closep(&t->fd);
	closep(&t->debug_fd);
	table_cache_close(&t->cache);
}

/* Maps the table that begins at `off` of a file, in place of the one before. */
static int map_table_file(struct local_table *t, int fd, size_t off, struct err *err)
{
	struct stat st;
	size_t len;
	void *p;

	if (fstat(fd, &st))
		return err_sys(err, errno, "%s: table", t->path);
	len = (size_t)st.st_size > off ? (size_t)st.st_size - off : 0;
	p = mmap(NULL, len + !len, PROT_READ, MAP_PRIVATE, fd, (off_t)off);
	if (p == MAP_FAILED)
		return err_sys(err, errno, "%s: table", t->path);
	unmap_table_file(t);
	t->p = p;
	t->len = len;
	/* table_build() has checked every byte before it was kept. */
	TRY(rsym_open_trusted(&t->rsym, p, t->len, err));
	if (!build_id_equal(&t->rsym.id, &t->id))
		return err_set(err, ERR_MISMATCH, "%s: the table in the cache is of another file",
			       t->path);
	return 0;
}

/* Builds the table, and builds it again if the file refers to others that are found on this
 * machine. */
static int build_local(const struct local_table *t, const uint64_t *vaddrs, size_t count, int out,
		       struct build_report *report, struct err *err)
{
	_cleanup_(companions_close) struct companions c = {0};
	_cleanup_(buf_done) struct buf missing = BUF_INIT(LIMIT_MISSING_LEN);
	struct err why;
	struct table_request req = {
		.input_fd = t->debug_fd >= 0 ? t->debug_fd : t->fd,
		.executable_fd = t->debug_fd >= 0 ? t->fd : -1,
		.output_fd = out,
		.input = t->kernel ? TABLE_INPUT_KALLSYMS : TABLE_INPUT_ELF,
		.id = t->kernel ? t->id : (struct build_id){0},
		.wanted = vaddrs,
		.wanted_count = count,
		.missing = &missing,
		.background = t->behind,
		.jobs = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? 2 : 1,
		.companions = c.list,
	};
	int rc;

	if (!t->kernel)
		companions_add_package(&c, t->path);
	req.companion_count = c.count;
	rc = table_build(&req, report, err);
	if (!rc && companions_find(&c, t->path, bytes_of(missing.p, missing.len), true, &why)) {
		if (ftruncate(out, 0))
			return err_sys(err, errno, "%s", t->path);
		req.companion_count = c.count;
		req.missing = NULL;
		rc = table_build(&req, report, err);
	}
	return rc ? err_prefix(err, "%s", t->path), rc : 0;
}

static int build_and_map(struct local_table *t, const uint64_t *vaddrs, size_t count,
			 struct build_report *report, struct err *err)
{
	_cleanup_(closep) int fd = memfd_create("table", MFD_CLOEXEC);
	int rc;

	if (fd < 0)
		return err_sys(err, errno, "%s: memfd", t->path);
	log_progress("reading %s", t->path);
	rc = build_local(t, vaddrs, count, fd, report, err);
	log_progress_end();
	return rc ? rc : map_table_file(t, fd, 0, err);
}

/* Notes the addresses that the new part answers. If memory runs out, the part is not kept. */
static void note_answers(struct local_table *t, const uint64_t *vaddrs, size_t count)
{
	uint64_t *list = count ? malloc(count * sizeof(*list)) : NULL;

	if (list) {
		memcpy(list, vaddrs, count * sizeof(*list));
		qsort(list, count, sizeof(*list), compare_u64);
	}
	free(t->answers);
	t->answers = list;
	t->answer_count = count;
}

static int make_part(struct local_table *t, const uint64_t *vaddrs, size_t count, struct err *err)
{
	struct build_report report;
	int rc = build_and_map(t, vaddrs, count, &report, err);

	if (!rc && report.info_read >= LARGE_MIN && report.info_read >= report.info_len / 2)
		t->part_ms = (uint32_t)(report.wall_ns / 1000000) + 1;
	if (!rc)
		note_answers(t, vaddrs, count);
	return rc;
}

static int make_whole(struct local_table *t, struct err *err)
{
	struct build_report report;
	int rc = build_and_map(t, NULL, 0, &report, err);

	if (!rc)
		table_cache_keep(&t->cache, t->p, t->len);
	t->whole = !rc;
	t->part_ms = 0;
	return rc;
}

/* Takes a kept table, or one that another process is about to keep. Returns 1, 0 if there is none,
 * or ERR_DATA if it is damaged. */
static int take_kept(struct local_table *t, unsigned int part_cost, struct err *err)
{
	_cleanup_(closep) int kept = table_cache_find(&t->cache);

	if (kept < 0)
		kept = table_cache_await(&t->cache, part_cost);
	t->whole = kept >= 0 && !map_table_file(t, kept, 0, err);
	return t->whole ? 1 : kept >= 0 ? ERR_DATA : 0;
}

/* Takes a kept part whose addresses include these. */
static bool take_part(struct local_table *t, const uint64_t *vaddrs, size_t count)
{
	size_t off = 0;
	_cleanup_(closep) int kept = table_cache_find_part(&t->cache, vaddrs, count, &off);
	struct err ignored;

	return kept >= 0 && !map_table_file(t, kept, off, &ignored);
}

int local_table_need(struct local_table *t, const uint64_t *vaddrs, size_t count, struct err *err)
{
	bool part = vaddrs && !t->kernel && count <= LIMIT_WANTED && !t->p;
	int kept;

	if (t->whole || (part && take_part(t, vaddrs, count)))
		return 0;
	kept = take_kept(t, !part ? 0 : count < MANY ? FEW_COST : MANY_COST, err);
	if (kept > 0)
		return 0;
	/* A damaged table is made again, whole; a damaged part counts as none. */
	if (part && !kept && table_cache_count(&t->cache) <= PARTS_MAX &&
	    !make_part(t, vaddrs, count, err))
		return 0;
	return make_whole(t, err);
}

/* Closes every descriptor that is not needed, because the other end of a pipe would wait for this
 * process. Returns false if that fails. */
static bool keep_only(const struct local_table *t, int claim_fd)
{
	const int kept[] = {t->fd, t->debug_fd, claim_fd, t->cache.dir_fd};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd < 3; fd++)
		if (null < 0 || dup2(null, fd) < 0)
			return false;
	for (unsigned int from = 3;;) {
		int next = INT32_MAX;

		for (size_t i = 0; i < ARRAY_LEN(kept); i++)
			if (kept[i] >= (int)from && kept[i] < next)
				next = kept[i];
		if ((unsigned int)next > from &&
		    close_range(from, (unsigned int)next - (next < INT32_MAX), 0))
			return false;
		if (next == INT32_MAX)
			return true;
		from = (unsigned int)next + 1;
	}
}

void local_table_leave(struct local_table *t)
{
	_cleanup_(closep) int claim_fd = -1;
	struct err ignored;

	if (t->answers && !t->whole)
		table_cache_keep_part(&t->cache, t->answers, t->answer_count, t->p, t->len);
	if (t->part_ms)
		claim_fd = table_cache_claim(&t->cache, t->part_ms);

	/* The child's copy keeps the claim. */
	if (claim_fd < 0 || fork() != 0)
		return;
	t->behind = true;
	if (setsid() >= 0 && keep_only(t, claim_fd))
		(void)make_whole(t, &ignored);
	_exit(0);
}
