/* hw/vary.h - a cluster with other values in its file: other networks for sweeps. */
#ifndef HW_VARY_H
#define HW_VARY_H

#include "base/conf/conf.h"
#include "hw/cluster.h"

/* One value: "network.tiers.spine.oversubscription" and the text that is written
 * there. */
typedef struct hw_edit {
    const char *path, *text; /* not owned; text as YAML in flow style */
} hw_edit;

/*
 * The cluster whose file has these values, with n NPUs. A path goes through maps by key
 * and through lists by the `name` of the item, or its number. A missing key is added. The
 * caller owns *out. Errors name the value.
 */
halley_status hw_cluster_vary(halley_cluster **out, const halley_cluster *c,
                              const hw_edit *edits, uint32_t n_edits, uint32_t n_npus,
                              halley_error *err);
/* Print a node as YAML in flow style. */
void hw_node_print(strbuf *to, const conf_node *node);

#endif
