/*
 * astra/memory_save.c - writes PREFIX.RANK.json, a timeline for Perfetto, byte by
 * byte as ASTRA-sim does. It has the reads and writes of every tensor, its lifetime, the
 * memory use, and a drawing of lifetimes by length. ASTRA-sim's order follows from
 * iterating over GNU's hash tables and from std::sort, so both are reproduced here.
 */
#include "astra/grisu.h"
#include "astra/memory.h"
#include "astra/stdsort.h"
#include "base/file/file.h"
#include "sim/coll/stdset.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

/* Tensors in the iteration order of a hash table. */
typedef struct walk {
    uint64_t *hashes;
    uint32_t *next;
    stdset set;
} walk;

typedef struct level {
    uint64_t at;
    int64_t change; /* bytes */
} level;

typedef struct saver {
    const astra_memory *m;
    strbuf out;
    bool has_event;
    walk sizes, by_read, ids;
    uint32_t *id_of;      /* by tensor */
    uint32_t *first_read; /* by tensor: its part of `reads`; one more at the end */
    uint32_t *reads;      /* uses by tensor, each in order */
    uint64_t last, peak;
} saver;

static bool init_walk(walk *w, const astra_memory *m)
{
    w->hashes = mem_array(m->tensors.n + 1, sizeof *w->hashes);
    w->next = mem_array(m->tensors.n + 1, sizeof *w->next);
    for (size_t i = 0; w->hashes != NULL && i < m->tensors.n; i++)
        w->hashes[i] = m->tensors.at[i].hash;
    stdset_init(&w->set, w->hashes, w->next);
    return w->hashes != NULL && w->next != NULL;
}

static void fini_walk(walk *w)
{
    stdset_fini(&w->set);
    free(w->hashes);
    free(w->next);
}

/* The three tables, filled in the order in which ASTRA-sim fills them. */
static bool fill_walks(saver *s)
{
    const astra_memory *m = s->m;
    bool room =
        init_walk(&s->sizes, m) && init_walk(&s->by_read, m) && init_walk(&s->ids, m);
    for (uint32_t i = 0; room && i < m->tensors.n; i++)
        room = stdset_add(&s->sizes.set, i);
    for (size_t i = 0; room && i < m->read_order.n; i++)
        room = stdset_add(&s->by_read.set, m->read_order.at[i]);
    uint32_t n = 0;
    for (uint32_t i = s->sizes.set.first; room && i != STDSET_END; i = s->sizes.next[i]) {
        s->id_of[i] = n++;
        room = stdset_add(&s->ids.set, i);
    }
    assert(!room || n == m->tensors.n);
    return room;
}

static bool sort_reads(saver *s)
{
    const astra_memory *m = s->m;
    const size_t n = m->tensors.n;
    s->id_of = mem_array_zero(n + 1, sizeof *s->id_of);
    s->first_read = mem_array_zero(n + 2, sizeof *s->first_read);
    s->reads = mem_array(m->reads.n + 1, sizeof *s->reads);
    if (s->id_of == NULL || s->first_read == NULL || s->reads == NULL)
        return false;
    for (size_t i = 0; i < n; i++)
        s->first_read[i + 1] = s->first_read[i] + m->tensors.at[i].n_reads;
    for (size_t i = 0; i < m->reads.n; i++)
        s->reads[s->first_read[m->reads.at[i].tensor]++] = (uint32_t)i;
    for (size_t i = n; i > 0; i--)
        s->first_read[i] = s->first_read[i - 1];
    s->first_read[0] = 0;
    return true;
}

static const char *text_us(number_text *room, uint64_t ns)
{
    *room = grisu_write(1e-3 * (double)ns);
    return room->at;
}

/* Write JSON as nlohmann's library does: only mandatory escapes. */
static void add_quoted(strbuf *to, str text)
{
    static const char escapes[] = "\b\f\n\r\t\"\\", letters[] = "bfnrt\"\\";
    strbuf_add_char(to, '"');
    for (size_t i = 0; i < text.n; i++) {
        const char *found = text.at[i] == '\0' ? NULL : strchr(escapes, text.at[i]);
        if (found != NULL)
            strbuf_printf(to, "\\%c", letters[found - escapes]);
        else if ((uint8_t)text.at[i] < 0x20)
            strbuf_printf(to, "\\u%04x", (unsigned)text.at[i]);
        else
            strbuf_add_char(to, text.at[i]);
    }
    strbuf_add_char(to, '"');
}

