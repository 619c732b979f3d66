/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_CAPABILITIES_H
#define RAWSTACK_CAPABILITIES_H
/* Checks the capabilities (capabilities(7)) of this process, and gives up those not needed. */
#include "err.h"

/* Writes to `text` which of CAP_BPF and CAP_PERFMON are missing ("CAP_BPF is missing"), or, if none
 * is, "the kernel refuses it (lockdown, seccomp or LSM)". Returns text. */
const char *capabilities_missing(char *text, size_t len);

/* Returns whether a capability of linux/capability.h is in the effective set. */
bool capabilities_have(int capability);

/* Gives up all capabilities but CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE and CAP_SYSLOG, for good.
 * Returns 0 or an error. */
int capabilities_keep_sampling(struct err *err);

/* Gives up all capabilities but CAP_SYS_PTRACE, which reading other processes takes. Returns 0 or
 * -errno. */
int capabilities_keep_ptrace(void);

/* Gives up all capabilities, for good and for every program executed later. The user id stays. It
 * may be called between fork() and exec(). Returns 0 or -errno. */
int capabilities_drop_all(void);

#endif
