/* A file that leads to the address, xdg-open, and the end of the file. */
#include "serve/browser.h"

#include "base/file/file.h"
#include "base/str.h"
#include "serve/random.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FILE_S = 30 }; /* how long a browser may take to read the file */

extern char **environ;

/* Returns 0 or an errno. */
static int write_leading_file(const char *path, const char *url)
{
    strbuf text = {0};
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return errno;
    strbuf_printf(&text,
                  "<!doctype html><meta charset=\"utf-8\"><title>halley</title>"
                  "<meta http-equiv=\"refresh\" content=\"0; url=%s\">\n",
                  url);
    const int reason = text.failed ? ENOMEM : file_write(fd, text.at, text.n);
    strbuf_fini(&text);
    close(fd);
    return reason;
}

static int start_browser(char *path, const sigset_t *signals)
{
    char *const words[] = {(char[]){"xdg-open"}, path, NULL};
    posix_spawnattr_t attributes;
    pid_t child;
    int reason = posix_spawnattr_init(&attributes);
    if (reason != 0)
        return reason;
    (void)posix_spawnattr_setsigmask(&attributes, signals);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    reason = posix_spawnp(&child, words[0], NULL, &attributes, words, environ);
    posix_spawnattr_destroy(&attributes);
    return reason;
}

static void say_failure(const char *doing, int reason)
{
    fprintf(stderr, "halley: cannot %s: %s; open the address above\n", doing,
            strerror(reason));
}

void serve_browser_open(const char *url, const sigset_t *signals)
{
    char path[PATH_MAX], random[SERVE_TOKEN + 1];
    const char *const own = getenv("XDG_RUNTIME_DIR"), *const any = getenv("TMPDIR");
    const char *const folder = own != NULL && own[0] == '/'   ? own
                               : any != NULL && any[0] == '/' ? any
                                                              : "/tmp";
    if (!serve_random_hex(random) ||
        snprintf(path, sizeof path, "%.3000s/halley-%s.html", folder, random) < 0)
        return;
    int reason = write_leading_file(path, url);
    if (reason != 0) {
        say_failure("write a file for the browser", reason);
        return;
    }
    reason = start_browser(path, signals);
    if (reason != 0)
        say_failure("start a browser with xdg-open", reason);
    const pid_t child = reason == 0 ? fork() : -1;
    if (child == 0) { /* it outlives the server; signals are blocked here */
        (void)nanosleep(&(struct timespec){.tv_sec = FILE_S}, NULL);
        (void)unlink(path);
        _exit(0);
    }
    if (child < 0)
        (void)unlink(path);
}
