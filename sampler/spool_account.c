/* SPDX-License-Identifier: Apache-2.0 */
#include "spool_account.h"

#include <stdio.h>
#include <string.h>

#include "crc32c.h"
#include "spool_format.h"
#include "spool_halves.h"

#define ACCOUNT_NAME "account"

_Static_assert((int)SPOOL_LOSS_COUNT <= (int)SPOOL_DISK_LOSSES, "every loss has a place");
_Static_assert(sizeof(((struct spool_disk_account *)NULL)->why) == SPOOL_ACCOUNT_WHY_LEN,
	       "a reason fits");

static uint32_t account_crc(struct spool_disk_account account)
{
	account.crc = 0;
	return crc32c(0, &account, sizeof(account));
}

static void decode_account(const struct spool_disk_account *a, struct spool_account *ret)
{
	*ret = (struct spool_account){
		.sequence = a->sequence,
		.unix_ns = a->unix_ns,
		.samples = a->samples,
		.run_samples = a->run_samples,
	};
	for (uint32_t i = 0; i < a->loss_count && i < SPOOL_LOSS_COUNT; i++) {
		ret->losses[i] = a->losses[i].total;
		ret->run_losses[i] = a->losses[i].run;
	}
	memcpy(ret->why, a->why, sizeof(ret->why));
	ret->why[sizeof(ret->why) - 1] = 0;
}

void spool_account_read(const struct io *io, int dir_fd, struct spool_account *ret)
{
	*ret = (struct spool_account){0};
	for (int half = 0; half < 2; half++) {
		struct spool_disk_account a;

		if (!spool_halves_read(io, dir_fd, ACCOUNT_NAME, half, &a, sizeof(a)) &&
		    !memcmp(a.magic, SPOOL_ACCOUNT_MAGIC, sizeof(a.magic)) &&
		    a.major == SPOOL_STATE_MAJOR && a.crc == account_crc(a) &&
		    a.sequence > ret->sequence)
			decode_account(&a, ret);
	}
}

int spool_account_write(const struct io *io, int dir_fd, struct spool_account *account)
{
	struct spool_disk_account a = {
		.magic = SPOOL_ACCOUNT_MAGIC,
		.major = SPOOL_STATE_MAJOR,
		.sequence = account->sequence + 1,
		.unix_ns = account->unix_ns,
		.samples = account->samples,
		.run_samples = account->run_samples,
		.loss_count = SPOOL_LOSS_COUNT,
	};
	int rc;

	for (uint32_t i = 0; i < SPOOL_LOSS_COUNT; i++) {
		a.losses[i].total = account->losses[i];
		a.losses[i].run = account->run_losses[i];
	}
	memcpy(a.why, account->why, sizeof(a.why));
	a.crc = account_crc(a);
	rc = spool_halves_write(io, dir_fd, ACCOUNT_NAME, a.sequence, false, &a, sizeof(a));
	if (!rc)
		account->sequence = a.sequence;
	return rc;
}
