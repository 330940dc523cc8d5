/* request/trace/traces.h - code that the trace commands share: loading sets, lists of
 * ranks, writing sets. */
#ifndef REQUEST_TRACES_H
#define REQUEST_TRACES_H

#include "base/str.h"
#include "halley/cluster.h"
#include "halley/recording.h"
#include "halley/trace.h"
#include "request/verbs.h"

extern const char *const traces_key[]; /* keys of requests: "trace"; ends with NULL */

/* Load the traces that the command's arguments [first, first + n) name or contain. An
 * argument that starts with '{' or '[' is a trace as JSON. */
halley_status traces_load(halley_trace_set **out, const request_call *call, size_t first,
                          size_t n, halley_error *err);

/* The same with options, which may be NULL. */
halley_status traces_load_by(halley_trace_set **out, const request_call *call,
                             size_t first, size_t n, const halley_load_opts *opts,
                             halley_error *err);

/* The same, but recordings of profilers and execution traces of PyTorch are linked in
 * memory. An execution trace may come alone or with the recording of the same run. `opts`
 * may be NULL. */
halley_status traces_load_any(halley_trace_set **out, const request_call *call,
                              size_t first, size_t n, const halley_recording_opts *opts,
                              halley_error *err);
/* True for files that traces_load_any links. */
bool traces_is_recording(const char *path);
/* After a failure to load: if one of the arguments is a file of another type, add what it
 * is and which command reads it. Returns `status`. */
halley_status traces_explain(const char *const *paths, size_t n, halley_status status,
                             halley_error *err);
/* Report warnings about linked recordings; does nothing for other sets. */
void traces_warn(const request_call *call, const halley_trace_set *set);

/* True if args[0] names one file ("-" included), not a prefix or folder. */
bool traces_is_file(const request_call *call);

/* Write "0-3,7": the ranks for which which[rank] == wanted. */
void traces_ranks(strbuf *to, const uint32_t *which, uint32_t n_ranks, uint32_t wanted);

/* Read numbers such as "0,2,4-7" as ranges in the order given; the caller frees *out.
 * `what` names them in the error: "rank", "id". */
typedef struct traces_range {
    uint64_t first, last;
} traces_range;
halley_status traces_parse_ranges(traces_range **out, size_t *n, request_call *call,
                                  const char *list, const char *what, halley_error *err);

/* How traces are written. */
typedef enum traces_form {
    TRACES_BY_NAME, /* by the ending of the output's name; else .et */
    TRACES_ET,
    TRACES_ET_GZ,
    TRACES_JSON,
    TRACES_JSONL,
    TRACES_CHAKRA_JSON,
    TRACES_N_FORMS
} traces_form;
extern const char *const traces_form_names[]; /* for REQUEST_CHOICE; ends with NULL */

typedef halley_status traces_groups_saver(const void *groups, const char *path,
                                          halley_error *err);
/* A further file that gets its final name together with those of the set. */
typedef struct traces_extra {
    const char *path;
    traces_groups_saver *save;
    const void *context; /* for it */
} traces_extra;

typedef struct traces_output {
    const char *path; /* a file, a prefix, or a folder (exists, or ends in '/') */
    traces_form form;
    bool lossy;         /* JSON: omit what it cannot represent, with a note */
    bool one;           /* a set of one rank goes to the file `path` */
    const char *stem;   /* stem of the files in a folder; NULL = "trace" */
    uint32_t n_threads; /* 0 = one per core */
    traces_groups_saver *save_groups; /* if there are any; NULL = none */
    const void *groups;               /* for it */
    const traces_extra *extra;        /* NULL = none */
} traces_output;

/*
 * Write every rank: path.0.et and so on, on several threads, and path.comm_group.json. If
 * one fails, files that this call created (not those it replaced) are removed again. Rank
 * 0 comes last: files that a killed run leaves are no valid set, and readers report that.
 * Files of an earlier set with more ranks are named on stderr.
 */
halley_status traces_save(const halley_trace_set *set, const traces_output *output,
                          request_call *call, halley_error *err);

/*
 * The same for recordings that are written while they are linked. traces_sink_path with
 * the sink as context is for halley_recording_opts.save_as. With `one` in the output, a
 * single rank goes to the file `path`. *out is NULL if that is not possible (other forms
 * than .et, stdout). Close frees the sink, which may be NULL. Without a set it removes
 * what was written; else the files get their final names.
 */
typedef struct traces_sink traces_sink;
halley_status traces_sink_open(traces_sink **out, const traces_output *output,
                               halley_error *err);
halley_rank_path traces_sink_path;
bool traces_sink_is_used(const traces_sink *sink); /* a rank has a file */
/* In the error of a failed link, replace temporary names of files by their final ones. */
void traces_sink_name_files(const traces_sink *sink, halley_error *err);
halley_status traces_sink_close(traces_sink *sink, const halley_trace_set *set,
                                request_call *call, halley_error *err);

/* Write what was written, as JSON: out, ranks and distinct traces. */
halley_status traces_written_json(const halley_trace_set *set, const request_call *call,
                                  const char *out, halley_error *err);
/* --json alone, for commands that otherwise print nothing, or one line. */
#define TRACES_JSON_OPTION(type, member)                                                 \
    {                                                                                    \
        .name = "json", .kind = REQUEST_FLAG, .offset = offsetof(type, member.json),     \
        .doc = "report what was written as JSON"                                         \
    }

/* Set the groups of a cluster that has none: those of the file next to the traces, else
 * those that the traces declare. */
halley_status traces_take_groups(halley_cluster *cluster, const halley_trace_set *set,
                                 halley_error *err);
/* For save_groups: saves the groups that the traces of the set declare. */
traces_groups_saver traces_save_declared;

/* True if the set was linked from execution traces without times. *has_work: its
 * operators on devices state what they compute. */
bool traces_are_untimed(const halley_trace_set *set, bool *has_work);

/* Warn if there is a file called `path`, because it would be taken for one of the set
 * that was written. */
void traces_note_leftover(const request_call *call, const char *path);

/* The common name of the files of a set: "dir/name.0.et" gives "name". The caller frees
 * it; NULL if memory ran out. */
char *traces_stem(const char *path);

#endif
