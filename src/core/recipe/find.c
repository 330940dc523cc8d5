/*
 * The nearest recipe: same framework, task and model, then by distance. Without a recipe
 * of the model, the nearest model of the same kind gives its software keys.
 */
#include "base/error.h"
#include "recipe/data.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Distances of a recipe from what is wanted. They order what changes a step most: the
 * device, then the number format, then count and release. */
static const double same_generation = 3, same_vendor = 8;
static const double other_scales = 2, other_width = 4;
static const double per_doubling = 0.5, most_for_count = 2;
static const double other_batch = 0.3, per_release = 0.4, other_family = 1;
static const double farthest = 8;
/* Models of one kind are similar if their active parameters are within this factor. */
static const double similar_factor = 4;

/* What a recipe is compared with. */
typedef struct wanted {
    const halley_recipes *set;
    const halley_recipe_opts *opts;
    recipe_shape shape;
    const char *model, *npu, *task;
    uint32_t npus, global_batch;
    halley_dtype dtype;
    halley_fp8_recipe scales;
} wanted;

static recipe_shape shape_of(const halley_model *m)
{
    return (recipe_shape){.layers = m->layers,
                          .hidden = m->hidden,
                          .heads = m->heads,
                          .experts = m->experts,
                          .expert_ffn = m->experts > 0 ? m->expert_ffn : 0,
                          .vocab = m->vocab,
                          .active_params = halley_model_active_params(m)};
}

static bool is_same_shape(const recipe_shape *a, const recipe_shape *b)
{
    return a->layers == b->layers && a->hidden == b->hidden && a->heads == b->heads &&
           a->experts == b->experts && a->expert_ffn == b->expert_ffn &&
           fabs((double)a->vocab - b->vocab) <= 0.01 * b->vocab;
}

static bool is_same_model(const wanted *w, const recipe_row *row)
{
    if (row->shape.active_params > 0 && w->shape.active_params > 0)
        return is_same_shape(&w->shape, &row->shape);
    return row->model.n == strlen(w->model) &&
           strncasecmp(row->model.at, w->model, row->model.n) == 0;
}

/* Doublings between the active parameters; negative: not of one kind. */
static double model_distance(const wanted *w, const recipe_row *row)
{
    const recipe_shape *a = &w->shape, *b = &row->shape;
    if (!(a->active_params > 0 && b->active_params > 0) ||
        (a->experts > 0) != (b->experts > 0))
        return -1;
    const double doublings = fabs(log2(a->active_params / b->active_params));
    return a->experts > 0 && doublings > log2(similar_factor) ? -1 : doublings;
}

static const conf_node *find_device(const halley_recipes *set, str npu)
{
    const conf_node *devices = conf_find(set->matching.root, "devices");
    for (uint32_t i = 0; devices != NULL && i < devices->n; i++)
        if (str_eq(devices->keys[i], npu))
            return devices->items[i];
    return NULL;
}

static bool has_same_word(const conf_node *a, const conf_node *b, const char *key)
{
    const conf_node *x = conf_find(a, key), *y = conf_find(b, key);
    return x != NULL && y != NULL && str_eq(x->text, y->text);
}

/* Negative: another vendor, or an unknown device. */
static double device_distance(const wanted *w, const recipe_row *row)
{
    if (row->npu.n == 0) /* the authors name none */
        return same_generation;
    if (str_eq(row->npu, str_from(w->npu)))
        return 0;
    const conf_node *a = find_device(w->set, str_from(w->npu)),
                    *b = find_device(w->set, row->npu);
    if (a == NULL || b == NULL || !has_same_word(a, b, "vendor"))
        return -1;
    return has_same_word(a, b, "generation") ? same_generation : same_vendor;
}

static uint32_t width_of(halley_dtype dtype)
{
    switch (dtype) {
    case HALLEY_FP4:
        return 4;
    case HALLEY_FP8:
    case HALLEY_INT8:
        return 8;
    default:
        return 16;
    }
}

static double format_distance(const wanted *w, const recipe_row *row)
{
    if (width_of(w->dtype) != width_of(row->dtype))
        return other_width;
    return width_of(w->dtype) < 16 && w->scales != row->scales ? other_scales : 0;
}

static double count_distance(const wanted *w, const recipe_row *row)
{
    if (row->npus == 0 || w->npus == 0)
        return 0;
    return fmin(most_for_count, per_doubling * fabs(log2((double)row->npus / w->npus)));
}

