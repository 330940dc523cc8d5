/* Models by their names in training programs. */
#include "launch/args.h"
#include "launch/write.h"

static const struct {
    const char *program, *name, *preset;
} names[] = {
    {"torchtitan", "llama3/8B", "llama3-8b"},
    {"torchtitan", "llama3/70B", "llama3-70b"},
    {"torchtitan", "llama3/405B", "llama3-405b"},
    {"torchtitan", "llama3/8B_flex", "llama3-8b"},
    {"torchtitan", "llama3/8B_varlen", "llama3-8b"},
    {"torchtitan", "llama2/7B", "llama2-7b"},
    {"torchtitan", "llama2/13B", "llama2-13b"},
    {"torchtitan", "llama2/70B", "llama2-70b"},
    {"torchtitan", "llama4/17bx16e", "llama4-scout"},
    {"torchtitan", "llama4/17bx128e", "llama4-maverick"},
    {"torchtitan", "llama4/17bx16e_irope", "llama4-scout"},
    {"torchtitan", "llama4/17bx128e_irope", "llama4-maverick"},
    {"torchtitan", "deepseek_v3/16B", "deepseek-v2-lite"},
    {"torchtitan", "deepseek_v3/236B", "deepseek-v2"},
    {"torchtitan", "deepseek_v3/671B", "deepseek-v3"},
    {"torchtitan", "qwen3/0.6B", "qwen3-0.6b"},
    {"torchtitan", "qwen3/1.7B", "qwen3-1.7b"},
    {"torchtitan", "qwen3/4B", "qwen3-4b"},
    {"torchtitan", "qwen3/8B", "qwen3-8b"},
    {"torchtitan", "qwen3/14B", "qwen3-14b"},
    {"torchtitan", "qwen3/32B", "qwen3-32b"},
    {"torchtitan", "qwen3/30B-A3B", "qwen3-30b-a3b"},
    {"torchtitan", "qwen3/235B-A22B", "qwen3-235b-a22b"},
    {"torchtitan", "gpt_oss/20b", "gpt-oss-20b"},
    {"torchtitan", "gpt_oss/120b", "gpt-oss-120b"},
    {"maxtext", "llama2-7b", "llama2-7b"},
    {"maxtext", "llama2-13b", "llama2-13b"},
    {"maxtext", "llama2-70b", "llama2-70b"},
    {"maxtext", "llama3-8b", "llama3-8b"},
    {"maxtext", "llama3-70b", "llama3-70b"},
    {"maxtext", "llama3-405b", "llama3-405b"},
    {"maxtext", "llama3.1-8b", "llama3-8b"},
    {"maxtext", "llama3.1-70b", "llama3-70b"},
    {"maxtext", "llama3.1-405b", "llama3-405b"},
    {"maxtext", "llama3.3-70b", "llama3-70b"},
    {"maxtext", "llama4-17b-16e", "llama4-scout"},
    {"maxtext", "llama4-17b-128e", "llama4-maverick"},
    {"maxtext", "mistral-7b", "mistral-7b"},
    {"maxtext", "mixtral-8x7b", "mixtral-8x7b"},
    {"maxtext", "mixtral-8x22b", "mixtral-8x22b"},
    {"maxtext", "deepseek2-16b", "deepseek-v2-lite"},
    {"maxtext", "deepseek2-236b", "deepseek-v2"},
    {"maxtext", "deepseek3-671b", "deepseek-v3"},
    {"maxtext", "qwen3-0.6b", "qwen3-0.6b"},
    {"maxtext", "deepseek3-671b-2dfsdp", "deepseek-v3"},
    {"maxtext", "deepseek3-671b-batchsplit", "deepseek-v3"},
    {"maxtext", "qwen3-1.7b", "qwen3-1.7b"},
    {"maxtext", "qwen3-1.7b-base", "qwen3-1.7b"},
    {"maxtext", "qwen3-4b", "qwen3-4b"},
    {"maxtext", "qwen3-4b-base", "qwen3-4b"},
    {"maxtext", "qwen3-4b-thinking-2507", "qwen3-4b"},
    {"maxtext", "qwen3-8b-base", "qwen3-8b"},
    {"maxtext", "qwen3-14b-base", "qwen3-14b"},
    {"maxtext", "qwen3-30b-a3b-base", "qwen3-30b-a3b"},
    {"maxtext", "qwen3-8b", "qwen3-8b"},
    {"maxtext", "qwen3-14b", "qwen3-14b"},
    {"maxtext", "qwen3-32b", "qwen3-32b"},
    {"maxtext", "qwen3-30b-a3b", "qwen3-30b-a3b"},
    {"maxtext", "qwen3-235b-a22b", "qwen3-235b-a22b"},
    {"maxtext", "gpt3-175b", "gpt3-175b"},
    {"maxtext", "gpt-oss-20b", "gpt-oss-20b"},
    {"maxtext", "gpt-oss-120b", "gpt-oss-120b"},
};

/* Megatron-Bridge names a class: megatron.bridge...Llama3ModelProvider70B. */
static const struct {
    const char *class, *preset;
} providers[] = {
    {"Llama2ModelProvider7B", "llama2-7b"},
    {"Llama2ModelProvider13B", "llama2-13b"},
    {"Llama2ModelProvider70B", "llama2-70b"},
    {"Llama3ModelProvider8B", "llama3-8b"},
    {"Llama3ModelProvider70B", "llama3-70b"},
    {"Llama31ModelProvider8B", "llama3-8b"},
    {"Llama31ModelProvider70B", "llama3-70b"},
    {"Llama31ModelProvider405B", "llama3-405b"},
    {"DeepSeekV2LiteModelProvider", "deepseek-v2-lite"},
    {"DeepSeekV2ModelProvider", "deepseek-v2"},
    {"DeepSeekV3ModelProvider", "deepseek-v3"},
    {"Qwen3ModelProvider8B", "qwen3-8b"},
    {"Qwen3ModelProvider32B", "qwen3-32b"},
    {"Qwen3MoEModelProvider30B_A3B", "qwen3-30b-a3b"},
    {"Qwen3MoEModelProvider235B_A22B", "qwen3-235b-a22b"},
    {"MixtralModelProvider8x7B", "mixtral-8x7b"},
    {"GPTProvider175B", "gpt3-175b"},
    {"Nemotron4ModelProvider15B", "nemotron-4-15b"},
    {"Nemotron4ModelProvider340B", "nemotron-4-340b"},
};

const char *launch_preset_of(str program, str name)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_eq(program, str_from(names[i].program)) &&
            str_eq(name, str_from(names[i].name)))
            return names[i].preset;
    for (size_t i = 0; i < sizeof providers / sizeof *providers; i++)
        if (str_eq(program, STR("bridge")) &&
            str_ends(name, str_from(providers[i].class)))
            return providers[i].preset;
    return NULL;
}

const char *launch_name_of(str program, str preset)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_eq(program, str_from(names[i].program)) &&
            str_eq(preset, str_from(names[i].preset)))
            return names[i].name;
    return NULL;
}
