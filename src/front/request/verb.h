/*
 * request/verb.h - what halley can do, as data. A verb is one request_verb. Its table of
 * options defines the keys of a request, the options of the command, --help, man page,
 * completion and the JSON schema. Its `run` writes the result as text, CSV or JSON.
 * Command line and halley_request run the same function, so `--json` prints exactly the
 * bytes of the reply to a request.
 *
 * To add the verb "trace info" (command `halley trace info`, request "trace.info"):
 *   1. src/front/request/verb/verb_trace_info.c
 *      with `const request_verb request_verb_trace_info = {...}`
 *   2. one line in verbs.h, one line in meson.build
 *   3. the rows of its result in a file *_facts.c (base/fact.h), named by .result; `run`
 *      fills the struct and calls request_facts_write
 *   4. tests/cli/trace_info.t: golden tests (format: tests/cli/README.md), one of them
 *      with --json; a line in tests/request/commands.txt
 *
 * Rules of `run`:
 *   - results go to call->out, notes through request_note, nothing to stdout or stderr;
 *   - JSON is one object between request_json_begin and request_json_end, which adds
 *     "warnings" and "assumed";
 *   - work that may take long gets call->watch;
 *   - a model, cluster, plan, stack or study is loaded through request/document.h, so
 *     that a request may contain the document itself.
 */
#ifndef REQUEST_VERB_H
#define REQUEST_VERB_H

#include "base/arena.h"
#include "base/fact.h"
#include "base/number/units.h"
#include "base/progress.h"
#include "halley/error.h"
#include "halley/watch.h"
#include "report/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { REQUEST_MAX_OPTIONS = 128 }; /* of one verb */
enum { REQUEST_MAX_TABLES = 128 };  /* of all results (.result) and inside them */

/* The value of an option, and the type of the member that stores it. */
typedef enum request_kind {
    REQUEST_FLAG,      /* nothing; bool */
    REQUEST_TEXT,      /* any text; const char *, lent by the call */
    REQUEST_TEXTS,     /* any text, may be repeated; request_texts */
    REQUEST_U32,       /* a whole number; uint32_t */
    REQUEST_U64,       /* a whole number; uint64_t */
    REQUEST_DOUBLE,    /* a plain number; double */
    REQUEST_QUANTITY,  /* a number with a unit; double in the unit of `unit` */
    REQUEST_CHOICE,    /* one of `choices`; uint32_t, its index */
    REQUEST_PLAN_KEYS, /* no option: represents those of all keys of plans (design.h) */
} request_kind;

typedef struct request_texts {
    const char *const *at;
    size_t n;
} request_texts;

/* The by_default of a required option. */
#define REQUEST_REQUIRED "required"

typedef struct request_option {
    const char *name; /* "depth" for --depth; "max-tp" is max_tp in a request */
    char letter;      /* 'd' for -d; 0 = none. 'h' is reserved for --help */
    request_kind kind;
    bool negatable;             /* FLAG: --no-depth also exists, and stores false */
    bool is_document;           /* TEXT: a request may contain the document instead */
    bool writes;                /* TEXT: a file, prefix or folder that is written */
    units_kind unit;            /* QUANTITY */
    double min, max;            /* numbers: inclusive; both 0 = no bound */
    const char *metavar;        /* "N"; NULL for flags and choices */
    const char *const *choices; /* CHOICE, TEXT of a plan: names, ends with NULL */
    const char *implicit; /* value of "--name" alone; another value needs "--name=" */
    size_t offset;        /* offsetof the member in the options struct */
    const char *doc;      /* a phrase with the unit: "stop after N levels" */
    /* The value if it is not given: "10", "one per core", "none", REQUEST_REQUIRED; NULL
     * only for flags, which are off. */
    const char *by_default;
    const char *example; /* a value that is accepted; NULL for flags and choices */
    size_t index;        /* among the options of its verb; request_option_next sets it */
} request_option;

typedef struct request_example {
    const char *command; /* "halley trace info ring" */
    const char *doc;     /* "what it shows", a phrase; may be NULL */
} request_example;

/* An entry of a table of the library that a page lists: a key of a file, a parameter. */
typedef struct request_entry {
    const char *name, *doc;           /* lent */
    const char *by_default, *example; /* values as files write them; NULL = not shown */
    const char *const *values;        /* possible values, ends with NULL; NULL = any */
    const char *form;                 /* what is written: "N", "yes|no"; NULL = see doc */
    char room[48];                    /* space for a default that is made for the page */
} request_entry;
typedef struct request_list {
    const char *title;                           /* "keys of a study file" */
    bool (*entry)(request_entry *out, size_t i); /* false past the last */
} request_list;

