/* SPDX-License-Identifier: Apache-2.0 */
#include "unit_notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base.h"
#include "number.h"

#define SOCKET_NAME "NOTIFY_SOCKET"

void unit_notify(const char *text)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	const char *name = getenv(SOCKET_NAME);
	size_t len = name ? strlen(name) : 0;
	_cleanup_(closep) int fd = -1;

	if (!len || len >= sizeof(to.sun_path) || (name[0] != '/' && name[0] != '@'))
		return;
	memcpy(to.sun_path, name, len);
	if (name[0] == '@')
		to.sun_path[0] = 0;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0)
		(void)sendto(fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL,
			     (struct sockaddr *)&to,
			     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
}

/* Returns half of the time within which systemd wants a message, or 0 if it wants none of this
 * process. */
static uint64_t watchdog_interval(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	uint64_t number;

	if (pid && (!number_read(pid, 10, &number) || number != (uint64_t)getpid()))
		return 0;
	return usec && number_read(usec, 10, &number) ? number * 1000 / 2 : 0;
}

void unit_watchdog_init(struct unit_watchdog *w)
{
	*w = (struct unit_watchdog){.every_ns = watchdog_interval()};
}

void unit_watchdog_feed(struct unit_watchdog *w, uint64_t now_ns)
{
	if (!w->every_ns || now_ns - w->fed_ns < w->every_ns)
		return;
	w->fed_ns = now_ns;
	unit_notify(UNIT_ALIVE);
}

void unit_notify_forget(void)
{
	unsetenv(SOCKET_NAME);
}
