/*
 * launch/args.h - the arguments of a training program as a list of names and
 * values, for all kinds of launch files, and the result of reading a launch file.
 */
#ifndef LAUNCH_ARGS_H
#define LAUNCH_ARGS_H

#include "base/arena.h"
#include "base/array.h"
#include "base/conf/conf.h"
#include "base/format.h"
#include "halley/launch.h"
#include "launch/shell.h"
#include "workload/notes.h"

struct halley_launch {
    arena memory; /* holds the texts */
    halley_import *import;
    halley_model model;
    bool has_model, lacks_vocab;
    uint32_t npus;
    char device[HALLEY_NAME];
    const char *stack;                     /* preset of the software; static */
    const char *value[HALLEY_N_PLAN_KEYS]; /* NULL: halley chooses */
    double local_batch, npu_batch;
    uint32_t replicas;    /* of sharded weights; 0 = not sharded */
    uint32_t zero_shards; /* dp x cp / zero_shards ranks shard the optimizer; 0 = 1 */
    const char *path;
};

typedef struct launch_arg {
    str name;    /* without --, with - instead of _ */
    str value;   /* words separated by blanks; "" for a flag; may have unknown parts */
    bool is_off; /* written as false or none: treated as absent */
    uint32_t line;
} launch_arg;

/* A list of arguments during reading. `status` keeps the first failure. Later reads
 * return their fallback, so that one check at the end is enough. */
typedef struct launch_args {
    ARRAY(launch_arg) list;
    halley_launch *launch;
    const shell_script *script; /* for the causes of unknown parts; may be NULL */
    const halley_launch_opts *opts;
    const char *dashes; /* "--" or "": the prefix of names in messages */
    str program;        /* the Python script that the command starts; may be empty */
    halley_status status;
    halley_error *err;
} launch_args;

/* Add one argument; name and value are copied, and _ in names becomes -. */
void launch_args_add(launch_args *a, str name, str value, uint32_t line);
/* Add the words of a command: --x v, --x=v, or several values up to the next --. */
void launch_args_split(launch_args *a, str words, uint32_t line);
void launch_args_fini(launch_args *a);

/* The last argument of a name (alternatives separated by blanks), marked as read; NULL:
 * absent. */
const launch_arg *launch_args_find(launch_args *a, const char *names);
bool launch_args_has(launch_args *a, const char *names); /* given, and not false */
/* Values. `key` (-1: none) is the plan's key that the user may set instead. */
uint32_t launch_args_whole(launch_args *a, const char *names, uint32_t otherwise,
                           int key);
double launch_args_real(launch_args *a, const char *names, double otherwise, int key);
str launch_args_text(launch_args *a, const char *names, str otherwise, int key);
/* One of several words. "none" may be one of them and is not treated as absent. */
str launch_args_choice(launch_args *a, const char *name, str otherwise, int key);
/* Record a failure, unless there is one already. */
void launch_args_fail(launch_args *a, halley_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Set a key of the plan. */
void launch_set(halley_launch *l, halley_plan_key key, const char *text);
void launch_set_number(halley_launch *l, halley_plan_key key, uint64_t value);
/* The same, and list the key as assumed. */
void launch_assume(halley_launch *l, halley_plan_key key, const char *text);

typedef enum launch_meaning {
    LAUNCH_READ,
    LAUNCH_FREE,    /* does not affect shapes, memory and communication */
    LAUNCH_REFUSED, /* affects them, and is not modelled */
} launch_meaning;

/* One row of an importer's table. */
typedef struct launch_key {
    const char *name; /* with - instead of _; a * at the end matches any rest */
    launch_meaning meaning;
    const char *otherwise; /* the meaning if absent; NULL: see doc */
    const char *doc;
} launch_key;

/* List the arguments that were not read: without effect, or unknown. A refused one
 * fails. */
void launch_args_rest(launch_args *a, const launch_key *keys, size_t n);
const launch_key *launch_key_find(const launch_key *keys, size_t n, str name);

/* Launch files as models; the plan in them is read by halley_launch_load. */
extern const format_set launch_formats;

/* Importers; all of them store a failure in a->status. */
extern const launch_key launch_megatron_keys[];
extern const size_t launch_n_megatron_keys;
/* Convert a Megatron argument list from any kind of file to model and plan. */
void launch_megatron_read(launch_args *a);
void launch_megatron_model(launch_args *a);
/* Set the bytes per gradient and per parameter of the optimizer, from the formats in the
 * arguments. Needs the plan's number format. */
void launch_megatron_states(launch_args *a);

void launch_deepspeed_read(launch_args *a, const conf_file *file);
void launch_nemo_read(launch_args *a, const conf_file *file);
void launch_titan_read(launch_args *a, const conf_file *file);
void launch_maxtext_read(launch_args *a, const conf_file *file);
/* The same from the words of a command, "per_device_batch_size=4"; and the words that
 * identify such a command. */
void launch_maxtext_split(launch_args *a, str words, uint32_t line);
extern const char *const launch_maxtext_marks[];
/* Read the model that a MaxText list names or describes. */
void launch_maxtext_model(launch_args *a);
/* The next word of a text, without the marks of array elements. */
str launch_word_take(str *words);
/* The preset for a model's name in another program, or NULL. */
const char *launch_preset_of(str program, str name);

/* Parse TOML as a tree; only the parts that configuration files use. */
halley_status launch_toml_parse(conf_file *out, str text, const char *name,
                                halley_error *err);

#endif
