/* SPDX-License-Identifier: Apache-2.0 */
#include "memory_io.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

enum {
	FIRST_FD = 1000
};

static bool fails(struct memory_io *m, bool writes)
{
	if (m->fail_after >= 0 && m->fail_after-- == 0)
		return true;
	return writes && m->fail_on;
}

static struct memory_file *find(struct memory_io *m, const char *name)
{
	for (size_t i = 0; i < MEMORY_FILES; i++)
		if (m->files[i].in_use && !strcmp(m->files[i].name, name))
			return &m->files[i];
	return NULL;
}

static struct memory_file *create(struct memory_io *m, const char *name)
{
	for (size_t i = 0; i < MEMORY_FILES; i++) {
		struct memory_file *f = &m->files[i];

		if (f->in_use || strlen(name) >= sizeof(f->name))
			continue;
		*f = (struct memory_file){.in_use = true, .id = ++m->next_id};
		strcpy(f->name, name);
		return f;
	}
	return NULL;
}

static void release(struct memory_file *f)
{
	if (f->handles || f->name[0])
		return;
	free(f->p);
	*f = (struct memory_file){0};
}

static int mem_open(void *ctx, int dir_fd _unused_, const char *path, int flags,
		    mode_t mode _unused_)
{
	struct memory_io *m = ctx;
	struct memory_file *f = NULL;

	if (fails(m, flags & O_CREAT))
		return m->error;
	if (!(flags & O_DIRECTORY)) {
		f = find(m, path);
		if (f && flags & O_EXCL)
			return -EEXIST;
		if (!f && !(flags & O_CREAT))
			return -ENOENT;
		if (!f)
			f = create(m, path);
		if (!f)
			return -ENOSPC;
	}
	for (int i = 0; i < MEMORY_HANDLES; i++) {
		if (m->handles[i].in_use)
			continue;
		m->handles[i].in_use = true;
		m->handles[i].file = f;
		if (f)
			f->handles++;
		return FIRST_FD + i;
	}
	return -EMFILE;
}

struct memory_file *memory_io_of(struct memory_io *m, int fd)
{
	if (fd < FIRST_FD || fd >= FIRST_FD + MEMORY_HANDLES || !m->handles[fd - FIRST_FD].in_use)
		abort();
	return m->handles[fd - FIRST_FD].file;
}

static ssize_t mem_pread(void *ctx, int fd, void *p, size_t len, off_t off)
{
	struct memory_io *m = ctx;
	struct memory_file *f = memory_io_of(m, fd);
	size_t n;

	if (fails(m, false))
		return m->error;
	n = (size_t)off >= f->len ? 0 : f->len - (size_t)off;
	n = n < len ? n : len;
	if (n)
		memcpy(p, f->p + off, n);
	return (ssize_t)n;
}

static int resize(struct memory_file *f, size_t len)
{
	uint8_t *p = realloc(f->p, len ? len : 1);

	if (!p)
		return -ENOMEM;
	if (len > f->len)
		memset(p + f->len, 0, len - f->len);
	f->p = p;
	f->len = len;
	return 0;
}

static ssize_t mem_pwrite(void *ctx, int fd, const void *p, size_t len, off_t off)
{
	struct memory_io *m = ctx;
	struct memory_file *f = memory_io_of(m, fd);

	if (fails(m, true)) {
		/* The beginning may well have got there. */
		if (f->len >= (size_t)off + len)
			memcpy(f->p + off, p, len / 2);
		return m->error;
	}
	if (f->len < (size_t)off + len && resize(f, (size_t)off + len))
		return -ENOMEM;
	memcpy(f->p + off, p, len);
	return (ssize_t)len;
}

static int mem_allocate(void *ctx, int fd, off_t len)
{
	struct memory_io *m = ctx;
	struct memory_file *f = memory_io_of(m, fd);

	if (fails(m, true))
		return m->error;
	return f->len < (size_t)len ? resize(f, (size_t)len) : 0;
}

static int mem_truncate(void *ctx, int fd, off_t len)
{
	struct memory_io *m = ctx;

	if (fails(m, true))
		return m->error;
	return resize(memory_io_of(m, fd), (size_t)len);
}

static int mem_sync(void *ctx, int fd)
{
	struct memory_io *m = ctx;

	memory_io_of(m, fd);
	m->sync_count++;
	return fails(m, true) ? m->error : 0;
}

static int mem_unlink(void *ctx, int dir_fd _unused_, const char *path)
{
	struct memory_io *m = ctx;
	struct memory_file *f = find(m, path);

	if (fails(m, true))
		return m->error;
	if (!f)
		return -ENOENT;
	f->name[0] = 0;
	release(f);
	return 0;
}

static int mem_rename(void *ctx, int dir_fd, const char *from, const char *to)
{
	struct memory_io *m = ctx;
	struct memory_file *f = find(m, from);

	if (fails(m, true))
		return m->error;
	if (!f)
		return -ENOENT;
	if (find(m, to))
		mem_unlink(m, dir_fd, to);
	strcpy(f->name, to);
	return 0;
}

static int mem_close(void *ctx, int fd)
{
	struct memory_io *m = ctx;
	struct memory_file *f = memory_io_of(m, fd);

	if (f) {
		if (m->handles[fd - FIRST_FD].has_lock)
			f->is_locked = false;
		f->handles--;
		release(f);
	}
	m->handles[fd - FIRST_FD].in_use = m->handles[fd - FIRST_FD].has_lock = false;
	m->handles[fd - FIRST_FD].has_mark = false;
	return 0;
}

