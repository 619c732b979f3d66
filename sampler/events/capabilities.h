/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_CAPABILITIES_H
#define RAWSTACK_CAPABILITIES_H
/* Linux capabilities of this process (capabilities(7)): what is missing, and giving up the rest. */
#include "err.h"

/* "CAP_BPF and CAP_PERFMON are missing", or, when both are there, "the kernel refuses it
 * (lockdown, seccomp or LSM)". Returns text. */
const char *capabilities_missing(char *text, size_t len);

/* Whether this process has one of linux/capability.h in effect. */
bool capabilities_have(int capability);

/* Keeps CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE and CAP_SYSLOG at most, in every set, for good. */
int capabilities_keep_sampling(struct err *err);

/* Keeps CAP_SYS_PTRACE at most, for looking into other processes and nothing else. Returns 0 or
 * -errno. */
int capabilities_keep_ptrace(void);

/* Gives up everything, for good and for every program executed later. The user id stays. Safe
 * between fork() and exec(). Returns 0 or -errno. */
int capabilities_drop_all(void);

#endif
