/* SPDX-License-Identifier: Apache-2.0 */
#include "output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "limits.h"
#include "log.h"

/* Shorter files are written too fast for a progress line. */
#define PROGRESS_LEN (16 * MIB)

int output_file_open(struct output_file *f, const char *path, struct err *err)
{
	mode_t mask = umask(0);
	struct stat st;

	umask(mask);
	*f = (struct output_file)OUTPUT_FILE_NONE;
	if (strcmp(path, "-") == 0) {
		f->fd = STDOUT_FILENO;
		return 0;
	}
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return err_set(err, ERR_UNSUPPORTED,
			       "%s: not a regular file (- is standard output)", path);
	f->path = strdup(path);
	f->target = realpath(path, NULL);
	if (!f->target && lstat(path, &st) == 0)
		return err_set(err, ERR_UNSUPPORTED, "%s: a link to what is not there", path);
	if (!f->target)
		f->target = strdup(path);
	if (!f->path || !f->target || asprintf(&f->temporary, "%s.XXXXXX", f->target) < 0) {
		f->temporary = NULL;
		return err_no_memory(err);
	}
	f->fd = mkostemp(f->temporary, O_CLOEXEC);
	if (f->fd < 0) {
		int rc = err_sys(err, errno, "%s", path);

		free(f->temporary);
		f->temporary = NULL;
		return rc;
	}
	if (fchmod(f->fd, 0666 & ~mask))
		return err_sys(err, errno, "%s", path);
	return 0;
}

int output_file_write(void *file, const void *p, size_t len, struct err *err)
{
	struct output_file *f = file;
	const char *at = p;

	while (len) {
		ssize_t n = write(f->fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		/* A reader that went away is no failure: stdout_flush() returns the same. */
		if (n < 0 && errno == EPIPE && !f->path)
			return err_set(err, ERR_CANCELLED, "standard output: its reader went away");
		if (n < 0)
			return err_sys(err, errno, "%s: write",
				       f->path ? f->path : "standard output");
		at += n;
		f->written += (uint64_t)n;
		len -= (size_t)n;
	}
	/* Standard output shows its own progress, or its reader does. */
	if (f->path && f->written >= PROGRESS_LEN)
		log_progress("writing %s: %" PRIu64 " MiB", f->path, f->written / MIB);
	return 0;
}

int output_file_commit(struct output_file *f, struct err *err)
{
	if (!f->path)
		return 0;
	log_progress_end();
	if (fsync(f->fd) || rename(f->temporary, f->target))
		return err_sys(err, errno, "%s", f->path);
	free(f->temporary);
	f->temporary = NULL;
	return 0;
}

void output_file_done(struct output_file *f)
{
	if (f->temporary)
		unlink(f->temporary);
	if (f->path && f->fd >= 0)
		close(f->fd);
	free(f->temporary);
	free(f->path);
	free(f->target);
	*f = (struct output_file)OUTPUT_FILE_NONE;
}
