/* SPDX-License-Identifier: Apache-2.0 */
#include "stdout_end.h"

#include <poll.h>
#include <stdio.h>

#include "log.h"

/* poll() reports POLLERR for a pipe or socket whose other end is closed, but not for a full disk.
 */
static bool reader_is_gone(void)
{
	struct pollfd p = {.fd = STDOUT_FILENO};

	return poll(&p, 1, 0) == 1 && (p.revents & POLLERR);
}

void stdout_put(const struct buf *out)
{
	if (out->len)
		fwrite(out->p, 1, out->len, stdout);
}

int stdout_flush(struct err *err)
{
	/* The stream forgets what it could not write, so flushing again would succeed. */
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	if (reader_is_gone())
		return err_set(err, ERR_CANCELLED, "standard output: its reader went away");
	return err_set(err, ERR_IO, "standard output: cannot write");
}

int stdout_end(int rc, struct err *err)
{
	struct err why;
	int flushed = stdout_flush(&why);

	/* A write that bypassed the stream has reported its own error, and the stream does not know
	 * of it. */
	if (rc == ERR_CANCELLED && (flushed == ERR_CANCELLED || reader_is_gone()))
		rc = 0;
	if (flushed == ERR_IO && rc >= 0) {
		rc = flushed;
		*err = why;
	}
	if (rc < 0 && err->message[0]) {
		log_progress_end();
		log_error("%s", err->message);
	}
	return err_exit_status(rc);
}
