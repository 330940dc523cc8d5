/* The rows of an import. */
#include "base/fact_rows.h"
#include "report/model.h"

/* The i-th entry of the list f->at. Of ignored and unknown keys, the key is the text. */
static bool find_entry(fact_entry *out, const fact *f, const void *from, size_t i)
{
    const halley_import *import = from;
    const bool is_key = f->at == HALLEY_IMPORT_IGNORED || f->at == HALLEY_IMPORT_UNKNOWN;
    for (uint32_t k = 0; k < halley_import_count(import); k++) {
        const halley_import_entry e = halley_import_get(import, k);
        if (e.list != f->at || i-- > 0)
            continue;
        *out = (fact_entry){e.key, is_key ? e.key : e.value};
        return true;
    }
    return false;
}

static const char *get_import_kind(const void *from)
{
    return halley_import_kind(from);
}

/* clang-format off */
const fact_table report_import_facts = {"Import", "what was read, assumed and ignored of a file of another program", 0, (const fact[]){
    DERIVED_TEXT("kind", get_import_kind, "kind", "what kind of file it is"),
    MAP("read", find_entry, HALLEY_IMPORT_READ, "read", "keys that were read, with their values"),
    MAP("assumed", find_entry, HALLEY_IMPORT_ASSUMED, "assumed", "keys that are absent, with the values that were assumed"),
    TEXTS("ignored", find_entry, HALLEY_IMPORT_IGNORED, "ignored", "keys that change nothing that halley models"),
    TEXTS("unknown", find_entry, HALLEY_IMPORT_UNKNOWN, "unknown", "keys that halley does not know"),
    TEXTS("notes", find_entry, HALLEY_IMPORT_NOTE, "notes", "sentences about the file"),
    {0}}};
