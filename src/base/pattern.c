/*
 * Regular expressions by PCRE2, compiled to machine code where the system allows it. An
 * expression may come from anybody (rules that a request names), so its size, its nesting
 * and the work and memory of a search are bounded. PCRE2 allocates through this file, so
 * that limits of memory hold and tests can make its allocations fail.
 */
#include "base/pattern.h"

#include "base/array.h"

#include <assert.h>
#include <stdlib.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

enum {
    MOST_BYTES = 1 << 16, /* of an expression */
    MOST_NESTED = 64,
    MOST_STEPS = 100000, /* of a search: about a millisecond */
    MOST_DEPTH = 10000,
    MOST_HEAP_KIB = 20000,
};

struct pattern {
    pcre2_general_context *memory;
    pcre2_code *code;
    pcre2_match_data *data;
    pcre2_match_context *limits;
    uint64_t n_ended;
};

static void *allocate_block(size_t n, void *unused)
{
    (void)unused;
    return malloc(n);
}

static void free_block(void *at, void *unused)
{
    (void)unused;
    free(at);
}

static halley_status report_expression(str expression, int reason, size_t at,
                                       halley_error *err)
{
    char says[128];
    if (reason == PCRE2_ERROR_HEAP_FAILED || reason == PCRE2_ERROR_NOMEMORY)
        return error_nomem(err);
    (void)pcre2_get_error_message(reason, (PCRE2_UCHAR *)says, sizeof says);
    const str shown = {expression.at, expression.n < 60 ? expression.n : 60};
    return error_set(err, HALLEY_EINVAL,
                     "the expression \"%.*s\" is wrong at byte %zu: %s", STR_ARG(shown),
                     at + 1, says);
}

static halley_status compile_code(pattern *p, str expression, halley_error *err)
{
    int reason;
    size_t at;
    pcre2_compile_context *const how = pcre2_compile_context_create(p->memory);
    if (how == NULL)
        return error_nomem(err);
    (void)pcre2_set_max_pattern_length(how, MOST_BYTES);
    (void)pcre2_set_parens_nest_limit(how, MOST_NESTED);
    p->code = pcre2_compile((PCRE2_SPTR)expression.at, expression.n,
                            PCRE2_DOTALL | PCRE2_DOLLAR_ENDONLY | PCRE2_NO_AUTO_CAPTURE |
                                PCRE2_NEVER_UTF | PCRE2_NEVER_BACKSLASH_C,
                            &reason, &at, how);
    pcre2_compile_context_free(how);
    if (p->code == NULL)
        return report_expression(expression, reason, at, err);
    (void)pcre2_jit_compile(p->code, PCRE2_JIT_COMPLETE); /* else it is interpreted */
    return HALLEY_OK;
}

static halley_status prepare_search(pattern *p, halley_error *err)
{
    assert(p->code != NULL);
    p->data = pcre2_match_data_create(1, p->memory);
    p->limits = pcre2_match_context_create(p->memory);
    if (p->data == NULL || p->limits == NULL)
        return error_nomem(err);
    (void)pcre2_set_match_limit(p->limits, MOST_STEPS);
    (void)pcre2_set_depth_limit(p->limits, MOST_DEPTH);
    (void)pcre2_set_heap_limit(p->limits, MOST_HEAP_KIB);
    return HALLEY_OK;
}

halley_status pattern_compile(pattern **out, str expression, halley_error *err)
{
    assert(expression.at != NULL || expression.n == 0);
    pattern *const p = mem_array_zero(1, sizeof *p);
    *out = NULL;
    if (p == NULL)
        return error_nomem(err);
    p->memory = pcre2_general_context_create(allocate_block, free_block, NULL);
    halley_status status =
        p->memory == NULL ? error_nomem(err)
                          : compile_code(p, expression.n > 0 ? expression : STR(""), err);
    if (status == HALLEY_OK)
        status = prepare_search(p, err);
    if (status == HALLEY_OK)
        *out = p;
    else
        pattern_free(p);
    return status;
}

void pattern_free(pattern *p)
{
    if (p == NULL)
        return;
    pcre2_match_context_free(p->limits);
    pcre2_match_data_free(p->data);
    pcre2_code_free(p->code);
    pcre2_general_context_free(p->memory);
    free(p);
}

bool pattern_search(pattern *p, str text)
{
    assert(p != NULL);
    const int found = pcre2_match(p->code, (PCRE2_SPTR)(text.n > 0 ? text.at : ""),
                                  text.n, 0, 0, p->data, p->limits);
    p->n_ended += found < 0 && found != PCRE2_ERROR_NOMATCH;
    return found >= 0;
}

uint64_t pattern_count_ended(const pattern *p)
{
    return p->n_ended;
}
