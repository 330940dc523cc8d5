/* Start a server from its options, run it, and end it. */
#include "serve/serve.h"

#include "base/clock.h"
#include "halley/unfinished.h"
#include "serve/browser.h"
#include "serve/confine.h"
#include "serve/listen.h"
#include "serve/random.h"
#include "serve/server.h"

#include <assert.h>
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    IDLE_S = 30,             /* an idle connection ends after this time */
    HEAD_BYTES = 32 << 10,   /* of a request, at most */
    STACK_BYTES = 512 << 10, /* of the thread of a connection */
    TRIM_LOOKS = 50,         /* polls after which free memory is returned to the system */
    LOOK_MS = 100,           /* between two polls of jobs and connections */
    MOST_END_S = 4,          /* a server that was asked to end is gone after this time */
};
static const uint64_t usual_upload = 2000000000, usual_output = 2000000000;
static const double usual_time_s = 3600;

/* Decode %XX. A zero byte, which would hide the rest of a path, becomes a control
 * character, which no name may have. */
static size_t unescape_text(void *unused, struct MHD_Connection *connection, char *text)
{
    (void)unused;
    (void)connection;
    char *to = text;
    for (const char *at = text; *at != '\0'; at++) {
        const char digits[3] = {at[0] == '%' ? at[1] : 0, at[0] == '%' ? at[2] : 0, 0};
        const bool is_coded = strspn(digits, "0123456789abcdefABCDEF") == 2;
        const long byte = is_coded ? strtol(digits, NULL, 16) : (unsigned char)*at;
        *to++ = (char)(byte == 0 ? 1 : byte);
        at += is_coded ? 2 : 0;
    }
    *to = '\0';
    return (size_t)(to - text);
}

static struct MHD_Daemon *start_daemon(serve_server *s, int fd)
{
    return serve_http.start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL, 0,
        NULL, NULL, serve_access, s, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_NOTIFY_COMPLETED, serve_complete, s, MHD_OPTION_NOTIFY_CONNECTION,
        serve_connected, s, MHD_OPTION_CONNECTION_LIMIT, (unsigned)SERVE_MAX_CONNECTIONS,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEAD_BYTES,
        MHD_OPTION_THREAD_STACK_SIZE, (size_t)STACK_BYTES, MHD_OPTION_STRICT_FOR_CLIENT,
        1, MHD_OPTION_UNESCAPE_CALLBACK, unescape_text, NULL, MHD_OPTION_END);
}

/* Large blocks return to the system when they are freed, and threads share heaps. So a
 * server that was busy once does not stay large. */
static void bound_heaps(void)
{
#if defined __GLIBC__
    (void)mallopt(M_MMAP_THRESHOLD, 1 << 20);
    (void)mallopt(M_TRIM_THRESHOLD, 4 << 20);
    (void)mallopt(M_ARENA_MAX, 8);
#endif
}

static void trim_heaps(void)
{
#if defined __GLIBC__
    (void)malloc_trim(1 << 20);
#endif
}

/* Run until a signal to end; meanwhile end slow connections and abandoned jobs. */
static void watch_server(serve_server *s, const sigset_t *ending)
{
    const struct timespec look = {0, LOOK_MS * 1000000L};
    for (unsigned n = 1;; n++) {
        const int signal = sigtimedwait(ending, NULL, &look);
        if (signal == SIGCHLD)
            (void)waitpid(-1, NULL, WNOHANG);
        else if (signal > 0)
            return;
        serve_jobs_tidy(s->jobs, clock_s());
        serve_connections_reap(&s->connections, clock_s());
        if (n % TRIM_LOOKS == 0)
            trim_heaps();
    }
}

/* A request that does not look at its watch must not keep the server alive. */
static void *end_process(void *server)
{
    serve_server *const s = server;
    (void)nanosleep(&(struct timespec){.tv_sec = MOST_END_S}, NULL);
    (void)halley_unfinished_remove();
    serve_folder_close(&s->folder);
    _exit(0);
}

static void stop_server(serve_server *s, struct MHD_Daemon *daemon)
{
    pthread_t guard;
    const bool is_guarded = pthread_create(&guard, NULL, end_process, s) == 0;
    atomic_store(&s->stopping, true);
    serve_jobs_cancel(s->jobs);
    serve_http.stop_daemon(daemon); /* waits for all connections */
    serve_jobs_close(s->jobs);      /* waits for all requests */
    if (is_guarded && pthread_cancel(guard) == 0)
        (void)pthread_join(guard, NULL);
}

