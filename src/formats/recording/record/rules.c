/*
 * Read and apply kernel rules. Compiled expressions are kept. The caller looks up each
 * name once and remembers the answer.
 */
#include "recording/record/rules.h"

#include "base/file/file.h"
#include "base/limit.h"
#include "recording/pull.h"
#include "recording/record/rules_file.h"

#include <stdio.h>
#include <string.h>

typedef struct rule_draft {
    uint32_t on, match, class_id, from, collective; /* texts of the reader; REC_NONE */
} rule_draft;

static halley_status set_rule_kind(rec_rule *rule, str on, halley_error *err)
{
    if (str_eq(on, STR("kernel")))
        rule->on = RULE_ON_KERNEL;
    else if (str_eq(on, STR("op")))
        rule->on = RULE_ON_OP;
    else if (str_eq(on, STR("override")))
        rule->on = RULE_OVERRIDE;
    else
        return error_set(err, HALLEY_EINVAL,
                         "\"on\" of a rule must be kernel, op or override, is \"%.*s\"",
                         STR_ARG(on));
    return HALLEY_OK;
}

static uint32_t intern_class(rec_rules *rules, const intern *texts, uint32_t id)
{
    return id == REC_NONE ? REC_NONE
                          : intern_add(&rules->classes, intern_text(texts, id));
}

static halley_status add_rule(rec_rules *rules, const intern *texts, const rule_draft *d,
                              halley_error *err)
{
    rec_rule rule = {.class_id = intern_class(rules, texts, d->class_id),
                     .from = intern_class(rules, texts, d->from),
                     .collective = REC_NONE};
    if (d->match == REC_NONE || d->class_id == REC_NONE)
        return error_set(err, HALLEY_EINVAL, "a rule needs \"match\" and \"class\"");
    TRY(set_rule_kind(
        &rule, d->on == REC_NONE ? STR("kernel") : intern_text(texts, d->on), err));
    if (d->collective != REC_NONE) {
        strbuf name = {0};
        strbuf_printf(&name, "comm.%.*s", STR_ARG(intern_text(texts, d->collective)));
        rule.collective =
            name.failed ? REC_NONE : intern_add(&rules->classes, strbuf_str(&name));
        strbuf_fini(&name);
    }
    const str text = intern_text(texts, d->match);
    TRY(pattern_compile(&rule.match, text, err));
    if (array_push(&rules->rules, rule))
        return HALLEY_OK;
    pattern_free(rule.match);
    return error_nomem(err);
}

static halley_status read_rule(pull_reader *r, rec_rules *rules, halley_error *err)
{
    rule_draft d = {REC_NONE, REC_NONE, REC_NONE, REC_NONE, REC_NONE};
    while (pull_key(r)) {
        const str key = r->json.text;
        uint32_t *const to = PULL_IS(key, "on")           ? &d.on
                             : PULL_IS(key, "match")      ? &d.match
                             : PULL_IS(key, "class")      ? &d.class_id
                             : PULL_IS(key, "from")       ? &d.from
                             : PULL_IS(key, "collective") ? &d.collective
                                                          : NULL;
        const json_token token = json_next(&r->json);
        if (to != NULL && token == JSON_STRING)
            *to = pull_intern(r, token);
        else
            TRY(pull_skip(r, token, err));
    }
    TRY(pull_ended(r, err));
    if (r->no_memory)
        return error_nomem(err);
    const halley_status status = add_rule(rules, r->texts, &d, err);
    if (status == HALLEY_EINVAL)
        return pull_bad(r, err, err != NULL ? err->text : "a rule is wrong");
    return status;
}

static halley_status read_rule_list(pull_reader *r, rec_rules *rules, halley_error *err)
{
    for (;;) {
        const json_token token = json_next(&r->json);
        if (token == JSON_ARRAY_END)
            return HALLEY_OK;
        if (token != JSON_OBJECT)
            return pull_bad(r, err,
                            token == JSON_ERROR ? NULL : "a rule must be an object");
        TRY(read_rule(r, rules, err));
    }
}

static halley_status read_rules(pull_reader *r, rec_rules *rules, halley_error *err)
{
    bool found = false;
    json_token token = json_next(&r->json);
    if (token != JSON_OBJECT)
        return pull_bad(r, err, token == JSON_ERROR ? NULL : "not a file of rules");
    while (pull_key(r)) {
        const bool is_rules = PULL_IS(r->json.text, "rules");
        token = json_next(&r->json);
        if (is_rules && token == JSON_ARRAY) {
            TRY(read_rule_list(r, rules, err));
            found = true;
        } else {
            TRY(pull_skip(r, token, err));
        }
    }
    TRY(pull_ended(r, err));
    return found ? HALLEY_OK : pull_bad(r, err, "a file of rules needs \"rules\": [...]");
}

