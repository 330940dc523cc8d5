/*
 * The bill of a cluster against what does not come from us: a public bill of an H100
 * cluster, published power and cost of ownership per GPU, and laws (nothing that is added
 * makes a cluster cheaper, sums are sums, the size of a domain changes only its own
 * switches).
 */
#include "base/rng.h"
#include "halley/bill.h"
#include "hw/cluster.h"
#include "hw/count.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static halley_cluster *load_cluster(const char *name)
{
    halley_cluster *c = NULL;
    halley_error err = {0};
    if (halley_cluster_load(&c, name, &err) != HALLEY_OK)
        fail_msg("%s: %s", name, err.text);
    return c;
}

static halley_cluster *parse_cluster(const char *text)
{
    halley_cluster *c = NULL;
    halley_error err = {0};
    if (halley_cluster_parse(&c, text, strlen(text), "c.yaml", &err) != HALLEY_OK)
        fail_msg("%s\n%s", err.text, text);
    return c;
}

static halley_bill bill_of(const char *name, double npus)
{
    halley_cluster *c = load_cluster(name);
    halley_bill b;
    halley_bill_make(&b, c, npus);
    halley_cluster_free(c);
    return b;
}

static void check_within(double is, double wanted, double share, const char *what)
{
    if (!(fabs(is / wanted - 1) <= share))
        fail_msg("%s: %.6g is not within %.3g %% of %.6g", what, is, 100 * share, wanted);
}

static void the_size_of_a_domain_changes_only_its_own_switches(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {8, 72, 576};
    halley_cluster *c = load_cluster("gb200-nvl72");
    halley_bill b[3];
    for (int i = 0; i < 3; i++) {
        c->nodes.npus = sizes[i];
        halley_bill_make(&b[i], c, 2304);
    }
    for (int i = 1; i < 3; i++) {
        const double up = b[i].usd[HALLEY_BILL_SCALE_UP];
        const double up0 = b[0].usd[HALLEY_BILL_SCALE_UP];
        assert_true(b[i].capital_usd > b[i - 1].capital_usd);
        assert_true(fabs(b[i].capital_usd - up - (b[0].capital_usd - up0)) < 0.01);
        const double w = b[i].nameplate_w - 1.2 * b[i].watts[HALLEY_BILL_SCALE_UP];
        const double w0 = b[0].nameplate_w - 1.2 * b[0].watts[HALLEY_BILL_SCALE_UP];
        assert_true(b[i].nameplate_w > b[i - 1].nameplate_w && fabs(w - w0) < 1e-3);
    }
    check_within(b[0].capital_usd, 105e6, 0.03, "pods of 8");
    check_within(b[1].capital_usd, 109e6, 0.03, "pods of 72");
    check_within(b[2].capital_usd, 147e6, 0.03, "pods of 576");
    check_within(b[1].nameplate_w, 5e6, 0.05, "nameplate of pods of 72");
    halley_cluster_free(c);
}

/* docs.google.com/spreadsheets/d/1Ft3RbeZ-w43kYSiLfYc1vxO41mK5lmJpcPC9GOYHAWc, 2024. */
static void switches_and_cables_are_those_of_a_public_bill(void **state)
{
    (void)state;
    static const struct {
        double gpus, switches, cables;
    } rows[] = {{512, 8, 512},
                {1024, 48, 2048},
                {4096, 192, 8192},
                {16384, 768, 32768},
                {32768, 2560, 98304}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const halley_bill b = bill_of("dgx-h100", rows[i].gpus);
        assert_true(b.n_switches == rows[i].switches && b.n_cables == rows[i].cables);
    }
    const halley_bill b = bill_of("dgx-h100", 1024);
    check_within(b.usd[HALLEY_BILL_NETWORK] - 1024 * 1500, 1728000 + 2621440, 0.15,
                 "network of 1,024 without cards");
}

/* github.com/SemiAnalysisAI/InferenceX-app, packages/app/src/lib/constants.ts, 2026:
 * power of a GPU with network and building, and what an owner pays per hour (hyperscaler,
 * smaller cloud). */
