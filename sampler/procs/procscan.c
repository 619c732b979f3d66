/* SPDX-License-Identifier: Apache-2.0 */
#include "procscan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "limits.h"
#include "number.h"

/* Most mappings of one process that are checked in a poll. */
#define LIMIT_CHECKED_MAPPINGS LIMIT(32)

/* PROCMAP_QUERY of include/uapi/linux/fs.h, Linux 6.11; declared here for older headers. */
struct procmap_query_arg {
	uint64_t size, flags, address;
	uint64_t start, end, vma_flags, page_len, file_off, inode;
	uint32_t dev_major, dev_minor;
	uint32_t name_len, id_len; /* in: room; out: length */
	uint64_t name, id;         /* addresses in this process */
};
_Static_assert(sizeof(struct procmap_query_arg) == 104, "as the kernel has it");

#define PROCMAP_IOCTL _IOWR('f', 17, struct procmap_query_arg)

enum {
	PROCMAP_EXECUTABLE = 0x04,
	PROCMAP_COVERING_OR_NEXT = 0x10,
};

/* When the first thread has ended, this many others are tried for the mappings. */
#define TASKS_ASKED 64

struct scan {
	char proc[48]; /* directory of the process, or of one of its threads */
	struct modules *modules;
	struct mappings *maps;
	size_t most; /* rows of maps */
	bool is_cut; /* there are more */
	char name[LIMIT_PATH_LEN + 1];
};

static int add_scanned(struct scan *s, uint64_t start, uint64_t end, uint64_t off,
		       const struct build_id *id, const struct file_key *file, size_t name_len)
{
	struct mapping row = {.start = start, .end = end, .file_off = off};
	bool ok;

	row.module = module_get(s->modules, id, file, s->name, name_len);
	if (!row.module)
		return -ENOMEM;
	ok = mappings_add(&s->maps, &row);
	module_unref(row.module);
	return ok ? 0 : -ENOMEM;
}

/* Queries the mapping at an address, or as `flags` say, and adds it. Returns 0 and its end in
 * *ret_end, or -errno: -ENOENT when there is none, -ENOTTY when this kernel has no such ioctl. */
static int add_queried(struct scan *s, int fd, uint64_t at, uint64_t flags, uint64_t *ret_end)
{
	const struct build_id none = {.kind = BUILD_ID_NONE};
	struct procmap_query_arg q = {
		.size = sizeof(q),
		.flags = PROCMAP_EXECUTABLE | flags,
		.address = at,
		.name_len = sizeof(s->name),
		.name = (uintptr_t)s->name,
	};
	struct file_key file;

	if (ioctl(fd, PROCMAP_IOCTL, &q))
		return -errno;
	*ret_end = q.end;
	if (s->maps->count >= s->most) {
		s->is_cut = true;
		return 0;
	}
	file = (struct file_key){makedev(q.dev_major, q.dev_minor), q.inode, 0};
	/* The length counts the NUL. */
	return add_scanned(s, q.start, q.end, q.file_off, &none, &file,
			   q.name_len ? q.name_len - 1 : 0);
}

static int scan_ioctl(struct scan *s, int fd)
{
	uint64_t at = 0;
	int rc = 0;

	while (!rc && !s->is_cut)
		rc = add_queried(s, fd, at, PROCMAP_COVERING_OR_NEXT, &at);
	return rc == -ENOENT ? 0 : rc;
}

/* Returns the next field of a line, or NULL at its end, and moves *at. */
static const char *next_maps_field(char **at)
{
	return strtok_r(NULL, " \n", at);
}

static struct file_key read_file_key(const char *dev, const char *inode)
{
	uint64_t major = 0, minor = 0, number = 0;

	if (number_take(&dev, 16, &major) && *dev++ == ':')
		(void)number_take(&dev, 16, &minor);
	(void)number_take(&inode, 10, &number);
	return (struct file_key){makedev((unsigned int)major, (unsigned int)minor), number, 0};
}

/* Decodes a name: the kernel writes a newline in it as \012 and escapes nothing else, so a name
 * that holds these four characters itself cannot be told apart. */
static size_t copy_name(char *to, const char *from, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		bool is_end = len - i >= 4 && !memcmp(from + i, "\\012", 4);

		to[n++] = is_end ? '\n' : from[i];
		i += is_end ? 3 : 0;
	}
	to[n] = 0;
	return n;
}

/* Adds the mapping of a line "<start>-<end> <perms> <off> <device> <inode> <path>",
 * proc_pid_maps(5). */
