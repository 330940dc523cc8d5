/* request/reader.h - a request from its text to a call: the verb and its options. */
#ifndef REQUEST_READER_H
#define REQUEST_READER_H

#include "base/conf/conf.h"
#include "request/verb.h"

/* A request being read. {.err = ...} to start with; `call` may have a watch and notes. */
typedef struct request_reader {
    request_call call;
    conf_file file;
    arena memory; /* of options and texts */
    char *options;
    const char **args;
    halley_error *err;
} request_reader;

/* Whom a request comes from, and how it is carried out; {0} = the process itself. */
typedef struct request_terms {
    bool is_foreign;           /* a stranger's: files only within the root (files.h) */
    bool is_read_only;         /* of a foreign one: it writes no file */
    const halley_watch *watch; /* may be NULL */
} request_terms;
/* halley_request on these terms. */
halley_status request_answer(char **reply, const char *json, const request_terms *terms,
                             halley_error *err);

/* Fill r->call from the text. The options lend from `r` until request_reader_fini, which
 * is due after a failure, too. */
halley_status request_read(request_reader *r, const char *json);
void request_reader_fini(request_reader *r);

#endif
