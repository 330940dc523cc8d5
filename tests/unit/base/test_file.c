/* Files in and out. */
#include "alloc_fail.h"
#include "base/file/file.h"
#include "base/rng.h"
#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* A folder of its own for each test; *state is its path. */
static int enter_folder(void **state)
{
    char *path = strdup("/tmp/halley-test-XXXXXX");
    *state = mkdtemp(path);
    return *state == NULL ? -1 : chdir(path);
}

static int leave_folder(void **state)
{
    char command[256];
    snprintf(command, sizeof command, "rm -rf '%s'", (char *)*state);
    const int failed = chdir("/") != 0 || system(command) != 0;
    free(*state);
    return failed;
}

static void save(const char *path, const void *at, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(at, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static void expect_content(const char *path, const void *at, size_t n)
{
    file_input in;
    assert_int_equal(file_input_open(&in, path, NULL), HALLEY_OK);
    assert_int_equal(in.n, n);
    assert_memory_equal(in.at, at, n);
    file_input_close(&in);
}

static size_t count_files(void)
{
    size_t n = 0;
    DIR *folder = opendir(".");
    assert_non_null(folder);
    while (readdir(folder) != NULL)
        n++;
    closedir(folder);
    return n - 2; /* . and .. */
}

static uint8_t *random_bytes(size_t n)
{
    uint8_t *bytes = malloc(n + 1);
    assert_non_null(bytes);
    rng r = rng_seed(n);
    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)(rng_below(&r, 4) * 17);
    return bytes;
}

/* The gzip of n bytes, as our own output makes it; *n_out its size. */
static uint8_t *gzip(const void *at, size_t n, size_t *n_out)
{
    file_output *out;
    assert_int_equal(file_output_open(&out, "made.gz", NULL), HALLEY_OK);
    file_output_write(out, at, n);
    assert_int_equal(file_output_commit(out, NULL), HALLEY_OK);
    FILE *f = fopen("made.gz", "rb");
    assert_non_null(f);
    uint8_t *bytes = malloc(n + 1000);
    assert_non_null(bytes);
    *n_out = fread(bytes, 1, n + 1000, f);
    fclose(f);
    assert_int_equal(unlink("made.gz"), 0);
    return bytes;
}

static void a_file_reads_as_it_was_written_with_zeros_behind(void **state)
{
    (void)state;
    static const size_t sizes[] = {0,     1,     4095,  4096,   65535,  65536,
                                   65537, 69600, 69610, 131072, 200000, 3000000};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        for (int gz = 0; gz < 2; gz++) {
            const char *path = gz ? "a.gz" : "a";
            const size_t n = sizes[k];
            uint8_t *bytes = random_bytes(n);
            file_output *out;
            file_input in;
            assert_int_equal(file_output_open(&out, path, NULL), HALLEY_OK);
            file_output_write(out, bytes, n / 2);
            file_output_write(out, bytes + n / 2, n - n / 2);
            assert_int_equal(file_output_commit(out, NULL), HALLEY_OK);
            assert_int_equal(file_input_open(&in, path, NULL), HALLEY_OK);
            assert_int_equal(in.n, n);
            assert_int_equal(in.is_packed, gz);
            assert_non_null(in.at);
            assert_memory_equal(in.at, bytes, n);
            for (int i = 0; i < FILE_PAD; i++)
                assert_int_equal(in.at[n + (size_t)i], 0);
            file_input_close(&in);
            free(bytes);
        }
    }
    assert_int_equal(count_files(), 2);
}

