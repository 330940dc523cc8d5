/* The progress line. */
#include "base/progress.h"
#include "unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void the_line_says_share_rate_and_time_left(void **state)
{
    (void)state;
    char text[128];
    assert_string_equal(
        progress_format(text, sizeof text, "reading", "nodes", 1200000, 504000, 1.44),
        "reading: 42 % of 1.20M nodes, 350k nodes/s, 1.99 s left");
    assert_string_equal(
        progress_format(text, sizeof text, "reading", "nodes", 0, 5000, 2),
        "reading: 5000 nodes, 2500 nodes/s");
    assert_string_equal(progress_format(text, sizeof text, "reading", "nodes", 10, 0, 0),
                        "reading: 0 % of 10 nodes, 0 nodes/s");
    assert_string_equal(progress_format(text, sizeof text, "reading", "nodes", 10, 12, 1),
                        "reading: 100 % of 10 nodes, 12 nodes/s, 0 s left");
}

/* Let stderr be `fd` while `run` runs. */
static void with_stderr(int fd, void (*run)(void))
{
    const int kept = dup(STDERR_FILENO);
    assert_true(kept >= 0 && dup2(fd, STDERR_FILENO) >= 0);
    run();
    assert_true(dup2(kept, STDERR_FILENO) >= 0);
    close(kept);
}

static void count_for_half_a_second(void)
{
    progress *p = progress_new("counting", "sheep", 50);
    for (uint64_t i = 1; i <= 50; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        progress_at(p, i);
        progress_at(p, i / 2); /* a thread that lags behind */
    }
    progress_free(p);
}

static void a_terminal_sees_few_drawings_and_a_clean_line(void **state)
{
    (void)state;
    const int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0)
        skip();
    const int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    assert_true(slave >= 0);
    unsetenv("HALLEY_NO_PROGRESS");
    with_stderr(slave, count_for_half_a_second);
    close(slave);
    char text[8192] = "";
    size_t n = 0;
    for (ssize_t got; (got = read(master, text + n, sizeof text - 1 - n)) > 0;)
        n += (size_t)got;
    assert_true(n > 4);
    assert_non_null(strstr(text, "counting: "));
    assert_non_null(strstr(text, " % of 50 sheep, "));
    assert_string_equal(text + n - 4, "\r\x1b[K");
    int n_drawn = 0;
    for (const char *at = text; (at = strstr(at, "counting")) != NULL; at++)
        n_drawn++;
    assert_in_range(n_drawn, 1, 5);
    close(master);
}

static void anything_else_sees_nothing(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    with_stderr(ends[1], count_for_half_a_second);
    close(ends[1]);
    char byte;
    assert_int_equal(read(ends[0], &byte, 1), 0);
    close(ends[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_line_says_share_rate_and_time_left),
        cmocka_unit_test(a_terminal_sees_few_drawings_and_a_clean_line),
        cmocka_unit_test(anything_else_sees_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
