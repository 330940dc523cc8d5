/* topology/export/export.c - code that the writers of network files share. */
#include "topology/export/export.h"

#include "base/number/number.h"

#include <stdarg.h>
#include <stdio.h>

halley_status hw_refuse_export(halley_error *err, const char *format, ...)
{
    char text[600];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return error_set(err, HALLEY_EINVAL, "%s [unsupported]", text);
}

halley_status hw_require_known(const hw_graph *g, const char *format, halley_error *err)
{
    for (uint32_t i = 0; i < g->n_links; i++) {
        char name[300];
        if (g->link_Bps[i] > 0 && g->link_latency_s[i] >= 0)
            continue;
        hw_graph_link_name(g, i, name, sizeof name);
        if (g->link_Bps[i] == 0)
            return hw_refuse_export(err, "the link %s has failed, which %s cannot say",
                                    name, format);
        return hw_refuse_export(
            err,
            "%s needs a rate and a latency for every link, and those of "
            "%s are unknown; give them with --link %s=RATE,LATENCY",
            format, name, g->kinds[g->link_kind[i]].name);
    }
    return HALLEY_OK;
}

void hw_add_gbps(strbuf *to, double bw_Bps)
{
    strbuf_printf(to, "%s", number_digits(bw_Bps * 8e-9, 15).at);
}

void hw_add_ns(strbuf *to, double latency_s)
{
    strbuf_printf(to, "%s", number_digits(latency_s * 1e9, 12).at);
}
