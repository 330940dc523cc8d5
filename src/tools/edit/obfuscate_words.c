/*
 * The texts that are kept. What a simulation needs of them is halley's own vocabulary:
 * the class of a kernel decides how it is re-timed, and the type of its elements which
 * peak applies. Any other text in their place is the user's, and is dropped.
 *
 * Linking a recording also writes facts about it into the metadata, as one JSON object.
 * Of that object, only the keys listed here stay, with numbers and words of the same
 * vocabulary. From level sizes on, recorded times are removed as well, because they are
 * exact.
 */
#include "base/json.h"
#include "edit/obfuscate.h"

#include <assert.h>

static const char *const words[] = {
    /* classes of kernels */
    "attention", "comm.all_gather", "comm.all_reduce", "comm.all_to_all", "comm.barrier",
    "comm.broadcast", "comm.combine", "comm.dispatch", "comm.gather", "comm.reduce",
    "comm.reduce_scatter", "comm.scatter", "comm.send_recv", "comm.unknown", "conv",
    "copy_d2d", "copy_d2h", "copy_h2d", "copy_p2p", "elementwise", "embedding", "matmul",
    "memset", "moe", "norm", "optimizer", "other", "reduction", "rng", "softmax", "sort",
    "subgraph", "sync",
    /* types of elements, as PyTorch and NCCL write them */
    "float", "double", "half", "bfloat16", "long", "long int", "int", "short", "char",
    "byte", "bool", "unsigned char", "signed char", "Float", "Double", "Half", "BFloat16",
    "Long", "Int", "Short", "Char", "Byte", "Bool", "c10::Half", "c10::BFloat16",
    "c10::complex<float>", "c10::complex<double>", "Float8_e4m3fn", "Float8_e5m2",
    "Float8_e4m3fnuz", "Float8_e5m2fnuz", "c10::Float8_e4m3fn", "c10::Float8_e5m2",
    "c10::Float8_e4m3fnuz", "c10::Float8_e5m2fnuz", "fp32", "fp16", "bf16", "fp8", "tf32",
    "fp4", "int8",
    /* copies */
    "HtoD", "DtoH", "DtoD", "PtoP", "set"};
enum { N_WORDS = sizeof words / sizeof *words };

/* The keys of the facts that stay. `text`: a text stays as well, if it is a word below
 * or, for "device", unless the device is hidden. */
static const struct {
    const char *name;
    bool is_time; /* removed from level sizes on */
    bool has_text;
} fact_keys[] = {
    {"recording", false, false}, /* the metadata entry itself */
    {"recorded_on", false, false},
    {"device_recording", false, false},
    {"kind", false, true},
    {"device", false, true},
    {"rank", false, false},
    {"world", false, false},
    {"clock_offset_ns", true, false},
    {"recorded_ns", true, false},
    {"replayed_ns", true, false},
    {"late_ns", true, false},
    {"late_unexplained_ns", true, false},
    {"blocking_ns", true, false},
    {"blocking_explained_ns", true, false},
    {"steps", true, false},
    {"number", false, false},
    {"begin_ns", true, false},
    {"end_ns", true, false},
    {"hta", true, false},
    {"device_events", false, false},
    {"kernel_time_us", true, false},
    {"idle_us", true, false},
    {"compute_us", true, false},
    {"non_compute_us", true, false},
    {"idle_share", true, false},
    {"compute_share", true, false},
    {"non_compute_share", true, false},
    {"overlap_pct", true, false},
    {"idle_by_cause_us", true, false},
    {"host_wait", true, false},
    {"kernel_wait", true, false},
    {"other", true, false},
};
enum { N_FACT_KEYS = sizeof fact_keys / sizeof *fact_keys };

/* The kinds of recordings. */
static const char *const kinds[] = {"kineto",    "nsys",          "xplane",
                                    "rocprofv3", "rocprofv3 CSV", "rocpd"};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static bool is_listed(str text, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(text, str_from(list[i])))
            return true;
    return false;
}

bool obfuscate_is_public(str text)
{
    return is_listed(text, words, N_WORDS);
}

