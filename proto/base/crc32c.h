/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_CRC32C_H
#define RAWSTACK_CRC32C_H
/* CRC-32C (Castagnoli, RFC 3720 appendix B.4), the checksum of spool records and table sections. */
#include "base.h"

/* Continues a checksum from crc, which is 0 at the start: crc32c(crc32c(0, a), b) is that of a
 * followed by b. */
uint32_t crc32c(uint32_t crc, const void *p, size_t len);

#endif
