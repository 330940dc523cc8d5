/*
 * Plans in words: a file, or one key and its text. Both go through one table of keys. A
 * key that takes several values takes a list in a file, or texts joined by "+".
 */
#include "workload/plan_file.h"

#include "base/conf.h"
#include "halley/plan_keys.h"

#include <stddef.h>
#include <string.h>

static const char *const dtypes[] = {"bf16", "fp16", "fp32", "tf32", "fp8", "fp4", NULL};
static const char *const schedules[] = {"1f1b", "gpipe", NULL};
static const char *const attentions[] = {"flash", "unfused", NULL};
static const char *const classes[] = {"optimizer", "gradients", "weights", "activations",
                                      NULL}; /* in the order of HALLEY_OFFLOAD_ bits */

const char *const workload_recompute_names[HALLEY_N_RECOMPUTE + 1] = {
    "none", "selective", "selective-op", "full", "minimal", "qkv", NULL};

/* A plan and what does not go into it as it stands. */
typedef struct plan_text {
    halley_plan p;
    uint32_t attention;
    str fsdp;
    const conf_node *offload;
} plan_text;

typedef struct key_type {
    conf_type type;
    size_t offset;
    double min, max;
    const char *const *names;
} key_type;

#define AT(member) offsetof(plan_text, member)
#define NUMBER(member, low, high)                                                        \
    {                                                                                    \
        CONF_TYPE_U32, AT(p.member), low, high, NULL                                     \
    }
#define NAME(member, names)                                                              \
    {                                                                                    \
        CONF_TYPE_ENUM, AT(member), 0, 0, names                                          \
    }
#define SWITCH(member)                                                                   \
    {                                                                                    \
        CONF_TYPE_BOOL, AT(p.member), 0, 0, NULL                                         \
    }
static const key_type types[HALLEY_N_PLAN_KEYS] = {
    [HALLEY_KEY_GLOBAL_BATCH] = NUMBER(global_batch, 1, 4e9),
    [HALLEY_KEY_SEQ] = NUMBER(seq, 1, 1e9),
    [HALLEY_KEY_DTYPE] = NAME(p.dtype, dtypes),
    [HALLEY_KEY_TP] = NUMBER(tp, 1, 1e6),
    [HALLEY_KEY_PP] = NUMBER(pp, 1, 1e6),
    [HALLEY_KEY_DP] = NUMBER(dp, 1, 1e8),
    [HALLEY_KEY_CP] = NUMBER(cp, 1, 1e6),
    [HALLEY_KEY_EP] = NUMBER(ep, 1, 1e6),
    [HALLEY_KEY_VIRTUAL] = NUMBER(virtual_stages, 1, 1e4),
    [HALLEY_KEY_MICRO_BATCH] = NUMBER(micro_batch, 1, 1e8),
    [HALLEY_KEY_ZERO] = NUMBER(zero, 0, 3),
    [HALLEY_KEY_FSDP] = {CONF_TYPE_TEXT, AT(fsdp), 0, 0, NULL},
    [HALLEY_KEY_RECOMPUTE] = NAME(p.recompute, workload_recompute_names),
    [HALLEY_KEY_SCHEDULE] = NAME(p.schedule, schedules),
    [HALLEY_KEY_ATTENTION] = NAME(attention, attentions),
    [HALLEY_KEY_SEQUENCE_PARALLEL] = SWITCH(sequence_parallel),
    [HALLEY_KEY_SPREAD] = SWITCH(spread),
    [HALLEY_KEY_NO_OVERLAP] = SWITCH(no_overlap),
    [HALLEY_KEY_OFFLOAD] = {CONF_TYPE_NODE, AT(offload), 0, 0, NULL},
};

#define NAMED(id, key, shown, doc) {key, doc},
static const struct {
    const char *name, *doc;
} keys[] = {HALLEY_PLAN_VALUES(NAMED) HALLEY_PLAN_SWITCHES(NAMED)
                HALLEY_PLAN_LISTS(NAMED)};