typedef struct request_call request_call;

/*
 * Do the work. On failure return the status with `err` set: the command line prints
 * "halley: <sentence>" and exits 1, a request replies with it. For an exit code without a
 * message (`diff` found differences) set call->exit_code and return HALLEY_OK. For wrong
 * usage return request_usage(call, err, ...).
 */
typedef halley_status request_run(request_call *call, halley_error *err);

typedef struct request_verb {
    const char *name;            /* "trace info", or one word */
    const char *summary;         /* a phrase, no capital, no period: "describe traces" */
    const char *arguments;       /* "TRACE..." as in the synopsis; "" = none */
    const char *const *arg_keys; /* their keys in a request, ends with NULL; the last
                                    takes a list if max_args allows more */
    const char *description;     /* paragraphs, separated by blank lines */
    const request_example *examples; /* ends with {0}; may be NULL */
    const request_option *options;   /* ends with {0}; may be NULL; --help is implied */
    size_t options_size;             /* sizeof the options struct */
    const void *defaults;            /* initial options struct; NULL = zeros */
    uint32_t min_args, max_args;     /* positional arguments; REQUEST_ANY = no limit */
    const request_list *lists; /* shown after the options; ends with {0}; may be NULL */
    bool writes_last;          /* the last argument is written, not read */
    bool args_are_documents;   /* arguments may be pipes, which are read once */
    bool recognises_first;     /* so may the first, which is opened to recognise it */
    bool keeps_unknown;        /* undeclared options are collected, not refused */
    const fact_table *result;  /* the rows of its result; NULL: vocabulary_keys.c */
    request_run *run;
} request_verb;

#define REQUEST_ANY UINT32_MAX

/* Kinds of failure: the value of "code" in an error (INTERFACES). */
typedef enum request_code {
    REQUEST_CODE_BY_STATUS, /* given by the halley_status */
    REQUEST_CODE_USAGE,
    REQUEST_CODE_NOT_FOUND,
    REQUEST_CODE_BAD_FILE,
    REQUEST_CODE_BAD_VALUE,
    REQUEST_CODE_INFEASIBLE,
    REQUEST_CODE_UNSUPPORTED,
    REQUEST_CODE_CANCELLED,
    REQUEST_CODE_LIMIT,
    REQUEST_CODE_INTERNAL,
    REQUEST_N_CODES
} request_code;
const char *request_code_word(request_code code); /* lent, static */

/* Warnings that are no failures; defaults that were assumed. */
typedef struct request_notes {
    char **at;
    size_t n, cap;
    bool failed; /* memory ran out for one: the call fails */
} request_notes;

/* A value that the user did not state. */
typedef struct request_assumption {
    char key[48], value[96]; /* as in a plan file */
    char origin[16];         /* file, recipe, stack, default */
    char recipe[192];        /* its name; "" = from none */
    char why[192];           /* how near the recipe is; "" = from none */
    char text[224];          /* "sequence 8192 (from the model)" */
} request_assumption;
typedef struct request_assumptions {
    request_assumption *at;
    size_t n, cap;
    bool failed; /* memory ran out for one: the call fails */
} request_assumptions;

struct cli_program;

/* One call of a verb. */
struct request_call {
    const request_verb *verb;
    const struct cli_program *program; /* of the command line; NULL in a request */
    const void *options;               /* the verb's options struct, filled */
    const char *const *args;
    size_t n_args;
    const char *const *unknown; /* if keeps_unknown: undeclared --name=value, verbatim */
    size_t n_unknown;
    /* bit i % 64 of word i / 64: options[i] was given; use request_given */
    uint64_t given[REQUEST_MAX_OPTIONS / 64];
    FILE *out;                    /* for the result */
    const halley_watch *watch;    /* for long work; may be NULL */
    progress_view *view;          /* of the command line's watch; NULL in a request */
    request_notes *warnings;      /* kept for JSON */
    request_assumptions *assumed; /* the same */
    void (*show_note)(const char *text); /* at once; NULL = notes are only kept */
    request_code code;   /* kind of failure, if more specific than the status */
    int exit_code;       /* for the run function to set; 0 at first */
    uint64_t max_memory; /* --max-memory of the command line in bytes; 0 = not given */
    uint64_t max_output; /* bytes that a request may write into files; 0 = any number */
};

