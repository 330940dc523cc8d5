/* Files of other programs where a model is expected. */
#include "halley/model.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static halley_model load(const char *name)
{
    halley_model m;
    halley_error err = {0};
    if (halley_model_load(&m, name, &err) != HALLEY_OK)
        fail_msg("%s: %s", name, err.text);
    return m;
}

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void a_hugging_face_configuration_gives_the_same_shape(void **state)
{
    (void)state;
    char path[] = "/tmp/halley-test-XXXXXX.json";
    const int fd = mkstemps(path, 5);
    assert_true(fd >= 0);
    close(fd);
    write_file(path,
               "{\"model_type\":\"llama\",\"hidden_size\":4096,\"num_hidden_layers\":32,"
               "\"num_attention_heads\":32,\"num_key_value_heads\":8,"
               "\"intermediate_size\":14336,\"vocab_size\":128256,"
               "\"hidden_act\":\"silu\",\"tie_word_embeddings\":false,"
               "\"max_position_embeddings\":8192,\"rope_theta\":500000.0}");
    const halley_model a = load(path), b = load("llama3-8b");
    /* The preset's sizes give its count but for the norms, 0.003 % of it. */
    assert_true(fabs(halley_model_params(&a) / halley_model_params(&b) - 1) < 1e-4);
    assert_true(a.layers == b.layers && a.hidden == b.hidden && a.heads == b.heads &&
                a.kv_heads == b.kv_heads && a.head_dim == b.head_dim && a.ffn == b.ffn &&
                a.vocab == b.vocab && a.seq == b.seq && a.gated == b.gated &&
                a.tied == b.tied && a.window == b.window && a.experts == b.experts);
    unlink(path);
}

static void megatron_arguments_give_a_shape(void **state)
{
    (void)state;
    char path[] = "/tmp/halley-test-XXXXXX.sh";
    const int fd = mkstemps(path, 3);
    assert_true(fd >= 0);
    close(fd);
    write_file(path, "torchrun pretrain_gpt.py --num-layers 96 --hidden-size 12288 \\\n"
                     "  --num-attention-heads 96 --seq-length 2048 "
                     "--max-position-embeddings 2048 --micro-batch-size 1 \\\n"
                     "  --merge-file merges.txt --tensor-model-parallel-size 8\n");
    const halley_model a = load(path), b = load("gpt3-175b");
    assert_int_equal(a.ffn, b.ffn);
    assert_int_equal(a.vocab, b.vocab);
    /* biases and learned positions are counted here, and not in the preset */
    assert_true(fabs(halley_model_params(&a) / halley_model_params(&b) - 1) < 1e-3);
    write_file(path, "--num-layers 96 --hidden-size many\n");
    halley_model m;
    halley_error err = {0};
    assert_int_equal(halley_model_load(&m, path, &err), HALLEY_EFORMAT);
    assert_non_null(strstr(err.text, "--hidden-size must be a whole number"));
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hugging_face_configuration_gives_the_same_shape),
        cmocka_unit_test(megatron_arguments_give_a_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
