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
	struct build_id alt_id; /* of the dwz alternate file; BUILD_ID_NONE if it names none */
};

/* Reads the summary by image_notes_id() and image_links_read(), and is as safe as they are. The
 * errors are those of image_notes_id(); a missing build id is not an error. */
int image_summary_read(int fd, struct image_summary *ret, struct err *err) _must_check_;

/* Gives the identity: the build id, else the htlhash, which is computed from the file. ERR_IO. */
int image_summary_identity(int fd, const struct image_summary *s, struct build_id *ret,
			   struct err *err) _must_check_;

/*
 * Gives the second name of a file with code and a GNU build id: its htlhash, by which hosts that
 * did not read the note know it. Returns 1, or 0 if the file has none: it has no code (a debug
 * file), no build id, or one outside of what the hash covers, the first and the last 4 KiB. So the
 * build id follows from the hash: nobody can make a file with the same hash and another id, except
 * by a collision of SHA-256 cut to 16 bytes between two files of his own. ERR_IO.
 */
int image_summary_second_name(int fd, const struct image_summary *s, struct build_id *ret,
			      struct err *err) _must_check_;

/*
 * Gives the identity of an ELF file by its own bytes: the GNU build id, else the htlhash. It runs
 * in this process, reads within bounds, and is safe on hostile files; a service has its worker do
 * it (table_inspect.h). ERR_UNSUPPORTED if the file is not ELF.
 */
int image_identify(int fd, struct build_id *ret_id, struct err *err) _must_check_;

#endif
