/* Laws of steps on oversubscribed trees of two and three tiers, over random plans: less
 * oversubscription and more bandwidth never slow a step down, and the closed form is the
 * simulation. */
#include "base/rng.h"
#include "halley/halley.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NPUS = 128, N_PLANS = 8 };

typedef struct tree_plan {
    const char *model;
    uint32_t tp, pp, virtual_stages, ep, batch;
    bool three_tiers;
    const char *fabric; /* "": plain links */
} tree_plan;

typedef struct step_times {
    double simulated_s, closed_s;
} step_times;

static double read_key(const char *reply, const char *key)
{
    const char *at = strstr(reply, key);
    if (at == NULL)
        fail_msg("no %s in %s", key, reply);
    return atof(at + strlen(key));
}

static step_times run_step(const tree_plan *p, uint32_t oversubscription, uint32_t Gbps)
{
    char json[2048], spine[128] = "", fabric[64] = "";
    char *reply = NULL;
    if (p->three_tiers)
        snprintf(spine, sizeof spine, "{name: spine, npus: 64, oversubscription: %u}, ",
                 oversubscription);
    if (p->fabric[0] != '\0')
        snprintf(fabric, sizeof fabric, "fabric: %s, ", p->fabric);
    snprintf(json, sizeof json,
             "{\"do\": \"sim\", \"model\": \"%s\", \"cluster\": \"npus: %d\\nnpu: "
             "h100-sxm-80gb\\nnodes: {npus: 8, up: nvlink4-h100, nics: 8}\\nnetwork: "
             "{topology: fat-tree, %stiers: [{name: leaf, npus: 16, oversubscription: "
             "%u, link: %u Gb/s, latency: 700 ns}, %s{name: core}]}\\n\", \"plan\": "
             "{\"tp\": %u, \"pp\": %u, \"virtual\": %u, \"ep\": %u, \"global_batch\": "
             "%u}}",
             p->model, NPUS, fabric, p->three_tiers ? 1 : oversubscription, Gbps, spine,
             p->tp, p->pp, p->virtual_stages, p->ep, p->batch);
    assert_int_equal(halley_request(&reply, json, NULL, NULL), HALLEY_OK);
    if (strncmp(reply, "{\"ok\": true", 11) != 0)
        fail_msg("%s: %s", json, reply);
    const step_times t = {read_key(reply, "\"step_s\": "),
                          read_key(reply, "\"estimate_s\": ")};
    free(reply);
    return t;
}

static tree_plan draw_plan(rng *r)
{
    static const char *const models[] = {"llama3-8b", "gpt-3.6b", "qwen3-30b-a3b"};
    static const char *const fabrics[] = {"roce", "ib-ndr", ""};
    tree_plan p = {.tp = 1u << rng_below(r, 4),
                   .pp = 1u << rng_below(r, 3),
                   .virtual_stages = 1,
                   .ep = 1,
                   .three_tiers = rng_below(r, 2) == 0};
    const uint32_t model = (uint32_t)rng_below(r, 3);
    p.model = models[model];
    p.fabric = fabrics[rng_below(r, 3)];
    if (p.pp > 1 && model < 2 && rng_below(r, 3) == 0)
        p.virtual_stages = model == 0 ? 2 : 3 * (p.pp == 2);
    p.virtual_stages += p.virtual_stages == 0;
    const uint32_t dp = NPUS / p.tp / p.pp;
    if (model == 2)
        p.ep = dp * p.tp >= 32 ? 32 : dp; /* over nodes */
    p.batch = dp * 4 * (1 + (uint32_t)rng_below(r, 2));
    return p;
}

/* One schedule may beat another by chance when messages take longer: the order in which
 * kernels and messages meet changes. Two in 10,000 was the most in 300 runs. */
