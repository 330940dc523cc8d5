/* Opening a trace whatever its form, recognised by content. */
#include "trace/et.h"

#include <string.h>

/* `in` is taken. */
static halley_status read_any(halley_trace **out, file_input *in, const char *path,
                              const halley_load_opts *opts, halley_error *err)
{
    const halley_load_opts none = {0};
    opts = opts ? opts : &none;
    return et_read(out, in, path, opts, err);
}

halley_status halley_trace_load(halley_trace **out, const char *path,
                                const halley_load_opts *opts, halley_error *err)
{
    file_input in = {0};
    TRY(file_input_open(&in, path, err));
    const halley_status status = read_any(out, &in, path, opts, err);
    if (status)
        error_at_file(err, path);
    return status;
}

halley_status halley_trace_parse(halley_trace **out, const void *at, size_t n,
                                 const char *name, const halley_load_opts *opts,
                                 halley_error *err)
{
    uint8_t *const copy = n > SIZE_MAX - FILE_PAD ? NULL : mem_array(n + FILE_PAD, 1);
    if (!copy)
        return error_nomem(err);
    if (n)
        memcpy(copy, at, n);
    memset(copy + n, 0, FILE_PAD);
    file_input in = {.at = copy, .n = n, .owned = copy};
    halley_status status = HALLEY_OK;
    if (n >= 2 && copy[0] == 0x1f && copy[1] == 0x8b) {
        uint8_t *inflated = NULL;
        status = file_gunzip(&inflated, &in.n, copy, n, err);
        free(copy);
        in.at = in.owned = inflated;
    }
    if (!status)
        status = read_any(out, &in, name, opts, err);
    if (status)
        error_at_file(err, name);
    return status;
}
