/*
 * Random requests and the command lines that they stand for: a request replies with the
 * bytes that the command prints with --json, or with the sentence that it fails with.
 *
 *   random-requests HALLEY N SEED
 *   random-requests --print N SEED     each request on a line, then the length of its
 *                                      reply, and the reply (tools/abuse/check-serve)
 */
#include "base/conf/conf.h"
#include "base/rng.h"
#include "halley/request.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_WORDS = 64 };

/* One case in both forms. */
typedef struct sample {
    strbuf json;
    char words[MAX_WORDS][64];
    int n_words;
} sample;

static void add_word(sample *s, const char *word)
{
    snprintf(s->words[s->n_words++], sizeof s->words[0], "%s", word);
}

/* A key with a value that is a number where it looks like one. */
static void add_option(sample *s, const char *key, const char *value)
{
    char option[64];
    snprintf(option, sizeof option, "--%s", key);
    for (char *c = option + 2; *c != '\0'; c++)
        *c = *c == '_' ? '-' : *c;
    add_word(s, option);
    add_word(s, value);
    const bool is_number = strspn(value, "0123456789") == strlen(value);
    strbuf_printf(&s->json, is_number ? ", \"%s\": %s" : ", \"%s\": \"%s\"", key, value);
}

static void add_flag(sample *s, const char *key)
{
    char option[64];
    snprintf(option, sizeof option, "--%s", key);
    for (char *c = option + 2; *c != '\0'; c++)
        *c = *c == '_' ? '-' : *c;
    add_word(s, option);
    strbuf_printf(&s->json, ", \"%s\": true", key);
}

static void add_argument(sample *s, const char *key, const char *value)
{
    add_word(s, value);
    strbuf_printf(&s->json, ", \"%s\": \"%s\"", key, value);
}

static void start(sample *s, const char *verb)
{
    strbuf_printf(&s->json, "{\"do\": \"%s\"", verb);
    char word[64];
    snprintf(word, sizeof word, "%s", verb);
    char *dot = strchr(word, '.');
    if (dot != NULL)
        *dot = '\0';
    add_word(s, word);
    if (dot != NULL)
        add_word(s, dot + 1);
}

static const char *pick(rng *r, const char *const *list)
{
    uint32_t n = 0;
    while (list[n] != NULL)
        n++;
    return list[rng_below(r, n)];
}

static const char *const models[] = {"gpt-3.6b",     "llama3-8b", "llama3-70b",
                                     "mixtral-8x7b", "dlrm-1.2t", "gpt-22b",
                                     "nothing",      NULL};
static const char *const clusters[] = {"dgx-h100:8",  "dgx-a100:64", "gh200:16",
                                       "dgx-h100:12", "dgx-h100",    "gb200-nvl72:144",
                                       "a:b",         NULL};
static const char *const degrees[] = {"1", "2", "4", "8", "3", "16", "0", NULL};
static const char *const batches[] = {"8", "64", "128", "100", "1", NULL};
static const char *const stacks[] = {"megatron-2022", "torchtitan-2024", "none", NULL};
static const char *const recomputes[] = {"none", "selective", "full", "ful", "qkv", NULL};
static const char *const types[] = {"bf16", "fp8", "fp16", "int3", NULL};
static const char *const zeros[] = {"0", "1", "2", "3", "4", NULL};

static void make_design(sample *s, rng *r)
{
    static const char *const keys[] = {"tp", "pp",      "cp",         "ep",
                                       "dp", "virtual", "micro_batch"};
    add_option(s, "model", pick(r, models));
    add_option(s, "cluster", pick(r, clusters));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (rng_below(r, 3) == 0)
            add_option(s, keys[i], pick(r, degrees));
    if (rng_below(r, 2) == 0)
        add_option(s, "global_batch", pick(r, batches));
    if (rng_below(r, 4) == 0)
        add_option(s, "recompute", pick(r, recomputes));
    if (rng_below(r, 4) == 0)
        add_option(s, "dtype", pick(r, types));
    if (rng_below(r, 4) == 0)
        add_option(s, "zero", pick(r, zeros));
    if (rng_below(r, 6) == 0)
        add_option(s, "stack", pick(r, stacks));
    if (rng_below(r, 6) == 0)
        add_flag(s, "no_overlap");
}

static void make_estimate(sample *s, rng *r)
{
    static const char *const tokens[] = {"1000000", "1.5e13", "2 T", "many", NULL};
    start(s, "estimate");
    make_design(s, r);
    if (rng_below(r, 4) == 0)
        add_flag(s, "explain");
    if (rng_below(r, 4) == 0)
        add_option(s, "tokens", pick(r, tokens));
}

static void make_plan(sample *s, rng *r)
{
    start(s, "plan");
    add_option(s, "model", "gpt-3.6b");
    add_option(s, "cluster", "dgx-h100:8");
    add_option(s, "tp", pick(r, degrees));
    add_option(s, "top", pick(r, batches));
}

static void make_presets(sample *s, rng *r)
{
    static const char *const names[] = {"models",   "clusters",   "npus",
                                        "dgx-h100", "nothing",    "llama3-70b",
                                        "stacks",   "torus.yaml", NULL};
    start(s, "presets");
    if (rng_below(r, 4) != 0)
        add_argument(s, "name", pick(r, names));
}

static void make_topology(sample *s, rng *r)
{
    static const char *const verbs[] = {"topology.show", "topology.check", NULL};
    static const char *const files[] = {"torus.yaml", "nowhere.yaml", NULL};
    start(s, pick(r, verbs));
    add_argument(s, "topology", pick(r, files));
    if (rng_below(r, 2) == 0)
        add_flag(s, "no_cuts");
}

