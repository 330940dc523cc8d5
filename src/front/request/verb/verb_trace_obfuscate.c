/* halley trace obfuscate - removes what a trace leaks, and reports what it still leaks.
 */
#include "base/error.h"
#include "base/file/file.h"
#include "base/number/number.h"
#include "halley/synth.h"
#include "request/files.h"
#include "request/trace/fidelity.h"
#include "request/trace/share.h"
#include "request/verbs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const levels[] = {"ids", "names", "sizes", "structure", NULL};
static const char *const name_kinds[] = {"pseudonym", "class", NULL};

typedef struct obfuscate_options {
    const char *out, *key, *save_key, *groups;
    uint32_t level, names;
    request_texts keep, keep_io;
    double bound;
    uint32_t threads;
    bool force, vary_sizes, hide_device;
    request_output output;
} obfuscate_options;

static const obfuscate_options defaults = {
    .level = HALLEY_HIDE_NAMES, .names = 1, .bound = 0.05};

static const request_option options[] = {
    REQUEST_OUT_OPTION(obfuscate_options, out, "OUT",
                       "prefix, folder or (for a single rank) file to write",
                       REQUEST_REQUIRED, "public"),
    {.name = "level",
     .letter = 'l',
     .kind = REQUEST_CHOICE,
     .choices = levels,
     .offset = offsetof(obfuscate_options, level),
     .doc = "how much is anonymized; each level includes those before it",
     .by_default = "names"},
    {.name = "key",
     .letter = 'k',
     .kind = REQUEST_TEXT,
     .metavar = "FILE",
     .offset = offsetof(obfuscate_options, key),
     .doc = "key of the pseudonyms: the same key gives the same names in all sets",
     .by_default = "a random key that is not kept",
     .example = "key.txt"},
    {.name = "save-key",
     .kind = REQUEST_TEXT,
     .writes = true,
     .metavar = "FILE",
     .offset = offsetof(obfuscate_options, save_key),
     .doc = "generate a random key and save it in FILE, for --key",
     .by_default = "none",
     .example = "key.txt"},
    {.name = "names",
     .kind = REQUEST_CHOICE,
     .choices = name_kinds,
     .offset = offsetof(obfuscate_options, names),
     .doc = "what names become: the class of their operator, or pseudonyms, which "
            "frequency analysis can undo",
     .by_default = "class"},
    {.name = "keep",
     .kind = REQUEST_TEXTS,
     .metavar = "ATTRIBUTE",
     .offset = offsetof(obfuscate_options, keep),
     .doc = "keep an attribute of nodes or metadata unchanged",
     .by_default = "none",
     .example = "comm_type"},
    {.name = "keep-io",
     .kind = REQUEST_TEXTS,
     .metavar = "WHAT",
     .offset = offsetof(obfuscate_options, keep_io),
     .doc = "keep values, shapes or types of inputs and outputs",
     .by_default = "none",
     .example = "shapes"},
    {.name = "bound",
     .kind = REQUEST_QUANTITY,
     .unit = UNITS_SHARE,
     .metavar = "SHARE",
     .offset = offsetof(obfuscate_options, bound),
     .doc = "largest relative error of sizes, durations and simulated time",
     .by_default = "5 %",
     .example = "2 %"},
    {.name = "vary-sizes",
     .kind = REQUEST_FLAG,
     .offset = offsetof(obfuscate_options, vary_sizes),
     .doc = "from level sizes on: vary equal sizes and durations within --bound, so that "
            "they do not identify layers"},
    {.name = "hide-device",
     .kind = REQUEST_FLAG,
     .offset = offsetof(obfuscate_options, hide_device),
     .doc =
         "remove the name of the device that a recording was made on; kernels can then "
         "not be re-timed for another device"},
    REQUEST_GROUPS_OPTION(obfuscate_options, groups),
    REQUEST_THREADS_OPTION(obfuscate_options, threads, "traces to write"),
    REQUEST_OVERWRITE_OPTION(obfuscate_options, force),
    REQUEST_OUTPUT_OPTIONS(obfuscate_options, output),
    {0},
};

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 32);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* 32 hexadecimal digits are the key itself; any other bytes are hashed into a key. */
static void key_from(uint8_t key[16], str text)
{
    const str digits = str_trim(text);
    bool hex = digits.n == 32;
    for (size_t i = 0; i < 32 && hex; i++)
        hex = hex_digit(digits.at[i]) >= 0;
    for (size_t i = 0; i < 16 && hex; i++)
        key[i] =
            (uint8_t)(hex_digit(digits.at[2 * i]) * 16 + hex_digit(digits.at[2 * i + 1]));
    if (hex)
        return;
    halley_fold_key(key, text.at, text.n);
}

