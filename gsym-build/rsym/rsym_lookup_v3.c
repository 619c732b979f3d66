/* SPDX-License-Identifier: Apache-2.0 */
/* Lookups for x86-64-v3; the build compiles this file with its instructions. */
#define RSYM_VARIANT(name) name##_v3
#include "rsym_lookup_core.h"
