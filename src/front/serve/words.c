/* Headers, names and paths of HTTP requests. */
#include "serve/words.h"

#include "base/file/file_beneath.h"
#include "base/file/file_root.h"
#include "base/utf8.h"

#include <arpa/inet.h>
#include <assert.h>
#include <string.h>
#include <strings.h>

bool serve_token_matches(const char *authorization, const char token[SERVE_TOKEN + 1])
{
    static const char scheme[] = "Bearer ";
    assert(strlen(token) == SERVE_TOKEN);
    if (authorization == NULL ||
        strncasecmp(authorization, scheme, sizeof scheme - 1) != 0)
        return false;
    const char *const given = authorization + sizeof scheme - 1;
    if (strlen(given) != SERVE_TOKEN)
        return false;
    unsigned differs = 0;
    for (size_t i = 0; i < SERVE_TOKEN; i++)
        differs |= (unsigned)(given[i] ^ token[i]);
    return differs == 0;
}

static bool is_port(const char *text)
{
    const size_t n = strspn(text, "0123456789");
    return n > 0 && n <= 5 && text[n] == '\0';
}

/* "[::1]" or "[::1]:80". */
static bool is_bracketed(const char *host)
{
    char address[INET6_ADDRSTRLEN];
    struct in6_addr parsed;
    const char *const end = strchr(host, ']');
    const size_t n = end != NULL ? (size_t)(end - host - 1) : 0;
    if (n == 0 || n >= sizeof address)
        return false;
    memcpy(address, host + 1, n);
    address[n] = '\0';
    return inet_pton(AF_INET6, address, &parsed) == 1 &&
           (end[1] == '\0' || (end[1] == ':' && is_port(end + 2)));
}

bool serve_host_is_literal(const char *host)
{
    char name[INET_ADDRSTRLEN];
    struct in_addr parsed;
    if (host == NULL)
        return false;
    if (host[0] == '[')
        return is_bracketed(host);
    const char *const colon = strchr(host, ':');
    const size_t n = colon != NULL ? (size_t)(colon - host) : strlen(host);
    if (n == 0 || n >= sizeof name || (colon != NULL && !is_port(colon + 1)))
        return false;
    memcpy(name, host, n);
    name[n] = '\0';
    return strcasecmp(name, "localhost") == 0 || inet_pton(AF_INET, name, &parsed) == 1;
}

bool serve_origin_is_own(const char *origin, const char *host)
{
    static const char scheme[] = "http://";
    if (origin == NULL)
        return true; /* no page: a program, or a plain GET */
    return host != NULL && strncmp(origin, scheme, sizeof scheme - 1) == 0 &&
           strcasecmp(origin + sizeof scheme - 1, host) == 0;
}

bool serve_site_is_own(const char *site)
{
    return site == NULL || strcmp(site, "same-origin") == 0 || strcmp(site, "none") == 0;
}

bool serve_name_is_fit(const char *name, size_t n)
{
    if (name == NULL || n == 0 || n > SERVE_NAME || name[0] == '.')
        return false;
    if (memchr(name, '/', n) != NULL || memchr(name, '\\', n) != NULL)
        return false;
    for (size_t i = 0; i < n;) {
        const size_t length = utf8_visible_length((const uint8_t *)name + i, n - i);
        if (length == 0)
            return false;
        i += length;
    }
    return true;
}

bool serve_path_is_visible(const char *path)
{
    return file_path_is_plain(path) && !file_root_hides(path);
}

bool serve_id_read(char id[SERVE_TOKEN + 1], const char *text)
{
    if (strlen(text) != SERVE_TOKEN || strspn(text, "0123456789abcdef") != SERVE_TOKEN)
        return false;
    memcpy(id, text, SERVE_TOKEN + 1);
    return true;
}

void serve_name_plain(char *to, size_t size, const char *path)
{
    assert(size > 0);
    const char *const slash = strrchr(path, '/');
    const char *const name = slash != NULL ? slash + 1 : path;
    size_t n = 0;
    for (; name[n] != '\0' && n + 1 < size; n++) {
        const char c = name[n];
        const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                              (c >= '0' && c <= '9') || c == '.' || c == '-';
        to[n] = c;
        if (!is_plain)
            to[n] = '_';
    }
    to[n] = '\0';
}

bool serve_length_read(unsigned long long *out, const char *text)
{
    unsigned long long value = 0;
    const size_t n = strspn(text, "0123456789");
    if (n == 0 || n > 18 || text[n] != '\0')
        return false;
    for (size_t i = 0; i < n; i++)
        value = 10 * value + (unsigned long long)(text[i] - '0');
    *out = value;
    return true;
}