static halley_status read_key_file(uint8_t key[16], request_call *call, const char *path,
                                   halley_error *err)
{
    enum { LEAST = 16 };
    file_input in;
    const halley_status status = file_input_open(&in, path, err);
    if (status != HALLEY_OK) {
        error_prefix(err, "key (--save-key makes one)");
        return status;
    }
    const str text = {(const char *)in.at, in.n};
    const size_t n = str_trim(text).n;
    if (n > 0)
        key_from(key, text);
    file_input_close(&in);
    if (n == 0) {
        error_set(err, HALLEY_EINVAL, "the key file is empty; --save-key makes one");
        error_at_file(err, path);
        return HALLEY_EINVAL;
    }
    if (n < LEAST)
        request_note(call,
                     "warning: a key of %zu bytes can be guessed; --save-key makes one "
                     "that cannot",
                     n);
    return HALLEY_OK;
}

/* Save the key, readable by its owner only. */
static halley_status save_key(const void *context, const char *path, halley_error *err)
{
    const uint8_t *const key = context;
    const mode_t before = umask(0077);
    file_output *out;
    halley_status status = file_output_open(&out, path, err);
    if (status == HALLEY_OK) {
        for (int i = 0; i < 16; i++)
            file_output_printf(out, "%02x", key[i]);
        file_output_str(out, STR("\n"));
        status = file_output_commit(out, err);
    }
    umask(before);
    return status;
}

static halley_status refuse_old_key(const char *path, halley_error *err)
{
    if (path == NULL || !file_exists(path))
        return HALLEY_OK;
    error_set(err, HALLEY_EINVAL, "is there already; a key is not written over");
    error_at_file(err, path);
    return HALLEY_EINVAL;
}

static halley_status choose_key(uint8_t key[16], request_call *call, halley_error *err)
{
    const obfuscate_options *o = call->options;
    if (o->key)
        return read_key_file(key, call, o->key, err);
    if (getrandom(key, 16, 0) != 16)
        return error_errno(err, "draw a random key", errno);
    return refuse_old_key(o->save_key, err);
}

static halley_status choose_io(uint32_t *out, request_call *call, halley_error *err)
{
    static const char *const names[] = {"values", "shapes", "types"};
    const obfuscate_options *o = call->options;
    *out = 0;
    for (size_t i = 0; i < o->keep_io.n; i++) {
        uint32_t k = 0;
        while (k < 3 && strcmp(o->keep_io.at[i], names[k]) != 0)
            k++;
        if (k == 3)
            return request_usage(call, err,
                                 "--keep-io takes values, shapes or types, not '%s'",
                                 o->keep_io.at[i]);
        *out |= UINT32_C(1) << k;
    }
    return HALLEY_OK;
}

static halley_status check_obfuscate_usage(request_call *call, halley_error *err)
{
    const obfuscate_options *o = call->options;
    if (o->key && o->save_key)
        return request_usage(call, err, "--key and --save-key exclude each other");
    if (!(o->bound > 0))
        return request_usage(call, err, "--bound must be above 0");
    if (o->output.csv)
        return request_usage(call, err, "there is no table to write as CSV; take --json");
    if (o->out && (str_ends(str_from(o->out), STR(".json")) ||
                   str_ends(str_from(o->out), STR(".jsonl"))))
        return request_usage(
            call, err,
            "only .et is searched for what should not be there; write that, "
            "then convert it");
    return HALLEY_OK;
}

