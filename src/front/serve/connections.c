/* Deadlines of connections. */
#include "serve/connections.h"

#include "base/clock.h"
#include "base/hash.h"

#include <assert.h>
#include <netinet/in.h>
#include <sys/socket.h>

void serve_connections_init(serve_connections *c)
{
    pthread_mutex_init(&c->lock, NULL);
    for (int i = 0; i < SERVE_MAX_CONNECTIONS; i++)
        c->at[i].fd = -1;
}

void serve_connections_fini(serve_connections *c)
{
    pthread_mutex_destroy(&c->lock);
}

/* The same for all connections of one machine. */
static uint64_t hash_peer(int fd)
{
    struct sockaddr_storage peer = {0};
    socklen_t n = sizeof peer;
    if (getpeername(fd, (struct sockaddr *)&peer, &n) != 0)
        return 0;
    if (peer.ss_family == AF_INET)
        ((struct sockaddr_in *)&peer)->sin_port = 0;
    else if (peer.ss_family == AF_INET6)
        ((struct sockaddr_in6 *)&peer)->sin6_port = 0;
    return hash_bytes(&peer, n < sizeof peer ? n : sizeof peer, 0);
}

/* Under the lock: end the oldest connection without the token, of one address where
 * `peer` is given. Its thread sees the end and frees its place soon. */
static void end_oldest(serve_connections *c, const uint64_t *peer)
{
    serve_connection *oldest = NULL;
    for (int i = 0; i < SERVE_MAX_CONNECTIONS; i++) {
        serve_connection *const one = &c->at[i];
        if (one->fd >= 0 && !one->is_known && !one->is_ended &&
            (peer == NULL || one->peer == *peer) &&
            (oldest == NULL || one->since < oldest->since))
            oldest = one;
    }
    if (oldest == NULL)
        return;
    (void)shutdown(oldest->fd, SHUT_RDWR);
    oldest->is_ended = true;
}

int serve_connection_add(serve_connections *c, int fd)
{
    const uint64_t peer = hash_peer(fd);
    int place = -1, n_strangers = 0, n_here = 0;
    pthread_mutex_lock(&c->lock);
    for (int i = 0; i < SERVE_MAX_CONNECTIONS; i++) {
        const serve_connection *const one = &c->at[i];
        place = one->fd < 0 && place < 0 ? i : place;
        const bool is_stranger = one->fd >= 0 && !one->is_known && !one->is_ended;
        n_strangers += is_stranger;
        n_here += is_stranger && one->peer == peer;
    }
    if (n_here >= SERVE_PER_ADDRESS)
        end_oldest(c, &peer);
    else if (n_strangers >= SERVE_MAX_CONNECTIONS - SERVE_RESERVED)
        end_oldest(c, NULL);
    if (place >= 0)
        c->at[place] = (serve_connection){.fd = fd,
                                          .since = c->n_added++,
                                          .peer = peer,
                                          .until_s = clock_s() + SERVE_HEADER_S};
    pthread_mutex_unlock(&c->lock);
    return place;
}

void serve_connection_trust(serve_connections *c, int place)
{
    if (place < 0)
        return;
    assert(place < SERVE_MAX_CONNECTIONS);
    pthread_mutex_lock(&c->lock);
    c->at[place].is_known = true;
    pthread_mutex_unlock(&c->lock);
}

static void set_deadline(serve_connections *c, int place, double until_s)
{
    if (place < 0)
        return;
    assert(place < SERVE_MAX_CONNECTIONS);
    pthread_mutex_lock(&c->lock);
    c->at[place].until_s = until_s;
    pthread_mutex_unlock(&c->lock);
}

void serve_connection_remove(serve_connections *c, int place)
{
    if (place < 0)
        return;
    pthread_mutex_lock(&c->lock);
    c->at[place].fd = -1;
    pthread_mutex_unlock(&c->lock);
}

void serve_connection_expect(serve_connections *c, int place, uint64_t n_bytes)
{
    set_deadline(c, place,
                 clock_s() + SERVE_HEADER_S + (double)n_bytes / SERVE_LEAST_BPS);
}

void serve_connection_release(serve_connections *c, int place)
{
    set_deadline(c, place, 0);
}

void serve_connections_reap(serve_connections *c, double now_s)
{
    pthread_mutex_lock(&c->lock);
    for (int i = 0; i < SERVE_MAX_CONNECTIONS; i++) {
        serve_connection *const one = &c->at[i];
        if (one->fd < 0 || one->until_s == 0 || now_s < one->until_s)
            continue;
        (void)shutdown(one->fd, SHUT_RDWR); /* its thread sees the end and cleans up */
        one->until_s = 0;
    }
    pthread_mutex_unlock(&c->lock);
}
