/* halley-json(5): requests and the keys of results, from the table of keys. */
#include "base/str.h"
#include "cli/commands.h"
#include "halley/plan_keys.h"
#include "request/vocabulary.h"

#include <stdio.h>
#include <string.h>

/* Add the values of a plan key; the orders of ranks are too many to list. */
static void add_words(char *doc, size_t size, const request_key *k)
{
    size_t n = strlen(doc);
    for (int i = 0; i < HALLEY_N_PLAN_KEYS && strncmp(k->key, "plan.", 5) == 0; i++) {
        const halley_plan_key key = (halley_plan_key)i;
        const char *const *const words = halley_plan_key_words(key);
        if (words == NULL || key == HALLEY_KEY_RANK_ORDER ||
            strcmp(k->word, halley_plan_key_name(key)) != 0)
            continue;
        for (size_t w = 0; words[w] != NULL && n < size; w++)
            n += (size_t)snprintf(doc + n, size - n, "%s%s",
                                  w > 0                          ? ", "
                                  : halley_plan_key_is_list(key) ? "; a list of "
                                                                 : "; one of ",
                                  words[w]);
    }
}

/* Pages are written by one thread, entry by entry; the texts are valid until the next
 * entry. */
static bool list_json_key(request_entry *out, size_t i)
{
    static _Thread_local request_key_room room;
    static _Thread_local char doc[1024];
    request_key k;
    if (!request_key_get(&k, &room, i))
        return false;
    const bool is_all = k.verbs[0] == '*';
    snprintf(doc, sizeof doc, "%s%s%s%s; %s%s%s%s", k.meaning, k.unit != NULL ? " (" : "",
             k.unit != NULL ? k.unit : "", k.unit != NULL ? ")" : "",
             is_all ? "all commands" : k.verbs, k.word != NULL ? "; in YAML " : "",
             k.word != NULL ? k.word : "", "");
    add_words(doc, sizeof doc, &k);
    *out = (request_entry){.name = k.key, .doc = doc};
    return true;
}

static const request_list lists[] = {{"keys", list_json_key}, {0}};

const cli_format format_json = {
    .name = "json",
    .summary = "requests in JSON, and the keys of results",
    .description =

        "With --json a command prints one object. halley_request() of the C library "
        "takes requests and replies with the same object:\n\n"
        "  {\"do\": \"estimate\", \"model\": \"llama3-70b\", \"cluster\": "
        "\"dgx-h100:64\", \"plan\": {\"tp\": 8, \"pp\": 2, \"global_batch\": 128}}\n\n"
        "The verb is the name of the command with a dot (trace.info). Keys are its "
        "options with _ instead of -; arguments also have keys, such as trace or "
        "study. A model, cluster, plan, stack, study or trace is a name, a path, or "
        "the document itself: an object, or YAML text.\n\n"
        "The reply is {\"ok\": true, \"result\": {...}} or {\"ok\": false, \"error\":"
        " {\"code\", \"message\", \"file\", \"line\", \"column\", \"hint\"}}. The "
        "code is usage, not-found, bad-file, bad-value, infeasible, unsupported, "
        "cancelled, limit or internal.\n\n"
        "Numbers are in SI base units, which are part of the key: step_s, "
        "device_bytes, energy_J. Shares are fractions from 0 to 1. Unknown values are"
        " absent. The same keys are the headers of CSV and the columns of stores, "
        "with a dot for an object: parts_s.tensor_parallel. Expressions in studies "
        "take either form.",
    .lists = lists,
    .commands = "estimate plan explore results sim",
};
