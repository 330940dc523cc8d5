/*
 * Chakra's six programs by their names, through links to this program. Options are read
 * as Python's argparse reads them: long ones, unique beginnings of them, --option=value,
 * and -h. Wrong options end with 2 and other failures with 1. The work is done by
 * commands of halley.
 */
#include "cli/chakra.h"

#include "base/error.h"
#include "base/file/file.h"
#include "base/number/number.h"
#include "base/str.h"
#include "cli/commands.h"
#include "halley/trace_gen.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum chakra_kind { CHAKRA_TEXT, CHAKRA_INT, CHAKRA_FLAG } chakra_kind;

typedef struct chakra_option {
    const char *name; /* with its hyphens */
    chakra_kind kind;
    bool is_required;
    const char *by_default, *doc;
} chakra_option;

enum { MOST_OPTIONS = 6, MOST_WORDS = 16 };

typedef struct chakra_program {
    const char *name, *word, *doc; /* word: of chakra_converter */
    chakra_option options[MOST_OPTIONS];
    int (*run)(const char *const *values); /* by option; NULL = not given */
} chakra_program;

/* Run a command of halley; the list ends with NULL. */
static int run_words(const char *const *list)
{
    char *words[MOST_WORDS + 1];
    int n = 0;
    for (; n < MOST_WORDS && list[n] != NULL; n++)
        words[n] = (char *)(uintptr_t)list[n];
    words[n] = NULL;
    const int code = cli_main(&cli_halley, n, words);
    return code == 0 ? 0 : 1;
}

static int report(const halley_error *err)
{
    char text[HALLEY_ERROR_TEXT + HALLEY_ERROR_FILE];
    fprintf(stderr, "halley: %s\n", halley_error_format(err, text, sizeof text));
    return 1;
}

/* Chakra's programs leave a log, and scripts expect the file. */
static int write_log(const char *path, const char *program)
{
    file_output *out;
    halley_error err = {0};
    if (file_output_open(&out, path, &err) != HALLEY_OK)
        return report(&err);
    file_output_printf(out, "INFO - %s of halley\n", program);
    return file_output_commit(out, &err) == HALLEY_OK ? 0 : report(&err);
}

static int run_trace_link(const char *const *v)
{
    enum { RANK, HOST, DEVICE, OUT };
    (void)RANK;
    const int code =
        run_words((const char *[]){"halley", "trace", "link", v[HOST], v[DEVICE], "-o",
                                   v[OUT], "--form", "json", "--quiet", NULL});
    if (code == 0)
        fprintf(stderr,
                "halley: note: %s is a Chakra trace as JSON, which halley's "
                "chakra_converter reads; Chakra's own converter does not\n",
                v[OUT]);
    return code;
}

static int run_converter_pytorch(const char *const *v)
{
    enum { LOG, IN, OUT, SIMULATE };
    if (v[SIMULATE] != NULL)
        fprintf(stderr,
                "halley: note: --simulate changes no output; 'halley trace check' "
                "checks the order of the nodes\n");
    const int code = write_log(v[LOG], "chakra_converter");
    return code != 0 ? code
                     : run_words((const char *[]){"halley", "trace", "convert", "--to",
                                                  "et", v[IN], v[OUT], NULL});
}

static int run_converter_text(const char *const *v)
{
    enum { LOG, IN, OUT, NPUS, PASSES };
    const int code = write_log(v[LOG], "chakra_converter");
    return code != 0
               ? code
               : run_words((const char *[]){"halley", "trace", "convert", "--chakra",
                                            "--npus", v[NPUS], "--passes", v[PASSES],
                                            v[IN], v[OUT], NULL});
}

static int run_jsonizer(const char *const *v)
{
    return run_words((const char *[]){"halley", "trace", "convert", "--to", "chakra-json",
                                      v[0], v[1], NULL});
}