static void power_and_cost_of_a_gpu_are_as_published(void **state)
{
    (void)state;
    static const struct {
        const char *cluster;
        double kw, low_usd, high_usd;
    } rows[] = {{"dgx-h100", 1.73, 1.30, 1.69}, {"dgx-h200", 1.73, 1.41, 1.74},
                {"dgx-b200", 2.17, 1.95, 2.34}, {"mi300x", 1.79, 1.12, 1.40},
                {"mi325x", 2.18, 1.28, 1.59},   {"mi355x", 2.65, 1.48, 1.90}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        halley_cluster *c = load_cluster(rows[i].cluster);
        halley_bill b;
        halley_bill_make(&b, c, 1024);

        check_within(b.nameplate_w / 1024, 1e3 * rows[i].kw, 0.12, rows[i].cluster);
        c->cost.years = 5;
        c->cost.capital_rate = 0.1;
        c->cost.colocation_usd = 130;
        const double usd_h = halley_bill_own_usd_h(&b, c);
        if (!(usd_h >= 0.9 * rows[i].low_usd && usd_h <= 1.1 * rows[i].high_usd))
            fail_msg("%s: owned for %.2f USD an hour, not %.2f to %.2f", rows[i].cluster,
                     usd_h, rows[i].low_usd, rows[i].high_usd);
        halley_cluster_free(c);
    }
}

static void a_tpu_pod_pays_for_every_host(void **state)
{
    (void)state;
    const halley_bill b = bill_of("tpu-v6e-pod", 2048);
    assert_true(b.n_hosts == 256 && b.state == HALLEY_PRICE_IMPUTED);
    check_within(b.capital_usd, 21.1e6, 0.01, "2,048 TPU v6e");
}

static void parts_sum_to_the_whole_and_hosts_add_up(void **state)
{
    (void)state;
    halley_cluster *c = load_cluster("dgx-h100");
    c->cost.network_usd_per_gbps = 8; /* trees of switches do not add up */
    for (uint32_t a = 1; a < 100; a += 7) {
        halley_bill one, other, both;
        halley_bill_make(&one, c, 8. * a);
        halley_bill_make(&other, c, 16. * a);
        halley_bill_make(&both, c, 24. * a);
        assert_true(fabs(one.capital_usd + other.capital_usd - both.capital_usd) < 0.01);
        double sum = 0;
        for (int i = 0; i < HALLEY_N_BILL_ITEMS; i++)
            sum += both.usd[i];
        assert_true(fabs(sum - both.capital_usd) < 0.01);
    }
    halley_cluster_free(c);
}

static void a_price_that_is_not_known_gives_a_lower_bound(void **state)
{
    (void)state;
    halley_cluster *c = parse_cluster(
        "name: c\nnpus: 64\nnpu: {peak: 1000 TFLOP/s, memory: [{name: hbm, capacity: 80 "
        "GB, bandwidth: 3000 GB/s}, {name: far, capacity: 1 TB, bandwidth: 100 GB/s}]}\n"
        "nodes: {npus: 8, up: nvlink4-h100}\n"
        "network: {fabric: ib-ndr, bandwidth: 50 GB/s}\n");
    halley_bill b;
    char text[128];
    halley_bill_make(&b, c, 64);
    assert_int_equal(b.state, HALLEY_PRICE_LOWER_BOUND);
    assert_string_equal(halley_bill_missing(text, sizeof text, c, b.missing),
                        "npu price, cost.host, far price-per-gb");
    halley_cluster_free(c);
}

static void a_price_of_a_domain_becomes_one_of_its_hosts(void **state)
{
    (void)state;
    halley_cluster *c = parse_cluster(
        "name: c\nnpus: 64\nnpu: h100-sxm-80gb\n"
        "nodes: {npus: 32, host: 8, up: nvlink4-h100, power: 10 kW}\n"
        "network: {fabric: ib-ndr, bandwidth: 50 GB/s}\ncost: {node: 200000 USD}\n");
    halley_bill one, two;
    halley_bill_make(&one, c, 64);
    assert_true(fabs(one.usd[HALLEY_BILL_HOSTS] - 400000) < 0.01);
    const double host_w = one.watts[HALLEY_BILL_NPUS] + one.watts[HALLEY_BILL_HOSTS] +
                          one.watts[HALLEY_BILL_SCALE_UP];
    check_within(host_w, 80e3, 1e-9, "power of hosts");
    c->nodes.npus = 64;
    halley_bill_make(&two, c, 64);
    assert_true(fabs(one.usd[HALLEY_BILL_HOSTS] - two.usd[HALLEY_BILL_HOSTS]) < 0.01);
    halley_cluster_free(c);
}

