/*
 * report/tracks.h - the rows of a timeline, and single events as Chrome trace events,
 * which Perfetto and chrome://tracing open.
 */
#ifndef REPORT_TRACKS_H
#define REPORT_TRACKS_H

#include "base/hash.h"
#include "base/str.h"
#include "halley/trace.h"

/* The kinds of work, each with its own row if no thread or stream is recorded. */
typedef enum tracks_kind {
    TRACKS_CPU,
    TRACKS_GPU,
    TRACKS_COMM,
    TRACKS_RECV,
    TRACKS_MEMORY,
    TRACKS_OTHER,
    TRACKS_N_KINDS
} tracks_kind;
extern const char *const tracks_kind_names[TRACKS_N_KINDS];
tracks_kind tracks_kind_of(const halley_trace *t, uint32_t node);

/* The row of a node: its recorded thread or stream, else its kind. Rows below
 * TRACKS_N_KINDS are kinds. */
uint64_t tracks_of(const halley_trace *t, uint32_t node);
/* "thread 3", "stream 7", "GPU". */
void tracks_name(strbuf *to, uint64_t track);

/* An attribute as a whole number; 0 if there is none. */
uint64_t tracks_attr(const halley_trace *t, uint32_t node, const char *name);
/* Bytes that the node moves, or 0. */
uint64_t tracks_bytes(const halley_trace *t, uint32_t node);

/* Events. The caller writes the comma before them. */
typedef struct tracks_event {
    uint64_t pid, tid;
    double start_us, duration_us;
    bool is_rich; /* add what recordings contain: category, class, group, shapes */
} tracks_event;
void tracks_add_node(strbuf *to, const halley_trace *t, uint32_t node,
                     const tracks_event *event);
/* One end of an arrow; both ends have the same id. */
void tracks_add_arrow(strbuf *to, bool is_end, uint64_t id, const tracks_event *at);
/* Name a process or a row: `what` is "process_name" or "thread_name". */
void tracks_add_name(strbuf *to, uint64_t pid, uint64_t tid, const char *what, str name);

#endif
