/*
 * Places boxes from top to bottom, along dependencies.
 *
 * The level of a box is its longest path from a root. Within a level boxes are ordered by
 * lane (CPU, compute, communication, memory). Within a lane they are ordered by the mean
 * place of their neighbours, found by a few sweeps down and up. A level takes several
 * rows if a lane has more boxes than fit. The rows are then folded into columns, as in a
 * newspaper, so that a chain of thousands of boxes becomes a page and not a ribbon.
 *
 * Finally, boxes move sideways within their lane towards their neighbours, as near as
 * their order and width allow. This is isotonic regression: neighbours that would overlap
 * are pooled. Everything is linear except for sorting each level.
 */
#include "report/view/view.h"

#include <math.h>
#include <string.h>

enum {
    SWEEPS = 6,
    PER_ROW = 8,   /* boxes per lane and row */
    ALONE = 24,    /* rows up to which the picture is not folded */
    GAP = 22,      /* between boxes */
    LANE_GAP = 34, /* between lanes */
    GUTTER = 64    /* between columns */
};
static const double pitch = VIEW_BOX_WIDTH + GAP;
static const double aspect = 1.7; /* width to height of the whole picture */

typedef struct layout {
    view_graph *g;
    size_t *in_starts, *out_starts; /* edges by box */
    uint32_t *in_from;              /* start of the edges into a box */
    size_t *level_starts;           /* in order */
    uint32_t *order;                /* boxes by level, in their order there */
    double *place;                  /* by box: lane + fraction of the lane */
    double *key;
} layout;

static void layout_fini(layout *l)
{
    free(l->in_starts);
    free(l->out_starts);
    free(l->in_from);
    free(l->level_starts);
    free(l->order);
    free(l->place);
    free(l->key);
}

static void sum_widths(size_t *starts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        starts[i + 1] += starts[i];
}

/* Put every i into its bucket; `starts` is advanced and then restored. */
static void fill_rows(uint32_t *at, size_t *starts, size_t n_starts,
                      const uint32_t *bucket, const uint32_t *item, size_t n)
{
    for (size_t i = 0; i < n; i++)
        at[starts[bucket[i]]++] = item ? item[i] : (uint32_t)i;
    memmove(starts + 1, starts, n_starts * sizeof *starts);
    starts[0] = 0;
}

static bool layout_init(layout *l, view_graph *g)
{
    const size_t n = g->boxes.n, n_edges = g->edges.n;
    l->g = g;
    l->in_starts = mem_array_zero(n + 1, sizeof *l->in_starts);
    l->out_starts = mem_array_zero(n + 1, sizeof *l->out_starts);
    l->in_from = mem_array(n_edges, sizeof *l->in_from);
    l->level_starts = mem_array_zero((size_t)g->n_levels + 1, sizeof *l->level_starts);
    l->order = mem_array(n, sizeof *l->order);
    l->place = mem_array_zero(n, sizeof *l->place);
    l->key = mem_array_zero(n, sizeof *l->key);
    uint32_t *bucket = mem_array(n > n_edges ? n : n_edges, sizeof *bucket);
    uint32_t *item = mem_array(n_edges, sizeof *item);
    const bool ok = l->in_starts && l->out_starts && l->in_from && l->level_starts &&
                    l->order && l->place && l->key && bucket && item;
    for (size_t k = 0; ok && k < n_edges; k++) {
        l->out_starts[g->edges.at[k].from + 1]++;
        l->in_starts[g->edges.at[k].to + 1]++;
        bucket[k] = g->edges.at[k].to;
        item[k] = g->edges.at[k].from;
    }
    if (ok) {
        sum_widths(l->out_starts, n);
        sum_widths(l->in_starts, n);
        fill_rows(l->in_from, l->in_starts, n, bucket, item, n_edges);
    }
    for (size_t i = 0; ok && i < n; i++) {
        bucket[i] = g->boxes.at[i].level;
        l->level_starts[bucket[i] + 1]++;
    }
    if (ok) {
        sum_widths(l->level_starts, g->n_levels);
        fill_rows(l->order, l->level_starts, g->n_levels, bucket, NULL, n);
    }
    free(bucket);
    free(item);
    return ok;
}

static uint32_t find_box_lane(const layout *l, uint32_t box)
{
    return l->g->opts->mixed ? 0 : l->g->boxes.at[box].lane;
}

/* Within a level: by lane, then key, then file order. */
static int compare_boxes(const void *a, const void *b, void *context)
{
    const layout *l = context;
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    const uint32_t lx = find_box_lane(l, x), ly = find_box_lane(l, y);
    if (lx != ly)
        return lx < ly ? -1 : 1;
    if (l->key[x] != l->key[y])
        return l->key[x] < l->key[y] ? -1 : 1;
    return x < y ? -1 : x > y;
}

