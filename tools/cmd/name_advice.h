/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_NAME_ADVICE_H
#define RAWSTACK_NAME_ADVICE_H
/* Tells the user why a binary has no names, and what to do about it. */
#include "profile_view.h"

/* Appends "PATH  build id ID: WHY: COMMAND" and a newline. module may be PROFILE_NONE. */
void name_advice_text(struct buf *out, const struct profile_view *v, uint32_t module);

/* Appends keys to an open object: path, build_id, and those of a service's answer, status and
 * reason, if one was asked. */
void name_advice_json(struct buf *out, const struct profile_view *v, uint32_t module);

#endif
