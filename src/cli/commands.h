/* cli/commands.h - every command of halley, each defined in its cmd_<name>.c. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/cli.h"

extern const cli_program cli_halley;

/* Kinds of files, each in its format_<name>.c. */
extern const cli_format format_cluster;
extern const cli_format format_model;
extern const cli_format format_plan;
extern const cli_format format_stack;
extern const cli_format format_study;
extern const cli_list study_keys[]; /* of study files */

extern const cli_command cmd_calibrate;
extern const cli_command cmd_estimate;
extern const cli_command cmd_explore;
extern const cli_command cmd_help;
extern const cli_command cmd_plan;
extern const cli_command cmd_presets;
extern const cli_command cmd_results;
extern const cli_command cmd_score;
extern const cli_command cmd_sim;
extern const cli_command cmd_topology_check;
extern const cli_command cmd_topology_flows;
extern const cli_command cmd_topology_show;
extern const cli_command cmd_trace_check;
extern const cli_command cmd_trace_compare;
extern const cli_command cmd_trace_convert;
extern const cli_command cmd_trace_diff;
extern const cli_command cmd_trace_gen;
extern const cli_command cmd_trace_link;
extern const cli_command cmd_trace_info;
extern const cli_command cmd_trace_learn;
extern const cli_command cmd_trace_merge;
extern const cli_command cmd_trace_obfuscate;
extern const cli_command cmd_trace_scale;
extern const cli_command cmd_trace_slice;
extern const cli_command cmd_trace_synth;
extern const cli_command cmd_trace_view;

#endif
