/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SERVICES_H
#define RAWSTACK_SERVICES_H
/*
 * What people call a process: a table of rules over its cgroup, systemd unit and program.
 *
 *	# field	glob	service
 *	exe	/opt/shop*	shop
 *	cgroup	/kubepods*	kubernetes
 *	unit	nginx*	web
 *
 * Words separated by blanks; "#" begins a comment. The first rule that matches wins; without any
 * the name of the unit is the service. Globs are those of fnmatch(3) and "*" crosses "/". One
 * thread.
 */
#include "err.h"

struct services {
	struct service_rule *rules;
	size_t count, cap;
	char *text; /* what rules point into */
};

/* path: NULL leaves it without rules. Errors name file and line. */
int services_init(struct services *s, const char *path, struct err *err);
void services_done(struct services *s);

struct service_subject {
	const char *exe, *cgroup, *unit; /* NULL: none */
};

/* NULL: none. Borrowed. */
const char *services_find(const struct services *s, const struct service_subject *of);

#endif
