/*
 * Fits the constants of devices to tables of measured matmuls and collectives.
 *
 * The fit minimises the mean of sqrt(e^2 + d^2), with e = log(predicted / measured) and d
 * = 0.02, plus a weak pull towards the previous value of each constant. Large matmuls
 * count four times, because training consists of them. The variables are the logarithms
 * of the constants, or the constants themselves if they may be zero.
 *
 * The formulas choose between tiles and protocols, so the objective has kinks. The search
 * therefore uses no derivatives. It changes one constant at a time. Each constant has its
 * own step, which grows on success and shrinks on failure. A part of the shapes is held
 * out, and the error on these is reported.
 *
 * Some constants are not fitted here, because no table contains them: efficiency under
 * the continuous load of training (`sustained`, from training runs), attention,
 * memory-share and misaligned. `gemm-fp8` is not fitted because the table lacks that
 * library; it comes from the GEMM study. The tuner of a link belongs to the library.
 */
#include "base/array.h"
#include "base/file/file.h"
#include "base/hash.h"
#include "cost/gemm.h"
#include "halley/cluster.h"
#include "hw/link.h"
#include "hw/npu.h"
#include "score/csv_read.h"
#include "score/device_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const double flat = 0.02, pull = 1e-4;
static const double large_flop = 1e9, large_weight = 4; /* training has large matmuls */
enum { MAX_SWEEPS = 60 };

typedef struct device {
    halley_npu npu;
    halley_link link;
} device;

/* One number of a preset file: its place in the file and in memory. */
typedef struct constant {
    const char *block, *key, *unit;
    double scale; /* of the unit */
    size_t offset;
    double min, max; /* bounds of the value in memory */
    bool linear;     /* may be zero */
    uint32_t size;   /* of an entry in a list of factors */
} constant;

#define RATE(block, key, unit, scale, member, low, high, linear)                         \
    {                                                                                    \
        block, key, unit, scale, offsetof(device, member), low, high, linear, 0          \
    }
#define RATES(block, of)                                                                 \
    RATE(block, "launch", "us", 1e-6, of.launch_s, 1e-7, 1e-4, false),                   \
        RATE(block, "efficiency", "", 1, of.efficiency, 0.1, 1.05, false),               \
        RATE(block, "fill", "us", 1e-6, of.fill_s, 0, 2e-5, true),                       \
        RATE(block, "memory-share", "", 1, of.memory_share, 0.2, 1.05, false),           \
        RATE(block, "load", "GB/s", 1e9, of.load_Bps, 1e9, 1e13, false),                 \
        RATE(block, "quantisation", "", 1, of.quantisation, 0, 1, true),                 \
        RATE(block, "serial-share", "", 1, of.serial_share, 0, 1, true),                 \
        RATE(block, "split", "us", 1e-6, of.split_s, 1e-7, 1e-4, false),                 \
        RATE(block, "throttle", "", 1, of.throttle, 0, 3, true),                         \
        RATE(block, "throttle-time", "us", 1e-6, of.throttle_s, 1e-5, 0.1, false)
static const constant wide[] = {RATES("gemm", npu.gemm)};
static const constant cast[] = {
    RATES("gemm-fp8-cast", npu.gemm_fp8_cast),
    RATE("cast", "launch", "us", 1e-6, npu.cast_launch_s, 1e-7, 1e-4, false),
    RATE("cast", "memory-share", "", 1, npu.cast_memory_share, 0.1, 1.1, false),
};
#define PROTOCOL(block, of)                                                              \
    RATE(block, "extra", "us", 1e-6, of.extra_s, 1e-8, 1e-3, false),                     \
        RATE(block, "hop", "us", 1e-6, of.hop_s, 1e-8, 1e-3, false),                     \
        RATE(block, "ramp", "us", 1e-6, of.ramp_s, 1e-8, 1e-2, false),                   \
        RATE(block, "ramp-size", "B", 1, of.ramp_bytes, 10, 1e9, false),                 \
        RATE(block, "share", "", 1, of.share, 0.01, 2, false),                           \
        RATE(block, "copy-share", "", 1, of.copy_share, 0.05, 20, false)
#define BY_SIZE(block, of, n)                                                            \
    {                                                                                    \
        block, "value", "", 1, offsetof(device, of) + (n) * sizeof(double), 0.01, 2,     \
            false, n                                                                     \
    }
