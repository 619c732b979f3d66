/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_FLAME_ASSETS_H
#define RAWSTACK_FLAME_ASSETS_H
/* The files of tools/flame/, which cmake/EmbedFile.cmake embeds in the program. */
#include <stddef.h>
#include <stdint.h>

extern const uint8_t page_html[], page_css[], page_js[];
extern const size_t page_html_len, page_css_len, page_js_len;

#endif
