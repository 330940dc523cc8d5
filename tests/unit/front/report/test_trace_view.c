/* Pictures: what the graph files hold, and laws every layout obeys. */
#include "alloc_fail.h"
#include "halley/trace_gen.h"
#include "halley/trace_view.h"
#include "report/view/view.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static halley_trace *generate(const char *pattern, uint32_t n_npus,
                              const char *const *params)
{
    halley_gen *gen = NULL;
    halley_trace *trace = NULL;
    assert_int_equal(halley_gen_new(&gen, pattern, n_npus, NULL), HALLEY_OK);
    for (size_t i = 0; params && params[i]; i += 2)
        assert_int_equal(halley_gen_set(gen, params[i], params[i + 1], NULL), HALLEY_OK);
    assert_int_equal(halley_gen_trace(&trace, gen, 0, NULL), HALLEY_OK);
    halley_gen_free(gen);
    return trace;
}

static halley_trace *random_trace(uint32_t n_nodes, uint64_t seed)
{
    char nodes[16], seeds[24];
    snprintf(nodes, sizeof nodes, "%u", n_nodes);
    snprintf(seeds, sizeof seeds, "%llu", (unsigned long long)seed);
    const char *const params[] = {"nodes", nodes, "seed", seeds, NULL};
    return generate("random", 4, params);
}

static char *read_text(const char *path)
{
    FILE *from = fopen(path, "rb");
    assert_non_null(from);
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    for (int c; (c = fgetc(from)) != EOF;)
        fputc(c, to);
    fclose(from);
    fclose(to);
    return text;
}

/* The picture as text; the summary, too, when wanted. */
static char *picture(const halley_trace *trace, const halley_view_opts *opts,
                     halley_view_summary *sum)
{
    char path[64];
    halley_error err = {0};
    snprintf(path, sizeof path, "view-%ld.tmp", (long)getpid());
    if (halley_view_save(trace, path, opts, sum, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    char *text = read_text(path);
    (void)unlink(path);
    return text;
}

static size_t count_of(const char *text, const char *part)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at++)
        n++;
    return n;
}

/* Edges as lines "from to kind", sorted. */
typedef struct lines {
    char **at;
    size_t n;
} lines;

static void add_line(lines *l, const char *line)
{
    l->at = realloc(l->at, (l->n + 1) * sizeof *l->at);
    l->at[l->n++] = strdup(line);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void lines_fini(lines *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->at[i]);
    free(l->at);
}

/* Sorted, each once: a dependency may be written twice in a trace. */
static void tidy(lines *l)
{
    if (l->n > 1)
        qsort(l->at, l->n, sizeof *l->at, by_text);
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++) {
        if (n > 0 && strcmp(l->at[n - 1], l->at[i]) == 0)
            free(l->at[i]);
        else
            l->at[n++] = l->at[i];
    }
    l->n = n;
}

static void lines_equal(lines *a, lines *b)
{
    tidy(a);
    tidy(b);
    assert_int_equal(a->n, b->n);
    for (size_t i = 0; i < a->n; i++)
        assert_string_equal(a->at[i], b->at[i]);
    lines_fini(a);
    lines_fini(b);
}

static lines edges_of_trace(const halley_trace *trace)
{
    lines l = {0};
    char line[96];
    for (uint32_t i = 0; i < halley_trace_count(trace); i++) {
        for (uint32_t ctrl = 0; ctrl < 2; ctrl++) {
            const uint32_t n = ctrl ? halley_node_ctrl_count(trace, i)
                                    : halley_node_data_count(trace, i);
            for (uint32_t k = 0; k < n; k++) {
                const halley_dep dep =
                    ctrl ? halley_node_ctrl(trace, i, k) : halley_node_data(trace, i, k);
                if (dep.index == HALLEY_NO_NODE)
                    continue;
                snprintf(line, sizeof line, "%llu %llu %s", (unsigned long long)dep.id,
                         (unsigned long long)halley_node_id(trace, i),
                         ctrl ? "control" : "data");
                add_line(&l, line);
            }
        }
    }
    return l;
}