halley_status rec_rules_read(rec_rules *rules, str text, const char *name,
                             halley_error *err)
{
    intern texts = {0};
    pull_reader r = {.texts = &texts};
    json_open(&r.json, text);
    const halley_status status = read_rules(&r, rules, err);
    strbuf_fini(&r.scratch);
    intern_fini(&texts);
    if (status != HALLEY_OK)
        error_at_file(err, name);
    return status;
}

static halley_status read_rules_file(rec_rules *rules, const char *path,
                                     halley_error *err)
{
    file_input in;
    TRY(file_input_open_most(&in, path, LIMIT_CONFIGURATION, err));
    const halley_status status =
        rec_rules_read(rules, (str){(const char *)in.at, in.n}, path, err);
    file_input_close(&in);
    return status;
}

static bool name_classes(rec_rules *rules)
{
    const struct {
        uint32_t *id;
        const char *name;
    } roles[] = {{&rules->other, "other"},
                 {&rules->sync, "sync"},
                 {&rules->unknown_comm, "comm.unknown"},
                 {&rules->send_recv, "comm.send_recv"},
                 {&rules->copy_h2d, "copy_h2d"},
                 {&rules->copy_d2h, "copy_d2h"},
                 {&rules->copy_d2d, "copy_d2d"},
                 {&rules->copy_p2p, "copy_p2p"},
                 {&rules->set, "memset"},
                 {&rules->elementwise, "elementwise"}};
    bool ok = true;
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        ok &= (*roles[i].id = intern_add(&rules->classes, str_from(roles[i].name))) !=
              HASH_NONE;
    return ok;
}

halley_status rec_rules_init(rec_rules *rules, const char *path, halley_error *err)
{
    *rules = (rec_rules){0};
    if (!name_classes(rules))
        return error_nomem(err);
    if (path != NULL)
        TRY(read_rules_file(rules, path, err));
    return rec_rules_read(rules, str_from(rec_rules_json), "kernel-rules.json", err);
}

void rec_rules_fini(rec_rules *rules)
{
    for (size_t i = 0; i < rules->rules.n; i++)
        pattern_free(rules->rules.at[i].match);
    array_fini(&rules->rules);
    intern_fini(&rules->classes);
}

static uint32_t ask_rules(const rec_rules *rules, rec_rule_on on, str name)
{
    for (size_t i = 0; i < rules->rules.n; i++) {
        const rec_rule *const rule = &rules->rules.at[i];
        if (rule->on == on && pattern_search(rule->match, name))
            return rule->class_id;
    }
    return REC_NONE;
}

uint32_t rec_rules_kernel(const rec_rules *rules, str name)
{
    return ask_rules(rules, RULE_ON_KERNEL, name);
}

uint32_t rec_rules_op(const rec_rules *rules, str name)
{
    return ask_rules(rules, RULE_ON_OP, name);
}

uint32_t rec_rules_comm(rec_rules *rules, const char *type)
{
    char name[64];
    snprintf(name, sizeof name, "comm.%s", type);
    return intern_add(&rules->classes, str_from(name));
}

bool rec_class_is_comm(const rec_rules *rules, uint32_t id)
{
    return id != REC_NONE && str_starts(rec_class_name(rules, id), STR("comm."));
}

/* Like strstr, but ignores - and _ in the name and compares in lower case. */
static bool holds_collective_word(const char *plain, const char *word)
{
    return strstr(plain, word) != NULL;
}

const char *rec_collective_type(str name)
{
    static const char *const types[][2] = {
        {"all_reduce", "allreduce"}, {"reduce_scatter", "reducescatter"},
        {"all_gather", "allgather"}, {"all_to_all", "alltoall"},
        {"broadcast", "broadcast"},  {"send_recv", "send"},
        {"send_recv", "recv"},       {"barrier", "barrier"},
        {"reduce", "reduce"}};
    char plain[256];
    size_t n = 0;
    for (size_t i = 0; i < name.n && n + 1 < sizeof plain; i++)
        if (name.at[i] != '_')
            plain[n++] = (char)(name.at[i] >= 'A' && name.at[i] <= 'Z' ? name.at[i] + 32
                                                                       : name.at[i]);
    plain[n] = '\0';
    for (size_t i = 0; i + 1 < sizeof types / sizeof *types; i++)
        if (holds_collective_word(plain, types[i][1]))
            return types[i][0];
    if (strncmp(plain, "gather", 6) == 0)
        return "gather";
    if (strncmp(plain, "scatter", 7) == 0)
        return "scatter";
    return holds_collective_word(plain, "reduce") ? "reduce" : NULL;
}