static int run_visualizer(const char *const *v)
{
    const str out = str_from(v[1]);
    const bool is_dot = str_ends(out, STR(".dot"));
    if (str_ends(out, STR(".pdf"))) {
        fprintf(stderr, "halley: PDF is not written here: write a .dot file and convert "
                        "it with graphviz (dot -Tpdf)\n");
        return 1;
    }
    if (!is_dot && !str_ends(out, STR(".graphml"))) {
        printf("Unknown output file extension. Must be one of pdf, dot, graphml.\n");
        return 0;
    }
    return run_words((const char *[]){"halley", "trace", "view", "--form",
                                      is_dot ? "dot" : "graphml", "-o", v[1], v[0],
                                      NULL});
}

static int run_timeline(const char *const *v)
{
    enum { IN, OUT, NPUS, FREQUENCY, LOG };
    halley_error err = {0};
    const int code = write_log(v[LOG], "chakra_timeline_visualizer");
    if (code != 0)
        return code;
    uint64_t npus;
    double frequency;
    const bool are_numbers = str_to_u64(str_from(v[NPUS]), &npus) &&
                             number_read(str_from(v[FREQUENCY]), &frequency);
    const halley_status status =
        are_numbers ? chakra_timeline(v[IN], v[OUT], npus, frequency, &err)
                    : error_set(&err, HALLEY_EINVAL,
                                "the number of NPUs and their frequency must be numbers");
    return status == HALLEY_OK ? 0 : report(&err);
}

/* Write one case of the generator into the working folder. */
static halley_status write_case(uint32_t pattern, const char *const *v, halley_error *err)
{
    enum { NPUS, RUNTIME, TENSOR, COMM };
    static const struct {
        const char *param, *unit;
        int value;
    } params[] = {
        {"compute", "us", RUNTIME}, {"tensor", "B", TENSOR}, {"size", "B", COMM}};
    const char *const name = halley_gen_pattern(pattern).name;
    halley_gen *gen = NULL;
    halley_gen_summary sum;
    char text[64];
    halley_status status =
        halley_gen_new(&gen, name, (uint32_t)strtoul(v[NPUS], NULL, 10), err);
    for (uint32_t i = 0; status == HALLEY_OK && i < halley_gen_param_count(); i++)
        for (size_t k = 0; k < sizeof params / sizeof *params; k++) {
            if (status != HALLEY_OK || !halley_gen_takes(pattern, i) ||
                strcmp(halley_gen_param(i).name, params[k].param) != 0)
                continue;
            snprintf(text, sizeof text, "%s %s", v[params[k].value], params[k].unit);
            status = halley_gen_set(gen, params[k].param, text, err);
        }
    if (status == HALLEY_OK)
        status = halley_gen_exact(gen, err);
    if (status == HALLEY_OK)
        status = halley_gen_check(gen, err);
    if (status == HALLEY_OK)
        status = halley_gen_save(gen, name, &sum, err);
    halley_gen_free(gen);
    return status;
}

static int run_generator(const char *const *v)
{
    halley_error err = {0};
    for (uint32_t p = 0; p < halley_gen_pattern_count(); p++)
        if (halley_gen_is_chakra(p) && write_case(p, v, &err) != HALLEY_OK)
            return report(&err);
    return 0;
}

#define LOG_OPTION(name)                                                                 \
    {                                                                                    \
        name, CHAKRA_TEXT, false, "debug.log", "log file"                                \
    }