static lines edges_of_graphml(const char *text)
{
    lines l = {0};
    for (const char *at = text; (at = strstr(at, "<edge source=\"")) != NULL; at++) {
        unsigned long long from, to;
        char kind[16], line[96];
        assert_int_equal(sscanf(at,
                                "<edge source=\"%llu\" target=\"%llu\"><data "
                                "key=\"dependency\">%15[a-z]",
                                &from, &to, kind),
                         3);
        snprintf(line, sizeof line, "%llu %llu %s", from, to, kind);
        add_line(&l, line);
    }
    return l;
}

static lines edges_of_dot(const char *text)
{
    lines l = {0};
    for (const char *at = text; (at = strstr(at, " -> ")) != NULL; at++) {
        const char *start = at;
        while (start > text && start[-1] >= '0' && start[-1] <= '9')
            start--;
        unsigned long long from, to;
        char kind[16], line[96];
        if (sscanf(start, "%llu -> %llu [arrowhead=%15[a-z]", &from, &to, kind) != 3)
            continue;
        snprintf(line, sizeof line, "%llu %llu %s", from, to,
                 strcmp(kind, "tee") == 0 ? "control" : "data");
        add_line(&l, line);
    }
    return l;
}

static void graph_files_hold_every_node_and_dependency(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 6; seed++) {
        halley_trace *trace = random_trace(200, seed);
        char *xml =
            picture(trace, &(halley_view_opts){.form = HALLEY_VIEW_GRAPHML}, NULL);
        char *dot = picture(trace, &(halley_view_opts){.form = HALLEY_VIEW_DOT}, NULL);
        assert_int_equal(count_of(xml, "<node id="), 200);
        assert_int_equal(count_of(dot, " [label="), 200);
        lines want = edges_of_trace(trace), got = edges_of_graphml(xml);
        lines_equal(&want, &got);
        want = edges_of_trace(trace);
        got = edges_of_dot(dot);
        lines_equal(&want, &got);
        free(xml);
        free(dot);
        halley_trace_free(trace);
    }
}

static halley_trace *small_trace(const char *name)
{
    halley_builder *b = NULL;
    halley_trace *trace = NULL;
    assert_int_equal(halley_builder_new(&b, NULL), HALLEY_OK);
    for (uint64_t id = 0; id < 3; id++) {
        (void)halley_builder_node(b, id, HALLEY_NODE_COMP,
                                  (halley_bytes){name, strlen(name)});
        (void)halley_builder_attr_text(b, "note", (halley_bytes){name, strlen(name)});
        if (id == 0)
            continue;
        (void)halley_builder_data(b, id - 1);
        (void)halley_builder_ctrl(b, id - 1);
    }
    (void)halley_builder_data(b, 77);
    (void)halley_builder_data(b, 2);
    assert_int_equal(halley_builder_finish(&trace, b, NULL), HALLEY_OK);
    return trace;
}

static void data_and_control_between_two_nodes_are_two_edges(void **state)
{
    (void)state;
    halley_trace *trace = small_trace("x");
    char *xml = picture(trace, &(halley_view_opts){.form = HALLEY_VIEW_GRAPHML}, NULL);
    assert_int_equal(count_of(xml, "source=\"0\" target=\"1\""), 2);
    assert_int_equal(count_of(xml, "<edge"), 5); /* with the one from 2 to itself */
    free(xml);
    halley_view_summary sum;
    char *svg = picture(trace, NULL, &sum);
    assert_int_equal(sum.n_dangling, 1);
    assert_int_equal(sum.n_back, 1);
    assert_non_null(strstr(svg, "1 dependency on missing nodes not drawn"));
    assert_non_null(strstr(svg, "1 dependency closes a cycle"));
    free(svg);
    halley_trace_free(trace);
}

