/* SPDX-License-Identifier: Apache-2.0 */
#include "die_notes.h"

#include <stdio.h>

#include "rsym_report.h"

void die_notes_reason(struct die_notes *n, const char *part, const struct err *why)
{
	char *skipped = n->report->skipped;

	if (!*skipped)
		snprintf(skipped, sizeof(n->report->skipped), "%s: %s", part, why->message);
}

void die_notes_unit(struct die_notes *n, const char *what, uint64_t off, const char *unit_name,
		    const struct err *why)
{
	char part[64];

	snprintf(part, sizeof(part), "%sunit at 0x%llx", what, (unsigned long long)off);
	die_notes_reason(n, part, why);
	if (n->notes)
		rsym_report_note(n->notes, part, unit_name ? unit_name : "", why->message);
}

void die_notes_missing(struct die_notes *n, const char *comp_dir, const char *name)
{
	if (!n->missing)
		return;
	buf_str(n->missing, comp_dir ? comp_dir : "");
	buf_u8(n->missing, 0);
	buf_str(n->missing, name);
	buf_u8(n->missing, 0);
}
