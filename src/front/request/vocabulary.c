/*
 * The keys of results that have no rows (base/fact.h) yet, and the rows of those that
 * have. Units are SI base units; shares are fractions from 0 to 1. Reports on networks
 * use the units of that field (Gb/s, ns).
 */
#include "request/vocabulary.h"

#include "halley/plan_keys.h"
#include "request/verbs.h"
#include "workload/plan_facts.h"

#include <stdio.h>
#include <string.h>

static bool has_own_row(const char *plan_key)
{
    for (size_t i = 0; request_key_rows[i].key != NULL; i++) {
        size_t k = 0;
        while (request_key_rows[i].key[k] != '\0' &&
               request_key_rows[i].key[k] == (plan_key[k] == '-' ? '_' : plan_key[k]))
            k++;
        if (request_key_rows[i].key[k] == '\0' && plan_key[k] == '\0')
            return true;
    }
    return false;
}

/* *i counts on after the keys of plans. Set it to the plan key without its own row at
 * that position; false after the last. */
static bool find_bare_key(size_t *i)
{
    size_t left = *i - HALLEY_N_PLAN_KEYS;
    for (size_t k = 0; k < HALLEY_N_PLAN_KEYS; k++) {
        if (has_own_row(workload_plan_facts.rows[k].key) || left-- > 0)
            continue;
        *i = k;
        return true;
    }
    return false;
}

void request_key_name(char to[64], const char *word)
{
    snprintf(to, 64, "%s", word);
    for (char *c = to; *c != '\0'; c++)
        *c = *c == '-' ? '_' : *c;
}

/* A walk over the rows of a result, with the names that its keys have here. */
typedef struct key_walk {
    bool (*visit)(struct key_walk *w, const char *name, const fact *f, bool is_rare);
    request_key *out;
    request_key_room *room;
    const char *wanted;
    const char *listed; /* commands of the key in addition to those with rows */
    size_t left, verb;  /* verb: of the result */
} key_walk;

/* Visits rows until a visit is true. The name is the key, with its object and a dot. */
static bool walk_facts(key_walk *w, const fact_table *t, const char *object, bool is_rare)
{
    char key[64], name[130];
    for (const fact *f = t->rows; f->key != NULL; f++) {
        fact_key(key, f);
        snprintf(name, sizeof name, "%s%s%s", object, *object != '\0' ? "." : "", key);
        if (f->kind != FACT_INLINE && w->visit(w, name, f, is_rare || f->rare))
            return true;
        const bool is_object = f->kind == FACT_GROUP || f->kind == FACT_OBJECT;
        if (f->of != NULL && f->of != t &&
            walk_facts(w, f->of,
                       is_object                ? key
                       : f->kind == FACT_INLINE ? object
                                                : "",
                       is_rare || f->rare))
            return true;
    }
    return false;
}

static bool is_wanted(key_walk *w, const char *name, const fact *f, bool is_rare)
{
    (void)f;
    (void)is_rare;
    return strcmp(name, w->wanted) == 0;
}

static bool has_fact(size_t verb, const char *name)
{
    const fact_table *result = request_verbs[verb]->result;
    key_walk w = {.visit = is_wanted, .wanted = name};
    return result != NULL && walk_facts(&w, result, "", false);
}

/* List the commands: those whose result has the key in its rows, and `listed`. */
static void add_verbs(request_key *out, request_key_room *room, const char *listed)
{
    int n = 0;
    for (size_t v = 0; request_verbs[v] != NULL && listed[0] != '*'; v++)
        if (has_fact(v, out->key) && n >= 0 && (size_t)n < sizeof room->verbs)
            n += snprintf(room->verbs + n, sizeof room->verbs - (size_t)n, "%s%s",
                          n > 0 ? ", " : "", request_verbs[v]->name);
    if (n >= 0 && (size_t)n < sizeof room->verbs)
        snprintf(room->verbs + n, sizeof room->verbs - (size_t)n, "%s%s",
                 n > 0 && listed[0] != '\0' ? ", " : "", listed);
    out->verbs = room->verbs;
}