static void make_fields(conf_field fields[HALLEY_N_PLAN_KEYS])
{
    for (int i = 0; i < HALLEY_N_PLAN_KEYS; i++)
        fields[i] = (conf_field){.key = keys[i].name,
                                 .type = types[i].type,
                                 .offset = types[i].offset,
                                 .min = types[i].min,
                                 .max = types[i].max,
                                 .names = types[i].names,
                                 .doc = keys[i].doc};
}

static halley_status read_class(uint32_t *bits, const conf_file *file,
                                const conf_node *at, str word, halley_error *err)
{
    for (uint32_t i = 0; classes[i]; i++) {
        if (!str_eq(word, str_from(classes[i])))
            continue;
        *bits |= 1u << i;
        return HALLEY_OK;
    }
    return conf_error(file, at, err, HALLEY_EINVAL,
                      "offload takes optimizer, gradients, weights or activations, not "
                      "\"%.*s\"",
                      STR_ARG(word));
}

static halley_status read_offload(halley_plan *plan, const conf_file *file,
                                  const conf_node *node, halley_error *err)
{
    const uint32_t n = node->kind == CONF_LIST ? node->n : 1;
    for (uint32_t i = 0; i < n; i++) {
        const conf_node *one = node->kind == CONF_LIST ? node->items[i] : node;
        str rest = one->text, word;
        if (one->kind != CONF_SCALAR)
            return conf_error(file, one, err, HALLEY_EINVAL,
                              "offload wants names of classes here");
        if (str_eq(rest, STR("none")))
            continue;
        while (str_next(&rest, '+', &word))
            TRY(read_class(&plan->offload, file, one, str_trim(word), err));
    }
    return HALLEY_OK;
}

static halley_status read_fsdp(halley_plan *plan, const conf_file *file, str text,
                               halley_error *err)
{
    uint64_t n;
    if (str_eq(text, STR("all"))) {
        plan->fsdp = HALLEY_FSDP_ALL;
        return HALLEY_OK;
    }
    if (!str_to_u64(text, &n) || n > 100000000)
        return conf_error(file, NULL, err, HALLEY_EINVAL,
                          "fsdp wants a number of ranks or \"all\", not \"%.*s\"",
                          STR_ARG(text));
    plan->fsdp = (uint32_t)n;
    return HALLEY_OK;
}

static halley_status read_keys(halley_plan *plan, const conf_file *file,
                               halley_error *err)
{
    conf_field fields[HALLEY_N_PLAN_KEYS];
    plan_text t = {.p = *plan, .attention = plan->unfused_attention};
    make_fields(fields);
    TRY(conf_read(&t, file, file->root, fields, HALLEY_N_PLAN_KEYS, true, NULL, err));
    t.p.unfused_attention = t.attention == 1;
    if (t.fsdp.n)
        TRY(read_fsdp(&t.p, file, t.fsdp, err));
    if (t.offload)
        TRY(read_offload(&t.p, file, t.offload, err));
    *plan = t.p;
    return HALLEY_OK;
}

void halley_plan_default(halley_plan *out)
{
    *out = (halley_plan){.zero = 1, .sequence_parallel = true};
}

halley_status halley_plan_set(halley_plan *plan, halley_plan_key key, const char *text,
                              halley_error *err)
{
    conf_node value = {.kind = CONF_SCALAR, .text = str_from(text)};
    conf_node *items[] = {&value};
    str names[] = {str_from(keys[key].name)};
    conf_node root = {.kind = CONF_MAP, .n = 1, .keys = names, .items = items};
    return read_keys(plan, &(conf_file){.path = "", .root = &root}, err);
}

halley_status halley_plan_load(halley_plan *plan, uint64_t *given, const char *path,
                               halley_error *err)
{
    conf_file file;
    TRY(conf_load(&file, path, err));
    const halley_status status = read_keys(plan, &file, err);
    for (int i = 0; status == HALLEY_OK && given && i < HALLEY_N_PLAN_KEYS; i++)
        *given |= (uint64_t)(conf_find(file.root, keys[i].name) != NULL) << i;
    conf_fini(&file);
    return status;
}
