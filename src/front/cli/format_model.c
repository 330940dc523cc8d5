/* halley-model(5): model files, from the table that reads them. */
#include "cli/commands.h"
#include "halley/model.h"

static bool find_model_key(request_entry *out, const char *part, size_t i)
{
    halley_file_key k;
    if (!halley_model_key(&k, part, i))
        return false;
    *out = (request_entry){.name = k.key,
                           .doc = k.doc,
                           .by_default = k.by_default,
                           .example = k.example,
                           .values = k.names};
    return true;
}

static bool list_model_key(request_entry *out, size_t i)
{
    return find_model_key(out, "", i);
}

static bool latent_key(request_entry *out, size_t i)
{
    return find_model_key(out, "latent", i);
}

static bool operator_key(request_entry *out, size_t i)
{
    return find_model_key(out, "operators", i);
}

static const request_list lists[] = {
    {"keys", list_model_key},
    {"keys of latent", latent_key},
    {"keys of an operator", operator_key},
    {0},
};

const cli_format format_model = {
    .name = "model",
    .summary = "the architecture of a model",
    .description =

        "A model file is YAML or JSON. It describes what is trained; the plan "
        "describes how it is parallelized:\n\n"
        "  name: my-7b\n"
        "  layers: 32\n"
        "  hidden: 4096\n"
        "  heads: 32\n"
        "  kv-heads: 8\n"
        "  ffn: 14336\n"
        "  gated: yes\n"
        "  vocab: 128256\n"
        "  seq: 8192\n\n"
        "The kind dlrm needs tables and MLPs. The kind ops needs a list of "
        "operators, each a matmul of m x k and k x n per sample, or plain flops "
        "and bytes.\n\n"
        "A Hugging Face config.json or a file of Megatron's arguments "
        "(\"--num-layers 96 ...\") can be used instead of a model file. Unknown "
        "keys of our own files are errors.",
    .lists = lists,
    .commands = "estimate",
};
