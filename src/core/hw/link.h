/* hw/link.h - reading links and fabrics from our YAML. */
#ifndef HW_LINK_H
#define HW_LINK_H

#include "base/conf/conf.h"
#include "halley/link.h"

/* The reached fraction of a fabric's bandwidth, if a file does not state it. */
#define HW_FABRIC_SHARE 0.9

halley_status cluster_link_read(halley_link *out, const conf_file *file,
                                const conf_node *map, halley_error *err);
halley_status cluster_fabric_read(halley_fabric *out, const conf_file *file,
                                  const conf_node *map, halley_error *err);
/* Load by preset name. */
halley_status cluster_link_load(halley_link *out, const char *name, halley_error *err);
halley_status cluster_fabric_load(halley_fabric *out, const char *name,
                                  halley_error *err);
halley_status cluster_npu_load(halley_npu *out, const char *name, halley_error *err);

#endif