static int mem_make_dir(void *ctx, int dir_fd _unused_, const char *path _unused_,
			mode_t mode _unused_)
{
	return fails(ctx, true) ? ((struct memory_io *)ctx)->error : 0;
}

static int mem_list(void *ctx, int dir_fd _unused_, void (*each)(void *arg, const char *name),
		    void *arg)
{
	struct memory_io *m = ctx;

	if (fails(m, false))
		return m->error;
	for (size_t i = 0; i < MEMORY_FILES; i++) {
		char name[sizeof(m->files[i].name)];

		if (!m->files[i].in_use || !m->files[i].name[0])
			continue;
		strcpy(name, m->files[i].name);
		each(arg, name);
	}
	return 0;
}

static int mem_lock(void *ctx, int fd)
{
	struct memory_io *m = ctx;
	struct memory_file *f = memory_io_of(m, fd);

	if (fails(m, true))
		return m->error;
	if (f->is_locked)
		return -EWOULDBLOCK;
	f->is_locked = m->handles[fd - FIRST_FD].has_lock = true;
	return 0;
}

static int mem_mark(void *ctx, int dir_fd)
{
	struct memory_io *m = ctx;

	if (fails(m, true))
		return m->error;
	for (size_t i = 0; i < MEMORY_HANDLES; i++)
		if (m->handles[i].in_use && m->handles[i].has_mark)
			return -EWOULDBLOCK;
	m->handles[dir_fd - FIRST_FD].has_mark = true;
	return 0;
}

static int mem_is_marked(void *ctx, int dir_fd)
{
	struct memory_io *m = ctx;

	for (int i = 0; i < MEMORY_HANDLES; i++)
		if (m->handles[i].in_use && m->handles[i].has_mark && FIRST_FD + i != dir_fd)
			return 1;
	return 0;
}

static int mem_is_at(void *ctx, int fd, int dir_fd _unused_, const char *path)
{
	const struct memory_file *f = memory_io_of(ctx, fd);

	return !f || find(ctx, path) == f;
}

static int mem_exists(void *ctx, int dir_fd _unused_, const char *path)
{
	return find(ctx, path) != NULL;
}

static uint64_t mem_free_bytes(void *ctx, int dir_fd _unused_)
{
	struct memory_io *m = ctx;
	uint64_t used = 0;

	for (size_t i = 0; i < MEMORY_FILES; i++)
		used += m->files[i].in_use ? m->files[i].len : 0;
	return m->free_bytes > used ? m->free_bytes - used : 0;
}

static uint64_t mem_mono_ns(void *ctx)
{
	return ((struct memory_io *)ctx)->mono_ns;
}

static uint64_t mem_real_ns(void *ctx)
{
	return ((struct memory_io *)ctx)->real_ns;
}

static void mem_random(void *ctx, void *p, size_t len)
{
	struct memory_io *m = ctx;

	for (size_t i = 0; i < len; i++) {
		m->random = m->random * 6364136223846793005u + 1442695040888963407u;
		((uint8_t *)p)[i] = (uint8_t)(m->random >> 56);
	}
}

void memory_io_init(struct memory_io *m)
{
	*m = (struct memory_io){
		.io =
			{
				.open = mem_open,
				.pread = mem_pread,
				.pwrite = mem_pwrite,
				.allocate = mem_allocate,
				.truncate = mem_truncate,
				.sync = mem_sync,
				.rename = mem_rename,
				.unlink = mem_unlink,
				.close = mem_close,
				.make_dir = mem_make_dir,
				.list = mem_list,
				.lock = mem_lock,
				.mark = mem_mark,
				.is_marked = mem_is_marked,
				.is_at = mem_is_at,
				.exists = mem_exists,
				.free_bytes = mem_free_bytes,
				.mono_ns = mem_mono_ns,
				.real_ns = mem_real_ns,
				.random = mem_random,
			},
		.mono_ns = 1000000000,
		.real_ns = 1700000000000000000,
		.free_bytes = UINT64_C(1) << 40,
		.random = 1,
		.fail_after = -1,
		.error = -ENOSPC,
	};
	m->io.ctx = m;
}

void memory_io_done(struct memory_io *m)
{
	for (size_t i = 0; i < MEMORY_FILES; i++)
		free(m->files[i].p);
	memory_io_init(m);
}

struct memory_file *memory_io_file(struct memory_io *m, const char *prefix, size_t index)
{
	const char *after = "";

	for (;;) {
		struct memory_file *best = NULL;

		for (size_t i = 0; i < MEMORY_FILES; i++) {
			struct memory_file *f = &m->files[i];

			if (f->in_use && !strncmp(f->name, prefix, strlen(prefix)) &&
			    strcmp(f->name, after) > 0 &&
			    (!best || strcmp(f->name, best->name) < 0))
				best = f;
		}
		if (!best || index-- == 0)
			return best;
		after = best->name;
	}
}

size_t memory_io_count(struct memory_io *m, const char *prefix)
{
	size_t count = 0;

	while (memory_io_file(m, prefix, count))
		count++;
	return count;
}

void memory_io_put(struct memory_io *m, const char *name, const void *p, size_t len)
{
	struct memory_file *f = find(m, name);

	if (!f)
		f = create(m, name);
	if (!f || resize(f, 0) || resize(f, len))
		abort();
	memcpy(f->p, p, len);
}

void memory_io_drop_locks(struct memory_io *m)
{
	for (size_t i = 0; i < MEMORY_FILES; i++)
		m->files[i].is_locked = false;
	for (size_t i = 0; i < MEMORY_HANDLES; i++)
		m->handles[i].has_lock = m->handles[i].has_mark = false;
}
