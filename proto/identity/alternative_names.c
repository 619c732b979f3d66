/* SPDX-License-Identifier: Apache-2.0 */
#include "alternative_names.h"

#include <dlfcn.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <pthread.h>

enum {
	IPV4_LEN = 4,
	IPV6_LEN = 16,
};

typedef void *read_extension_fn(const X509 *certificate, int nid, int *critical, int *index);

static read_extension_fn *read_extension;

static void find_library_function(void)
{
	read_extension = (read_extension_fn *)dlsym(RTLD_NEXT, "X509_get_ext_d2i");
}

static bool is_odd_address(const GENERAL_NAME *name)
{
	int type;
	const ASN1_STRING *value = GENERAL_NAME_get0_value(name, &type);

	return type == GEN_IPADD && ASN1_STRING_length(value) != IPV4_LEN &&
	       ASN1_STRING_length(value) != IPV6_LEN;
}

static void drop_odd_addresses(GENERAL_NAMES *names)
{
	for (int i = sk_GENERAL_NAME_num(names) - 1; i >= 0; i--)
		if (is_odd_address(sk_GENERAL_NAME_value(names, i)))
			GENERAL_NAME_free(sk_GENERAL_NAME_delete(names, i));
}

/* Replaces libcrypto's X509_get_ext_d2i() for all libraries of the program: see the header. */
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): its are other words. */
__attribute__((visibility("default"))) void *X509_get_ext_d2i(const X509 *certificate, int nid,
							      int *critical, int *index)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	void *found;

	pthread_once(&once, find_library_function);
	if (!read_extension)
		return NULL;
	found = read_extension(certificate, nid, critical, index);
	if (found && nid == NID_subject_alt_name)
		drop_odd_addresses(found);
	return found;
}

int alternative_names_bound(struct err *err)
{
	if (dlsym(RTLD_DEFAULT, "X509_get_ext_d2i") == (void *)X509_get_ext_d2i)
		return 0;
	return err_set(err, ERR_INTERNAL, "linked without X509_get_ext_d2i() for its libraries");
}