static void gzip_may_have_many_members_and_any_name(void **state)
{
    (void)state;
    size_t n_one, n_two, n_empty;
    uint8_t *text = random_bytes(100000);
    uint8_t *one = gzip(text, 100000, &n_one);
    uint8_t *two = gzip("second", 6, &n_two);
    uint8_t *empty = gzip("", 0, &n_empty);
    FILE *f = fopen("a.et", "wb");
    for (int i = 0; i < 3; i++) {
        fwrite(one, 1, n_one, f);
        fwrite(empty, 1, n_empty, f);
        fwrite(two, 1, n_two, f);
    }
    fclose(f);
    file_input in;
    assert_int_equal(file_input_open(&in, "a.et", NULL), HALLEY_OK);
    assert_true(in.is_packed);
    assert_int_equal(in.n, 3 * 100006);
    for (size_t i = 0; i < 3; i++) {
        assert_memory_equal(in.at + i * 100006, text, 100000);
        assert_memory_equal(in.at + i * 100006 + 100000, "second", 6);
    }
    file_input_close(&in);
    free(text);
    free(one);
    free(two);
    free(empty);
}

static void a_gzip_of_another_maker_is_read(void **state)
{
    (void)state;
    if (system("command -v gzip >/dev/null") != 0)
        skip();
    uint8_t *bytes = random_bytes(500000);
    save("a", bytes, 500000); /* -9 with name and time in the header */
    assert_int_equal(system("gzip -9 a && gzip -t a.gz"), 0);
    expect_content("a.gz", bytes, 500000);
    free(bytes);
    file_output *out;
    assert_int_equal(file_output_open(&out, "b.gz", NULL), HALLEY_OK);
    file_output_printf(out, "%s %d", "ours", 1);
    assert_int_equal(file_output_commit(out, NULL), HALLEY_OK);
    assert_int_equal(system("test \"$(gzip -dc b.gz)\" = 'ours 1'"), 0);
}

static void the_same_bytes_compress_to_the_same_file(void **state)
{
    (void)state;
    uint8_t *bytes = random_bytes(700000);
    size_t n[2];
    uint8_t *made[2] = {gzip(bytes, 700000, &n[0]), gzip(bytes, 700000, &n[1])};
    assert_int_equal(n[0], n[1]);
    assert_memory_equal(made[0], made[1], n[0]);
    assert_true(n[0] < 300000); /* two bits of each byte are random */
    free(made[0]);
    free(made[1]);
    free(bytes);
}

