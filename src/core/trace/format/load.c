/* Open a trace of any format, which is recognised by content. */
#include "trace/format/et.h"

#include <string.h>

static bool is_space(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The first byte that is not white space, or 0. A UTF-8 byte order mark is skipped. */
static uint8_t first_byte(const file_input *in)
{
    size_t i = in->n >= 3 && memcmp(in->at, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    while (i < in->n && is_space(in->at[i]))
        i++;
    return i < in->n ? in->at[i] : 0;
}

/*
 * An .et file starts with the length of its metadata and the tag of its first field, 0x0a
 * or 0x12. It can look like the start of a JSON object in only one case. Its length is
 * then 123 ('{'), and its version (tag '\n') has 34 ('"') characters. The tag of an
 * attribute, 0x12, follows, which cannot occur in JSON.
 */
static bool is_et_like_json(const file_input *in)
{
    return in->n > 123 && memcmp(in->at, "{\n\"", 3) == 0 && in->at[3 + 34] == 0x12;
}

bool et_looks_like_json(const file_input *in)
{
    const uint8_t first = first_byte(in);
    if ((first != '{' && first != '[') || is_et_like_json(in))
        return false;
    size_t i = (size_t)((const uint8_t *)memchr(in->at, first, in->n) - in->at) + 1;
    while (i < in->n && is_space(in->at[i]))
        i++;
    const str next = first == '{' ? STR("\"}") : STR("{]");
    return i < in->n && memchr(next.at, in->at[i], next.n) != NULL;
}

/* Refuse other JSON files, which are given by mistake. */
static halley_status refuse_json(const file_input *in, const char *path,
                                 halley_error *err)
{
    const str start = {(const char *)in->at, in->n < 65536 ? in->n : 65536};
    if (str_contains(start, STR("\"nodes\"")))
        return HALLEY_OK;
    if (str_contains(start, STR("\"traceEvents\"")))
        return error_set(
            err, HALLEY_EFORMAT,
            "this is a Kineto trace: halley trace link %s makes a trace of it", path);
    if (str_contains(start, STR("\"model_type\"")) ||
        str_contains(start, STR("\"architectures\"")))
        return error_set(err, HALLEY_EFORMAT,
                         "this is a model configuration, not a trace");
    return HALLEY_OK;
}

/* Takes `in`. */
static halley_status read_any(halley_trace **out, file_input *in, const char *path,
                              const halley_load_opts *opts, halley_error *err)
{
    const halley_load_opts none = {0};
    opts = opts ? opts : &none;
    if (et_looks_like_json(in)) {
        const halley_status strange = refuse_json(in, path, err);
        if (strange == HALLEY_OK)
            return json_trace_read(out, in, path, opts, err);
        error_at_file(err, path);
        file_input_close(in);
        return strange;
    }
    const et_old_schema *old;
    const halley_status status = et_old_recognise(&old, in->at, in->n, err);
    if (status) {
        file_input_close(in);
        return status;
    }
    return old ? et_old_read(out, old, in, path, opts, err)
               : et_read(out, in, path, opts, err);
}

/* The program that compressed a file and is needed to decompress it; NULL = unknown. */
const char *et_packer_of(const file_input *in)
{
    static const struct {
        const char *name, *start;
    } packers[] = {{"bzip2", "BZh"}, {"lz4", "\x04\"M\x18"}, {"zip", "PK\x03\x04"}};
    const str all = {(const char *)in->at, in->n};
    for (size_t i = 0; i < sizeof packers / sizeof *packers; i++)
        if (str_starts(all, str_from(packers[i].start)))
            return packers[i].name;
    return NULL;
}

halley_status trace_load_input(halley_trace **out, file_input *in, const char *path,
                               const halley_load_opts *opts, halley_error *err)
{
    const char *const packer = et_packer_of(in);
    file_input taken = *in;
    *in = (file_input){0};
    halley_status status = read_any(out, &taken, path, opts, err);
    if (packer && status == HALLEY_EFORMAT)
        status = error_set(
            err, HALLEY_EFORMAT,
            "packed by %s, which is not read: unpack it (gzip, zstd and xz are read)",
            packer);
    if (status)
        error_at_file(err, path);
    return status;
}

halley_status halley_trace_load(halley_trace **out, const char *path,
                                const halley_load_opts *opts, halley_error *err)
{
    file_input in = {0};
    if (opts != NULL && opts->frees_bytes) {
        halley_trace *trace = NULL;
        const halley_status status = et_read_stream(&trace, path, opts, err);
        if (status)
            error_at_file(err, path);
        if (status || trace != NULL) {
            *out = status ? *out : trace;
            return status;
        }
    }
    TRY(file_input_open(&in, path, err));
    return trace_load_input(out, &in, path, opts, err);
}

halley_status halley_trace_parse(halley_trace **out, const void *at, size_t n,
                                 const char *name, const halley_load_opts *opts,
                                 halley_error *err)
{
    file_input in = {0};
    halley_status status = file_input_copy(&in, at, n, 0, err);
    if (!status)
        status = read_any(out, &in, name, opts, err);
    if (status)
        error_at_file(err, name);
    return status;
}
