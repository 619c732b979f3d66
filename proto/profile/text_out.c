/* SPDX-License-Identifier: Apache-2.0 */
#include "text_out.h"

#include "limits.h"
#include "utf8.h"

#define SPILL_LEN 65536

int text_out_spill(struct text_out *out, struct err *err)
{
	struct buf *b = &out->buf;
	int rc;

	if (b->failed)
		return err_set(err, ERR_LIMIT, "output: a row of more than %zu bytes", b->max);
	if (b->len < SPILL_LEN)
		return 0;
	rc = out->write(out->ctx, b->p, b->len - 1, err);
	b->p[0] = b->p[b->len - 1];
	b->len = 1;
	return rc;
}

void text_out_name(struct buf *out, const char *p, size_t len)
{
	size_t at = out->len;

	if (buf_append(out, p, len) && len)
		utf8_mask((char *)out->p + at, len);
}

int text_out_end(struct text_out *out, struct err *err)
{
	struct buf *b = &out->buf;
	int rc;

	if (b->failed)
		return err_set(err, ERR_LIMIT, "output: a row of more than %zu bytes", b->max);
	rc = b->len ? out->write(out->ctx, b->p, b->len, err) : 0;
	buf_reset(b);
	return rc;
}

void text_out_done(struct text_out *out)
{
	buf_done(&out->buf);
}

int text_out_to_buf(void *buf, const void *p, size_t len, struct err *err)
{
	if (!buf_append(buf, p, len))
		return err_set(err, ERR_LIMIT, "output: too long");
	return 0;
}