static void check_order(const tree_plan *p, const char *what, double fast_s,
                        double slow_s)
{
    if (!(fast_s <= slow_s * (1 + 5e-4)))
        fail_msg("%s tp %u pp %u ep %u, %s: %.9g s, and %.9g s with less", p->model,
                 p->tp, p->pp, p->ep, what, fast_s, slow_s);
}

static void less_oversubscription_and_more_bandwidth_never_slow(void **state)
{
    (void)state;
    rng r = rng_seed(5);
    for (int i = 0; i < N_PLANS; i++) {
        const tree_plan p = draw_plan(&r);
        step_times last = run_step(&p, 1, 400);
        for (uint32_t o = 2; o <= 8; o *= 2) {
            const step_times t = run_step(&p, o, 400);
            check_order(&p, "1:n tree, simulated", last.simulated_s, t.simulated_s);
            check_order(&p, "1:n tree, closed form", last.closed_s, t.closed_s);
            last = t;
        }
        const step_times wide = run_step(&p, 8, 800);
        check_order(&p, "800 Gb/s, simulated", wide.simulated_s, last.simulated_s);
        check_order(&p, "800 Gb/s, closed form", wide.closed_s, last.closed_s);
    }
}

/* Also on oversubscribed trees: all NPUs of a block share its way up, and rings leave a
 * block once. The closed form of what compute hides is not that of the simulation: within
 * 3 % on a full tree. Where reductions take longer than the backward pass, it is too
 * slow, by up to 10 %. */
static void the_closed_form_is_the_simulation(void **state)
{
    (void)state;
    rng r = rng_seed(6);
    for (int i = 0; i < N_PLANS; i++) {
        const tree_plan p = draw_plan(&r);
        for (uint32_t o = 1; o <= 8; o += 7) {
            const step_times t = run_step(&p, o, 400);
            if (!(fabs(t.simulated_s / t.closed_s - 1) <= (o == 1 ? 0.03 : 0.1)))
                fail_msg("%s tp %u pp %u ep %u, 1:%u: %.6g s, closed form %.6g", p.model,
                         p.tp, p.pp, p.ep, o, t.simulated_s, t.closed_s);
        }
    }
}

/* Blocks of NPUs with a switch of their own are nodes, also where cables are written out:
 * else a group inside one would be as slow as its way out. */
static void written_cables_have_nodes(void **state)
{
    (void)state;
    enum { N = 16, PER_NODE = 4 };
    char edges[4096] = "", json[8192];
    char *reply = NULL;
    for (int i = 0; i < N; i++)
        snprintf(edges + strlen(edges), sizeof edges - strlen(edges),
                 "[%d, %d, 300 GB/s, 300 ns], [%d, %d, 25 GB/s, 1 us]%s", i,
                 N + i / PER_NODE, i, N + N / PER_NODE, i + 1 < N ? ", " : "");
    snprintf(json, sizeof json,
             "{\"do\": \"sim\", \"model\": \"gpt-3.6b\", \"cluster\": \"npus: %d\\nnpu: "
             "h100-sxm-80gb\\nnetwork: {topology: edges, npus: %d, switches: 5, edges: "
             "[%s], weighted: yes}\\n\", \"plan\": "
             "{\"tp\": %d, \"global_batch\": 16}}",
             N, N, edges, PER_NODE);
    assert_int_equal(halley_request(&reply, json, NULL, NULL), HALLEY_OK);
    if (strncmp(reply, "{\"ok\": true", 11) != 0)
        fail_msg("%s: %s", json, reply);
    const double step_s = read_key(reply, "\"step_s\": ");
    const double closed_s = read_key(reply, "\"estimate_s\": ");
    if (!(fabs(step_s / closed_s - 1) <= 0.06))
        fail_msg("%.6g s, closed form %.6g", step_s, closed_s);
    free(reply);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(less_oversubscription_and_more_bandwidth_never_slow),
        cmocka_unit_test(the_closed_form_is_the_simulation),
        cmocka_unit_test(written_cables_have_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
