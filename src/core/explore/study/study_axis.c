/*
 * Axes: lists, ranges, divisors, powers of two, presets, tied rows. Values that depend on
 * other parameters (powers of two up to the NPUs, divisors of the layers) are computed
 * when all other axes are known.
 */
#include "base/array.h"
#include "base/number/number.h"
#include "base/number/whole.h"
#include "explore/study/study.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_VALUES = 100000, CONTINUOUS = 4097 };

typedef ARRAY(double) numbers;

static const char *const scales[] = {"linear", "log", "powers-of-two", "divisors", NULL};

typedef struct range_text {
    const conf_node *from, *to, *step;
    const conf_node *of;
    uint32_t points, scale;
} range_text;

#define NODE(key, member, doc, default_, example)                                        \
    CONF_FIELD_SHOWN(range_text, key, CONF_TYPE_NODE, UNITS_COUNT, member, false, doc,   \
                     default_, example)
const conf_field explore_range_fields[] = {
    NODE("from", from, "smallest value", NULL, "25 GB/s"),
    NODE("to", to, "largest value", NULL, "100 GB/s"),
    NODE("step", step, "distance between values, on a linear scale", "none", "25 GB/s"),
    NODE("of", of, "number or parameter whose divisors are used", "none", "plan.dp"),
    {.key = "points",
     .type = CONF_TYPE_U32,
     .offset = offsetof(range_text, points),
     .min = 1,
     .max = 1e5,
     .doc = "number of values; without it the range is continuous, for searches",
     .by_default = "continuous",
     .example = "8"},
    {.key = "scale",
     .type = CONF_TYPE_ENUM,
     .offset = offsetof(range_text, scale),
     .names = scales,
     .doc = "spacing of the values",
     .by_default = "linear"},
};
const size_t explore_n_range_fields =
    sizeof explore_range_fields / sizeof *explore_range_fields;

static halley_status new_axis(explore_axis **out, halley_study *s, str name,
                              const conf_node *node, uint32_t n_refs, halley_error *err)
{
    assert(n_refs > 0);
    assert(s->n_axes <= HALLEY_MAX_AXES);
    if (s->n_axes == HALLEY_MAX_AXES)
        return conf_error(&s->file, node, err, HALLEY_ELIMIT,
                          "more than %d parameters vary", HALLEY_MAX_AXES);
    explore_axis *a = &s->axes[s->n_axes];
    *a = (explore_axis){.n_refs = n_refs};
    a->seen.name = arena_copy(&s->memory, name);
    a->refs = arena_array(&s->memory, n_refs, sizeof *a->refs);
    if (!a->seen.name || !a->refs)
        return error_nomem(err);
    s->n_axes++;
    *out = a;
    return HALLEY_OK;
}

static halley_status make_room(explore_axis *a, halley_study *s, size_t n,
                               halley_error *err)
{
    assert(n > 0 && a->n_refs > 0);
    a->values = arena_array(&s->memory, n * a->n_refs, sizeof *a->values);
    a->seen.texts = arena_array(&s->memory, n, sizeof *a->seen.texts);
    a->seen.numbers = arena_array(&s->memory, n, sizeof *a->seen.numbers);
    a->seen.n = (uint32_t)n;
    return a->values && a->seen.texts && a->seen.numbers ? HALLEY_OK : error_nomem(err);
}

static bool has_numbers(const explore_axis *a)
{
    const param_kind k = a->refs[0].param.kind;
    return a->n_refs == 1 && k != PARAM_ENUM && k != PARAM_BITS && k != PARAM_BOOL &&
           !explore_param_whole(&a->refs[0].param);
}

static void show_values(explore_axis *a)
{
    assert(a->n_refs > 0);
    for (uint32_t i = 0; i < a->seen.n; i++) {
        a->seen.texts[i] = a->values[i].text;
        a->seen.numbers[i] = a->values[i].number;
    }
    a->whole = explore_param_whole(&a->refs[0].param);
    bool plain = has_numbers(a);
    for (uint32_t i = 0; i < a->seen.n && plain; i++)
        plain = !isnan(a->values[i].number); /* keys of files may have any value */
    if (!plain)
        a->seen.numbers = NULL;
}