static halley_status run_server(serve_server *s, const serve_options *o,
                                const serve_socket *at, const sigset_t *ending,
                                halley_error *err)
{
    const serve_jobs_options jobs = {.max_output =
                                         o->max_output > 0 ? o->max_output : usual_output,
                                     .read_only = o->read_only,
                                     .most_s = o->most_s > 0 ? o->most_s : usual_time_s};
    TRY(serve_jobs_open(&s->jobs, &jobs, err));
    struct MHD_Daemon *const daemon = start_daemon(s, at->fd);
    if (daemon == NULL) {
        serve_jobs_cancel(s->jobs);
        serve_jobs_close(s->jobs);
        return error_set(err, HALLEY_EIO, "cannot start the server: %s", strerror(errno));
    }
    watch_server(s, ending);
    stop_server(s, daemon);
    return HALLEY_OK;
}

/* Block the signals that end the server in all threads except the one that waits for
 * them. */
static void hold_signals(sigset_t *held, sigset_t *before)
{
    sigemptyset(held);
    sigaddset(held, SIGINT);
    sigaddset(held, SIGTERM);
    sigaddset(held, SIGHUP);
    sigaddset(held, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, held, before);
    (void)signal(SIGPIPE, SIG_IGN); /* neither a client that has disconnected, */
    (void)signal(SIGXFSZ, SIG_IGN); /* nor a file that may not grow ends the server */
}

static halley_status announce_server(const serve_server *s, const serve_options *o,
                                     const serve_socket *at, const sigset_t *before,
                                     FILE *to, halley_error *err)
{
    char url[SERVE_ADDRESS + SERVE_TOKEN + 64];
    snprintf(url, sizeof url, "http://%s:%u/?token=%s", at->host, (unsigned)at->port,
             s->token);
    fprintf(to, "%s\n", url);
    if (fflush(to) != 0)
        return error_errno(err, "write the address", errno);
    if (!at->is_local)
        fprintf(stderr,
                "halley: the server can be reached from other machines; its traffic is "
                "not encrypted, and whoever has the address can use it\n");
    if (o->open)
        serve_browser_open(url, before);
    return HALLEY_OK;
}

static halley_status open_and_run(serve_server *s, const serve_options *o, FILE *to,
                                  const sigset_t *ending, const sigset_t *before,
                                  halley_error *err)
{
    serve_socket at;
    TRY(serve_socket_open(&at, o->listen != NULL ? o->listen : "127.0.0.1", o->port,
                          SERVE_PORT, err));
    halley_status status =
        serve_folder_open(&s->folder, o->folder, o->read_only,
                          o->max_upload > 0 ? o->max_upload : usual_upload, err);
    if (status != HALLEY_OK) {
        close(at.fd);
        return status;
    }
    (void)setenv("SQLITE_TMPDIR", ".", 1); /* temporary tables stay in the folder */
    status = serve_library_open(err);
    if (status == HALLEY_OK)
        status = announce_server(s, o, &at, before, to, err);
    if (status == HALLEY_OK) {
        if (!serve_confine(s->folder.fd))
            fprintf(stderr,
                    "halley: this kernel has no Landlock; only halley's own checks "
                    "keep requests within the folder\n");
        status = run_server(s, o, &at, ending, err);
    } else {
        close(at.fd);
    }
    serve_folder_close(&s->folder);
    return status;
}

halley_status serve_run(const serve_options *o, FILE *to, halley_error *err)
{
    sigset_t ending, before;
    serve_server *const s = calloc(1, sizeof *s);
    if (s == NULL)
        return error_nomem(err);
    serve_connections_init(&s->connections);
    hold_signals(&ending, &before);
    bound_heaps();
    halley_status status =
        serve_random_hex(s->token)
            ? HALLEY_OK
            : error_set(err, HALLEY_EIO, "the system gives no random numbers");
    if (status == HALLEY_OK)
        status = open_and_run(s, o, to, &ending, &before, err);
    serve_connections_fini(&s->connections);
    free(s);
    return status;
}
