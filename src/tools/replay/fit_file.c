/*
 * replay/fit_file.c - write ladders as a cluster file. The times of a machine's
 * collectives over size are a few straight lines, one per protocol. Each line has a
 * latency, a bandwidth, and the size from which the protocol is used. Lines go through
 * measured points, and each is as long as it stays within the tolerance of the points
 * between. The links themselves, on which messages and collectives contend, get one
 * latency and one bandwidth per level.
 */
#include "base/number/number.h"
#include "replay/fit.h"

#include <assert.h>
#include <math.h>

/* The bandwidth of a line that does not rise. */
static const double endless_Bps = 1e15;

static fit_line connect_points(fit_point a, fit_point b)
{
    const double rise = b.seconds - a.seconds;
    const double bw =
        rise > 0 ? fmin((b.bytes - a.bytes) / rise, endless_Bps) : endless_Bps;
    return (fit_line){a.bytes, a.seconds - a.bytes / bw, bw};
}

static bool is_near(const fit_ladder *l, size_t from, size_t to, double tolerance)
{
    const fit_line line = connect_points(l->points.at[from], l->points.at[to]);
    for (size_t i = from; i <= to; i++) {
        const fit_point p = l->points.at[i];
        const double seconds = line.latency_s + p.bytes / line.bw_Bps;
        if (fabs(seconds - p.seconds) > tolerance * p.seconds)
            return false;
    }
    return true;
}

bool fit_find_lines(fit_lines *out, fit_ladder *l, double tolerance)
{
    assert(l->points.n >= 2);
    for (size_t i = 1; i < l->points.n; i++) /* noise must not make larger messages
                                                faster */
        l->points.at[i].seconds =
            fmax(l->points.at[i].seconds, l->points.at[i - 1].seconds);
    for (size_t from = 0; from + 1 < l->points.n;) {
        size_t to = from + 1;
        while (to + 1 < l->points.n && is_near(l, from, to + 1, tolerance))
            to++;
        fit_line line = connect_points(l->points.at[from], l->points.at[to]);
        if (from == 0) {
            line.from_bytes = 0;
            line.latency_s = fmax(line.latency_s, 0);
        }
        if (!array_push(out, line))
            return false;
        from = to;
    }
    return true;
}

/* Least squares of (a + b x - t) / t, by the normal equations. */
fit_line fit_find_line(const fit_ladder *l)
{
    double s11 = 0, s12 = 0, s22 = 0, r1 = 0, r2 = 0;
    for (size_t i = 0; i < l->points.n; i++) {
        const double t = l->points.at[i].seconds, x = l->points.at[i].bytes;
        const double u = 1 / t, v = x / t;
        s11 += u * u, s12 += u * v, s22 += v * v, r1 += u, r2 += v;
    }
    const double det = s11 * s22 - s12 * s12;
    double latency = det > 0 ? (r1 * s22 - r2 * s12) / det : 0;
    double slope = det > 0 ? (s11 * r2 - s12 * r1) / det : 0;
    if (!(latency > 0) || !(slope > 0)) { /* use the end points */
        const fit_line ends =
            connect_points(l->points.at[0], l->points.at[l->points.n - 1]);
        latency = fmax(ends.latency_s, 1e-9);
        slope = 1 / ends.bw_Bps;
    }
    return (fit_line){0, latency, 1 / slope};
}

static const fit_ladder *find_send(const fit_ladder *ladders, size_t n, bool inside)
{
    for (size_t i = 0; i < n; i++)
        if (ladders[i].kind == HALLEY_COLLECTIVE_SEND &&
            (ladders[i].per_node >= ladders[i].n_ranks) == inside)
            return &ladders[i];
    return NULL;
}

static void write_dimension(strbuf *to, const fit_ladder *send, uint32_t size,
                            bool inside)
{
    const fit_line line = send == NULL ? (fit_line){0, 1e-6, 1e9} : fit_find_line(send);
    strbuf_printf(to, "  - {topology: %s, size: %u, bandwidth: %s B/s, latency: %s s}\n",
                  inside ? "fully-connected" : "switch", size,
                  number_digits(line.bw_Bps, 5).at,
                  number_digits(line.latency_s / (inside ? 1 : 2), 5).at);
}

static bool write_measured(strbuf *to, fit_ladder *l)
{
    static const char *const kinds[] = {"all-reduce", "all-gather", "reduce-scatter",
                                        "all-to-all", "broadcast",  "send",
                                        "reduce",     "gather",     "scatter"};
    fit_lines lines = {0};
    bool room = fit_find_lines(&lines, l, 0.05);
    strbuf_printf(to, "  - {collective: %s, ranks: %u, per-node: %u,\n     lines: [",
                  kinds[l->kind], l->n_ranks, l->per_node);
    for (size_t i = 0; room && i < lines.n; i++)
        strbuf_printf(to, "%s[%s B, %s s, %s B/s]", i == 0 ? "" : ",\n             ",
                      number_digits(lines.at[i].from_bytes, 12).at,
                      number_digits(lines.at[i].latency_s, 6).at,
                      number_digits(lines.at[i].bw_Bps, 6).at);
    strbuf_add(to, STR("]}\n"));
    array_fini(&lines);
    return room;
}

bool fit_write_cluster(strbuf *to, fit_ladder *ladders, size_t n, uint32_t n_ranks,
                       uint32_t per_node)
{
    bool room = true;
    const uint32_t n_hosts = n_ranks / per_node;
    strbuf_add(to, STR("# Measured on this machine by halley replay --fit.\n"));
    strbuf_printf(to, "name: fitted\nnpus: %u\nnetwork:\n", n_ranks);
    if (per_node > 1)
        write_dimension(to, find_send(ladders, n, true), per_node, true);
    if (n_hosts > 1)
        write_dimension(to, find_send(ladders, n, false), n_hosts, false);
    strbuf_add(to, STR("measured:\n"));
    for (size_t i = 0; room && i < n; i++)
        room = write_measured(to, &ladders[i]);
    return room && !to->failed;
}
