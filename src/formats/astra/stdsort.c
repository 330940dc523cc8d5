/*
 * astra/stdsort.c - introsort as in GNU's library. It is quicksort with the median of
 * three down to pieces of 16, heapsort for pieces that were split too often, and one
 * final insertion sort over everything.
 */
#include "astra/stdsort.h"

#include <assert.h>
#include <string.h>

enum { SMALL_PIECE = 16 };

/* Does a come before b? */
static int is_before(const stdsort_item *a, const stdsort_item *b)
{
    return a->key > b->key;
}

static void swap_items(stdsort_item *a, stdsort_item *b)
{
    const stdsort_item kept = *a;
    *a = *b;
    *b = kept;
}

static void move_median(stdsort_item *to, stdsort_item *a, stdsort_item *b,
                        stdsort_item *c)
{
    stdsort_item *median;
    if (is_before(a, b))
        median = is_before(b, c) ? b : is_before(a, c) ? c : a;
    else
        median = is_before(a, c) ? a : is_before(b, c) ? c : b;
    swap_items(to, median);
}

/* The pivot is the first item; returns where the second part begins. */
static stdsort_item *cut_piece(stdsort_item *first, stdsort_item *last)
{
    stdsort_item *const pivot = first;
    assert(last - first > SMALL_PIECE);
    move_median(first, first + 1, first + (last - first) / 2, last - 1);
    for (first++;; first++) {
        while (is_before(first, pivot))
            first++;
        do
            last--;
        while (is_before(pivot, last));
        if (first >= last)
            return first;
        swap_items(first, last);
    }
}

static void sink_item(stdsort_item *at, size_t hole, size_t n, stdsort_item value)
{
    const size_t top = hole;
    size_t child = hole;
    while (child < (n - 1) / 2) {
        child = 2 * (child + 1);
        child -= (size_t)is_before(&at[child], &at[child - 1]);
        at[hole] = at[child];
        hole = child;
    }
    if (n % 2 == 0 && child == (n - 2) / 2) {
        child = 2 * (child + 1);
        at[hole] = at[child - 1];
        hole = child - 1;
    }
    while (hole > top && is_before(&at[(hole - 1) / 2], &value)) {
        at[hole] = at[(hole - 1) / 2];
        hole = (hole - 1) / 2;
    }
    at[hole] = value;
}

static void sort_heap(stdsort_item *at, size_t n)
{
    assert(n >= 2);
    for (size_t parent = (n - 2) / 2 + 1; parent-- > 0;)
        sink_item(at, parent, n, at[parent]);
    for (; n > 1; n--) {
        const stdsort_item value = at[n - 1];
        at[n - 1] = at[0];
        sink_item(at, 0, n - 1, value);
    }
}

static void sort_pieces(stdsort_item *first, stdsort_item *last, int depth)
{
    while (last - first > SMALL_PIECE) {
        if (depth-- == 0) {
            sort_heap(first, (size_t)(last - first));
            return;
        }
        stdsort_item *const cut = cut_piece(first, last);
        sort_pieces(cut, last, depth);
        last = cut;
    }
}

static void insert_items(stdsort_item *at, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const stdsort_item value = at[i];
        size_t to = i;
        while (to > 0 && is_before(&value, &at[to - 1]))
            to--;
        memmove(&at[to + 1], &at[to], (i - to) * sizeof *at);
        at[to] = value;
    }
}

void stdsort_descending(stdsort_item *at, size_t n)
{
    int depth = 0;
    for (size_t left = n; left > 1; left /= 2)
        depth += 2;
    sort_pieces(at, at + n, depth);
    insert_items(at, n);
}
