/* Load and save template sets: PREFIX.roles.yaml and the files that it names, next to
 * it. */
#include "base/file/file.h"
#include "base/hash.h"
#include "trace/format/template.h"

#include <stdlib.h>
#include <string.h>

/* The path of `file` in the folder of the index, to free(). */
static char *join_path(const char *index, str file)
{
    const char *slash = strrchr(index, '/');
    const size_t n = slash != NULL && file.at[0] != '/' ? (size_t)(slash + 1 - index) : 0;
    strbuf path = {0};
    strbuf_add(&path, (str){index, n});
    strbuf_add(&path, file);
    if (path.failed)
        strbuf_fini(&path);
    return path.at;
}

static halley_status load_role(halley_trace **out, void *context, str file,
                               halley_error *err)
{
    char *path = join_path(context, file);
    if (path == NULL)
        return error_nomem(err);
    const halley_status status = halley_trace_load(out, path, NULL, err);
    free(path);
    return status;
}

static halley_status load_table(uint8_t **out, size_t *n, void *context, str file,
                                halley_error *err)
{
    char *path = join_path(context, file);
    file_input in;
    if (path == NULL)
        return error_nomem(err);
    halley_status status = file_input_open(&in, path, err);
    free(path);
    TRY(status);
    *out = malloc(in.n + 1);
    if (*out != NULL)
        memcpy(*out, in.at, in.n);
    *n = in.n;
    file_input_close(&in);
    return *out != NULL ? HALLEY_OK : error_nomem(err);
}

halley_status halley_template_load(halley_template **out, const char *path,
                                   halley_error *err)
{
    trace_template *t = calloc(1, sizeof *t);
    conf_file index;
    if (t == NULL)
        return error_nomem(err);
    halley_status status = conf_load(&index, path, err);
    if (status == HALLEY_OK) {
        char *context = strdup(path);
        const trace_template_files files = {load_role, load_table, context};
        status = context != NULL ? trace_template_parse(t, &index, &files, err)
                                 : error_nomem(err);
        free(context);
        conf_fini(&index);
    }
    if (status == HALLEY_OK)
        *out = t;
    else
        halley_template_free(t);
    return status;
}

char *halley_template_find(const char *path)
{
    strbuf name = {0};
    file_input in;
    strbuf_printf(&name, "%s", path);
    if (!name.failed && !str_ends(strbuf_str(&name), STR(".yaml")))
        strbuf_printf(&name, "%s", TRACE_TEMPLATE_ENDING);
    if (name.failed || !file_exists(name.at) || file_is_folder(name.at) ||
        file_input_open(&in, name.at, NULL) != HALLEY_OK) {
        strbuf_fini(&name);
        return NULL;
    }
    const str text = {(const char *)in.at, in.n > 4096 ? 4096 : in.n};
    const bool is = str_contains(text, STR("halley-roles"));
    file_input_close(&in);
    if (is)
        return name.at;
    strbuf_fini(&name);
    return NULL;
}

/* Write one value, one range, or a list of both: 3, 1-14, [0, 2-3]. */
static void write_ranges(strbuf *to, const trace_range *ranges, uint32_t n)
{
    strbuf_printf(to, n > 1 ? "[" : "");
    for (uint32_t i = 0; i < n; i++) {
        strbuf_printf(to, "%s%u", i > 0 ? ", " : "", ranges[i].first);
        if (ranges[i].last > ranges[i].first)
            strbuf_printf(to, "-%u", ranges[i].last);
    }
    strbuf_printf(to, n > 1 ? "]" : "");
}

static void write_role_file(strbuf *to, const trace_template *t, size_t i,
                            const char *name)
{
    const trace_template_role *r = &t->roles.at[i];
    strbuf_printf(to, "  - {file: ");
    strbuf_json(to, str_from(name));
    for (uint32_t k = 0; k < r->n_when; k++) {
        strbuf_printf(to, "%s%.*s: ", k > 0 ? ", " : ", when: {",
                      STR_ARG(t->axes[r->when[k].axis].name));
        write_ranges(to, r->when[k].ranges, r->when[k].n_ranges);
    }
    strbuf_printf(to, "%s}\n", r->n_when > 0 ? "}" : "");
}

