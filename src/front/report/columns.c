/*
 * Boxes are collected in the order in which they come, and written row by row. A file has
 * three parts. The head has 16 bytes. A JSON object names the rows, the texts and the
 * offsets of the columns. The columns follow, each aligned to 8 bytes, little-endian.
 */
#include "report/columns.h"

#include "base/array.h"
#include "base/file/file.h"
#include "base/hash.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_KINDS = 255, ON_PATH = 1, PART_BYTES = 1 << 16 };
static const char magic[8] = {'H', 'L', 'Y', 'C', 'O', 'L', '1', '\n'};

typedef struct box {
    double start_s;
    float length_s, bytes;
    uint32_t name, row;
    uint8_t kind, flags;
} box;

typedef struct row {
    uint64_t track;
    uint32_t rank_id, lane, name; /* `name`: without the lane */
    uint32_t next;                /* the next lane of its track and group */
    uint32_t n_boxes;
    double until_s;
} row;

typedef struct rank_entry {
    uint32_t rank, alike, name, first_level, n_levels;
} rank_entry;

typedef struct path_step {
    uint32_t box;
    double begin_s, end_s;
} path_step;

typedef struct heat_entry {
    uint32_t name, n, n_npus, n_bins;
    double bw_Bps, bin_s;
    float *use;
} heat_entry;

/* Texts that repeat, each with a number. */
typedef struct text_table {
    map64 ids;
    ARRAY(str) texts; /* owned */
} text_table;

struct report_columns {
    const char *what;
    text_table names, kinds;
    ARRAY(box) boxes;
    ARRAY(row) rows;
    ARRAY(rank_entry) ranks;
    ARRAY(uint32_t) arrows; /* from, to */
    ARRAY(path_step) path;
    ARRAY(halley_memory_level) levels; /* at: in units of 1 ps */
    ARRAY(heat_entry) heats;
    map64 first_rows; /* by track and group, of the last rank */
    double end_s, capacity_bytes, headroom;
    uint32_t n_ranks, n_left_out, npus_per_node;
    bool failed; /* memory ran out: the content is incomplete */
};

report_columns *report_columns_new(const char *what)
{
    report_columns *c = calloc(1, sizeof *c);
    if (c != NULL)
        c->what = what;
    return c;
}

static void fini_texts(text_table *t)
{
    for (size_t i = 0; i < t->texts.n; i++)
        free((void *)(uintptr_t)t->texts.at[i].at);
    array_fini(&t->texts);
    map64_fini(&t->ids);
}

void report_columns_free(report_columns *c)
{
    if (c == NULL)
        return;
    fini_texts(&c->names);
    fini_texts(&c->kinds);
    for (size_t i = 0; i < c->heats.n; i++)
        free(c->heats.at[i].use);
    array_fini(&c->boxes);
    array_fini(&c->rows);
    array_fini(&c->ranks);
    array_fini(&c->arrows);
    array_fini(&c->path);
    array_fini(&c->levels);
    array_fini(&c->heats);
    map64_fini(&c->first_rows);
    free(c);
}

uint32_t report_columns_count(const report_columns *c)
{
    return (uint32_t)c->boxes.n;
}

static bool push_text(text_table *t, str text)
{
    if (!array_reserve(&t->texts, 1))
        return false;
    char *copy = malloc(text.n + 1);
    if (copy == NULL)
        return false;
    if (text.n > 0)
        memcpy(copy, text.at, text.n);
    t->texts.at[t->texts.n++] = (str){copy, text.n};
    return true;
}

/* The number of a text. If another text has the same hash, the next key is tried. */
static uint32_t add_column_text(report_columns *c, text_table *t, str text)
{
    if (c->failed) /* a key may have a number, but no text */
        return 0;
    for (uint64_t key = hash_bytes(text.at, text.n, 0);; key++) {
        uint32_t id = (uint32_t)t->texts.n;
        bool fresh = false;
        if (!map64_put(&t->ids, key, &id, &fresh) || (fresh && !push_text(t, text))) {
            c->failed = true;
            return 0;
        }
        assert(id < t->texts.n);
        if (fresh || str_eq(t->texts.at[id], text))
            return id;
    }
}

void report_columns_rank(report_columns *c, uint32_t rank, uint32_t alike, str name)
{
    const rank_entry entry = {.rank = rank,
                              .alike = alike,
                              .name = add_column_text(c, &c->names, name),
                              .first_level = (uint32_t)c->levels.n};
    c->failed |= !array_push(&c->ranks, entry);
    map64_fini(&c->first_rows);
}

