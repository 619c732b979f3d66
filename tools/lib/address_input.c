/* SPDX-License-Identifier: Apache-2.0 */
#include "address_input.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "limits.h"
#include "number.h"

/* Longer than any address with blanks around it. */
#define LINE_MAX_LEN  ((size_t)4096)
#define CHUNK         ((size_t)65536)
/* A program that writes so many addresses at once does not wait for answers in between, so it pays
 * to wait a moment for the rest. */
#define MANY          256
#define MANY_PAUSE_MS 20
/* One more than the number of addresses that is answered without the whole table. */
#define BATCH_MAX     (LIMIT_WANTED + 1)

/* Reads hex digits at *text, behind blanks and perhaps 0x. Returns false if there are none. */
static bool take_address(const char **text, uint64_t *ret)
{
	const char *at = *text;

	while (is_blank(*at))
		at++;
	if (at[0] == '0' && (at[1] == 'x' || at[1] == 'X')) {
		*text = at + 2;
		if (number_take(text, 16, ret))
			return true;
	}
	*text = at;
	return number_take(text, 16, ret);
}

int address_parse(const char *text, uint64_t *ret, struct err *err)
{
	const char *at = text;

	if (!take_address(&at, ret) || *at)
		return err_set(err, ERR_USAGE, "resolve: %s: not a hex address of 64 bits", text);
	return 0;
}

void address_input_init(struct address_input *in, int fd, bool lenient)
{
	*in = (struct address_input){
		.fd = fd, .lenient = lenient, .text = BUF_INIT(LINE_MAX_LEN + CHUNK)};
}

void address_input_done(struct address_input *in)
{
	buf_done(&in->text);
	free(in->list);
}

static int take_address_line(struct address_input *in, const uint8_t *p, size_t len,
			     struct err *err)
{
	char line[LINE_MAX_LEN + 1];
	uint64_t address = 0;
	const char *start = line;

	while (len && (p[len - 1] == '\r' || is_blank((char)p[len - 1])))
		len--;
	memcpy(line, p, len);
	line[len] = 0;
	while (is_blank(*start))
		start++;
	if (!in->lenient && !*start)
		return 0;
	if (!in->lenient)
		TRY(address_parse(start, &address, err));
	else if (!take_address(&start, &address))
		address = 0;
	if (!GROW(in->list, &in->cap, in->count + 1, SIZE_MAX))
		return err_no_memory(err);
	in->list[in->count++] = address;
	return 0;
}

/* Takes all whole lines; the last one needs no newline. */
static int take_lines(struct address_input *in, struct err *err)
{
	size_t at = 0;
	int rc = 0;

	while (!rc && at < in->text.len) {
		const uint8_t *p = in->text.p + at;
		const uint8_t *newline = memchr(p, '\n', in->text.len - at);
		size_t len = newline ? (size_t)(newline - p) : in->text.len - at;

		if (len > LINE_MAX_LEN)
			return err_set(err, ERR_LIMIT, "resolve: a line of more than %zu bytes",
				       LINE_MAX_LEN);
		if (!newline && !in->end)
			break;
		rc = take_address_line(in, p, len, err);
		at += len + (newline != NULL);
	}
	if (at)
		memmove(in->text.p, in->text.p + at, in->text.len - at);
	in->text.len -= at;
	return rc;
}

/* Returns whether more input is there, or comes at once. */
static bool more_comes(const struct address_input *in)
{
	struct pollfd p = {.fd = in->fd, .events = POLLIN};

	return !in->end && in->count < BATCH_MAX &&
	       poll(&p, 1, in->count < MANY ? 0 : MANY_PAUSE_MS) > 0;
}

int address_input_next(struct address_input *in, struct err *err)
{
	int rc;

	in->count = 0;
	for (;;) {
		uint8_t *room;
		ssize_t n;

		if (in->end)
			return in->count != 0;
		room = buf_extend(&in->text, CHUNK);
		if (!room)
			return err_no_memory(err);
		in->text.len -= CHUNK;
		do
			n = read(in->fd, room, CHUNK);
		while (n < 0 && errno == EINTR);
		if (n < 0)
			return err_sys(err, errno, "standard input");
		in->text.len += (size_t)n;
		in->end = n == 0;
		rc = take_lines(in, err);
		if (rc || (in->count && !more_comes(in)))
			return rc ? rc : 1;
	}
}
