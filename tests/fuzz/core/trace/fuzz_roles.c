/* Any text as the index of a template set; roles are one small trace, tables the text. */
#include "trace/format/template.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n);

/* A role that calls "tp" and sends to "next". */
static halley_status make_trace(halley_trace **out, void *context, str file,
                                halley_error *err)
{
    halley_builder *b;
    (void)context, (void)file;
    TRY(halley_builder_new(&b, err));
    (void)halley_builder_node(b, 0, HALLEY_NODE_COLL, (halley_bytes){"c", 1});
    (void)halley_builder_attr_text(b, HALLEY_ATTR_NAME_PG_NAME, (halley_bytes){"tp", 2});
    (void)halley_builder_node(b, 1, HALLEY_NODE_SEND, (halley_bytes){"s", 1});
    (void)halley_builder_attr_text(b, HALLEY_ATTR_NAME_COMM_PEER,
                                   (halley_bytes){"next", 4});
    return halley_builder_finish(out, b, err);
}

static halley_status make_table(uint8_t **out, size_t *n, void *context, str file,
                                halley_error *err)
{
    const str *const text = context;
    (void)file;
    *out = malloc(text->n + 1);
    if (*out == NULL)
        return error_nomem(err);
    memcpy(*out, text->at, text->n);
    *n = text->n;
    return HALLEY_OK;
}

static void use_template(const trace_template *t)
{
    halley_trace *trace = NULL;
    for (uint32_t r = 0; r < t->n_ranks && r < 64; r++) {
        (void)trace_template_role_of(t, r);
        for (uint32_t g = 0; g < t->groups.n; g++) {
            const uint32_t key = trace_template_group_of(t, g, r);
            if (key != TRACE_TEMPLATE_NONE && trace_template_group_size(t, g, key) > 0)
                (void)trace_template_member(t, g, key, 0);
        }
    }
    if (t->n_ranks <= 4096 && trace_template_check(t, NULL) == HALLEY_OK &&
        trace_template_expand(&trace, t, 0, NULL) == HALLEY_OK)
        halley_trace_free(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    conf_file file;
    trace_template t = {0};
    str text = {(const char *)at, n};
    const trace_template_files files = {make_trace, make_table, &text};
    if (conf_parse(&file, text, "step.roles.yaml", NULL) != HALLEY_OK)
        return 0;
    if (trace_template_parse(&t, &file, &files, NULL) == HALLEY_OK)
        use_template(&t);
    trace_template_fini(&t);
    conf_fini(&file);
    return 0;
}
