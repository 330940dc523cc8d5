/*
 * request/spool.h - pipes as documents. A model, plan or study file is opened more than
 * once: to recognise it, then to read it. A pipe (`<(...)`, /dev/stdin) delivers its
 * bytes only once. So its content is read into memory first, and the call gets the path
 * of that copy.
 */
#ifndef REQUEST_SPOOL_H
#define REQUEST_SPOOL_H

#include "request/verb.h"

enum { REQUEST_MAX_SPOOLED = 16 };

typedef struct request_spooled {
    int fd;           /* of the copy */
    char path[32];    /* of the copy */
    const char *name; /* that the user gave */
} request_spooled;

typedef struct request_spool {
    request_spooled at[REQUEST_MAX_SPOOLED];
    size_t n;
} request_spool;

/* Replace the pipes among the call's documents; {0} is an empty spool. */
halley_status request_spool_fill(request_spool *spool, request_call *call,
                                 halley_error *err);
/* Free the copies. In an error, the user's name replaces that of the copy. */
void request_spool_fini(request_spool *spool, halley_error *err);

#endif