static str get_name(const saver *s, uint32_t tensor)
{
    return intern_text(&s->m->names, tensor);
}

static void begin_event(saver *s)
{
    strbuf_add(&s->out, s->has_event ? STR(",\n    {\n") : STR("\n    {\n"));
    s->has_event = true;
}

static void end_event(saver *s)
{
    strbuf_add(&s->out, STR("\n    }"));
}

/* Write "cat", "name", "ph", "pid", "tid", "ts", with which most events end. */
static void add_tail(saver *s, uint32_t tensor, const char *cat, char phase,
                     uint64_t first_pid, uint64_t at)
{
    number_text room;
    strbuf_printf(&s->out, "      },\n      \"cat\": \"%s\",\n      \"name\": ", cat);
    add_quoted(&s->out, get_name(s, tensor));
    strbuf_printf(&s->out,
                  ",\n      \"ph\": \"%c\",\n      \"pid\": %" PRIu64
                  ",\n      \"tid\": %u,\n      \"ts\": %s",
                  phase, first_pid + s->m->rank, s->id_of[tensor], text_us(&room, at));
    end_event(s);
}

static void add_use(saver *s, const astra_use *use, uint32_t tensor, const char *cat,
                    bool ends)
{
    const bool known = use->node != ASTRA_UNDEFINED;
    const halley_bytes name =
        known ? halley_node_name(s->m->trace, use->node) : (halley_bytes){0};
    begin_event(s);
    strbuf_printf(&s->out, "      \"args\": {\n        \"node_id\": %" PRIu64 ",\n",
                  known ? halley_node_id(s->m->trace, use->node) : UINT64_MAX);
    strbuf_add(&s->out, STR("        \"node_name\": "));
    add_quoted(&s->out, known ? (str){name.at, name.n} : STR("UNDEFINED"));
    strbuf_printf(&s->out, ",\n        \"size\": %" PRIu64 "\n",
                  s->m->tensors.at[tensor].size);
    add_tail(s, tensor, cat, ends ? 'E' : 'B', 0, ends ? use->end : use->begin);
}

static void add_life(saver *s, uint32_t tensor, char phase, uint64_t at)
{
    begin_event(s);
    strbuf_printf(&s->out, "      \"args\": {\n        \"size\": %" PRIu64 "\n",
                  s->m->tensors.at[tensor].size);
    add_tail(s, tensor, "tensorLifetime", phase, 1000000, at);
}

static void add_uses(saver *s)
{
    for (uint32_t t = s->ids.set.first; t != STDSET_END; t = s->ids.next[t])
        for (uint32_t i = s->first_read[t]; i < s->first_read[t + 1]; i++)
            for (int ends = 0; ends < 2; ends++)
                add_use(s, &s->m->reads.at[s->reads[i]], t, "tensorRead", ends);
    for (uint32_t t = s->ids.set.first; t != STDSET_END; t = s->ids.next[t])
        for (int ends = 0; ends < 2; ends++)
            add_use(s, &s->m->tensors.at[t].write, t, "tensorWrite", ends);
}

static int compare_levels(const void *a, const void *b)
{
    const uint64_t x = ((const level *)a)->at, y = ((const level *)b)->at;
    return x < y ? -1 : x > y;
}

static void add_level(saver *s, uint64_t at, uint64_t bytes)
{
    number_text mb = grisu_write((double)bytes / (1024.0 * 1024.0)), room;
    begin_event(s);
    strbuf_printf(&s->out,
                  "      \"args\": {\n        \"Memory_MB\": %s\n      },\n"
                  "      \"cat\": \"GPU Memory\",\n"
                  "      \"name\": \"GPU Memory Usage (MB)\",\n      \"ph\": \"C\",\n"
                  "      \"pid\": %" PRIu64 ",\n      \"ts\": %s",
                  mb.at, UINT64_C(2000000) + s->m->rank, text_us(&room, at));
    end_event(s);
    s->last = at;
    s->peak = bytes > s->peak ? bytes : s->peak;
}