static const constant link_constants[] = {
    RATE("", "launch", "us", 1e-6, link.launch_s, 1e-7, 1e-3, false),
    PROTOCOL("ll", link.ll),
    PROTOCOL("ll128", link.ll128),
    PROTOCOL("simple", link.simple),
    PROTOCOL("peer-small", link.peer_small),
    PROTOCOL("peer", link.peer),
    RATE("", "simple-overlap", "", 1, link.simple_overlap, 0.05, 5, false),
    RATE("", "integer-slowdown", "", 1, link.int_slowdown, 0.001, 1, false),
    BY_SIZE("ring-factor", link.ring_factor, 4),
    BY_SIZE("ring-factor", link.ring_factor, 8),
    BY_SIZE("peer-factor", link.peer_factor, 4),
    BY_SIZE("peer-factor", link.peer_factor, 8),
};

typedef struct sample {
    double mnk[3];
    coll_call coll;
    double log_s; /* log of the measured time; while repeats are added, their sum */
    uint32_t repeats;
    bool held;
} sample;

typedef struct fitting {
    device d;
    const char *preset;
    bool low; /* the matmuls of 8-bit types are being fitted */
    bool collectives;
    ARRAY(sample) samples[2]; /* [0]: 16-bit matmuls or collectives; [1]: 8-bit matmuls */
    map64 seen[2];
    const constant *constants[HALLEY_MAX_DEVICE]; /* those in the file */
    double start[HALLEY_MAX_DEVICE];
    size_t n;
} fitting;

static double *get_constant(fitting *f, const constant *c)
{
    return (double *)(void *)((char *)&f->d + c->offset);
}

static bool is_ours(const fitting *f, const score_csv_row *row)
{
    const score_system *s = score_system_get(row->system);
    const char *name = row->product ? s->npu : s->link;
    return name && strcasecmp(name, f->preset) == 0;
}

/* The fit uses one in four matmul shapes, because the tables are large, and three in four
 * collectives. The rest are held out. */
static bool keep_aside(const score_csv_row *row, uint64_t key)
{
    return row->product ? key % 4 != 0 : key % 4 == 0;
}

static halley_status add_sample(void *context, const score_csv_row *row,
                                halley_error *err)
{
    fitting *f = context;
    if (!row->known || !is_ours(f, row))
        return HALLEY_OK;
    const int k = row->product && row->low;
    f->collectives = !row->product;
    const double about[] = {row->mnk[0],      row->mnk[1], row->mnk[2],
                            row->coll.bytes,  row->coll.n, row->coll.kind,
                            row->coll.integer};
    const uint64_t key = hash_bytes(about, sizeof about, 3);
    uint32_t i = (uint32_t)f->samples[k].n;
    bool fresh;
    if (!map64_put(&f->seen[k], key, &i, &fresh))
        return error_nomem(err);
    sample s = {.coll = row->coll, .held = keep_aside(row, key)};
    memcpy(s.mnk, row->mnk, sizeof s.mnk);
    if (fresh && !array_push(&f->samples[k], s))
        return error_nomem(err);
    f->samples[k].at[i].log_s += log(row->seconds);
    f->samples[k].at[i].repeats++;
    return HALLEY_OK;
}

typedef struct predictor {
    cost_gemm gemm;
    const fitting *f;
} predictor;

static predictor predictor_of(const fitting *f)
{
    const halley_npu *npu = &f->d.npu;
    predictor p = {.f = f};
    if (f->low)
        p.gemm = cost_gemm_make(npu, &npu->gemm_fp8_cast, npu->peak_flops[HALLEY_FP8], 1);
    else if (!f->collectives)
        p.gemm = cost_gemm_make(npu, &npu->gemm, halley_npu_wide_peak(npu), 2);
    return p;
}

static double predict_sample(const predictor *p, const sample *s)
{
    const fitting *f = p->f;
    const double m = s->mnk[0], n = s->mnk[1], k = s->mnk[2];
    static const halley_fabric none = {.bandwidth_Bps = 1, .share = 1};
    if (f->collectives)
        return coll_call_time(&f->d.link, &none, &s->coll);
    const double t = cost_gemm_time(&p->gemm, m, n, k, 1, false);
    const halley_npu *npu = &f->d.npu;
    return f->low ? t + npu->cast_launch_s +
                        3 * m * k / (npu->cast_memory_share * npu->tiers[0].bandwidth_Bps)
                  : t;
}

