/* serve/listen.h - the socket of a server. */
#ifndef SERVE_LISTEN_H
#define SERVE_LISTEN_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum { SERVE_ADDRESS = 64 };

typedef struct serve_socket {
    int fd;
    uint16_t port;
    char host[SERVE_ADDRESS]; /* as in a URL: "127.0.0.1", "[::1]" */
    bool is_local;            /* only this machine can reach it */
} serve_socket;

/* `address` is an IPv4 or IPv6 address. `port` 0: use `usual`, or any port if that is in
 * use. */
halley_status serve_socket_open(serve_socket *out, const char *address, uint32_t port,
                                uint32_t usual, halley_error *err);

#endif