static const chakra_program programs[] = {
    {"chakra_trace_link",
     NULL,
     "link an execution trace of PyTorch with the Kineto trace of the same run",
     {{"--rank", CHAKRA_INT, true, NULL, "rank of the traces"},
      {"--chakra-host-trace", CHAKRA_TEXT, true, NULL, "execution trace"},
      {"--chakra-device-trace", CHAKRA_TEXT, true, NULL, "Kineto trace"},
      {"--output-file", CHAKRA_TEXT, true, NULL, "linked trace to write"},
      {"--log-level", CHAKRA_TEXT, false, "INFO", "has no effect"}},
     run_trace_link},
    {"chakra_converter",
     "PyTorch",
     "convert a linked trace to Chakra's format",
     {LOG_OPTION("--log-filename"),
      {"--input", CHAKRA_TEXT, true, NULL, "linked trace"},
      {"--output", CHAKRA_TEXT, true, NULL, "trace to write"},
      {"--simulate", CHAKRA_FLAG, false, NULL, "has no effect on the output"}},
     run_converter_pytorch},
    {"chakra_converter",
     "Text",
     "convert a workload file of ASTRA-sim 1.0",
     {LOG_OPTION("--log-filename"),
      {"--input", CHAKRA_TEXT, true, NULL, "workload file"},
      {"--output", CHAKRA_TEXT, true, NULL, "prefix of the traces to write"},
      {"--num-npus", CHAKRA_INT, true, NULL, "number of NPUs"},
      {"--num-passes", CHAKRA_INT, true, NULL, "number of training steps"}},
     run_converter_text},
    {"chakra_jsonizer",
     NULL,
     "write a trace as JSON objects, one after the other",
     {{"--input_filename", CHAKRA_TEXT, true, NULL, "trace"},
      {"--output_filename", CHAKRA_TEXT, true, NULL, "JSON to write"}},
     run_jsonizer},
    {"chakra_visualizer",
     NULL,
     "draw a trace as dot or GraphML",
     {{"--input_filename", CHAKRA_TEXT, true, NULL, "trace"},
      {"--output_filename", CHAKRA_TEXT, true, NULL, "file to write, .dot or .graphml"}},
     run_visualizer},
    {"chakra_timeline_visualizer",
     NULL,
     "write a log of issues and callbacks as events for chrome://tracing",
     {{"--input_filename", CHAKRA_TEXT, true, NULL, "log"},
      {"--output_filename", CHAKRA_TEXT, true, NULL, "JSON to write"},
      {"--num_npus", CHAKRA_INT, true, NULL, "number of NPUs"},
      {"--npu_frequency", CHAKRA_INT, true, NULL, "clock of the NPUs, in MHz"},
      LOG_OPTION("--log_filename")},
     run_timeline},
    {"chakra_generator",
     NULL,
     "write small traces, one for each kind of node",
     {{"--num_npus", CHAKRA_INT, false, "64", "number of NPUs"},
      {"--default_runtime", CHAKRA_INT, false, "5", "duration of a node, in us"},
      {"--default_tensor_size", CHAKRA_INT, false, "1024", "bytes of a tensor"},
      {"--default_comm_size", CHAKRA_INT, false, "65536", "bytes of a collective"}},
     run_generator},
};
enum { N_PROGRAMS = sizeof programs / sizeof *programs };

static uint32_t count_options(const chakra_program *p)
{
    uint32_t n = 0;
    while (n < MOST_OPTIONS && p->options[n].name != NULL)
        n++;
    return n;
}

static void write_usage(FILE *to, const chakra_program *p)
{
    fprintf(to, "usage: %s%s%s [-h]", p->name, p->word != NULL ? " " : "",
            p->word != NULL ? p->word : "");
    for (uint32_t i = 0; i < count_options(p); i++) {
        const chakra_option *const o = &p->options[i];
        fprintf(to, o->is_required ? " %s%s" : " [%s%s]", o->name,
                o->kind == CHAKRA_FLAG  ? ""
                : o->kind == CHAKRA_INT ? " N"
                                        : " TEXT");
    }
    fputc('\n', to);
}

static int write_help(const chakra_program *p)
{
    write_usage(stdout, p);
    printf("\n%s\n\noptions:\n  %-24s show this help message and exit\n", p->doc,
           "-h, --help");
    for (uint32_t i = 0; i < count_options(p); i++) {
        const chakra_option *const o = &p->options[i];
        printf("  %-24s %s%s%s%s\n", o->name, o->doc,
               o->by_default != NULL ? " (default: " : "",
               o->by_default != NULL ? o->by_default : "",
               o->by_default != NULL ? ")" : "");
    }
    return 0;
}

