/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_ALTERNATIVE_NAMES_H
#define RAWSTACK_ALTERNATIVE_NAMES_H
/*
 * Makes libraries read the alternative names of certificates safely. gRPC core 1.51 aborts the
 * process if a peer shows a certificate with an IP address that has neither 4 nor 16 bytes (RFC
 * 5280 section 4.2.1.6), before anybody has decided whether to trust it. So a program that links
 * this room replaces libcrypto's X509_get_ext_d2i() for all its libraries by one that leaves such
 * names out. Safe from any thread.
 */
#include "err.h"

/* Checks that the replacement is in effect. Returns ERR_INTERNAL if the program was linked without
 * it. */
int alternative_names_bound(struct err *err) _must_check_;

#endif
