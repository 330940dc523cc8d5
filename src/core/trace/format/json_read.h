/* trace/format/json_read.h - shared by the readers of the JSON forms. */
#ifndef TRACE_FORMAT_JSON_READ_H
#define TRACE_FORMAT_JSON_READ_H

#include "base/json.h"
#include "trace/core/store.h"

/* The state of one reading. */
typedef struct json_trace {
    json_reader r;
    halley_builder *b;
    halley_error *err;
    halley_trace_form form;
    /* texts with escapes decoded */
    strbuf scratch, other, name, doc, node_name, version, io[6];
    u64_array ctrl, data;
} json_trace;

/* Report an error at the current token. NULL: the tokenizer's error. */
halley_status json_bad(json_trace *j, const char *what);
/* The text of the current string token. */
halley_status json_text(json_trace *j, halley_bytes *out, strbuf *scratch);
/* These read a value, including its first token. */
halley_status json_take_text(json_trace *j, halley_bytes *out, strbuf *scratch);
halley_status json_take_integer(json_trace *j, halley_attr_kind kind, uint64_t *bits);
halley_status json_take_ids(json_trace *j, u64_array *to);

/* Read the workload_graph document (graph_json.c), whose first key has been read. */
halley_status json_take_graph(json_trace *j);

#endif
