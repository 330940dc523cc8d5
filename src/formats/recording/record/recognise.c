/* Detect the type of a file from its first bytes, and read it with the matching
 * reader. */
#include "astra/text.h"
#include "base/file/file.h"
#include "recording/record/read.h"

#include <stdlib.h>
#include <string.h>

enum { HEAD_BYTES = 256 * 1024 };

record *rec_list_add(rec_list *list, rec_format format)
{
    if (!array_reserve(&list->ranks, 1))
        return NULL;
    record *const r = &list->ranks.at[list->ranks.n++];
    rec_init(r);
    r->format = format;
    return r;
}

void rec_list_fini(rec_list *list)
{
    for (size_t i = 0; i < list->ranks.n; i++)
        rec_fini(&list->ranks.at[i]);
    array_fini(&list->ranks);
}

static str skip_leading_blanks(str s)
{
    while (s.n > 0 &&
           (*s.at == ' ' || *s.at == '\n' || *s.at == '\r' || *s.at == '\t' ||
            (uint8_t)*s.at == 0xef || (uint8_t)*s.at == 0xbb || (uint8_t)*s.at == 0xbf))
        s.at++, s.n--;
    return s;
}

/* A protobuf whose field 1 is a plane whose field 2 names a host or device plane. */
static bool looks_like_xplane(str head)
{
    if (head.n < 4 || head.at[0] != 0x0a)
        return false;
    return str_contains((str){head.at, head.n < 4096 ? head.n : 4096}, STR("/host:")) ||
           str_contains((str){head.at, head.n < 65536 ? head.n : 65536},
                        STR("/device:")) ||
           str_contains(head, STR("Task Environment"));
}

static rec_file_kind recognise_json(str head)
{
    if (str_contains(head, STR("\"rocprofiler-sdk-tool\"")))
        return REC_FILE_ROCPROF;
    if (str_contains(head, STR("\"traceEvents\"")))
        return REC_FILE_KINETO;
    if (head.at[0] == '[' && str_contains(head, STR("\"ph\"")))
        return REC_FILE_KINETO;
    if (str_contains(head, STR("\"nodes\"")) &&
        (str_contains(head, STR("\"schema\"")) || /* may come after all nodes */
         (str_contains(head, STR("\"ctrl_deps\"")) &&
          str_contains(head, STR("\"rf_id\""))) ||
         str_contains(head, STR("\"op_schema\""))))
        return REC_FILE_EXECUTION_TRACE;
    /* A Kineto trace may have long metadata before its events. */
    if (str_contains(head, STR("\"schemaVersion\"")) &&
        (str_contains(head, STR("\"deviceProperties\"")) ||
         str_contains(head, STR("\"distributedInfo\""))))
        return REC_FILE_KINETO;
    return REC_FILE_UNKNOWN;
}

static bool looks_like_rocprof_csv(str head)
{
    const char *const end = memchr(head.at, '\n', head.n);
    const str line = {head.at, end != NULL ? (size_t)(end - head.at) : head.n};
    return (str_contains(line, STR("Start_Timestamp")) &&
            str_contains(line, STR("End_Timestamp"))) &&
           (str_contains(line, STR("Kind")) || str_contains(line, STR("Domain")));
}

static const struct {
    const char *mark;
    bool is_start; /* the mark is at the start of the file, else anywhere in its head */
    const char *what;
} known_files[] = {
    {"NVIDIA Nsight Systems", false,
     "an .nsys-rep of Nsight Systems: export it with `nsys export --type sqlite` first"},
    {"PK\x03\x04", true, "a zip archive: unpack it first"},
    {"\"model_type\"", false,
     "a Hugging Face config.json: `halley estimate -m FILE` takes it"},
    {"\"architectures\"", false,
     "a Hugging Face config.json: `halley estimate -m FILE` takes it"},
    {"<algo ", false, "an MSCCL algorithm: `halley trace convert` takes it"},
    {"\"threadblocks\"", false, "an MSCCL++ plan: `halley trace convert` takes it"},
    {"\"Counter_Value\"", false, "a table of rocprofv3's counters, which has no times"},
    {"\"TotalDurationNs\"", false, "a summary of rocprofv3, which has no events"},
    {"<system ", false, "NCCL's topology XML: `halley topology show` takes it"},
    {"Reading timestamp", false, "an nvprof log, which is not a recording of events"},
    {"\x89PNG", true, "a picture"},
    {"%PDF", true, "a PDF document"},
    {"\x7f"
     "ELF",
     true, "a program"},
};

/* For a file that no reader accepts: what it is and which command accepts it, as in "an
 * .nsys-rep: export it with nsys export --type sqlite". NULL = unknown. Static. */
static const char *describe_file(str head)
{
    for (size_t i = 0; i < sizeof known_files / sizeof *known_files; i++) {
        const str mark = str_from(known_files[i].mark);
        if (known_files[i].is_start ? str_starts(head, mark) : str_contains(head, mark))
            return known_files[i].what;
    }
    if (head.n > 0 && text_is_workload(head))
        return "a workload of ASTRA-sim 1.0: `halley trace convert` takes it";
    return NULL;
}

