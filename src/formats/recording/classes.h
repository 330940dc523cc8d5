/*
 * recording/classes.h - kernel classes for an execution trace linked with a Kineto file,
 * and the facts of its device half. The device half is read a second time, as a recording
 * (recording/record), so that both types of traces have the same classes.
 */
#ifndef RECORDING_CLASSES_H
#define RECORDING_CLASSES_H

#include "halley/ingest.h"
#include "recording/record/read.h"
#include "recording/record/rules.h"

typedef struct link_classes {
    rec_list list; /* one rank, or none if nothing is known */
    rec_rules rules;
    map64 work_of; /* times and name -> work */
    strbuf facts;  /* JSON, as in the metadata of recordings */
    bool has_rules;
} link_classes;

/* Read the classes. `c` is {0} before; call link_classes_fini after, also on failure. A
 * file that cannot be read as a recording has no classes. */
halley_status link_classes_read(link_classes *c, const char *path,
                                const halley_link_report *report, int64_t zero_ns,
                                halley_error *err);
void link_classes_fini(link_classes *c);

/* The device work with these times and name; NULL = unknown. */
const rec_work *link_classes_find(const link_classes *c, int64_t begin_ns, int64_t end_ns,
                                  str name);

#endif
