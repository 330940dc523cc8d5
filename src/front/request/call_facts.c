/* The rows that every result has. */
#include "base/fact_rows.h"
#include "request/verb.h"

enum { LIST_ASSUMED, LIST_WARNINGS };

static bool find_note(fact_entry *out, const fact *f, const void *from, size_t i)
{
    const request_call *call = from;
    const request_notes *notes = f->at == LIST_ASSUMED ? call->assumed : call->warnings;
    if (notes == NULL || i >= notes->n)
        return false;
    *out = (fact_entry){NULL, notes->at[i]};
    return true;
}

/* clang-format off */
const fact_table request_notes_facts = {"Notes", "what every result may say about itself", sizeof(request_call), (const fact[]){
    TEXTS("assumed", find_note, LIST_ASSUMED, "assumed", "defaults that were used and change the result; a list of sentences", .rare = true),
    TEXTS("warnings", find_note, LIST_WARNINGS, "warnings", "what the user should know about this result; a list of sentences", .rare = true),
    {0}}};
