/* Documents by name, path or text. */
#include "request/document.h"

#include "base/error.h"
#include "base/file/file.h"

#include <string.h>

bool request_is_document(const char *text)
{
    const char *start = text + strspn(text, " \t\r\n");
    const bool may_be =
        *start == '{' || strchr(text, '\n') != NULL || strstr(text, ": ") != NULL;
    return may_be && !file_exists(text);
}

halley_status request_model_load(halley_model *out, halley_import **import,
                                 const char *text, halley_error *err)
{
    if (request_is_document(text))
        return halley_model_parse(out, import, text, strlen(text), "model", err);
    return import != NULL ? halley_model_import(out, import, text, err)
                          : halley_model_load(out, text, err);
}

halley_status request_cluster_load(halley_cluster **out, request_call *call,
                                   const char *text, halley_error *err)
{
    halley_error own = {0};
    if (request_is_document(text))
        return halley_cluster_parse(out, text, strlen(text), "cluster", err);
    err = err != NULL ? err : &own;
    const halley_status status = halley_cluster_load(out, text, err);
    if (status != HALLEY_EINVAL || err->file[0] != '\0')
        return status;
    char why[HALLEY_ERROR_TEXT];
    snprintf(why, sizeof why, "%s", err->text);
    return request_usage(call, err, "%s", why);
}

halley_status request_stack_load(halley_stack *out, const char *text, halley_error *err)
{
    if (request_is_document(text))
        return halley_stack_parse(out, text, strlen(text), "stack", err);
    return halley_stack_load(out, text, err);
}

halley_status request_plan_load(halley_plan *plan, uint64_t *given, const char *text,
                                halley_error *err)
{
    if (request_is_document(text))
        return halley_plan_parse(plan, given, text, strlen(text), "plan", err);
    return halley_plan_load(plan, given, text, err);
}

halley_status request_study_load(halley_study **out, const char *text, halley_error *err)
{
    if (request_is_document(text))
        return halley_study_parse(out, text, strlen(text), "study", err);
    return halley_study_load(out, text, err);
}