static int refuse(const chakra_program *p, const char *what, const char *which)
{
    write_usage(stderr, p);
    fprintf(stderr, "%s: error: %s%s\n", p->name, what, which);
    return 2;
}

/* The option that a word means: its name or a beginning that no other has. */
static const chakra_option *find_option(const chakra_program *p, const char *word,
                                        size_t n)
{
    const chakra_option *found = NULL;
    for (uint32_t i = 0; i < count_options(p); i++) {
        const chakra_option *const o = &p->options[i];
        if (strncmp(o->name, word, n) != 0)
            continue;
        if (o->name[n] == '\0')
            return o;
        if (found != NULL)
            return NULL;
        found = o;
    }
    return found;
}

static bool is_int(const char *text)
{
    text += *text == '-' || *text == '+';
    bool any = false;
    for (; isdigit((unsigned char)*text); text++)
        any = true;
    return any && *text == '\0';
}

/* Read the words into `values`; -1: run the program. */
static int read_words(const char **values, const chakra_program *p, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *const word = argv[i], *const equals = strchr(word, '=');
        const size_t n = equals != NULL ? (size_t)(equals - word) : strlen(word);
        if (strcmp(word, "-h") == 0 || (n > 2 && strncmp("--help", word, n) == 0))
            return write_help(p);
        if (p->word != NULL && strcmp(word, p->word) == 0)
            continue;
        const chakra_option *const o =
            n > 2 && word[0] == '-' ? find_option(p, word, n) : NULL;
        if (o == NULL)
            return refuse(p, "unrecognized arguments: ", word);
        const char *value = equals != NULL ? equals + 1 : "";
        if (o->kind != CHAKRA_FLAG && equals == NULL) {
            if (i + 1 >= argc || strncmp(argv[i + 1], "--", 2) == 0)
                return refuse(p, "expected one argument for ", o->name);
            value = argv[++i];
        }
        if (o->kind == CHAKRA_INT && !is_int(value))
            return refuse(p, "expected an integer for ", o->name);
        values[o - p->options] = value;
    }
    for (uint32_t i = 0; i < count_options(p); i++) {
        if (values[i] == NULL && p->options[i].is_required)
            return refuse(p, "this argument is required: ", p->options[i].name);
        if (values[i] == NULL)
            values[i] = p->options[i].by_default;
    }
    return -1;
}

/* chakra_converter has two forms, by a word between its options. */
static const chakra_program *find_form(const char *name, int argc, char **argv)
{
    const chakra_program *only = NULL;
    for (size_t p = 0; p < N_PROGRAMS; p++) {
        if (strcmp(programs[p].name, name) != 0)
            continue;
        for (int i = 1; programs[p].word != NULL && i < argc; i++)
            if (strcmp(argv[i], programs[p].word) == 0)
                return &programs[p];
        only = programs[p].word == NULL ? &programs[p] : only;
    }
    return only;
}

static int write_converter_help(int argc, char **argv)
{
    const bool is_wrong = argc > 1 && argv[1][0] != '-';
    FILE *const to = is_wrong ? stderr : stdout;
    fprintf(to,
            "usage: chakra_converter [-h] [--log-filename TEXT] {PyTorch,Text} ...\n");
    if (is_wrong)
        fprintf(to, "chakra_converter: error: invalid choice: %s\n", argv[1]);
    return is_wrong ? 2 : 0;
}

bool cli_chakra_run(int *code, int argc, char **argv)
{
    if (argc < 1)
        return false;
    const char *const slash = strrchr(argv[0], '/');
    const char *const name = slash == NULL ? argv[0] : slash + 1;
    const char *values[MOST_OPTIONS] = {NULL};
    if (strncmp(name, "chakra_", 7) != 0)
        return false;
    const chakra_program *const p = find_form(name, argc, argv);
    if (p == NULL && strcmp(name, "chakra_converter") != 0)
        return false;
    *code =
        p == NULL ? write_converter_help(argc, argv) : read_words(values, p, argc, argv);
    if (*code < 0)
        *code = p->run(values);
    return true;
}
