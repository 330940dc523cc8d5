#include "hf/json_text.h"

#include "base/file/file.h"
#include "base/limit.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A word of Python's JSON, and a JSON text of the same length. */
static const struct {
    str word, text;
} replacements[] = {
    {{"-Infinity", 9}, {"\"-I\"     ", 9}},
    {{"Infinity", 8}, {"\"I\"     ", 8}},
    {{"NaN", 3}, {"\"N\"", 3}},
};

/* Replace these words outside strings, in place. */
static void replace_words(char *text, size_t n)
{
    bool quoted = false;
    for (size_t i = 0; i < n; i++) {
        if (quoted && text[i] == '\\') {
            i++;
            continue;
        }
        if (text[i] == '"')
            quoted = !quoted;
        for (size_t k = 0; !quoted && k < sizeof replacements / sizeof *replacements;
             k++) {
            const str word = replacements[k].word;
            assert(word.n == replacements[k].text.n);
            if (n - i >= word.n && memcmp(text + i, word.at, word.n) == 0) {
                memcpy(text + i, replacements[k].text.at, word.n);
                i += word.n - 1;
                break;
            }
        }
    }
}

halley_status import_json_parse(conf_file *out, str text, const char *name,
                                halley_error *err)
{
    if (str_starts(text, STR("\xef\xbb\xbf")))
        text = (str){text.at + 3, text.n - 3};
    char *copy = malloc(text.n + 1);
    if (copy == NULL)
        return error_nomem(err);
    memcpy(copy, text.at, text.n);
    copy[text.n] = '\0';
    replace_words(copy, text.n);
    const halley_status status = conf_parse(out, (str){copy, text.n}, name, err);
    free(copy);
    return status;
}

halley_status import_json_load(conf_file *out, const char *path, halley_error *err)
{
    char inside[4096];
    if (file_is_folder(path)) {
        const int n = snprintf(inside, sizeof inside, "%s/config.json", path);
        if (n < 0 || (size_t)n >= sizeof inside)
            return error_set(err, HALLEY_ELIMIT, "the path is too long");
        if (!file_exists(inside)) {
            error_set(err, HALLEY_ENOTFOUND, "the folder holds no config.json");
            error_at_file(err, path);
            return HALLEY_ENOTFOUND;
        }
        path = inside;
    }
    file_input in;
    TRY(file_input_open_most(&in, path, LIMIT_CONFIGURATION, err));
    const halley_status status =
        import_json_parse(out, (str){(const char *)in.at, in.n}, path, err);
    file_input_close(&in);
    return status;
}