static halley_status from_numbers(explore_axis *a, halley_study *s, const numbers *list,
                                  const conf_node *node, halley_error *err)
{
    assert(list->n > 0);
    if (list->n == 0)
        return conf_error(&s->file, node, err, HALLEY_EINVAL,
                          "%s has no values: the space is empty", a->seen.name);
    TRY(make_room(a, s, list->n, err));
    for (size_t i = 0; i < list->n; i++) {
        if (!explore_value_number(&a->values[i], &s->memory, &a->refs[0], list->at[i]))
            return error_nomem(err);
    }
    show_values(a);
    return HALLEY_OK;
}

/* Compare by text and number, then by place; values without a number have NaN. */
static int compare_values(const void *x, const void *y, void *values)
{
    const explore_value *const all = values;
    const uint32_t i = *(const uint32_t *)x, j = *(const uint32_t *)y;
    const int by_text = strcmp(all[i].text, all[j].text);
    if (by_text != 0)
        return by_text;
    if (all[i].number != all[j].number && !isnan(all[i].number) && !isnan(all[j].number))
        return all[i].number < all[j].number ? -1 : 1;
    return i < j ? -1 : i > j;
}

/* Refuse duplicate values; the error names the first. In sorted order, equal values are
 * neighbours. */
static halley_status refuse_twice(const explore_axis *a, halley_study *s,
                                  const conf_node *node, halley_error *err)
{
    const explore_value *const v = a->values;
    uint32_t *const order = mem_array(node->n, sizeof *order);
    uint32_t twice = UINT32_MAX;
    if (order == NULL)
        return error_nomem(err);
    for (uint32_t i = 0; i < node->n; i++)
        order[i] = i;
    qsort_r(order, node->n, sizeof *order, compare_values, (void *)(uintptr_t)v);
    for (uint32_t k = 1; k < node->n; k++) {
        const uint32_t i = order[k - 1], j = order[k];
        if (strcmp(v[i].text, v[j].text) == 0 && v[j].object == NULL &&
            v[i].number == v[j].number && j < twice)
            twice = j;
    }
    free(order);
    if (twice == UINT32_MAX)
        return HALLEY_OK;
    return conf_error(&s->file, node->items[twice], err, HALLEY_EINVAL,
                      "%s has the value %s twice", a->seen.name, v[twice].text);
}

static halley_status read_list(explore_axis *a, halley_study *s, const conf_node *node,
                               halley_error *err)
{
    assert(a->n_refs == 1);
    if (node->n == 0)
        return conf_error(&s->file, node, err, HALLEY_EINVAL,
                          "%s has no values: the space is empty", a->seen.name);
    TRY(make_room(a, s, node->n, err));
    for (uint32_t i = 0; i < node->n; i++) {
        TRY(explore_value_read(&a->values[i], &s->loader, &a->refs[0], node->items[i],
                               err));
    }
    TRY(refuse_twice(a, s, node, err));
    show_values(a);
    return HALLEY_OK;
}

/* Read all presets of a kind, or all names of an enumeration. */
static halley_status read_all(explore_axis *a, halley_study *s, const conf_node *node,
                              halley_error *err)
{
    static const char *const folders[] = {
        [PARAM_MODEL] = "models", [PARAM_CLUSTER] = "clusters", [PARAM_NPU] = "npus",
        [PARAM_UP] = "links",     [PARAM_OUT] = "fabrics",      [PARAM_STACK] = "stacks"};
    const explore_param *p = &a->refs[0].param;
    const bool whole = explore_param_whole(p);
    if (!whole && p->kind != PARAM_ENUM && p->kind != PARAM_BOOL)
        return conf_error(&s->file, node, err, HALLEY_EINVAL,
                          "%s has no list of all values: give values or a range",
                          p->path);
    char name[HALLEY_NAME];
    uint32_t n = 0;
    if (whole) {
        while (halley_preset_name(name, sizeof name, folders[p->kind], n))
            n++;
    } else if (p->kind == PARAM_BOOL) {
        n = 2;
    } else {
        while (p->names[n])
            n++;
    }
    TRY(make_room(a, s, n, err));
    for (uint32_t i = 0; i < n; i++) {
        conf_node one = *node;
        if (whole)
            halley_preset_name(name, sizeof name, folders[p->kind], i);
        one.text = whole                   ? str_from(name)
                   : p->kind == PARAM_BOOL ? (i ? STR("yes") : STR("no"))
                                           : str_from(p->names[i]);
        TRY(explore_value_read(&a->values[i], &s->loader, &a->refs[0], &one, err));
    }
    show_values(a);
    return HALLEY_OK;
}

