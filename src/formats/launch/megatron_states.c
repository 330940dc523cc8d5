/*
 * The bytes that Megatron stores per parameter: gradients, and the states of the
 * optimizer. Adam keeps a copy of the weights and two moments, four bytes each. The
 * precision-aware optimizer keeps them in the formats that the arguments name. With
 * weights in bf16, it stores only the other 16 bits of an fp32 copy.
 */
#include "base/number/number.h"
#include "launch/args.h"

#include <string.h>

enum { NO_KEY = -1 };

/* The bytes of a format; `otherwise` for "auto" or if absent. */
static double read_format_bytes(launch_args *a, const char *name, double otherwise)
{
    static const struct {
        const char *word;
        double bytes;
    } formats[] = {{"fp32", 4}, {"float32", 4},  {"fp16", 2}, {"float16", 2},
                   {"bf16", 2}, {"bfloat16", 2}, {"fp8", 1},  {"uint8", 1}};
    str word = launch_args_text(a, name, STR("auto"), NO_KEY);
    if (str_starts(word, STR("torch.")))
        word = (str){word.at + strlen("torch."), word.n - strlen("torch.")};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (str_eq(word, str_from(formats[i].word)))
            return formats[i].bytes;
    if (!str_eq(word, STR("auto")))
        launch_args_fail(a, HALLEY_EINVAL,
                         "%s%s must be fp32, bf16, fp16 or fp8, is \"%.*s\"", a->dashes,
                         name, STR_ARG(word));
    return otherwise;
}

static void set_bytes(launch_args *a, halley_plan_key key, double bytes)
{
    launch_set(a->launch, key, number_shortest(bytes).at);
}

static bool is_value(const launch_args *a, halley_plan_key key, const char *text)
{
    const char *value = a->launch->value[key];
    return value != NULL && strcmp(value, text) == 0;
}

/* The precision-aware optimizer; without the flag, its arguments have no effect. */
static void read_aware_optimizer(launch_args *a)
{
    const bool is_aware = launch_args_has(a, "use-precision-aware-optimizer");
    const double gradient = read_format_bytes(a, "main-grads-dtype", 4);
    const double first = read_format_bytes(a, "exp-avg-dtype", 4);
    const double second = read_format_bytes(a, "exp-avg-sq-dtype", 4);
    double copy = read_format_bytes(a, "main-params-dtype", 4);
    if (!is_aware)
        return;
    if (copy == 4 && (is_value(a, HALLEY_KEY_DTYPE, "bf16") ||
                      is_value(a, HALLEY_KEY_FP8_PARAMS, "no")))
        copy = 2; /* the other half is the weight itself */
    set_bytes(a, HALLEY_KEY_OPTIMIZER_MEMORY, copy + first + second);
    if (launch_args_has(a, "main-grads-dtype"))
        set_bytes(a, HALLEY_KEY_GRADIENT_MEMORY, gradient);
}

/* Megatron's FSDP has its own formats; "auto" is the gradient's own format. */
static void read_fsdp_formats(launch_args *a)
{
    const bool is_fsdp = launch_args_has(a, "use-megatron-fsdp use-custom-fsdp");
    const double kept = read_format_bytes(a, "megatron-fsdp-main-grads-dtype", 0);
    const double sent = read_format_bytes(a, "megatron-fsdp-grad-comm-dtype", kept);
    const double copy = read_format_bytes(a, "megatron-fsdp-main-params-dtype", 0);
    if (is_fsdp && kept > 0)
        set_bytes(a, HALLEY_KEY_GRADIENT_MEMORY, kept);
    if (is_fsdp && sent > 0)
        set_bytes(a, HALLEY_KEY_GRADIENT_BYTES, sent < 4 ? 2 : 4);
    if (is_fsdp && copy > 0 && copy < 4)
        set_bytes(a, HALLEY_KEY_OPTIMIZER_MEMORY, copy + 8);
}

void launch_megatron_states(launch_args *a)
{
    static const struct {
        const char *word;
        double bytes;
    } optimizers[] = {{"adam", 0}, {"adamw", 0},     {"sgd", 8},     {"lion", 8},
                      {"muon", 8}, {"dist_muon", 8}, {"cpu_adam", 0}};
    const str word = launch_args_text(a, "optimizer", STR("adam"), NO_KEY);
    bool is_known = false;
    for (size_t i = 0; i < sizeof optimizers / sizeof *optimizers; i++) {
        if (!str_eq(word, str_from(optimizers[i].word)))
            continue;
        is_known = true;
        if (optimizers[i].bytes > 0)
            set_bytes(a, HALLEY_KEY_OPTIMIZER_MEMORY, optimizers[i].bytes);
    }
    if (!is_known)
        import_note(a->launch->import,
                    "The optimizer %.*s is counted with the memory of Adam.",
                    STR_ARG(word));
    read_aware_optimizer(a);
    read_fsdp_formats(a);
}
