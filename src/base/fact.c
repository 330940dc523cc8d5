/* The values of rows. No function here knows a key. */
#include "base/fact.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

static const struct {
    const char *name, *suffix;
    units_kind kind;
} units[FACT_N_UNITS] = {
    [FACT_NO_UNIT] = {"", "", UNITS_COUNT},
    [FACT_SHARE] = {"", "", UNITS_SHARE},
    [FACT_SECONDS] = {"s", "_s", UNITS_TIME},
    [FACT_BYTES] = {"B", "_bytes", UNITS_BYTES},
    [FACT_PER_SECOND] = {"1/s", "_per_s", UNITS_COUNT},
    [FACT_FLOP] = {"FLOP", "_flops", UNITS_COUNT},
    [FACT_FLOP_PER_SECOND] = {"FLOP/s", "_flops_per_s", UNITS_FLOPS},
    [FACT_JOULES] = {"J", "_J", UNITS_ENERGY},
    [FACT_WATTS] = {"W", "_W", UNITS_POWER},
    [FACT_USD] = {"USD", "_usd", UNITS_MONEY},
    [FACT_HOURS] = {"h", "_hours", UNITS_COUNT},
};

const char *fact_unit_name(fact_unit unit)
{
    assert(unit < FACT_N_UNITS);
    return units[unit].name;
}

const char *fact_unit_suffix(fact_unit unit)
{
    assert(unit < FACT_N_UNITS);
    return units[unit].suffix;
}

units_kind fact_unit_kind(fact_unit unit)
{
    assert(unit < FACT_N_UNITS);
    return units[unit].kind;
}

const char *fact_key(char to[64], const fact *f)
{
    size_t i = 0;
    for (; i < 63 && f->key[i] != '\0'; i++)
        to[i] = f->key[i] == '-' ? '_' : f->key[i];
    to[i] = '\0';
    return to;
}

static const void *find_member(const fact *f, const void *from)
{
    return (const char *)from + f->at;
}

bool fact_is_number(const fact *f)
{
    return f->kind == FACT_REAL || f->kind == FACT_U32 || f->kind == FACT_U64 ||
           f->kind == FACT_FLAG;
}

/* The number of a choice; a bool has two. */
static uint32_t get_choice(const fact *f, const void *from)
{
    const void *at = find_member(f, from);
    assert(f->size == sizeof(bool) || f->size == sizeof(uint32_t));
    return f->size == sizeof(bool) ? *(const bool *)at : *(const uint32_t *)at;
}

double fact_number(const fact *f, const void *from)
{
    const void *at = find_member(f, from);
    switch (f->kind) {
    case FACT_CHOICE:
        return get_choice(f, from);
    case FACT_OWN:
        return f->get != NULL ? f->get(from) : 0;
    case FACT_BITS:
    case FACT_U32:
        return *(const uint32_t *)at;
    case FACT_U64:
        return (double)*(const uint64_t *)at;
    case FACT_FLAG:
        return *(const bool *)at;
    default:
        assert(f->kind == FACT_REAL);
        return f->get != NULL ? f->get(from) : *(const double *)at;
    }
}

const char *fact_text(const fact *f, const void *from)
{
    if (f->kind == FACT_CHOICE)
        return f->words[get_choice(f, from)];
    if (f->kind == FACT_TEXT)
        return f->text != NULL ? f->text(from)
                               : *(const char *const *)find_member(f, from);
    assert(f->kind == FACT_NAME);
    const char *name = find_member(f, from);
    return name[0] != '\0' ? name : NULL;
}

static void print_bits(strbuf *to, const fact *f, uint32_t bits)
{
    const char *before = "[";
    for (uint32_t i = 0; f->words[i] != NULL; i++) {
        if ((bits >> i & 1) == 0)
            continue;
        strbuf_printf(to, "%s\"%s\"", before, f->words[i]);
        before = ", ";
    }
    if (bits != 0)
        strbuf_add_char(to, ']');
}

