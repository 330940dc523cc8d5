/* Parse the texts of XLA operations (HLO). */
#include "recording/record/hlo.h"

#include <stdlib.h>
#include <string.h>

const char *hlo_category_class(str category)
{
    static const char *const classes[][2] = {
        {"convolution", "matmul"},
        {"convolution fusion", "matmul"},
        {"dot", "matmul"},
        {"all-reduce", "comm.all_reduce"},
        {"all-reduce fusion", "comm.all_reduce"},
        {"all-gather", "comm.all_gather"},
        {"reduce-scatter", "comm.reduce_scatter"},
        {"all-to-all", "comm.all_to_all"},
        {"collective-permute", "comm.send_recv"},
        {"data formatting", "copy_d2d"},
        {"copy", "copy_d2d"},
        {"copy-start", "copy_d2d"},
        {"copy-done", "sync"},
        {"loop fusion", "elementwise"},
        {"output fusion", "elementwise"},
        {"non-fusion elementwise", "elementwise"},
        {"reduce", "reduction"},
        {"sort", "sort"},
        {"gather", "embedding"},
        {"scatter", "embedding"},
        {"rng-bit-generator", "rng"},
        {"while", "skip"},
        {"conditional", "skip"},
        {"call", "skip"},
    };
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (str_eq(category, str_from(classes[i][0])))
            return classes[i][1];
    return NULL;
}

static const char *name_hlo_type(str type)
{
    static const char *const types[][2] = {{"f32", "Float"},
                                           {"bf16", "BFloat16"},
                                           {"f16", "Half"},
                                           {"f64", "Double"},
                                           {"s64", "Long"},
                                           {"u64", "Long"},
                                           {"s32", "Int"},
                                           {"u32", "Int"},
                                           {"s16", "Short"},
                                           {"s8", "Char"},
                                           {"u8", "Byte"},
                                           {"pred", "Bool"},
                                           {"f8e4m3fn", "Float8_e4m3fn"},
                                           {"f8e5m2", "Float8_e5m2"}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (str_eq(type, str_from(types[i][0])))
            return types[i][1];
    return NULL;
}

/* Read one shape such as "bf16[1024,1024]" at the start of *s, and move past it. */
static bool read_shape(str *s, uint64_t *n_elements, const char **dtype)
{
    size_t n = 0;
    while (n < s->n && s->at[n] != '[' && n < 16)
        n++;
    if (n == s->n || s->at[n] != '[')
        return false;
    *dtype = name_hlo_type((str){s->at, n});
    s->at += n + 1, s->n -= n + 1;
    *n_elements = 1;
    while (s->n > 0 && *s->at != ']') {
        uint64_t dim = 0;
        while (s->n > 0 && *s->at >= '0' && *s->at <= '9' && dim < UINT64_MAX / 100) {
            dim = 10 * dim + (uint64_t)(*s->at - '0');
            s->at++, s->n--;
        }
        if (__builtin_mul_overflow(*n_elements, dim, n_elements) || s->n == 0)
            return false;
        if (*s->at != ']' && *s->at != ',')
            return false;
        if (*s->at == ',')
            s->at++, s->n--;
    }
    if (s->n > 0)
        s->at++, s->n--;
    return *dtype != NULL;
}

bool hlo_result(str text, uint64_t *n_elements, const char **dtype)
{
    size_t at = 0;
    while (at + 2 < text.n && !(text.at[at] == '=' && text.at[at + 1] == ' '))
        at++;
    if (at + 2 >= text.n)
        return false;
    str s = {text.at + at + 2, text.n - at - 2};
    const bool tuple = *s.at == '(';
    if (tuple)
        s.at++, s.n--;
    if (!read_shape(&s, n_elements, dtype))
        return false;
    while (tuple && s.n > 0 && *s.at != ')') { /* skip further shapes of the same type */
        uint64_t more;
        const char *type;
        if (*s.at != ' ') {
            s.at++, s.n--;
            continue;
        }
        s.at++, s.n--;
        if (!read_shape(&s, &more, &type) || type != *dtype ||
            __builtin_add_overflow(*n_elements, more, n_elements))
            break;
    }
    return true;
}

static bool read_hlo_number(str *s, uint64_t *value)
{
    size_t n = 0;
    while (n < s->n && n < 18 && s->at[n] >= '0' && s->at[n] <= '9')
        n++;
    if (n == 0 || !str_to_u64((str){s->at, n}, value))
        return false;
    s->at += n, s->n -= n;
    return true;
}

/* Find the list that contains the device in "{0,1},{2,3}}". */
static bool find_listed_group(str s, uint64_t device, strbuf *to)
{
    while (s.n > 0 && *s.at == '{') {
        bool holds = false, any = false;
        s.at++, s.n--;
        to->n = 0;
        strbuf_add_char(to, '[');
        uint64_t member;
        while (read_hlo_number(&s, &member)) {
            strbuf_printf(to, "%s%llu", any ? ", " : "", (unsigned long long)member);
            holds |= member == device;
            any = true;
            if (s.n > 0 && *s.at == ',')
                s.at++, s.n--;
        }
        strbuf_add_char(to, ']');
        if (holds && any)
            return true;
        while (s.n > 0 && (*s.at == '}' || *s.at == ',' || *s.at == ' '))
            s.at++, s.n--;
    }
    return false;
}

/* Find the group in "2,4]<=[8]", which means two groups of four, one after the other. */
static bool find_counted_group(str s, uint64_t device, strbuf *to)
{
    uint64_t n_groups, n_members, total;
    if (!read_hlo_number(&s, &n_groups) || s.n == 0 || *s.at != ',')
        return false;
    s.at++, s.n--;
    if (!read_hlo_number(&s, &n_members) || !str_starts(s, STR("]<=[")))
        return false;
    s.at += 4, s.n -= 4;
    if (!read_hlo_number(&s, &total) || s.n == 0 || *s.at != ']' ||
        (s.n > 1 && s.at[1] == 'T') || n_members == 0 || n_members > 65536 ||
        device >= total)
        return false;
    const uint64_t first = device / n_members * n_members;
    to->n = 0;
    for (uint64_t i = 0; i < n_members; i++)
        strbuf_printf(to, "%s%llu", i > 0 ? ", " : "[", (unsigned long long)first + i);
    strbuf_add_char(to, ']');
    return true;
}

bool hlo_group(str text, uint64_t device, strbuf *to)
{
    static const char key[] = "replica_groups=";
    for (size_t at = 0; at + sizeof key < text.n; at++) {
        if (memcmp(text.at + at, key, sizeof key - 1) != 0)
            continue;
        const str s = {text.at + at + sizeof key, text.n - at - sizeof key};
        return text.at[at + sizeof key - 1] == '{' ? find_listed_group(s, device, to)
                                                   : find_counted_group(s, device, to);
    }
    return false;
}
