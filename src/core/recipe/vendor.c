/* Which devices a stack runs on, by their vendor. */
#include "base/error.h"
#include "halley/recipe.h"

#include <stdio.h>
#include <string.h>

static bool runs_on(const halley_stack *stack, const char *vendor)
{
    for (int i = 0; i < HALLEY_MAX_VENDORS; i++)
        if (strcmp(stack->vendors[i], vendor) == 0)
            return true;
    return stack->vendors[0][0] == '\0' || vendor[0] == '\0';
}

/* "primus-2026 and torchtitan-2026": stacks that state this vendor. */
static halley_status list_stacks(char *to, size_t size, const char *vendor,
                                 halley_error *err)
{
    char name[HALLEY_NAME];
    size_t n = 0;
    to[0] = '\0';
    for (size_t i = 0; halley_preset_name(name, sizeof name, "stacks", i); i++) {
        halley_stack stack;
        TRY(halley_stack_load(&stack, name, err));
        if (stack.vendors[0][0] == '\0' || !runs_on(&stack, vendor) || n >= size)
            continue;
        const int add = snprintf(to + n, size - n, "%s%s", n > 0 ? ", " : "", name);
        n += add > 0 ? (size_t)add : 0;
    }
    return HALLEY_OK;
}

halley_status halley_stack_check_npu(const halley_stack *stack, const char *npu,
                                     halley_error *err)
{
    char vendor[HALLEY_NAME], generation[HALLEY_NAME], stacks[256];
    TRY(halley_device_kind(vendor, generation, npu, err));
    if (runs_on(stack, vendor))
        return HALLEY_OK;
    TRY(list_stacks(stacks, sizeof stacks, vendor, err));
    return error_set(err, HALLEY_EINVAL, "%s does not run on %s%s%s", stack->name, npu,
                     stacks[0] != '\0' ? "; these stacks do: " : "", stacks);
}
