/* base/format.c - finds rows in the table of formats of other programs. */
#include "base/format.h"

const format_row *format_get(format_kind kind, format_use use, size_t i)
{
    for (const format_set *const *set = format_sets; *set != NULL; set++)
        for (const format_row *const *row = (*set)->rows;
             (*set)->kind == kind && *row != NULL; row++) {
            const bool can =
                use == FORMAT_READ ? (*row)->read != NULL : (*row)->write != NULL;
            if (can && i-- == 0)
                return *row;
        }
    return NULL;
}

static bool has_name(const format_row *row, str name)
{
    str word, also = str_from(row->also == NULL ? "" : row->also);
    if (str_eq(name, str_from(row->name)))
        return true;
    while (str_next(&also, ' ', &word))
        if (str_eq(name, word))
            return true;
    return false;
}

halley_status format_find(const format_row **out, format_kind kind, format_use use,
                          str name, halley_error *err)
{
    strbuf names = {0};
    const format_row *row;
    for (size_t i = 0; (row = format_get(kind, use, i)) != NULL; i++) {
        if (has_name(row, name)) {
            strbuf_fini(&names);
            *out = row;
            return HALLEY_OK;
        }
        strbuf_printf(&names, "%s%s", i == 0 ? "" : ", ", row->name);
    }
    const halley_status status =
        error_set(err, HALLEY_ENOTFOUND, "there is no format \"%.*s\"; there are %s",
                  STR_ARG(name), names.failed || names.n == 0 ? "none" : names.at);
    strbuf_fini(&names);
    return status;
}

const format_row *format_detect(format_kind kind, str text, const char *path)
{
    for (const format_set *const *set = format_sets; *set != NULL; set++) {
        const format_row *row = (*set)->kind == kind ? (*set)->detect(text, path) : NULL;
        if (row != NULL)
            return row;
    }
    return NULL;
}