static int scan_line(struct scan *s, char *line)
{
	const struct build_id id = {.kind = BUILD_ID_NONE};
	uint64_t start, end, off;
	char *rest;
	const char *at = line, *perms, *off_text, *dev, *inode, *path;
	struct file_key file;
	size_t len;

	if (!number_take(&at, 16, &start) || *at++ != '-' || !number_take(&at, 16, &end))
		return 0;
	rest = line + (at - line);
	perms = next_maps_field(&rest);
	off_text = next_maps_field(&rest);
	dev = next_maps_field(&rest);
	inode = next_maps_field(&rest);
	if (!perms || strlen(perms) < 3 || perms[2] != 'x' || !off_text || !dev || !inode ||
	    !number_take(&off_text, 16, &off))
		return 0;
	file = read_file_key(dev, inode);
	path = rest + strspn(rest, " ");
	len = strcspn(path, "\n");
	/* [vsyscall] lies in the kernel's half and is no memory of the process. */
	if (len > LIMIT_PATH_LEN || start >> 63)
		return 0;
	if (s->maps->count >= s->most) {
		s->is_cut = true;
		return 0;
	}
	return add_scanned(s, start, end, off, &id, &file, copy_name(s->name, path, len));
}

static int scan_text(struct scan *s, int fd)
{
	_cleanup_(freep) char *line = NULL;
	FILE *f = fdopen(fd, "re");
	size_t cap = 0;
	int rc = 0;

	if (!f)
		return -errno;
	while (!rc && !s->is_cut && getline(&line, &cap, f) >= 0)
		rc = scan_line(s, line);
	fclose(f);
	return rc;
}

static struct module *find_exe(const struct scan *s)
{
	const struct build_id none = {.kind = BUILD_ID_NONE};
	char path[64], target[LIMIT_PATH_LEN];
	ssize_t len;

	snprintf(path, sizeof(path), "%s/exe", s->proc);
	len = readlink(path, target, sizeof(target));
	for (size_t i = 0; i < s->maps->count; i++) {
		struct module *m = s->maps->rows[i].module;

		/* When the link may not be read, the lowest file is taken for the program: it
		 * nearly always is, and this is only a label. */
		if (m->kind == MODULE_FILE && (len < 0 || ((size_t)len >= m->path_len &&
							   !memcmp(target, m->path, m->path_len))))
			return module_ref(m);
	}
	/* The program lies above the part that was read. */
	return s->is_cut && len > 0 ? module_get(s->modules, &none, NULL, target, (size_t)len)
				    : NULL;
}

static void read_comm(uint32_t pid, char comm[static 17])
{
	char path[64];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? 0 : read(fd, comm, 16);
	closep(&fd);
	/* Only the last newline is the kernel's; the name may hold others. */
	comm[len > 0 ? len - (comm[len - 1] == '\n') : 0] = 0;
}

/* Reads the mappings of s->proc. */
static int scan_maps(struct scan *s, enum procscan_way way)
{
	char path[64];
	int fd, rc = -ENOTTY;

	snprintf(path, sizeof(path), "%s/maps", s->proc);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (way != PROCSCAN_TEXT)
		rc = scan_ioctl(s, fd);
	if (rc == -ENOTTY && way != PROCSCAN_IOCTL)
		rc = scan_text(s, TAKE_FD(fd));
	closep(&fd);
	return rc;
}

/* Returns the next number among the names of a directory of /proc; 0: no more. */
static uint32_t next_number(DIR *dir)
{
	struct dirent *entry;

	while ((entry = readdir(dir))) {
		uint64_t n;

		if (number_read(entry->d_name, 10, &n) && n && n <= UINT32_MAX)
			return (uint32_t)n;
	}
	return 0;
}

/* Reads the mappings of another thread: the first one ended and has no memory. */
static void scan_tasks(struct scan *s, uint32_t pid, enum procscan_way way)
{
	char path[64];
	uint32_t tid;
	struct stat st;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	/* The directory has two links and one for each thread. This leaves out kernel threads,
	 * which are many and have one thread each. */
	if (stat(path, &st) || st.st_nlink < 4)
		return;
	dir = opendir(path);
	for (int i = 0; dir && !s->maps->count && i < TASKS_ASKED && (tid = next_number(dir));
	     i++) {
		snprintf(s->proc, sizeof(s->proc), "/proc/%u/task/%u", pid, tid);
		if (tid != pid && scan_maps(s, way) == -ENOMEM)
			break;
	}
	if (dir)
		closedir(dir);
}

int procscan_read(uint32_t pid, enum procscan_way way, struct modules *modules, size_t most,
		  struct procscan *ret)
{
	_cleanup_(freep) struct scan *s = calloc(1, sizeof(*s));
	bool first_ended;
	int rc;

