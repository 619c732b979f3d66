/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_OTLP_WRITE_H
#define RAWSTACK_OTLP_WRITE_H
/*
 * Writes a profile as OpenTelemetry's protobuf message ProfilesData, package
 * opentelemetry.proto.profiles.v1development, of opentelemetry-proto OTLP_VERSION. The format is
 * still in development and changes without notice; only this adapter knows it, and it writes one
 * version.
 *
 * There is one Profile for each type of value, all with one dictionary. Labels become attributes:
 * thread, pid and tid by their names in the semantic conventions (thread.name, process.pid,
 * thread.id), others by their own names. The build id of a binary is
 * process.executable.build_id.gnu.
 *
 * Strings are made UTF-8 (utf8.h). Comments are lost, and so is the mark of locations with folded
 * functions.
 */
#include "profile.h"
#include "text_out.h"

#define OTLP_VERSION "1.9.0"

/* Writes the message. Returns ERR_LIMIT if one profile is longer than protobuf's 2 GiB. */
int otlp_write(const struct profile *p, struct text_out *to, struct err *err) _must_check_;

#endif
