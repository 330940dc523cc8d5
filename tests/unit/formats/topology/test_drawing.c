/* Drawings of networks: nothing is lost or drawn twice, whatever the number of boxes. The
 * sums are taken from the links and devices themselves. */
#include "halley/topology.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

static halley_topology *must_parse(const char *text)
{
    halley_topology *t = NULL;
    halley_error err = {0};
    if (halley_topology_parse(&t, text, strlen(text), "net", NULL, &err) != HALLEY_OK)
        fail_msg("%s: %s", text, err.text);
    return t;
}

static halley_topology_drawing *must_draw(const halley_topology *t,
                                          halley_topology_drawing_options o)
{
    halley_topology_drawing *d = NULL;
    halley_error err = {0};
    if (halley_topology_draw(&d, t, &o, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    return d;
}

static uint32_t count_kind(const halley_topology *t, const char *kind)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < halley_topology_count_devices(t); i++) {
        halley_topology_device device;
        halley_topology_get_device(&device, t, i);
        n += strcmp(device.kind, kind) == 0;
    }
    return n;
}

static uint32_t count_cables(const halley_topology *t)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < halley_topology_count_links(t); i++) {
        halley_topology_link link;
        halley_topology_get_link(&link, t, i);
        n += link.is_one_way ? 2 : 1;
    }
    return n / 2;
}

static void check_sums(const halley_topology *t, const halley_topology_drawing *d,
                       uint32_t most)
{
    uint64_t npus = 0, cables = d->inside_cables;
    uint32_t boxes = 0;
    for (uint32_t i = 0; i < d->n_layers; i++) {
        uint64_t things = 0;
        assert_int_equal(d->layers[i].first_box, boxes);
        boxes += d->layers[i].n_boxes;
        for (uint32_t k = 0; k < d->layers[i].n_boxes; k++) {
            const halley_topology_box *box = &d->boxes[d->layers[i].first_box + k];
            assert_int_equal(box->layer, i);
            assert_true(box->n > 0 && box->name[0] != '\0');
            things += box->n;
        }
        assert_int_equal(things, d->layers[i].n);
        if (strcmp(d->layout, "grid") != 0)
            assert_true(d->layers[i].n_boxes <= most);
    }
    assert_int_equal(boxes, d->n_boxes);
    for (uint32_t i = 0; i < d->n_boxes; i++)
        npus += d->boxes[i].npus;
    for (uint32_t i = 0; i < d->n_lines; i++) {
        assert_true(d->lines[i].a < d->lines[i].b && d->lines[i].b < d->n_boxes);
        cables += d->lines[i].cables;
    }
    assert_int_equal(npus, count_kind(t, "npu"));
    assert_int_equal(cables, count_cables(t));
}

static void every_example_is_drawn_without_loss(void **state)
{
    (void)state;
    static const uint32_t most[] = {1, 2, 7, 16, 32, 256};
    const char *name, *doc;
    uint32_t n_drawn = 0;
    for (size_t i = 0; halley_topology_generator(i, &name, &doc); i++) {
        const char *example = halley_topology_example(i);
        if (example == NULL || strcmp(name, "slim-fly") == 0)
            continue;
        halley_topology *t = must_parse(example);
        for (size_t k = 0; k < sizeof most / sizeof *most; k++) {
            halley_topology_drawing *d =
                must_draw(t, (halley_topology_drawing_options){.boxes = most[k]});
            check_sums(t, d, most[k]);
            halley_topology_drawing_free(d);
            n_drawn++;
        }
        halley_topology_free(t);
    }
    assert_int_equal(n_drawn, 18 * 6);
}

/* Each stop of a path is cabled to the next. */
static void check_path(const halley_topology *t, const halley_topology_drawing *d)
{
    for (uint32_t i = 0; i + 1 < d->n_path; i++) {
        bool found = false;
        for (uint32_t k = 0; !found && k < halley_topology_count_links(t); k++) {
            halley_topology_link link;
            halley_topology_get_link(&link, t, k);
            found = link.from == d->path[i].device && link.to == d->path[i + 1].device;
        }
        assert_true(found);
    }
}

