/* SPDX-License-Identifier: Apache-2.0 */
#include "text_out.h"

#include <inttypes.h>

#include "limits.h"
#include "utf8.h"

#define SPILL_LEN 65536

/* The most bytes of a text with a name for each frame: a constant, and a multiple of the profile's
 * memory. Real profiles take 10 to 60 times their memory; one with a name of a megabyte in millions
 * of frames would take a million times. */
#define TEXT_FREE   (256 * MIB)
#define TEXT_FACTOR 256

uint64_t text_out_max(const struct profile *p)
{
	const struct intern *tables[] = {&p->strings, &p->functions,  &p->locations,
					 &p->stacks,  &p->label_sets, &p->samples};
	uint64_t len = (uint64_t)p->samples.count * p->value_count * sizeof(*p->values);

	for (size_t i = 0; i < ARRAY_LEN(tables); i++)
		len += tables[i]->data_len;
	len *= TEXT_FACTOR;
	return len > TEXT_FREE ? len : TEXT_FREE;
}

int text_out_too_long(const struct text_out *out, struct err *err)
{
	return err_set(err, ERR_LIMIT,
		       "output: more than %" PRIu64 " MiB, for a profile of that content: its "
		       "names are too long for a text with a name for each frame",
		       out->max / MIB);
}

/* Passes on the first len bytes of the buffer. */
static int write_out(struct text_out *out, size_t len, struct err *err)
{
	if (out->max && len > out->max - out->written)
		return text_out_too_long(out, err);
	out->written += len;
	return out->write(out->ctx, out->buf.p, len, err);
}

int text_out_spill(struct text_out *out, struct err *err)
{
	struct buf *b = &out->buf;
	int rc;

	if (b->failed)
		return err_set(err, ERR_LIMIT, "output: a row of more than %zu bytes", b->max);
	if (b->len < SPILL_LEN)
		return 0;
	rc = write_out(out, b->len - 1, err);
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
	rc = b->len ? write_out(out, b->len, err) : 0;
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