/* True if a change of this axis must set the whole design again. */
static bool resets_design(const explore_axis *a)
{
    bool yes = a->whole;
    for (uint32_t r = 0; r < a->n_refs; r++) {
        yes = yes || explore_param_scales(&a->refs[r].param);
        for (uint32_t i = 0; i < a->seen.n; i++)
            yes = yes || !a->values[(size_t)i * a->n_refs + r].text;
    }
    return yes;
}

/* Tied parameters: [{name: GPU, cluster: dgx-a100, plan.tp: 8}, ...]. */
static halley_status tied_refs(explore_axis *a, halley_study *s, const conf_node *list,
                               halley_error *err)
{
    for (uint32_t i = 0; i < list->n; i++) {
        const conf_node *row = list->items[i];
        if (row->kind != CONF_MAP)
            return conf_error(&s->file, row, err, HALLEY_EFORMAT,
                              "every row of %s must be a map of parameters",
                              a->seen.name);
        for (uint32_t k = 0; k < row->n; k++) {
            explore_ref ref;
            if (str_eq(row->keys[k], STR("name")))
                continue;
            TRY(explore_ref_read(&ref, s, row->keys[k], row->items[k], err));
            uint32_t j = 0;
            while (j < a->n_refs && (!explore_param_is(&a->refs[j].param, &ref.param) ||
                                     a->refs[j].constant != ref.constant ||
                                     strcmp(a->refs[j].tier, ref.tier) != 0))
                j++;
            if (j == a->n_refs)
                a->refs[a->n_refs++] = ref;
            a->whole = a->whole || explore_param_whole(&ref.param);
        }
    }
    return HALLEY_OK;
}

static halley_status tied_row(explore_axis *a, halley_study *s, uint32_t i,
                              const conf_node *row, halley_error *err)
{
    assert(i < a->seen.n);
    strbuf label = {0};
    halley_status status = HALLEY_OK;
    const conf_node *name = conf_find(row, "name");
    if (name)
        strbuf_add(&label, name->text);
    for (uint32_t k = 0; k < row->n && status == HALLEY_OK; k++) {
        explore_ref ref;
        if (row->items[k] == name)
            continue;
        status = explore_ref_read(&ref, s, row->keys[k], row->items[k], err);
        uint32_t j = 0;
        while (status == HALLEY_OK && (!explore_param_is(&a->refs[j].param, &ref.param) ||
                                       a->refs[j].constant != ref.constant ||
                                       strcmp(a->refs[j].tier, ref.tier) != 0))
            j++;
        explore_value *v = &a->values[i * a->n_refs + j];
        if (status == HALLEY_OK)
            status = explore_value_read(v, &s->loader, &ref, row->items[k], err);
        if (status == HALLEY_OK && !name)
            strbuf_printf(&label, "%s%.*s %s", label.n ? ", " : "", STR_ARG(row->keys[k]),
                          v->text);
    }
    a->seen.texts[i] = arena_copy(&s->memory, strbuf_str(&label));
    if (status == HALLEY_OK && (label.failed || !a->seen.texts[i]))
        status = error_nomem(err);
    strbuf_fini(&label);
    return status;
}