static void names_cannot_break_out_of_a_picture(void **state)
{
    (void)state;
    static const char evil[] =
        "</script><script>alert(1)</script>\"'&\x01\xff]]>-->\\\" -> 9";
    halley_trace *trace = small_trace(evil);
    for (int form = HALLEY_VIEW_SVG; form <= HALLEY_VIEW_GRAPHML; form++) {
        char *text = picture(
            trace, &(halley_view_opts){.form = (halley_view_form)form, .title = evil},
            NULL);
        if (form == HALLEY_VIEW_DOT) {
            assert_non_null(strstr(text, "]]>-->\\\\\\\" -> 9\" shape="));
        } else {
            assert_null(strstr(text, "<script>alert"));
            assert_null(strchr(text, '\x01'));
        }
        assert_true(str_utf8_valid(str_from(text)));
        if (form == HALLEY_VIEW_HTML) /* its own two scripts */
            assert_int_equal(count_of(text, "</script>"), 2);
        free(text);
    }
    halley_trace_free(trace);
}

static void a_page_needs_nothing_from_elsewhere(void **state)
{
    (void)state;
    halley_trace *trace = random_trace(50, 1);
    char *text = picture(trace, &(halley_view_opts){.form = HALLEY_VIEW_HTML}, NULL);
    assert_int_equal(count_of(text, "http"),
                     count_of(text, "http://www.w3.org/2000/svg") +
                         count_of(text, "http-equiv"));
    assert_null(strstr(text, "src="));
    assert_null(strstr(text, "href"));
    assert_null(strstr(text, "@import"));
    free(text);
    halley_trace_free(trace);
}

/* Laws of every layout. */
static void check_layout(const view_graph *g)
{
    for (size_t i = 0; i < g->boxes.n; i++) {
        const view_box *a = &g->boxes.at[i];
        assert_in_range(a->column, 0, g->columns.n - 1);
        const view_column *c = &g->columns.at[a->column];
        assert_true(a->x - VIEW_BOX_WIDTH / 2.0 >= c->x - 1e-6);
        assert_true(a->x + VIEW_BOX_WIDTH / 2.0 <= c->x + c->width + 1e-6);
        assert_true(a->y > 0 && a->y + VIEW_BOX_HEIGHT / 2.0 <= g->height + 1e-6);
        const double lane = c->x + c->lane_x[a->lane];
        if (!g->opts->mixed)
            assert_true(a->x > lane && a->x < lane + c->lane_width[a->lane]);
        for (size_t k = i + 1; k < g->boxes.n; k++) {
            const view_box *b = &g->boxes.at[k];
            if (a->row == b->row)
                assert_true(fabs(a->x - b->x) >= VIEW_BOX_WIDTH);
        }
    }
    for (size_t k = 0; k < g->edges.n; k++)
        assert_true(g->boxes.at[g->edges.at[k].from].row <
                    g->boxes.at[g->edges.at[k].to].row);
}

static void boxes_do_not_overlap_and_edges_go_down(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {1, 2, 20, 300, 900};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int mixed = 0; mixed < 2; mixed++) {
            halley_trace *trace = random_trace(sizes[i], 11 + i);
            const halley_view_opts opts = {.mixed = mixed};
            view_graph g = {.trace = trace, .opts = &opts};
            assert_int_equal(view_choose(&g, NULL), HALLEY_OK);
            assert_true(view_layout(&g));
            assert_int_equal(g.boxes.n, sizes[i]);
            check_layout(&g);
            view_graph_fini(&g);
            halley_trace_free(trace);
        }
    }
}

/* Levels by relaxing until nothing changes: slow and obvious. */
static void levels_are_the_longest_ways(void **state)
{
    (void)state;
    halley_trace *trace = random_trace(300, 3);
    const halley_view_opts opts = {0};
    view_graph g = {.trace = trace, .opts = &opts};
    assert_int_equal(view_choose(&g, NULL), HALLEY_OK);
    assert_true(view_levels(&g));
    uint32_t level[300] = {0};
    for (bool again = true; again;) {
        again = false;
        for (size_t k = 0; k < g.edges.n; k++) {
            const view_edge e = g.edges.at[k];
            if (level[e.to] > level[e.from])
                continue;
            level[e.to] = level[e.from] + 1;
            again = true;
        }
    }
    for (size_t i = 0; i < 300; i++)
        assert_int_equal(g.boxes.at[i].level, level[i]);
    view_graph_fini(&g);
    halley_trace_free(trace);
}

