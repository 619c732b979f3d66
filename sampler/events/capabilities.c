/* SPDX-License-Identifier: Apache-2.0 */
#include "capabilities.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define BIT(cap) (UINT64_C(1) << (cap))
#define KEPT     (BIT(CAP_BPF) | BIT(CAP_PERFMON) | BIT(CAP_SYS_PTRACE) | BIT(CAP_SYSLOG))

/* Reads the capability sets by system call: glibc has no wrapper, and libcap would be too much. */
static int get_sets(struct __user_cap_data_struct data[static 2])
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};

	return syscall(SYS_capget, &head, data) ? -errno : 0;
}

static int set_sets(uint64_t caps)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {0};

	for (int i = 0; i < 2; i++) {
		data[i].effective = data[i].permitted = (uint32_t)(caps >> 32 * i);
		data[i].inheritable = 0;
	}
	return syscall(SYS_capset, &head, data) ? -errno : 0;
}

static uint64_t effective_capabilities(void)
{
	struct __user_cap_data_struct data[2] = {0};

	return get_sets(data) ? 0 : data[0].effective | (uint64_t)data[1].effective << 32;
}

bool capabilities_have(int capability)
{
	return effective_capabilities() & BIT(capability);
}

const char *capabilities_missing(char *text, size_t len)
{
	uint64_t have = effective_capabilities();
	/* CAP_SYS_ADMIN includes both, as it did before Linux 5.8, which split them off. */
	bool admin = have & BIT(CAP_SYS_ADMIN);
	bool bpf = admin || have & BIT(CAP_BPF), perfmon = admin || have & BIT(CAP_PERFMON);

	snprintf(text, len, "%s",
		 !bpf && !perfmon ? "CAP_BPF and CAP_PERFMON are missing"
		 : !bpf           ? "CAP_BPF is missing"
		 : !perfmon       ? "CAP_PERFMON is missing"
				  : "the kernel refuses it (lockdown, seccomp or LSM)");
	return text;
}

/* Limits what programs executed later can get to `caps`, as far as this process has CAP_SETPCAP. */
static void bound_capabilities(uint64_t caps)
{
	for (int cap = 0; cap < 64; cap++)
		if (!(caps & BIT(cap)) && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0))
			break; /* EINVAL: past the last one; EPERM: no CAP_SETPCAP */
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
}

/* Keeps user 0 from getting the whole bounding set back by executing a program. */
static void lock_root_out(void)
{
	prctl(PR_SET_SECUREBITS,
	      SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
		      SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
		      SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED,
	      0, 0, 0);
}

int capabilities_keep_sampling(struct err *err)
{
	struct __user_cap_data_struct data[2] = {0};
	uint64_t have;
	int rc = get_sets(data);

	if (rc)
		return err_sys(err, -rc, "capabilities");
	have = data[0].permitted | (uint64_t)data[1].permitted << 32;
	lock_root_out();
	bound_capabilities(KEPT);
	rc = set_sets(have & KEPT);
	if (rc)
		return err_sys(err, -rc, "giving up capabilities");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return err_sys(err, errno, "giving up privileges");
	return 0;
}

static int keep_quietly(uint64_t caps)
{
	lock_root_out();
	bound_capabilities(caps);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	return set_sets(caps);
}

int capabilities_keep_ptrace(void)
{
	return keep_quietly(effective_capabilities() & BIT(CAP_SYS_PTRACE));
}

int capabilities_drop_all(void)
{
	return keep_quietly(0);
}
