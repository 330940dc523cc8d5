/* Rows of inputs: finding them, and values that are words. */
#include "base/fact.h"

#include <assert.h>
#include <stdio.h>

/* - and _ are the same. */
static bool is_same_word(str a, str b)
{
    size_t i = 0;
    for (; i < a.n && i < b.n; i++)
        if ((a.at[i] == '_' ? '-' : a.at[i]) != (b.at[i] == '_' ? '-' : b.at[i]))
            return false;
    return a.n == b.n;
}

const fact *fact_find(const fact_table *t, str key)
{
    for (const fact *f = t->rows; f->key != NULL; f++)
        if (is_same_word(key, str_from(f->key)))
            return f;
    return NULL;
}

static bool has_name(bool *is_alias, const fact *f, str name)
{
    str part, word, all = str_from(f->also);
    for (*is_alias = true; str_next(&all, ';', &part); *is_alias = false)
        while (str_next(&part, ' ', &word))
            if (word.n > 0 && is_same_word(word, name))
                return true;
    return false;
}

const fact *fact_find_also(bool *is_alias, const fact_table *t, str word)
{
    for (const fact *f = t->rows; f->key != NULL; f++)
        if (f->also != NULL && has_name(is_alias, f, word))
            return f;
    return NULL;
}

bool fact_is_list(const fact *f)
{
    return f->kind == FACT_BITS || f->is_list;
}

static halley_status refuse_word(const fact *f, str text, halley_error *err)
{
    char list[512] = "";
    size_t n = 0;
    for (size_t used = 0; f->words[n] != NULL; n++)
        if (used < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s",
                                     n > 0 ? ", " : "", f->words[n]);
    const char *near = str_nearest(text, f->words, n);
    return error_set(err, HALLEY_EINVAL, "%s must be one of %s; is \"%.*s\"%s%s%s",
                     f->key, list, STR_ARG(text), near != NULL ? ", did you mean \"" : "",
                     near != NULL ? near : "", near != NULL ? "\"?" : "");
}

halley_status fact_find_word(uint32_t *out, const fact *f, str text, halley_error *err)
{
    assert(f->words != NULL);
    for (uint32_t i = 0; f->words[i] != NULL; i++)
        if (is_same_word(text, str_from(f->words[i]))) {
            *out = i;
            return HALLEY_OK;
        }
    return refuse_word(f, text, err);
}

static halley_status set_bits(const fact *f, uint32_t *to, str text, halley_error *err)
{
    str part, word;
    uint32_t i = 0, bits = 0;
    if (str_eq(text, STR("none")))
        return HALLEY_OK;
    while (str_next(&text, '+', &part))
        while (str_next(&part, ',', &word)) {
            TRY(fact_find_word(&i, f, str_trim(word), err));
            bits |= UINT32_C(1) << i;
        }
    *to |= bits;
    return HALLEY_OK;
}

halley_status fact_set(const fact *f, void *to, str text, bool more, halley_error *err)
{
    assert(f->kind == FACT_BITS || f->kind == FACT_OWN);
    if (f->kind == FACT_OWN)
        return f->set(f, to, text, more, err);
    return set_bits(f, (uint32_t *)(void *)((char *)to + f->at), text, err);
}