static halley_status read_tied(halley_study *s, str key, const conf_node *list,
                               halley_error *err)
{
    explore_axis *a;
    uint32_t most = 0;
    for (uint32_t i = 0; i < list->n; i++)
        most += list->items[i]->n;
    TRY(new_axis(&a, s, key, list, most ? most : 1, err));
    a->n_refs = 0;
    TRY(tied_refs(a, s, list, err));
    if (a->n_refs == 0)
        return conf_error(&s->file, list, err, HALLEY_EINVAL, "%.*s sets no parameter",
                          STR_ARG(key));
    TRY(make_room(a, s, list->n, err));
    a->seen.numbers = NULL;
    for (uint32_t i = 0; i < list->n; i++)
        TRY(tied_row(a, s, i, list->items[i], err));
    return HALLEY_OK;
}

static halley_status read_axis_bound(double *out, halley_study *s, const explore_ref *ref,
                                     const conf_node *node, halley_error *err)
{
    assert(ref->param.path[0] != '\0');
    explore_value v;
    if (!node)
        return HALLEY_OK;
    TRY(explore_value_read(&v, &s->loader, ref, node, err));
    *out = v.number;
    return HALLEY_OK;
}

/* Powers have rounding errors in the last digits: 1024000000000.0002. */
static double twelve_digits(double x)
{
    char text[40];
    double out = x;
    snprintf(text, sizeof text, "%s", number_digits(x, 12).at);
    return number_read(str_from(text), &out) ? out : x;
}

static halley_status add_spaced(numbers *to, double from, double last, uint32_t n,
                                bool log_scale, bool whole, halley_error *err)
{
    assert(n > 0);
    for (uint32_t i = 0; i < n; i++) {
        const double share = n > 1 ? (double)i / (n - 1) : 0;
        double x =
            log_scale ? from * pow(last / from, share) : from + share * (last - from);
        if (i + 1 == n && n > 1)
            x = last;
        x = whole ? round(x) : twelve_digits(x);
        if (to->n && to->at[to->n - 1] == x)
            continue;
        if (!array_push(to, x))
            return error_nomem(err);
    }
    return HALLEY_OK;
}

/* The values of a parameter: its fixed one and those of its axes. */
static bool values_of(numbers *to, const halley_study *s, const char *path)
{
    explore_ref ref;
    if (!explore_ref_find(&ref, str_from(path), NULL))
        return true;
    const double fixed = explore_get(&s->base, &ref);
    if (fixed > 0 && !array_push(to, fixed))
        return false;
    for (uint32_t i = 0; i < s->n_axes; i++) {
        const explore_axis *a = &s->axes[i];
        for (uint32_t v = 0; v < a->seen.n * a->n_refs && a->values; v++) {
            const explore_ref *r = &a->refs[v % a->n_refs];
            const explore_value *value = &a->values[v];
            double x = 0;
            if (explore_param_is(&r->param, &ref.param) && value->text)
                x = value->number;
            if (r->param.kind == PARAM_CLUSTER && strcmp(path, "cluster.npus") == 0)
                x = value->n_npus;
            if (r->param.kind == PARAM_MODEL && value->object) {
                explore_design d = {.model = *(const halley_model *)value->object};
                x = explore_get(&d, &ref);
            }
            if (x > 0 && !array_push(to, x))
                return false;
        }
    }
    return true;
}

/* The parameter that a degree must divide, or that limits it. */
static const char *nature_of(const explore_param *p, bool divisors)
{
    static const char *const rows[][3] = {
        /* path, divides, reaches */
        {"plan.tp", "cluster.npus", "cluster.npus"},
        {"plan.dp", "cluster.npus", "cluster.npus"},
        {"plan.cp", "cluster.npus", "cluster.npus"},
        {"plan.pp", "model.layers", "model.layers"},
        {"plan.virtual", "model.layers", "model.layers"},
        {"plan.ep", "model.experts", "model.experts"},
        {"plan.micro-batch", "plan.global-batch", "plan.global-batch"},
        {"plan.fsdp", "cluster.npus", "cluster.npus"},
        {"cluster.nodes.npus", "cluster.npus", "cluster.npus"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i][0], p->path) == 0)
            return rows[i][divisors ? 1 : 2];
    }
    return NULL;
}

