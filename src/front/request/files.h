/*
 * request/files.h - no call may overwrite what it reads, or write twice to one place.
 *
 * Outputs are the options with `writes` and, for a verb with `writes_last`, the last
 * argument. If one is a folder or the prefix of a set of traces, its files are meant. The
 * existing ones are announced to the call (base/call.h), so that a reader which opens one
 * of them fails. It does not matter what named it: a word of the command, a study, a
 * cluster file, a script. Files are compared by device and inode, so links and other
 * spellings are found.
 */
#ifndef REQUEST_FILES_H
#define REQUEST_FILES_H

#include "request/verb.h"

/* Call this within the call, before anything is read. The usage error names the option,
 * the file and the remedy. Verbs with an option "force" may replace what they read. The
 * standard output of a program is an output, too. */
halley_status request_files_check(request_call *call, halley_error *err);

/* Check a call that comes from a stranger. It may not name files outside the root
 * (base/file/file_root.h) or hidden files in it. With `read_only` it may not write any.
 * The error names the option. */
halley_status request_files_permit(request_call *call, bool read_only, halley_error *err);

/* Options that many verbs on traces have, each with its differences. */
#define REQUEST_OUT_OPTION(type, member, what, text, default_, example_)                 \
    {                                                                                    \
        .name = "out", .letter = 'o', .kind = REQUEST_TEXT, .writes = true,              \
        .metavar = what, .offset = offsetof(type, member), .doc = text,                  \
        .by_default = default_, .example = example_                                      \
    }
#define REQUEST_GROUPS_OPTION(type, member)                                              \
    {                                                                                    \
        .name = "groups", .letter = 'g', .kind = REQUEST_TEXT, .metavar = "FILE",        \
        .offset = offsetof(type, member),                                                \
        .doc = "ranks of each group, in ASTRA-sim's form {\"1\": [0, 1]}",               \
        .by_default =                                                                    \
            "PREFIX.comm_group.json if it exists, else the groups of the traces",        \
        .example = "groups.json"                                                         \
    }
#define REQUEST_THREADS_OPTION(type, member, what)                                       \
    {                                                                                    \
        .name = "threads", .letter = 'j', .kind = REQUEST_U32, .metavar = "N",           \
        .offset = offsetof(type, member), .doc = "number of " what " in parallel",       \
        .by_default = "one per core", .example = "4"                                     \
    }
#define REQUEST_OVERWRITE_OPTION(type, member)                                           \
    {                                                                                    \
        .name = "force", .kind = REQUEST_FLAG, .offset = offsetof(type, member),         \
        .doc = "overwrite OUT if it exists"                                              \
    }

/* The option of verbs that may replace their own input. */
#define REQUEST_FORCE_OPTION(type, member)                                               \
    {                                                                                    \
        .name = "force", .kind = REQUEST_FLAG, .offset = offsetof(type, member),         \
        .doc = "replace the source when the output is the same file"                     \
    }

#endif
