/*
 * Clients with live sliders: each sends an estimate, waits for the reply, and sends the
 * next one after a pause; a reply that takes over 0.2 s is cancelled, as the page does;
 * all from one thread by epoll, so that the client takes little of the machine.
 *
 *   load PORT TOKEN CLIENTS SECONDS PAUSE_MS
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MAX_CLIENTS = 1024, MAX_TIMES = 1 << 22, REPLY_BYTES = 1 << 16 };

typedef struct client {
    int fd;
    double sent_s, next_s; /* when the request left; when the next one leaves */
    bool waits, cancels;
    size_t n;
    char reply[REPLY_BYTES];
} client;

static client clients[MAX_CLIENTS];
static double times[MAX_TIMES];
static size_t n_times, n_failed, n_jobs;
static uint64_t seed = 1;

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint32_t pick(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

/* What a moving slider asks for. */
static int print_request(char *to, size_t size, const char *token)
{
    static const char *const models[] = {"llama3-70b", "llama3-8b", "gpt3-175b"};
    static const uint32_t degrees[] = {1, 2, 4, 8};
    char body[512];
    const int n = snprintf(body, sizeof body,
                           "{\"do\": \"estimate\", \"model\": \"%s\", \"cluster\": "
                           "\"dgx-h100:256\", \"plan\": {\"tp\": %u, \"pp\": %u, "
                           "\"micro_batch\": %u, \"global_batch\": %u}}",
                           models[pick(3)], degrees[pick(4)], degrees[pick(3)],
                           degrees[pick(2)], 256 << pick(3));
    return snprintf(to, size,
                    "POST /api/request HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: "
                    "Bearer %s\r\nContent-Type: application/json\r\nContent-Length: "
                    "%d\r\n\r\n%s",
                    token, n, body);
}

static void send_request(client *c, const char *token)
{
    char text[1024];
    const int n = print_request(text, sizeof text, token);
    c->sent_s = now_s();
    c->waits = true;
    c->n = 0;
    if (send(c->fd, text, (size_t)n, MSG_NOSIGNAL) != n) {
        perror("send");
        exit(1);
    }
}

/* Is all of the reply there? */
static bool is_whole(const client *c)
{
    const char *const end = memmem(c->reply, c->n, "\r\n\r\n", 4);
    const char *const length = memmem(c->reply, c->n, "Content-Length: ", 16);
    if (end == NULL || length == NULL)
        return false;
    return c->n >= (size_t)(end - c->reply) + 4 + strtoul(length + 16, NULL, 10);
}

/* A request that became a job is not followed: the slider has moved on. */
static bool cancel_job(client *c, const char *token)
{
    char text[512];
    const char *const id = strstr(c->reply, "\"id\": \"");
    if (strncmp(c->reply, "HTTP/1.1 202", 12) != 0 || id == NULL)
        return false;
    const int n = snprintf(text, sizeof text,
                           "DELETE /api/events/%.32s HTTP/1.1\r\nHost: "
                           "127.0.0.1\r\nAuthorization: Bearer %s\r\n\r\n",
                           id + 7, token);
    c->n = 0;
    c->cancels = send(c->fd, text, (size_t)n, MSG_NOSIGNAL) == n;
    return c->cancels;
}

static void take_reply(client *c, const char *token, double pause_s)
{
    const ssize_t n = recv(c->fd, c->reply + c->n, sizeof c->reply - 1 - c->n, 0);
    if (n <= 0) {
        fprintf(stderr, "the server closed a connection\n");
        exit(1);
    }
    c->n += (size_t)n;
    c->reply[c->n] = '\0';
    if (!is_whole(c))
        return;
    const double at = now_s();
    c->waits = false;
    c->next_s = at + pause_s;
    if (c->cancels) {
        c->cancels = false;
        return;
    }
    n_failed += strncmp(c->reply, "HTTP/1.1 20", 11) != 0;
    if (n_times < MAX_TIMES)
        times[n_times++] = at - c->sent_s;
    if (cancel_job(c, token)) {
        n_jobs++;
        c->waits = true;
    }
}

static void connect_client(client *c, int epoll, uint16_t port)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons(port),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int on = 1;
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0 || connect(c->fd, (const struct sockaddr *)&address, sizeof address)) {
        perror("connect");
        exit(1);
    }
    (void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    (void)epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &event);
}

static int compare_times(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
    if (argc != 6)
        return 2;
    const uint16_t port = (uint16_t)strtoul(argv[1], NULL, 10);
    const char *const token = argv[2];
    const size_t n = strtoul(argv[3], NULL, 10) < MAX_CLIENTS ? strtoul(argv[3], NULL, 10)
                                                              : MAX_CLIENTS;
    const double seconds = (double)strtoul(argv[4], NULL, 10),
                 pause_s = 1e-3 * (double)strtoul(argv[5], NULL, 10);
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    const double start_s = now_s();
    for (size_t i = 0; i < n; i++) {
        connect_client(&clients[i], epoll, port);
        clients[i].next_s = start_s + pause_s * (double)i / (double)n;
    }
    while (now_s() < start_s + seconds) {
        struct epoll_event events[64];
        for (size_t i = 0; i < n; i++)
            if (!clients[i].waits && now_s() >= clients[i].next_s)
                send_request(&clients[i], token);
        const int found = epoll_wait(epoll, events, 64, 1);
        for (int i = 0; i < found; i++)
            take_reply(events[i].data.ptr, token, pause_s);
    }
    qsort(times, n_times, sizeof *times, compare_times);
    if (n_times == 0)
        return 1;
    printf(
        "%zu clients, pause %s ms: %.0f requests/s, median %.2f ms, p99 %.2f ms, worst "
        "%.2f ms; %zu failed, %zu took over 200 ms\n",
        n, argv[5], (double)n_times / seconds, 1e3 * times[n_times / 2],
        1e3 * times[n_times * 99 / 100], 1e3 * times[n_times - 1], n_failed, n_jobs);
    return n_failed > 0;
}