static bool add_divisors(numbers *to, double of)
{
    assert(of >= 1);
    const uint64_t n = of >= 1 && of < 1e12 ? (uint64_t)of : 0;
    for (uint64_t d = 1; d * d <= n; d++) {
        const uint64_t other = n / d;
        if (n % d == 0 && (!array_push(to, (double)d) || !array_push(to, (double)other)))
            return false;
    }
    return true;
}

static bool add_powers(numbers *to, double most)
{
    assert(most >= 1);
    for (double x = 1; x <= most && x < 1e15; x *= 2) {
        if (!array_push(to, x))
            return false;
    }
    return true;
}

/* Sort, remove duplicates, and keep values within bounds. */
static void tidy_numbers(numbers *list, double from, double to)
{
    size_t n = 0;
    mem_sort_doubles(list->at, list->n);
    for (size_t i = 0; i < list->n; i++) {
        const double x = list->at[i];
        if (x >= from && x <= to && (n == 0 || list->at[n - 1] != x))
            list->at[n++] = x;
    }
    list->n = n;
}

static halley_status base_values(numbers *out, halley_study *s, const explore_axis *a,
                                 const conf_node *of, bool divisors, double to,
                                 halley_error *err)
{
    const char *path = nature_of(&a->refs[0].param, divisors);
    double number;
    if (of && of->kind == CONF_SCALAR && number_read(of->text, &number))
        return array_push(out, number) ? HALLEY_OK : error_nomem(err);
    if (of && of->kind == CONF_SCALAR) {
        explore_ref ref;
        TRY(explore_ref_read(&ref, s, of->text, of, err));
        path = ref.param.path;
    }
    if (!divisors && to < 1e15)
        return array_push(out, to) ? HALLEY_OK : error_nomem(err);
    if (path && !values_of(out, s, path))
        return error_nomem(err);
    if (out->n == 0)
        return conf_error(&s->file, a->later, err, HALLEY_EINVAL,
                          "%s: say up to what, as in {from: 1, to: 64, scale: "
                          "powers-of-two}%s%s%s",
                          a->seen.name, path ? ", or give " : "", path ? path : "",
                          path ? " a value" : "");
    return HALLEY_OK;
}

static halley_status fill_later(numbers *out, halley_study *s, explore_axis *a,
                                const range_text *r, bool divisors, halley_error *err)
{
    assert(r != NULL);
    double from = 1, to = 1e15;
    numbers bases = {0};
    halley_status status = read_axis_bound(&from, s, &a->refs[0], r->from, err);
    if (status == HALLEY_OK)
        status = read_axis_bound(&to, s, &a->refs[0], r->to, err);
    if (status == HALLEY_OK)
        status = base_values(&bases, s, a, r->of, divisors, to, err);
    for (size_t i = 0; i < bases.n && status == HALLEY_OK; i++) {
        if (!(divisors ? add_divisors(out, bases.at[i]) : add_powers(out, bases.at[i])))
            status = error_nomem(err);
    }
    array_fini(&bases);
    tidy_numbers(out, from, to);
    return status;
}

static halley_status read_range(numbers *out, explore_axis *a, halley_study *s,
                                const range_text *r, const conf_node *node,
                                halley_error *err)
{
    assert(a->n_refs == 1);
    const explore_ref *ref = &a->refs[0];
    double from = NAN, to = NAN, step = NAN;
    TRY(read_axis_bound(&from, s, ref, r->from, err));
    TRY(read_axis_bound(&to, s, ref, r->to, err));
    TRY(read_axis_bound(&step, s, ref, r->step, err));
    if (!(from <= to))
        return conf_error(&s->file, node, err, HALLEY_EINVAL,
                          "the range of %s needs from and to, from not above to",
                          a->seen.name);
    const bool log_scale = r->scale == 1;
    if (log_scale && from <= 0)
        return conf_error(&s->file, node, err, HALLEY_EINVAL,
                          "the logarithmic range of %s must start above 0", a->seen.name);
    uint32_t n = r->points;
    if (step > 0 && !n) {
        if ((to - from) / step > MOST_VALUES)
            return conf_error(&s->file, node, err, HALLEY_ELIMIT,
                              "%s has more than %d values", a->seen.name, MOST_VALUES);
        n = whole_u32(floor((to - from) / step * (1 + 1e-12))) + 1;
        to = from + (n - 1) * step;
    }
    const bool whole = ref->param.kind == PARAM_U32;
    if (!n && whole && to - from < MOST_VALUES)
        n = whole_u32(to - from) + 1;
    a->seen.log = log_scale;
    return add_spaced(out, from, to, n ? n : CONTINUOUS, log_scale, whole, err);
}

