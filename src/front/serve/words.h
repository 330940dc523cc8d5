/*
 * serve/words.h - validate the untrusted parts of HTTP requests that halley parses itself
 * instead of the HTTP library. All functions accept any bytes and allocate nothing.
 */
#ifndef SERVE_WORDS_H
#define SERVE_WORDS_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    SERVE_TOKEN = 32, /* hexadecimal digits of a token, and of the id of a job */
    SERVE_NAME = 200, /* bytes of the name of an uploaded file, at most */
};

/* Compare with "Bearer TOKEN" in constant time. */
bool serve_token_matches(const char *authorization, const char token[SERVE_TOKEN + 1]);

/* True for a Host header that no foreign page can cause: an address or "localhost", with
 * any port (a tunnel has another port). With DNS rebinding, another site's name points to
 * this machine; its pages send that name. */
bool serve_host_is_literal(const char *host);
/* True for the Origin header of a page that this server has served: "http://" and the
 * Host. */
bool serve_origin_is_own(const char *origin, const char *host);
/* True for the Sec-Fetch-Site of such a page, or of an address that was typed. */
bool serve_site_is_own(const char *site);

/* True if an upload may be stored under this name: UTF-8 without '/', control characters
 * (including bidirectional ones) or a leading dot. */
bool serve_name_is_fit(const char *name, size_t n);
/* True if the path is not absolute, has no "..", and is not hidden (file_root_hides). */
bool serve_path_is_visible(const char *path);
/* Read the id at the end of "/api/events/ID"; false if there is none. */
bool serve_id_read(char id[SERVE_TOKEN + 1], const char *text);
/* A file's name for a header: everything but ASCII alphanumerics, '.', '-' and '_'
 * becomes '_'. */
void serve_name_plain(char *to, size_t size, const char *path);
/* Read a length in bytes, decimal digits only; false if it is none or above 2^62. */
bool serve_length_read(unsigned long long *out, const char *text);

#endif