/* True if this table, the keys of plans or an earlier result lists the key. */
static bool is_listed(const char *name, size_t verb)
{
    for (size_t i = 0; request_key_rows[i].key != NULL; i++)
        if (strcmp(request_key_rows[i].key, name) == 0)
            return true;
    for (size_t v = 0; v < verb; v++)
        if (has_fact(v, name))
            return true;
    return strncmp(name, "plan.", 5) == 0;
}

static request_key_type find_type(const fact *f)
{
    switch (f->kind) {
    case FACT_U32:
    case FACT_U64:
        return REQUEST_IS_INTEGER;
    case FACT_FLAG:
        return REQUEST_IS_BOOLEAN;
    case FACT_TEXT:
    case FACT_NAME:
    case FACT_CHOICE:
        return REQUEST_IS_TEXT;
    case FACT_GROUP:
    case FACT_OBJECT:
    case FACT_MAP:
        return REQUEST_IS_OBJECT;
    case FACT_LIST:
    case FACT_CHAIN:
    case FACT_TEXTS:
        return REQUEST_IS_LIST;
    default:
        return f->kind == FACT_REAL ? REQUEST_IS_NUMBER : REQUEST_IS_ANY;
    }
}

static bool take_fact(key_walk *w, const char *name, const fact *f, bool is_rare)
{
    if (is_listed(name, w->verb) || w->left-- > 0)
        return false;
    const char *unit = fact_unit_name(f->unit);
    snprintf(w->room->name, sizeof w->room->name, "%s", name);
    *w->out = (request_key){.key = w->room->name,
                            .type = find_type(f),
                            .unit = unit[0] != '\0' ? unit : NULL,
                            .meaning = f->doc,
                            .word = f->word,
                            .flags = (f->kind == FACT_MAP ? REQUEST_KEY_FREE : 0) |
                                     (is_rare ? REQUEST_KEY_RARE : 0)};
    add_verbs(w->out, w->room, w->listed);
    return true;
}

/* The i-th key that only rows of results list. *i becomes what is left of it. */
static bool find_fact_key(request_key *out, request_key_room *room, size_t *i)
{
    key_walk w = {.visit = take_fact, .out = out, .room = room, .left = *i, .listed = ""};
    for (; request_verbs[w.verb] != NULL; w.verb++)
        if (request_verbs[w.verb]->result != NULL &&
            walk_facts(&w, request_verbs[w.verb]->result, "", false))
            return true;
    w.listed = "*"; /* what every result may have */
    for (const fact *f = request_notes_facts.rows; f->key != NULL; f++)
        if (f->of != NULL && walk_facts(&w, f->of, f->key, true))
            return true;
    *i = w.left;
    return false;
}

static bool find_plan_key(request_key *out, request_key_room *room, size_t i)
{
    const bool is_bare =
        i >= HALLEY_N_PLAN_KEYS; /* `presets` shows a launch file's plan */
    if (is_bare && !find_bare_key(&i))
        return false;
    char word[64];
    snprintf(word, sizeof word, "%s%s", is_bare ? "" : "plan.",
             workload_plan_facts.rows[i].key);
    request_key_name(room->name, word);
    *out = (request_key){room->name,
                         REQUEST_IS_ANY,
                         NULL,
                         workload_plan_facts.rows[i].doc,
                         NULL,
                         workload_plan_facts.rows[i].key,
                         REQUEST_KEY_RARE};
    add_verbs(out, room, is_bare ? "presets" : "explore, results, sim");
    return true;
}

bool request_key_get(request_key *out, request_key_room *room, size_t i)
{
    size_t n = 0;
    while (request_key_rows[n].key != NULL)
        n++;
    if (i < n) {
        *out = request_key_rows[i];
        add_verbs(out, room, out->verbs);
        return true;
    }
    i -= n;
    return find_fact_key(out, room, &i) || find_plan_key(out, room, i);
}
