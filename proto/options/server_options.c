/* SPDX-License-Identifier: Apache-2.0 */
#include "server_options.h"

#include <stdlib.h>

const struct option_row server_file_rows[] = {
	OPTION_TEXT(0, "ca", "FILE", struct server_options, ca,
		    "speak TLS, and trust a service whose certificate one of these CAs signed "
		    "($RAWSTACK_CA)",
		    .variable = "RAWSTACK_CA"),
	OPTION_TEXT(0, "cert", "FILE", struct server_options, cert,
		    "present this certificate to the service ($RAWSTACK_CERT)",
		    .variable = "RAWSTACK_CERT"),
	OPTION_TEXT(0, "key", "FILE", struct server_options, key,
		    "the key of that certificate ($RAWSTACK_KEY)", .variable = "RAWSTACK_KEY"),
	OPTION_TEXT(0, "token-file", "FILE", struct server_options, token_file,
		    "send the bearer token in this file ($RAWSTACK_TOKEN_FILE)",
		    .variable = "RAWSTACK_TOKEN_FILE"),
	OPTION_END,
};

const struct option_row server_option_rows[] = {
	OPTION_TEXT(0, "server", "HOST:PORT", struct server_options, server, "the service"),
	OPTION_MORE(server_file_rows),
	OPTION_END,
};

static const char *choose_text(const char *given, const char *variable)
{
	const char *usual = given ? given : getenv(variable);

	return usual && *usual ? usual : NULL;
}

struct server_options server_options_complete(const struct server_options *given)
{
	return (struct server_options){
		.server = choose_text(given->server, "RAWSTACK_SERVER"),
		.ca = choose_text(given->ca, "RAWSTACK_CA"),
		.cert = choose_text(given->cert, "RAWSTACK_CERT"),
		.key = choose_text(given->key, "RAWSTACK_KEY"),
		.token_file = choose_text(given->token_file, "RAWSTACK_TOKEN_FILE"),
	};
}