static void a_path_follows_cables_between_its_ends(void **state)
{
    (void)state;
    const char *name, *doc;
    for (size_t i = 0; halley_topology_generator(i, &name, &doc); i++) {
        const char *example = halley_topology_example(i);
        if (example == NULL || strcmp(name, "slim-fly") == 0)
            continue;
        halley_topology *t = must_parse(example);
        const uint32_t last = count_kind(t, "npu") - 1;
        halley_topology_drawing *d = must_draw(
            t, (halley_topology_drawing_options){.with_path = true, .to = last});
        assert_string_equal(d->no_path, "");
        assert_int_equal(d->path[0].device, 0);
        assert_int_equal(d->path[d->n_path - 1].device, last);
        check_path(t, d);
        halley_topology_drawing_free(d);
        halley_topology_free(t);
    }
}

static void rails_change_in_the_node_or_in_the_fabric(void **state)
{
    (void)state;
    halley_topology *t = must_parse("{topology: rail-optimised, nodes: 4, npus: 4, "
                                    "nodes-per-leaf: 2, spines: 2}");
    halley_topology_drawing_options o = {.with_path = true, .to = 13, .rail = 1};
    halley_topology_drawing *d = must_draw(t, o);
    assert_int_equal(d->n_rails, 4);
    assert_string_equal(d->rail_kind, "rail");
    assert_string_equal(d->path[1].name, "nvswitch0");
    assert_int_equal(d->n_path, 7);
    uint32_t on_rail = 0;
    for (uint32_t i = 0; i < d->n_lines; i++)
        on_rail += d->lines[i].rail_cables;
    assert_int_equal(on_rail, 4 + 2 * 2); /* 4 nodes, and 2 leaves to 2 spines */
    halley_topology_drawing_free(d);
    o.no_pxn = true;
    d = must_draw(t, o);
    assert_string_equal(d->path[1].name, "leaf0");
    assert_int_equal(d->n_path, 5);
    halley_topology_drawing_free(d);
    halley_topology_free(t);
}

/* Leaves are numbered rail by rail; those of a group of nodes are drawn together. */
static void leaves_of_a_group_are_next_to_each_other(void **state)
{
    (void)state;
    halley_topology *t = must_parse("{topology: rail-optimised, nodes: 8, npus: 4, "
                                    "nodes-per-leaf: 4, spines: 2}");
    halley_topology_drawing *d = must_draw(t, (halley_topology_drawing_options){0});
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(d->boxes[d->layers[1].first_box + i].rail, i % 4);
    halley_topology_drawing_free(d);
    halley_topology_free(t);
}

static void a_path_out_of_range_is_refused(void **state)
{
    (void)state;
    halley_topology *t = must_parse("{topology: ring, n: 4}");
    halley_topology_drawing *d = NULL;
    halley_error err = {0};
    const halley_topology_drawing_options o = {.with_path = true, .to = 4};
    assert_int_equal(halley_topology_draw(&d, t, &o, &err), HALLEY_EINVAL);
    assert_null(d);
    halley_topology_free(t);
}

static void keys_of_a_generator_come_with_their_ranges(void **state)
{
    (void)state;
    halley_topology_key_info key;
    assert_true(halley_topology_generator_key(&key, 0, 0));
    assert_string_equal(key.name, "n");
    assert_string_equal(key.type, "count");
    assert_true(key.min == 1);
    bool has_link = false, has_events = false; /* every generator takes them */
    for (uint32_t i = 0; halley_topology_generator_key(&key, 0, i); i++) {
        has_link |= strcmp(key.name, "link") == 0;
        has_events |= strcmp(key.name, "events") == 0;
    }
    assert_true(has_link && has_events);
    assert_false(halley_topology_generator_key(&key, 1000, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_example_is_drawn_without_loss),
        cmocka_unit_test(a_path_follows_cables_between_its_ends),
        cmocka_unit_test(rails_change_in_the_node_or_in_the_fabric),
        cmocka_unit_test(leaves_of_a_group_are_next_to_each_other),
        cmocka_unit_test(a_path_out_of_range_is_refused),
        cmocka_unit_test(keys_of_a_generator_come_with_their_ranges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
