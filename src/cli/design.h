/* cli/design.h - the options that name a model, a platform, a stack and a plan. */
#ifndef CLI_DESIGN_H
#define CLI_DESIGN_H

#include "cli/cli.h"
#include "halley/estimate.h"

typedef struct design_options {
    const char *model, *cluster, *stack;
    uint32_t tp, pp, dp, cp, ep, virtual_stages, zero, fsdp, micro_batch, global_batch,
        seq;
    uint32_t recompute, dtype, attention, schedule; /* choices */
    bool sequence_parallel, spread, no_overlap;
    cli_texts offload;
} design_options;

extern const char *const design_recompute[];
extern const char *const design_dtypes[];
extern const char *const design_attention[];

/* The rows for a command's table of options; `member` is a design_options of `type`. */
#define DESIGN_TEXT(type, member, key, field, letter_, meta, text)                       \
    {                                                                                    \
        .name = key, .letter = letter_, .kind = CLI_TEXT, .metavar = meta,               \
        .offset = offsetof(type, member.field), .doc = text                              \
    }
#define DESIGN_NUMBER(type, member, key, field, text)                                    \
    {                                                                                    \
        .name = key, .kind = CLI_U32, .min = 1, .max = 1e9, .metavar = "N",              \
        .offset = offsetof(type, member.field), .doc = text                              \
    }
#define DESIGN_NAMES(type, member)                                                       \
    DESIGN_TEXT(type, member, "model", model, 'm', "MODEL",                              \
                "a preset, a file of ours, config.json, or Megatron arguments"),         \
        DESIGN_TEXT(type, member, "cluster", cluster, 'c', "NAME:N",                     \
                    "a platform preset or file, and how many NPUs of it"),               \
        DESIGN_TEXT(type, member, "stack", stack, 's', "NAME",                           \
                    "the training software, a preset or file (default: none known)"),    \
        DESIGN_NUMBER(type, member, "global-batch", global_batch,                        \
                      "sequences in a step"),                                            \
        DESIGN_NUMBER(type, member, "seq", seq, "tokens in a sequence"),                 \
    {                                                                                    \
        .name = "dtype", .kind = CLI_CHOICE, .choices = design_dtypes,                   \
        .offset = offsetof(type, member.dtype), .doc = "type of the products"            \
    }

/* Load what the options name; *n_npus from NAME:N (0 when not given). */
halley_status design_load(halley_model *model, halley_platform *platform,
                          halley_stack *stack, uint32_t *n_npus, cli_call *call,
                          const design_options *o, halley_error *err);
/* The plan of the options, dp filled to n_npus, checked. */
halley_status design_plan(halley_plan *out, const halley_model *model, uint32_t n_npus,
                          cli_call *call, const design_options *o, halley_error *err);
/* What the library refuses of the user's own words is wrong usage. */
halley_status design_usage(cli_call *call, halley_status status, halley_error *err);

/* "tp 8 pp 8 dp 16 mbs 1 ..." */
void design_describe(char *to, size_t size, const halley_plan *plan);

#endif
