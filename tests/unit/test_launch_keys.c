/* Keys of launch files that change time or memory: each is read, or refused by name. */
#include "halley/launch.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

static halley_launch *read_named(const char *text, const char *name)
{
    halley_launch *l = NULL;
    halley_error err = {0};
    if (halley_launch_parse(&l, text, strlen(text), name, NULL, &err) != HALLEY_OK)
        fail_msg("%s\n%.500s", err.text, text);
    return l;
}

static void expect_key(const halley_launch *l, halley_plan_key key, const char *wanted)
{
    const char *got = halley_launch_value(l, key);
    if (got == NULL || strcmp(got, wanted) != 0)
        fail_msg("key %d is %s, not %s", (int)key, got != NULL ? got : "absent", wanted);
}

static void expect_read(const char *text, const char *name, halley_plan_key key,
                        const char *wanted)
{
    halley_launch *l = read_named(text, name);
    expect_key(l, key, wanted);
    halley_launch_free(l);
}

static void expect_refused(const char *text, const char *name, const char *words)
{
    halley_launch *l = NULL;
    halley_error err = {0};
    if (halley_launch_parse(&l, text, strlen(text), name, NULL, &err) == HALLEY_OK) {
        halley_launch_free(l);
        fail_msg("not refused: %s", text);
    }
    if (strstr(err.text, words) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", err.text, words);
}

#define TITAN "[model]\nname = \"llama3\"\nflavor = \"8B\"\n"

static void older_torchtitan_files_state_their_degrees_elsewhere(void **state)
{
    (void)state;
    static const char text[] =
        TITAN "[training]\nbatch_size = 8\ntensor_parallel_degree = 4\n"
              "data_parallel_replicate_degree = 2\ndata_parallel_shard_degree = 3\n"
              "fp8_linear = \"dynamic\"\n[experimental]\ncontext_parallel_degree = 2\n"
              "pipeline_parallel_degree = 4\npipeline_parallel_schedule = \"gpipe\"\n"
              "enable_async_tensor_parallel = true\n";
    halley_launch *l = read_named(text, "a.toml");
    expect_key(l, HALLEY_KEY_TP, "4");
    expect_key(l, HALLEY_KEY_PP, "4");
    expect_key(l, HALLEY_KEY_CP, "2");
    expect_key(l, HALLEY_KEY_FSDP, "6");
    expect_key(l, HALLEY_KEY_SCHEDULE, "gpipe");
    expect_key(l, HALLEY_KEY_MICRO_BATCH, "2");
    expect_key(l, HALLEY_KEY_DTYPE, "fp8");
    assert_null(halley_launch_value(l, HALLEY_KEY_EXPOSE));
    halley_launch_free(l);
    expect_read(TITAN "[training]\ndata_parallel_type = \"ddp\"\n", "a.toml",
                HALLEY_KEY_ZERO, "0");
    expect_refused(TITAN "[training]\nbatch_size = 6\n[experimental]\n"
                         "pipeline_parallel_degree = 4\n",
                   "a.toml", "not a multiple of the 4 micro-batches");
    expect_refused(TITAN
                   "[experimental]\npipeline_parallel_split_points = [\"layers.4\"]\n",
                   "a.toml", "stages of its own");
}

static void torchtitan_compiles_what_its_components_name(void **state)
{
    (void)state;
    expect_read(TITAN "[compile]\nenable = true\n", "a.toml", HALLEY_KEY_KERNELS,
                "fused");
    expect_read(TITAN "[compile]\nenable = true\ncomponents = [\"loss\"]\n", "a.toml",
                HALLEY_KEY_KERNELS, "eager");
    expect_read(TITAN "[training]\ndtype = \"bfloat16\"\n", "a.toml",
                HALLEY_KEY_OPTIMIZER_MEMORY, "4");
    expect_refused(TITAN "[optimizer]\nearly_step_in_backward = true\n", "a.toml",
                   "within the backward pass");
}

static void torchtitan_splits_experts_by_tensor_parallelism_without_ep(void **state)
{
    (void)state;
#define MOE                                                                              \
    "[model]\nname = \"deepseek_v3\"\nflavor = \"16B\"\n[parallelism]\n"                 \
    "tensor_parallel_degree = 4\n"
    expect_read(MOE, "a.toml", HALLEY_KEY_ETP, "4");
    expect_read(MOE "expert_tensor_parallel_degree = 1\n", "a.toml", HALLEY_KEY_ETP, "4");
    expect_read(MOE "expert_parallel_degree = 8\n", "a.toml", HALLEY_KEY_ETP, "1");
    expect_read(MOE "expert_parallel_degree = 8\nexpert_tensor_parallel_degree = 4\n",
                "a.toml", HALLEY_KEY_ETP, "4");
    expect_read(MOE "expert_parallel_comm_backend = \"deepep\"\n", "a.toml",
                HALLEY_KEY_DISPATCHER, "deepep");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(older_torchtitan_files_state_their_degrees_elsewhere),
        cmocka_unit_test(torchtitan_compiles_what_its_components_name),
        cmocka_unit_test(torchtitan_splits_experts_by_tensor_parallelism_without_ep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