/* The type of a file from its first bytes (inflated). */
static rec_file_kind recognise_bytes(str head)
{
    const str text = skip_leading_blanks(head);
    if (str_starts(head, STR("SQLite format 3")))
        return REC_FILE_NSYS;
    if (text.n > 0 && (text.at[0] == '{' || text.at[0] == '[')) {
        const rec_file_kind kind = recognise_json(text);
        if (kind != REC_FILE_UNKNOWN)
            return kind;
        return describe_file(text) != NULL ? REC_FILE_OTHER : REC_FILE_UNKNOWN;
    }
    if (text.n > 0 && looks_like_rocprof_csv(text))
        return REC_FILE_ROCPROF_CSV;
    if (looks_like_xplane(head))
        return REC_FILE_XPLANE;
    return describe_file(head) != NULL ? REC_FILE_OTHER : REC_FILE_UNKNOWN;
}

/* The first bytes of a file, inflated as far as they are valid. Only regular files are
 * peeked at: bytes read from a pipe would be lost to the reader, so for a pipe there are
 * none. */
static halley_status read_head(char *to, size_t *n, const char *path, halley_error *err)
{
    file_stream *file;
    *n = 0;
    if (!file_is_regular(path))
        return HALLEY_OK;
    halley_status status = file_stream_open(&file, path, err);
    if (status != HALLEY_OK)
        return status;
    for (size_t got = 1; status == HALLEY_OK && got > 0 && *n < HEAD_BYTES;) {
        status = file_stream_read(file, to + *n, HEAD_BYTES - *n, &got, err);
        *n += status == HALLEY_OK ? got : 0;
    }
    file_stream_close(file);
    return status == HALLEY_EIO || status == HALLEY_ENOMEM ? status : HALLEY_OK;
}

static halley_status recognise_path(rec_file_kind *out, const char **what,
                                    const char *path, halley_error *err)
{
    char *const head = malloc(HEAD_BYTES);
    size_t n = 0;
    if (head == NULL)
        return error_nomem(err);
    const halley_status status = read_head(head, &n, path, err);
    *out = recognise_bytes((str){head, n});
    *what = n > 0 ? describe_file((str){head, n}) : NULL;
    free(head);
    return status;
}

rec_file_kind rec_recognise_file(const char *path)
{
    rec_file_kind kind = REC_FILE_UNKNOWN;
    const char *what;
    if (file_is_folder(path) || recognise_path(&kind, &what, path, NULL) != HALLEY_OK)
        return REC_FILE_UNKNOWN;
    return kind;
}

static halley_status refuse_file(const char *what, halley_error *err)
{
    if (what != NULL)
        return error_set(err, HALLEY_EFORMAT, "this is %s", what);
    return error_set(err, HALLEY_EFORMAT,
                     "not a recording that halley reads: expected Kineto JSON, a PyTorch "
                     "execution trace, an nsys SQLite export, an xplane.pb, or rocprofv3 "
                     "JSON or CSV");
}

static halley_status
read_stream_with(rec_list *list, const char *path, const rec_read_opts *opts,
                 halley_status (*read)(rec_list *, file_stream *, const rec_read_opts *,
                                       halley_error *),
                 halley_error *err)
{
    file_stream *file;
    TRY(file_stream_open(&file, path, err));
    const halley_status status = read(list, file, opts, err);
    file_stream_close(file);
    return status;
}

static halley_status read_xplane_file(rec_list *list, const char *path, halley_error *err)
{
    file_input in;
    TRY(file_input_open(&in, path, err));
    const halley_status status = rec_read_xplane(list, in.at, in.n, err);
    file_input_close(&in);
    return status;
}

static halley_status read_by_kind(rec_list *list, const char *path,
                                  const rec_read_opts *opts, halley_error *err)
{
    rec_file_kind kind;
    const char *what;
    TRY(recognise_path(&kind, &what, path, err));
    switch (kind) {
    case REC_FILE_KINETO:
        return read_stream_with(list, path, opts, rec_read_kineto, err);
    case REC_FILE_ROCPROF:
        return read_stream_with(list, path, opts, rec_read_rocprof, err);
    case REC_FILE_ROCPROF_CSV:
        return rec_read_rocprof_csv(list, path, err);
    case REC_FILE_NSYS:
        return rec_read_nsys(list, path, opts, err);
    case REC_FILE_XPLANE:
        return read_xplane_file(list, path, err);
    default:
        return refuse_file(what, err);
    }
}

halley_status rec_read_file(rec_list *list, const char *path, const rec_read_opts *opts,
                            halley_error *err)
{
    file_stream *file; /* reports a missing or unreadable file */
    TRY(file_stream_open(&file, path, err));
    file_stream_close(file);
    const size_t before = list->ranks.n;
    halley_status status = read_by_kind(list, path, opts, err);
    for (size_t i = before; status == HALLEY_OK && i < list->ranks.n; i++)
        status = rec_finish(&list->ranks.at[i], err);
    if (status != HALLEY_OK)
        error_at_file(err, path);
    return status;
}