static uint32_t new_row(report_columns *c, const report_columns_box *b, uint32_t lane)
{
    strbuf name = {0};
    strbuf_add(&name, b->track_name);
    if (b->group.n > 0)
        strbuf_printf(&name, ", group %.*s", STR_ARG(b->group));
    const row made = {.track = b->track,
                      .rank_id = (uint32_t)c->ranks.n - 1,
                      .lane = lane,
                      .name = add_column_text(c, &c->names, strbuf_str(&name)),
                      .next = UINT32_MAX};
    c->failed |= name.failed;
    strbuf_fini(&name);
    if (!array_push(&c->rows, made)) {
        c->failed = true;
        return UINT32_MAX;
    }
    return (uint32_t)c->rows.n - 1;
}

static uint32_t add_box_row(report_columns *c, const report_columns_box *b)
{
    const uint64_t key = hash_bytes(b->group.at, b->group.n, b->track + 1);
    uint32_t id = map64_find(&c->first_rows, key);
    if (id == HASH_NONE) {
        id = new_row(c, b, 0);
        c->failed |= id == UINT32_MAX || !map64_set(&c->first_rows, key, id);
    }
    for (uint32_t lane = 1; id != UINT32_MAX && c->rows.at[id].until_s > b->start_s;
         lane++) {
        if (c->rows.at[id].next == UINT32_MAX) {
            const uint32_t made = new_row(c, b, lane);
            c->rows.at[id].next = made;
        }
        id = c->rows.at[id].next;
    }
    return id;
}

static uint8_t add_box_kind(report_columns *c, str kind)
{
    if (c->kinds.texts.n >= MOST_KINDS)
        kind = c->kinds.texts.at[0];
    return (uint8_t)add_column_text(c, &c->kinds, kind);
}

uint32_t report_columns_add(report_columns *c, const report_columns_box *b)
{
    assert(b->end_s >= b->start_s);
    const uint32_t id = (uint32_t)c->boxes.n;
    if (c->failed) /* its rank may be missing */
        return id;
    assert(c->ranks.n > 0);
    const uint32_t row_id = add_box_row(c, b);
    if (row_id == UINT32_MAX)
        return id;
    const box made = {.start_s = b->start_s,
                      .length_s = (float)(b->end_s - b->start_s),
                      .bytes = (float)b->bytes,
                      .name = add_column_text(c, &c->names, b->name),
                      .row = row_id,
                      .kind = add_box_kind(c, b->kind)};
    c->failed |= !array_push(&c->boxes, made);
    c->rows.at[row_id].until_s = b->end_s;
    c->rows.at[row_id].n_boxes++;
    c->end_s = b->end_s > c->end_s ? b->end_s : c->end_s;
    return id;
}

void report_columns_arrow(report_columns *c, uint32_t from, uint32_t to)
{
    c->failed |= !array_push(&c->arrows, from) || !array_push(&c->arrows, to);
}

void report_columns_step(report_columns *c, uint32_t id, double begin_s, double end_s)
{
    if (id < c->boxes.n)
        c->boxes.at[id].flags |= ON_PATH;
    c->failed |= !array_push(&c->path, (path_step){id, begin_s, end_s});
}

void report_columns_level(report_columns *c, double at_s, double bytes)
{
    if (c->failed) /* its rank may be missing */
        return;
    assert(c->ranks.n > 0);
    const halley_memory_level level = {(uint64_t)(at_s * 1e12), (uint64_t)bytes};
    c->failed |= !array_push(&c->levels, level);
    c->ranks.at[c->ranks.n - 1].n_levels++;
}

void report_columns_heat(report_columns *c, const halley_dim_result *dim, uint32_t n_npus,
                         uint32_t n_bins, double bin_s, const float *use)
{
    const size_t n = (size_t)n_npus * n_bins;
    heat_entry entry = {.name = add_column_text(c, &c->names, str_from(dim->topology)),
                        .n = dim->n,
                        .n_npus = n_npus,
                        .n_bins = n_bins,
                        .bw_Bps = dim->bw_Bps,
                        .bin_s = bin_s,
                        .use = mem_array(n, sizeof *entry.use)};
    if (entry.use != NULL)
        memcpy(entry.use, use, n * sizeof *use);
    if (entry.use == NULL || !array_push(&c->heats, entry)) {
        free(entry.use);
        c->failed = true;
    }
}

