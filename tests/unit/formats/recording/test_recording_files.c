/* Recordings that are linked straight into files. */
#include "base/file/file.h"
#include "halley/recording.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_RANKS = 8 };

/* A folder, and the files of the ranks in it, in the order in which they were asked for.
 */
typedef struct places {
    char folder[32], paths[MOST_RANKS][64];
    uint32_t asked[MOST_RANKS], n_asked, n_ranks;
} places;

static halley_status name_place(const char **path, void *context, uint32_t rank,
                                uint32_t n_ranks, halley_error *err)
{
    places *const p = context;
    (void)err;
    assert_true(rank < n_ranks && n_ranks <= MOST_RANKS);
    char name[64];
    snprintf(name, sizeof name, "%s/%u.et", p->folder, rank);
    strcpy(p->paths[rank], name);
    p->asked[p->n_asked++] = rank;
    p->n_ranks = n_ranks;
    *path = p->paths[rank];
    return HALLEY_OK;
}

static const char *find_recording(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/tests/data/recordings/%s",
             getenv("HALLEY_SOURCE_ROOT"), name);
    return path;
}

static void make_places(places *p)
{
    *p = (places){.folder = "/tmp/halley-test-XXXXXX"};
    assert_non_null(mkdtemp(p->folder));
}

/* The file of a rank has the bytes of the trace that is linked in memory. */
static void compare_rank(const places *p, const halley_trace_set *whole, uint32_t rank)
{
    uint8_t *bytes = NULL;
    size_t n = 0;
    file_input in;
    assert_int_equal(
        halley_trace_encode_et(&bytes, &n, halley_trace_set_get(whole, rank), NULL),
        HALLEY_OK);
    assert_int_equal(file_input_open(&in, p->paths[rank], NULL), HALLEY_OK);
    assert_int_equal(in.n, n);
    assert_memory_equal(in.at, bytes, n);
    file_input_close(&in);
    free(bytes);
    unlink(p->paths[rank]);
}

static void files_have_the_bytes_of_the_traces(void **state)
{
    (void)state;
    static const char *const names[] = {
        "window_edge.json", "clock_jump.json",    "duplicate_ids.json", "no_device.json",
        "nsys_2024.sqlite", "tiny_gpu.xplane.pb", "roc_tiny.json",      "model.json.gz"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *const path = find_recording(names[i]);
        halley_trace_set *whole = NULL, *heads = NULL;
        halley_link_report *a = NULL, *b = NULL;
        places p;
        make_places(&p);
        const halley_recording_opts opts = {.save_as = name_place, .save_context = &p};
        assert_int_equal(halley_recordings_link(&whole, &a, &path, 1, NULL, NULL),
                         HALLEY_OK);
        assert_int_equal(halley_recordings_link(&heads, &b, &path, 1, &opts, NULL),
                         HALLEY_OK);
        const uint32_t n = halley_trace_set_count(whole);
        assert_int_equal(halley_trace_set_count(heads), n);
        assert_int_equal(p.n_ranks, n);
        assert_int_equal(p.n_asked, n);
        assert_int_equal(p.asked[n - 1], 0); /* rank 0 last */
        for (uint32_t r = 0; r < n; r++) {
            const halley_trace *const head = halley_trace_set_get(heads, r);
            assert_memory_equal(&a[r], &b[r], sizeof a[r]);
            assert_true(halley_trace_count(head) <= 1); /* groups at most */
            assert_int_equal(halley_trace_metadata_count(head),
                             halley_trace_metadata_count(halley_trace_set_get(whole, r)));
            compare_rank(&p, whole, r);
        }
        halley_trace_set_free(whole);
        halley_trace_set_free(heads);
        free(a);
        free(b);
        assert_int_equal(rmdir(p.folder), 0);
    }
}

static halley_status refuse_place(const char **path, void *context, uint32_t rank,
                                  uint32_t n_ranks, halley_error *err)
{
    (void)context, (void)rank, (void)n_ranks, (void)err;
    *path = "/nonexistent/folder/0.et";
    return HALLEY_OK;
}

static void a_file_that_cannot_be_written_is_an_error(void **state)
{
    (void)state;
    const char *const path = find_recording("window_edge.json");
    const halley_recording_opts opts = {.save_as = refuse_place};
    halley_trace_set *set = NULL;
    halley_error err = {0};
    assert_int_not_equal(halley_recordings_link(&set, NULL, &path, 1, &opts, &err),
                         HALLEY_OK);
    assert_null(set);
    if (strstr(err.text, "/nonexistent/folder") == NULL)
        fail_msg("%s", err.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_have_the_bytes_of_the_traces),
        cmocka_unit_test(a_file_that_cannot_be_written_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