str obfuscate_word(uint32_t i)
{
    uint32_t n = 0;
    while (obfuscate_schema_word(n).at)
        n++;
    if (i < n)
        return obfuscate_schema_word(i);
    i -= n;
    if (i < N_WORDS)
        return str_from(words[i]);
    i -= N_WORDS;
    return i < N_FACT_KEYS ? str_from(fact_keys[i].name) : (str){0};
}

typedef struct fact_writer {
    json_reader r;
    strbuf *to;
    const obfuscate_job *job;
} fact_writer;

static bool may_stay(const fact_writer *w, uint32_t key)
{
    return key < N_FACT_KEYS &&
           !(fact_keys[key].is_time && w->job->level >= HALLEY_HIDE_SIZES);
}

static uint32_t find_fact_key(str name)
{
    uint32_t i = 0;
    while (i < N_FACT_KEYS && !str_eq(name, str_from(fact_keys[i].name)))
        i++;
    return i;
}

static void write_fact_text(fact_writer *w, uint32_t key)
{
    const bool is_device =
        key < N_FACT_KEYS && str_eq(str_from(fact_keys[key].name), STR("device"));
    const bool is_shown = is_device ? !w->job->opts->hide_device
                                    : key < N_FACT_KEYS && fact_keys[key].has_text &&
                                          is_listed(w->r.text, kinds, N_KINDS);
    if (is_shown && !w->r.escaped)
        strbuf_json(w->to, w->r.text);
    else
        strbuf_add(w->to, STR("null"));
}

/* Copies the value whose first token was read, without what may not stay. Objects and
 * arrays are kept in step by the depth of the reader, so this does not recurse. */
static bool copy_fact_value(fact_writer *w, json_token token, uint32_t key)
{
    switch (token) {
    case JSON_STRING:
        write_fact_text(w, key);
        return true;
    case JSON_NUMBER:
        strbuf_add(w->to, w->r.text);
        return true;
    case JSON_TRUE:
    case JSON_FALSE:
    case JSON_NULL:
        strbuf_add(w->to, token == JSON_NULL   ? STR("null")
                          : token == JSON_TRUE ? STR("true")
                                               : STR("false"));
        return true;
    default:
        return false;
    }
}

static bool copy_facts(fact_writer *w)
{
    uint32_t key = N_FACT_KEYS;
    bool is_first = true;
    if (json_next(&w->r) != JSON_OBJECT)
        return false;
    strbuf_add_char(w->to, '{');
    while (w->r.depth > 0 && !w->to->failed) {
        json_token token = json_next(&w->r);
        if (token == JSON_ERROR || token == JSON_END)
            return false;
        if (token == JSON_OBJECT_END || token == JSON_ARRAY_END) {
            strbuf_add_char(w->to, token == JSON_OBJECT_END ? '}' : ']');
            is_first = false;
            continue;
        }
        if (token == JSON_KEY) {
            key = find_fact_key(w->r.text);
            token = json_next(&w->r);
            if (!may_stay(w, key)) {
                if (!json_skip(&w->r, token))
                    return false;
                continue;
            }
            strbuf_printf(w->to, "%s\"%s\": ", is_first ? "" : ", ", fact_keys[key].name);
        } else if (!is_first) {
            strbuf_add(w->to, STR(", "));
        }
        is_first = token == JSON_OBJECT || token == JSON_ARRAY;
        if (is_first)
            strbuf_add_char(w->to, token == JSON_OBJECT ? '{' : '[');
        else if (!copy_fact_value(w, token, key))
            return false;
    }
    return true;
}

bool obfuscate_metadata(strbuf *to, str name, str text, const obfuscate_job *job)
{
    assert(to->n == 0);
    if (str_eq(name, STR("recorded_on"))) {
        if (!job->opts->hide_device)
            strbuf_add(to, text);
        return !job->opts->hide_device;
    }
    if (!str_eq(name, STR("recording")) && !str_eq(name, STR("device_recording")))
        return false;
    fact_writer w = {.to = to, .job = job};
    json_open(&w.r, text);
    if (copy_facts(&w))
        return true;
    strbuf_fini(to);
    *to = (strbuf){0};
    return false;
}