void report_columns_nodes(report_columns *c, uint32_t npus_per_node)
{
    c->npus_per_node = npus_per_node;
}

void report_columns_capacity(report_columns *c, double bytes, double headroom)
{
    c->capacity_bytes = bytes;
    c->headroom = headroom;
}

void report_columns_total(report_columns *c, uint32_t n_ranks, uint32_t n_left_out)
{
    c->n_ranks = n_ranks;
    c->n_left_out = n_left_out;
}

/* Order rows by rank, track, first box of the group, and lane. Lanes follow the first row
 * of their group. */
static int compare_column_rows(const void *a, const void *b, void *context)
{
    const report_columns *c = context;
    const uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    const row *x = &c->rows.at[i], *y = &c->rows.at[k];
    if (x->rank_id != y->rank_id)
        return x->rank_id < y->rank_id ? -1 : 1;
    if (x->track != y->track)
        return x->track < y->track ? -1 : 1;
    if (x->name != y->name)
        return x->name < y->name ? -1 : 1;
    return x->lane < y->lane ? -1 : x->lane > y->lane;
}

/* The layout of the file: the order of rows, and the place of each box. */
typedef struct layout {
    uint32_t *rows;  /* by place */
    uint32_t *boxes; /* by place: number of the box */
    uint32_t *place; /* by number of the box */
} layout;

static void fini_layout(layout *l)
{
    free(l->rows);
    free(l->boxes);
    free(l->place);
}

static bool make_layout(layout *l, report_columns *c)
{
    const size_t n_rows = c->rows.n, n_boxes = c->boxes.n;
    uint32_t *next = mem_array(n_rows, sizeof *next);
    *l = (layout){.rows = mem_array(n_rows, sizeof *l->rows),
                  .boxes = mem_array(n_boxes, sizeof *l->boxes),
                  .place = mem_array(n_boxes, sizeof *l->place)};
    const bool ok =
        next != NULL && l->rows != NULL && l->boxes != NULL && l->place != NULL;
    if (ok) {
        uint32_t first = 0;
        for (uint32_t i = 0; i < n_rows; i++)
            l->rows[i] = i;
        qsort_r(l->rows, n_rows, sizeof *l->rows, compare_column_rows, c);
        for (size_t i = 0; i < n_rows; i++) {
            next[l->rows[i]] = first;
            first += c->rows.at[l->rows[i]].n_boxes;
        }
        assert(first == n_boxes);
        for (uint32_t i = 0; i < n_boxes; i++) {
            l->place[i] = next[c->boxes.at[i].row]++;
            l->boxes[l->place[i]] = i;
        }
    }
    free(next);
    return ok;
}

/* One column of the file: `get` writes element i. */
typedef struct column {
    const char *name, *type;
    uint32_t size;
    size_t n;
    void (*get)(const report_columns *c, const layout *l, size_t i, void *to);
} column;

#define GET_BOX(field, type)                                                             \
    static void get_##field(const report_columns *c, const layout *l, size_t i,          \
                            void *to)                                                    \
    {                                                                                    \
        const type value = c->boxes.at[l->boxes[i]].field;                               \
        memcpy(to, &value, sizeof value);                                                \
    }
GET_BOX(start_s, double)
GET_BOX(length_s, float)
GET_BOX(bytes, float)
GET_BOX(name, uint32_t)
GET_BOX(kind, uint8_t)
GET_BOX(flags, uint8_t)

static uint32_t find_place(const report_columns *c, const layout *l, uint32_t id)
{
    return id < c->boxes.n ? l->place[id] : UINT32_MAX;
}

static void get_arrow(const report_columns *c, const layout *l, size_t i, void *to)
{
    const uint32_t value = find_place(c, l, c->arrows.at[i]);
    memcpy(to, &value, sizeof value);
}

static void get_path_box(const report_columns *c, const layout *l, size_t i, void *to)
{
    const uint32_t value = find_place(c, l, c->path.at[i].box);
    memcpy(to, &value, sizeof value);
}

static void get_path_time(const report_columns *c, const layout *l, size_t i, void *to)
{
    (void)l;
    const double value = i % 2 ? c->path.at[i / 2].end_s : c->path.at[i / 2].begin_s;
    memcpy(to, &value, sizeof value);
}