/* What boxes stand for in all. */
static void check_totals(const view_graph *g)
{
    uint64_t n = 0, micros = 0, want = 0;
    for (size_t i = 0; i < g->boxes.n; i++) {
        n += g->boxes.at[i].n_nodes;
        micros += g->boxes.at[i].duration_us;
    }
    for (uint32_t i = 0; i < halley_trace_count(g->trace); i++)
        want += halley_node_duration_us(g->trace, i);
    assert_int_equal(n, halley_trace_count(g->trace));
    assert_int_equal(micros, want);
}

static void collapsing_loses_no_node_and_no_time(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 12; seed++) {
        halley_trace *trace =
            seed % 3 ? random_trace(500, seed)
                     : generate("transformer", 8,
                                (const char *const[]){"tp", "2", "layers", "12",
                                                      "micro-batches", "5", "pp",
                                                      seed % 2 ? "2" : "1", NULL});
        const halley_view_opts opts = {0};
        view_graph g = {.trace = trace, .opts = &opts};
        assert_int_equal(view_choose(&g, NULL), HALLEY_OK);
        assert_true(view_collapse(&g));
        check_totals(&g);
        if (seed % 3 == 0)
            assert_in_range(g.boxes.n, 1, 80);
        assert_true(view_layout(&g));
        check_layout(&g);
        assert_true(view_stretch(&g, 40));
        check_totals(&g);
        assert_in_range(g.boxes.n, 1, 40);
        assert_true(view_layout(&g));
        check_layout(&g);
        view_graph_fini(&g);
        halley_trace_free(trace);
    }
}

static void a_chain_becomes_one_box(void **state)
{
    (void)state;
    halley_trace *trace = generate(
        "all-reduce", 2, (const char *const[]){"repeat", "1000", "size", "5", NULL});
    halley_view_summary sum;
    char *svg = picture(trace, &(halley_view_opts){.collapse = true}, &sum);
    assert_int_equal(sum.n_boxes, 1);
    assert_non_null(strstr(svg, "1,000 nodes"));
    free(svg);
    halley_trace_free(trace);
}

static void what_repeats_is_drawn_once_with_its_count(void **state)
{
    (void)state;
    /* Compute and all-reduce in turn: no run, but one piece of two. */
    halley_trace *trace = generate(
        "all-reduce", 2, (const char *const[]){"repeat", "500", "compute", "7 us", NULL});
    halley_view_summary sum;
    char *svg = picture(trace, &(halley_view_opts){.collapse = true}, &sum);
    assert_in_range(sum.n_boxes, 2, 6);
    assert_non_null(strstr(svg, "\xc3\x97"
                                "499<"));
    free(svg);
    halley_trace_free(trace);
}

static void a_picture_keeps_to_its_limit_and_says_so(void **state)
{
    (void)state;
    halley_trace *trace = random_trace(3000, 9);
    halley_view_summary sum;
    char *svg = picture(trace, &(halley_view_opts){.limit = 100}, &sum);
    assert_true(sum.stretched);
    assert_in_range(sum.n_boxes, 20, 100);
    assert_int_equal(sum.n_back, 0);
    assert_int_equal(count_of(svg, "<g class=\"n "), sum.n_boxes);
    assert_non_null(strstr(svg, "3,000 nodes, drawn as "));
    assert_non_null(strstr(svg, "Too many to draw one by one"));
    free(svg);
    char *dot = picture(trace, &(halley_view_opts){.form = HALLEY_VIEW_DOT}, &sum);
    assert_int_equal(sum.n_boxes, 3000);
    free(dot);
    halley_trace_free(trace);
}

