/*
 * What names become. A pseudonym is 80 bits of a keyed hash. The same name has the same
 * pseudonym in all ranks and files that are processed with one key. Without the key, it
 * can only be guessed by trying keys. A class describes only the kind of operator. All
 * classes are shorter than the 8 bytes that a scan searches for.
 */
#include "base/str.h"
#include "edit/obfuscate.h"
#include "trace/core/roles.h"

#include <assert.h>
#include <string.h>

void obfuscate_pseudonym(char to[OBFUSCATE_NAME], siphash_key key, str text)
{
    assert(text.n == 0 || text.at != NULL);
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
    siphash_tag tag = siphash(key, text.at, text.n);
    to[0] = 'x';
    for (int i = 1; i <= 16; i++) {
        to[i] = letters[tag.t[0] & 31];
        tag.t[0] = tag.t[0] >> 5 | tag.t[1] << 59;
        tag.t[1] >>= 5;
    }
    to[17] = '\0';
}

/* Parts of names, in lower case, by operator class. The first match counts. */
static const struct {
    const char *part, *class_name;
} classes[] = {
    {"optimizer", "optim"}, {"adam", "optim"},       {"sgd", "optim"},
    {"update", "optim"},    {"attention", "attn"},   {"attn", "attn"},
    {"flash_fwd", "attn"},  {"flash_bwd", "attn"},   {"softmax", "softmax"},
    {"embedding", "embed"}, {"conv", "conv"},        {"layer_norm", "norm"},
    {"layernorm", "norm"},  {"rmsnorm", "norm"},     {"batch_norm", "norm"},
    {"batchnorm", "norm"},  {"norm", "norm"},        {"gemm", "matmul"},
    {"matmul", "matmul"},   {"linear", "matmul"},    {"addmm", "matmul"},
    {"bmm", "matmul"},      {"::mm", "matmul"},      {"feed-forward", "matmul"},
    {"mlp", "matmul"},      {"query-key", "matmul"}, {"projection", "matmul"},
    {"dropout", "drop"},    {"loss", "loss"},        {"cross_entropy", "loss"},
    {"memcpy", "copy"},     {"copy", "copy"},        {"memset", "set"},
    {"transpose", "copy"},  {"relu", "act"},         {"gelu", "act"},
    {"silu", "act"},        {"swiglu", "act"},       {"sigmoid", "act"},
    {"tanh", "act"},        {"activation", "act"},   {"pool", "pool"},
    {"reduce", "reduce"},   {"sum", "reduce"},       {"elementwise", "elem"},
    {"vectorized", "elem"}, {"add", "elem"},         {"mul", "elem"},
    {"div", "elem"},
};

static str class_of_name(halley_bytes name)
{
    char small[256];
    const size_t n = name.n < sizeof small ? name.n : sizeof small;
    for (size_t i = 0; i < n; i++) {
        const char c = name.at[i];
        small[i] = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
    }
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (str_contains((str){small, n}, str_from(classes[i].part)))
            return str_from(classes[i].class_name);
    return STR("comp");
}

str obfuscate_class(const halley_trace *trace, uint32_t node)
{
    assert(node < halley_trace_count(trace));
    static const char *const kinds[HALLEY_N_NODE_TYPES] = {
        "none", "meta", "load", "store", "comp", "send", "recv", "coll"};
    static const char *const colls[HALLEY_N_COLL_TYPES] = {
        "a-red", "red", "a-gath", "gath",   "scat",
        "bcast", "a2a", "r-scat", "r-scat", "barr"};
    const uint32_t type = halley_node_type_of(trace, node);
    if (type == HALLEY_NODE_COMP)
        return class_of_name(halley_node_name(trace, node));
    if (type == HALLEY_NODE_COLL) {
        trace_roles r;
        uint64_t coll;
        trace_roles_read(&r, trace, node);
        if (trace_roles_u64(&r, TRACE_ROLE_COMM_TYPE, &coll) &&
            coll < HALLEY_N_COLL_TYPES)
            return str_from(colls[coll]);
    }
    return str_from(type < HALLEY_N_NODE_TYPES ? kinds[type] : "none");
}
