/* Bind and listen. */
#include "serve/listen.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 512 };

typedef union socket_address {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
} socket_address;

static halley_status read_address(socket_address *to, const char *text, halley_error *err)
{
    memset(to, 0, sizeof *to);
    if (inet_pton(AF_INET, text, &to->four.sin_addr) == 1) {
        to->any.sa_family = AF_INET;
        return HALLEY_OK;
    }
    if (inet_pton(AF_INET6, text, &to->six.sin6_addr) == 1) {
        to->any.sa_family = AF_INET6;
        return HALLEY_OK;
    }
    return error_set(err, HALLEY_EINVAL,
                     "--listen takes an address, such as 127.0.0.1 or ::1, not \"%s\"",
                     text);
}

static socklen_t measure_address(const socket_address *a)
{
    return a->any.sa_family == AF_INET ? sizeof a->four : sizeof a->six;
}

static void set_port(socket_address *a, uint32_t port)
{
    assert(port <= UINT16_MAX);
    if (a->any.sa_family == AF_INET)
        a->four.sin_port = htons((uint16_t)port);
    else
        a->six.sin6_port = htons((uint16_t)port);
}

/* A listening socket, or -1 with errno. */
static int bind_socket(socket_address *a, uint32_t port)
{
    const int on = 1;
    const int fd = socket(a->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    set_port(a, port);
    if (bind(fd, &a->any, measure_address(a)) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    const int reason = errno;
    close(fd);
    errno = reason;
    return -1;
}

static bool is_local(const socket_address *a)
{
    if (a->any.sa_family == AF_INET)
        return ntohl(a->four.sin_addr.s_addr) >> 24 == 127;
    return IN6_IS_ADDR_LOOPBACK(&a->six.sin6_addr);
}

halley_status serve_socket_open(serve_socket *out, const char *address, uint32_t port,
                                uint32_t usual, halley_error *err)
{
    socket_address a;
    TRY(read_address(&a, address, err));
    int fd = bind_socket(&a, port > 0 ? port : usual);
    if (fd < 0 && port == 0 && errno == EADDRINUSE)
        fd = bind_socket(&a, 0);
    if (fd < 0)
        return error_set(err, HALLEY_EIO, "cannot listen on %s port %u: %s%s", address,
                         port > 0 ? port : usual, strerror(errno),
                         errno == EADDRINUSE ? "; choose another --port" : "");
    socklen_t n = sizeof a;
    if (getsockname(fd, &a.any, &n) != 0) {
        close(fd);
        return error_errno(err, "listen", errno);
    }
    out->fd = fd;
    out->port = ntohs(a.any.sa_family == AF_INET ? a.four.sin_port : a.six.sin6_port);
    out->is_local = is_local(&a);
    snprintf(out->host, sizeof out->host,
             a.any.sa_family == AF_INET ? "%.45s" : "[%.45s]", address);
    return HALLEY_OK;
}