/* 0 -> 1 -> … -> 9, of which even ones are sends; the file has them in either order. */
static halley_trace *zebra(bool backwards)
{
    halley_builder *b = NULL;
    halley_trace *trace = NULL;
    assert_int_equal(halley_builder_new(&b, NULL), HALLEY_OK);
    for (uint64_t i = 0; i < 10; i++) {
        const uint64_t id = backwards ? 9 - i : i;
        (void)halley_builder_node(b, id, id % 2 ? HALLEY_NODE_COMP : HALLEY_NODE_SEND,
                                  id % 2 ? (halley_bytes){"aten::add", 9}
                                         : (halley_bytes){"send", 4});
        if (id > 0)
            (void)halley_builder_data(b, id - 1);
    }
    assert_int_equal(halley_builder_finish(&trace, b, NULL), HALLEY_OK);
    return trace;
}

static const struct {
    halley_view_opts opts;
    uint64_t n_chosen, n_edges;
} choices[] = {
    {{.types = 1 << HALLEY_NODE_SEND}, 5, 4}, /* through what lies between */
    {{.names = (const char *const[]){"aten::*"}, .n_names = 1}, 5, 4},
    {{.names = (const char *const[]){"x*", "?end"}, .n_names = 2}, 5, 4},
    {{.from = (const uint64_t[]){4}, .n_from = 1}, 6, 5},
    {{.from = (const uint64_t[]){4}, .n_from = 1, .depth = 2}, 3, 2},
    {{.from = (const uint64_t[]){4}, .n_from = 1, .way = HALLEY_VIEW_UP}, 5, 4},
    {{.from = (const uint64_t[]){4}, .n_from = 1, .depth = 1, .way = HALLEY_VIEW_BOTH},
     3,
     2},
    {{.from = (const uint64_t[]){0, 8}, .n_from = 2, .depth = 1}, 4, 2},
    {{.from = (const uint64_t[]){3}, .n_from = 1, .types = 1 << HALLEY_NODE_COMP}, 4, 3},
};

static void filters_choose_and_keep_what_connects(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        for (int form = 0; form < 8; form++) {
            halley_trace *trace = zebra(form / 4);
            halley_view_opts opts = choices[i].opts;
            halley_view_summary sum;
            opts.form = (halley_view_form)(form % 4);
            free(picture(trace, &opts, &sum));
            halley_trace_free(trace);
            assert_int_equal(sum.n_chosen, choices[i].n_chosen);
            assert_int_equal(sum.n_edges, choices[i].n_edges);
        }
    }
    halley_trace *trace = zebra(false);
    halley_error err = {0};
    const halley_view_opts nobody = {.from = (const uint64_t[]){99}, .n_from = 1};
    assert_int_equal(halley_view_save(trace, "never.svg", &nobody, NULL, &err),
                     HALLEY_ENOTFOUND);
    assert_string_equal(err.text, "there is no node 99 in the trace");
    const halley_view_opts nothing = {.types = 1 << HALLEY_NODE_COLL};
    assert_int_equal(halley_view_save(trace, "never.svg", &nothing, NULL, &err),
                     HALLEY_ENOTFOUND);
    assert_int_equal(access("never.svg", F_OK), -1);
    halley_trace_free(trace);
}

static void an_empty_trace_has_an_empty_picture(void **state)
{
    (void)state;
    halley_builder *b = NULL;
    halley_trace *trace = NULL;
    assert_int_equal(halley_builder_new(&b, NULL), HALLEY_OK);
    assert_int_equal(halley_builder_finish(&trace, b, NULL), HALLEY_OK);
    for (int form = 0; form < 4; form++) {
        halley_view_summary sum;
        char *text = picture(
            trace, &(halley_view_opts){.form = (halley_view_form)form, .collapse = true},
            &sum);
        assert_int_equal(sum.n_boxes, 0);
        assert_true(strlen(text) > 10);
        free(text);
    }
    halley_trace_free(trace);
}

typedef struct drawing {
    const halley_trace *trace;
    halley_view_opts opts;
} drawing;

static halley_status draw(void *context, halley_error *err)
{
    const drawing *d = context;
    return halley_view_save(d->trace, "view-memory.tmp", &d->opts, NULL, err);
}