static void a_cut_or_changed_gzip_never_reads_as_something_else(void **state)
{
    (void)state;
    size_t n;
    file_input in;
    uint8_t *good = gzip("some text some text some text", 29, &n);
    halley_error err = {0};
    for (size_t cut = 2; cut < n; cut++) { /* one byte is no gzip file */
        uint8_t *part = malloc(cut);
        memcpy(part, good, cut);
        assert_int_equal(file_input_copy(&in, part, cut, 0, &err), HALLEY_EFORMAT);
        assert_non_null(strstr(err.text, "cut short near byte "));
        assert_non_null(strstr(err.text, "copy or download it again"));
        free(part);
    }
    size_t n_noticed = 0;
    for (size_t bit = 0; bit <= 8 * n; bit++) { /* some bits mean nothing */
        if (bit < 8 * n)
            good[bit / 8] ^= (uint8_t)(1 << bit % 8);
        const halley_status status = file_input_copy(&in, good, n, 0, &err);
        if (bit < 8 * n)
            good[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_true(status == HALLEY_OK || status == HALLEY_EFORMAT);
        n_noticed += status != HALLEY_OK;
        if (status != HALLEY_OK)
            continue;
        if (in.is_packed) { /* else a changed magic number made it plain */
            assert_int_equal(in.n, 29);
            assert_memory_equal(in.at, "some text some text some text", 29);
        }
        n_noticed += !in.is_packed;
        file_input_close(&in);
    }
    assert_true(n_noticed > 6 * n);
    free(good);
}

static void a_cut_large_gzip_says_where(void **state)
{
    (void)state;
    size_t n;
    uint8_t *bytes = random_bytes(1000000);
    uint8_t *packed = gzip(bytes, 1000000, &n);
    halley_error err = {0};
    file_input in;
    char sentence[256], expected[256];
    save("a.gz", packed, n - 1000);
    assert_int_equal(file_input_open(&in, "a.gz", &err), HALLEY_EFORMAT);
    snprintf(
        expected, sizeof expected,
        "a.gz: the gzip file is cut short near byte %zu of the compressed file; copy or "
        "download it again (gzip -t checks it)",
        n - 1000);
    assert_string_equal(halley_error_format(&err, sentence, sizeof sentence), expected);
    free(bytes);
    free(packed);
}

static void garbage_behind_a_gzip_is_refused(void **state)
{
    (void)state;
    size_t n;
    uint8_t bytes[200];
    file_input in;
    uint8_t *good = gzip("text", 4, &n);
    memcpy(bytes, good, n);
    memcpy(bytes + n, "trailing", 8);
    halley_error err = {0};
    assert_int_equal(file_input_copy(&in, bytes, n + 8, 0, &err), HALLEY_EFORMAT);
    char expected[200];
    snprintf(
        expected, sizeof expected,
        "there is something else than gzip data near byte %zu of the compressed file; "
        "copy or download it again (gzip -t checks it)",
        n);
    assert_string_equal(err.text, expected);
    assert_int_equal(file_input_copy(&in, bytes, n + 1, 0, &err), HALLEY_EFORMAT);
    free(good);
}

static void an_inflating_bomb_ends_in_a_sentence(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* sanitizers want all addresses for themselves */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    skip();
#endif
#endif
    const size_t n = (size_t)16 << 20;
    uint8_t *zeros = calloc(n, 1);
    size_t n_packed;
    uint8_t *packed = gzip(zeros, n, &n_packed);
    free(zeros);
    FILE *f = fopen("bomb.gz", "wb");
    for (int i = 0; i < 64; i++) /* a gigabyte in all */
        fwrite(packed, 1, n_packed, f);
    fclose(f);
    free(packed);
    struct rlimit before, low;
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    low = (struct rlimit){.rlim_cur = (rlim_t)1 << 28, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_AS, &low), 0);
    file_input in;
    halley_error err = {0};
    const halley_status status = file_input_open(&in, "bomb.gz", &err);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_int_equal(status, HALLEY_ENOMEM);
    assert_non_null(strstr(err.text, "memory ran out after unpacking"));
    assert_string_equal(err.file, "bomb.gz");
}

static void a_pipe_is_read_to_its_end(void **state)
{
    (void)state;
    uint8_t *bytes = random_bytes(300000);
    save("a", bytes, 300000);
    char path[64];
    FILE *pipe = popen("cat a", "r");
    assert_non_null(pipe);
    snprintf(path, sizeof path, "/dev/fd/%d", fileno(pipe));
    expect_content(path, bytes, 300000);
    pclose(pipe);
    free(bytes);
}

static void standard_input_is_read_from_where_it_stands(void **state)
{
    (void)state;
    uint8_t *bytes = random_bytes(100000);
    save("a", bytes, 100000);
    const int kept = dup(STDIN_FILENO), fd = open("a", O_RDONLY);
    assert_true(fd >= 0 && dup2(fd, STDIN_FILENO) >= 0);
    expect_content("-", bytes, 100000);
    assert_int_equal(lseek(STDIN_FILENO, 10, SEEK_SET), 10);
    expect_content("-", bytes + 10, 99990);
    halley_error err = {0};
    file_input in;
    close(fd);
    const int folder = open(".", O_RDONLY);
    assert_true(dup2(folder, STDIN_FILENO) >= 0);
    assert_int_equal(file_input_open(&in, "-", &err), HALLEY_EIO);
    assert_string_equal(err.file, "standard input");
    close(folder);
    if (kept >= 0)
        dup2(kept, STDIN_FILENO);
    close(kept);
    free(bytes);
}

static void files_of_the_kernel_are_read(void **state)
{
    (void)state;
    file_input in;
    assert_int_equal(file_input_open(&in, "/proc/self/status", NULL), HALLEY_OK);
    assert_true(in.n > 5);
    assert_memory_equal(in.at, "Name:", 5);
    file_input_close(&in);
    assert_int_equal(file_input_open(&in, "/dev/null", NULL), HALLEY_OK);
    assert_int_equal(in.n, 0);
    file_input_close(&in);
}