static void write_obfuscation_json(report_json *j, const halley_obfuscation *r,
                                   double ratio)
{
    report_json_text(j, "level", str_from(levels[r->level]));
    report_json_u64(j, "nodes_before", r->n_nodes_before);
    report_json_u64(j, "nodes", r->n_nodes);
    report_json_u64(j, "names_replaced", r->n_names);
    report_json_u64(j, "groups_renamed", r->n_groups);
    report_json_array(j, "removed");
    for (size_t i = 0; i < r->n_removed; i++) {
        report_json_flat_object(j, NULL);
        report_json_text(j, "what", str_from(r->removed[i].what));
        report_json_u64(j, "count", r->removed[i].n);
        report_json_end(j);
    }
    report_json_end(j);
    report_json_double(j, "bound", r->bound);
    report_json_double(j, "size_error", r->size_error);
    report_json_double(j, "duration_error", r->duration_error);
    report_json_u64(j, "nodes_split", r->n_split);
    report_json_u64(j, "nodes_joined", r->n_joined);
    report_json_u64(j, "edges_added", r->n_edges_added);
    report_json_u64(j, "edges_dropped", r->n_edges_dropped);
    report_json_array(j, "times");
    for (uint32_t i = 0; i < r->n_times; i++) {
        report_json_flat_object(j, NULL);
        report_json_text(j, "cluster", str_from(r->times[i].cluster));
        report_json_double(j, "before_s", r->times[i].before_s);
        report_json_double(j, "after_s", r->times[i].after_s);
        report_json_end(j);
    }
    report_json_end(j);
    fidelity_write_json(j, ratio);
    if (r->unverified)
        report_json_text(j, "not_simulated", str_from(r->unverified));
    report_json_u64(j, "scanned_bytes", r->scanned_bytes);
    report_json_u64(j, "scanned_text_bytes", r->scanned_texts_bytes);
    report_json_array(j, "visible");
    for (size_t i = 0; i < r->n_visible; i++)
        report_json_text(j, NULL, str_from(r->visible[i]));
    report_json_end(j);
}

static void print_times(FILE *to, const halley_obfuscation *r)
{
    char before[32], after[32];
    for (uint32_t i = 0; i < r->n_times; i++) {
        const halley_before_after *const t = &r->times[i];
        const double change = t->before_s > 0 ? 100 * (t->after_s / t->before_s - 1) : 0;
        fprintf(to, "  %-14s %s -> %s (%s %%)\n",
                *t->cluster ? t->cluster : "longest chain",
                units_format(before, sizeof before, t->before_s, UNITS_TIME),
                units_format(after, sizeof after, t->after_s, UNITS_TIME),
                number_signed(change, 2).at);
    }
}