/* Write the memory use after every instant at which a tensor appears or disappears. */
static void add_levels(saver *s, level *changes, size_t n)
{
    int64_t bytes = 0;
    qsort(changes, n, sizeof *changes, compare_levels);
    for (size_t i = 0; i < n; i++) {
        bytes += changes[i].change;
        if (i + 1 < n && changes[i + 1].at == changes[i].at)
            continue;
        assert(bytes >= 0);
        add_level(s, changes[i].at, (uint64_t)bytes);
    }
}

static bool add_lives(saver *s)
{
    const astra_memory *m = s->m;
    level *const changes = mem_array(m->tensors.n * 2 + 1, sizeof *changes);
    size_t n = 0;
    if (changes == NULL)
        return false;
    for (uint32_t t = s->sizes.set.first; t != STDSET_END; t = s->sizes.next[t]) {
        const astra_tensor *tensor = &m->tensors.at[t];
        add_life(s, t, 'B', tensor->write.begin);
        changes[n++] = (level){tensor->write.begin, (int64_t)tensor->size};
    }
    for (uint32_t t = s->by_read.set.first; t != STDSET_END; t = s->by_read.next[t]) {
        const astra_tensor *tensor = &m->tensors.at[t];
        add_life(s, t, 'E', tensor->last_read_end);
        changes[n++] = (level){tensor->last_read_end, -(int64_t)tensor->size};
    }
    add_levels(s, changes, n);
    free(changes);
    return true;
}

static uint64_t get_life_end(const saver *s, uint32_t tensor)
{
    const astra_tensor *t = &s->m->tensors.at[tensor];
    return t->n_reads > 0 ? t->last_read_end : s->last;
}

/* Write "name (1.234 MB)", with at most 20 characters of the name. */
static void add_shown_name(saver *s, uint32_t tensor)
{
    const str name = get_name(s, tensor);
    const double mb = (double)s->m->tensors.at[tensor].size / (1024.0 * 1024.0);
    strbuf shown = {0};
    strbuf_add(&shown, name.n > 20 ? (str){name.at, 17} : name);
    strbuf_printf(&shown, "%s (%.5s MB)", name.n > 20 ? "..." : "",
                  number_fixed(mb, 6).at);
    add_quoted(&s->out, strbuf_str(&shown));
    s->out.failed |= shown.failed;
    strbuf_fini(&shown);
}

static void add_heat(saver *s, const stdsort_item *life, int place, uint64_t largest)
{
    const uint32_t tensor = life->index;
    const astra_tensor *t = &s->m->tensors.at[tensor];
    const int warm = (int)((double)t->size / (double)largest * 255);
    number_text room;
    begin_event(s);
    strbuf_printf(&s->out,
                  "      \"args\": {\n        \"lifetime_ns\": %" PRIu64
                  ",\n        \"position\": %d,\n        \"size_bytes\": %" PRIu64
                  ",\n        \"size_mb\": %s,\n        \"tensor_name\": ",
                  life->key, place, t->size,
                  grisu_write((double)t->size / (1024.0 * 1024.0)).at);
    add_quoted(&s->out, get_name(s, tensor));
    strbuf_printf(
        &s->out,
        "\n      },\n      \"cat\": \"tensorHeatmap\",\n"
        "      \"cname\": \"#%02X64%02X\",\n      \"dur\": %s,\n      \"name\": ",
        (unsigned)warm, (unsigned)(255 - warm), text_us(&room, life->key));
    add_shown_name(s, tensor);
    strbuf_printf(&s->out,
                  ",\n      \"ph\": \"X\",\n      \"pid\": %" PRIu64
                  ",\n      \"tid\": %d,\n      \"ts\": %s",
                  UINT64_C(3000000) + s->m->rank, place, text_us(&room, t->write.begin));
    end_event(s);
}

