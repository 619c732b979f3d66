/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_MODULE_FILE_H
#define RAWSTACK_MODULE_FILE_H
/* Files of kernel modules as they were linked: distributions compress them. */
#include "err.h"

/* Returns whether a file is called as the compressed file of a module is: .ko.xz, .ko.zst, .ko.gz.
 */
bool module_file_is_compressed(const char *path);

/* What is in such a file, as a memfd that the caller closes. ERR_DATA: damaged; ERR_LIMIT: more
 * than LIMIT_MODULE_FILE_LEN, packed or not; ERR_IO, ERR_MEMORY. Errors name the path. */
int module_file_expand(const char *path, int *ret_fd, struct err *err) _must_check_;

#endif
