/* request/files.c - no call may overwrite what it reads, or write twice to one place. */
#include "request/files.h"

#include "base/array.h"
#include "base/call.h"
#include "base/error.h"
#include "base/file/file.h"
#include "base/file/file_look.h"
#include "base/file/file_root.h"
#include "base/str.h"
#include "request/document.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* An existing file, and the words of the call that name it. */
typedef struct named_file {
    dev_t device;
    ino_t inode;
    const char *option; /* "--report"; NULL = an argument */
    const char *path;   /* as given */
} named_file;

typedef ARRAY(named_file) named_files;

/* A place to write to, as given. */
typedef struct target {
    const char *option, *path;
    const char *ending; /* ending of the files of a set there; NULL = that of any trace */
} target;

typedef ARRAY(target) targets;

static bool add_file(named_files *files, const char *path, const target *words)
{
    struct stat info;
    if (file_look(path, &info) != 0 || !S_ISREG(info.st_mode))
        return true;
    const named_file file = {info.st_dev, info.st_ino, words->option, words->path};
    return array_push(files, file);
}

/* True for "x.12.et", "x.3.json.gz", "x.comm_group.json" if the prefix is "x". */
static bool is_of_set(const char *name, const char *prefix, size_t n_prefix)
{
    if (strncmp(name, prefix, n_prefix) != 0 || name[n_prefix] != '.')
        return false;
    const char *rest = name + n_prefix + 1;
    const size_t n_digits = strspn(rest, "0123456789");
    return strcmp(rest, "comm_group.json") == 0 || strcmp(rest, "json") == 0 ||
           (n_digits > 0 && rest[n_digits] == '.');
}

static bool ends_as_trace(const char *name, const char *ending)
{
    static const char *const endings[] = {".et",       ".et.gz",    ".et.zst",
                                          ".json",     ".json.gz",  ".jsonl",
                                          ".jsonl.gz", ".json.zst", ".jsonl.zst"};
    if (ending != NULL)
        return str_ends(str_from(name), str_from(ending));
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (str_ends(str_from(name), str_from(endings[i])))
            return true;
    return false;
}

/* The traces of a folder are added to `files`; with a prefix only those of that set. */
typedef struct entry_list {
    named_files *files;
    const char *folder, *prefix;
    const target *words;
} entry_list;

static bool add_entry(void *context, const struct dirent *e)
{
    const entry_list *const l = context;
    strbuf path = {0};
    if (!ends_as_trace(e->d_name, l->words->ending) ||
        (l->prefix != NULL && !is_of_set(e->d_name, l->prefix, strlen(l->prefix))))
        return true;
    strbuf_printf(&path, "%s/%s", l->folder, e->d_name);
    const bool ok = !path.failed && add_file(l->files, path.at, l->words);
    strbuf_fini(&path);
    return ok;
}

/* A folder that is not there yet has no entries. False: no memory. */
static bool add_entries(named_files *files, const char *folder, const char *prefix,
                        const target *words)
{
    entry_list list = {files, folder, prefix, words};
    const int reason = file_walk(AT_FDCWD, folder, true, add_entry, &list);
    if (reason != 0 && reason != ECANCELED && !file_is_absent(reason))
        call_fault("list the folder", folder, reason);
    return reason != ECANCELED;
}

/* Add what a path may refer to: a file, a folder of files, or the prefix of a set. */
static bool add_path(named_files *files, const target *words)
{
    struct stat info;
    const char *path = words->path;
    if (file_look(path, &info) == 0)
        return S_ISDIR(info.st_mode) ? add_entries(files, path, NULL, words)
                                     : add_file(files, path, words);
    const char *slash = strrchr(path, '/');
    strbuf folder = {0};
    strbuf_add(&folder, slash == NULL ? STR(".") : (str){path, (size_t)(slash - path)});
    strbuf_add(&folder, str_from(slash == path ? "/" : ""));
    const char *name = slash == NULL ? path : slash + 1;
    const bool ok =
        !folder.failed && (name[0] == '\0' || add_entries(files, folder.at, name, words));
    strbuf_fini(&folder);
    return ok;
}