/* The mean error of the held-out samples or of the others, in percent; and the
 * objective. */
static double mean_device_error(const fitting *f, bool held, uint32_t *n)
{
    const predictor p = predictor_of(f);
    double sum = 0;
    *n = 0;
    for (size_t i = 0; i < f->samples[f->low].n; i++) {
        const sample *s = &f->samples[f->low].at[i];
        if (s->held != held)
            continue;
        sum += fabs(predict_sample(&p, s) / exp(s->log_s / s->repeats) - 1);
        ++*n;
    }
    return *n ? 100 * sum / *n : 0;
}

static double device_to_x(const constant *c, double value)
{
    return c->linear ? value / (c->max - c->min) * 3 : log(value);
}

static double compute_loss(fitting *f)
{
    const predictor p = predictor_of(f);
    double sum = 0, weights = 0;
    for (size_t i = 0; i < f->samples[f->low].n; i++) {
        const sample *s = &f->samples[f->low].at[i];
        if (s->held)
            continue;
        const double e = log(predict_sample(&p, s)) - s->log_s / s->repeats;
        const double flop = 2 * s->mnk[0] * s->mnk[1] * s->mnk[2];
        const double weight = flop > large_flop ? large_weight : 1;
        sum += weight * sqrt(e * e + flat * flat);
        weights += weight;
    }
    sum /= weights > 0 ? weights : 1;
    for (size_t j = 0; j < f->n; j++) {
        const constant *c = f->constants[j];
        const double off =
            device_to_x(c, *get_constant(f, c)) - device_to_x(c, f->start[j]);
        sum += pull * off * off;
    }
    return sum;
}

static double move_constant(const constant *c, double value, double step)
{
    const double to =
        c->linear ? value + step * (c->max - c->min) / 3 : value * exp(step);
    if (c->linear && to < 1e-3 * c->max)
        return c->min; /* practically zero */
    return to < c->min ? c->min : to > c->max ? c->max : to;
}

static void minimise_loss(fitting *f)
{
    double step[HALLEY_MAX_DEVICE] = {0}, least = compute_loss(f);
    for (size_t j = 0; j < f->n; j++)
        step[j] = 0.1;
    for (int sweep = 0; sweep < MAX_SWEEPS; sweep++) {
        double widest = 0;
        for (size_t j = 0; j < f->n; j++) {
            double *value = get_constant(f, f->constants[j]);
            const double old = *value;
            bool better = false;
            for (int sign = 1; sign >= -1 && !better; sign -= 2) {
                *value = move_constant(f->constants[j], old, sign * step[j]);
                const double now = *value == old ? least : compute_loss(f);
                better = now < least;
                least = better ? now : least;
                step[j] *= better ? sign * 1.5 : 1; /* next time the same way first */
            }
            if (!better) {
                *value = old;
                step[j] *= 0.5;
            }
            widest = fmax(widest, fabs(step[j]));
        }
        if (widest < 1e-3)
            return;
    }
}

static void choose_device(fitting *f, str text, const constant *table, size_t n)
{
    f->n = 0;
    for (size_t i = 0; i < n && f->n < HALLEY_MAX_DEVICE; i++) {
        const constant *c = &table[i];
        if (score_number_find(text, c->block, c->key, c->size).n == 0)
            continue;
        f->constants[f->n] = c;
        f->start[f->n++] = *get_constant(f, c);
    }
}

/* The file's text with the new numbers, and the list of changes. */
static halley_status write_moves(halley_device_fit *out, strbuf *text, fitting *f,
                                 halley_error *err)
{
    for (size_t j = 0; j < f->n; j++) {
        const constant *c = f->constants[j];
        const double value = *get_constant(f, c) / c->scale;
        strbuf next = {0};
        const str number = score_number_find(strbuf_str(text), c->block, c->key, c->size);
        if (!score_number_set(&next, strbuf_str(text), number, value)) {
            strbuf_fini(&next);
            return error_nomem(err);
        }
        strbuf_fini(text);
        *text = next;
        if (out->n_moves == HALLEY_MAX_DEVICE)
            continue;
        halley_device_move *m = &out->moves[out->n_moves++];
        *m = (halley_device_move){
            .unit = c->unit, .from = f->start[j] / c->scale, .to = value};
        snprintf(m->key, sizeof m->key, "%s%s%s", c->block, *c->block ? "." : "", c->key);
        if (c->size)
            snprintf(m->key, sizeof m->key, "%s of %u", c->block, c->size);
    }
    return HALLEY_OK;
}

