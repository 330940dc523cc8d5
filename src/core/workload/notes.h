/* workload/notes.h - notes that importers record while they read a file. */
#ifndef WORKLOAD_NOTES_H
#define WORKLOAD_NOTES_H

#include "base/arena.h"
#include "base/array.h"
#include "base/str.h"
#include "halley/import.h"

#include <stdbool.h>

struct halley_import {
    arena memory;     /* holds the texts of the entries */
    const char *kind; /* static */
    ARRAY(halley_import_entry) entries;
    bool failed; /* memory ran out; the importer's caller checks this once */
};

/* NULL if memory ran out. */
halley_import *import_new(const char *kind);
/* Add a key; the first value of a key in a list is kept. */
void import_add(halley_import *import, halley_import_list list, str key, str value);
void import_add_number(halley_import *import, halley_import_list list, str key,
                       double value);
/* A sentence about the file. */
void import_note(halley_import *import, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
