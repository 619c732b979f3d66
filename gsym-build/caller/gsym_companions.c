/* SPDX-License-Identifier: Apache-2.0 */
#include "gsym_companions.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image_summary.h"

void companions_close(struct companions *c)
{
	while (c->count)
		closep(&c->list[--c->count].fd);
}

/* Opens a regular file. Returns -1 and errno on failure. O_NONBLOCK keeps open() of a named pipe
 * from waiting for a writer. */
static int open_regular(const char *path, int flags)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
		close(fd);
		errno = EINVAL;
		return -1;
	}
	return fd;
}

static bool put_companion(struct companions *c, int fd, enum table_companion_kind kind)
{
	if (fd < 0)
		return false;
	if (c->count == LIMIT_COMPANIONS) {
		close(fd);
		c->left_out++;
		return false;
	}
	c->list[c->count++] = (struct table_companion){.fd = fd, .kind = kind};
	return true;
}

static bool has_companion(const struct companions *c, enum table_companion_kind kind)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->list[i].kind == kind)
			return true;
	return false;
}

int companions_add(struct companions *c, const char *path, enum table_companion_kind kind,
		   struct err *err)
{
	int fd = open_regular(path, 0);

	if (fd < 0)
		return err_sys(err, errno, "%s", path);
	put_companion(c, fd, kind);
	return 0;
}

void companions_add_package(struct companions *c, const char *path)
{
	char name[LIMIT_PATH_LEN];

	if (!has_companion(c, TABLE_COMPANION_DWP) &&
	    snprintf(name, sizeof(name), "%s.dwp", path) < (int)sizeof(name))
		put_companion(c, open_regular(name, 0), TABLE_COMPANION_DWP);
}

/* Opens dir/[middle/]name, or returns -1. An absolute part replaces those before it. */
static int open_at(const char *dir, const char *middle, const char *name, int flags)
{
	char path[LIMIT_PATH_LEN];

	if (*middle == '/' || *name == '/')
		dir = "";
	if (*name == '/')
		middle = "";
	if (snprintf(path, sizeof(path), "%s%s%s%s%s", dir, *dir ? "/" : "", middle,
		     *middle ? "/" : "", name) >= (int)sizeof(path))
		return -1;
	return open_regular(path, flags);
}

/* Looks for the .dwo file at the path that the compiler wrote, then beside the debug file, because
 * build trees are moved. */
static bool find_dwo(struct companions *c, const char *dir, const char *comp_dir, const char *name)
{
	const char *slash = strrchr(name, '/');
	int fd = open_at(dir, comp_dir, name, O_NOFOLLOW);

	if (fd < 0)
		fd = open_at(dir, "", slash ? slash + 1 : name, O_NOFOLLOW);
	return put_companion(c, fd, TABLE_COMPANION_DWO);
}

/* Adds an alternate file if it has the wanted build id; closes it otherwise. */
static bool put_alt(struct companions *c, int fd, const struct build_id *want, const char *file,
		    struct err *ret_why)
{
	struct build_id got;

	if (!image_identify(fd, &got, NULL) && build_id_equal(&got, want))
		return put_companion(c, fd, TABLE_COMPANION_ALT);
	close(fd);
	err_set(ret_why, ERR_MISMATCH, "%s: has another build id than the file asks for", file);
	return false;
}

/* Returns the part of a directory's path before /usr/lib/debug, or NULL if it is empty or the
 * directory is elsewhere. */
static char *root_of_directory(const char *dir)
{
	const char *at = strstr(dir, "/usr/lib/debug/");

	return at && at > dir ? strndup(dir, (size_t)(at - dir)) : NULL;
}

/* Finds the file of .gnu_debugaltlink, whose content is a name, a NUL and a build id (a GNU
 * extension; the standard's counterpart is DWARF 5 section 7.3.6). */
static bool find_alt(struct companions *c, const char *dir, struct bytes link, struct err *ret_why)
{
	char hex[BUILD_ID_HEX_MAX], by_id[BUILD_ID_HEX_MAX + 16];
	struct build_id want = {.kind = BUILD_ID_GNU};
	/* If the file is in an unpacked package, its absolute links are relative to the root of
	 * that package. */
	_cleanup_(freep) char *root = root_of_directory(dir);
	const char *places[][2] = {
		{root ? root : dir, ""},
		{dir, ""},
		{"/usr/lib/debug", ".dwz"},
		{"/usr/lib/debug", ""},
	};
	size_t len;
	const char *name = bytes_cstr(&link, &len), *base;

	if (!name || !len || link.left < 2 || link.left > sizeof(want.bytes))
		return false;
	memcpy(want.bytes, link.p, link.left);
	want.len = (uint8_t)link.left;
	if (c->alt_path) {
		int fd = open_regular(c->alt_path, 0);

		if (fd >= 0)
			return put_alt(c, fd, &want, c->alt_path, ret_why);
		err_sys(ret_why, errno, "%s", c->alt_path);
		return false;
	}
	build_id_hex(&want, hex);
	snprintf(by_id, sizeof(by_id), ".build-id/%.2s/%s.debug", hex, hex + 2);
	base = strrchr(name, '/');
	base = base ? base + 1 : name;
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		const char *file = i == 0 && root ? name + strspn(name, "/")
				   : i <= 1       ? name
				   : i == 2       ? base
						  : by_id;
		int fd = open_at(places[i][0], places[i][1], file, 0);

		if (fd >= 0 && put_alt(c, fd, &want, file, ret_why))
			return true;
	}
	return false;
}

size_t companions_find(struct companions *c, const char *path, struct bytes missing, bool want_dwos,
		       struct err *ret_why)
{
	_cleanup_(freep) char *dir = realpath(path, NULL);
	uint32_t link_len = bytes_u32(&missing);
	const uint8_t *link = bytes_take(&missing, link_len);
	size_t found = 0;

	if (!dir)
		return 0;
	*strrchr(dir, '/') = 0;
	if (link_len && link && !has_companion(c, TABLE_COMPANION_ALT))
		found += find_alt(c, dir, bytes_of(link, link_len), ret_why);
	while (want_dwos && missing.left) {
		size_t len;
		const char *comp_dir = bytes_cstr(&missing, &len);
		const char *name = bytes_cstr(&missing, &len);

		if (comp_dir && name)
			found += find_dwo(c, dir, comp_dir, name);
	}
	return found;
}
