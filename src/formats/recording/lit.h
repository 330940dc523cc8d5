/* recording/lit.h - iterate over the Python list literals that Chakra keeps as text. */
#ifndef RECORDING_LIT_H
#define RECORDING_LIT_H

#include "base/str.h"

typedef struct lit_list {
    const char *at, *end; /* the rest of the list */
} lit_list;

/* Start before the first item. False: the text is not a list. */
bool lit_open(lit_list *list, str text);
/* The next item as text, brackets and quotes included; false at the end. */
bool lit_next(lit_list *list, str *item);
/* Item i of a list; false when it has fewer. */
bool lit_item(str text, size_t i, str *item);

enum { LIT_MAX_DIMS = 16 };
/* The integers of a flat list, at most LIT_MAX_DIMS. False: it has other items. */
bool lit_dims(str text, uint64_t *dims, size_t *n_dims);
/* The text between the quotes of a string item; false when it is none. */
bool lit_text(str item, str *text);

/* A tensor as PyTorch writes one: [id, storage, offset, elements, bytes each, device]. */
typedef struct lit_tensors {
    uint64_t n, n_elements, n_bytes;
} lit_tensors;
/* All tensors in the values of a node, at any depth of nested lists. */
lit_tensors lit_tensors_of(str values);

#endif
