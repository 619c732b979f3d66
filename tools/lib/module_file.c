/* SPDX-License-Identifier: Apache-2.0 */
#include "module_file.h"

#include <string.h>
#include <sys/mman.h>
#include <zstd.h>

#include "buf.h"
#include "file_view.h"
#include "gzip.h"
#include "inflate_xz.h"
#include "io.h"
#include "limits.h"

/* Debian's largest modules, nouveau and amdgpu, have 500 MB with their debug information. */
#define LIMIT_MODULE_FILE_LEN (UINT64_C(1024) * MIB)

static int expand_zstd(const void *p, size_t len, struct buf *out, struct err *err)
{
	_cleanup_(freep) char *chunk = malloc(ZSTD_DStreamOutSize());
	ZSTD_DCtx *stream = chunk ? ZSTD_createDCtx() : NULL;
	ZSTD_inBuffer in = {p, len, 0};
	size_t rest = 1;
	int rc = stream ? 0 : err_no_memory(err);

	while (!rc && rest) {
		ZSTD_outBuffer to = {chunk, ZSTD_DStreamOutSize(), 0};
		size_t before = in.pos;

		rest = ZSTD_decompressStream(stream, &to, &in);
		if (ZSTD_isError(rest))
			rc = err_set(err, ERR_DATA, "damaged zstd stream: %s",
				     ZSTD_getErrorName(rest));
		else if (rest && in.pos == before && !to.pos)
			rc = err_set(err, ERR_DATA, "cut zstd stream");
		else if (!buf_append(out, to.dst, to.pos))
			rc = err_set(err, ERR_LIMIT, "it inflates to more than %llu bytes",
				     (unsigned long long)out->max);
	}
	ZSTD_freeDCtx(stream);
	return rc;
}

static const struct packing {
	const char *suffix;
	int (*expand)(const void *p, size_t len, struct buf *out, struct err *err);
} packings[] = {
	{".ko.xz", inflate_xz},
	{".ko.zst", expand_zstd},
	{".ko.gz", gzip_inflate},
};

static const struct packing *packing_of(const char *path)
{
	size_t len = strlen(path);

	for (size_t i = 0; i < ARRAY_LEN(packings); i++) {
		size_t suffix_len = strlen(packings[i].suffix);

		if (len > suffix_len && !strcmp(path + len - suffix_len, packings[i].suffix))
			return &packings[i];
	}
	return NULL;
}

bool module_file_is_compressed(const char *path)
{
	return packing_of(path) != NULL;
}

int module_file_expand(const char *path, int *ret_fd, struct err *err)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(LIMIT_MODULE_FILE_LEN);
	_cleanup_(file_view_done) struct file_view in = {0};
	const struct packing *packing = packing_of(path);
	_cleanup_(closep) int to = -1;

	if (!packing)
		return err_set(err, ERR_DATA, "%s: not a compressed module", path);
	if (file_view_open(&in, path, LIMIT_MODULE_FILE_LEN, err))
		return err->code;
	if (packing->expand(in.p, in.len, &out, err))
		return err_prefix(err, "%s", path);
	to = memfd_create("module", MFD_CLOEXEC);
	if (to < 0)
		return err_set(err, ERR_IO, "%s: memfd: cannot create", path);
	if (io_write_all(io_system(), to, out.p, out.len, 0, err))
		return err_prefix(err, "%s", path);
	*ret_fd = TAKE_FD(to);
	return 0;
}
