/* halley-stack(5): stack files, from the tables of their keys and constants. */
#include "base/number/number.h"
#include "cli/commands.h"
#include "halley/stack.h"

static bool list_stack_key(request_entry *out, size_t i)
{
    halley_file_key k;
    if (!halley_stack_key(&k, i))
        return false;
    *out = (request_entry){.name = k.key,
                           .doc = k.doc,
                           .by_default = k.by_default,
                           .example = k.example,
                           .values = k.names};
    return true;
}

static bool list_stack_constant(request_entry *out, size_t i)
{
    if (i >= HALLEY_N_CONSTANTS)
        return false;
    const halley_constant_info *info = halley_constant_get((halley_constant)i);
    *out = (request_entry){.name = info->key, .doc = info->doc};
    snprintf(out->room, sizeof out->room, "%s%s%s", number_digits(info->value, 6).at,
             *info->unit != '\0' ? " " : "", info->unit);
    out->by_default = out->room;
    return true;
}

static const request_list lists[] = {
    {"keys", list_stack_key}, {"constants", list_stack_constant}, {0}};

const cli_format format_stack = {
    .name = "stack",
    .summary = "calibrated constants of training software",
    .description =

        "A stack file is YAML or JSON and describes one framework and a range of its "
        "releases:\n\n"
        "  name: mine\n"
        "  framework: megatron-core\n"
        "  from: \"2025\"\n"
        "  given: {tp-hidden: 0}\n"
        "  fit: [gemm, attention, hidden-bytes]\n\n"
        "Constants under given are known from another source. Those under fitted were"
        " written by 'halley calibrate'. All others have their defaults. fit lists at"
        " most eight constants that a calibration may change. 'halley presets NAME' "
        "shows the files that come with halley, and 'halley estimate --explain' shows"
        " every constant with its value, unit and origin. A constant out of its "
        "bounds and an unknown key are errors.",
    .lists = lists,
    .commands = "calibrate",
};
