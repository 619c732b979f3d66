/* SPDX-License-Identifier: Apache-2.0 */
#include "push_companions.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "image_summary.h"

#define DEBUG_ROOT "/usr/lib/debug"

static const char *path_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void put_push_companion(struct push_companions *p, int fd, enum image_kind kind,
			       const struct build_id *id, const char *path)
{
	struct push_companion *to = &p->list[p->count++];

	*to = (struct push_companion){.fd = fd, .kind = kind, .id = *id};
	snprintf(to->name, sizeof(to->name), "%s", path_base_name(path));
}

static bool has_push_companion(const struct push_companions *p, enum image_kind kind,
			       const struct build_id *id)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->list[i].kind == kind && build_id_equal(&p->list[i].id, id))
			return true;
	return false;
}

/* Takes path as the other half of a file if it has the same build id and is of kind a or b. */
static bool try_half(struct push_companions *p, const char *path, const struct build_id *id,
		     enum image_kind a, enum image_kind b, struct image_links *ret)
{
	/* O_NONBLOCK keeps open() from waiting for the writer of a named pipe. */
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct build_id got;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || image_identify(fd, &got, NULL) ||
	    !build_id_equal(&got, id) || image_links_read(fd, ret, NULL) ||
	    (ret->kind != a && ret->kind != b))
		return false;
	put_push_companion(p, TAKE_FD(fd), ret->kind, id, path);
	return true;
}

/* Joins the parts of a path. Returns false if it is too long. */
static bool join_path(char path[static LIMIT_PATH_LEN], const char *a, const char *b, const char *c)
{
	return snprintf(path, LIMIT_PATH_LEN, "%s%s%s", a, b, c) < (int)LIMIT_PATH_LEN;
}

/* Makes the path .build-id/ab/cdef, at which debug packages install links. Returns false if it is
 * too long. */
static bool build_id_path(char path[static LIMIT_PATH_LEN], const struct build_id *id,
			  const char *suffix)
{
	char hex[BUILD_ID_HEX_MAX];

	build_id_hex(id, hex);
	return snprintf(path, LIMIT_PATH_LEN, DEBUG_ROOT "/.build-id/%.2s/%s%s", hex, hex + 2,
			suffix) < (int)LIMIT_PATH_LEN;
}

static void find_others(struct push_companions *p, const char *path,
			const struct image_links *links, const struct build_id *id)
{
	_cleanup_(companions_close) struct companions c = {0};
	_cleanup_(buf_done) struct buf wanted = BUF_INIT(LIMIT_PATH_LEN + BUILD_ID_MAX + 8);
	uint32_t len = (uint32_t)(strlen(links->alt_name) + 1 + links->alt_id.len);

	if (links->alt_name[0]) {
		/* This is how table_build() reports missing files: [u32 length][name, NUL][id]. */
		buf_append(&wanted, &len, sizeof(len));
		buf_append(&wanted, links->alt_name, strlen(links->alt_name) + 1);
		buf_append(&wanted, links->alt_id.bytes, links->alt_id.len);
		companions_find(&c, path, bytes_of(wanted.p, wanted.len), false, &p->why);
	}
	companions_add_package(&c, path);
	for (size_t i = 0; i < c.count; i++) {
		bool alt = c.list[i].kind == TABLE_COMPANION_ALT;
		char package[LIMIT_PATH_LEN];

		/* A program and its debug file may both refer to the same file. */
		if (alt && has_push_companion(p, IMAGE_ALT, &links->alt_id))
			continue;
		if (alt)
			put_push_companion(p, TAKE_FD(c.list[i].fd), IMAGE_ALT, &links->alt_id,
					   links->alt_name);
		else if (join_path(package, path, ".dwp", ""))
			put_push_companion(p, TAKE_FD(c.list[i].fd), IMAGE_PACKAGE, id, package);
	}
}

static void find_debug(struct push_companions *p, const char *dir, const struct image_links *links,
		       const struct build_id *id)
{
	static const char *const folders[][2] = {{"", "/"}, {"", "/.debug/"}, {DEBUG_ROOT, "/"}};
	char folder[LIMIT_PATH_LEN], path[LIMIT_PATH_LEN];
	struct image_links half;
	bool found = false;

	for (size_t i = 0; i < ARRAY_LEN(folders) && links->debug_name[0] && !found; i++)
		found = join_path(folder, folders[i][0], dir, folders[i][1]) &&
			join_path(path, folder, links->debug_name, "") &&
			try_half(p, path, id, IMAGE_DEBUG, IMAGE_BOTH, &half);
	if (!found && build_id_path(path, id, ".debug"))
		found = try_half(p, path, id, IMAGE_DEBUG, IMAGE_BOTH, &half);
	/* Only the debug file says what it refers to. */
	if (found)
		find_others(p, path, &half, id);
}

/* Finds the program of a debug file: DIR/x.debug, DIR/.debug/x.debug and /usr/lib/debug/DIR/x.debug
 * all belong to DIR/x. */
static void find_debug_files(struct push_companions *p, const char *dir, const char *name,
			     const struct build_id *id)
{
	static const char *const suffixes[] = {".debug", ".dbg", ""};
	char folder[LIMIT_PATH_LEN], path[LIMIT_PATH_LEN], bare[LIMIT_PATH_LEN];
	size_t len = strlen(dir), root = strlen(DEBUG_ROOT);
	struct image_links half;

	if (len > 7 && !strcmp(dir + len - 7, "/.debug"))
		len -= 7;
	if (!strncmp(dir, DEBUG_ROOT "/", root + 1))
		snprintf(folder, sizeof(folder), "%s", dir + root);
	else
		snprintf(folder, sizeof(folder), "%.*s", (int)len, dir);
	for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
		size_t end = strlen(name), cut = strlen(suffixes[i]);

		if (end <= cut || strcmp(name + end - cut, suffixes[i]) != 0)
			continue;
		snprintf(bare, sizeof(bare), "%.*s", (int)(end - cut), name);
		if (join_path(path, folder, "/", bare) &&
		    try_half(p, path, id, IMAGE_EXECUTABLE, IMAGE_BOTH, &half))
			return;
	}
	if (build_id_path(path, id, ""))
		try_half(p, path, id, IMAGE_EXECUTABLE, IMAGE_BOTH, &half);
}

void push_companions_find(struct push_companions *p, const char *path,
			  const struct image_links *links, const struct build_id *id)
{
	_cleanup_(freep) char *real = realpath(path, NULL);
	const char *name = path_base_name(path);

	if (real) {
		/* The base name is the given one, but the folder is the real one. */
		*strrchr(real, '/') = 0;
		if (links->kind == IMAGE_EXECUTABLE)
			find_debug(p, real, links, id);
		else if (links->kind == IMAGE_DEBUG)
			find_debug_files(p, real, name, id);
	}
	find_others(p, path, links, id);
}

void push_companions_close(struct push_companions *p)
{
	for (size_t i = 0; i < p->count; i++)
		closep(&p->list[i].fd);
	p->count = 0;
}
