/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel_symbols.h"

#include <string.h>
#include <sys/mman.h>

#include "bytes.h"
#include "io.h"
#include "limits.h"

/* /proc/kallsyms: a kernel with all its modules has some 20 MB of symbols. */
#define LIMIT_KALLSYMS_LEN (256 * MIB)

/* Returns whether any line begins with an address other than 0. */
static bool has_addresses(const uint8_t *p, size_t len)
{
	bool line_start = true;

	for (size_t i = 0; i < len; i++) {
		if (p[i] == '\n')
			line_start = true;
		else if (p[i] == ' ')
			line_start = false;
		else if (line_start && p[i] != '0')
			return true;
	}
	return false;
}

int kernel_symbols_open(const char *path, int *ret_fd, struct err *err)
{
	_cleanup_(freep) uint8_t *text = NULL;
	_cleanup_(closep) int fd = -1;
	size_t len;
	int rc;

	TRY(io_read_file(path, LIMIT_KALLSYMS_LEN, &text, &len, err));
	if (!has_addresses(text, len))
		return err_set(err, ERR_DENIED,
			       "%s: all addresses are hidden: run as root (CAP_SYSLOG), and see "
			       "/proc/sys/kernel/kptr_restrict",
			       path);
	fd = memfd_create("kallsyms", MFD_CLOEXEC);
	if (fd < 0)
		return err_set(err, ERR_IO, "memfd: cannot create");
	rc = io_write_all(io_system(), fd, text, len, 0, err);
	if (!rc)
		*ret_fd = TAKE_FD(fd);
	return rc;
}
