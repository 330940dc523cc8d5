/* Deadlines of connections. */
#include "serve/connections.h"

#include "base/clock.h"

#include <assert.h>
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

int serve_connection_add(serve_connections *c, int fd)
{
    int place = -1;
    pthread_mutex_lock(&c->lock);
    for (int i = 0; i < SERVE_MAX_CONNECTIONS && place < 0; i++)
        if (c->at[i].fd < 0)
            place = i;
    if (place >= 0)
        c->at[place] = (serve_connection){fd, clock_s() + SERVE_HEADER_S};
    pthread_mutex_unlock(&c->lock);
    return place;
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