	if (!s)
		return -ENOMEM;
	s->maps = mappings_new();
	if (!s->maps)
		return -ENOMEM;
	s->modules = modules;
	s->most = most;
	snprintf(s->proc, sizeof(s->proc), "/proc/%u", pid);
	/* If the first thread ended, the text of its maps is empty, and the ioctl fails. */
	rc = scan_maps(s, way);
	if (rc && rc != -ESRCH) {
		mappings_unref(s->maps);
		return rc;
	}
	first_ended = !s->maps->count;
	if (first_ended)
		scan_tasks(s, pid, way);
	ret->first_ended = first_ended && s->maps->count;
	ret->is_cut = s->is_cut;
	ret->exe = find_exe(s);
	ret->maps = s->maps;
	read_comm(pid, ret->comm);
	return 0;
}

int procscan_find(uint32_t tid, enum procscan_way way, struct modules *modules,
		  struct mappings **maps, const uint64_t *pcs, size_t count)
{
	_cleanup_(freep) struct scan *s = NULL;
	_cleanup_(closep) int fd = -1;
	uint64_t end;
	int rc = 0;

	if (way == PROCSCAN_TEXT)
		return -ENOTTY;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->modules = modules;
	s->most = LIMIT_PROC_MAPPINGS;
	s->maps = *maps;
	snprintf(s->proc, sizeof(s->proc), "/proc/%u/maps", tid);
	fd = open(s->proc, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	for (size_t i = 0; i < count && !rc && !s->is_cut; i++) {
		if (mappings_find(s->maps, pcs[i]))
			continue;
		rc = add_queried(s, fd, pcs[i], 0, &end);
		if (rc == -ENOENT && i)
			break;
		rc = rc == -ENOENT ? 0 : rc;
	}
	*maps = s->maps;
	return s->is_cut ? -ENOSPC : rc == -ENOENT ? 0 : rc;
}

int procscan_id(uint32_t tid, enum procscan_way way, const struct mapping *m, uint64_t pc,
		struct build_id *ret)
{
	_cleanup_(closep) int fd = -1;
	uint8_t id[BUILD_ID_MAX];
	struct procmap_query_arg q = {
		.size = sizeof(q),
		.flags = PROCMAP_EXECUTABLE,
		.address = pc,
		.id_len = sizeof(id),
		.id = (uintptr_t)id,
	};
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/maps", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (way == PROCSCAN_TEXT)
		return 0;
	if (ioctl(fd, PROCMAP_IOCTL, &q))
		return errno == ESRCH ? -errno : 0;
	/* The device is not compared, because on overlay file systems two are told for one file. */
	if (!q.id_len || q.id_len > sizeof(id) || q.inode != m->module->file.inode ||
	    pc - q.start + q.file_off != mapping_file_off(m, pc))
		return 0;
	return build_id_set(ret, BUILD_ID_GNU, id, q.id_len, NULL) ? 0 : 1;
}

/* Pieces of a mapping that are looked at. A process may split it by mprotect(2) page by page;
 * behind so many it counts as unchanged. */
#define LIMIT_MAPPING_PIECES 8

static int check_mapping(int fd, const struct mapping *m)
{
	uint64_t at = m->start;

	for (int i = 0; at < m->end && i < LIMIT_MAPPING_PIECES; i++) {
		struct procmap_query_arg q = {
			.size = sizeof(q), .flags = PROCMAP_EXECUTABLE, .address = at};

		if (ioctl(fd, PROCMAP_IOCTL, &q))
			return errno == ENOENT ? 0 : -errno;
		if (!q.inode || at - q.start + q.file_off != mapping_file_off(m, at))
			return 0;
		at = q.end;
	}
	return 1;
}

int procscan_check(uint32_t tid, enum procscan_way way, const struct mappings *maps)
{
	_cleanup_(closep) int fd = -1;
	size_t checked = 0;
	char path[64];
	int rc = 1;

	if (way == PROCSCAN_TEXT)
		return -ENOTTY;
	snprintf(path, sizeof(path), "/proc/%u/maps", tid);
	for (size_t i = 0; rc > 0 && i < maps->count && checked < LIMIT_CHECKED_MAPPINGS; i++) {
		const struct mapping *m = &maps->rows[i];

		if (!m->is_used || m->module->kind != MODULE_FILE)
			continue;
		if (fd < 0)
			fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return -errno;
		rc = check_mapping(fd, m);
		checked++;
	}
	return rc;
}

void procscan_list(void (*each)(void *arg, uint32_t pid), void *arg)
{
	DIR *dir = opendir("/proc");
	uint32_t pid;

	if (!dir)
		return;
	while ((pid = next_number(dir)))
		each(arg, pid);
	closedir(dir);
}
