/* SPDX-License-Identifier: Apache-2.0 */
/* profile-names FILE|SPOOL...: the function of each leaf with its sum, and all of it as folded
 * stacks. Built by: cc profile-names.c $(pkg-config --cflags --libs librawstack-profile) */
#include <err.h>
#include <rawstack_profile.h>
#include <stdio.h>

static int put_piece(void *file, const void *bytes, size_t len)
{
	return fwrite(bytes, 1, len, file) != len;
}

int main(int argc, char **argv)
{
	struct rawstack_profile *p = rawstack_profile_new();
	struct rawstack_profile_error error;
	struct rawstack_profile_sample sample;
	struct rawstack_profile_frame frame;

	if (argc < 2 || !p)
		errx(2, "usage: profile-names FILE|SPOOL...");
	for (int a = 1; a < argc; a++)
		if (rawstack_profile_read_file(p, argv[a], &error))
			errx(1, "%s", error.message);
	for (uint32_t i = 0; rawstack_profile_sample(p, i, &sample, sizeof(sample)); i++)
		if (sample.location_count &&
		    rawstack_profile_frame(p, sample.locations[0], 0, &frame, sizeof(frame)))
			printf("%.*s %lld\n", (int)frame.function.len, frame.function.p,
			       (long long)sample.values[0]);
	if (rawstack_profile_write(p, RAWSTACK_PROFILE_FOLDED, 0, put_piece, stdout, &error))
		errx(1, "%s", error.message);
	rawstack_profile_free(p);
	return 0;
}