static void print_obfuscation(FILE *to, const halley_obfuscation *r)
{
    fprintf(to, "level %s: %" PRIu64 " nodes", levels[r->level], r->n_nodes);
    if (r->n_nodes != r->n_nodes_before)
        fprintf(to, " (%" PRIu64 " before)", r->n_nodes_before);
    if (r->level >= HALLEY_HIDE_NAMES)
        fprintf(to, ", %" PRIu64 " names and %" PRIu64 " groups replaced", r->n_names,
                r->n_groups);
    fprintf(to, "\n\nremoved:\n");
    for (size_t i = 0; i < r->n_removed; i++)
        fprintf(to, "  %10" PRIu64 "  %s\n", r->removed[i].n, r->removed[i].what);
    if (r->n_removed == 0)
        fprintf(to, "  nothing\n");
    if (r->level >= HALLEY_HIDE_SIZES) {
        fprintf(to,
                "\nchanged:\n  sizes by up to %s %%, durations by up to %s %% (bound: "
                "%s %%)\n",
                number_fixed(100 * r->size_error, 2).at,
                number_fixed(100 * r->duration_error, 2).at,
                number_digits(100 * r->bound, 6).at);
        if (r->level >= HALLEY_HIDE_STRUCTURE)
            fprintf(to,
                    "  %" PRIu64 " nodes split, %" PRIu64 " joined, %" PRIu64
                    " edges added, %" PRIu64 " dropped\n",
                    r->n_split, r->n_joined, r->n_edges_added, r->n_edges_dropped);
        fprintf(to, "\nsimulated time%s:\n", r->unverified ? " is unknown" : "");
        print_times(to, r);
    }
    fprintf(to, "\na reader of these traces still sees:\n");
    for (size_t i = 0; i < r->n_visible; i++)
        fprintf(to, "  - %s\n", r->visible[i]);
    if (r->scanned_bytes > 0) {
        char texts[32], bytes[32];
        fprintf(
            to,
            "\nno run of 8 bytes of %s of names, texts and paths is in the %s written\n",
            units_format(texts, sizeof texts, (double)r->scanned_texts_bytes,
                         UNITS_BYTES),
            units_format(bytes, sizeof bytes, (double)r->scanned_bytes, UNITS_BYTES));
    }
}

static halley_status write_obfuscation(request_call *call, const halley_obfuscation *r,
                                       double ratio, halley_error *err)
{
    const obfuscate_options *o = call->options;
    if (r->unverified)
        request_note(call,
                     "warning: the set cannot be simulated (%s); the bound is held on "
                     "the longest chain of durations",
                     r->unverified);
    if (!o->output.json) {
        print_obfuscation(call->out, r);
        return HALLEY_OK;
    }
    report_json j;
    request_json_begin(&j, call);
    write_obfuscation_json(&j, r, ratio);
    return request_json_end(&j, call, err);
}

static halley_status save_hidden_groups(const void *context, const char *path,
                                        halley_error *err)
{
    return halley_obfuscation_save_groups(context, path, err);
}

static bool has_attribute(const halley_trace *trace, const char *name)
{
    halley_attr attr;
    for (uint32_t i = 0; i < halley_trace_metadata_count(trace); i++) {
        attr = halley_trace_metadata(trace, i);
        if (str_eq((str){attr.name.at, attr.name.n}, str_from(name)))
            return true;
    }
    for (uint32_t i = 0; i < halley_trace_count(trace); i++)
        if (halley_node_find_attr(&attr, trace, i, name))
            return true;
    return false;
}

/* Warn about names to keep that do not occur, which is probably a mistake. */
static void look_for_kept(request_call *call, const halley_trace_set *set)
{
    const obfuscate_options *o = call->options;
    for (size_t k = 0; k < o->keep.n; k++) {
        bool found = false;
        for (uint32_t r = 0; !found && r < halley_trace_set_count(set); r++)
            found = has_attribute(halley_trace_set_get(set, r), o->keep.at[k]);
        if (!found)
            request_note(call,
                         "warning: --keep %s: no node and no metadata has that attribute",
                         o->keep.at[k]);
    }
}

static halley_status hide_set(request_call *call, const halley_trace_set *set,
                              const halley_obfuscate_opts *opts, halley_error *err)
{
    const obfuscate_options *o = call->options;
    halley_obfuscation *result;
    halley_status status = halley_trace_obfuscate(&result, set, opts, err);
    if (status == HALLEY_EINVAL) /* report the problem in terms of the input */
        TRY(share_check(set, call->args[0], opts->groups_path, err));
    TRY(status);
    const traces_extra key = {o->save_key, save_key, opts->key};
    status = share_save(result->set, o->out, call, save_hidden_groups, result,
                        o->save_key != NULL ? &key : NULL, err);
    double ratio = -1;
    if (status == HALLEY_OK)
        status = fidelity_check(&ratio, call, set, result->set, err);
    if (status == HALLEY_OK)
        status = write_obfuscation(call, result, ratio, err);
    halley_obfuscation_free(result);
    return status;
}

