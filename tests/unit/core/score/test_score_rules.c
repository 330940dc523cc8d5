/*
 * The rules of scoring on small made-up runs, each with its answer worked out by hand:
 * means and ranks, what is skipped, what a record means, what a fit weighs.
 */
#include "base/conf/conf.h"
#include "coll/time.h"
#include "hw/link.h"
#include "score/csv_sets.h"
#include "score/fit.h"
#include "score/metrics.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(1, fabs(b));
}

static void means_medians_and_ranks(void **state)
{
    (void)state;
    /* Errors +10, -20, +30, -40, 0, +5, -7 %. */
    score_pair pairs[] = {{"a", 10, 11}, {"b", 20, 16}, {"c", 30, 39}, {"d", 40, 24},
                          {"e", 50, 50}, {"f", 60, 63}, {"g", 100, 93}};
    halley_score_set set = {0};
    assert_int_equal(score_metrics(&set, pairs, 7, NULL), HALLEY_OK);
    assert_int_equal(set.scored, 7);
    assert_true(is_near(set.mape_pct, 112.0 / 7) && is_near(set.bias_pct, -22.0 / 7));
    assert_true(is_near(set.median_pct, 10));
    assert_int_equal(set.n_worst, HALLEY_SCORE_WORST);
    assert_string_equal(set.worst[0].id, "d");
    assert_string_equal(set.worst[1].id, "c");
    assert_true(set.worst[0].measured == 40 && set.worst[0].predicted == 24);
    /* Ranks of the predictions 0 1 3 2 4 5 6 against 0 to 6: 1 - 6 * 2 / (7 * 48). */
    assert_true(is_near(set.spearman, 1 - 6.0 * 2 / (7 * 48)));
    score_pair two[] = {{"a", 10, 11}, {"b", 10, 13}};
    halley_score_set even = {0};
    assert_int_equal(score_metrics(&even, two, 2, NULL), HALLEY_OK);
    assert_true(is_near(even.median_pct, 20) && even.spearman == 0);
    halley_score_set none = {0};
    assert_int_equal(score_metrics(&none, NULL, 0, NULL), HALLEY_OK);
    assert_true(none.scored == 0 && none.mape_pct == 0 && none.n_worst == 0);
}

/* Equal values share their mean rank. */
static void ties_share_a_rank(void **state)
{
    (void)state;
    score_pair pairs[] = {{"a", 1, 1}, {"b", 1, 2}, {"c", 2, 3}, {"d", 3, 4}};
    halley_score_set set = {0};
    assert_int_equal(score_metrics(&set, pairs, 4, NULL), HALLEY_OK);
    /* Ranks .5 .5 2 3 and 0 1 2 3: 4.5 / sqrt(4.5 * 5). */
    assert_true(is_near(set.spearman, 4.5 / sqrt(4.5 * 5)));
}

static void reasons_beyond_the_last_slot_are_one(void **state)
{
    (void)state;
    halley_score_set set = {0};
    char reason[16];
    for (int i = 0; i < 10; i++) {
        snprintf(reason, sizeof reason, "reason %d", i);
        score_skip(&set, reason);
        score_skip(&set, reason);
    }
    assert_int_equal(set.n_skips, HALLEY_SCORE_SKIPS);
    assert_string_equal(set.skips[0].reason, "reason 0");
    assert_int_equal(set.skips[0].rows, 2);
    assert_string_equal(set.skips[HALLEY_SCORE_SKIPS - 1].reason, "other reasons");
    assert_int_equal(set.skips[HALLEY_SCORE_SKIPS - 1].rows, 6);
}

