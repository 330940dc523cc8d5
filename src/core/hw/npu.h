/* hw/npu.h - reading one NPU from our YAML. */
#ifndef HW_NPU_H
#define HW_NPU_H

#include "base/conf/conf.h"
#include "halley/npu.h"

/* Fill *out from a map such as presets/npus/a100-sxm4-80gb.yaml. */
halley_status cluster_npu_read(halley_npu *out, const conf_file *file,
                               const conf_node *map, halley_error *err);

/* Find the preset for a profiler's name of a device; false: none is known. */
bool hw_npu_find_recorded(halley_npu *out, const char *device);
/* An NPU of which at most these two values are known (0 = unknown). Efficiencies and
 * times of kernels have defaults. */
void hw_npu_make(halley_npu *out, double peak_flops, double mem_Bps);
/* The scales of a file that states none: nv for devices with fp4 units, else none. */
halley_scales hw_npu_usual_scales(const halley_npu *npu);

/* Read a preset's name, or such a map in place. Errors of the name are reported at
 * `node`. */
halley_status hw_npu_read_any(halley_npu *out, const conf_file *file,
                              const conf_node *node, halley_error *err);

/* The rates for a file that states none. */
extern const halley_gemm_rates hw_gemm_default;

/* Copy a name; an error if it does not fit. */
halley_status cluster_name_copy(char to[HALLEY_NAME], str name, halley_error *err);

/* Read up to `max` numbers with a unit from a list; *n is their number. */
halley_status cluster_list_read(double *out, size_t max, size_t *n, const conf_file *file,
                                const conf_node *list, units_kind unit, const char *key,
                                halley_error *err);

/* The fastest memory outside the device; NULL = none. */
const halley_tier *hw_npu_outer_tier(const halley_npu *npu);

#endif
