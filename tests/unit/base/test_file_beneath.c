/* Paths of strangers: only what is below the folder opens, by both ways. */
#include "base/file/file_beneath.h"
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef halley_status opener(int *fd, int folder_fd, const char *path, halley_error *err);

static char top[] = "/tmp/halley-beneath-XXXXXX";
static int folder_fd;

static void write_file(const char *name, const char *text)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", top, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void link_to(const char *target, const char *name)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", top, name);
    assert_int_equal(symlink(target, path), 0);
}

static int set_up(void **state)
{
    (void)state;
    char path[200];
    assert_non_null(mkdtemp(top));
    snprintf(path, sizeof path, "%s/in", top);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/in/deep", top);
    mkdir(path, 0700);
    write_file("secret", "secret");
    write_file("in/a", "a");
    write_file("in/deep/b", "b");
    link_to("../secret", "in/out");
    link_to("/etc", "in/etc");
    link_to("..", "in/deep/up");
    link_to("a", "in/same");
    snprintf(path, sizeof path, "%s/in/pipe", top);
    assert_int_equal(mkfifo(path, 0600), 0);
    snprintf(path, sizeof path, "%s/in", top);
    folder_fd = open(path, O_RDONLY | O_DIRECTORY);
    return folder_fd >= 0 ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    char command[100];
    close(folder_fd);
    snprintf(command, sizeof command, "rm -r %s", top);
    return system(command);
}

static void expect_byte(opener *open_it, const char *path, char byte)
{
    halley_error err = {0};
    int fd = -1;
    char is = 0;
    if (open_it(&fd, folder_fd, path, &err) != HALLEY_OK)
        fail_msg("%s: %s", path, err.text);
    assert_int_equal(read(fd, &is, 1), 1);
    assert_int_equal(is, byte);
    close(fd);
}

static void expect_refused(opener *open_it, const char *path)
{
    halley_error err = {0};
    int fd = -1;
    if (open_it(&fd, folder_fd, path, &err) == HALLEY_OK)
        fail_msg("%s was opened", path);
    assert_int_equal(fd, -1);
    assert_non_null(strstr(err.text, "in the folder that may be read"));
    assert_null(strstr(err.text, top));
}

static opener *const openers[] = {file_open_beneath, file_walk_beneath};

static void files_of_the_folder_open(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        expect_byte(openers[i], "a", 'a');
        expect_byte(openers[i], "./a", 'a');
        expect_byte(openers[i], "deep/b", 'b');
        expect_byte(openers[i], "deep//b", 'b');
    }
    expect_byte(file_open_beneath, "same", 'a'); /* a link that stays inside */
}

static void nothing_else_opens(void **state)
{
    (void)state;
    static const char *const paths[] = {
        "",
        "/etc/passwd",
        "../secret",
        "deep/../../secret",
        "out",
        "etc/passwd",
        "missing",
        "deep/up/../secret",
        "pipe",
        "..",
        "deep/up/out",
        "a/b",
        "/",
        "deep/./../../in/a",
    };
    char longest[6000];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    for (int i = 0; i < 2; i++) {
        for (size_t k = 0; k < sizeof paths / sizeof *paths; k++)
            expect_refused(openers[i], paths[k]);
        expect_refused(openers[i], longest);
        longest[300] = '\0'; /* longer than a name may be */
        expect_refused(openers[i], longest);
        longest[300] = 'x';
    }
    expect_refused(file_walk_beneath, "same");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_the_folder_open),
        cmocka_unit_test(nothing_else_opens),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
