/* explore/study/study_search.c - `search:`, the search method of a space. */
#include "explore/study/study.h"

#include <stddef.h>

static const char *const methods[] = {"exhaustive",   "random", "latin-hypercube",
                                      "evolutionary", "nlopt",  NULL};

typedef struct search_text {
    uint32_t method, population;
    uint64_t samples, seed;
} search_text;
const conf_field explore_search_fields[] = {
    {.key = "method",
     .type = CONF_TYPE_ENUM,
     .offset = offsetof(search_text, method),
     .required = true,
     .names = methods,
     .doc = "search method",
     .by_default = "required"},
    {.key = "samples",
     .type = CONF_TYPE_U64,
     .offset = offsetof(search_text, samples),
     .min = 1,
     .max = 1e9,
     .doc = "number of designs to evaluate",
     .by_default = "10000",
     .example = "50000"},
    {.key = "population",
     .type = CONF_TYPE_U32,
     .offset = offsetof(search_text, population),
     .min = 4,
     .max = 1e5,
     .doc = "population of the evolutionary search",
     .by_default = "64",
     .example = "256"},
    {.key = "seed",
     .type = CONF_TYPE_U64,
     .offset = offsetof(search_text, seed),
     .doc = "seed of the random numbers",
     .by_default = "1",
     .example = "7"},
};
const size_t explore_n_search_fields =
    sizeof explore_search_fields / sizeof *explore_search_fields;

halley_status explore_search_read(halley_study *s, const conf_node *node,
                                  halley_error *err)
{
    search_text t = {.seed = 1, .samples = 10000, .population = 64};
    if (node && node->kind == CONF_SCALAR) {
        while (methods[t.method] && !str_eq(node->text, str_from(methods[t.method])))
            t.method++;
        if (!methods[t.method])
            return conf_error(&s->file, node, err, HALLEY_EINVAL,
                              "search is exhaustive, random, latin-hypercube, "
                              "evolutionary or nlopt, not \"%.*s\"",
                              STR_ARG(node->text));
    } else if (node) {
        TRY(conf_read(&t, &s->file, node, explore_search_fields, explore_n_search_fields,
                      true, NULL, err));
    }
    s->search =
        (explore_search){(explore_method)t.method, t.samples, t.population, t.seed};
    return HALLEY_OK;
}
