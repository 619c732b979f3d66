/* SPDX-License-Identifier: Apache-2.0 */
#include "zstd_file.h"

#include <errno.h>
#include <zstd.h>

#include "io.h"

enum {
	LEVEL = 1, /* debug files are large, and this level keeps up with disks */
};

struct pipe {
	ZSTD_CCtx *pack;
	ZSTD_DCtx *unpack;
	uint8_t *in, *out;
	size_t in_cap, out_cap;
};

static void pipe_done(struct pipe *p)
{
	ZSTD_freeCCtx(p->pack);
	ZSTD_freeDCtx(p->unpack);
	free(p->in);
	free(p->out);
}

int zstd_file_pack(int in, uint64_t len, int out, uint64_t *ret_len, struct err *err)
{
	_cleanup_(pipe_done) struct pipe p = {
		.pack = ZSTD_createCCtx(),
		.in_cap = ZSTD_CStreamInSize(),
		.out_cap = ZSTD_CStreamOutSize(),
	};
	uint64_t off = 0, written = 0;
	size_t left;

	p.in = malloc(p.in_cap);
	p.out = malloc(p.out_cap);
	if (!p.pack || !p.in || !p.out)
		return err_no_memory(err);
	ZSTD_CCtx_setParameter(p.pack, ZSTD_c_compressionLevel, LEVEL);
	ZSTD_CCtx_setParameter(p.pack, ZSTD_c_checksumFlag, 1);
	ZSTD_CCtx_setPledgedSrcSize(p.pack, len);
	do {
		size_t n = len - off < p.in_cap ? (size_t)(len - off) : p.in_cap;
		ZSTD_inBuffer from = {p.in, n, 0};

		TRY(io_read_all(io_system(), in, p.in, n, (off_t)off, err));
		off += n;
		do {
			ZSTD_outBuffer to = {p.out, p.out_cap, 0};

			left = ZSTD_compressStream2(p.pack, &to, &from,
						    off == len ? ZSTD_e_end : ZSTD_e_continue);
			if (ZSTD_isError(left))
				return err_set(err, ERR_INTERNAL, "zstd: %s",
					       ZSTD_getErrorName(left));
			TRY(io_write_all(io_system(), out, p.out, to.pos, (off_t)written, err));
			written += to.pos;
		} while (from.pos < from.size || (off == len && left));
	} while (off < len);
	*ret_len = written;
	return 0;
}

int zstd_file_unpack(int in, int out, uint64_t max, struct err *err)
{
	_cleanup_(pipe_done) struct pipe p = {
		.unpack = ZSTD_createDCtx(),
		.in_cap = ZSTD_DStreamInSize(),
		.out_cap = ZSTD_DStreamOutSize(),
	};
	uint64_t off = 0, written = 0;
	size_t left = 1;
	ssize_t n;

	p.in = malloc(p.in_cap);
	p.out = malloc(p.out_cap);
	if (!p.unpack || !p.in || !p.out)
		return err_no_memory(err);
	while ((n = pread(in, p.in, p.in_cap, (off_t)off)) > 0) {
		ZSTD_inBuffer from = {p.in, (size_t)n, 0};

		off += (uint64_t)n;
		while (from.pos < from.size) {
			ZSTD_outBuffer to = {p.out, p.out_cap, 0};

			left = ZSTD_decompressStream(p.unpack, &to, &from);
			if (ZSTD_isError(left))
				return err_set(err, ERR_DATA, "zstd: %s", ZSTD_getErrorName(left));
			if (to.pos > max - written)
				return err_set(err, ERR_DATA, "zstd: more bytes than expected");
			TRY(io_write_all(io_system(), out, p.out, to.pos, (off_t)written, err));
			written += to.pos;
		}
	}
	if (n < 0)
		return err_sys(err, errno, "read");
	return left ? err_set(err, ERR_DATA, "zstd: truncated") : 0;
}
