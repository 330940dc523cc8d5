/* Any text as a topology file of another tool: the first byte chooses the format, or that
 * it is found by content. Small graphs are measured. */
#include "base/format.h"
#include "hw/graph/foreign.h"
#include "hw/graph/measure.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    hw_graph *g = NULL;
    halley_error err = {0};
    if (n == 0)
        return 0;
    const format_row *row = format_get(FORMAT_TOPOLOGY, FORMAT_READ, at[0] % 16);
    const hw_import_options o = {.format = row != NULL ? str_from(row->name) : STR(""),
                                 .npus_per_nic = at[0] >> 7,
                                 .most_devices = 5000};
    char *text = malloc(n); /* so that reading past the end is noticed */
    if (text == NULL)
        return 0;
    memcpy(text, at + 1, n - 1);
    if (hw_graph_import(&g, (str){text, n - 1}, "file", &o, &err) == HALLEY_OK) {
        hw_distances d;
        if (g->n_links < 5000 && hw_graph_distances(&d, g, NULL) == HALLEY_OK)
            free(d.by_hops);
        hw_graph_free(g);
    } else if (err.text[0] == '\0') {
        abort(); /* a failure without a sentence */
    }
    free(text);
    return 0;
}