static halley_status fit_part(halley_device_fit *out, strbuf *text, fitting *f,
                              const constant *table, size_t n, halley_error *err)
{
    uint32_t n_in, n_out;
    if (f->samples[f->low].n == 0)
        return HALLEY_OK;
    choose_device(f, strbuf_str(text), table, n);
    const double before = mean_device_error(f, false, &n_in);
    minimise_loss(f);
    const double after = mean_device_error(f, false, &n_in),
                 held = mean_device_error(f, true, &n_out);
    const double was = out->n_fitted, is = was + n_in;
    out->before_pct = (out->before_pct * was + before * n_in) / is;
    out->after_pct = (out->after_pct * was + after * n_in) / is;
    if (n_out)
        out->held_pct =
            (out->held_pct * out->n_held + held * n_out) / (out->n_held + n_out);
    out->n_fitted += n_in;
    out->n_held += n_out;
    return write_moves(out, text, f, err);
}

static halley_status fit_all(halley_device_fit *out, strbuf *text, fitting *f,
                             halley_error *err)
{
    if (f->collectives)
        return fit_part(out, text, f, link_constants,
                        sizeof link_constants / sizeof *link_constants, err);
    TRY(fit_part(out, text, f, wide, sizeof wide / sizeof *wide, err));
    f->low = true;
    return fit_part(out, text, f, cast, sizeof cast / sizeof *cast, err);
}

static halley_status save_preset_text(const strbuf *text, const char *path,
                                      halley_error *err)
{
    file_output *to;
    TRY(file_output_open(&to, path, err));
    file_output_str(to, (str){text->at, text->n});
    return file_output_commit(to, err);
}

/* Load the preset, as an NPU or as a link. */
static halley_status load_preset_text(fitting *f, strbuf *text, halley_error *err)
{
    char name[HALLEY_NAME];
    for (size_t i = 0; i <= strlen(f->preset) && i < sizeof name; i++)
        name[i] = (char)(f->preset[i] >= 'A' && f->preset[i] <= 'Z' ? f->preset[i] + 32
                                                                    : f->preset[i]);
    name[sizeof name - 1] = '\0';
    const char *npu = halley_preset_text("npus", name);
    const char *link = halley_preset_text("links", name);
    if (!npu && !link)
        return error_set(err, HALLEY_ENOTFOUND,
                         "no NPU or link preset \"%s\"; `halley presets` lists them",
                         f->preset);
    strbuf_add(text, str_from(npu ? npu : link));
    if (text->failed)
        return error_nomem(err);
    return npu ? cluster_npu_load(&f->d.npu, name, err)
               : cluster_link_load(&f->d.link, name, err);
}

halley_status halley_calibrate_device(halley_device_fit *out, const char *csv,
                                      const char *preset, const char *out_path,
                                      halley_error *err)
{
    strbuf text = {0};
    fitting *f = calloc(1, sizeof *f);
    halley_status status = f ? HALLEY_OK : error_nomem(err);
    *out = (halley_device_fit){.size = sizeof *out};
    if (f) {
        f->preset = preset;
        status = load_preset_text(f, &text, err);
    }
    if (status == HALLEY_OK)
        status = score_csv_read(csv, add_sample, f, err);
    if (status == HALLEY_OK && f->samples[0].n + f->samples[1].n == 0)
        status = error_set(err, HALLEY_ENOTFOUND, "%s has no row of \"%s\"", csv, preset);
    if (status == HALLEY_OK)
        status = fit_all(out, &text, f, err);
    if (status == HALLEY_OK && out_path)
        status = save_preset_text(&text, out_path, err);
    strbuf_fini(&text);
    for (int i = 0; f && i < 2; i++) {
        array_fini(&f->samples[i]);
        map64_fini(&f->seen[i]);
    }
    free(f);
    return status;
}