static void get_level(const report_columns *c, const layout *l, size_t i, void *to)
{
    (void)l;
    const halley_memory_level *at = &c->levels.at[i / 2];
    const double value = i % 2 ? (double)at->bytes : (double)at->at / 1e12;
    memcpy(to, &value, sizeof value);
}

static void get_heat(const report_columns *c, const layout *l, size_t i, void *to)
{
    (void)l;
    size_t k = 0;
    while (i >= (size_t)c->heats.at[k].n_npus * c->heats.at[k].n_bins) {
        i -= (size_t)c->heats.at[k].n_npus * c->heats.at[k].n_bins;
        k++;
    }
    memcpy(to, &c->heats.at[k].use[i], sizeof(float));
}

enum { N_COLUMNS = 11 };

static void list_columns(column out[N_COLUMNS], const report_columns *c)
{
    size_t n_heat = 0;
    for (size_t i = 0; i < c->heats.n; i++)
        n_heat += (size_t)c->heats.at[i].n_npus * c->heats.at[i].n_bins;
    const size_t n = c->boxes.n;
    const column all[N_COLUMNS] = {
        {"start_s", "f64", 8, n, get_start_s},
        {"length_s", "f32", 4, n, get_length_s},
        {"bytes", "f32", 4, n, get_bytes},
        {"name", "u32", 4, n, get_name},
        {"kind", "u8", 1, n, get_kind},
        {"flags", "u8", 1, n, get_flags},
        {"arrows", "u32", 4, c->arrows.n, get_arrow},
        {"path_box", "u32", 4, c->path.n, get_path_box},
        {"path_s", "f64", 8, 2 * c->path.n, get_path_time},
        {"memory", "f64", 8, 2 * c->levels.n, get_level},
        {"use", "f32", 4, n_heat, get_heat},
    };
    memcpy(out, all, sizeof all);
}

static size_t round_up_to_8(size_t n)
{
    return (n + 7) / 8 * 8;
}

static void add_text_list(strbuf *to, const char *key, const text_table *t)
{
    strbuf_printf(to, ",\n\"%s\":[", key);
    for (size_t i = 0; i < t->texts.n; i++) {
        strbuf_add(to, i > 0 ? STR(",") : STR(""));
        strbuf_json(to, t->texts.at[i]);
    }
    strbuf_add_char(to, ']');
}

static void add_number_key(strbuf *to, const char *key, double value)
{
    strbuf_printf(to, ",\"%s\":", key);
    strbuf_double(to, value);
}

static void add_rank_list(strbuf *to, const report_columns *c)
{
    strbuf_add(to, STR(",\n\"ranks\":["));
    for (size_t i = 0; i < c->ranks.n; i++) {
        const rank_entry *r = &c->ranks.at[i];
        strbuf_printf(to,
                      "%s\n{\"rank\":%u,\"alike\":%u,\"name\":%u,\"first_level\":%u,"
                      "\"levels\":%u}",
                      i > 0 ? "," : "", r->rank, r->alike, r->name, r->first_level,
                      r->n_levels);
    }
    strbuf_add_char(to, ']');
}

static void add_row_list(strbuf *to, const report_columns *c, const layout *l)
{
    size_t first = 0;
    strbuf_add(to, STR(",\n\"rows\":["));
    for (size_t i = 0; i < c->rows.n; i++) {
        const row *r = &c->rows.at[l->rows[i]];
        strbuf_printf(to,
                      "%s\n{\"of\":%u,\"name\":%u,\"lane\":%u,\"first\":%zu,\"n\":%u}",
                      i > 0 ? "," : "", r->rank_id, r->name, r->lane, first, r->n_boxes);
        first += r->n_boxes;
    }
    strbuf_add_char(to, ']');
}

static void add_dimensions(strbuf *to, const report_columns *c)
{
    strbuf_add(to, STR(",\n\"dimensions\":["));
    for (size_t i = 0; i < c->heats.n; i++) {
        const heat_entry *h = &c->heats.at[i];
        strbuf_printf(to, "%s{\"name\":%u,\"n\":%u,\"npus\":%u,\"bins\":%u",
                      i > 0 ? "," : "", h->name, h->n, h->n_npus, h->n_bins);
        add_number_key(to, "bin_s", h->bin_s);
        add_number_key(to, "bandwidth_Bps", h->bw_Bps);
        strbuf_add_char(to, '}');
    }
    strbuf_add_char(to, ']');
}