#define COMMON                                                                           \
    "{\"common\": {\"set\": \"s\", \"framework\": \"own\", \"release\": \"1\", "         \
    "\"npu\": "                                                                          \
    "\"H100-SXM-80GB\", \"per_node\": 8, \"dtype\": \"bf16\", \"model\": {\"name\": "    \
    "\"m\", \"layers\": 16, \"hidden\": 4096, \"heads\": 32, \"kv_heads\": 8, "          \
    "\"head_dim\": 128, \"ffn\": 14336, \"glu\": true, \"vocab\": 32000}, \"plan\": "    \
    "{\"tp\": 1, \"dp\": 8, \"zero\": 1}, \"batch\": {\"gbs\": 64, \"mbs\": 1, "         \
    "\"seq\": "                                                                          \
    "2048}, \"n_npus\": 8}, \"rows\": ["

static score_rows read_runs(const char *rows)
{
    score_rows out = {0};
    char text[4096];
    conf_file file;
    halley_error err = {0};
    const int n = snprintf(text, sizeof text, COMMON "%s]}", rows);
    assert_true(n > 0 && n < (int)sizeof text);
    if (conf_parse(&file, (str){text, (size_t)n}, "runs.json", &err) != HALLEY_OK ||
        score_rows_add(&out, &file, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    conf_fini(&file);
    assert_int_equal(score_rows_stacks(&out, SCORE_UNKNOWN, NULL, &err), HALLEY_OK);
    return out;
}

static void what_a_record_measures(void **state)
{
    (void)state;
    score_rows r = read_runs(
        "{\"id\": \"time\", \"measured\": {\"step_time_s\": 2.5, \"peak_memory_gib\": "
        "3}},"
        "{\"id\": \"oom\", \"measured\": {\"fits\": false}},"
        "{\"id\": \"formula\", \"measured\": {\"formula\": true, \"step_time_s\": 1}},"
        "{\"id\": \"odd\", \"odd\": \"a typo\", \"measured\": {\"step_time_s\": 1}},"
        "{\"id\": \"none\", \"measured\": {}},"
        "{\"id\": \"rate\", \"measured\": {\"model_tflops_per_npu\": 100}},"
        "{\"id\": \"full\", \"measured\": {\"model_tflops_per_npu\": 100, "
        "\"convention\": "
        "\"attention without causal halving\"}}");
    const score_row *at = r.rows.at;
    assert_int_equal(r.rows.n, 7);
    assert_true(at[0].step_s == 2.5 && at[0].peak_bytes == 3 * 1073741824.0);
    assert_true(at[0].skip[0] == '\0' && !at[0].out_of_memory);
    assert_true(at[1].out_of_memory && at[1].skip[0] == '\0' && at[1].step_s == 0);
    assert_non_null(strstr(at[2].skip, "a formula of the paper"));
    assert_string_equal(at[3].skip, "left out: a typo");
    assert_string_equal(at[4].skip, "nothing measured that we predict");
    const double flops = halley_model_step_flops(&at[5].model, 64, 2048);
    assert_true(is_near(at[5].step_s, flops / (100e12 * 8)));
    halley_model whole = at[6].model;
    whole.not_causal = true;
    assert_true(
        is_near(at[6].step_s, halley_model_step_flops(&whole, 64, 2048) / (100e12 * 8)));
    assert_true(at[6].step_s > at[5].step_s);
    score_rows_fini(&r);
}

static void what_a_record_plans(void **state)
{
    (void)state;
    score_rows r = read_runs(
        "{\"id\": \"mx\", \"dtype\": \"mxfp8\", \"measured\": {\"step_time_s\": 1}},"
        "{\"id\": \"row\", \"dtype\": \"fp8-row\", \"measured\": {\"step_time_s\": 1}},"
        "{\"id\": \"nv\", \"dtype\": \"nvfp4\", \"measured\": {\"step_time_s\": 1}},"
        "{\"id\": \"what\", \"dtype\": \"posit\", \"measured\": {\"step_time_s\": 1}},"
        "{\"id\": \"shard\", \"plan\": {\"fsdp\": 8, \"dp\": 1}, \"measured\": "
        "{\"step_time_s\": 1}},"
        "{\"id\": \"ranks\", \"plan\": {\"fsdp\": 8, \"dp\": 8}, \"measured\": "
        "{\"step_time_s\": 1}},"
        "{\"id\": \"again\", \"plan\": {\"recompute\": \"some\"}, \"measured\": "
        "{\"step_time_s\": 1}},"
        "{\"id\": \"wire\", \"grad_reduce_bytes\": 4, \"attention\": \"unfused\", "
        "\"measured\": {\"step_time_s\": 1}},"
        "{\"id\": \"rows\", \"batch\": {\"rows\": 32}, \"measured\": {\"step_time_s\": "
        "1}},"
        "{\"id\": \"bad\", \"plan\": {\"tp\": 3}, \"measured\": {\"step_time_s\": 1}}");
    const score_row *at = r.rows.at;
    assert_true(at[0].plan.dtype == HALLEY_FP8 && at[0].plan.recipe == HALLEY_FP8_MX);
    assert_true(at[1].plan.dtype == HALLEY_FP8 && at[1].plan.recipe == HALLEY_FP8_ROW);
    assert_int_equal(at[2].plan.dtype, HALLEY_FP4);
    assert_non_null(strstr(at[3].skip, "unknown data type \"posit\""));
    assert_int_equal(at[4].plan.dp, 8);
    assert_int_equal(at[5].plan.dp, 8);
    assert_non_null(strstr(at[6].skip, "unknown kind of recomputation \"some\""));
    assert_true(at[7].plan.gradient_bytes == 4 &&
                at[7].plan.attention == HALLEY_ATTENTION_UNFUSED);
    assert_true(at[0].plan.gradient_bytes == 2 &&
                at[0].plan.attention == HALLEY_ATTENTION_FLASH);
    assert_int_equal(at[8].plan.global_batch, 32);
    assert_true(at[9].skip[0] != '\0');
    assert_int_equal(at[0].plan.global_batch, 64); /* of the common values */
    score_rows_fini(&r);
}

/* Runs of one model, batch and machine are choices; another batch is another. */
static void choices_are_runs_of_one_question(void **state)
{
    (void)state;
    score_rows r = read_runs(
        "{\"id\": \"a\", \"plan\": {\"tp\": 2, \"dp\": 4}, \"measured\": "
        "{\"step_time_s\": 1}},"
        "{\"id\": \"b\", \"measured\": {\"step_time_s\": 1}},"
        "{\"id\": \"c\", \"batch\": {\"gbs\": 128}, \"measured\": {\"step_time_s\": 1}},"
        "{\"id\": \"d\", \"model\": {\"layers\": 32}, \"measured\": {\"step_time_s\": "
        "1}},"
        "{\"id\": \"e\", \"source\": \"x\", \"measured\": {\"step_time_s\": 1}}");
    for (int i = 2; i < 5; i++)
        assert_true(r.rows.at[i].choice != r.rows.at[0].choice);
    assert_true(r.rows.at[1].choice == r.rows.at[0].choice);
    score_rows_fini(&r);
}

/* A network that no preset has is an unknown one of the stated bandwidth. */
static void records_have_the_links_they_state(void **state)
{
    (void)state;
    score_rows r = read_runs(
        "{\"id\": \"own\", \"links\": {\"scale_up_gbps\": 450, \"nic_gbps_per_npu\": "
        "50}, "
        "\"measured\": {\"step_time_s\": 1}},"
        "{\"id\": \"slow\", \"links\": {\"scale_up_gbps\": 450, \"nic_gbps_per_npu\": "
        "10}, "
        "\"measured\": {\"step_time_s\": 1}},"
        "{\"id\": \"four\", \"per_node\": 4, \"measured\": {\"step_time_s\": 1}},"
        "{\"id\": \"same\", \"links\": {\"scale_up_gbps\": 450, \"nic_gbps_per_npu\": "
        "50}, "
        "\"measured\": {\"step_time_s\": 1}}");
    const halley_cluster *own = r.clusters.at[r.rows.at[0].cluster].cluster;
    const halley_cluster *slow = r.clusters.at[r.rows.at[1].cluster].cluster;
    const halley_cluster *four = r.clusters.at[r.rows.at[2].cluster].cluster;
    assert_true(is_near(hw_outer_fabric(own)->bandwidth_Bps, 50e9));
    assert_true(is_near(hw_outer_fabric(slow)->bandwidth_Bps, 10e9));
    assert_true(own->nodes.npus == 8 && four->nodes.npus == 4);
    halley_cluster *preset = NULL;
    assert_int_equal(halley_cluster_load(&preset, "dgx-h100", NULL), HALLEY_OK);
    const double share = hw_outer_fabric(preset)->share;
    assert_true(hw_outer_fabric(own)->share == share);
    assert_true(hw_outer_fabric(slow)->share != share);
    halley_cluster_free(preset);
    assert_int_equal(r.rows.at[0].cluster, r.rows.at[3].cluster);
    score_rows_fini(&r);
}

/* Constants that made the runs are found again; without runs the prior stays. */
static void a_fit_finds_what_made_the_runs(void **state)
{
    (void)state;
    score_rows r = read_runs(
        "{\"id\": \"a\", \"layout\": \"1\", \"measured\": {\"step_time_s\": 1}},"
        "{\"id\": \"b\", \"layout\": \"2\", \"plan\": {\"tp\": 2, \"dp\": 4}, "
        "\"measured\": "
        "{\"step_time_s\": 1}},"
        "{\"id\": \"c\", \"layout\": \"3\", \"plan\": {\"tp\": 8, \"dp\": 1}, "
        "\"measured\": "
        "{\"step_time_s\": 1}},"
        "{\"id\": \"d\", \"layout\": \"4\", \"batch\": {\"gbs\": 256}, \"measured\": "
        "{\"step_time_s\": 1}}");
    halley_stack truth, prior, fitted;
    const uint32_t at[] = {0, 1, 2, 3};
    halley_stack_default(&truth);
    prior = truth;
    prior.n_fit = 2;
    prior.fit[0] = HALLEY_K_GEMM;
    prior.fit[1] = HALLEY_K_TP_TIME;
    truth.k[HALLEY_K_GEMM] = 1.2;
    truth.k[HALLEY_K_TP_TIME] = 1.5;
    for (int i = 0; i < 4; i++)
        r.rows.at[i].step_s = score_predict(&r, &r.rows.at[i], &truth);
    fitted = prior;
    assert_int_equal(score_fit(&fitted, &prior, &r, at, 4, NULL), HALLEY_OK);
    assert_true(fabs(fitted.k[HALLEY_K_GEMM] - 1.2) < 0.03);
    assert_true(fitted.k[HALLEY_K_TP_TIME] > 1.25 && fitted.k[HALLEY_K_TP_TIME] < 1.55);
    assert_int_equal(fitted.origin[HALLEY_K_GEMM], 2);
    for (int i = 0; i < 4; i++) {
        const double e = score_predict(&r, &r.rows.at[i], &fitted) / r.rows.at[i].step_s;
        assert_true(fabs(e - 1) < 0.08);
    }
    fitted = prior;
    assert_int_equal(score_fit(&fitted, &prior, &r, at, 0, NULL), HALLEY_OK);
    assert_true(fitted.k[HALLEY_K_GEMM] == prior.k[HALLEY_K_GEMM]);
    assert_int_equal(fitted.origin[HALLEY_K_GEMM], 0);
    score_stack_forget(&fitted);
    score_rows_fini(&r);
}

/* Nine runs of one layout do not outweigh two other layouts. */
static void a_layout_counts_once(void **state)
{
    (void)state;
    char rows[3072] = "";
    for (int i = 0; i < 11; i++) {
        char one[200];
        snprintf(
            one, sizeof one,
            "%s{\"id\": \"%d\", \"layout\": \"%d\", \"measured\": {\"step_time_s\": 1}}",
            i ? "," : "", i, i < 9 ? 0 : i);
        strcat(rows, one);
    }
    score_rows r = read_runs(rows);
    halley_stack prior, fitted;
    uint32_t at[11];
    halley_stack_default(&prior);
    prior.n_fit = 1;
    prior.fit[0] = HALLEY_K_GEMM;
    const double now = score_predict(&r, &r.rows.at[0], &prior);
    for (uint32_t i = 0; i < 11; i++) {
        at[i] = i;
        r.rows.at[i].step_s = i < 9 ? 1.25 * now : 0.8 * now;
    }
    fitted = prior;
    assert_int_equal(score_fit(&fitted, &prior, &r, at, 11, NULL), HALLEY_OK);
    /* 9 / 3 against 2: the nine win, but by the root; alone they would pull further. */
    const double all = fitted.k[HALLEY_K_GEMM];
    fitted = prior;
    assert_int_equal(score_fit(&fitted, &prior, &r, at, 9, NULL), HALLEY_OK);
    assert_true(fitted.k[HALLEY_K_GEMM] > all + 0.02 && all > 0.99);
    score_rows_fini(&r);
}

static void folds_keep_layouts_whole(void **state)
{
    (void)state;
    uint32_t seen = 0;
    for (int i = 0; i < 200; i++) {
        char layout[16];
        snprintf(layout, sizeof layout, "layout %d", i);
        const uint32_t fold = score_fold(layout, 5);
        assert_true(fold < 5 && fold == score_fold(layout, 5));
        seen |= 1u << fold;
    }
    assert_int_equal(seen, 31);
}

/* What was fitted is forgotten, what is known stays. */
static void forgetting_leaves_what_was_given(void **state)
{
    (void)state;
    halley_stack s;
    halley_stack_default(&s);
    s.k[HALLEY_K_GEMM] = 1.3;
    s.prior[HALLEY_K_GEMM] = 1.1;
    s.origin[HALLEY_K_GEMM] = 2;
    s.k[HALLEY_K_ATTENTION] = 1.4;
    s.origin[HALLEY_K_ATTENTION] = 1;
    score_stack_forget(&s);
    assert_true(s.k[HALLEY_K_GEMM] == 1.1 && s.origin[HALLEY_K_GEMM] == 0);
    assert_true(s.k[HALLEY_K_ATTENTION] == 1.4 && s.origin[HALLEY_K_ATTENTION] == 1);
}

/* ---- whole files ---- */

static halley_score *score_text(const char *text, const char *suffix)
{
    char path[] = "/tmp/halley-rules-XXXXXX.jsonx";
    halley_score *s = NULL;
    halley_error err = {0};
    path[strlen(path) - 6] = '\0';
    strcat(path, suffix);
    const int fd = mkstemps(path, (int)strlen(suffix));
    assert_true(fd >= 0);
    assert_true(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    const char *files[] = {path};
    if (halley_score_run(&s, files, 1, NULL, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    unlink(path);
    return s;
}

/* Of three runs that one chooses between, the one predicted best took 1.5 times the
 * measured best; two runs are no choice. */
static void regret_is_what_a_choice_costs(void **state)
{
    (void)state;
    halley_score *s = score_text(
        COMMON
        "{\"id\": \"a\", \"measured\": {\"step_time_s\": 3}},"
        "{\"id\": \"b\", \"plan\": {\"tp\": 8, \"dp\": 1}, \"measured\": "
        "{\"step_time_s\": 2}},"
        "{\"id\": \"c\", \"plan\": {\"tp\": 2, \"dp\": 4}, \"measured\": "
        "{\"step_time_s\": 4}},"
        "{\"id\": \"x\", \"batch\": {\"gbs\": 128}, \"measured\": {\"step_time_s\": 1}},"
        "{\"id\": \"y\", \"batch\": {\"gbs\": 128}, \"plan\": {\"tp\": 8, \"dp\": 1}, "
        "\"measured\": {\"step_time_s\": 9}}]}",
        ".json");
    assert_int_equal(s->n_rows, 5);
    assert_true(s->rows[0].predicted_s < s->rows[1].predicted_s &&
                s->rows[0].predicted_s < s->rows[2].predicted_s);
    assert_int_equal(s->sets[0].n_choices, 1);
    assert_true(is_near(s->sets[0].regret_pct, 50));
    halley_score_free(s);
}

/* Out of memory and refused, ran and refused: counted apart. */
static void refusals_are_counted(void **state)
{
    (void)state;
    halley_score *s = score_text(
        COMMON
        "{\"id\": \"ran\", \"measured\": {\"step_time_s\": 3, \"peak_memory_gib\": 20}},"
        "{\"id\": \"ran full\", \"batch\": {\"gbs\": 512, \"mbs\": 64}, \"measured\": "
        "{\"step_time_s\": 3}},"
        "{\"id\": \"out\", \"batch\": {\"gbs\": 512, \"mbs\": 64}, \"measured\": "
        "{\"fits\": "
        "false}},"
        "{\"id\": \"out too\", \"batch\": {\"gbs\": 512, \"mbs\": 64}, "
        "\"measured\": {\"fits\": false}},"
        "{\"id\": \"out small\", \"measured\": {\"fits\": false}}]}",
        ".json");
    assert_int_equal(s->n_sets, 2);
    const halley_score_set *m = &s->sets[1];
    assert_string_equal(m->metric, "peak memory");
    assert_int_equal(m->n_fit, 2);
    assert_int_equal(m->n_fit_refused, 1);
    assert_int_equal(m->n_out, 3);
    assert_int_equal(m->n_out_refused, 2);
    assert_int_equal(m->rows, 1);
    assert_int_equal(m->scored, 1);
    assert_int_equal(s->sets[0].scored, 2); /* the others have no time */
    assert_int_equal(s->sets[0].rows, 5);
    halley_score_free(s);
}

/* 8 x H100 at a bus bandwidth of 100 GB/s: 2 (7/8) 1e9 / 100e9 s; latencies are us. */
static void records_of_collectives_become_times(void **state)
{
    (void)state;
#define H100                                                                             \
    "\"hardware\": {\"accelerator\": \"H100\", \"per_node\": 8, \"scale_out\": "         \
    "\"8x400G\"}"
    halley_score *s = score_text("[{\"id\": \"a\", \"metric\": \"allreduce busbw\", "
                                 "\"value\": 100, \"bytes\": 1e9, "
                                 "\"n_npus\": 8, " H100 "},"
                                 "{\"id\": \"b\", \"metric\": \"allgather busbw\", "
                                 "\"value\": 100, \"bytes\": 1e9, "
                                 "\"n_npus\": 8, " H100 "},"
                                 "{\"id\": \"c\", \"metric\": \"allreduce latency\", "
                                 "\"value\": 500, \"bytes\": 1e6, "
                                 "\"n_npus\": 8, " H100 "},"
                                 "{\"id\": \"d\", \"metric\": \"allreduce latency\", "
                                 "\"value\": 500, \"bytes\": 1e5, "
                                 "\"n_npus\": 16, " H100 "},"
                                 "{\"id\": \"e\", \"metric\": \"allreduce latency\", "
                                 "\"value\": 500, \"bytes\": 1e6, "
                                 "\"n_npus\": 16, " H100 "},"
                                 "{\"id\": \"f\", \"metric\": \"allreduce latency\", "
                                 "\"value\": 500, \"bytes\": 1e6, "
                                 "\"n_npus\": 1, " H100 "},"
                                 "{\"id\": \"g\", \"metric\": \"allreduce algbw\", "
                                 "\"value\": 500, \"bytes\": 1e6, "
                                 "\"n_npus\": 8, " H100 "}]",
                                 ".json");
    assert_int_equal(s->n_sets, 2);
    const halley_score_set *in = &s->sets[0], *out = &s->sets[1];
    assert_true(in->rows == 5 && in->scored == 3 && out->rows == 2 && out->scored == 1);
    double a = 0, b = 0, c = 0;
    for (uint32_t i = 0; i < in->n_worst; i++) {
        const halley_score_worst *w = &in->worst[i];
        a = w->id[0] == 'a' ? w->measured : a;
        b = w->id[0] == 'b' ? w->measured : b;
        c = w->id[0] == 'c' ? w->measured : c;
    }
    assert_true(is_near(a, 2 * 7.0 / 8 * 1e9 / 100e9));
    assert_true(is_near(b, 7.0 / 8 * 1e9 / 100e9));
    assert_true(is_near(c, 500e-6));
    assert_non_null(strstr(out->skips[0].reason, "below 256 KiB"));
    halley_score_free(s);
}

/* Repeats count once, by their geometric mean; int8 elements have one byte. */
static void repeats_of_a_table_count_once(void **state)
{
    (void)state;
    halley_score *s =
        score_text("system,nccl,op,dtype,num_gpus,message_size_elements,latency_ms\n"
                   "h100_sxm,2,all_reduce,half,8,1048576,0.1\n"
                   "h100_sxm,2,all_reduce,half,8,1048576,0.4\n"
                   "h100_sxm,2,all_reduce,float,8,1048576,0.2\n"
                   "h100_sxm,2,all_reduce,int8,8,1048576,0.2\n"
                   "h100_sxm,2,all_reduce,half,8,-5,0.2\n",
                   ".csv");
    const halley_score_set *t = &s->sets[0];
    assert_true(t->rows == 5 && t->scored == 3);
    double half = 0, whole = 0, small = 0, mean = 0;
    for (uint32_t i = 0; i < t->n_worst; i++) {
        const halley_score_worst *w = &t->worst[i];
        if (strstr(w->id, "half") != NULL) {
            half = w->predicted;
            mean = w->measured;
        }
        whole = strstr(w->id, "float") != NULL ? w->predicted : whole;
        small = strstr(w->id, "int8") != NULL ? w->predicted : small;
    }
    halley_link link;
    const halley_fabric none = {.bandwidth_Bps = 1, .share = 1};
    const coll_call bytes = {
        .kind = COLL_ALL_REDUCE, .bytes = 1048576, .n = 8, .integer = true};
    assert_int_equal(cluster_link_load(&link, "nvlink4-h100", NULL), HALLEY_OK);
    assert_true(is_near(small * 1e6, coll_call_time(&link, &none, &bytes) * 1e6));
    assert_true(is_near(mean, 0.2e-3));
    assert_true(whole > half && half > small && small > 0);
    halley_score_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(means_medians_and_ranks),
        cmocka_unit_test(ties_share_a_rank),
        cmocka_unit_test(reasons_beyond_the_last_slot_are_one),
        cmocka_unit_test(what_a_record_measures),
        cmocka_unit_test(what_a_record_plans),
        cmocka_unit_test(choices_are_runs_of_one_question),
        cmocka_unit_test(records_have_the_links_they_state),
        cmocka_unit_test(a_fit_finds_what_made_the_runs),
        cmocka_unit_test(a_layout_counts_once),
        cmocka_unit_test(folds_keep_layouts_whole),
        cmocka_unit_test(forgetting_leaves_what_was_given),
        cmocka_unit_test(regret_is_what_a_choice_costs),
        cmocka_unit_test(refusals_are_counted),
        cmocka_unit_test(records_of_collectives_become_times),
        cmocka_unit_test(repeats_of_a_table_count_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