/* The ending of the files of a set that the call writes, from its option "to" or "form".
 * The default is .et. */
static const char *find_ending(const request_call *call)
{
    static const char *const names[] = {"to", "form"};
    static const struct {
        const char *form, *ending;
    } endings[] = {{"et.gz", ".et.gz"},
                   {"json", ".json"},
                   {"jsonl", ".jsonl"},
                   {"chakra-json", ".json"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        request_option o;
        if (!request_option_find(&o, call->verb, str_from(names[i])) ||
            o.kind != REQUEST_CHOICE || !request_given(call, names[i]))
            continue;
        uint32_t choice;
        memcpy(&choice, (const char *)call->options + o.offset, sizeof choice);
        for (size_t k = 0; k < sizeof endings / sizeof *endings; k++)
            if (strcmp(o.choices[choice], endings[k].form) == 0)
                return endings[k].ending;
    }
    return ".et";
}

/* The texts that an option contains. */
static request_texts read_texts(const request_call *call, const request_option *o,
                                const char **one)
{
    const char *at = (const char *)call->options + o->offset;
    if (o->kind == REQUEST_TEXTS)
        return *(const request_texts *)(const void *)at;
    *one = o->kind == REQUEST_TEXT ? *(const char *const *)(const void *)at : NULL;
    return (request_texts){one, *one != NULL ? 1 : 0};
}

/* Documents in a request, and "-" for stdin and stdout, are not files. A document has a
 * colon or several lines; a prefix of traces such as "{run}" has neither. */
static bool is_path(const char *text)
{
    const bool is_document = strpbrk(text, ":\n") != NULL && request_is_document(text);
    return text[0] != '\0' && strcmp(text, "-") != 0 && !is_document;
}

static bool collect_outputs(const request_call *call, targets *outputs)
{
    bool ok = true;
    const char *const ending = find_ending(call);
    for (request_option_walk w = {.verb = call->verb}; ok && request_option_next(&w);) {
        const request_option *const o = &w.option;
        const char *one = NULL;
        const request_texts texts = read_texts(call, o, &one);
        for (size_t i = 0; ok && o->writes && i < texts.n; i++)
            if (is_path(texts.at[i]))
                ok = array_push(outputs, (target){o->name, texts.at[i], ending});
    }
    const char *const last = call->n_args > 0 ? call->args[call->n_args - 1] : "";
    if (ok && call->verb->writes_last && is_path(last))
        ok = array_push(outputs, (target){NULL, last, ending});
    return ok;
}

static const char *add_dashes(const char *option)
{
    return option != NULL ? "--" : "";
}

static const char *get_words(const target *t)
{
    return t->option != NULL ? t->option : "the last argument";
}

static bool is_folder(const char *path)
{
    struct stat info;
    return file_look(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static halley_status refuse_twin(request_call *call, const target *a, const target *b,
                                 halley_error *err)
{
    return request_usage(
        call, err, "%s%s and %s%s would write to the same file %s; choose two names",
        add_dashes(a->option), get_words(a), add_dashes(b->option), get_words(b),
        b->path);
}

/* The absolute path, without links, that a new file would have; the caller frees it. */
static char *resolve_new(const char *path)
{
    strbuf whole = {0};
    const char *slash = strrchr(path, '/');
    char *folder = NULL;
    strbuf_add(&whole, slash == NULL ? STR(".") : (str){path, (size_t)(slash - path)});
    strbuf_add(&whole, str_from(slash == path ? "/" : ""));
    if (!whole.failed)
        folder = realpath(whole.at, NULL);
    strbuf_fini(&whole);
    if (folder == NULL)
        return NULL;
    strbuf named = {0};
    strbuf_printf(&named, "%s/%s", folder, slash == NULL ? path : slash + 1);
    free(folder);
    return named.at; /* NULL if memory ran out: the writer reports it */
}

/* True for the files that SQLite keeps next to a store. */
static bool is_of_store(const char *store, const char *path)
{
    const size_t n = strlen(store);
    return strncmp(store, path, n) == 0 &&
           (strcmp(path + n, "-wal") == 0 || strcmp(path + n, "-shm") == 0 ||
            strcmp(path + n, "-journal") == 0);
}

/* True if the output would be a file of the set that is written to a prefix or folder. */
static bool is_in_set(const target *set, const char *prefix, const char *path)
{
    const char *slash = strrchr(path, '/');
    const size_t n = strlen(prefix);
    if (set->option != NULL && strcmp(set->option, "out") != 0 &&
        strcmp(set->option, "trace") != 0)
        return false;
    if (!ends_as_trace(path, set->ending))
        return false;
    return is_of_set(path, prefix, n) ||
           (is_folder(prefix) && (size_t)(slash - path) == n &&
            strncmp(prefix, path, n) == 0);
}

static bool is_covered(const target *a, const char *first, const char *second)
{
    return (a->option != NULL && strcmp(a->option, "store") == 0 &&
            is_of_store(first, second)) ||
           is_in_set(a, first, second);
}

static bool is_same_new(const target *a, const target *b)
{
    char *first = resolve_new(a->path), *second = resolve_new(b->path);
    const bool same = first != NULL && second != NULL &&
                      (strcmp(first, second) == 0 || is_covered(a, first, second) ||
                       is_covered(b, second, first));
    free(first);
    free(second);
    return same;
}

static const named_file *find_same(const named_files *in, const named_files *of)
{
    for (size_t i = 0; i < in->n; i++)
        for (size_t k = 0; k < of->n; k++)
            if (in->at[i].inode == of->at[k].inode &&
                in->at[i].device == of->at[k].device)
                return &in->at[i];
    return NULL;
}

/* The outputs exist: their files will be written over. */
static halley_status announce_files(const target *words, const named_files *files,
                                    halley_error *err)
{
    char option[64];
    snprintf(option, sizeof option, "%s%s", add_dashes(words->option), get_words(words));
    for (size_t i = 0; i < files->n; i++)
        TRY(call_writes(&(struct stat){.st_mode = S_IFREG,
                                       .st_dev = files->at[i].device,
                                       .st_ino = files->at[i].inode},
                        option, words->path, err));
    return HALLEY_OK;
}

static halley_status check_output(request_call *call, const targets *outputs, size_t i,
                                  named_files *written, halley_error *err)
{
    named_files files = {0};
    halley_status status =
        add_path(&files, &outputs->at[i]) ? HALLEY_OK : error_nomem(err);
    const named_file *twin = find_same(written, &files);
    if (status == HALLEY_OK && twin != NULL)
        status = refuse_twin(call, &(target){twin->option, twin->path, NULL},
                             &outputs->at[i], err);
    for (size_t k = 0; k < i && status == HALLEY_OK; k++)
        if (is_same_new(&outputs->at[k], &outputs->at[i]))
            status = refuse_twin(call, &outputs->at[k], &outputs->at[i], err);
    if (status == HALLEY_OK)
        status = announce_files(&outputs->at[i], &files, err);
    for (size_t k = 0; k < files.n && status == HALLEY_OK; k++)
        if (!array_push(written, files.at[k]))
            status = error_nomem(err);
    array_fini(&files);
    return status;
}

/* Check that the folder of a report, a timeline or a store exists, before the work
 * starts. Folders for sets of traces (--out) are created. */
static halley_status check_folder(const target *output, halley_error *err)
{
    char folder[PATH_MAX];
    const char *const slash = strrchr(output->path, '/');
    const size_t n = slash == NULL ? 0 : (size_t)(slash - output->path);
    const bool is_made = output->option == NULL || strcmp(output->option, "out") == 0;
    if (is_made || n == 0 || n >= sizeof folder || slash[1] == '\0')
        return HALLEY_OK;
    memcpy(folder, output->path, n);
    folder[n] = '\0';
    if (file_is_folder(folder))
        return HALLEY_OK;
    return error_set(err, HALLEY_EIO, "cannot write %s: its folder does not exist",
                     output->path);
}

/* Uploads may be written over, but no other file appears among them: the server would not
 * remove it. */
static bool is_stray(const target *words, bool is_output)
{
    return is_output && file_root_is_shown(words->path) && !file_is_regular(words->path);
}

static halley_status permit_path(request_call *call, const target *words, bool is_output,
                                 bool read_only, halley_error *err)
{
    if (!is_path(words->path))
        return HALLEY_OK;
    if (is_output && read_only)
        return request_usage(call, err, "%s writes a file, and this server is read-only",
                             words->option != NULL ? words->option : call->verb->name);
    if (!file_root_hides(words->path) && !is_stray(words, is_output) &&
        file_root_allows(words->path))
        return HALLEY_OK;
    return request_fail_as(call, REQUEST_CODE_NOT_FOUND,
                           file_root_refuse(words->path, err));
}

static halley_status permit_options(request_call *call, bool read_only, halley_error *err)
{
    for (const request_option *o = call->verb->options; o != NULL && o->name != NULL;
         o++) {
        const char *one = NULL;
        const request_texts texts = read_texts(call, o, &one);
        for (size_t i = 0; i < texts.n; i++)
            TRY(permit_path(call, &(target){o->name, texts.at[i], NULL}, o->writes,
                            read_only, err));
    }
    return HALLEY_OK;
}

halley_status request_files_permit(request_call *call, bool read_only, halley_error *err)
{
    TRY(permit_options(call, read_only, err));
    for (size_t i = 0; i < call->n_args; i++)
        TRY(permit_path(call, &(target){NULL, call->args[i], NULL},
                        call->verb->writes_last && i + 1 == call->n_args, read_only,
                        err));
    return HALLEY_OK;
}

/* "/dev/stdout" is meant to be standard output. */
static bool is_device(const char *path)
{
    return strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0;
}

/* Standard output of the program is a file to be written, too. */
static halley_status check_stdout(request_call *call, const targets *outputs,
                                  halley_error *err)
{
    struct stat out, other;
    if (fstat(STDOUT_FILENO, &out) != 0)
        return HALLEY_OK;
    for (size_t i = 0; i < outputs->n && S_ISREG(out.st_mode); i++)
        if (!is_device(outputs->at[i].path) && stat(outputs->at[i].path, &other) == 0 &&
            other.st_ino == out.st_ino && other.st_dev == out.st_dev)
            return request_usage(call, err,
                                 "standard output is %s, which this command writes; "
                                 "redirect it to another file",
                                 outputs->at[i].path);
    return call_writes(&out, "standard output", "standard output", err);
}

static halley_status check_outputs(request_call *call, const targets *outputs,
                                   halley_error *err)
{
    named_files written = {0};
    halley_status status = HALLEY_OK;
    for (size_t i = 0; i < outputs->n && status == HALLEY_OK; i++)
        status = check_output(call, outputs, i, &written, err);
    for (size_t i = 0; i < outputs->n && status == HALLEY_OK; i++)
        status = check_folder(&outputs->at[i], err);
    array_fini(&written);
    return status;
}

halley_status request_files_check(request_call *call, halley_error *err)
{
    targets outputs = {0};
    if (request_option_find(NULL, call->verb, STR("force"))) {
        call_set_remedy(", or add --force");
        if (request_given(call, "force"))
            call_allow_replacing();
    }
    halley_status status = collect_outputs(call, &outputs) ? HALLEY_OK : error_nomem(err);
    if (status == HALLEY_OK)
        status = check_outputs(call, &outputs, err);
    if (status == HALLEY_OK && call->program != NULL)
        status = check_stdout(call, &outputs, err);
    array_fini(&outputs);
    return status;
}
