/* A platform as the text of a cluster file, and such a text as a cluster. */
#include "hw/platform_text.h"

#include "base/conf.h"
#include "base/error.h"
#include "hw/astra.h"
#include "hw/cluster.h"

#include <stdio.h>
#include <string.h>

void cluster_describe_platform(strbuf *to, const halley_platform *p, uint32_t n)
{
    uint32_t near = p->per_node < n ? p->per_node : n;
    while (n % near)
        near--;
    const double share = p->up.simple.share > 0 ? p->up.simple.share : 1;
    const double far = p->out.share > 0 ? p->out.share : 1;
    strbuf_printf(to,
                  "name: %s\nnpus: %u\nnpu:\n  peak: {bf16: %.6g FLOP/s}\n  memory:\n",
                  p->name, n, p->npu.peak_flops[HALLEY_BF16]);
    for (uint32_t i = 0; i < p->npu.n_tiers && i < 2; i++)
        strbuf_printf(to, "    - {name: m%u, capacity: %.6g B, bandwidth: %.6g B/s}\n", i,
                      p->npu.tiers[i].capacity_bytes, p->npu.tiers[i].bandwidth_Bps);
    strbuf_printf(to,
                  "network:\n  - {name: up, topology: switch, size: %u, bandwidth: %.6g "
                  "B/s, latency: %.6g s}\n",
                  near, p->up.bandwidth_Bps * share, p->up.simple.hop_s / 2);
    if (n / near > 1)
        strbuf_printf(to,
                      "  - {name: out, topology: switch, size: %u, bandwidth: %.6g B/s, "
                      "latency: %.6g s}\n",
                      n / near, p->out.bandwidth_Bps * far, p->out.hop_s[2] / 2);
}

halley_status cluster_from_text(halley_cluster **out, const strbuf *text,
                                const char *name, halley_error *err)
{
    conf_file file;
    halley_cluster *c = cluster_new();
    halley_status status =
        c ? conf_parse(&file, strbuf_str(text), name, err) : error_nomem(err);
    if (status == HALLEY_OK) {
        status = cluster_own_from(c, &file, err);
        conf_fini(&file);
    }
    if (status == HALLEY_OK)
        *out = c;
    else
        halley_cluster_free(c);
    return status;
}

bool cluster_names_platform(const char *name)
{
    const char *const colon = strrchr(name, ':');
    char front[HALLEY_NAME];
    uint64_t n;
    snprintf(front, sizeof front, "%.*s", colon ? (int)(colon - name) : -1, name);
    return halley_preset_text("platforms", front) != NULL ||
           (colon && str_to_u64(str_from(colon + 1), &n));
}

halley_status cluster_from_platform(halley_cluster **out, const char *name,
                                    halley_error *err)
{
    halley_platform p;
    uint32_t n;
    TRY(halley_platform_load_some(&p, &n, name, err));
    if (n == 0)
        return error_set(err, HALLEY_EINVAL,
                         "cluster \"%s\": say how many NPUs it has, such as %s:%u", name,
                         name, p.per_node);
    strbuf text = {0};
    cluster_describe_platform(&text, &p, n);
    const halley_status status =
        text.failed ? error_nomem(err) : cluster_from_text(out, &text, name, err);
    strbuf_fini(&text);
    return status;
}
