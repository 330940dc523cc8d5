/* Memory that runs out anywhere in reading, building or writing a trace: said so, nothing
 * lost, nothing half-written. Leaks are for ASan to see. */
#include "alloc_fail.h"
#include "random_trace.h"
#include "same_trace.h"

#include <stdio.h>
#include <unistd.h>

/* A folder of its own for each test; *state is its path. */
static int enter_folder(void **state)
{
    char *path = strdup("/tmp/halley-test-XXXXXX");
    *state = mkdtemp(path);
    return *state == NULL ? -1 : chdir(path);
}

static int leave_folder(void **state)
{
    char command[256];
    snprintf(command, sizeof command, "rm -rf '%s'", (char *)*state);
    const int failed = chdir("/") != 0 || system(command) != 0;
    free(*state);
    return failed;
}

static void save(const char *path, bytes file)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(file.at, 1, file.n, f), file.n);
    assert_int_equal(fclose(f), 0);
}

static bytes encode(const halley_trace *t)
{
    bytes out = {0};
    assert_int_equal(halley_trace_encode_et(&out.at, &out.n, t, NULL), HALLEY_OK);
    return out;
}

/* Load a file; what comes of it under a failure must be nothing or the whole. */
typedef struct load_job {
    const char *path;
    const halley_trace *wanted;
} load_job;

static halley_status load(void *context, halley_error *err)
{
    const load_job *const job = context;
    const halley_load_opts opts = {.n_threads = 1};
    halley_trace *t = NULL;
    const halley_status status = halley_trace_load(&t, job->path, &opts, err);
    if (status == HALLEY_OK)
        same_trace(job->wanted, t);
    else
        assert_null(t);
    halley_trace_free(t);
    return status;
}

static void load_everywhere(const char *path)
{
    halley_trace *t = NULL;
    assert_int_equal(halley_trace_load(&t, path, NULL, NULL), HALLEY_OK);
    load_job job = {path, t};
    assert_true(alloc_fail_everywhere(load, &job) > 20);
    halley_trace_free(t);
}

static void reading_et(void **state)
{
    (void)state;
    halley_trace *const t = random_trace(5, 40, RANDOM_UNKNOWN | RANDOM_NOT_UTF8);
    bytes file = encode(t);
    save("a.et", file);
    assert_int_equal(halley_trace_save_et(t, "a.et.gz", NULL), HALLEY_OK);
    load_everywhere("a.et");
    load_everywhere("a.et.gz");
    halley_trace_free(t);
    free(file.at);
}

/* Fields twice, lists in pieces, text of 16 MiB, a first node that might be metadata. */
static void reading_odd_et(void **state)
{
    (void)state;
    bytes file = {0};
    for (int i = 0; i < 3; i++) {
        bytes node = {0}, attr = {0}, io = {0};
        put_text(&node, 2, "hi");
        put_u64(&node, 3, 300);
        put_text(&io, 1, "v");
        put_message(&node, 8, io);
        put_text(&attr, 2, "doc");
        put_text(&attr, 16, "\x08\x02");
        put_text(&attr, 99, "?");
        put_text(&attr, 16, "\x0a\x01\x04");
        put_text(&attr, 98, "?");
        put_message(&node, 10, attr);
        put_text(&node, 8, "\x12\x01z");
        if (i > 0)
            put_text(&node, 77, "unknown");
        if (i == 2) {
            char *const text = calloc(1, 17 << 20);
            assert_non_null(text);
            put_bytes(&node, 2, text, 17 << 20);
            free(text);
        }
        put_framed(&file, node);
    }
    save("a.et", file);
    load_everywhere("a.et");
    free(file.at);
}

