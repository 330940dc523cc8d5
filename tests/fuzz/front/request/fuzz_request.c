/*
 * Any text as a request: there is always a reply, it is JSON, and it is ok or an error
 * with a code. Verbs that write files or may search for minutes are left out.
 */
#include "base/conf/conf.h"
#include "halley/request.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n);

/* Keys of estimate that name files to write or to read at length. */
static bool is_harmless(const conf_node *root)
{
    static const char *const verbs[] = {"estimate", "presets", "schema", "version"};
    const conf_node *verb = conf_find(root, "do");
    if (verb == NULL || verb->kind != CONF_SCALAR || conf_find(root, "trace") != NULL)
        return verb == NULL;
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (str_eq(verb->text, str_from(verbs[i])))
            return true;
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    conf_file file;
    char *text = malloc(n + 1), *reply = NULL;
    if (text == NULL)
        return 0;
    if (n > 0)
        memcpy(text, at, n);
    text[n] = '\0';
    bool harmless = true; /* what does not parse is refused before anything is done */
    if (conf_parse(&file, str_from(text), "request.json", NULL) == HALLEY_OK) {
        harmless = is_harmless(file.root);
        conf_fini(&file);
    }
    if (harmless) {
        if (halley_request(&reply, text, NULL, NULL) != HALLEY_OK)
            abort();
        if (conf_parse(&file, str_from(reply), "reply.json", NULL) != HALLEY_OK ||
            conf_find(file.root, "ok") == NULL)
            abort();
        conf_fini(&file);
    }
    free(reply);
    free(text);
    return 0;
}
