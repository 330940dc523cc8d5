/*
 * The whole command line with any input: the first byte chooses a command, the rest is
 * the file it reads (or, of two ranks, both files, cut in the middle). From 128 on, it is
 * one of all commands of the program, and the second byte chooses which of its options
 * names the file, too. These words come from the tables of options. Whatever the file
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

enum { MOST_WORDS = 32, FROM_TABLES = 128 };

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

typedef struct word_list {
    char *at[MOST_WORDS + 2];
    int n;
} word_list;

static void add_word(word_list *words, const char *word)
{
    if (words->n < MOST_WORDS)
        words->at[words->n++] = (char *)(uintptr_t)word; /* cli_main only reads it */
}

static void add_option(word_list *words, const request_option *o, const char *value)
{
    static char texts[MOST_WORDS][256];
    char *const text = texts[words->n % MOST_WORDS];
    snprintf(text, sizeof texts[0], "--%s=%s", o->name, value);
    add_word(words, text);
}

/* A server runs until it is stopped; a replay needs the machine's other ranks. */
static bool is_left_out(const request_verb *verb)
{
    return strcmp(verb->name, "serve") == 0 || strcmp(verb->name, "replay") == 0;
}

/* True for an option that may name a file to be read. */
static bool is_source(const request_option *o)
{
    return !o->writes && (o->kind == REQUEST_TEXT || o->kind == REQUEST_TEXTS);
}

/* Words of a command by its tables: its arguments are the file, what it requires has the
 * value of the example, and one more option is the file. */
static void add_command(word_list *words, const request_verb *verb, uint8_t chosen)
{
    static char name[64];
    uint32_t n_sources = 0, at = 0;
    snprintf(name, sizeof name, "%s", verb->name);
    char *const blank = strchr(name, ' ');
    add_word(words, name);
    if (blank != NULL) {
        *blank = '\0';
        add_word(words, blank + 1);
    }
    const uint32_t n_args = verb->min_args > 0 ? verb->min_args : verb->max_args > 0;
    for (uint32_t i = 0; i < n_args; i++)
        add_word(words, verb->writes_last && i + 1 == n_args ? "out" : "input");
    for (const request_option *o = verb->options; o != NULL && o->name != NULL; o++)
        n_sources += is_source(o);
    for (const request_option *o = verb->options; o != NULL && o->name != NULL; o++) {
        const bool is_chosen = is_source(o) && at++ == chosen % (n_sources + 1);
        const bool is_required =
            o->by_default != NULL && strcmp(o->by_default, REQUEST_REQUIRED) == 0;
        if (is_chosen)
            add_option(words, o, "input");
        else if (is_required || strcmp(o->name, "stop") == 0)
            add_option(words, o, o->writes ? "out" : o->example);
    }
}

static void add_any_command(word_list *words, uint8_t which, uint8_t chosen)
{
    uint32_t n = 0, at = 0;
    while (cli_halley.commands[n] != NULL)
        n++;
    at = which % n;
    while (is_left_out(cli_halley.commands[at]))
        at = (at + 1) % n;
    add_command(words, cli_halley.commands[at], chosen);
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    word_list words = {0};
    if (n == 0)
        return 0;
    prepare_once();
    add_word(&words, "halley");
    if (at[0] >= FROM_TABLES) {
        add_any_command(&words, at[0] - FROM_TABLES, n > 1 ? at[1] : 0);
        at += n > 1;
        n -= n > 1;
    } else {
        const char *const *family = families[at[0] % N_FAMILIES];
        for (int i = 0; i < MOST_WORDS && family[i] != NULL; i++)
            add_word(&words, strcmp(family[i], "@") == 0 ? "input" : family[i]);
    }
    write_file("input", at + 1, n - 1);
    write_file("pair.0.et", at + 1, (n - 1) / 2);
    write_file("pair.1.et", at + 1 + (n - 1) / 2, n - 1 - (n - 1) / 2);
    const int code = run_quietly(words.n, words.at);
    if (code < 0 || code > 2)
        abort();
    return 0;
}