static void a_picture_without_memory_is_not_written(void **state)
{
    (void)state;
    halley_trace *trace = random_trace(60, 4);
    for (int form = 0; form < 4; form++) {
        drawing d = {trace,
                     {.form = (halley_view_form)form,
                      .from = (const uint64_t[]){3},
                      .n_from = 1,
                      .way = HALLEY_VIEW_BOTH,
                      .types = 0xfe & ~(1u << HALLEY_NODE_SEND),
                      .collapse = true,
                      .limit = 12}};
        assert_true(alloc_fail_everywhere(draw, &d) > 20);
        assert_int_equal(unlink("view-memory.tmp"), 0);
    }
    halley_trace_free(trace);
}

/* The whole output of a command; "" when it fails. */
static char *output_of(const char *command)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size), *from = popen(command, "r");
    for (int c; from && (c = fgetc(from)) != EOF;)
        fputc(c, to);
    if (from)
        pclose(from);
    fclose(to);
    return text;
}

/* Chakra's dot has all nodes and edges (its GraphML loses one of two equal edges). */
static void real_traces_have_the_edges_of_chakras_visualizer(void **state)
{
    (void)state;
    static const char *const names[] = {"chakra_unit_102", "dlrm8_dev", "param_pt2_et",
                                        "torch113_mlp", "resnet_ddp_103"};
    char shared[400], command[1200], path[64];
    const char *root = getenv("HALLEY_SOURCE_ROOT");
    snprintf(shared, sizeof shared, "%s/../shared/data/chakra", root ? root : ".");
    uint32_t n_compared = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(command, sizeof command, "xz -dc %s/%s/chakra.0.raw.dot.xz 2>/dev/null",
                 shared, names[i]);
        char *want_text = output_of(command);
        if (want_text[0] == 0) {
            free(want_text);
            continue;
        }
        snprintf(path, sizeof path, "view-%ld.et", (long)getpid());
        snprintf(command, sizeof command, "xz -dc %s/%s/chakra.0.et.xz > %s", shared,
                 names[i], path);
        assert_int_equal(system(command), 0);
        halley_trace *trace = NULL;
        assert_int_equal(halley_trace_load(&trace, path, NULL, NULL), HALLEY_OK);
        (void)unlink(path);
        char *got_text =
            picture(trace, &(halley_view_opts){.form = HALLEY_VIEW_DOT}, NULL);
        assert_int_equal(count_of(want_text, " [label="), count_of(got_text, " [label="));
        lines want = edges_of_dot(want_text), got = edges_of_dot(got_text);
        /* Chakra also draws edges from nodes that do not exist. */
        lines real = {0};
        for (size_t k = 0; k < want.n; k++) {
            const uint64_t from = strtoull(want.at[k], NULL, 10);
            if (halley_trace_find(trace, from) != HALLEY_NO_NODE)
                add_line(&real, want.at[k]);
        }
        lines_fini(&want);
        lines_equal(&real, &got);
        free(got_text);
        free(want_text);
        halley_trace_free(trace);
        n_compared++;
    }
    if (n_compared == 0) {
        print_message("no recordings beside the source tree: not compared\n");
        skip();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(graph_files_hold_every_node_and_dependency),
        cmocka_unit_test(data_and_control_between_two_nodes_are_two_edges),
        cmocka_unit_test(names_cannot_break_out_of_a_picture),
        cmocka_unit_test(a_page_needs_nothing_from_elsewhere),
        cmocka_unit_test(boxes_do_not_overlap_and_edges_go_down),
        cmocka_unit_test(levels_are_the_longest_ways),
        cmocka_unit_test(collapsing_loses_no_node_and_no_time),
        cmocka_unit_test(a_chain_becomes_one_box),
        cmocka_unit_test(what_repeats_is_drawn_once_with_its_count),
        cmocka_unit_test(a_picture_keeps_to_its_limit_and_says_so),
        cmocka_unit_test(filters_choose_and_keep_what_connects),
        cmocka_unit_test(an_empty_trace_has_an_empty_picture),
        cmocka_unit_test(a_picture_without_memory_is_not_written),
        cmocka_unit_test(real_traces_have_the_edges_of_chakras_visualizer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
