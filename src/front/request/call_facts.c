/* The rows that every result has. */
#include "base/fact_rows.h"
#include "request/verb.h"

/* clang-format off */
#define THIS request_assumption
static const fact_table assumption_facts = {"Assumption", "a value that was used, but not stated", sizeof(THIS), (const fact[]){
    VALUE("key", key, NO_UNIT, "key", "key of the plan or of the command"),
    VALUE("value", value, NO_UNIT, "value", "its value, as in a plan file", .rare = true),
    VALUE("origin", origin, NO_UNIT, "origin", "where it comes from: file, recipe, stack or default"),
    VALUE("recipe", recipe, NO_UNIT, "recipe", "name of the recipe, after its framework", .rare = true),
    VALUE("why", why, NO_UNIT, "why", "how near that recipe is to what was asked", .rare = true),
    VALUE("text", text, NO_UNIT, "text", "the same in words"),
    {0}}};
#undef THIS

#define THIS request_result_notes
const fact_table request_notes_facts = {"Notes", "what every result may say about itself", sizeof(THIS), (const fact[]){
    LIST("assumed", assumed, &assumption_facts, "assumed", "values that were used and change the result, but were not stated", .rare = true),
    LIST("warnings", warnings, NULL, "warnings", "what the user should know about this result; a list of sentences", .rare = true),
    {0}}};
#undef THIS