static void write_group_file(strbuf *to, const trace_template *t,
                             const trace_template_group *g)
{
    bool first = true;
    strbuf_printf(to, "  %.*s: {along: [", STR_ARG(g->name));
    for (uint32_t i = 0; i < t->n_axes; i++) {
        if (!(g->axes >> i & 1))
            continue;
        strbuf_printf(to, "%s%.*s", first ? "" : ", ", STR_ARG(t->axes[i].name));
        first = false;
    }
    strbuf_printf(to, "]");
    if (g->block != g->n_along)
        strbuf_printf(to, ", block: %u", g->block);
    if (g->every > 1)
        strbuf_printf(to, ", every: %u", g->every);
    if (g->values != NULL) {
        strbuf_printf(to, ", values: ");
        write_ranges(to, g->values, g->n_values);
    }
    strbuf_printf(to, "}\n");
}

static void write_rules(strbuf *to, const trace_template *t)
{
    strbuf_printf(to, t->groups.n > 0 ? "groups:\n" : "");
    for (size_t i = 0; i < t->groups.n; i++)
        write_group_file(to, t, &t->groups.at[i]);
    strbuf_printf(to, t->peers.n > 0 ? "peers:\n" : "");
    for (size_t i = 0; i < t->peers.n; i++) {
        const trace_template_peer *p = &t->peers.at[i];
        strbuf_printf(to, "  %.*s: {%.*s: %+d%s}\n", STR_ARG(p->name),
                      STR_ARG(t->axes[p->axis].name), p->distance,
                      p->wrap ? ", wrap: yes" : "");
    }
}

static void write_names(strbuf *to, const trace_template *t)
{
    strbuf_printf(to, "groups: [");
    for (size_t i = 0; i < t->groups.n; i++)
        strbuf_printf(to, "%s%.*s", i > 0 ? ", " : "", STR_ARG(t->groups.at[i].name));
    strbuf_printf(to, "]\npeers: [");
    for (size_t i = 0; i < t->peers.n; i++)
        strbuf_printf(to, "%s%.*s", i > 0 ? ", " : "", STR_ARG(t->peers.at[i].name));
    strbuf_printf(to, "]\n");
}

static void write_axes(strbuf *to, const trace_template *t)
{
    strbuf_printf(to, "axes: [");
    for (uint32_t i = 0; i < t->n_axes; i++)
        strbuf_printf(to, "%s{%.*s: %u}", i > 0 ? ", " : "", STR_ARG(t->axes[i].name),
                      t->axes[i].size);
    strbuf_printf(to, "]  # innermost first\n");
}

/* The destination of a set. */
typedef struct saving {
    const trace_template *t;
    file_set *files;
    const char *prefix, *base; /* base: the prefix without its folder */
    halley_template_summary sum;
    halley_error *err;
} saving;

static void name_role(char *to, size_t size, const saving *s, size_t i)
{
    const trace_template_role *r = &s->t->roles.at[i];
    if (r->rank == TRACE_TEMPLATE_NONE)
        snprintf(to, size, "role%zu.et", i);
    else
        snprintf(to, size, "%u.et", r->rank);
}

static halley_status put_column_bytes(saving *s, const char *ending, const void *at,
                                      size_t n)
{
    strbuf path = {0};
    strbuf_printf(&path, "%s.%s", s->prefix, ending);
    const halley_status status = path.failed
                                     ? error_nomem(s->err)
                                     : file_set_put(s->files, path.at, at, n, s->err);
    strbuf_fini(&path);
    s->sum.n_files++;
    s->sum.n_bytes += n;
    return status;
}

