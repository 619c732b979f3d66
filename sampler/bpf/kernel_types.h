/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_KERNEL_TYPES_H
#define RAWSTACK_KERNEL_TYPES_H
/*
 * The few kernel structs that the BPF program looks into, cut out of /sys/kernel/btf/vmlinux (BTF:
 * linux/Documentation/bpf/btf.rst). libbpf reads all 5 MB of it twice and looks at every name for
 * each field, which is half of what starting the sampler costs. What is not found as expected
 * leaves it to libbpf.
 */
#include "buf.h"

/* Makes BTF with the structs and fields of sampler.bpf.c, of the running kernel. Returns 0;
 * negative: the kernel's types are not as expected, use all of them. */
int kernel_types_cut(struct buf *ret);

/* Does the same from BTF in memory, which may be any bytes. */
int kernel_types_cut_from(const uint8_t *p, size_t len, struct buf *ret);

#endif