static void reading_json(void **state)
{
    (void)state;
    halley_trace *const t = random_trace(6, 25, 0);
    for (int style = HALLEY_JSON_DOCUMENT; style <= HALLEY_JSON_CHAKRA; style++) {
        assert_int_equal(halley_trace_save_json(t, "a.json", (halley_json_style)style,
                                                false, NULL, NULL),
                         HALLEY_OK);
        load_everywhere("a.json");
    }
    halley_trace_free(t);
    static const char graph[] = "{\"schema\":\"\\u00e9\",\"workload_graph\":[{\"Id\":1,"
                                "\"Name\":\"\\n\",\"x\":0.5,"
                                "\"text\":\"\\t\"},{\"Id\":5,\"ctrlDeps\":[1],\"data_"
                                "deps\":[1,9],\"runtime\":3}]}";
    save("g.json", (bytes){.at = (uint8_t *)(uintptr_t)graph, .n = sizeof graph - 1});
    load_everywhere("g.json");
}

static void reading_old_schemas(void **state)
{
    (void)state;
    for (int version = 1; version <= 3; version++) {
        bytes file = {0};
        for (uint64_t i = 1; i < 5; i++) {
            bytes node = start_node(i, "a", 3);
            put_u64(&node, 4, i - 1);
            if (version == 1) {
                put_u64(&node, 7, 5000);
                put_u64(&node, 14, 1);
                put_u64(&node, 14, 0);
                put_u64(&node, 15, 7);
            } else {
                bytes attr = {0};
                put_text(&node, 5, "in");
                put_text(&attr, 1, "dims");
                put_u64(&attr, 2, version == 2 ? 4 : 8);
                put_u64(&attr, version == 2 ? 8 : 12, 1);
                put_u64(&attr, version == 2 ? 8 : 12, 2);
                put_message(&node, 11, attr);
            }
            put_framed(&file, node);
        }
        save("old.et", file);
        halley_trace *t = NULL;
        assert_int_equal(halley_trace_load(&t, "old.et", NULL, NULL), HALLEY_OK);
        assert_int_equal(halley_trace_form_of(t), version == 1   ? HALLEY_FORM_ET_V1
                                                  : version == 2 ? HALLEY_FORM_ET_V2
                                                                 : HALLEY_FORM_ET_V3);
        halley_trace_free(t);
        load_everywhere("old.et");
        free(file.at);
    }
}

static halley_status encode_once(void *context, halley_error *err)
{
    uint8_t *out = NULL;
    size_t n = 0;
    const halley_status status = halley_trace_encode_et(&out, &n, context, err);
    if (status)
        assert_null(out);
    free(out);
    return status;
}

static int n_files(void)
{
    FILE *f = popen("ls -A | wc -l", "r");
    int n = -1;
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%d", &n), 1);
    pclose(f);
    return n;
}

typedef struct save_job {
    const halley_trace *t;
    const char *path;
    int json; /* style, or -1 */
} save_job;

static halley_status save_once(void *context, halley_error *err)
{
    const save_job *const job = context;
    const halley_status status =
        job->json < 0
            ? halley_trace_save_et(job->t, job->path, err)
            : halley_trace_save_json(job->t, job->path, (halley_json_style)job->json,
                                     true, NULL, err);
    if (status)
        assert_int_not_equal(access(job->path, F_OK), 0);
    unlink(job->path);
    return status;
}

static void writing(void **state)
{
    (void)state;
    halley_trace *const t = random_trace(7, 300, RANDOM_UNKNOWN | RANDOM_NOT_UTF8);
    assert_true(alloc_fail_everywhere(encode_once, t) > 3);
    save_job jobs[] = {
        {t, "a.et", -1}, {t, "a.et.gz", -1}, {t, "a.json", 0}, {t, "a.json", 2}};
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++)
        assert_true(alloc_fail_everywhere(save_once, &jobs[i]) > 3);
    assert_int_equal(n_files(), 0);
    halley_trace_free(t);
}

