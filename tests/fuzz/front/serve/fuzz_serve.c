/*
 * Any bytes as what an HTTP request says: token, host, origin, names, paths, ids,
 * lengths. Nothing that is accepted may lead out of a folder or into a header.
 */
#include "serve/words.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n);

static void check_name(const char *text, size_t n)
{
    char plain[64];
    if (serve_name_is_fit(text, n) &&
        (memchr(text, '/', n) != NULL || memchr(text, '\0', n) != NULL || text[0] == '.'))
        abort();
    serve_name_plain(plain, sizeof plain, text);
    if (strpbrk(plain, "\"\r\n\\/;") != NULL)
        abort();
    if (serve_path_is_visible(text) && (text[0] == '/' || strstr(text, "/../") != NULL))
        abort();
}

static void check_head(const char *text)
{
    static const char token[] = "0123456789abcdef0123456789abcdef";
    char id[SERVE_TOKEN + 1];
    unsigned long long length = 0;
    if (serve_token_matches(text, token) && strstr(text, token) == NULL)
        abort();
    if (serve_host_is_literal(text) && strpbrk(text, "/@ \r\n") != NULL)
        abort();
    (void)serve_origin_is_own(text, "localhost:1");
    (void)serve_origin_is_own("http://localhost:1", text);
    (void)serve_site_is_own(text);
    if (serve_id_read(id, text) && strlen(id) != SERVE_TOKEN)
        abort();
    if (serve_length_read(&length, text) && length > 1000000000000000000)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    char *const text = malloc(n + 1);
    if (text == NULL)
        return 0;
    if (n > 0)
        memcpy(text, at, n);
    text[n] = '\0';
    check_name(text, n);
    check_head(text);
    free(text);
    return 0;
}
