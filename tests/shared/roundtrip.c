/*
 * roundtrip SCRATCH FILE.et... : each file comes back byte for byte from its own trace,
 * and from each style of JSON; Chakra's style equals FILE.json where there is one. Prints
 * what does not hold; exit 1 if anything.
 */
#include "base/file/file.h"
#include "halley/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fault(const char *path, const char *what, const halley_error *err)
{
    char text[2048];
    printf("%s: %s %s\n", path, what,
           err ? halley_error_format(err, text, sizeof text) : "");
    return 1;
}

static int check_encoding(const halley_trace *t, const file_input *in, const char *path,
                          const char *what)
{
    uint8_t *out = NULL;
    size_t n = 0;
    halley_error err = {0};
    if (halley_trace_encode_et(&out, &n, t, &err) != HALLEY_OK)
        return fault(path, what, &err);
    const int differs = n != in->n || (n > 0 && memcmp(out, in->at, n) != 0);
    free(out);
    return differs ? fault(path, what, NULL) : 0;
}

static int same_file(const char *a, const char *b)
{
    file_input x = {0}, y = {0};
    int same = 0;
    if (file_input_open(&x, a, NULL) == HALLEY_OK &&
        file_input_open(&y, b, NULL) == HALLEY_OK)
        same = x.n == y.n && memcmp(x.at, y.at, x.n) == 0;
    file_input_close(&x);
    file_input_close(&y);
    return same;
}

static int check_golden(const char *path, const char *written, unsigned *n_goldens)
{
    char golden[4096];
    snprintf(golden, sizeof golden, "%.*s.json", (int)strlen(path) - 3, path);
    if (!file_exists(golden))
        return 0;
    ++*n_goldens;
    return same_file(golden, written) ? 0 : fault(path, "its JSON differs", NULL);
}

static int check_json(const halley_trace *t, const file_input *in, const char *path,
                      const char *scratch, unsigned *n_goldens)
{
    int n_faults = 0;
    for (int style = HALLEY_JSON_DOCUMENT; style <= HALLEY_JSON_CHAKRA; style++) {
        halley_error err = {0};
        halley_trace *again = NULL;
        if (halley_trace_save_json(t, scratch, (halley_json_style)style, false, NULL,
                                   &err) != HALLEY_OK ||
            halley_trace_load(&again, scratch, NULL, &err) != HALLEY_OK) {
            n_faults += fault(path, "JSON:", &err);
            continue;
        }
        n_faults += check_encoding(again, in, path, "differs after JSON");
        halley_trace_free(again);
        if (style == HALLEY_JSON_CHAKRA)
            n_faults += check_golden(path, scratch, n_goldens);
    }
    return n_faults;
}

int main(int argc, char **argv)
{
    int n_faults = 0;
    unsigned n_goldens = 0;
    for (int i = 2; i < argc; i++) {
        file_input in = {0};
        halley_trace *t = NULL;
        halley_error err = {0};
        if (file_input_open(&in, argv[i], &err) != HALLEY_OK ||
            halley_trace_load(&t, argv[i], NULL, &err) != HALLEY_OK) {
            n_faults += fault(argv[i], "", &err);
        } else {
            if (halley_trace_form_of(t) != HALLEY_FORM_ET)
                n_faults += fault(argv[i], "taken for an old schema", NULL);
            n_faults +=
                check_encoding(t, &in, argv[i], "differs after reading and writing");
            n_faults += check_json(t, &in, argv[i], argv[1], &n_goldens);
        }
        halley_trace_free(t);
        file_input_close(&in);
    }
    printf("%d traces, %u with the JSON of Chakra's own tool, %d faults\n", argc - 2,
           n_goldens, n_faults);
    return n_faults ? 1 : 0;
}
