/* SPDX-License-Identifier: Apache-2.0 */
#include "cgroups.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "limits.h"

/* Most cgroups whose paths are kept: kubernetes makes a few for each container. */
#define LIMIT_CGROUPS LIMIT(16384)

/* The least time between two searches for cgroups that the kernel did not report. */
#define RESCAN_NS UINT64_C(10000000000)

enum {
	CONTAINER_ID_LEN = 64,
	LIMIT_CGROUP_DEPTH = 32, /* most levels of directories that are read */
};

static struct cgroup **cgroup_slot_of(struct cgroups *c, uint64_t id)
{
	struct cgroup **at = &c->buckets[id % ARRAY_LEN(c->buckets)];

	while (*at && (*at)->id != id)
		at = &(*at)->next;
	return at;
}

static void remove_at(struct cgroups *c, struct cgroup **at)
{
	struct cgroup *g = *at;

	*at = g->next;
	free(g);
	c->count--;
}

void cgroups_done(struct cgroups *c)
{
	for (size_t i = 0; i < ARRAY_LEN(c->buckets); i++)
		while (c->buckets[i])
			remove_at(c, &c->buckets[i]);
}

/* Drops the half that was not asked for in the longest time. */
static void make_cgroup_room(struct cgroups *c, uint64_t now_ns)
{
	uint64_t age = UINT64_C(3600000000000);

	for (; c->count > LIMIT_CGROUPS / 2; age /= 2)
		for (size_t i = 0; i < ARRAY_LEN(c->buckets); i++) {
			struct cgroup **at = &c->buckets[i];

			while (*at)
				if (now_ns - (*at)->seen_ns >= age)
					remove_at(c, at);
				else
					at = &(*at)->next;
		}
}

void cgroups_add(struct cgroups *c, uint64_t id, const char *path, size_t path_len, uint64_t now_ns)
{
	struct cgroup **at, *g;

	if (path_len > LIMIT_PATH_LEN)
		return;
	if (c->count >= LIMIT_CGROUPS)
		make_cgroup_room(c, now_ns);
	at = cgroup_slot_of(c, id);
	if (*at && (*at)->path_len == path_len && !memcmp((*at)->path, path, path_len))
		return;
	g = calloc(1, sizeof(*g) + path_len + 1);
	if (!g)
		return;
	if (*at) /* ids are used again */
		remove_at(c, at);
	g->id = id;
	g->seen_ns = now_ns;
	g->path_len = path_len;
	memcpy(g->path, path, path_len);
	g->next = *at;
	*at = g;
	c->count++;
}

/* --- the file system ------------------------------------------------------------------------- */

struct walk {
	struct cgroups *cgroups;
	uint64_t now_ns;
	size_t left; /* directories that may still be read */
	char path[LIMIT_PATH_LEN + 1];
	size_t len;
};

/* Walks the directory fd, whose path is the current one, and closes fd. */
static void walk_dir(struct walk *w, int fd, int depth)
{
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const size_t len = w->len;
	struct dirent *entry;
	struct stat st;

	if (!dir) {
		closep(&fd);
		return;
	}
	if (!fstat(dirfd(dir), &st))
		cgroups_add(w->cgroups, st.st_ino, len ? w->path : "/", len ? len : 1, w->now_ns);
	while (depth < LIMIT_CGROUP_DEPTH && w->left && (entry = readdir(dir))) {
		const size_t name_len = strlen(entry->d_name);

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.' ||
		    len + 1 + name_len > LIMIT_PATH_LEN)
			continue;
		w->left--;
		w->path[len] = '/';
		memcpy(w->path + len + 1, entry->d_name, name_len + 1);
		w->len = len + 1 + name_len;
		walk_dir(w,
			 openat(dirfd(dir), entry->d_name,
				O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
			 depth + 1);
		w->len = len;
		w->path[len] = 0;
	}
	closedir(dir);
}

/* Opens the mount point in the line "... <mount point> <options> ... - cgroup2 ..." of
 * proc_pid_mountinfo(5). Returns a descriptor, or -1. */
static int open_root(void)
{
	_cleanup_(freep) char *line = NULL;
	FILE *f = fopen("/proc/self/mountinfo", "re");
	size_t cap = 0;
	int fd = -1;

	while (f && fd < 0 && getline(&line, &cap, f) >= 0) {
		char *rest = NULL, *field = strtok_r(line, " ", &rest);
		const char *point = NULL, *root = NULL;

		for (int i = 0; field && strcmp(field, "-"); i++) {
			root = i == 3 ? field : root;
			point = i == 4 ? field : point;
			field = strtok_r(NULL, " ", &rest);
		}
		field = strtok_r(NULL, " ", &rest);
		/* Only a mount of the root counts: a mount of a part, as in a container, would give
		 * wrong paths. */
		if (field && point && root && !strcmp(field, "cgroup2") && !strcmp(root, "/"))
			fd = open(point, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	if (f)
		fclose(f);
	return fd;
}

static void scan_cgroups(struct cgroups *c, uint64_t now_ns)
{
	struct walk *w = calloc(1, sizeof(*w));

	c->scan_ns = now_ns;
	if (!w)
		return;
	w->cgroups = c;
	w->now_ns = now_ns;
	w->left = LIMIT_CGROUPS;
	walk_dir(w, open_root(), 0);
	free(w);
}

void cgroups_init(struct cgroups *c, uint64_t now_ns)
{
	*c = (struct cgroups){.count = 0};
	scan_cgroups(c, now_ns);
}

const struct cgroup *cgroups_find(struct cgroups *c, uint64_t id, uint64_t now_ns)
{
	struct cgroup *g = *cgroup_slot_of(c, id);

	if (!g && now_ns - c->scan_ns > RESCAN_NS) {
		scan_cgroups(c, now_ns);
		g = *cgroup_slot_of(c, id);
	}
	if (g)
		g->seen_ns = now_ns;
	return g;
}

/* --- what paths say -------------------------------------------------------------------------- */

size_t cgroup_container(const char *path, size_t len, const char **ret)
{
	size_t found = 0;

	for (size_t i = 0; i < len;) {
		size_t n = 0;

		while (i + n < len && is_lower_hex(path[i + n]))
			n++;
		if (n == CONTAINER_ID_LEN) {
			*ret = path + i;
			found = n;
		}
		i += n + 1;
	}
	return found;
}

size_t cgroup_unit(const char *path, size_t len, const char **ret)
{
	static const char suffix[] = ".service";
	const size_t suffix_len = sizeof(suffix) - 1;
	size_t end = len;

	while (end) {
		size_t start = end;
		const char *at;

		while (start && path[start - 1] != '/')
			start--;
		if (end - start > suffix_len &&
		    !memcmp(path + end - suffix_len, suffix, suffix_len)) {
			*ret = path + start;
			len = end - start - suffix_len;
			at = memchr(*ret, '@', len);
			return at && at > *ret ? (size_t)(at - *ret) : len;
		}
		end = start ? start - 1 : 0;
	}
	return 0;
}
