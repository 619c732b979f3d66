/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SANITIZER_H
#define RAWSTACK_SANITIZER_H
/*
 * UNDER_SANITIZER is 1 in a build with a sanitizer, which reserves terabytes of addresses and makes
 * system calls of its own. The limits and filters of the sandbox that would stop it are then left
 * out.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define UNDER_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define UNDER_SANITIZER 1
#endif
#endif
#ifndef UNDER_SANITIZER
#define UNDER_SANITIZER 0
#endif

#endif
