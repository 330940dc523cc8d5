/*
 * Failures. Where a file says nothing: one interruption in 50,000 hours of an NPU, which
 * is what Llama 3 405B met (419 unexpected ones in 54 days on 16,384 GPUs: "The Llama 3
 * Herd of Models", 2024, section 3.3.4); a checkpoint of one minute and ten minutes to go
 * on are of the order reported there and depend on storage and launcher: give your own.
 */
#include "hw/failures.h"

#include <stddef.h>

#define FAILURE(key, member, doc)                                                        \
    CONF_FIELD(halley_platform, key, CONF_TYPE_QUANTITY, UNITS_TIME, member, false, doc)
static const conf_field fields[] = {
    FAILURE("npu-mtbf", npu_mtbf_s, "mean time between interruptions by one NPU"),
    FAILURE("checkpoint", checkpoint_s, "to write a checkpoint"),
    FAILURE("restart", restart_s, "from an interruption until training goes on"),
};

halley_status cluster_failures_read(halley_platform *out, const conf_file *file,
                                    const conf_node *map, halley_error *err)
{
    out->npu_mtbf_s = 50000.0 * 3600;
    out->checkpoint_s = 60;
    out->restart_s = 600;
    if (!map)
        return HALLEY_OK;
    TRY(conf_read(out, file, map, fields, sizeof fields / sizeof *fields, true, NULL,
                  err));
    if (out->npu_mtbf_s < 0 || out->checkpoint_s < 0 || out->restart_s < 0)
        return conf_error(file, map, err, HALLEY_EINVAL,
                          "failures: no time may be negative");
    return HALLEY_OK;
}
