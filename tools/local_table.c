/* SPDX-License-Identifier: Apache-2.0 */
#include "local_table.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gsym_companions.h"
#include "image_debug_file.h"
#include "log.h"
#include "table_build.h"

/* Reading a part costs up to a third of making the table, so this many of them pay for it. */
#define PARTS_MAX 3

int local_table_open(struct local_table *t, const char *path, bool use_cache, struct err *err)
{
	int rc;

	*t = (struct local_table){
		.path = path,
		.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY),
		.debug_fd = -1,
		.cache = {.dir_fd = -1},
	};
	if (t->fd < 0)
		return err_sys(err, errno, "%s", path);
	rc = table_identify(t->fd, &t->id, err);
	if (rc)
		return err_prefix(err, "%s", path);
	t->address_bytes = image_debug_file_class(t->fd);
	t->debug_only = image_debug_file_is_separate(t->fd);
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

void local_table_debug_file(struct local_table *t, int fd)
{
	_cleanup_(closep) int debug_fd = fd;
	struct build_id id;

	if (t->p || t->debug_fd >= 0 || t->debug_only || t->kernel ||
	    !image_debug_file_is_separate(fd) || table_identify(fd, &id, NULL) ||
	    !build_id_equal(&id, &t->id))
		return;
	t->debug_fd = TAKE_FD(debug_fd);
	/* What is kept is of both. */
	if (t->cache.dir_fd >= 0) {
		table_cache_close(&t->cache);
		table_cache_open(&t->cache, &t->id, (const int[]){t->fd, t->debug_fd}, 2);
	}
}

static void unmap(struct local_table *t)
{
	if (t->p)
		munmap(t->p, t->len);
	t->p = NULL;
}

void local_table_close(struct local_table *t)
{
	unmap(t);
	closep(&t->fd);
	closep(&t->debug_fd);
	table_cache_close(&t->cache);
}

/* Takes the bytes of a table in place of those before. */
static int map(struct local_table *t, int fd, struct err *err)
{
	struct stat st;
	void *p;
	int rc;

	if (fstat(fd, &st))
		return err_sys(err, errno, "%s: table", t->path);
	p = mmap(NULL, (size_t)st.st_size + !st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return err_sys(err, errno, "%s: table", t->path);
	unmap(t);
	t->p = p;
	t->len = (size_t)st.st_size;
	/* table_build() has checked every byte before it was kept. */
	rc = rsym_open_trusted(&t->rsym, p, t->len, err);
	if (!rc && !build_id_equal(&t->rsym.id, &t->id))
		rc = err_set(err, ERR_MISMATCH, "%s: the table in the cache is of another file",
			     t->path);
	return rc;
}

/* Builds; and once more when the file refers to others that are there. */
static int build(const struct local_table *t, const uint64_t *vaddrs, size_t count, int out,
		 struct err *err)
{
	_cleanup_(companions_close) struct companions c = {0};
	_cleanup_(buf_done) struct buf missing = BUF_INIT(LIMIT_MISSING_LEN);
	struct build_report report;
	struct err why;
	struct table_request req = {
		.input_fd = t->debug_fd >= 0 ? t->debug_fd : t->fd,
		.stripped_fd = t->debug_fd >= 0 ? t->fd : -1,
		.output_fd = out,
		.input = t->kernel ? TABLE_INPUT_KALLSYMS : TABLE_INPUT_ELF,
		.id = t->kernel ? t->id : (struct build_id){0},
		.wanted = vaddrs,
		.wanted_count = count,
		.missing = &missing,
		.jobs = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? 2 : 1,
		.companions = c.list,
	};
	int rc;

	if (!t->kernel)
		companions_add_package(&c, t->path);
	req.companion_count = c.count;
	rc = table_build(&req, &report, err);
	if (!rc && companions_find(&c, t->path, bytes_of(missing.p, missing.len), true, &why)) {
		if (ftruncate(out, 0))
			return err_sys(err, errno, "%s", t->path);
		req.companion_count = c.count;
		req.missing = NULL;
		rc = table_build(&req, &report, err);
	}
	return rc ? err_prefix(err, "%s", t->path), rc : 0;
}

static int build_and_map(struct local_table *t, const uint64_t *vaddrs, size_t count,
			 struct err *err)
{
	_cleanup_(closep) int fd = memfd_create("table", MFD_CLOEXEC);
	int rc;

	if (fd < 0)
		return err_sys(err, errno, "%s: memfd", t->path);
	log_progress("reading %s", t->path);
	rc = build(t, vaddrs, count, fd, err);
	log_progress("%s", "");
	if (!rc)
		rc = map(t, fd, err);
	if (!rc && !vaddrs)
		table_cache_keep(&t->cache, t->p, t->len);
	return rc;
}

int local_table_need(struct local_table *t, const uint64_t *vaddrs, size_t count, struct err *err)
{
	_cleanup_(closep) int kept = -1;
	bool part = vaddrs && !t->kernel && count <= LIMIT_WANTED && !t->p;
	int rc;

	if (t->whole)
		return 0;
	kept = table_cache_find(&t->cache);
	/* One that is damaged is made again. */
	t->whole = kept >= 0 && !map(t, kept, err);
	if (t->whole)
		return 0;
	if (part && table_cache_count(&t->cache) <= PARTS_MAX &&
	    !build_and_map(t, vaddrs, count, err))
		return 0;
	rc = build_and_map(t, NULL, 0, err);
	t->whole = !rc;
	return rc;
}