/*
 * The two options of every command with results. Put a request_output into the options
 * struct and REQUEST_OUTPUT_OPTIONS(its type, the member) into the table of options. A
 * request does not have these keys: it always gets JSON.
 */
typedef struct request_output {
    bool json, csv;
} request_output;
#define REQUEST_OUTPUT_OPTIONS(type, member)                                             \
    {.name = "json",                                                                     \
     .kind = REQUEST_FLAG,                                                               \
     .offset = offsetof(type, member.json),                                              \
     .doc = "write JSON, numbers in base units (halley help json lists the keys)"},      \
    {                                                                                    \
        .name = "csv", .kind = REQUEST_FLAG, .offset = offsetof(type, member.csv),       \
        .doc = "write CSV, numbers in base units"                                        \
    }
/* The form that the user requested; asking for both is wrong usage. */
halley_status request_output_form(report_form *out, request_call *call,
                                  const request_output *output, halley_error *err);

enum { REQUEST_DONE = 0, REQUEST_FAILED = 1, REQUEST_WRONG_USAGE = 2 };

/* Run the verb. It also fails if memory ran out for a note. */
halley_status request_call_run(request_call *call, halley_error *err);
/* True if this option (by its long name, which must be declared) was given. */
bool request_given(const request_call *call, const char *name);
/* Wrong usage: sets exit code 2 and the message; returns HALLEY_EINVAL. */
halley_status request_usage(request_call *call, halley_error *err, const char *format,
                            ...) __attribute__((format(printf, 3, 4)));
/* Set the kind of the failure in `err`; returns its status. */
halley_status request_fail_as(request_call *call, request_code code,
                              halley_status status);
/* Report a warning that is no failure. It goes to call->show_note (the program prints
 * "halley: <sentence>" on stderr), and into "warnings" of JSON. */
void request_note(const request_call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Report a value that was used and matters, but not stated, in "assumed" of JSON. */
void request_assume(const request_call *call, const request_assumption *what);
/* The same for a default: its key, its value and a sentence. */
void request_assume_default(const request_call *call, const char *key, const char *value,
                            const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Write "assumed" as text: defaults on one line, then those of the recipe by its name;
 * nothing if nothing was assumed. */
void request_write_assumed(const request_call *call);
/* The work that call->watch observed is done: clears the progress line. */
void request_work_end(const request_call *call);
void request_notes_fini(request_notes *notes);
void request_assumptions_fini(request_assumptions *assumed);

/* Begin and end the one object of a JSON result on call->out. The end adds "assumed" and
 * "warnings". */
void request_json_begin(report_json *j, const request_call *call);
halley_status request_json_end(report_json *j, const request_call *call,
                               halley_error *err);

typedef struct request_result_notes {
    fact_list assumed;  /* of request_assumption */
    fact_list warnings; /* of texts */
} request_result_notes;
extern const fact_table request_notes_facts; /* of request_result_notes */

/* Write a result that rows describe as JSON or CSV to call->out, with "assumed" and
 * "warnings". */
halley_status request_facts_write(const request_call *call, report_form form,
                                  const fact_table *table, const void *from,
                                  halley_error *err);

/* Write the table to call->out and free it. NULL: there was no memory for it. In JSON it
 * is the member `key` of the result. */
halley_status request_table_write(const request_call *call, report_table *table,
                                  const char *key, report_form form, halley_error *err);

/*
 * Set one option from its text, as on a command line, and mark it as given. `shown` is
 * its name in errors: "--top" or "top". A list gets one more text, allocated from
 * `memory`. The options struct is `options`.
 */
halley_status request_option_set(request_call *call, char *options, arena *memory,
                                 const request_option *option, const char *shown,
                                 const char *text, halley_error *err);
void request_option_set_flag(request_call *call, char *options,
                             const request_option *option, bool value);
/*
 * The options of a verb, those of plans included:
 *
 *     for (request_option_walk w = {.verb = verb}; request_option_next(&w);)
 *         use(&w.option);
 */
typedef struct request_option_walk {
    const request_verb *verb;
    size_t row, plan_key, index; /* of the next option */
    request_option option;
} request_option_walk;
bool request_option_next(request_option_walk *w);
/* False if there is no option of that name; `out` may be NULL. */
bool request_option_find(request_option *out, const request_verb *verb, str name);
/* Append what it does: its `doc`, and whether it may be repeated. */
void request_option_doc(strbuf *to, const request_option *option);
/* Make the options struct with its defaults, from `memory`; NULL if that ran out. */
char *request_options_make(const request_verb *verb, arena *memory);

#endif