static void note_places(layout *l, uint32_t level)
{
    const size_t end = l->level_starts[level + 1];
    for (size_t i = l->level_starts[level]; i < end;) {
        const uint32_t lane = find_box_lane(l, l->order[i]);
        size_t stop = i;
        while (stop < end && find_box_lane(l, l->order[stop]) == lane)
            stop++;
        for (size_t k = i; k < stop; k++)
            l->place[l->order[k]] = lane + ((double)(k - i) + 0.5) / (double)(stop - i);
        i = stop;
    }
}

/* The mean place of the neighbours above or below; its own place if there are none. */
static double mean_place(const layout *l, uint32_t box, bool down)
{
    double sum = 0;
    size_t n = 0;
    if (down) {
        for (size_t k = l->in_starts[box]; k < l->in_starts[box + 1]; k++, n++)
            sum += l->place[l->in_from[k]];
    } else {
        for (size_t k = l->out_starts[box]; k < l->out_starts[box + 1]; k++, n++)
            sum += l->place[l->g->edges.at[k].to];
    }
    return n ? sum / (double)n : l->place[box];
}

static void sort_level(layout *l, uint32_t level)
{
    const size_t first = l->level_starts[level];
    const size_t n = l->level_starts[level + 1] - first;
    qsort_r(l->order + first, n, sizeof *l->order, compare_boxes, l);
    note_places(l, level);
}

static void order_boxes(layout *l)
{
    const uint32_t n_levels = l->g->n_levels;
    for (uint32_t level = 0; level < n_levels; level++)
        sort_level(l, level);
    for (uint32_t sweep = 0; sweep < SWEEPS; sweep++) {
        const bool down = sweep % 2 == 0;
        for (uint32_t i = 0; i < n_levels; i++) {
            const uint32_t level = down ? i : n_levels - 1 - i;
            for (size_t k = l->level_starts[level]; k < l->level_starts[level + 1]; k++)
                l->key[l->order[k]] = mean_place(l, l->order[k], down);
            sort_level(l, level);
        }
    }
}

/* Assign rows to all levels. Boxes of a lane fill its rows evenly. */
static void assign_rows(layout *l)
{
    view_graph *g = l->g;
    uint32_t row = 0;
    for (uint32_t level = 0; level < g->n_levels; level++) {
        const size_t end = l->level_starts[level + 1];
        uint32_t n_rows = 1;
        for (size_t i = l->level_starts[level]; i < end;) {
            const uint32_t lane = find_box_lane(l, l->order[i]);
            size_t stop = i;
            while (stop < end && find_box_lane(l, l->order[stop]) == lane)
                stop++;
            const size_t n = stop - i, rows = (n + PER_ROW - 1) / PER_ROW;
            for (size_t k = 0; k < n; k++)
                g->boxes.at[l->order[i + k]].row = row + (uint32_t)(k * rows / n);
            if (rows > n_rows)
                n_rows = (uint32_t)rows;
            i = stop;
        }
        row += n_rows;
    }
    g->n_rows = row;
}

/* Called for the boxes of one lane in one row, a part of `order`, in the order of rows.
 */
typedef void each_run(layout *l, size_t first, size_t n, void *context);
static void for_runs(layout *l, bool down, each_run *f, void *context)
{
    const size_t n = l->g->boxes.n;
    const view_box *boxes = l->g->boxes.at;
    for (size_t i = 0; i < n;) {
        const size_t at = down ? i : n - 1 - i;
        const uint32_t lane = find_box_lane(l, l->order[at]),
                       row = boxes[l->order[at]].row;
        size_t len = 1;
        while (i + len < n) {
            const uint32_t next = l->order[down ? at + len : at - len];
            if (find_box_lane(l, next) != lane || boxes[next].row != row)
                break;
            len++;
        }
        f(l, down ? at : at + 1 - len, len, context);
        i += len;
    }
}

static void widen_lane(layout *l, size_t first, size_t n, void *context)
{
    const uint32_t *rows_per_column = context;
    view_box *box = &l->g->boxes.at[l->order[first]];
    const uint32_t column = box->row / *rows_per_column;
    double *width =
        &l->g->columns.at[column].lane_width[find_box_lane(l, l->order[first])];
    const double w = (double)n * pitch;
    if (w > *width)
        *width = w;
    for (size_t i = 0; i < n; i++)
        l->g->boxes.at[l->order[first + i]].column = column;
}

/* Choose the rows per column, so that the picture has about the wanted aspect. */
static uint32_t fold_columns(layout *l)
{
    view_graph *g = l->g;
    uint32_t all = g->n_rows ? g->n_rows : 1;
    g->columns.n = 1;
    g->columns.at[0] = (view_column){0};
    for_runs(l, true, widen_lane, &all);
    double width = GUTTER;
    for (uint32_t lane = 0; lane < VIEW_N_LANES; lane++)
        if (g->columns.at[0].lane_width[lane] > 0)
            width += g->columns.at[0].lane_width[lane] + LANE_GAP;
    if (all <= ALONE)
        return all;
    const double n = round(sqrt(aspect * all * VIEW_ROW / width));
    const uint32_t n_columns = n < 1 ? 1 : n > all ? all : (uint32_t)n;
    return (all + n_columns - 1) / n_columns;
}

