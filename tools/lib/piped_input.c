/* SPDX-License-Identifier: Apache-2.0 */
#include "piped_input.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "limits.h"
#include "log.h"

#define CHUNK ((size_t)262144)

bool piped_input_is(const char *path, const struct stat *st)
{
	return strcmp(path, "-") == 0 || S_ISFIFO(st->st_mode);
}

/* Opens a file without a name; *ret_dir is the directory, for messages. */
static int open_copy(const char **ret_dir)
{
	const char *const dirs[] = {getenv("TMPDIR"), "/var/tmp", "/tmp"};
	int fd = -1;

	for (size_t i = 0; fd < 0 && i < ARRAY_LEN(dirs); i++) {
		char name[LIMIT_PATH_LEN];

		if (!dirs[i] || !dirs[i][0])
			continue;
		*ret_dir = dirs[i];
		fd = open(dirs[i], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		/* Not every file system has O_TMPFILE. */
		if (fd >= 0 || snprintf(name, sizeof(name), "%s/rawstack.XXXXXX", dirs[i]) >=
				       (int)sizeof(name))
			continue;
		fd = mkostemp(name, O_CLOEXEC);
		if (fd >= 0)
			unlink(name);
	}
	return fd;
}

static int write_all(int fd, const uint8_t *p, size_t len)
{
	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

static int copy_input(const struct piped_input *in, int from, const char *dir, uint64_t max,
		      struct err *err)
{
	_cleanup_(freep) uint8_t *chunk = malloc(CHUNK);
	uint64_t done = 0;

	if (!chunk)
		return err_no_memory(err);
	for (;;) {
		ssize_t n = read(from, chunk, CHUNK);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(err, errno, "%s", in->name);
		if (!n)
			return 0;
		done += (uint64_t)n;
		if (done > max)
			return err_set(err, ERR_LIMIT, "%s: larger than %" PRIu64 " bytes",
				       in->name, max);
		if (write_all(in->fd, chunk, (size_t)n))
			return err_sys(err, errno, "%s: kept in %s (or $TMPDIR)", in->name, dir);
		log_progress("reading %s: %" PRIu64 " MiB", in->name, done / MIB);
	}
}

int piped_input_open(struct piped_input *in, const char *path, uint64_t max, struct err *err)
{
	bool is_stdin = strcmp(path, "-") == 0;
	const char *dir = "/tmp";
	int from, rc;

	*in = (struct piped_input){.fd = -1, .name = is_stdin ? "standard input" : path};
	if (is_stdin && isatty(STDIN_FILENO))
		return err_set(err, ERR_USAGE, "standard input is a terminal: give a profile");
	from = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	if (from < 0)
		return err_sys(err, errno, "%s", path);
	in->fd = open_copy(&dir);
	rc = in->fd < 0 ? err_sys(err, errno, "%s: cannot be kept in %s", in->name, dir)
			: copy_input(in, from, dir, max, err);
	log_progress_end();
	if (!is_stdin)
		close(from);
	snprintf(in->path, sizeof(in->path), "/proc/self/fd/%d", in->fd);
	return rc;
}

int piped_input_error(const struct piped_input *in, struct err *err)
{
	size_t len = strlen(in->path);
	char message[ERR_MESSAGE_MAX];

	if (strncmp(err->message, in->path, len) != 0)
		return err->code;
	snprintf(message, sizeof(message), "%s", err->message + len);
	return err_set(err, err->code, "%s%s", in->name, message);
}

void piped_input_done(struct piped_input *in)
{
	if (in->fd >= 0)
		close(in->fd);
	in->fd = -1;
}
