/* SPDX-License-Identifier: Apache-2.0 */
/* Lookups for any processor. */
#define RSYM_VARIANT(name) name##_base
#include "rsym_lookup_core.h"
