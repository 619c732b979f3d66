/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SERVICES_H
#define RAWSTACK_SERVICES_H
/*
 * Names the service of a process by a table of rules over its cgroup, systemd unit and program.
 *
 *	# field	glob	service
 *	exe	/opt/shop*	shop
 *	cgroup	/kubepods*	kubernetes
 *	unit	nginx*	web
 *
 * Words are separated by blanks; "#" begins a comment. The first rule that matches wins; without
 * any the name of the unit is the service. Globs are those of fnmatch(3) and "*" crosses "/". One
 * thread uses it.
 */
#include "err.h"

struct services {
	struct service_rule *rules;
	size_t count, cap;
	char *text; /* what rules point into */
};

/* Reads the rules of a file; a path of NULL means none. Errors name file and line. */
int services_init(struct services *s, const char *path, struct err *err);
void services_done(struct services *s);

struct service_subject {
	const char *exe, *cgroup, *unit; /* NULL: none */
};

/* Returns the borrowed name of the service, or NULL when there is none. */
const char *services_find(const struct services *s, const struct service_subject *of);

#endif