static halley_status read_map(explore_axis *a, halley_study *s, const conf_node *node,
                              halley_error *err)
{
    range_text r = {0};
    numbers list = {0};
    TRY(conf_read(&r, &s->file, node, explore_range_fields, explore_n_range_fields, true,
                  NULL, err));
    if (a->n_refs != 1 || !has_numbers(a))
        return conf_error(&s->file, node, err, HALLEY_EINVAL,
                          "%s has no ranges: list its values", a->seen.name);
    const bool divisors = r.scale == 3 || r.of;
    halley_status status = divisors || r.scale == 2
                               ? fill_later(&list, s, a, &r, divisors, err)
                               : read_range(&list, a, s, &r, node, err);
    if (divisors || r.scale == 2)
        a->seen.log = true;
    if (status == HALLEY_OK)
        status = from_numbers(a, s, &list, node, err);
    array_fini(&list);
    return status;
}

/* Read a word that means many values. */
static halley_status read_word(explore_axis *a, halley_study *s, const conf_node *node,
                               halley_error *err)
{
    const bool divisors = str_eq(node->text, STR("divisors"));
    if (divisors || str_eq(node->text, STR("powers-of-two"))) {
        const range_text r = {0};
        numbers list = {0};
        if (!has_numbers(a))
            return conf_error(&s->file, node, err, HALLEY_EINVAL,
                              "%s is no number: list its values", a->seen.name);
        halley_status status = fill_later(&list, s, a, &r, divisors, err);
        a->seen.log = true;
        if (status == HALLEY_OK)
            status = from_numbers(a, s, &list, node, err);
        array_fini(&list);
        return status;
    }
    if (str_eq(node->text, STR("presets")) || str_eq(node->text, STR("all")))
        return read_all(a, s, node, err);
    conf_node *items[1] = {(conf_node *)(uintptr_t)node};
    const conf_node one = {.kind = CONF_LIST, .n = 1, .items = items, .line = node->line};
    return read_list(a, s, &one, err);
}

static bool needs_others(const conf_node *node)
{
    if (node->kind == CONF_SCALAR)
        return str_eq(node->text, STR("divisors")) ||
               str_eq(node->text, STR("powers-of-two"));
    const conf_node *scale = node->kind == CONF_MAP ? conf_find(node, "scale") : NULL;
    return node->kind == CONF_MAP &&
           (conf_find(node, "of") ||
            (scale && (str_eq(scale->text, STR("divisors")) ||
                       str_eq(scale->text, STR("powers-of-two")))));
}

/* The text after = of a value that depends on another one; empty if it is no such
 * value. */
static str get_source(const conf_node *node)
{
    if (node->kind == CONF_LIST && node->n == 1)
        node = node->items[0];
    if (node->kind != CONF_SCALAR || !str_starts(node->text, STR("=")))
        return (str){"", 0};
    return str_trim((str){node->text.at + 1, node->text.n - 1});
}

/* Refuse cycles such as tp from pp, and pp from tp. */
static halley_status refuse_circle(const halley_study *s, str key, const conf_node *node,
                                   halley_error *err)
{
    const conf_node *vary = conf_find(s->file.root, "vary");
    const str source = get_source(node);
    for (uint32_t i = 0; vary != NULL && source.n > 0 && i < vary->n; i++)
        if (str_eq(vary->keys[i], source) && str_eq(get_source(vary->items[i]), key))
            return conf_error(&s->file, node, err, HALLEY_EINVAL,
                              "%.*s and %.*s follow from each other", STR_ARG(key),
                              STR_ARG(source));
    return HALLEY_OK;
}

