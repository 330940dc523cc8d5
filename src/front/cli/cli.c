/*
 * From argv to an exit code: find the command, parse its options and run it. If any of
 * that fails, or writing the results to stdout, print one sentence.
 */
#include "cli/cli.h"

#include "base/array.h"
#include "base/error.h"
#include "base/limit.h"
#include "base/number/units.h"
#include "base/progress.h"
#include "base/str.h"
#include "base/strbuf_stream.h"
#include "halley/limit.h"
#include "halley/unfinished.h"
#include "request/files.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef ARRAY(const char *) names;

static bool starts_with_word(const char *name, const char *word)
{
    const size_t n = strlen(word);
    return strncmp(name, word, n) == 0 && name[n] == ' ';
}

bool cli_in_group(const request_verb *command, const cli_group *group)
{
    return starts_with_word(command->name, group->name);
}

/* The command that people mean by another word: "optimize" means plan. NULL if there is
 * none. */
static const char *find_synonym(const char *word)
{
    static const char *const words[][2] = {{"optimize", "plan"},
                                           {"optimise", "plan"},
                                           {"parallelize", "plan"},
                                           {"parallelise", "plan"},
                                           {"search", "explore"},
                                           {"sweep", "explore"},
                                           {"study", "explore"},
                                           {"predict", "estimate"},
                                           {"train", "estimate"},
                                           {"run", "sim"},
                                           {"gui", "serve"},
                                           {"web", "serve"},
                                           {"server", "serve"},
                                           {"validate", "score"},
                                           {"accuracy", "score"},
                                           {"fit", "calibrate"},
                                           {"list", "presets"},
                                           {"show", "presets"},
                                           {"models", "presets"},
                                           {"clusters", "presets"},
                                           {"network", "topology"},
                                           {"record", "trace link"},
                                           {"anonymize", "trace obfuscate"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i][0], word) == 0)
            return words[i][1];
    return NULL;
}

/*
 * The nearest name of a command or group. A second word alone ("info") means its command.
 * With a group, only the second words of its commands are compared.
 */
static const char *nearest_command(const cli_program *program, const char *group,
                                   const char *wrong)
{
    names known = {0};
    const char *meant = group == NULL ? find_synonym(wrong) : NULL;
    if (meant != NULL)
        return meant;
    for (const request_verb *const *c = program->commands; *c; c++) {
        const char *name = (*c)->name, *second = strchr(name, ' ');
        if (!group && second && strcmp(second + 1, wrong) == 0) {
            array_fini(&known);
            return name;
        }
        if (group && !starts_with_word(name, group))
            continue;
        if (!array_push(&known, group ? second + 1 : name))
            break;
    }
    for (const cli_group *g = program->groups; !group && g->name; g++)
        if (!array_push(&known, g->name))
            break;
    const char *near = str_nearest(str_from(wrong), known.at, known.n);
    for (size_t i = 0; i < known.n && near == NULL; i++) /* "simulate" begins with sim */
        if (strlen(known.at[i]) >= 3 &&
            str_starts(str_from(wrong), str_from(known.at[i])))
            near = known.at[i];
    array_fini(&known);
    return near;
}

/* List commands that have the word as an option: "estimate --explain, sim --explain". */
static void find_as_option(strbuf *to, const cli_program *program, const char *word)
{
    enum { MOST_NAMED = 4 };
    size_t n = 0;
    for (const request_verb *const *c = program->commands; *c; c++)
        if (request_option_find(NULL, *c, str_from(word)) && n++ < MOST_NAMED)
            strbuf_printf(to, "%s%s --%s", to->n > 0 ? ", " : "", (*c)->name, word);
    if (n > MOST_NAMED)
        strbuf_add(to, STR(", ..."));
}

