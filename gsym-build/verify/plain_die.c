/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the attributes of one DIE that a table needs. */
#include "plain_priv.h"

#include <string.h>

static void free_die_error(Dwarf_Debug dbg, Dwarf_Error e)
{
	if (e)
		dwarf_dealloc(dbg, e, DW_DLA_ERROR);
}

/* Producers use all constant forms. libdwarf reads signed and unsigned ones by different
 * functions. */
static bool read_number(Dwarf_Debug dbg, Dwarf_Attribute at, uint64_t *ret)
{
	Dwarf_Error e = NULL;
	Dwarf_Unsigned u;
	Dwarf_Signed s;

	if (dwarf_formudata(at, &u, &e) == DW_DLV_OK) {
		*ret = u;
		return true;
	}
	free_die_error(dbg, e);
	e = NULL;
	if (dwarf_formsdata(at, &s, &e) == DW_DLV_OK && s >= 0) {
		*ret = (uint64_t)s;
		return true;
	}
	free_die_error(dbg, e);
	return false;
}

static bool read_address(struct plain_reader *r, Dwarf_Debug dbg, Dwarf_Attribute at,
			 Dwarf_Half form, uint64_t *ret)
{
	Dwarf_Error e = NULL;
	Dwarf_Addr a;
	Dwarf_Unsigned index;

	/* The addresses of a split unit are in the file of its skeleton. */
	if (r->in_split && form != DW_FORM_addr) {
		if (dwarf_get_debug_addr_index(at, &index, &e) == DW_DLV_OK)
			return plain_ranges_address(&r->source, index, ret);
		free_die_error(dbg, e);
		return false;
	}

	if (dwarf_formaddr(at, &a, &e) == DW_DLV_OK) {
		*ret = a;
		return true;
	}
	free_die_error(dbg, e);
	return false;
}

/* Reads an id of eight bytes, which producers write as a number or as a signature. */
static bool read_dwo_id(Dwarf_Debug dbg, Dwarf_Attribute at, uint64_t *ret)
{
	Dwarf_Error e = NULL;
	Dwarf_Sig8 id;

	if (read_number(dbg, at, ret))
		return true;
	if (dwarf_formsig8_const(at, &id, &e) == DW_DLV_OK) {
		memcpy(ret, &id, sizeof(*ret));
		return true;
	}
	free_die_error(dbg, e);
	return false;
}

static bool read_reference(Dwarf_Debug dbg, Dwarf_Attribute at, uint64_t *ret)
{
	Dwarf_Error e = NULL;
	Dwarf_Off off;

	if (dwarf_global_formref(at, &off, &e) == DW_DLV_OK) {
		*ret = off;
		return true;
	}
	free_die_error(dbg, e);
	return false;
}

static const char *read_string(Dwarf_Debug dbg, Dwarf_Attribute at)
{
	Dwarf_Error e = NULL;
	char *s = NULL;

	if (dwarf_formstring(at, &s, &e) == DW_DLV_OK)
		return s;
	free_die_error(dbg, e);
	return NULL;
}

static bool holds_address(Dwarf_Half form)
{
	return form == DW_FORM_addr || form == DW_FORM_addrx ||
	       (form >= DW_FORM_addrx1 && form <= DW_FORM_addrx4) || form == DW_FORM_GNU_addr_index;
}

/* Returns whether a form points into a dwz file. libdwarf returns a placeholder for such a string
 * if the file is missing, so forms are checked first. */
static bool is_alt_form(Dwarf_Half form)
{
	return form == DW_FORM_GNU_strp_alt || form == DW_FORM_GNU_ref_alt ||
	       form == DW_FORM_strp_sup || form == DW_FORM_ref_sup4 || form == DW_FORM_ref_sup8;
}

/* Reads an attribute that only the DIEs of units have. */
static void read_unit_attribute(Dwarf_Debug dbg, Dwarf_Attribute at, Dwarf_Half name,
				struct plain_die *ret)
{
	switch (name) {
	case DW_AT_comp_dir:
		ret->comp_dir = read_string(dbg, at);
		break;
	case DW_AT_dwo_name:
	case DW_AT_GNU_dwo_name:
		ret->dwo_name = read_string(dbg, at);
		break;
	case DW_AT_stmt_list:
		ret->has_lines = read_reference(dbg, at, &ret->lines);
		break;
	case DW_AT_GNU_dwo_id:
		ret->has_dwo_id = read_dwo_id(dbg, at, &ret->dwo_id);
		break;
	case DW_AT_GNU_ranges_base:
		read_reference(dbg, at, &ret->ranges_base);
		break;
	case DW_AT_GNU_addr_base:
	case DW_AT_addr_base:
		read_reference(dbg, at, &ret->addr_base);
		break;
	case DW_AT_rnglists_base:
		read_reference(dbg, at, &ret->rnglists_base);
		break;
	default:
		break;
	}
}

