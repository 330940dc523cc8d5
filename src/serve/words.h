/*
 * serve/words.h - what a stranger writes into an HTTP request, judged: the parsing that
 * is ours and not the HTTP library's. All functions take any bytes, and allocate nothing.
 */
#ifndef SERVE_WORDS_H
#define SERVE_WORDS_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    SERVE_TOKEN = 32, /* letters of a token, and of the id of a job: hexadecimal */
    SERVE_NAME = 200, /* bytes of the name of an uploaded file, at most */
};

/* "Bearer TOKEN", compared in a time that does not depend on where they differ. */
bool serve_token_matches(const char *authorization, const char token[SERVE_TOKEN + 1]);

/*
 * A Host header that no foreign page can cause: an address or "localhost", with any port
 * (a tunnel has another one). A page of another site whose name was pointed at this
 * machine (DNS rebinding) sends that name.
 */
bool serve_host_is_literal(const char *host);
/* An Origin header of a page that this server has served: "http://" and the Host. */
bool serve_origin_is_own(const char *origin, const char *host);
/* Sec-Fetch-Site of such a page, or of an address that was typed. */
bool serve_site_is_own(const char *site);

/* A name under which an upload is stored: UTF-8 without '/', controls (also of writing
 * direction) or a dot at its start. */
bool serve_name_is_fit(const char *name, size_t n);
/* Neither absolute, nor with "..", nor with a part that begins with a dot. */
bool serve_path_is_visible(const char *path);
/* The id at the end of "/api/events/ID"; false when there is none. */
bool serve_id_read(char id[SERVE_TOKEN + 1], const char *text);
/* A file's name for a header: what is no letter, digit, '.', '-' or '_' becomes '_'. */
void serve_name_plain(char *to, size_t size, const char *path);
/* A length in bytes, decimal digits only; false when it is none or above 2^62. */
bool serve_length_read(unsigned long long *out, const char *text);

#endif
