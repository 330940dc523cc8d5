/* astra/dims.c - ASTRA-sim's network file as the dimensions of a cluster of halley's own
 * rules. The caller has recognised it by npus_count. */
#include "astra/dims.h"

#include "astra/astra.h"

#include <assert.h>

static halley_status read_astra_dims(void *out, const format_row *row,
                                     const format_source *from, halley_error *err)
{
    (void)row;
    assert(from->options != NULL);
    return astra_network_from(out, from->options, err);
}

static const format_row network_file = {.name = "astra-sim",
                                        .doc = "ASTRA-sim's network file",
                                        .is_map = true,
                                        .read = read_astra_dims};
static const format_row *const rows[] = {&network_file, NULL};

/* The text is read by others, which ask for the row by its kind. */
static const format_row *detect_nothing(str text, const char *path)
{
    (void)text, (void)path;
    return NULL;
}

const format_set astra_formats = {FORMAT_DIMS, rows, detect_nothing};
