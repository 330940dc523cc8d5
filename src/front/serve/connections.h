/*
 * serve/connections.h - no client may hold a connection by being slow. The HTTP library
 * ends idle connections. A client that sends a byte now and then (slow loris) is
 * disconnected here, when its request or reply takes longer than its length allows. Who
 * has not shown the token makes room for newer connections, so that no number of
 * strangers locks the user out.
 */
#ifndef SERVE_CONNECTIONS_H
#define SERVE_CONNECTIONS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    SERVE_MAX_CONNECTIONS = 512,
    SERVE_RESERVED = 32,     /* of them only for clients that have shown the token */
    SERVE_PER_ADDRESS = 256, /* of them at most without the token from one address */
    SERVE_HEADER_S = 10,     /* time for the head of a request */
    SERVE_LEAST_BPS = 65536, /* least rate: bodies and replies get their length over
                                this as extra time */
};

typedef struct serve_connection {
    int fd;         /* -1: free */
    bool is_known;  /* it has shown the token */
    bool is_ended;  /* it made room for others; its thread has not seen that yet */
    uint64_t since; /* number of connections before it */
    uint64_t peer;  /* hash of the address */
    double until_s; /* on the monotonic clock; 0 = no limit */
} serve_connection;

typedef struct serve_connections {
    pthread_mutex_t lock;
    serve_connection at[SERVE_MAX_CONNECTIONS];
    uint64_t n_added;
} serve_connections;

void serve_connections_init(serve_connections *c);
void serve_connections_fini(serve_connections *c);
/* Add a connection; returns its index, or -1 if the table is full. Where strangers have
 * too many, in total or from this address, the oldest of theirs is ended. */
int serve_connection_add(serve_connections *c, int fd);
/* The client of this connection has the token. */
void serve_connection_trust(serve_connections *c, int place);
/* Call this before its descriptor is closed. */
void serve_connection_remove(serve_connections *c, int place);
/* Set the deadline for a transfer of `n_bytes`; or remove it. */
void serve_connection_expect(serve_connections *c, int place, uint64_t n_bytes);
void serve_connection_release(serve_connections *c, int place);
/* End connections that are too slow; call this regularly. */
void serve_connections_reap(serve_connections *c, double now_s);

#endif
