/* hw/graph/foreign.c - chooses the format of a network file of another program. */
#include "hw/graph/foreign.h"

#include "base/format.h"

halley_status hw_graph_import(hw_graph **out, str text, const char *path,
                              const hw_import_options *options, halley_error *err)
{
    const format_row *row = NULL;
    if (options->format.n > 0)
        TRY(format_find(&row, FORMAT_TOPOLOGY, FORMAT_READ, options->format, err));
    else
        row = format_detect(FORMAT_TOPOLOGY, text, path);
    if (row == NULL) {
        error_set(err, HALLEY_EFORMAT,
                  "the file is in no format that halley knows; name one with --format "
                  "[unsupported]");
        error_at_file(err, path);
        return HALLEY_EFORMAT;
    }
    const format_source from = {.text = text, .path = path, .options = options};
    return row->read(out, row, &from, err);
}

halley_status hw_graph_export(strbuf *to, const hw_graph *g, str format,
                              const hw_export_options *options, halley_error *err)
{
    const format_row *row;
    TRY(format_find(&row, FORMAT_TOPOLOGY, FORMAT_WRITE, format, err));
    TRY(row->write(to, g, options, err));
    return to->failed ? error_nomem(err) : HALLEY_OK;
}