static halley_status obfuscate_set(request_call *call, const halley_trace_set *set,
                                   const char *groups, halley_error *err)
{
    const obfuscate_options *o = call->options;
    halley_obfuscate_opts opts = {
        .level = (halley_obfuscate_level)o->level,
        .classes = o->names == 1,
        .vary = o->vary_sizes,
        .hide_device = o->hide_device,
        .keep = o->keep.at,
        .n_keep = o->keep.n,
        .bound = o->bound,
        .groups_path = groups,
        .n_threads = o->threads,
    };
    TRY(choose_io(&opts.keep_io, call, err));
    look_for_kept(call, set);
    TRY(choose_key(opts.key, call, err));
    return hide_set(call, set, &opts, err);
}

static halley_status trace_obfuscate_run(request_call *call, halley_error *err)
{
    const obfuscate_options *o = call->options;
    report_form form;
    TRY(check_obfuscate_usage(call, err));
    TRY(request_output_form(&form, call, &o->output, err));
    TRY(share_target(call, o->out, o->force, err));
    halley_trace_set *set;
    TRY(traces_load(&set, call, 0, call->n_args, err));
    char *const beside = o->groups ? NULL : halley_trace_set_groups(set);
    const halley_status status =
        obfuscate_set(call, set, o->groups ? o->groups : beside, err);
    free(beside);
    halley_trace_set_free(set);
    return status;
}

static const request_example examples[] = {
    {"halley trace obfuscate gpt -o shared/gpt --names pseudonym --save-key secret.key",
     "names replaced; with the key they can be traced back"},
    {"halley trace obfuscate gpt -o shared/gpt -l structure --vary-sizes --bound '2 %'",
     NULL},
    {"halley trace obfuscate rank0.et -o out.et --keep stream", NULL},
    {0},
};

const request_verb request_verb_trace_obfuscate = {
    .name = "trace obfuscate",
    .summary = "obfuscate traces before sharing them",
    .arguments = "TRACE...",
    .arg_keys = traces_key,
    .description =

        "Writes a set of traces that can be shared, and reports what was removed and "
        "what remains visible. Only known content is written: types, dependencies, "
        "durations, operations, bytes, and what communication needs. Everything else "
        "is removed and counted, unless --keep or --keep-io keeps it: texts of inputs"
        " and outputs, process ids, paths, schemas, version strings, metadata, and "
        "unknown attributes and fields.\n\n"
        "Each level includes the previous ones.\n\n"
        "ids: ids are renumbered from 128 in their order, and recorded starts count "
        "from the earliest.\n\n"
        "names: names become the class of the operator or, with --names pseudonym, "
        "pseudonyms. Equal names get equal pseudonyms in all ranks, and in all sets "
        "with one key. Whoever has a public run of the same model can undo pseudonyms"
        " by frequency analysis. Groups become numbers.\n\n"
        "sizes: durations, operations and bytes are rounded to a scale with a "
        "relative error of at most --bound, and starts are removed. --vary-sizes "
        "makes equal values different instead.\n\n"
        "structure: compute nodes are split and joined, and redundant dependencies "
        "are added and dropped. The numbers of layers, micro-batches and parallel "
        "ranks remain visible.\n\n"
        "Simulated time stays exactly the same for ids and names. From sizes on it is"
        " measured on three clusters before and after, and stays within --bound. "
        "Finer steps are used where needed, and if these are not enough, the command "
        "fails.\n\n"
        "From names on, the output is searched for every run of 8 or more printable "
        "bytes of the names, texts and paths that were read. If one is found, the "
        "command fails and nothing is written.\n\n"
        "A key file holds 32 hexadecimal digits, as --save-key writes it, or any "
        "text.",
    .examples = examples,
    .options = options,
    .options_size = sizeof(obfuscate_options),
    .defaults = &defaults,
    .min_args = 1,
    .max_args = REQUEST_ANY,
    .run = trace_obfuscate_run,
};