/* Write where each column begins, relative to the first one. */
static void add_places(strbuf *to, const column columns[N_COLUMNS])
{
    size_t at = 0;
    strbuf_add(to, STR(",\n\"columns\":{"));
    for (int i = 0; i < N_COLUMNS; i++) {
        strbuf_printf(to, "%s\n\"%s\":{\"type\":\"%s\",\"at\":%zu,\"n\":%zu}",
                      i > 0 ? "," : "", columns[i].name, columns[i].type, at,
                      columns[i].n);
        at += round_up_to_8(columns[i].n * columns[i].size);
    }
    strbuf_add(to, STR("}}"));
}

static void make_header(strbuf *to, const report_columns *c, const layout *l,
                        const column columns[N_COLUMNS])
{
    strbuf_printf(to,
                  "{\"what\":\"%s\",\"n_ranks\":%u,\"left_out\":%u,"
                  "\"npus_per_node\":%u",
                  c->what, c->n_ranks, c->n_left_out, c->npus_per_node);
    add_number_key(to, "end_s", c->end_s);
    if (c->capacity_bytes > 0) {
        add_number_key(to, "capacity_bytes", c->capacity_bytes);
        add_number_key(to, "headroom", c->headroom);
    }
    add_rank_list(to, c);
    add_row_list(to, c, l);
    add_dimensions(to, c);
    add_text_list(to, "names", &c->names);
    add_text_list(to, "kinds", &c->kinds);
    add_places(to, columns);
    while (to->n % 8 != 0 && !to->failed)
        strbuf_add_char(to, ' ');
}

/* Where the bytes go: a file, or a buffer in memory. */
typedef struct columns_sink {
    file_output *file; /* NULL: text */
    strbuf *text;
} columns_sink;

static void put_bytes(const columns_sink *to, const void *at, size_t n)
{
    assert((to->file != NULL) != (to->text != NULL));
    if (to->file != NULL)
        file_output_write(to->file, at, n);
    else
        strbuf_add(to->text, (str){at, n});
}

static void write_column(const columns_sink *to, const report_columns *c, const layout *l,
                         const column *col)
{
    static const uint8_t zeros[8] = {0};
    uint8_t part[PART_BYTES];
    const size_t per_part = PART_BYTES / col->size;
    for (size_t i = 0; i < col->n;) {
        const size_t n = col->n - i < per_part ? col->n - i : per_part;
        for (size_t k = 0; k < n; k++)
            col->get(c, l, i + k, part + k * col->size);
        put_bytes(to, part, n * col->size);
        i += n;
    }
    const size_t used = col->n * col->size;
    put_bytes(to, zeros, round_up_to_8(used) - used);
}

static void write_columns(const columns_sink *to, const report_columns *c,
                          const layout *l, const column columns[N_COLUMNS],
                          const strbuf *header)
{
    const uint32_t head[2] = {(uint32_t)header->n, N_COLUMNS};
    put_bytes(to, magic, sizeof magic);
    put_bytes(to, head, sizeof head);
    put_bytes(to, header->at, header->n);
    for (int i = 0; i < N_COLUMNS; i++)
        write_column(to, c, l, &columns[i]);
}

static halley_status save_columns(report_columns *c, const layout *l, const char *path,
                                  strbuf *out, halley_error *err)
{
    column columns[N_COLUMNS];
    strbuf header = {0};
    columns_sink to = {.text = path == NULL ? out : NULL};
    list_columns(columns, c);
    make_header(&header, c, l, columns);
    halley_status status = header.failed ? error_nomem(err) : HALLEY_OK;
    if (status == HALLEY_OK && path != NULL)
        status = file_output_open(&to.file, path, err);
    if (status == HALLEY_OK)
        write_columns(&to, c, l, columns, &header);
    strbuf_fini(&header);
    if (status != HALLEY_OK)
        return status;
    if (path != NULL)
        return file_output_commit(to.file, err);
    return out->failed ? error_nomem(err) : HALLEY_OK;
}

halley_status report_columns_save(report_columns *c, const char *path, strbuf *out,
                                  halley_error *err)
{
    layout l = {0};
    halley_status status = HALLEY_OK;
    if (c->failed || !make_layout(&l, c))
        status = error_nomem(err);
    if (status == HALLEY_OK)
        status = save_columns(c, &l, path, out, err);
    fini_layout(&l);
    report_columns_free(c);
    return status;
}