static void read_attribute(struct plain_reader *r, Dwarf_Debug dbg, Dwarf_Attribute at,
			   Dwarf_Half name, Dwarf_Half form, struct plain_die *ret)
{
	uint64_t v;

	switch (name) {
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name:
		ret->linkage_name = read_string(dbg, at);
		break;
	case DW_AT_name:
		ret->name = read_string(dbg, at);
		break;
	case DW_AT_specification:
	case DW_AT_abstract_origin:
		if ((name == DW_AT_specification || !ret->origin.off) && form != DW_FORM_ref_sig8 &&
		    read_reference(dbg, at, &v))
			ret->origin = (struct die_ref){
				.off = v, .in_alt = is_alt_form(form) || dbg == r->alt.dbg};
		break;
	case DW_AT_low_pc:
		ret->has_low = read_address(r, dbg, at, form, &ret->low);
		break;
	case DW_AT_high_pc:
		ret->high_is_length = !holds_address(form);
		ret->has_high = ret->high_is_length ? read_number(dbg, at, &ret->high)
						    : read_address(r, dbg, at, form, &ret->high);
		break;
	case DW_AT_ranges:
		ret->ranges_is_index = form == DW_FORM_rnglistx;
		ret->has_ranges = ret->ranges_is_index ? read_number(dbg, at, &ret->ranges)
						       : read_reference(dbg, at, &ret->ranges);
		break;
	case DW_AT_entry_pc: /* ignored if it is a constant: an offset in DWARF 5 */
		ret->has_entry = holds_address(form) && read_address(r, dbg, at, form, &ret->entry);
		break;
	case DW_AT_decl_file:
		ret->has_decl_file = read_number(dbg, at, &ret->decl_file);
		break;
	case DW_AT_decl_line:
		read_number(dbg, at, &ret->decl_line);
		break;
	case DW_AT_call_file:
		read_number(dbg, at, &ret->call_file);
		break;
	case DW_AT_call_line:
		read_number(dbg, at, &ret->call_line);
		break;
	case DW_AT_call_column:
		read_number(dbg, at, &ret->call_column);
		break;
	case DW_AT_GNU_discriminator:
		read_number(dbg, at, &ret->discriminator);
		break;
	default:
		read_unit_attribute(dbg, at, name, ret);
		break;
	}
}

int plain_die_read(struct plain_reader *r, Dwarf_Debug dbg, Dwarf_Die die, struct plain_die *ret,
		   struct err *err)
{
	Dwarf_Attribute *list = NULL;
	Dwarf_Signed count = 0;
	Dwarf_Error e = NULL;
	int rc;

	*ret = (struct plain_die){0};
	if (dwarf_dieoffset(die, &ret->off, &e) != DW_DLV_OK)
		return plain_object_failed(dbg, e, "DIE", err);
	rc = dwarf_attrlist(die, &list, &count, &e);
	if (rc == DW_DLV_NO_ENTRY)
		return 0;
	if (rc != DW_DLV_OK)
		return plain_object_failed(dbg, e, "attributes", err);
	for (Dwarf_Signed i = 0; i < count; i++) {
		Dwarf_Half name, form;

		if (dwarf_whatattr(list[i], &name, &e) == DW_DLV_OK &&
		    dwarf_whatform(list[i], &form, &e) == DW_DLV_OK) {
			if (is_alt_form(form) && !r->alt.dbg)
				ret->in_alt_file |= name == DW_AT_name ||
						    name == DW_AT_linkage_name ||
						    name == DW_AT_abstract_origin ||
						    name == DW_AT_specification;
			else
				read_attribute(r, dbg, list[i], name, form, ret);
		} else {
			free_die_error(dbg, e);
			e = NULL;
		}
		dwarf_dealloc(dbg, list[i], DW_DLA_ATTR);
	}
	dwarf_dealloc(dbg, list, DW_DLA_LIST);
	return 0;
}
