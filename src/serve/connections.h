/*
 * serve/connections.h - no client may hold a connection by being slow. The HTTP library
 * ends connections on which nothing happens; one that sends a byte now and then (slow
 * loris) is ended here, when its request or reply takes longer than its length allows.
 */
#ifndef SERVE_CONNECTIONS_H
#define SERVE_CONNECTIONS_H

#include <pthread.h>
#include <stdint.h>

enum {
    SERVE_MAX_CONNECTIONS = 512,
    SERVE_HEADER_S = 10,     /* for the head of a request */
    SERVE_LEAST_BPS = 65536, /* bodies and replies have their length over this, more */
};

typedef struct serve_connection {
    int fd;         /* -1: free */
    double until_s; /* on the monotonic clock; 0 = as long as it takes */
} serve_connection;

typedef struct serve_connections {
    pthread_mutex_t lock;
    serve_connection at[SERVE_MAX_CONNECTIONS];
} serve_connections;

void serve_connections_init(serve_connections *c);
void serve_connections_fini(serve_connections *c);
/* A new connection; its place, or -1 when there is none. */
int serve_connection_add(serve_connections *c, int fd);
/* Before its descriptor is closed. */
void serve_connection_remove(serve_connections *c, int place);
/* What comes now has `n_bytes`; or it may last. */
void serve_connection_expect(serve_connections *c, int place, uint64_t n_bytes);
void serve_connection_release(serve_connections *c, int place);
/* End those that are too slow; now and then. */
void serve_connections_reap(serve_connections *c, double now_s);

#endif