/* The wanted release, or the next one that has recipes, as an index among those of a
 * file. */
static int wanted_release(const wanted *w, const recipe_file *file)
{
    const char *release = w->opts != NULL ? w->opts->release : NULL;
    if (release == NULL || release[0] == '\0')
        return recipe_release_index(file, file->newest);
    int at = 0;
    while ((size_t)at + 1 < file->releases.n &&
           recipe_release_compare(file->releases.at[at], str_from(release)) < 0)
        at++;
    return at;
}

static double release_distance(const wanted *w, const recipe_row *row, str *release)
{
    const recipe_file *file = &w->set->files[row->file];
    const int wanted_at = wanted_release(w, file);
    *release = recipe_row_release(w->set, row, wanted_at);
    const int at = recipe_release_index(file, *release);
    return per_release * abs(at - wanted_at);
}

static bool is_usual(str variant)
{
    return variant.n == 0 || str_eq(variant, STR("v1")) || str_eq(variant, STR("v2"));
}

/* A row and its distance; negative: no candidate. */
typedef struct candidate {
    const recipe_row *row;
    str release;
    double distance, device, format, count;
} candidate;

static candidate measure(const wanted *w, const recipe_row *row, bool similar)
{
    candidate c = {.row = row, .distance = -1};
    const double model = similar                 ? model_distance(w, row)
                         : is_same_model(w, row) ? 0
                                                 : -1;
    const bool left_out = w->opts != NULL && w->opts->without != NULL &&
                          str_eq(row->npu, str_from(w->opts->without));
    if (model < 0 || left_out || !is_usual(row->variant) ||
        !str_eq(row->task, str_from(w->task)))
        return c;
    c.device = device_distance(w, row);
    if (c.device < 0)
        return c;
    c.format = format_distance(w, row);
    c.count = count_distance(w, row);
    const double batch =
        w->global_batch > 0 && row->global_batch != w->global_batch ? other_batch : 0;
    c.distance = model + c.device + c.format + c.count + batch +
                 release_distance(w, row, &c.release) +
                 (row->file > 0 ? other_family : 0);
    return c;
}

/* Ties: the newer release, then the name. */
static bool is_nearer(const candidate *a, const candidate *b, const halley_recipes *set)
{
    if (b->row == NULL || fabs(a->distance - b->distance) > 1e-9)
        return b->row == NULL || a->distance < b->distance;
    const int x = recipe_release_index(&set->files[a->row->file], a->release),
              y = recipe_release_index(&set->files[b->row->file], b->release);
    if (a->row->file != b->row->file || x == y)
        return str_cmp(a->row->variant, b->row->variant) < 0;
    return x > y;
}

static candidate find_nearest(const wanted *w, bool similar)
{
    candidate best = {.distance = -1};
    for (size_t i = 0; i < w->set->rows.n; i++) {
        const candidate c = measure(w, &w->set->rows.at[i], similar);
        if (c.distance >= 0 && c.distance <= farthest && is_nearer(&c, &best, w->set))
            best = c;
    }
    return best;
}

/* "same model, chip, count, format", with what differs named. */
static void explain(char *to, size_t size, const wanted *w, const candidate *c,
                    bool similar)
{
    char same[64], differs[128] = "";
    size_t n = 0;
    snprintf(same, sizeof same, "same%s%s%s%s", similar ? "" : " model,",
             c->device == 0 ? " chip," : "", c->count == 0 ? " count," : "",
             c->format == 0 ? " format," : "");
    same[strlen(same) - (strlen(same) > 4 ? 1 : 0)] = '\0';
    if (similar)
        n += (size_t)snprintf(differs, sizeof differs, "; of a similar model");
    if (c->device > 0 && c->row->npu.n > 0)
        n += (size_t)snprintf(differs + n, sizeof differs - n, "; chip %.*s",
                              (int)(c->row->npu.n < 24 ? c->row->npu.n : 24),
                              c->row->npu.at);
    if (c->count > 0)
        n += (size_t)snprintf(differs + n, sizeof differs - n, "; %u NPUs", c->row->npus);
    if (c->format > 0)
        snprintf(differs + n, sizeof differs - n, "; %s",
                 recipe_format_name(c->row->dtype, c->row->scales));
    snprintf(to, size, "%s%s", same, differs);
    (void)w;
}

