/* SPDX-License-Identifier: Apache-2.0 */
#include "err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "utf8.h"

static void clean_message(char *s)
{
	utf8_mask(s, strlen(s));
}

int(err_set)(struct err *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return code;
	err->code = code;
	va_start(ap, fmt);
	vsnprintf(err->message, sizeof(err->message), fmt, ap);
	va_end(ap);
	clean_message(err->message);
	return code;
}

int(err_sys)(struct err *err, int errnum, const char *fmt, ...)
{
	int code = errnum == ENOMEM                      ? ERR_MEMORY
		   : errnum == EPERM || errnum == EACCES ? ERR_DENIED
		   : errnum == ENOENT                    ? ERR_NOT_FOUND
							 : ERR_IO;
	char text[64];
	va_list ap;
	int len;

	if (!err)
		return code;
	err->code = code;
	va_start(ap, fmt);
	len = vsnprintf(err->message, sizeof(err->message), fmt, ap);
	va_end(ap);
	if (len >= 0 && (size_t)len < sizeof(err->message))
		snprintf(err->message + len, sizeof(err->message) - (size_t)len, ": %s",
			 strerror_r(errnum, text, sizeof(text)));
	clean_message(err->message);
	return code;
}

int(err_no_memory)(struct err *err)
{
	return err_set(err, ERR_MEMORY, "out of memory");
}

int(err_full)(struct err *err, bool no_memory, const char *fmt, ...)
{
	va_list ap;

	if (no_memory)
		return err_no_memory(err);
	if (!err)
		return ERR_LIMIT;
	err->code = ERR_LIMIT;
	va_start(ap, fmt);
	vsnprintf(err->message, sizeof(err->message), fmt, ap);
	va_end(ap);
	clean_message(err->message);
	return ERR_LIMIT;
}

int(err_prefix)(struct err *err, const char *fmt, ...)
{
	char rest[ERR_MESSAGE_MAX];
	va_list ap;
	int len;

	if (!err)
		return ERR_INTERNAL;
	memcpy(rest, err->message, sizeof(rest));
	va_start(ap, fmt);
	len = vsnprintf(err->message, sizeof(err->message), fmt, ap);
	va_end(ap);
	if (len >= 0 && (size_t)len < sizeof(err->message))
		snprintf(err->message + len, sizeof(err->message) - (size_t)len, ": %s", rest);
	clean_message(err->message);
	return err->code;
}

int err_exit_status(int code)
{
	return code >= 0 ? 0 : code == ERR_USAGE ? 2 : 1;
}
