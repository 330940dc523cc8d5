#include "workload/notes.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

halley_import *import_new(const char *kind)
{
    halley_import *import = calloc(1, sizeof *import);
    if (import != NULL)
        import->kind = kind;
    return import;
}

void import_add(halley_import *import, halley_import_list list, str key, str value)
{
    assert(list < HALLEY_N_IMPORT_LISTS);
    for (size_t i = 0; i < import->entries.n && key.n > 0; i++)
        if (import->entries.at[i].list == list &&
            str_eq(key, str_from(import->entries.at[i].key)))
            return; /* the first value is kept */
    const char *k = arena_copy(&import->memory, key);
    const char *v = arena_copy(&import->memory, value);
    if (k == NULL || v == NULL ||
        !array_push(&import->entries, (halley_import_entry){list, k, v}))
        import->failed = true;
}

void import_add_number(halley_import *import, halley_import_list list, str key,
                       double value)
{
    strbuf text = {0};
    strbuf_double(&text, value);
    import->failed |= text.failed;
    import_add(import, list, key, strbuf_str(&text));
    strbuf_fini(&text);
}

void import_note(halley_import *import, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    import_add(import, HALLEY_IMPORT_NOTE, STR(""), str_from(text));
}

const char *halley_import_kind(const halley_import *import)
{
    return import->kind;
}

uint32_t halley_import_count(const halley_import *import)
{
    return (uint32_t)import->entries.n;
}

halley_import_entry halley_import_get(const halley_import *import, uint32_t i)
{
    assert(i < import->entries.n);
    return import->entries.at[i];
}

void halley_import_free(halley_import *import)
{
    if (import == NULL)
        return;
    array_fini(&import->entries);
    arena_fini(&import->memory);
    free(import);
}