/* Node by node, going on after a failure as careless callers do. */
static halley_status build(void *context, halley_error *err)
{
    const halley_trace *const from = context;
    halley_builder *b = NULL;
    halley_trace *t = NULL;
    const halley_status status = halley_builder_new(&b, err);
    if (status)
        return status;
    halley_builder_version(b, halley_trace_version(from));
    for (uint32_t i = 0; i < halley_trace_metadata_count(from); i++) {
        const halley_attr a = halley_trace_metadata(from, i);
        halley_builder_metadata(b, &a);
    }
    halley_builder_metadata_unknown(b, halley_trace_metadata_unknown(from));
    for (uint32_t i = 0; i < halley_trace_count(from); i++)
        halley_builder_copy(b, from, i);
    const halley_status finished = halley_builder_finish(&t, b, err);
    if (finished == HALLEY_OK)
        same_trace(from, t);
    else
        assert_null(t);
    halley_trace_free(t);
    return finished;
}

static void building(void **state)
{
    (void)state;
    halley_trace *const t = random_trace(8, 60, RANDOM_UNKNOWN);
    assert_true(alloc_fail_everywhere(build, t) > 30);
    halley_trace_free(t);
}

static halley_status load_set(void *context, halley_error *err)
{
    const char *const path = context;
    const halley_load_opts opts = {.n_threads = 1};
    halley_trace_set *set = NULL;
    const halley_status status = halley_trace_set_load(&set, &path, 1, &opts, err);
    if (status == HALLEY_OK) {
        assert_int_equal(halley_trace_set_count(set), 4);
        assert_int_equal(halley_trace_set_distinct(set), 3);
    } else {
        assert_null(set);
    }
    halley_trace_set_free(set);
    return status;
}

static void loading_a_set(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 4; i++) {
        char path[32];
        snprintf(path, sizeof path, "a.%d.et", (int)i);
        halley_trace *const t = random_trace(i % 3, 3, 0);
        assert_int_equal(halley_trace_save_et(t, path, NULL), HALLEY_OK);
        halley_trace_free(t);
    }
    assert_true(alloc_fail_everywhere(load_set, (void *)(uintptr_t) "a") > 30);
    assert_true(alloc_fail_everywhere(load_set, (void *)(uintptr_t) ".") > 30);
}

static halley_status make_set(void *context, halley_error *err)
{
    halley_trace *const t = context;
    halley_trace *ranks[3] = {t, t, t};
    halley_trace_set *set = NULL;
    for (int i = 0; i < 3; i++)
        halley_trace_keep(t);
    const halley_status status = halley_trace_set_new(&set, ranks, 3, err);
    if (status) /* the references are still ours */
        for (int i = 0; i < 3; i++)
            halley_trace_free(t);
    halley_trace_set_free(set);
    return status;
}

static void making_a_set(void **state)
{
    (void)state;
    halley_trace *const t = random_trace(8, 3, 0);
    assert_true(alloc_fail_everywhere(make_set, t) >= 4);
    halley_trace_free(t);
}

/* Two threads: which allocation fails is chance, that it is told is not. */
static halley_status parse_in_shares(void *context, halley_error *err)
{
    const bytes *const file = context;
    const halley_load_opts opts = {.n_threads = 2};
    halley_trace *t = NULL;
    const halley_status status =
        halley_trace_parse(&t, file->at, file->n, "made", &opts, err);
    if (status == HALLEY_OK)
        assert_int_equal(halley_trace_count(t), 20);
    halley_trace_free(t);
    return status;
}

static void reading_on_threads(void **state)
{
    (void)state;
    bytes file = start_file();
    char *const text = calloc(1, 1 << 20);
    assert_non_null(text);
    for (uint64_t i = 0; i < 20; i++) {
        bytes node = start_node(i + 1, "a", 4);
        put_bytes(&node, 77, text, 1 << 20);
        put_framed(&file, node);
    }
    free(text);
    assert_true(alloc_fail_everywhere(parse_in_shares, &file) > 10);
    free(file.at);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter_folder, leave_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(reading_et),
        IN_FOLDER(reading_odd_et),
        IN_FOLDER(reading_json),
        IN_FOLDER(reading_old_schemas),
        IN_FOLDER(writing),
        IN_FOLDER(building),
        IN_FOLDER(loading_a_set),
        IN_FOLDER(making_a_set),
        IN_FOLDER(reading_on_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
