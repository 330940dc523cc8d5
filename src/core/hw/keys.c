/* hw/keys.c - the tables of the cluster file, for manuals, checks and forms. */
#include "hw/schema.h"

#include <string.h>

static const hw_part *const parts[] = {
    &hw_part_file,         &hw_part_kind,
    &hw_part_nodes,        &hw_part_fabric,
    &hw_part_topology,     &hw_part_tier,
    &hw_part_wiring,       &hw_part_dimension,
    &hw_part_npu,          &hw_part_memory,
    &hw_part_system,       &hw_part_bus,
    &hw_part_interference, &hw_part_network_interference,
    &hw_part_cost,         &hw_part_failures,
    &hw_part_measured,
};
enum { N_PARTS = sizeof parts / sizeof *parts };

const hw_part *hw_part_get(size_t i)
{
    return i < N_PARTS ? parts[i] : NULL;
}

static const char *name_of_type(const conf_field *f)
{
    static const char *const units[UNITS_N_KINDS] = {
        [UNITS_BYTES] = "bytes, such as \"80 GB\"",
        [UNITS_BANDWIDTH] = "bandwidth, such as \"900 GB/s\"",
        [UNITS_FLOPS] = "rate, such as \"312 TFLOP/s\"",
        [UNITS_TIME] = "time, such as \"1.5 us\"",
        [UNITS_SHARE] = "share, such as \"5 %\"",
        [UNITS_POWER] = "power, such as \"700 W\"",
        [UNITS_MONEY] = "money, such as \"28000 USD\"",
        [UNITS_PRICE] = "price of energy, such as \"0.1 USD/kWh\"",
        [UNITS_RENT] = "rent, such as \"2.5 USD/h\"",
    };
    switch (f->type) {
    case CONF_TYPE_U32:
    case CONF_TYPE_U64:
        return "whole number";
    case CONF_TYPE_DOUBLE:
        return "number";
    case CONF_TYPE_QUANTITY:
        return units[f->unit] == NULL ? "number" : units[f->unit];
    case CONF_TYPE_BOOL:
        return "yes or no";
    case CONF_TYPE_TEXT:
        return "text";
    case CONF_TYPE_ENUM:
        return "one of";
    case CONF_TYPE_NODE:
    case CONF_TYPE_FACT:
        break;
    }
    return "name, list or map";
}

bool halley_cluster_key(halley_file_key *out, const char *part, size_t i)
{
    for (size_t k = 0; k < N_PARTS; k++) {
        if (strcmp(parts[k]->name, part) != 0 || i >= parts[k]->n)
            continue;
        const conf_field *f = &parts[k]->fields[i];
        *out = (halley_file_key){.key = f->key,
                                 .doc = f->doc,
                                 .type = name_of_type(f),
                                 .names = f->names,
                                 .required = f->required,
                                 .by_default = f->by_default,
                                 .example = f->example,
                                 .was = f->was};
        return true;
    }
    return false;
}