/* Months between two releases that are named by year and month; else 0. */
static double months_between(const char *a, str b)
{
    unsigned year[2], month[2];
    char text[HALLEY_RELEASE];
    snprintf(text, sizeof text, "%.*s", STR_ARG(b));
    if (a == NULL || sscanf(a, "%2u.%2u", &year[0], &month[0]) != 2 ||
        sscanf(text, "%2u.%2u", &year[1], &month[1]) != 2)
        return 0;
    return fabs(12.0 * year[0] + month[0] - 12.0 * year[1] - month[1]);
}

static halley_status refuse_name(const wanted *w, size_t n, const candidate *first,
                                 const candidate *last, halley_error *err)
{
    halley_recipe a, b;
    if (n == 0)
        return error_set(err, HALLEY_ENOTFOUND,
                         "no recipe \"%s\"; `halley presets recipes` lists them",
                         w->opts->name);
    recipe_row_get(&a, w->set, first->row, first->release);
    recipe_row_get(&b, w->set, last->row, last->release);
    return error_set(err, HALLEY_ENOTFOUND,
                     "\"%s\" begins the names of %zu recipes, for example %s and %s",
                     w->opts->name, n, a.name, b.name);
}

static bool is_other_recipe(const candidate *a, const candidate *b)
{
    return !str_eq(a->row->model, b->row->model) || !str_eq(a->row->npu, b->row->npu) ||
           a->row->npus != b->row->npus || a->row->dtype != b->row->dtype ||
           a->row->scales != b->row->scales ||
           !str_eq(a->row->variant, b->row->variant) || a->row->file != b->row->file;
}

/* Rows of one name that differ only in their release count as one: the newest. */
static halley_status find_named(candidate *out, const wanted *w, halley_error *err)
{
    const size_t n = strlen(w->opts->name);
    candidate last = {0};
    size_t found = 0;
    for (size_t i = 0; i < w->set->rows.n; i++) {
        halley_recipe r;
        candidate c = {.row = &w->set->rows.at[i]};
        for (uint32_t k = 0; c.row->releases != NULL && k < c.row->releases->n; k++) {
            c.release = c.row->releases->items[k]->text;
            recipe_row_get(&r, w->set, c.row, c.release);
            if (strncasecmp(r.name, w->opts->name, n) != 0)
                continue;
            found += found == 0 || is_other_recipe(&c, out);
            last = c;
            if (found == 1 && is_nearer(&c, out, w->set))
                *out = c;
        }
    }
    if (found != 1)
        return refuse_name(w, found, out, &last, err);
    return HALLEY_OK;
}

static void take(halley_recipe *out, const wanted *w, const candidate *c, bool similar)
{
    const recipe_file *file = &w->set->files[c->row->file];
    recipe_row_get(out, w->set, c->row, c->release);
    out->similar = similar;
    out->distance = c->distance;
    char newest[HALLEY_RELEASE];
    snprintf(newest, sizeof newest, "%.*s", STR_ARG(file->newest));
    out->months = months_between(
        w->opts != NULL && w->opts->release != NULL ? w->opts->release : newest,
        c->release);
    explain(out->why, sizeof out->why, w, c, similar);
}

static halley_status find_by_name(halley_recipe *out, const wanted *w, halley_error *err)
{
    candidate named = {0};
    TRY(find_named(&named, w, err));
    const double device = device_distance(w, named.row);
    named.device = device < 0 ? same_vendor : device;
    named.format = format_distance(w, named.row);
    named.count = count_distance(w, named.row);
    named.distance = named.device + named.format + named.count;
    take(out, w, &named, !is_same_model(w, named.row));
    return HALLEY_OK;
}

halley_status halley_recipes_find(halley_recipe *out, const halley_recipes *recipes,
                                  const halley_model *model, const halley_plan *plan,
                                  const char *npu, uint32_t n_npus,
                                  const halley_recipe_opts *opts, halley_error *err)
{
    const wanted w = {.set = recipes,
                      .opts = opts,
                      .shape = shape_of(model),
                      .model = model->name,
                      .npu = npu,
                      .task = plan->lora > 0 ? "lora" : "pretrain",
                      .npus = n_npus,
                      .global_batch = plan->global_batch,
                      .dtype = plan->dtype,
                      .scales = plan->recipe};
    *out = (halley_recipe){.size = sizeof *out};
    if (opts != NULL && opts->name != NULL)
        return find_by_name(out, &w, err);
    candidate best = find_nearest(&w, false);
    const bool similar = best.row == NULL;
    if (similar)
        best = find_nearest(&w, true);
    if (best.row != NULL)
        take(out, &w, &best, similar);
    return HALLEY_OK;
}
