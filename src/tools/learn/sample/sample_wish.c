/* What the user fixes for new sets, and the check that it is consistent. */
#include "base/number/number.h"
#include "learn/sample/sample.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_RANKS = 1000000 };

/* A total that is not a condition of the model is reached by scaling. */
static double *find_fixed_total(sample_wish *wish, const synth_model *m, const char *name)
{
    assert(name != NULL);
    if (conditions_index(m, name) != MODEL_NONE)
        return NULL;
    return strcmp(name, "compute") == 0 ? &wish->compute
           : strcmp(name, "bytes") == 0 ? &wish->bytes
                                        : NULL;
}

static halley_status refuse_twice(const char *name, halley_error *err)
{
    return error_set(err, HALLEY_EINVAL, "%s is fixed twice, and not to the same", name);
}

static halley_status fix_number(sample_wish *wish, const synth_model *m, const char *name,
                                double number, halley_error *err)
{
    assert(name[0] != '\0');
    double *const total = find_fixed_total(wish, m, name);
    const bool is_ranks = strcmp(name, "ranks") == 0;
    if (number < 0 || (total && !(number > 0)))
        return error_set(err, HALLEY_EINVAL, "%s must be %s 0, is %s", name,
                         total ? "above" : "at least", number_digits(number, 15).at);
    if (is_ranks && !(number >= 1 && number <= MOST_RANKS && number == floor(number)))
        return error_set(err, HALLEY_EINVAL,
                         "ranks must be a whole number from 1 to %d, is %s", MOST_RANKS,
                         number_digits(number, 15).at);
    if (total) {
        if (*total > 0 && *total != number)
            return refuse_twice(name, err);
        *total = number;
        return HALLEY_OK;
    }
    const condition *const before = conditions_find(&wish->fixed, name);
    if (before && before->number != number)
        return refuse_twice(name, err);
    if (is_ranks)
        wish->n_ranks = (uint32_t)number;
    conditions_set(&wish->fixed, name, NULL, number);
    return HALLEY_OK;
}

halley_status sample_wish_add(sample_wish *wish, const synth_model *m, const char *text,
                              halley_error *err)
{
    assert(text != NULL);
    char name[CONDITION_TEXT];
    const char *eq = strchr(text, '=');
    double number;
    if (!eq || eq == text || eq[1] == '\0' || (size_t)(eq - text) >= sizeof name ||
        strlen(eq + 1) >= CONDITION_TEXT)
        return error_set(err, HALLEY_EINVAL,
                         "a condition is NAME=VALUE, such as layers=12, not '%s'", text);
    snprintf(name, sizeof name, "%.*s", (int)(eq - text), text);
    const uint32_t id = conditions_index(m, name);
    const bool is_text = id != MODEL_NONE && m->conditions.at[id].is_text;
    if (!is_text && number_read(str_from(eq + 1), &number))
        return fix_number(wish, m, name, number, err);
    const condition *const before = conditions_find(&wish->fixed, name);
    if (before && strcmp(before->text, eq + 1) != 0)
        return refuse_twice(name, err);
    if (find_fixed_total(wish, m, name))
        return error_set(err, HALLEY_EINVAL, "%s is a number, not '%s'", name, eq + 1);
    conditions_set(&wish->fixed, name, eq + 1, 0);
    return HALLEY_OK;
}

halley_status sample_wish_fits(const synth_model *m, const sample_wish *wish,
                               halley_error *err)
{
    static const char *const parts[] = {"tp", "pp", "dp", "cp"};
    strbuf list = {0};
    conditions fixed = wish->fixed;
    double product = 1;
    bool all = true; /* tp, pp, dp and, if the model knows it, cp are fixed */
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const condition *const c = conditions_find(&fixed, parts[i]);
        all &= c != NULL || (i == 3 && conditions_index(m, parts[i]) == MODEL_NONE);
        if (c && c->number >= 1) {
            product *= c->number;
            strbuf_printf(&list, "%s%s=%s", list.n > 0 ? ", " : "", c->name,
                          number_digits(c->number, 15).at);
        }
    }
    const double copies = wish->n_ranks / product;
    halley_status status = HALLEY_OK;
    if (list.failed)
        status = error_nomem(err);
    else if (wish->n_ranks > 0 && (copies != floor(copies) || (all && copies != 1)))
        status = error_set(err, HALLEY_EINVAL,
                           "%.*s and ranks=%u contradict each other: ranks must be %s%s",
                           STR_ARG(strbuf_str(&list)), wish->n_ranks,
                           all ? "" : "a multiple of ", number_digits(product, 15).at);
    strbuf_fini(&list);
    return status;
}
