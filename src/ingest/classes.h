/*
 * ingest/classes.h - kernel classes of a pair of execution trace and Kineto file, and
 * what its device half says as a whole. The device half is read once more, as a recording
 * of its own (ingest/record), so that both kinds of traces have the same classes.
 */
#ifndef INGEST_CLASSES_H
#define INGEST_CLASSES_H

#include "halley/ingest.h"
#include "ingest/record/read.h"
#include "ingest/record/rules.h"

typedef struct link_classes {
    rec_list list; /* one rank, or none: nothing is known */
    rec_rules rules;
    map64 work_of; /* times and name -> work */
    strbuf facts;  /* JSON, as in the metadata of recordings */
    bool has_rules;
} link_classes;

/* {0} before; link_classes_fini after, also when this fails. A file that cannot be read
 * in this way has no classes. */
halley_status link_classes_read(link_classes *c, const char *path,
                                const halley_link_report *report, int64_t zero_ns,
                                halley_error *err);
void link_classes_fini(link_classes *c);

/* What ran on the device then, under that name; NULL = not known. */
const rec_work *link_classes_find(const link_classes *c, int64_t begin_ns, int64_t end_ns,
                                  str name);

#endif
