/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_KERNEL_TYPES_H
#define RAWSTACK_KERNEL_TYPES_H
/*
 * Cuts the few kernel structs that the BPF program looks into out of /sys/kernel/btf/vmlinux (BTF:
 * linux/Documentation/bpf/btf.rst). libbpf would read all 5 MB of it twice and compare every name
 * for each field, which is half of what starting the sampler costs. If the types are not as
 * expected, that is left to libbpf.
 */
#include "buf.h"

/* Appends BTF of the running kernel with the structs and fields of sampler.bpf.c. Returns 0, or
 * negative if the kernel's types are not as expected and libbpf has to read all of them. */
int kernel_types_cut(struct buf *ret);

/* Does the same from BTF in memory, which may be any bytes. */
int kernel_types_cut_from(const uint8_t *p, size_t len, struct buf *ret);

#endif
