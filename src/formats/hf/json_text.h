/* hf/json_text.h - JSON as Python's libraries write it. */
#ifndef HF_JSON_TEXT_H
#define HF_JSON_TEXT_H

#include "base/conf/conf.h"

/*
 * Load a JSON file, gzipped or not, or the config.json of a folder. A byte order mark is
 * skipped. Python writes NaN, Infinity and -Infinity. They are read as texts, so that
 * they are an error only where a number is needed.
 */
halley_status import_json_load(conf_file *out, const char *path, halley_error *err);
/* The same from memory. */
halley_status import_json_parse(conf_file *out, str text, const char *name,
                                halley_error *err);

#endif