static bool place_columns(layout *l)
{
    view_graph *g = l->g;
    if (!array_reserve(&g->columns, 1))
        return false;
    uint32_t rows = fold_columns(l);
    const uint32_t n_columns = g->n_rows ? (g->n_rows + rows - 1) / rows : 1;
    g->columns.n = 0;
    if (!array_reserve(&g->columns, n_columns))
        return false;
    memset(g->columns.at, 0, n_columns * sizeof *g->columns.at);
    g->columns.n = n_columns;
    for_runs(l, true, widen_lane, &rows);
    double x = 0;
    for (uint32_t c = 0; c < n_columns; c++) {
        view_column *column = &g->columns.at[c];
        column->x = x;
        double at = 0;
        for (uint32_t lane = 0; lane < VIEW_N_LANES; lane++) {
            column->lane_x[lane] = at;
            if (column->lane_width[lane] > 0)
                at += column->lane_width[lane] + LANE_GAP;
        }
        column->width = at > 0 ? at - LANE_GAP : pitch;
        x += column->width + GUTTER;
    }
    g->width = x - GUTTER;
    g->height = VIEW_HEAD + (double)(rows < g->n_rows ? rows : g->n_rows) * VIEW_ROW;
    for (size_t i = 0; i < g->boxes.n; i++) {
        view_box *box = &g->boxes.at[i];
        box->y = VIEW_HEAD + (box->row % rows) * (double)VIEW_ROW + VIEW_ROW / 2.0;
    }
    return true;
}

static void centre_rows(layout *l, size_t first, size_t n, void *context)
{
    (void)context;
    const uint32_t lane = find_box_lane(l, l->order[first]);
    for (size_t i = 0; i < n; i++) {
        view_box *box = &l->g->boxes.at[l->order[first + i]];
        const view_column *c = &l->g->columns.at[box->column];
        box->x = c->x + c->lane_x[lane] + c->lane_width[lane] / 2 +
                 ((double)i - (double)(n - 1) / 2) * pitch;
    }
}

/* The ideal place of a box: the mean of its neighbours in the same lane and column. */
static double find_wish(const layout *l, uint32_t box, bool down)
{
    const view_box *boxes = l->g->boxes.at, *me = &boxes[box];
    const size_t *starts = down ? l->in_starts : l->out_starts;
    double sum = 0;
    uint32_t n = 0;
    for (size_t k = starts[box]; k < starts[box + 1]; k++) {
        const view_box *other = &boxes[down ? l->in_from[k] : l->g->edges.at[k].to];
        if (other->column != me->column || other->row == me->row ||
            find_box_lane(l, (uint32_t)(other - boxes)) != find_box_lane(l, box))
            continue;
        sum += other->x;
        n++;
    }
    return n ? sum / n : me->x;
}

/* Move boxes as near to their ideal places as possible; those that would overlap are
 * pooled. */
static void move_run(layout *l, size_t first, size_t n, void *context)
{
    const bool down = *(const bool *)context;
    struct pool {
        double mean;
        size_t n;
    } pools[PER_ROW];
    size_t n_pools = 0;
    for (size_t i = 0; i < n; i++) {
        struct pool p = {find_wish(l, l->order[first + i], down) - (double)i * pitch, 1};
        while (n_pools > 0 && pools[n_pools - 1].mean > p.mean) {
            const struct pool q = pools[--n_pools];
            p.mean = (p.mean * (double)p.n + q.mean * (double)q.n) / (double)(p.n + q.n);
            p.n += q.n;
        }
        pools[n_pools++] = p;
    }
    const view_column *c = &l->g->columns.at[l->g->boxes.at[l->order[first]].column];
    const uint32_t lane = find_box_lane(l, l->order[first]);
    const double low = c->x + c->lane_x[lane] + pitch / 2;
    const double high = low + c->lane_width[lane] - (double)n * pitch;
    size_t i = 0;
    for (size_t p = 0; p < n_pools; p++) {
        const double z = pools[p].mean < low    ? low
                         : pools[p].mean > high ? high
                                                : pools[p].mean;
        for (size_t k = 0; k < pools[p].n; k++, i++)
            l->g->boxes.at[l->order[first + i]].x = z + (double)i * pitch;
    }
}

bool view_layout(view_graph *g)
{
    layout l = {0};
    bool ok = view_levels(g) && layout_init(&l, g);
    if (ok) {
        order_boxes(&l);
        assign_rows(&l);
        ok = place_columns(&l);
    }
    if (ok)
        for_runs(&l, true, centre_rows, NULL);
    for (uint32_t sweep = 0; ok && sweep < SWEEPS; sweep++) {
        bool down = sweep % 2 == 0;
        for_runs(&l, down, move_run, &down);
    }
    layout_fini(&l);
    return ok;
}
