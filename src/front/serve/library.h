/*
 * serve/library.h - libmicrohttpd, opened only when a server starts. It loads a TLS
 * library, which would double the start-up time of every other command.
 */
#ifndef SERVE_LIBRARY_H
#define SERVE_LIBRARY_H

#include "base/error.h"

#include <microhttpd.h>

/* The functions that are used, by their names without MHD_. */
#define SERVE_LIBRARY(F)                                                                 \
    F(add_response_header)                                                               \
    F(create_response_from_buffer)                                                       \
    F(create_response_from_callback)                                                     \
    F(create_response_from_fd64)                                                         \
    F(destroy_response)                                                                  \
    F(get_connection_values)                                                             \
    F(get_connection_info)                                                               \
    F(lookup_connection_value)                                                           \
    F(lookup_connection_value_n)                                                         \
    F(queue_response)                                                                    \
    F(start_daemon)                                                                      \
    F(stop_daemon)

#define SERVE_LIBRARY_MEMBER(name) __typeof__(&MHD_##name) name;
typedef struct serve_library {
    SERVE_LIBRARY(SERVE_LIBRARY_MEMBER)
} serve_library;
#undef SERVE_LIBRARY_MEMBER

/* Set once, before threads are started. */
extern serve_library serve_http;
halley_status serve_library_open(halley_error *err);

#endif
