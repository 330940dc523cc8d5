#include "measure.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double clock_s(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double measure_wall_s(void)
{
    return clock_s(CLOCK_MONOTONIC);
}

double measure_cpu_s(void)
{
    return clock_s(CLOCK_PROCESS_CPUTIME_ID);
}

static size_t anonymous_bytes(void)
{
    FILE *const f = fopen("/proc/self/status", "r");
    char line[200];
    unsigned long kib = 0;
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "RssAnon: %lu", &kib) == 1)
            break;
    if (f)
        fclose(f);
    return (size_t)kib * 1024;
}

static struct {
    pthread_t thread;
    atomic_bool stop;
    size_t before, most;
} watch;

static void *look(void *unused)
{
    (void)unused;
    while (!atomic_load(&watch.stop)) {
        const size_t now = anonymous_bytes();
        watch.most = now > watch.most ? now : watch.most;
        const struct timespec pause = {0, 500000};
        nanosleep(&pause, NULL);
    }
    return NULL;
}

void measure_memory_start(void)
{
    watch.before = watch.most = anonymous_bytes();
    atomic_store(&watch.stop, false);
    if (pthread_create(&watch.thread, NULL, look, NULL) != 0)
        abort();
}

size_t measure_memory_stop(void)
{
    const size_t now = anonymous_bytes();
    atomic_store(&watch.stop, true);
    pthread_join(watch.thread, NULL);
    return (now > watch.most ? now : watch.most) - watch.before;
}

uint8_t *measure_read_file(const char *path, size_t *n)
{
    FILE *const f = fopen(path, "rb");
    uint8_t *at = NULL;
    if (!f || fseek(f, 0, SEEK_END) != 0) {
        perror(path);
        exit(1);
    }
    *n = (size_t)ftell(f);
    rewind(f);
    at = malloc(*n + 1);
    if (!at || fread(at, 1, *n, f) != *n) {
        perror(path);
        exit(1);
    }
    fclose(f);
    return at;
}
