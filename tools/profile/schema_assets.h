/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SCHEMA_ASSETS_H
#define RAWSTACK_SCHEMA_ASSETS_H
/* The files of tools/schemas/, which cmake/EmbedFile.cmake embeds in the program. */
#include <stddef.h>
#include <stdint.h>

extern const uint8_t copies_schema[], locks_schema[], tax_schema[];
extern const size_t copies_schema_len, locks_schema_len, tax_schema_len;

#endif
