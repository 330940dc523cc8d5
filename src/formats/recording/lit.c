/* Python literals: brackets nest, commas separate, and quoted text contains neither. */
#include "recording/lit.h"

#include <string.h>

static const char *skip_quoted(const char *p, const char *end)
{
    const char quote = *p++;
    while (p < end && *p != quote)
        p += *p == '\\' && p + 1 < end ? 2 : 1;
    return p < end ? p + 1 : end;
}

bool lit_open(lit_list *list, str text)
{
    if (text.n < 2 || text.at[0] != '[' || text.at[text.n - 1] != ']')
        return false;
    *list = (lit_list){text.at + 1, text.at + text.n - 1};
    return true;
}

bool lit_next(lit_list *list, str *item)
{
    const char *p = list->at;
    while (p < list->end && (*p == ' ' || *p == ','))
        p++;
    if (p == list->end)
        return false;
    const char *const start = p;
    int depth = 0;
    while (p < list->end && (depth > 0 || *p != ',')) {
        if (*p == '\'' || *p == '"') {
            p = skip_quoted(p, list->end);
            continue;
        }
        depth += *p == '[' || *p == '{' || *p == '(';
        depth -= *p == ']' || *p == '}' || *p == ')';
        p++;
    }
    *item = (str){start, (size_t)(p - start)};
    list->at = p;
    return true;
}

bool lit_item(str text, size_t i, str *item)
{
    lit_list list;
    if (!lit_open(&list, text))
        return false;
    for (size_t k = 0; lit_next(&list, item); k++)
        if (k == i)
            return true;
    return false;
}

bool lit_dims(str text, uint64_t *dims, size_t *n_dims)
{
    lit_list list;
    str item;
    *n_dims = 0;
    if (!lit_open(&list, text))
        return false;
    while (lit_next(&list, &item))
        if (*n_dims == LIT_MAX_DIMS || !str_to_u64(item, &dims[(*n_dims)++]))
            return false;
    return true;
}

bool lit_text(str item, str *text)
{
    if (item.n < 2 || (item.at[0] != '\'' && item.at[0] != '"'))
        return false;
    *text = (str){item.at + 1, item.n - 2};
    return true;
}

/* Read the numbers of the list that starts at p while it looks like a tensor. Returns its
 * end, or NULL if it is not a tensor. */
static const char *take_tensor(const char *p, const char *end, lit_tensors *sum)
{
    uint64_t numbers[5];
    for (int i = 0; i < 5; i++) {
        p++; /* the bracket or comma */
        while (p < end && *p == ' ')
            p++;
        if (p == end || *p < '0' || *p > '9')
            return NULL;
        for (numbers[i] = 0; p < end && *p >= '0' && *p <= '9'; p++)
            numbers[i] = 10 * numbers[i] + (uint64_t)(*p - '0');
        if (p == end || *p != ',')
            return NULL;
    }
    p++;
    while (p < end && *p == ' ')
        p++;
    if (p == end || (*p != '\'' && *p != '"'))
        return NULL;
    p = skip_quoted(p, end);
    if (p == end || *p != ']')
        return NULL;
    uint64_t bytes;
    if (__builtin_mul_overflow(numbers[3], numbers[4], &bytes))
        return NULL;
    sum->n++;
    sum->n_elements += numbers[3];
    sum->n_bytes += bytes;
    return p + 1;
}

lit_tensors lit_tensors_of(str values)
{
    lit_tensors sum = {0};
    const char *p = values.at, *const end = p + values.n;
    while (p < end) {
        if (*p == '\'' || *p == '"') {
            p = skip_quoted(p, end);
        } else if (*p == '[') {
            const char *const behind = take_tensor(p, end, &sum);
            p = behind ? behind : p + 1;
        } else {
            p++;
        }
    }
    return sum;
}
