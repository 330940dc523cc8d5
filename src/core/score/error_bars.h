/* score/error_bars.h - shared by the code that makes error bars and the code that reads
 * them. */
#ifndef SCORE_ERROR_BARS_H
#define SCORE_ERROR_BARS_H

#include "halley/error_bar.h"
#include "hw/cluster.h"

typedef enum bar_kind { BAR_DENSE, BAR_MOE, BAR_TPU, BAR_OTHER, BAR_N_KINDS } bar_kind;
extern const char *const bar_kind_names[BAR_N_KINDS + 1];
bar_kind bar_kind_of(const halley_model *model, const halley_plan *plan,
                     const halley_cluster *cluster);
/* The family whose constants price a design: "llm", "adapters", ...; static. */
const char *bar_family_name(const halley_model *model, const halley_plan *plan);

/* What decides how far a system is from those that were measured. */
typedef enum bar_range {
    BAR_DOMAIN,    /* NPUs of a scale-up domain */
    BAR_NIC,       /* bytes per second and NPU between domains */
    BAR_BANDWIDTH, /* bytes per second of the device's memory */
    BAR_FLOPS,     /* 16-bit peak */
    BAR_N_RANGES
} bar_range;
extern const char *const bar_range_names[BAR_N_RANGES + 1];
/* 0 = the system does not state it. */
double bar_range_value(const halley_cluster *cluster, bar_range which);

#endif
