/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_IMAGE_SUMMARY_H
#define RAWSTACK_IMAGE_SUMMARY_H
/* A summary of the headers of one ELF file: its identity, its kind, and the alternate file that it
 * refers to. It has a fixed size, so that a worker can reply with it (table_inspect.h). */
#include "image_links.h"
#include "image_notes.h"

struct image_summary {
	struct image_id id;
	enum image_kind kind;   /* IMAGE_OTHER when section headers are absent or damaged */
	struct build_id alt_id; /* of the dwz alternate file; BUILD_ID_NONE: it names none */
};

/* Reads the summary by image_notes_id() and image_links_read(), and is as safe as they are. Errors
 * as image_notes_id(); a missing build id is not an error. */
int image_summary_read(int fd, struct image_summary *ret, struct err *err) _must_check_;

/* The identity: the build id, else the htlhash, which is computed from the file. ERR_IO. */
int image_summary_identity(int fd, const struct image_summary *s, struct build_id *ret,
			   struct err *err) _must_check_;

/*
 * The alias, as an id, of a file with code and a GNU build id: its htlhash, by which hosts know it
 * that did not read the note. 1, or 0 when it has none: there is no code in it (a debug file), no
 * build id, or one that was found outside of what the hash covers, the first and the last 4 KiB. So
 * the build id follows from the hash: nobody can make a file of the same hash and another id (other
 * than by a collision of SHA-256 cut to 16 bytes, both files his own). ERR_IO.
 */
int image_summary_second_name(int fd, const struct image_summary *s, struct build_id *ret,
			      struct err *err) _must_check_;

/*
 * The identity of an ELF file by its own bytes: the GNU build id, else the htlhash. Reads headers
 * and notes only, in this process, with bounds: safe on hostile files. A service has its worker do
 * it (table_inspect.h). ERR_UNSUPPORTED when not ELF.
 */
int image_identify(int fd, struct build_id *ret_id, struct err *err) _must_check_;

#endif
