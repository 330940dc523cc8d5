/*
 * workload/launch/args.h - the arguments of a training program as a list of names and
 * values, whatever file they came from, and what a launch file becomes.
 */
#ifndef WORKLOAD_LAUNCH_ARGS_H
#define WORKLOAD_LAUNCH_ARGS_H

#include "base/arena.h"
#include "base/array.h"
#include "base/conf/conf.h"
#include "halley/launch.h"
#include "workload/import/report.h"
#include "workload/launch/shell.h"

struct halley_launch {
    arena memory; /* holds the texts */
    halley_import *import;
    halley_model model;
    bool has_model, lacks_vocab;
    uint32_t npus;
    char device[HALLEY_NAME];
    const char *value[HALLEY_N_PLAN_KEYS]; /* NULL: left to halley */
    double local_batch, npu_batch;
    uint32_t replicas;    /* of weights that are sharded; 0 = not sharded */
    uint32_t zero_shards; /* the optimizer is cut dp / zero_shards times; 0 = 1 */
    const char *path;
};

typedef struct launch_arg {
    str name;  /* without --, with - for _ */
    str value; /* its words, separated by blanks; "" for a flag; may hold unknown parts */
    bool is_off; /* written as false or none: as if absent */
    uint32_t line;
} launch_arg;

/* A list of arguments while it is read. The first failure is kept in `status`; later
 * reads return their fallback, so that one test at the end is enough. */
typedef struct launch_args {
    ARRAY(launch_arg) list;
    halley_launch *launch;
    const shell_script *script; /* for the causes of unknown parts; may be NULL */
    const halley_launch_opts *opts;
    const char *dashes; /* "--" or "": how names are shown */
    str program;        /* the Python script that is started; may be empty */
    halley_status status;
    halley_error *err;
} launch_args;

/* Add one argument; name and value are copied, and names get - for _. */
void launch_args_add(launch_args *a, str name, str value, uint32_t line);
/* Add the words of a command: --x v, --x=v, several values until the next --. */
void launch_args_split(launch_args *a, str words, uint32_t line);
void launch_args_fini(launch_args *a);

/* The last argument of a name (alternatives separated by blanks), noted as read; NULL:
 * absent. */
const launch_arg *launch_args_find(launch_args *a, const char *names);
bool launch_args_has(launch_args *a, const char *names); /* given, and not false */
/* Values; `key` (-1: none) is the plan's key that the user may give instead. */
uint32_t launch_args_whole(launch_args *a, const char *names, uint32_t otherwise,
                           int key);
double launch_args_real(launch_args *a, const char *names, double otherwise, int key);
str launch_args_text(launch_args *a, const char *names, str otherwise, int key);
/* One of several words, of which "none" is one: not as if absent. */
str launch_args_choice(launch_args *a, const char *name, str otherwise, int key);
/* Keep the first failure. */
void launch_args_fail(launch_args *a, halley_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Set a key of the plan. */
void launch_set(halley_launch *l, halley_plan_key key, const char *text);
void launch_set_number(halley_launch *l, halley_plan_key key, uint64_t value);
/* The same, and list it as assumed. */
void launch_assume(halley_launch *l, halley_plan_key key, const char *text);

typedef enum launch_meaning {
    LAUNCH_READ,
    LAUNCH_FREE,    /* without influence on shapes, memory and communication */
    LAUNCH_REFUSED, /* changes them, and is not modelled */
} launch_meaning;

/* One row of an importer's table. */
typedef struct launch_key {
    const char *name; /* with - for _; a * at the end stands for any rest */
    launch_meaning meaning;
    const char *otherwise; /* what an absent one means; NULL: see doc */
    const char *doc;
} launch_key;

/* List what was not read: without influence, or unknown. A refused one fails. */
void launch_args_rest(launch_args *a, const launch_key *keys, size_t n);
const launch_key *launch_key_find(const launch_key *keys, size_t n, str name);

/* Whether a text is a launch file; `name` stands for its path. */
bool launch_text_is(str text, const char *name);

/* ---- importers; all leave the failure in a->status ---- */
extern const launch_key launch_megatron_keys[];
extern const size_t launch_n_megatron_keys;
/* A Megatron argument list, whatever it was written in, as model and plan. */
void launch_megatron_read(launch_args *a);
void launch_megatron_model(launch_args *a);
/* Bytes per gradient and per parameter of the optimizer, by the formats that are named;
 * needs the plan's number format. */
void launch_megatron_states(launch_args *a);

void launch_deepspeed_read(launch_args *a, const conf_file *file);
void launch_nemo_read(launch_args *a, const conf_file *file);
void launch_titan_read(launch_args *a, const conf_file *file);
void launch_maxtext_read(launch_args *a, const conf_file *file);
/* The same from the words of a command, "per_device_batch_size=4"; what such a command
 * is known by. */
void launch_maxtext_split(launch_args *a, str words, uint32_t line);
extern const char *const launch_maxtext_marks[];
/* The model that a MaxText list names or describes. */
void launch_maxtext_model(launch_args *a);
/* The next word of a text, without what marks elements of arrays. */
str launch_word_take(str *words);
/* The preset of a model's name in another program, or NULL. */
const char *launch_preset_of(str program, str name);

/* TOML as a tree; only what configuration files use. */
halley_status launch_toml_parse(conf_file *out, str text, const char *name,
                                halley_error *err);

#endif
