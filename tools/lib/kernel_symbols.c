/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel_symbols.h"

#include <string.h>
#include <sys/mman.h>

#include "bytes.h"
#include "io.h"
#include "limits.h"

#define NT_GNU_BUILD_ID 3

static size_t aligned_len(uint32_t len)
{
	return ((size_t)len + 3) & ~(size_t)3;
}

/* Notes as in the ELF specification: sizes, type, name and content padded to 4 bytes. */
int kernel_notes_id(const void *notes, size_t len, struct build_id *ret, struct err *err)
{
	struct bytes in = bytes_of(notes, len);

	while (in.left) {
		uint32_t name_len = bytes_u32(&in), content_len = bytes_u32(&in);
		uint32_t type = bytes_u32(&in);
		const uint8_t *name = bytes_take(&in, aligned_len(name_len));
		const uint8_t *content = bytes_take(&in, aligned_len(content_len));

		if (in.failed)
			break;
		if (type == NT_GNU_BUILD_ID && name_len == 4 && memcmp(name, "GNU", 4) == 0)
			return build_id_set(ret, BUILD_ID_GNU, content, content_len, err);
	}
	return err_set(err, ERR_NOT_FOUND, "no build id in the kernel's notes");
}

int kernel_id(struct build_id *ret, struct err *err)
{
	_cleanup_(freep) uint8_t *notes = NULL;
	size_t len;
	int rc = io_read_file("/sys/kernel/notes", LIMIT_NOTE_LEN, &notes, &len, err);

	return rc ? rc : kernel_notes_id(notes, len, ret, err);
}

/* Each line begins with an address; one that is not 0 is enough. */
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
	int rc = io_read_file(path, LIMIT_KALLSYMS_LEN, &text, &len, err);

	if (rc)
		return rc;
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