static void what_cannot_be_opened_is_said(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"absent", "absent: no such file"},
        {".", ".: is a directory; name a file"},
        {"file/x", "file/x: cannot open: Not a directory"},
        {"closed", "closed: permission denied; this file may not be read"},
    };
    save("file", "x", 1);
    save("closed", "x", 1);
    assert_int_equal(chmod("closed", 0), 0);
    for (size_t i = 0; i < (geteuid() == 0 ? 3 : 4); i++) {
        halley_error err = {0};
        file_input in;
        char text[256];
        assert_int_equal(file_input_open(&in, rows[i][0], &err), HALLEY_EIO);
        halley_error_format(&err, text, sizeof text);
        assert_string_equal(text, rows[i][1]);
    }
    assert_true(file_exists("file") && file_exists(".") && !file_exists("absent"));
    assert_true(file_is_folder(".") && !file_is_folder("file"));
}

static void an_abandoned_output_leaves_the_old_file(void **state)
{
    (void)state;
    file_output *out;
    save("a", "old", 3);
    assert_int_equal(file_output_open(&out, "a", NULL), HALLEY_OK);
    assert_int_equal(count_files(), 2);
    file_output_str(out, STR("new"));
    file_output_abort(out);
    file_output_abort(NULL);
    expect_content("a", "old", 3);
    assert_int_equal(count_files(), 1);
}

static mode_t mode_of(const char *path)
{
    struct stat about;
    assert_int_equal(stat(path, &about), 0);
    return about.st_mode & 07777;
}

