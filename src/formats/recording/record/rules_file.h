/* recording/record/rules_file.h - kernel-rules.json as text, made by tools/build/embed.
 */
#ifndef RECORDING_RECORD_RULES_FILE_H
#define RECORDING_RECORD_RULES_FILE_H

extern const char rec_rules_json[];

#endif
