/*
 * The whole command line with any input: the first byte chooses a command, the rest is
 * the file it reads (or, of two ranks, both files, cut in the middle). Whatever the file
 * is, the command ends with 0, 1 or 2, and leaves nothing but what it was asked to write.
 */
#include "cli/cli.h"
#include "cli/commands.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n);

enum { MOST_WORDS = 16 };

/* "@" is the file; a set of two ranks is "pair". New commands go to the end, so that kept
 * inputs keep their meaning. */
static const char *const families[][MOST_WORDS] = {
    {"estimate", "-m", "@", "-c", "dgx-h100:8"},
    {"estimate", "-m", "gpt-3.6b", "-c", "@", "--json"},
    {"estimate", "-m", "gpt-3.6b", "-c", "dgx-h100:8", "--plan", "@"},
    {"estimate", "-m", "gpt-3.6b", "-c", "dgx-h100:8", "-s", "@", "--explain"},
    {"explore", "@", "--dry-run", "--json"},
    {"results", "@", "--top", "3"},
    {"results", "@", "--all", "--csv"},
    {"trace", "info", "@"},
    {"trace", "info", "@", "--json", "--attrs", "--path"},
    {"trace", "check", "@"},
    {"trace", "convert", "@", "out.json", "--to", "json"},
    {"trace", "convert", "@", "out.et", "--to", "et"},
    {"trace", "link", "@", "-o", "linked.et"},
    {"trace", "view", "@", "-o", "view.svg"},
    {"trace", "timeline", "@", "-o", "timeline.json"},
    {"trace", "obfuscate", "@", "-o", "hidden.et", "-l", "structure", "--force"},
    {"trace", "diff", "@", "@"},
    {"trace", "slice", "@", "--ids", "0-5", "-o", "slice.et"},
    {"sim", "pair", "-c", "dgx-h100:2", "--stop", "10 s"},
    {"sim", "@", "-c", "dgx-h100:1", "--stop", "10 s", "--network-model", "queue"},
    {"trace", "check", "pair", "--csv"},
    {"topology", "check", "@"},
    {"topology", "show", "@", "--counts"},
    {"topology", "flows", "@", "--csv"},
    {"presets", "@"},
    {"score", "@", "--rows"},
};
enum { N_FAMILIES = sizeof families / sizeof *families };

static void write_file(const char *name, const uint8_t *at, size_t n)
{
    const int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || (n > 0 && write(fd, at, n) != (ssize_t)n))
        abort();
    close(fd);
}

static void remove_folder(void)
{
    if (system("rm -rf \"$PWD\"") != 0) /* the last command of the process */
        perror("rm");
}

static FILE *nowhere;

/* A folder of its own. */
static void prepare_once(void)
{
    static char folder[] = "/tmp/halley-fuzz-XXXXXX";
    if (nowhere != NULL)
        return;
    if (mkdtemp(folder) == NULL || chdir(folder) != 0)
        abort();
    atexit(remove_folder);
    nowhere = fopen("/dev/null", "w");
    setenv("HALLEY_MAX_MEMORY", "512 MB", 1);
}

/* Results and sentences go nowhere; sanitizers write to the descriptor. */
static int run_quietly(int n_words, char **words)
{
    FILE *const out = stdout, *const err = stderr;
    stdout = stderr = nowhere;
    const int code = cli_main(&cli_halley, n_words, words);
    stdout = out;
    stderr = err;
    return code;
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    char *words[MOST_WORDS + 2] = {(char *)(uintptr_t) "halley"};
    int n_words = 1;
    if (n == 0)
        return 0;
    prepare_once();
    const char *const *family = families[at[0] % N_FAMILIES];
    for (int i = 0; i < MOST_WORDS && family[i] != NULL; i++)
        words[n_words++] =
            (char *)(uintptr_t)(strcmp(family[i], "@") == 0 ? "input" : family[i]);
    write_file("input", at + 1, n - 1);
    write_file("pair.0.et", at + 1, (n - 1) / 2);
    write_file("pair.1.et", at + 1 + (n - 1) / 2, n - 1 - (n - 1) / 2);
    const int code = run_quietly(n_words, words);
    if (code < 0 || code > 2)
        abort();
    return 0;
}