/* A number out of the range of an input is not set. */
static void print_whole(strbuf *to, const fact *f, uint32_t value)
{
    if (f->all != NULL && value == UINT32_MAX)
        strbuf_json(to, str_from(f->all));
    else if (f->max <= f->min || (value >= f->min && value <= f->max))
        strbuf_printf(to, "%" PRIu32, value);
}

void fact_print(strbuf *to, const fact *f, const void *from)
{
    switch (f->kind) {
    case FACT_REAL:
        if (isfinite(fact_number(f, from)))
            strbuf_double(to, fact_number(f, from));
        break;
    case FACT_U32:
        print_whole(to, f, *(const uint32_t *)find_member(f, from));
        break;
    case FACT_U64:
        strbuf_printf(to, "%" PRIu64, *(const uint64_t *)find_member(f, from));
        break;
    case FACT_FLAG:
        strbuf_add(to, fact_number(f, from) > 0 ? STR("true") : STR("false"));
        break;
    case FACT_TEXT:
    case FACT_NAME:
    case FACT_CHOICE:
        if (fact_text(f, from) != NULL)
            strbuf_json(to, str_from(fact_text(f, from)));
        break;
    case FACT_BITS:
        print_bits(to, f, *(const uint32_t *)find_member(f, from));
        break;
    case FACT_OWN:
        f->print(to, f, from);
        break;
    default:
        break;
    }
}

const void *fact_inside(const fact *f, const void *from)
{
    const void *at = find_member(f, from);
    switch (f->kind) {
    case FACT_GROUP:
    case FACT_INLINE:
        return at;
    case FACT_OBJECT:
    case FACT_CHAIN:
        return *(const void *const *)at;
    default:
        assert(f->kind == FACT_LIST);
        return ((const fact_list *)at)->n > 0 ? ((const fact_list *)at)->at : NULL;
    }
}

const void *fact_next(const fact *f, const void *from, const void *item)
{
    if (f->kind == FACT_CHAIN)
        return *(const void *const *)(const void *)((const char *)item + f->next);
    assert(f->kind == FACT_LIST);
    const fact_list *list = find_member(f, from);
    const size_t size = f->of != NULL ? f->of->size : sizeof(const char *);
    const char *next = (const char *)item + size;
    return next < (const char *)list->at + list->n * size ? next : NULL;
}

/* The part of a path after "parts_s."; false if it does not start so. */
static bool skip_prefix(str *path, const fact *f)
{
    char key[64];
    const str prefix = str_from(fact_key(key, f));
    if (!str_starts(*path, prefix) || path->n <= prefix.n || path->at[prefix.n] != '.')
        return false;
    *path = (str){path->at + prefix.n + 1, path->n - prefix.n - 1};
    return true;
}

const fact *fact_find_number(const void **at, const fact_table *t, const void *from,
                             str path)
{
    char key[64];
    for (const fact *f = t->rows; f->key != NULL; f++) {
        str rest = path;
        if (fact_is_number(f) && str_eq(path, str_from(fact_key(key, f)))) {
            *at = from;
            return f;
        }
        const bool is_inside =
            f->kind == FACT_INLINE ||
            ((f->kind == FACT_GROUP || f->kind == FACT_OBJECT) && skip_prefix(&rest, f));
        const void *inside = is_inside ? fact_inside(f, from) : NULL;
        const fact *found =
            inside != NULL ? fact_find_number(at, f->of, inside, rest) : NULL;
        if (found != NULL)
            return found;
    }
    return NULL;
}

size_t fact_tables(const fact_table **tables, size_t n, size_t size, const fact_table *t)
{
    for (size_t i = 0; i < n; i++)
        if (tables[i] == t)
            return n;
    if (n == size)
        return n;
    tables[n++] = t;
    for (const fact *f = t->rows; f->key != NULL; f++) {
        if (f->of == NULL)
            continue;
        const size_t before = n;
        n = fact_tables(tables, n, size, f->of);
        if (f->kind == FACT_INLINE && n > before) { /* this table has its rows */
            memmove(&tables[before], &tables[before + 1],
                    (n - before - 1) * sizeof *tables);
            n--;
        }
    }
    return n;
}