static void add_names(saver *s)
{
    const uint64_t pid = UINT64_C(3000000) + s->m->rank;
    begin_event(s);
    strbuf_printf(&s->out,
                  "      \"args\": {\n        \"name\": \"Tensor Lifetime Heap\"\n"
                  "      },\n      \"name\": \"process_name\",\n      \"ph\": \"M\",\n"
                  "      \"pid\": %" PRIu64,
                  pid);
    end_event(s);
    begin_event(s);
    strbuf_printf(&s->out,
                  "      \"args\": {\n        \"name\": \"Longest Lifetime → "
                  "Shortest Lifetime\"\n      },\n      \"name\": \"thread_name\",\n"
                  "      \"ph\": \"M\",\n      \"pid\": %" PRIu64 ",\n      \"tid\": 0",
                  pid);
    end_event(s);
}

static void add_remark(saver *s, size_t n)
{
    begin_event(s);
    strbuf_printf(&s->out,
                  "      \"args\": {\n        \"description\": \"Tensors arranged by "
                  "lifetime duration (longest at bottom)\",\n"
                  "        \"displayed_tensors\": %zu,\n        \"total_tensors\": %zu\n"
                  "      },\n      \"cat\": \"tensorHeatmap\",\n"
                  "      \"name\": \"Tensor Lifetime Heatmap\",\n      \"ph\": \"i\",\n"
                  "      \"pid\": %" PRIu64 ",\n      \"s\": \"p\",\n      \"ts\": 0",
                  n, n, UINT64_C(3000000) + s->m->rank);
    end_event(s);
}

/* Draw all tensors, the longest lifetime first. */
static bool add_heat_map(saver *s)
{
    const size_t n = s->m->tensors.n;
    stdsort_item *const lives = mem_array(n + 1, sizeof *lives);
    uint64_t largest = 0;
    size_t at = 0;
    if (lives == NULL)
        return false;
    for (uint32_t t = s->sizes.set.first; t != STDSET_END; t = s->sizes.next[t]) {
        const astra_tensor *tensor = &s->m->tensors.at[t];
        lives[at++] = (stdsort_item){get_life_end(s, t) - tensor->write.begin, t};
        largest = tensor->size > largest ? tensor->size : largest;
    }
    assert(at == n);
    stdsort_descending(lives, n);
    add_names(s);
    for (size_t i = 0; i < n; i++) {
        const uint64_t most = lives[0].key, least = lives[n - 1].key;
        const int place = most == least ? 0
                                        : (int)((double)(lives[i].key - least) /
                                                (double)(most - least) * (int)(n - 1));
        add_heat(s, &lives[i], place, largest);
    }
    add_remark(s, n);
    free(lives);
    return true;
}

static halley_status write_memory(saver *s, const char *prefix, halley_error *err)
{
    strbuf path = {0};
    strbuf_printf(&path, "%s.%u.json", prefix, s->m->rank);
    const halley_status status =
        path.failed ? error_nomem(err) : file_save(path.at, &s->out, err);
    strbuf_fini(&path);
    return status;
}

halley_status astra_memory_save(uint64_t *peak_bytes, const astra_memory *m,
                                const char *prefix, halley_error *err)
{
    saver s = {.m = m};
    halley_status status = HALLEY_OK;
    strbuf_add(&s.out, STR("{\n  \"traceEvents\": ["));
    if (!sort_reads(&s) || !fill_walks(&s))
        status = error_nomem(err);
    if (status == HALLEY_OK)
        add_uses(&s);
    if (status == HALLEY_OK && (!add_lives(&s) || !add_heat_map(&s)))
        status = error_nomem(err);
    strbuf_add(&s.out, STR("\n  ]\n}"));
    if (status == HALLEY_OK)
        status = write_memory(&s, prefix, err);
    *peak_bytes = s.peak;
    fini_walk(&s.sizes);
    fini_walk(&s.by_read);
    fini_walk(&s.ids);
    free(s.id_of);
    free(s.first_read);
    free(s.reads);
    strbuf_fini(&s.out);
    return status;
}
