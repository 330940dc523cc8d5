/*
 * Everything can be cancelled: each verb gets its slowest input, is cancelled after a
 * while, and must then return "cancelled" within a second of CPU time.
 *
 *   cancel-requests AFTER-SECONDS [VERB]...
 *
 * Reads lines from standard input, each a verb, a blank and a request, and carries them
 * out in the working directory. A line that begins with '$' is a shell command, which
 * prepares files. Every verb of request_verbs must have a line. A request that ends by
 * itself before it is cancelled must be marked: "quick" before its verb. Prints one line
 * per request that is not cancelled in time; exit 1 if there is one.
 */
#include "halley/request.h"
#include "request/verbs.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double read_clock(clockid_t clock)
{
    struct timespec at;
    clock_gettime(clock, &at);
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

typedef struct patience {
    double until_s;       /* on the CPU clock: when to cancel */
    double cancelled_cpu; /* 0: not yet */
} patience;

static bool look_until(void *context, const halley_progress *now)
{
    patience *const p = context;
    const double cpu_s = read_clock(CLOCK_PROCESS_CPUTIME_ID);
    (void)now;
    if (p->cancelled_cpu == 0 && cpu_s >= p->until_s)
        p->cancelled_cpu = cpu_s;
    return p->cancelled_cpu == 0;
}

/* What is wrong with the answer, or NULL. */
static const char *judge(double *late_s, const char *json, double after_s, bool is_quick)
{
    char *reply = NULL;
    halley_error err = {0};
    const double begun = read_clock(CLOCK_PROCESS_CPUTIME_ID);
    /* Builds with sanitizers take ten times as long. */
    const double allowed_s = is_quick ? 10 * after_s : after_s;
    patience p = {begun + allowed_s, 0};
    const halley_watch watch = {look_until, &p};
    if (halley_request(&reply, json, &watch, &err) != HALLEY_OK)
        return err.text[0] != '\0' ? "no reply" : "no reply and no reason";
    const double ended = read_clock(CLOCK_PROCESS_CPUTIME_ID);
    const bool was_cancelled = strstr(reply, "\"code\": \"cancelled\"") != NULL;
    /* What never looks was to be cancelled at that time, too. */
    *late_s = ended - (p.cancelled_cpu > 0 ? p.cancelled_cpu : p.until_s);
    const char *wrong = NULL;
    if (!was_cancelled && strncmp(reply, "{\"ok\": true", 11) != 0) {
        fprintf(stderr, "%s", reply);
        wrong = "it failed";
    } else if (is_quick && ended - begun > allowed_s) {
        wrong = "it is not quick";
    } else if (!is_quick && !was_cancelled) {
        wrong = *late_s < 0 ? "its input is too quick: make it larger" : "it went on";
    } else if (*late_s > 2) { /* threads: a second on each of two cores */
        wrong = "it was cancelled too late";
    }
    free(reply);
    return wrong;
}

static bool is_named(char **words, const char *verb)
{
    for (; *words != NULL; words++)
        if (strcmp(*words, verb) == 0)
            return true;
    return false;
}

/* Carry out a line; true if it names this verb (dots for blanks). */
static bool try_line(char *line, double after_s, char **only, int *failed)
{
    static const char mark[] = "quick ";
    const bool is_quick = strncmp(line, mark, sizeof mark - 1) == 0;
    char *const verb = line + (is_quick ? sizeof mark - 1 : 0);
    char *const json = strchr(verb, ' ');
    if (json == NULL)
        return false;
    *json = '\0';
    if (*only != NULL && !is_named(only, verb))
        return true;
    double late_s = 0;
    const char *const wrong = judge(&late_s, json + 1, after_s, is_quick);
    if (wrong != NULL)
        printf("not ok - %s: %s (%.2f s): %.200s\n", verb, wrong, late_s, json + 1);
    *failed += wrong != NULL;
    return true;
}

/* Strike the verb off the list of those without a line. */
static void note_verb(bool *has_line, const char *verb)
{
    for (size_t i = 0; request_verbs[i] != NULL; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s", request_verbs[i]->name);
        for (char *c = name; *c != '\0'; c++)
            *c = *c == ' ' ? '.' : *c;
        has_line[i] |= strcmp(name, verb) == 0;
    }
}

int main(int argc, char **argv)
{
    static char line[1 << 16];
    setvbuf(stdout, NULL, _IOLBF, 0);
    bool has_line[256] = {false};
    int failed = 0, n = 0;
    const double after_s = argc > 1 ? strtod(argv[1], NULL) : 1;
    while (fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '$' && system(line + 1) != 0) {
            printf("not ok - %s\n", line + 1);
            failed++;
        }
        if (line[0] == '$' || line[0] == '#' || line[0] == '\0')
            continue;
        n++;
        if (try_line(line, after_s, argv + (argc > 1 ? 2 : 1), &failed))
            note_verb(has_line, strncmp(line, "quick ", 6) == 0 ? line + 6 : line);
    }
    for (size_t i = 0; request_verbs[i] != NULL; i++)
        if (!has_line[i]) {
            printf("not ok - %s: it has no slow request\n", request_verbs[i]->name);
            failed++;
        }
    printf("%d requests, %d not cancelled\n", n, failed);
    return failed > 0;
}
