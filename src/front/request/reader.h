/* request/reader.h - turns the text of a request into a call: the verb and its options.
 */
#ifndef REQUEST_READER_H
#define REQUEST_READER_H

#include "base/conf/conf.h"
#include "request/verb.h"

/* A request that is being read. Start with {.err = ...}; `call` may have a watch and
 * notes. */
typedef struct request_reader {
    request_call call;
    conf_file file;
    arena memory; /* of options and texts */
    char *options;
    const char **args;
    halley_error *err;
} request_reader;

/* Who sent a request, and how it is executed; {0} = the process itself. */
typedef struct request_terms {
    bool is_foreign;     /* sent by a stranger: files only within the root (files.h) */
    bool is_read_only;   /* for a foreign one: it may not write files */
    uint64_t max_output; /* bytes that it may write into files; 0 = any number */
    const halley_watch *watch; /* may be NULL */
} request_terms;
/* As halley_request, on these terms. */
halley_status request_answer(char **reply, const char *json, const request_terms *terms,
                             halley_error *err);

/* Fill r->call from the text. The options lend from `r` until request_reader_fini, which
 * must be called after a failure, too. */
halley_status request_read(request_reader *r, const char *json);
void request_reader_fini(request_reader *r);

#endif
