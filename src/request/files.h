/*
 * request/files.h - no call may write over what it reads, or twice to one place.
 *
 * Outputs are the options with `writes` and, of a verb with `writes_last`, the last
 * argument; everything else that names a file is an input. Files are compared by device
 * and inode, so that links and other spellings of a path are found. A path may also be a
 * folder or the prefix of a set of traces: then its files are compared. Files that a
 * study, a cluster file or a script names are inputs, too (request/mention.h).
 */
#ifndef REQUEST_FILES_H
#define REQUEST_FILES_H

#include "request/verb.h"

/* Before anything is written. Wrong usage names the option, the file and the remedy.
 * Verbs with an option "force" let it replace what they read. */
halley_status request_files_check(request_call *call, halley_error *err);
/* The same for what a program prints: no file of the call is its standard output. */
halley_status request_files_check_stdout(request_call *call, halley_error *err);

/* What a call of a stranger may not do: name files outside the root
 * (base/file/file_root.h) or hidden ones in it, and with `read_only` write any. One
 * sentence names the option. */
halley_status request_files_permit(request_call *call, bool read_only, halley_error *err);

/* Options that many verbs on traces have, each with what differs. */
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

/* The option of verbs that may replace their own source. */
#define REQUEST_FORCE_OPTION(type, member)                                               \
    {                                                                                    \
        .name = "force", .kind = REQUEST_FLAG, .offset = offsetof(type, member),         \
        .doc = "replace the source when the output is the same file"                     \
    }

#endif
