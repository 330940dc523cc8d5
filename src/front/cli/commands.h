/* cli/commands.h - every command of halley, each defined in its cmd_<name>.c. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/cli.h"

extern const cli_program cli_halley;

/* The words to use instead of argv. They differ if the program was called by a name of
 * ASTRA-sim's programs or with HTSim's options. Memory comes from `memory`. */
char **cli_astra_words(arena *memory, int *argc, char **argv);
/* Run the program. If it is called by a name of Chakra's or ASTRA-sim's programs, it
 * behaves as that; else cli_main. */
int cli_start(int argc, char **argv);

/* Kinds of files, each in its format_<name>.c. */
extern const cli_format format_cluster;
extern const cli_format format_json;
extern const cli_format format_model;
extern const cli_format format_plan;
extern const cli_format format_stack;
extern const cli_format format_study;

extern const request_verb cmd_help;
extern const request_verb cmd_replay;
extern const request_verb cmd_request;
extern const request_verb cmd_serve;
extern const request_verb cmd_trace_learn;
extern const request_verb cmd_trace_synth;

#endif