static void write_text(const char *path, const char *text)
{
    file_output *out;
    halley_error err = {0};
    if (file_output_open(&out, path, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    file_output_str(out, str_from(text));
    if (file_output_commit(out, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
}

static void a_replaced_file_keeps_its_mode_and_a_new_one_follows_the_umask(void **state)
{
    (void)state;
    const mode_t before = umask(027);
    write_text("new", "1");
    umask(before);
    assert_int_equal(mode_of("new"), 0640);
    save("old", "1", 1);
    assert_int_equal(chmod("old", 0604), 0);
    write_text("old", "2");
    assert_int_equal(mode_of("old"), 0604);
    expect_content("old", "2", 1);
}

static void a_link_stays_and_its_target_is_replaced(void **state)
{
    (void)state;
    assert_int_equal(mkdir("folder", 0700), 0);
    save("folder/target", "old", 3);
    assert_int_equal(symlink("folder/target", "link"), 0);
    write_text("link", "new");
    struct stat about;
    assert_int_equal(lstat("link", &about), 0);
    assert_true(S_ISLNK(about.st_mode));
    expect_content("folder/target", "new", 3);
}

static void a_full_disk_is_said(void **state)
{
    (void)state;
    static const uint8_t zeros[1 << 20];
    if (access("/dev/full", W_OK) != 0)
        skip();
    for (size_t n = 1; n <= sizeof zeros; n *= 1 << 10) {
        file_output *out;
        halley_error err = {0};
        assert_int_equal(file_output_open(&out, "/dev/full", &err), HALLEY_OK);
        file_output_write(out, zeros, n);
        file_output_write(out, zeros, n);
        assert_int_equal(file_output_commit(out, &err), HALLEY_EIO);
        assert_string_equal(err.text, "cannot write /dev/full: No space left on device");
    }
    struct stat about;
    assert_int_equal(stat("/dev/full", &about), 0);
    assert_true(S_ISCHR(about.st_mode));
}

/* The largest file allowed stands in for a disk that fills up half way. */
static void a_disk_that_fills_up_leaves_the_old_file_and_no_other(void **state)
{
    (void)state;
    static const uint8_t zeros[1 << 16];
    struct rlimit before, low;
    save("a", "old", 3);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    low = (struct rlimit){.rlim_cur = 1 << 20, .rlim_max = before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
    file_output *out;
    halley_error err = {0};
    assert_int_equal(file_output_open(&out, "a", &err), HALLEY_OK);
    for (int i = 0; i < 64; i++) {
        uint8_t *to = file_output_reserve(out, sizeof zeros);
        if (to == NULL)
            break;
        memcpy(to, zeros, sizeof zeros);
        file_output_advance(out, sizeof zeros);
    }
    const halley_status status = file_output_commit(out, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(status, HALLEY_EIO);
    assert_string_equal(err.text, "cannot write a: File too large");
    expect_content("a", "old", 3);
    assert_int_equal(count_files(), 1);
}

static void what_cannot_be_written_is_said(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"absent/a", "cannot write absent/a: its folder does not exist"},
        {".", "cannot write .: Is a directory"},
        {"file/a", "cannot write file/a: Not a directory"},
        {"", "cannot write : its folder does not exist"},
        {"absent/", "cannot write absent/: Is a directory"},
        {"closed", "cannot write closed: Permission denied"},
    };
    save("file", "x", 1);
    save("closed", "x", 1);
    assert_int_equal(chmod("closed", 0400), 0);
    for (size_t i = 0; i < (geteuid() == 0 ? 5 : 6); i++) {
        file_output *out;
        halley_error err = {0};
        assert_int_equal(file_output_open(&out, rows[i][0], &err), HALLEY_EIO);
        assert_string_equal(err.text, rows[i][1]);
    }
    assert_int_equal(count_files(), 2);
}

static void reserved_bytes_and_written_ones_keep_their_order(void **state)
{
    (void)state;
    static const size_t pieces[] = {1,      300000, 5, 1 << 20, 77,
                                    262144, 262143, 3, 1 << 20};
    uint8_t *bytes = random_bytes(4000000);
    for (int gz = 0; gz < 2; gz++) {
        file_output *out;
        size_t n = 0;
        assert_int_equal(file_output_open(&out, gz ? "a.gz" : "a", NULL), HALLEY_OK);
        for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
            uint8_t *to = file_output_reserve(out, pieces[i]);
            assert_non_null(to);
            memcpy(to, bytes + n, pieces[i]);
            file_output_advance(out, pieces[i]);
            n += pieces[i];
            file_output_write(out, bytes + n, pieces[i] / 3);
            n += pieces[i] / 3;
        }
        assert_int_equal(file_output_commit(out, NULL), HALLEY_OK);
        expect_content(gz ? "a.gz" : "a", bytes, n);
    }
    free(bytes);
}

static void standard_output_and_special_files_are_written_directly(void **state)
{
    (void)state;
    static const char *const names[] = {"-", "/dev/stdout"};
    for (size_t i = 0; i < 2; i++) {
        fflush(stdout);
        const int kept = dup(STDOUT_FILENO);
        const int fd = open("out", O_RDWR | O_CREAT | O_TRUNC, 0600);
        assert_true(kept >= 0 && fd >= 0 && dup2(fd, STDOUT_FILENO) >= 0);
        printf("before ");
        write_text(names[i], "text");
        file_output *out;
        const halley_status status = file_output_open(&out, names[i], NULL);
        if (status == HALLEY_OK)
            file_output_abort(out);
        printf(" behind");
        fflush(stdout);
        dup2(kept, STDOUT_FILENO);
        close(kept);
        close(fd);
        assert_int_equal(status, HALLEY_OK);
        expect_content("out", "before text behind", 18);
    }
    write_text("/dev/null", "text");
    assert_int_equal(mkfifo("pipe", 0600), 0);
    const int reader = open("pipe", O_RDONLY | O_NONBLOCK);
    write_text("pipe", "text");
    char text[8] = "";
    assert_int_equal(read(reader, text, sizeof text), 4);
    assert_string_equal(text, "text");
    close(reader);
    assert_int_equal(count_files(), 2);
}

static void formatted_text_may_be_long(void **state)
{
    (void)state;
    static char expected[20000 + 2];
    file_output *out;
    assert_int_equal(file_output_open(&out, "a", NULL), HALLEY_OK);
    file_output_printf(out, "%020000d%s", 0, ".");
    assert_int_equal(file_output_commit(out, NULL), HALLEY_OK);
    memset(expected, '0', 20000);
    expected[20000] = '.';
    expect_content("a", expected, 20001);
    halley_error err = {0};
    assert_int_equal(file_output_open(&out, "a", NULL), HALLEY_OK);
    file_output_printf(out, "%02000000d", 0); /* beyond what can be reserved */
    assert_int_equal(file_output_commit(out, &err), HALLEY_EIO);
    expect_content("a", expected, 20001);
}

static void a_long_name_has_a_temporary_one(void **state)
{
    (void)state;
    char name[256];
    memset(name, 'x', 255);
    name[255] = '\0';
    write_text(name, "text");
    expect_content(name, "text", 4);
}

static halley_status copy_through(void *context, halley_error *err)
{
    const char *path = context;
    file_output *out;
    file_input in;
    TRY(file_output_open(&out, path, err));
    for (int i = 0; i < 3; i++) {
        uint8_t *to = file_output_reserve(out, 400000);
        if (to != NULL) {
            memset(to, i, 400000);
            file_output_advance(out, 400000);
        }
    }
    TRY(file_output_commit(out, err));
    TRY(file_input_open(&in, path, err));
    assert_int_equal(in.n, 3 * 400000);
    file_input_close(&in);
    return HALLEY_OK;
}

static void running_out_of_memory_leaves_no_file(void **state)
{
    (void)state;
    assert_true(alloc_fail_everywhere(copy_through, (void *)(uintptr_t) "a.gz") > 5);
    assert_true(alloc_fail_everywhere(copy_through, (void *)(uintptr_t) "a") > 3);
    assert_int_equal(count_files(), 2);
    unlink("a");
    unlink("a.gz");
    assert_int_equal(count_files(), 0);
}

static file_folder *open_folder(const char *path)
{
    file_folder *folder = NULL;
    assert_int_equal(file_folder_open(&folder, path, NULL), HALLEY_OK);
    return folder;
}

static void a_folder_appears_with_all_its_files_or_not_at_all(void **state)
{
    (void)state;
    struct stat about;
    file_folder *folder = open_folder("new/");
    assert_int_equal(file_folder_put(folder, "a", "one", 3, NULL), HALLEY_OK);
    assert_int_equal(file_folder_put(folder, "b", "", 0, NULL), HALLEY_OK);
    assert_int_equal(access("new", F_OK), -1);
    assert_int_equal(file_folder_commit(folder, NULL), HALLEY_OK);
    expect_content("new/a", "one", 3);
    expect_content("new/b", "", 0);
    assert_int_equal(count_files(), 1);
    const mode_t mask = umask(027);
    folder = open_folder("other");
    umask(mask);
    assert_int_equal(file_folder_put(folder, "a", "one", 3, NULL), HALLEY_OK);
    file_folder_abort(folder);
    assert_int_equal(count_files(), 1);
    assert_int_equal(stat("new", &about), 0);
    assert_int_equal(about.st_mode & 0777, 0777 & ~mask);
}

static void an_empty_folder_is_filled_and_stays_the_same_one(void **state)
{
    (void)state;
    struct stat before, after;
    assert_int_equal(mkdir("there", 0700), 0);
    assert_int_equal(stat("there", &before), 0);
    file_folder *folder = open_folder("there");
    assert_int_equal(file_folder_put(folder, "a", "one", 3, NULL), HALLEY_OK);
    assert_int_equal(access("there/a", F_OK), -1);
    assert_int_equal(file_folder_commit(folder, NULL), HALLEY_OK);
    assert_int_equal(stat("there", &after), 0);
    assert_true(before.st_ino == after.st_ino && before.st_mode == after.st_mode);
    expect_content("there/a", "one", 3);
    assert_int_equal(unlink("there/a"), 0);
    assert_true(file_folder_is_empty("there"));
}

static void a_folder_that_cannot_be_made_is_said(void **state)
{
    (void)state;
    static const struct {
        const char *path, *text;
    } rows[] = {
        {"full", "the folder is not empty ('x' is in it): name another, or remove what "
                 "is in it"},
        {"full/x", "cannot make the folder: File exists"},
        {"none/new", "cannot make the folder: its folder does not exist"},
    };
    assert_int_equal(mkdir("full", 0777), 0);
    save("full/x", "old", 3);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        halley_error err = {0};
        file_folder *folder;
        assert_int_not_equal(file_folder_open(&folder, rows[i].path, &err), HALLEY_OK);
        assert_string_equal(err.text, rows[i].text);
        assert_string_equal(err.file, rows[i].path);
    }
    /* the same name twice, and one that was taken while the folder was written */
    halley_error err = {0};
    file_folder *folder = open_folder("new");
    assert_int_equal(file_folder_put(folder, "a", "one", 3, NULL), HALLEY_OK);
    assert_int_equal(file_folder_put(folder, "a", "one", 3, &err), HALLEY_EIO);
    assert_string_equal(err.text, "cannot write new/a: File exists");
    assert_int_equal(mkdir("new", 0777), 0);
    save("new/x", "old", 3);
    assert_int_equal(file_folder_commit(folder, &err), HALLEY_EIO);
    expect_content("new/x", "old", 3);
    assert_int_equal(count_files(), 2);
}

static halley_status fill_folder(void *context, halley_error *err)
{
    file_folder *folder;
    (void)context;
    TRY(file_folder_open(&folder, "new", err));
    const halley_status status = file_folder_put(folder, "a", "one", 3, err);
    file_folder_abort(folder);
    return status;
}

static void running_out_of_memory_leaves_no_folder(void **state)
{
    (void)state;
    assert_true(alloc_fail_everywhere(fill_folder, NULL) > 2);
    assert_int_equal(count_files(), 0);
}

static void lent_bytes_are_not_freed(void **state)
{
    (void)state;
    static const uint8_t bytes[10 + FILE_PAD] = "text";
    file_input in;
    file_input_lend(&in, bytes, 10);
    assert_ptr_equal(in.at, bytes);
    file_input_close(&in);
    assert_null(in.at);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, enter_folder, leave_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_file_reads_as_it_was_written_with_zeros_behind),
        TEST(gzip_may_have_many_members_and_any_name),
        TEST(a_gzip_of_another_maker_is_read),
        TEST(the_same_bytes_compress_to_the_same_file),
        TEST(a_cut_or_changed_gzip_never_reads_as_something_else),
        TEST(a_cut_large_gzip_says_where),
        TEST(garbage_behind_a_gzip_is_refused),
        TEST(an_inflating_bomb_ends_in_a_sentence),
        TEST(a_pipe_is_read_to_its_end),
        TEST(standard_input_is_read_from_where_it_stands),
        TEST(files_of_the_kernel_are_read),
        TEST(what_cannot_be_opened_is_said),
        TEST(an_abandoned_output_leaves_the_old_file),
        TEST(a_replaced_file_keeps_its_mode_and_a_new_one_follows_the_umask),
        TEST(a_link_stays_and_its_target_is_replaced),
        TEST(a_full_disk_is_said),
        TEST(a_disk_that_fills_up_leaves_the_old_file_and_no_other),
        TEST(what_cannot_be_written_is_said),
        TEST(reserved_bytes_and_written_ones_keep_their_order),
        TEST(standard_output_and_special_files_are_written_directly),
        TEST(formatted_text_may_be_long),
        TEST(a_long_name_has_a_temporary_one),
        TEST(running_out_of_memory_leaves_no_file),
        TEST(a_folder_appears_with_all_its_files_or_not_at_all),
        TEST(an_empty_folder_is_filled_and_stays_the_same_one),
        TEST(a_folder_that_cannot_be_made_is_said),
        TEST(running_out_of_memory_leaves_no_folder),
        TEST(lent_bytes_are_not_freed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
