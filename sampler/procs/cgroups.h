/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_CGROUPS_H
#define RAWSTACK_CGROUPS_H
/*
 * Maps ids of cgroups, as samples carry them, to paths below the root of the cgroup2 hierarchy. It
 * reads the file system of the hierarchy at the start; the kernel reports each new cgroup, so that
 * a container that lives for a moment is named after it is gone. One thread uses it.
 */
#include "base.h"

struct cgroup {
	struct cgroup *next;
	uint64_t id;
	uint64_t seen_ns; /* when it was last looked up, for making room */
	size_t path_len;
	char path[]; /* untrusted bytes, NUL-terminated; "/" is the root */
};

struct cgroups {
	struct cgroup *buckets[1024];
	size_t count;
	uint64_t scan_ns; /* when the file system was read */
};

/* Reads what there is below the first cgroup2 mount; without one nothing has a name. */
void cgroups_init(struct cgroups *c, uint64_t now_ns);
void cgroups_done(struct cgroups *c);

/* Adds a cgroup that the kernel reported. */
void cgroups_add(struct cgroups *c, uint64_t id, const char *path, size_t path_len,
		 uint64_t now_ns);

/* Returns the cgroup of an id, borrowed until the next call, or NULL when it is unknown. Reads the
 * file system again for an unknown id when the last time is long ago. */
const struct cgroup *cgroups_find(struct cgroups *c, uint64_t id, uint64_t now_ns);

/*
 * Finds the id of the container that a path belongs to: the last 64 hex digits between other
 * characters, as Docker, containerd, CRI-O and Podman name their groups. Returns its length, or 0
 * when there is none; *ret points into the path.
 */
size_t cgroup_container(const char *path, size_t len, const char **ret);

/* Finds the innermost systemd service in a path, without instance and suffix ("getty" of
 * getty@tty1.service). Returns as above. */
size_t cgroup_unit(const char *path, size_t len, const char **ret);

#endif