/* True for cluster.network: [{topology: ...}, ...], which lists whole networks, not rows
 * of tied parameters. */
static bool is_network_list(str key, const conf_node *list)
{
    return str_eq(key, STR("cluster.network")) &&
           (conf_find(list->items[0], "topology") != NULL ||
            conf_find(list->items[0], "fabric") != NULL);
}

halley_status explore_axis_read(halley_study *s, str key, const conf_node *node,
                                bool inner, halley_error *err)
{
    assert(s->n_axes <= HALLEY_MAX_AXES);
    TRY(refuse_circle(s, key, node, err));
    explore_ref ref;
    explore_axis *a;
    bool special;
    if (node->kind == CONF_LIST && node->n && node->items[0]->kind == CONF_MAP &&
        !is_network_list(key, node))
        return read_tied(s, key, node, err);
    TRY(explore_ref_read(&ref, s, key, node, err));
    TRY(explore_special_read(&special, s, &ref, node, err));
    if (special)
        return HALLEY_OK;
    for (uint32_t i = 0; i < s->n_axes; i++) {
        if (str_eq(key, str_from(s->axes[i].seen.name)))
            return inner ? HALLEY_OK
                         : conf_error(&s->file, node, err, HALLEY_EINVAL,
                                      "%.*s varies twice", STR_ARG(key));
    }
    TRY(new_axis(&a, s, key, node, 1, err));
    a->refs[0] = ref;
    a->seen.inner = inner;
    a->later = needs_others(node) ? node : NULL;
    if (a->later)
        return HALLEY_OK;
    if (node->kind == CONF_LIST)
        return read_list(a, s, node, err);
    return node->kind == CONF_MAP ? read_map(a, s, node, err)
                                  : read_word(a, s, node, err);
}

/* Whole objects first, then the rest, inner axes last; otherwise in file order. */
static int rank_of(const explore_axis *a)
{
    return a->seen.inner ? 2 : a->whole ? 0 : 1;
}

static void order_axes(halley_study *s)
{
    assert(s->n_axes <= HALLEY_MAX_AXES);
    for (uint32_t i = 1; i < s->n_axes; i++) {
        const explore_axis a = s->axes[i];
        uint32_t j = i;
        for (; j > 0 && rank_of(&s->axes[j - 1]) > rank_of(&a); j--)
            s->axes[j] = s->axes[j - 1];
        s->axes[j] = a;
    }
}

halley_status explore_axes_finish(halley_study *s, halley_error *err)
{
    for (uint32_t i = 0; i < s->n_axes; i++) {
        explore_axis *a = &s->axes[i];
        if (!a->later)
            continue;
        const conf_node *node = a->later;
        TRY(node->kind == CONF_MAP ? read_map(a, s, node, err)
                                   : read_word(a, s, node, err));
    }
    order_axes(s);
    for (uint32_t i = 0; i < s->n_axes; i++)
        s->axes[i].resets = resets_design(&s->axes[i]);
    s->size = 1;
    s->n_outer = 0;
    double inner = 1;
    for (uint32_t i = 0; i < s->n_axes; i++) {
        s->size *= s->axes[i].seen.n;
        if (s->axes[i].seen.inner)
            inner *= s->axes[i].seen.n;
        else
            s->n_outer++;
    }
    if (s->size > 9e18 || inner > 1e12)
        return error_set(err, HALLEY_ELIMIT,
                         "the space has %s designs, more than 9e18: let fewer "
                         "parameters vary, or with fewer values",
                         number_digits(s->size, 3).at);
    s->inner_size = (uint64_t)inner;
    assert(s->n_outer <= s->n_axes);
    assert(s->inner_size > 0 && s->size >= 1);
    return HALLEY_OK;
}