static void write_index(strbuf *to, const saving *s)
{
    const trace_template *t = s->t;
    const size_t n_plain = t->roles.n - t->n_exceptions;
    char ending[32];
    strbuf name = {0};
    strbuf_printf(to, "format: halley-roles 1\nranks: %u\n", t->n_ranks);
    if (t->role_table == NULL)
        write_axes(to, t);
    strbuf_printf(to, "roles:\n");
    for (size_t i = 0; i < t->roles.n; i++) {
        name_role(ending, sizeof ending, s, i);
        name.n = 0;
        strbuf_printf(&name, "%s.%s", s->base, ending);
        if (i == n_plain)
            strbuf_printf(to, "exceptions:\n");
        if (i < n_plain) {
            write_role_file(to, t, i, name.at);
            continue;
        }
        strbuf_printf(to, "  - {rank: %u, file: ", t->roles.at[i].rank);
        strbuf_json(to, strbuf_str(&name));
        strbuf_printf(to, "}\n");
    }
    to->failed |= name.failed;
    strbuf_fini(&name);
    if (t->role_table == NULL) {
        write_rules(to, t);
        return;
    }
    write_names(to, t);
    strbuf_printf(to, "table: ");
    strbuf_printf(to, "%s.bind.zst\n", s->base);
}

static void add_role_column(strbuf *to, const uint32_t *column, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        for (int k = 0; k < 4; k++)
            strbuf_add_char(to, (char)(column[i] >> (8 * k) & 255));
}

static halley_status save_table(saving *s)
{
    const trace_template *t = s->t;
    strbuf bytes = {0};
    uint8_t *packed = NULL;
    size_t n = 0;
    if (t->role_table == NULL)
        return HALLEY_OK;
    strbuf_add(&bytes, (str){"halley-bind 1\n\0", 16});
    add_role_column(&bytes, t->role_table, t->n_ranks);
    for (size_t i = 0; i < t->groups.n; i++)
        add_role_column(&bytes, t->groups.at[i].table, t->n_ranks);
    for (size_t i = 0; i < t->peers.n; i++)
        add_role_column(&bytes, t->peers.at[i].table, t->n_ranks);
    halley_status status = bytes.failed
                               ? error_nomem(s->err)
                               : file_zstd(&packed, &n, bytes.at, bytes.n, s->err);
    strbuf_fini(&bytes);
    if (status == HALLEY_OK)
        status = put_column_bytes(s, "bind.zst", packed, n);
    free(packed);
    return status;
}

static halley_status save_role_files(saving *s)
{
    char ending[32];
    for (size_t i = 0; i < s->t->roles.n; i++) {
        const halley_trace *trace = s->t->roles.at[i].trace;
        uint8_t *bytes = NULL;
        size_t n = 0;
        TRY(halley_trace_encode_et(&bytes, &n, trace, s->err));
        name_role(ending, sizeof ending, s, i);
        const halley_status status = put_column_bytes(s, ending, bytes, n);
        free(bytes);
        TRY(status);
        s->sum.n_nodes += halley_trace_count(trace);
    }
    TRY(save_table(s));
    strbuf index = {0};
    write_index(&index, s);
    const halley_status status =
        index.failed ? error_nomem(s->err)
                     : put_column_bytes(s, &TRACE_TEMPLATE_ENDING[1], index.at, index.n);
    strbuf_fini(&index);
    return status;
}

halley_status halley_template_save(const halley_template *t, const char *prefix,
                                   halley_template_summary *summary, halley_error *err)
{
    const char *slash = strrchr(prefix, '/');
    saving s = {
        .t = t, .prefix = prefix, .base = slash != NULL ? slash + 1 : prefix, .err = err};
    TRY(file_set_open(&s.files, err));
    const halley_status status = save_role_files(&s);
    if (status != HALLEY_OK) {
        file_set_abort(s.files);
        return status;
    }
    TRY(file_set_commit(s.files, err));
    if (summary != NULL)
        *summary = s.sum;
    return HALLEY_OK;
}
