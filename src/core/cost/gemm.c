/*
 * The time of a matmul on a throughput device, in closed form.
 *
 * The output is divided into tiles, which are assigned to the cores in waves. Per unit of
 * k, a tile costs the larger of its multiplications and of loading its two operand strips
 * from the shared cache. Each wave adds a fixed fill time. The library uses the best of
 * four tile shapes. If there are fewer tiles than cores, it may split k over idle cores
 * and add the partial results. Memory traffic runs in parallel with this; the shorter of
 * the two is only partly overlapped. Under sustained load the clock rate falls.
 *
 *   tiles = w ceil(m/bm) ceil(n/bn) + (1-w) max(1,m/bm) max(1,n/bn)
 *
 *   waves = max(1, w ceil(tiles/S) + (1-w) tiles/S)
 *
 *   T = min over tile shapes of waves (k step + fill),
 *       or with split k: k step/s + fill + split + partials
 *
 *   t = launch + max(T,M) + serial min(T,M)
 *
 * Here w is the quantisation, S the number of cores, s the number of splits of k and M
 * the time of the memory traffic.
 *
 * Measured on A100, H100, H200, B200, GB200 (aiconfigurator tables): 6.0 to 7.8 % mean
 * error above 1e9 FLOP on shapes that were not fitted. Known to be wrong: k <= 128 (9-12
 * %), A100 with less than one wave (13 %). Shapes with n or k not a multiple of 32 were
 * never measured.
 */
#include "cost/gemm.h"

#include <math.h>

static const double tile_m[COST_N_TILES] = {64, 64, 128, 128};
static const double tile_n[COST_N_TILES] = {64, 128, 128, 256};

/* Constants that hold for all devices of the study. Writing an output element causes 1.3
 * times its two bytes of traffic. A partial result moves 24 bytes per element. k is split
 * into pieces of at least 256. */
static const double output_bytes = 1.3 * 2;
static const double partial_bytes = 24;
static const double split_k = 256;

/* With S elements on chip, a matmul of m x n x k moves at least 2 m n k / sqrt(S)
 * elements (Hong and Kung 1981). The constant is that of Smith et al. 2019. */
static double count_streamed(double on_chip)
{
    return on_chip > 0 ? 2 / sqrt(on_chip) : 0;
}

cost_gemm cost_gemm_make(const halley_npu *npu, const halley_gemm_rates *rates,
                         double peak_flops, double in_bytes)
{
    const double n_cores = npu->n_cores ? npu->n_cores : 1;
    const double load_Bps = rates->load_Bps > 0 ? rates->load_Bps : 1e18;
    cost_gemm g = {.n_cores = n_cores,
                   .flop_s = 1 / peak_flops,
                   .in_bytes = in_bytes,
                   .rates = *rates};
    for (int i = 0; i < COST_N_TILES; i++) {
        const double math =
            2 * tile_m[i] * tile_n[i] * n_cores / (rates->efficiency * peak_flops);
        const double load = (tile_m[i] + tile_n[i]) * in_bytes / load_Bps;
        g.step_s[i] = math > load ? math : load;
    }
    g.memory_s = 1 / (rates->memory_share * npu->tiers[0].bandwidth_Bps);
    g.split_byte_s = partial_bytes / (load_Bps * n_cores);
    g.round_to = npu->round_to;
    g.streamed = count_streamed(npu->on_chip_bytes / in_bytes);
    g.streamed_fitted = count_streamed(npu->fitted_on_chip_bytes / in_bytes);
    return g;
}

/* Factor on the measured traffic: more if on-chip memory is smaller than on the device on
 * which the rates were measured, less if it is larger. */
static double scale_traffic(const cost_gemm *g, double m, double n, double k)
{
    if (g->streamed == g->streamed_fitted)
        return 1;
    const double once = (m + n) * k + m * n, mnk = m * n * k;
    return fmax(once, g->streamed * mnk) / fmax(once, g->streamed_fitted * mnk);
}

static double round_up_to_tile(double x, double to)
{
    return to > 1 ? ceil(x / to) * to : x;
}

static double at_least_one(double x)
{
    return x > 1 ? x : 1;
}

/* The time if k is split over the cores that would be idle; a very long time if splitting
 * makes no sense. */
static double split_time(const cost_gemm *g, double tiles, double step, double mn,
                         double k)
{
    const double by_cores = floor(g->n_cores / tiles), by_k = floor(k / split_k);
    const double s = by_cores < by_k ? by_cores : by_k;
    if (s < 2)
        return HUGE_VAL;
    return step / s + g->rates.fill_s + g->rates.split_s + g->split_byte_s * s * mn;
}

static double compute_gemm_time(const cost_gemm *g, double m, double n, double k,
                                double groups)
{
    const double w = g->rates.quantisation;
    double best = HUGE_VAL;
    for (int i = 0; i < COST_N_TILES; i++) {
        const double a = m / tile_m[i], b = n / tile_n[i];
        double tiles = (1 - w) * at_least_one(a) * at_least_one(b);
        if (w > 0)
            tiles += w * ceil(a) * ceil(b);
        tiles *= groups;
        double waves = tiles / g->n_cores;
        if (w > 0)
            waves = w * ceil(waves) + (1 - w) * waves;
        const double step = g->step_s[i] * k;
        const double whole = at_least_one(waves) * (step + g->rates.fill_s);
        if (whole < best)
            best = whole;
        if (g->rates.splits && tiles * 2 <= g->n_cores) {
            const double split = split_time(g, tiles, step, groups * m * n, k);
            if (split < best)
                best = split;
        }
    }
    return best;
}

double cost_gemm_time(const cost_gemm *g, double m, double n, double k, double groups,
                      bool sustained)
{
    if (!(m > 0 && n > 0 && k > 0 && groups > 0))
        return 0;
    const double to = g->round_to;
    double t =
        compute_gemm_time(g, round_up_to_tile(m, to > 1 ? 8 : 0), round_up_to_tile(n, to),
                          round_up_to_tile(k, to), groups);
    const double heat = g->rates.throttle;
    if (sustained)
        t *= g->rates.sustained > 0 ? g->rates.efficiency / g->rates.sustained : 1 + heat;
    else
        t *= 1 + heat * t / (t + g->rates.throttle_s);
    const double mem = groups * ((m + n) * k * g->in_bytes + output_bytes * m * n) *
                       g->memory_s * scale_traffic(g, m, n, k);
    const double longer = t > mem ? t : mem, shorter = t > mem ? mem : t;
    return g->rates.launch_s + longer + g->rates.serial_share * shorter;
}

double cost_gemm_traffic(double m, double n, double k, double bytes, double on_chip_bytes)
{
    const double once = (m * k + k * n + m * n) * bytes;
    const double small = (m < n ? m : n) * k * bytes;
    if (on_chip_bytes <= 0 || small <= on_chip_bytes)
        return once;
    /* Keep as large a strip of one operand as fits, and stream the other once per
     * strip. */
    const double strips = ceil(small / on_chip_bytes);
    const double hold_a = m * k + strips * k * n, hold_b = k * n + strips * m * k;
    return ((hold_a < hold_b ? hold_a : hold_b) + m * n) * bytes;
}

double cost_roofline(double flops, double bytes, double peak_flops, double bw_Bps)
{
    const double compute = flops / peak_flops, memory = bytes / bw_Bps;
    return compute > memory ? compute : memory;
}