static void unknown_command(const cli_program *program, const char *group,
                            const char *word, halley_error *err)
{
    const char *near = nearest_command(program, group, word);
    const char *space = group ? " " : "";
    strbuf options = {0};
    if (group == NULL && find_synonym(word) == NULL &&
        (near == NULL || strncmp(word, near, strlen(near)) != 0))
        find_as_option(&options, program, word);
    group = group ? group : "";
    if (options.n > 0)
        error_set(err, HALLEY_EINVAL, "no command \"%s\"; it is an option: %s", word,
                  options.at);
    else if (near)
        error_set(err, HALLEY_EINVAL, "no command \"%s%s%s\"; did you mean %s%s%s?",
                  group, space, word, group, space, near);
    else
        error_set(err, HALLEY_EINVAL, "no command \"%s%s%s\"", group, space, word);
    strbuf_fini(&options);
}

static const request_verb *find_named(const cli_program *program, const char *first,
                                      const char *second)
{
    for (const request_verb *const *c = program->commands; *c; c++) {
        const char *name = (*c)->name;
        if (!second && strcmp(name, first) == 0)
            return *c;
        if (second && starts_with_word(name, first) &&
            strcmp(name + strlen(first) + 1, second) == 0)
            return *c;
    }
    return NULL;
}

const request_verb *cli_find(const cli_program *program, const char *const *words,
                             size_t n_words, size_t *n_used, const cli_group **group,
                             halley_error *err)
{
    *group = NULL;
    const request_verb *single = find_named(program, words[0], NULL);
    if (single) {
        *n_used = 1;
        return single;
    }
    const cli_group *g = program->groups;
    while (g->name && strcmp(g->name, words[0]) != 0)
        g++;
    if (!g->name) {
        unknown_command(program, NULL, words[0], err);
        return NULL;
    }
    *group = g;
    if (n_words < 2 || words[1][0] == '-')
        return NULL;
    const request_verb *pair = find_named(program, words[0], words[1]);
    *n_used = 2;
    if (!pair)
        unknown_command(program, g->name, words[1], err);
    return pair;
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static void print_error_line(const cli_program *program, const halley_error *err)
{
    char text[HALLEY_ERROR_TEXT + HALLEY_ERROR_FILE + 128];
    fflush(stdout); /* so that results precede the message on a terminal */
    fprintf(stderr, "%s: %s\n", program->name,
            halley_error_format(err, text, sizeof text));
}

static int wrong_usage(const cli_program *program, const char *about,
                       const halley_error *err)
{
    print_error_line(program, err);
    fprintf(stderr, "see '%s%s%s --help'\n", program->name, *about ? " " : "", about);
    return REQUEST_WRONG_USAGE;
}

/* Notes may quote names of input files; error_set escapes them. */
static void print_note(const char *text)
{
    halley_error clean;
    error_set(&clean, HALLEY_EINVAL, "%s", text);
    fprintf(stderr, "halley: %s\n", clean.text);
}

/* True if the command has the option --NAME, and it was given. */
static bool has_flag(const request_call *call, const char *name)
{
    return request_option_find(NULL, call->verb, str_from(name)) &&
           request_given(call, name);
}

/* Text is escaped on its way to stdout; the output of --csv and --json is data. */
static halley_status run_as_text(request_call *call, halley_error *err)
{
    if (has_flag(call, "csv"))
        return request_call_run(call, err);
    call->out = cli_visible_open(stdout);
    if (call->out == NULL) {
        call->out = stdout;
        return error_nomem(err);
    }
    const halley_status status = request_call_run(call, err);
    (void)fclose(call->out); /* a failed write is detected on stdout */
    call->out = stdout;
    return status;
}

/* JSON is printed only when it is complete, so a command that fails leaves stdout empty.
 * A command whose answer is "no" (an infeasible design) still prints its result. */
static halley_status run_into_stdout(request_call *call, halley_error *err)
{
    strbuf text = {0};
    if (!has_flag(call, "json"))
        return run_as_text(call, err);
    call->out = strbuf_stream_open(&text);
    if (call->out == NULL) {
        call->out = stdout;
        return error_nomem(err);
    }
    halley_status status = request_call_run(call, err);
    if ((fclose(call->out) != 0 || text.failed) && status == HALLEY_OK)
        status = error_nomem(err);
    call->out = stdout;
    if (text.n > 0 && !text.failed &&
        (status == HALLEY_OK || call->code == REQUEST_CODE_INFEASIBLE))
        fwrite(text.at, 1, text.n, stdout);
    strbuf_fini(&text);
    return status;
}

/*
 * Handles a signal that ends the program. It removes unfinished files, and prints that
 * and how to continue. Then the signal takes its default action, so that a shell sees the
 * right cause.
 */
static volatile sig_atomic_t is_ending;
/* The text that the handler prints, since a handler has no argument. NULL: there is
 * nothing to resume. */
static const char *_Atomic resume_words;

static void write_words(const char *words)
{
    (void)!write(STDERR_FILENO, words, strlen(words));
}

static void end_by_signal(int number)
{
    is_ending = 1;
    const bool removed = halley_unfinished_remove() > 0;
    const char *const words = atomic_load(&resume_words);
    if (removed)
        write_words("halley: stopped; the files being written were removed\n");
    if (words != NULL)
        write_words(words);
    else if (removed)
        write_words("halley: run the same command again to make them\n");
    (void)raise(number); /* blocked until this function returns; SA_RESETHAND */
}

/* Set the text about the work that the command keeps when it is stopped. */
static void set_resume_words(const request_call *call)
{
    const request_verb *const verb = call->verb;
    const bool has_store = request_option_find(NULL, verb, STR("resume")) &&
                           request_option_find(NULL, verb, STR("store")) &&
                           request_given(call, "store");
    if (has_store)
        atomic_store(&resume_words, "halley: the store keeps what was evaluated; run the "
                                    "same command with --resume to go on\n");
}

/* If the memory limit was the cause, also print how to raise it. */
static void print_failure(const request_call *call, const halley_error *err)
{
    uint64_t limit;
    char size[32];
    print_error_line(call->program, err);
    if (err->code == HALLEY_ENOMEM && limit_memory(&limit, NULL) == HALLEY_OK)
        fprintf(stderr,
                "%s: the limit of memory is %s; --max-memory or HALLEY_MAX_MEMORY "
                "raises it\n",
                call->program->name,
                units_format(size, sizeof size, (double)limit, UNITS_BYTES));
}

/* Limit the memory of the process from here on. */
static halley_status apply_memory_limit(request_call *call, halley_error *err)
{
    halley_status status = HALLEY_OK;
    if (call->max_memory > 0)
        status = halley_memory_limit_set(call->max_memory, err);
    if (status == HALLEY_OK)
        status = limit_process_apply(err);
    if (status == HALLEY_EINVAL)
        call->exit_code = REQUEST_WRONG_USAGE;
    return status;
}

static int run_command(request_call *call, arena *memory, const char *const *words,
                       size_t n_words)
{
    halley_error err = {0};
    bool help = false;
    if (cli_parse(call, memory, &help, words, n_words, &err) != HALLEY_OK) {
        if (err.code == HALLEY_ENOMEM) {
            print_error_line(call->program, &err);
            return REQUEST_FAILED;
        }
        return wrong_usage(call->program, call->verb->name, &err);
    }
    if (help) {
        const uint64_t n_failures = mem_failure_count();
        cli_help_command(stdout, call->program, call->verb);
        if (n_failures == mem_failure_count())
            return REQUEST_DONE;
        error_nomem(&err); /* a part of the help is missing */
        print_error_line(call->program, &err);
        return REQUEST_FAILED;
    }
    set_resume_words(call);
    halley_status status = apply_memory_limit(call, &err);
    if (status == HALLEY_OK)
        status = run_into_stdout(call, &err);
    if (call->exit_code == REQUEST_WRONG_USAGE && status != HALLEY_OK)
        return wrong_usage(call->program, call->verb->name, &err);
    if (status == HALLEY_OK)
        return call->exit_code;
    print_failure(call, &err);
    return REQUEST_FAILED;
}

static int top_option(const cli_program *program, const char *word)
{
    if (is_help(word)) {
        cli_help_overview(stdout, program);
        return REQUEST_DONE;
    }
    if (strcmp(word, "--version") == 0 || strcmp(word, "-v") == 0) {
        printf("%s %s\n", program->name, program->version);
        return REQUEST_DONE;
    }
    static const char *const known[] = {"--help", "--version"};
    const char *near = str_nearest(str_from(word), known, 2);
    halley_error err = {0};
    error_set(&err, HALLEY_EINVAL, "unknown option %s%s%s%s", word,
              near ? ", did you mean " : "", near ? near : "", near ? "?" : "");
    return wrong_usage(program, "", &err);
}

/* Handle `halley trace` and `halley trace --help`; any other option of a group is an
 * error. */
static int only_group(const cli_program *program, const cli_group *group,
                      const char *option)
{
    if (!option || is_help(option)) {
        cli_help_group(stdout, program, group);
        return REQUEST_DONE;
    }
    halley_error err = {0};
    error_set(&err, HALLEY_EINVAL, "%s needs a command before %s", group->name, option);
    return wrong_usage(program, group->name, &err);
}

static int dispatch_words(const cli_program *program, const char *const *words,
                          size_t n_words)
{
    if (n_words == 0) {
        cli_help_overview(stdout, program);
        return REQUEST_DONE;
    }
    if (words[0][0] == '-')
        return top_option(program, words[0]);
    if (strcmp(words[0], "version") == 0 && n_words == 1)
        return top_option(program, "--version");
    size_t n_used = 0;
    const cli_group *group = NULL;
    halley_error err = {0};
    const request_verb *command =
        cli_find(program, words, n_words, &n_used, &group, &err);
    if (!command && err.code == HALLEY_OK)
        return only_group(program, group, n_words > 1 ? words[1] : NULL);
    if (!command)
        return wrong_usage(program, group ? group->name : "", &err);
    progress_view view = {0};
    const halley_watch watch = {progress_look, &view};
    request_notes warnings = {0};
    request_assumptions assumed = {0};
    request_call call = {.program = program,
                         .verb = command,
                         .out = stdout,
                         .watch = &watch,
                         .view = &view,
                         .warnings = &warnings,
                         .assumed = &assumed,
                         .show_note = print_note};
    arena memory = {0};
    const int code = run_command(&call, &memory, words + n_used, n_words - n_used);
    progress_view_fini(&view);
    request_notes_fini(&warnings);
    request_assumptions_fini(&assumed);
    arena_fini(&memory);
    return code;
}

/*
 * If a standard descriptor is closed at the start, the first file that is opened would
 * take its place, and the program would print into that file. So put something there that
 * refuses reads or writes.
 */
static void fill_standard_descriptors(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)!open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

/* Results that could not be written (a full disk) are a failure, even if found at the
 * end. */
static int close_stdout(const cli_program *program, int code)
{
    const bool failed_before = ferror(stdout) != 0;
    errno = 0;
    if (fflush(stdout) == 0 && !failed_before)
        return code;
    if (errno == 0 && write(STDOUT_FILENO, "", 0) == 0) /* an earlier write failed */
        (void)!write(STDOUT_FILENO, "\n", 1);
    fprintf(stderr, "%s: cannot write the results to standard output%s%s\n",
            program->name, errno ? ": " : "", errno ? strerror(errno) : "");
    return code == REQUEST_DONE ? REQUEST_FAILED : code;
}

/* Signals that the parent process ignores (nohup) stay ignored. */
static void catch_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction before,
            now = {.sa_handler = end_by_signal, .sa_flags = (int)SA_RESETHAND};
        sigemptyset(&now.sa_mask);
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
            sigaddset(&now.sa_mask, numbers[k]);
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(numbers[i], &now, NULL);
    }
}

int cli_main(const cli_program *program, int argc, char **argv)
{
    fill_standard_descriptors();
    signal(SIGPIPE, SIG_DFL); /* `halley ... | head` ends quietly, whoever started it */
    signal(SIGXFSZ,
           SIG_IGN); /* a file over the limit is a failed write, with a message */
    catch_signals();
    const size_t n_words = argc > 1 ? (size_t)argc - 1 : 0;
    const int code = dispatch_words(program, (const char *const *)argv + 1, n_words);
    while (is_ending) /* the handler runs in another thread and ends the process */
        pause();
    return close_stdout(program, code);
}