/* The quantities of a random file. */
typedef struct random_file {
    double hbm_GB, cxl_GB, cxl_GBps, up_GBps, out_GBps;
    uint32_t npus, nics, domain;
} random_file;

static halley_bill bill_of_file(const random_file *f)
{
    char text[1024];
    snprintf(
        text, sizeof text,
        "name: c\nnpus: %u\nnpu: {peak: 1000 TFLOP/s, price: 20000 USD, power: 700 "
        "W, memory: [{name: hbm, capacity: %.6f GB, included: 80 GB, bandwidth: "
        "3000 GB/s}, {name: cxl, capacity: %.6f GB, bandwidth: %.6f GB/s}]}\nnodes: "
        "{npus: %u, host: 8, nics: %u, up: {link: nvlink4-h100, bandwidth: %.6f "
        "GB/s}}\nnetwork: {fabric: ib-ndr, bandwidth: %.6f GB/s}\ncost: {host: 45000 "
        "USD, host-power: 4 kW, rack: 5000 USD}\n",
        f->npus, f->hbm_GB, f->cxl_GB, f->cxl_GBps, f->domain, f->nics, f->up_GBps,
        f->out_GBps);
    halley_cluster *c = parse_cluster(text);
    halley_bill b;
    halley_bill_make(&b, c, f->npus);
    halley_cluster_free(c);
    return b;
}

static double draw(rng *r, double low, double high)
{
    return low + (high - low) * rng_unit(r);
}

static void more_of_anything_never_costs_or_draws_less(void **state)
{
    (void)state;
    rng r = rng_seed(21);
    for (int i = 0; i < 1000; i++) {
        static const uint32_t domains[] = {8, 16, 72, 144, 576};
        random_file f = {.hbm_GB = draw(&r, 40, 300),
                         .cxl_GB = draw(&r, 1, 2000),
                         .cxl_GBps = draw(&r, 1, 500),
                         .up_GBps = draw(&r, 50, 2000),
                         .out_GBps = draw(&r, 5, 200),
                         .npus = 8 * (1 + (uint32_t)draw(&r, 0, 5000)),
                         .domain = domains[(uint32_t)draw(&r, 0, 5)]};
        f.nics = f.domain / 8 * (1 + (uint32_t)draw(&r, 0, 8));
        random_file more = f;
        double *const rates[] = {&more.hbm_GB, &more.cxl_GB, &more.cxl_GBps,
                                 &more.up_GBps, &more.out_GBps};
        const uint32_t which = (uint32_t)draw(&r, 0, 8);
        if (which < 5)
            *rates[which] *= draw(&r, 1, 3);
        else if (which == 5)
            more.npus += 8 * (uint32_t)draw(&r, 0, 3000);
        else if (which == 6)
            more.nics += f.domain / 8 * (uint32_t)draw(&r, 0, 8);
        else
            more.domain = f.domain < 576 ? 576 : f.domain;
        if (which == 7)
            more.nics = f.nics / (f.domain / 8) * (more.domain / 8);
        const halley_bill a = bill_of_file(&f), b = bill_of_file(&more);
        if (b.capital_usd < a.capital_usd * (1 - 1e-9) ||
            b.nameplate_w < a.nameplate_w * (1 - 1e-9))
            fail_msg("pair %d, more of %u: %.9g < %.9g USD or %.9g < %.9g W", i, which,
                     b.capital_usd, a.capital_usd, b.nameplate_w, a.nameplate_w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_size_of_a_domain_changes_only_its_own_switches),
        cmocka_unit_test(switches_and_cables_are_those_of_a_public_bill),
        cmocka_unit_test(power_and_cost_of_a_gpu_are_as_published),
        cmocka_unit_test(a_tpu_pod_pays_for_every_host),
        cmocka_unit_test(parts_sum_to_the_whole_and_hosts_add_up),
        cmocka_unit_test(a_price_that_is_not_known_gives_a_lower_bound),
        cmocka_unit_test(a_price_of_a_domain_becomes_one_of_its_hosts),
        cmocka_unit_test(more_of_anything_never_costs_or_draws_less),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