static void make_trace(sample *s, rng *r)
{
    static const char *const names[] = {"ar", "nowhere", "ar.0.et", NULL};
    static const char *const verbs[] = {"trace.info", "trace.check", NULL};
    start(s, pick(r, verbs));
    add_argument(s, "trace", pick(r, names));
    if (rng_below(r, 2) == 0)
        add_flag(s, "all");
}

static void make_sim(sample *s, rng *r)
{
    static const char *const models_of_networks[] = {"free", "queue", "link-queue", "x",
                                                     NULL};
    start(s, "sim");
    add_argument(s, "trace", "ar");
    add_option(s, "cluster", pick(r, clusters));
    if (rng_below(r, 2) == 0)
        add_option(s, "network_model", pick(r, models_of_networks));
    if (rng_below(r, 2) == 0)
        add_flag(s, "explain");
}

static void make_sample(sample *s, rng *r)
{
    static void (*const makers[])(sample *, rng *) = {
        make_estimate, make_estimate, make_estimate, make_estimate, make_estimate,
        make_plan,     make_presets,  make_topology, make_trace,    make_sim};
    makers[rng_below(r, sizeof makers / sizeof *makers)](s, r);
    strbuf_add_char(&s->json, '}');
}

/* Run the program with the sample's words and --json; both outputs are the caller's. */
static int run_program(const char *program, const sample *s, strbuf *out, strbuf *err)
{
    int pipes[2][2];
    if (pipe(pipes[0]) != 0 || pipe(pipes[1]) != 0)
        abort();
    const pid_t child = fork();
    if (child == 0) {
        const char *argv[MAX_WORDS + 3] = {program};
        for (int i = 0; i < s->n_words; i++)
            argv[i + 1] = s->words[i];
        argv[s->n_words + 1] = "--json";
        dup2(pipes[0][1], STDOUT_FILENO);
        dup2(pipes[1][1], STDERR_FILENO);
        close(pipes[0][0]);
        close(pipes[1][0]);
        execv(program, (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    strbuf *const to[2] = {out, err};
    for (int i = 0; i < 2; i++) {
        char piece[65536];
        ssize_t n;
        close(pipes[i][1]);
        while ((n = read(pipes[i][0], piece, sizeof piece)) > 0)
            strbuf_add(to[i], (str){piece, (size_t)n});
        close(pipes[i][0]);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The reply is an error whose sentence the program printed. */
static bool is_same_failure(const char *reply, const strbuf *err)
{
    conf_file file;
    bool same = false;
    if (conf_parse(&file, str_from(reply), "reply.json", NULL) != HALLEY_OK)
        return false;
    const conf_node *error = conf_find(file.root, "error");
    const conf_node *message = conf_find(error, "message");
    if (message != NULL && err->n > 0) {
        /* A command line says --top where a request says top. */
        str text = message->text;
        for (size_t i = 0; !same && i < text.n && i < 40; i++)
            same = str_contains(strbuf_str(err), (str){text.at + i, text.n - i});
    }
    conf_fini(&file);
    return same;
}

static bool is_same_result(const char *reply, const strbuf *out)
{
    strbuf wanted = {0};
    strbuf_printf(&wanted, "{\"ok\": true, \"result\": ");
    strbuf_add(&wanted, (str){out->at, out->n - 1});
    strbuf_printf(&wanted, "}\n");
    const bool same = str_eq(strbuf_str(&wanted), str_from(reply));
    strbuf_fini(&wanted);
    return same;
}

static bool check_sample(const char *program, rng *r, uint32_t *n_results)
{
    sample s = {.n_words = 0};
    strbuf out = {0}, err = {0};
    char *reply = NULL;
    make_sample(&s, r);
    const int code = run_program(program, &s, &out, &err);
    bool same = halley_request(&reply, s.json.at, NULL, NULL) == HALLEY_OK;
    if (same)
        same = out.n > 0 ? is_same_result(reply, &out) : is_same_failure(reply, &err);
    *n_results += out.n > 0;
    if (!same)
        printf("not the same (exit %d):\n%s\n%s\n%s\n", code, s.json.at,
               reply != NULL ? reply : "no reply",
               out.n > 0   ? out.at
               : err.n > 0 ? err.at
                           : "");
    free(reply);
    strbuf_fini(&s.json);
    strbuf_fini(&out);
    strbuf_fini(&err);
    return same;
}

static bool print_sample(rng *r)
{
    sample s = {.n_words = 0};
    char *reply = NULL;
    make_sample(&s, r);
    const bool ok = halley_request(&reply, s.json.at, NULL, NULL) == HALLEY_OK;
    if (ok)
        printf("%s\n%zu\n%s", s.json.at, strlen(reply), reply);
    free(reply);
    strbuf_fini(&s.json);
    return ok;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    const uint32_t n = (uint32_t)strtoul(argv[2], NULL, 10);
    rng r = rng_seed(strtoull(argv[3], NULL, 10));
    uint32_t n_same = 0, n_results = 0;
    if (strcmp(argv[1], "--print") == 0) {
        for (uint32_t i = 0; i < n; i++)
            n_same += print_sample(&r);
        return n_same == n ? 0 : 1;
    }
    for (uint32_t i = 0; i < n; i++)
        n_same += check_sample(argv[1], &r, &n_results);
    printf("%u of %u requests give what the command gives, %u of them results\n", n_same,
           n, n_results);
    return n_same == n && n_results > n / 4 ? 0 : 1;
}
