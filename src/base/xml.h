/*
 * base/xml.h - read the tags and attributes of small XML files in order.
 *
 * There is no support for schemas, entities and text. Text between tags, comments,
 * declarations and processing instructions are skipped.
 */
#ifndef BASE_XML_H
#define BASE_XML_H

#include "base/str.h"

typedef enum xml_token {
    XML_ERROR, /* r->problem */
    XML_END,
    XML_OPEN, /* r->name, r->attributes; r->is_empty: it closes itself */
    XML_CLOSE /* r->name */
} xml_token;

typedef struct xml_reader {
    str rest;      /* the rest of the input */
    uint32_t line; /* of the last token, from 1 on */
    str name;
    str attributes; /* as written */
    bool is_empty;
    const char *problem;
} xml_reader;

void xml_init(xml_reader *r, str text);
xml_token xml_next(xml_reader *r);
/* The value of an attribute of the tag that was opened last, as written; false: none. */
bool xml_attribute(const xml_reader *r, str name, str *value);

#endif
