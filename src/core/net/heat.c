/* net/heat.c - bins that double. */
#include "net/heat.h"

#include "base/array.h"

#include <assert.h>

bool net_heat_init(net_heat *h, uint32_t n_rows, uint64_t bin_ticks)
{
    *h = (net_heat){.bin_ticks = bin_ticks, .n_rows = n_rows};
    assert(bin_ticks > 0);
    h->busy = mem_array_zero((size_t)n_rows * NET_HEAT_BINS, sizeof *h->busy);
    return h->busy != NULL;
}

void net_heat_fini(net_heat *h)
{
    free(h->busy);
    *h = (net_heat){0};
}

/* Join neighbouring bins, so that twice the time fits. */
static void join_bins(net_heat *h)
{
    assert(h->bin_ticks > 0 && h->bin_ticks < UINT64_MAX / 2);
    h->bin_ticks *= 2;
    for (uint32_t r = 0; r < h->n_rows; r++) {
        float *row = h->busy + (size_t)r * NET_HEAT_BINS;
        for (size_t i = 0; i < NET_HEAT_BINS; i++)
            row[i] = i < NET_HEAT_BINS / 2 ? row[2 * i] + row[2 * i + 1] : 0;
    }
}

void net_heat_add(net_heat *h, uint32_t row, uint64_t begin, uint64_t ticks)
{
    net_heat_spread(h, row, begin, ticks, (double)ticks);
}

void net_heat_spread(net_heat *h, uint32_t row, uint64_t begin, uint64_t ticks,
                     double busy)
{
    assert(h->busy != NULL && row < h->n_rows && h->bin_ticks > 0);
    if (ticks == 0 || begin + ticks < begin)
        return;
    const double share = busy / (double)ticks;
    while ((begin + ticks - 1) / h->bin_ticks >= NET_HEAT_BINS &&
           h->bin_ticks < UINT64_MAX / 4)
        join_bins(h);
    float *bins = h->busy + (size_t)row * NET_HEAT_BINS;
    while (ticks > 0) {
        const uint64_t bin = begin / h->bin_ticks;
        const uint64_t room = (bin + 1) * h->bin_ticks - begin;
        const uint64_t part = ticks < room ? ticks : room;
        assert(bin < NET_HEAT_BINS && part > 0);
        bins[bin] += (float)((double)part * share);
        begin += part;
        ticks -= part;
    }
}

uint32_t net_heat_count(const net_heat *h, uint64_t end)
{
    if (h->busy == NULL)
        return 0;
    const uint64_t n = end / h->bin_ticks + 1;
    return n > NET_HEAT_BINS ? NET_HEAT_BINS : (uint32_t)n;
}

double net_heat_get(const net_heat *h, uint32_t row, uint32_t bin)
{
    assert(h->busy != NULL && row < h->n_rows && bin < NET_HEAT_BINS);
    return (double)h->busy[(size_t)row * NET_HEAT_BINS + bin] / (double)h->bin_ticks;
}
