/*
 * topology/import/slurm.c - Slurm's topology.conf and topology.yaml: which hosts are
 * below which switches or in which blocks. The files state no rates.
 *
 * A block (for example an NVLink domain) is one switch. One assumed switch connects the
 * blocks.
 */
#include "topology/import/draft.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { MOST_NAMES = 1000000, MOST_RING = 16, MOST_LEVELS = 1000 };

typedef ARRAY(const char *) name_list;

/* A switch, block or ring. */
typedef struct slurm_row {
    const char *name;
    name_list switches, nodes;
    uint32_t line;
} slurm_row;
typedef ARRAY(slurm_row) slurm_rows;

typedef struct slurm_file {
    hw_draft *d;
    arena memory;
    slurm_rows switches, blocks, rings;
    ARRAY(uint64_t) sizes;
    intern switch_ids; /* names of switches; the id is the row */
} slurm_file;

static halley_status refuse_hostlist(slurm_file *f, str text, uint32_t line)
{
    return hw_draft_fail(f->d, line, "bad-hostlist", "\"%.*s\" is no list of hosts",
                         STR_ARG(text));
}

/* Append "01-03" to every name of `from`; leading zeros are kept. */
static halley_status multiply_names(name_list *names, slurm_file *f, size_t first,
                                    str ranges, uint32_t line)
{
    const size_t n_before = names->n;
    str rest = ranges, range;
    name_list next = {0};
    halley_status status = HALLEY_OK;
    for (size_t i = first; status == HALLEY_OK && i < n_before; i++) {
        rest = ranges;
        while (status == HALLEY_OK && str_next(&rest, ',', &range)) {
            uint64_t low, high;
            str a = {0};
            str_next(&range, '-', &a);
            const str b = range.at == NULL ? a : range;
            if (!str_to_u64(a, &low) || !str_to_u64(b, &high) || high < low ||
                high - low > MOST_NAMES || a.n > 18) {
                status = refuse_hostlist(f, ranges, line);
                break;
            }
            for (uint64_t v = low; status == HALLEY_OK && v <= high; v++) {
                const char *name =
                    arena_printf(&f->memory, "%s%0*" PRIu64, names->at[i], (int)a.n, v);
                if (next.n >= MOST_NAMES || next.n >= hw_draft_limit(f->d))
                    status = refuse_hostlist(f, ranges, line);
                else if (name == NULL || !array_push(&next, name))
                    status = error_nomem(f->d->err);
            }
        }
    }
    names->n = first;
    for (size_t i = 0; status == HALLEY_OK && i < next.n; i++)
        if (!array_push(names, next.at[i]))
            status = error_nomem(f->d->err);
    array_fini(&next);
    return status;
}

static halley_status append_text(name_list *names, slurm_file *f, size_t first, str text)
{
    for (size_t i = first; text.n > 0 && i < names->n; i++) {
        names->at[i] = arena_printf(&f->memory, "%s%.*s", names->at[i], STR_ARG(text));
        if (names->at[i] == NULL)
            return error_nomem(f->d->err);
    }
    return HALLEY_OK;
}

/* One name with brackets: "a[01-03,7]c[1-2]". */
static halley_status expand_host(name_list *names, slurm_file *f, str text, uint32_t line)
{
    const size_t first = names->n;
    if (!array_push(names, ""))
        return error_nomem(f->d->err);
    while (text.n > 0) {
        const char *open = memchr(text.at, '[', text.n);
        const size_t n = open == NULL ? text.n : (size_t)(open - text.at);
        TRY(append_text(names, f, first, (str){text.at, n}));
        text = (str){text.at + n, text.n - n};
        if (open == NULL)
            break;
        const char *close = memchr(text.at, ']', text.n);
        if (close == NULL)
            return refuse_hostlist(f, text, line);
        const size_t inside = (size_t)(close - text.at) - 1;
        TRY(multiply_names(names, f, first, (str){text.at + 1, inside}, line));
        text = (str){close + 1, text.n - inside - 2};
    }
    return HALLEY_OK;
}

static halley_status read_hostlist(name_list *out, slurm_file *f, str text, uint32_t line)
{
    size_t start = 0;
    int depth = 0;
    for (size_t i = 0; i <= text.n; i++) {
        const char c = i < text.n ? text.at[i] : ',';
        depth += (c == '[') - (c == ']');
        if (depth < 0 || depth > 1)
            return refuse_hostlist(f, text, line);
        if (i < text.n && (c != ',' || depth > 0))
            continue;
        if (depth != 0)
            return refuse_hostlist(f, text, line);
        if (i > start)
            TRY(expand_host(out, f, (str){text.at + start, i - start}, line));
        start = i + 1;
    }
    if (out->n > MOST_NAMES)
        return refuse_hostlist(f, text, line);
    return HALLEY_OK;
}

static halley_status copy_name(const char **out, slurm_file *f, str name, uint32_t line)
{
    if (name.n == 0)
        return hw_draft_fail(f->d, line, "missing-key", "a switch or block has no name");
    *out = arena_copy(&f->memory, name);
    return *out == NULL ? error_nomem(f->d->err) : HALLEY_OK;
}

static halley_status add_slurm_row(slurm_rows *rows, slurm_file *f, const slurm_row *row)
{
    for (size_t i = 0; rows != &f->switches && i < rows->n; i++)
        if (strcmp(rows->at[i].name, row->name) == 0)
            return hw_draft_fail(f->d, row->line, "duplicate-id", "%s is defined twice",
                                 row->name);
    if (rows == &f->switches) {
        const uint32_t id = intern_add(&f->switch_ids, str_from(row->name));
        if (id == HASH_NONE)
            return error_nomem(f->d->err);
        if (id < rows->n)
            return hw_draft_fail(f->d, row->line, "duplicate-id",
                                 "the switch %s is defined twice", row->name);
        if (row->switches.n == 0 && row->nodes.n == 0)
            return hw_draft_fail(f->d, row->line, "missing-key",
                                 "the switch %s has neither switches nor nodes",
                                 row->name);
    }
    return array_push(rows, *row) ? HALLEY_OK : error_nomem(f->d->err);
}

static uint32_t find_switch(const slurm_file *f, const char *name)
{
    return intern_find(&f->switch_ids, str_from(name));
}

/* Find a cycle among the switches, by depth-first search without recursion. */
static halley_status check_circles(slurm_file *f)
{
    const size_t n = f->switches.n;
    uint8_t *state = mem_array_zero(n, 1);
    uint32_t *stack = mem_array(n, sizeof *stack),
             *next = mem_array_zero(n, sizeof *next);
    halley_status status = state == NULL || stack == NULL || next == NULL
                               ? error_nomem(f->d->err)
                               : HALLEY_OK;
    for (uint32_t s = 0; status == HALLEY_OK && s < n; s++) {
        uint32_t depth = 0;
        if (state[s] != 0)
            continue;
        stack[depth++] = s;
        state[s] = 1;
        while (status == HALLEY_OK && depth > 0) {
            const uint32_t at = stack[depth - 1];
            const slurm_row *row = &f->switches.at[at];
            if (next[at] == row->switches.n) {
                state[at] = 2;
                depth--;
                continue;
            }
            const uint32_t child = find_switch(f, row->switches.at[next[at]++]);
            if (state[child] == 1)
                status = hw_draft_fail(f->d, f->switches.at[child].line, "loop",
                                       "switches in a circle: %s > %s", row->name,
                                       f->switches.at[child].name);
            else if (state[child] == 0) {
                state[child] = 1;
                stack[depth++] = child;
            }
        }
    }
    free(state);
    free(stack);
    free(next);
    return status;
}

static halley_status add_hosts(slurm_file *f, const slurm_rows *rows, bool may_repeat)
{
    for (size_t i = 0; i < rows->n; i++) {
        const slurm_row *row = &rows->at[i];
        for (size_t k = 0; k < row->nodes.n; k++) {
            const str name = str_from(row->nodes.at[k]);
            if (hw_draft_find(f->d, name) != HW_NONE) {
                if (may_repeat)
                    continue;
                return hw_draft_fail(f->d, row->line, "duplicate-id",
                                     "the node %s is in %s and in another one",
                                     row->nodes.at[k], row->name);
            }
            TRY(hw_draft_add_device(NULL, f->d, HW_DEVICE_HOST, name, row->line));
        }
    }
    return HALLEY_OK;
}

static halley_status join_names(slurm_file *f, const char *a, const char *b,
                                uint32_t line)
{
    const hw_draft_link link = {.from = hw_draft_find(f->d, str_from(a)),
                                .to = hw_draft_find(f->d, str_from(b)),
                                .bw_Bps = HW_UNKNOWN,
                                .latency_s = HW_UNKNOWN};
    return hw_draft_add_link(f->d, &link, line);
}

static halley_status build_tree(slurm_file *f)
{
    uint32_t n_shared = 0;
    TRY(add_hosts(f, &f->switches, true));
    const uint32_t n_hosts = (uint32_t)f->d->devices.n;
    for (size_t i = 0; i < f->switches.n; i++)
        TRY(hw_draft_add_device(NULL, f->d, HW_DEVICE_SWITCH,
                                str_from(f->switches.at[i].name),
                                f->switches.at[i].line));
    for (size_t i = 0; i < f->switches.n; i++) {
        const slurm_row *row = &f->switches.at[i];
        for (size_t k = 0; k < row->switches.n; k++) {
            if (find_switch(f, row->switches.at[k]) == HASH_NONE)
                return hw_draft_fail(
                    f->d, row->line, "dangling-link",
                    "the switch %s has the child %s, which is not defined", row->name,
                    row->switches.at[k]);
            if (strcmp(row->switches.at[k], row->name) == 0)
                return hw_draft_fail(f->d, row->line, "loop",
                                     "the switch %s is its own child", row->name);
            TRY(join_names(f, row->name, row->switches.at[k], row->line));
        }
        for (size_t k = 0; k < row->nodes.n; k++)
            TRY(join_names(f, row->name, row->nodes.at[k], row->line));
    }
    TRY(check_circles(f));
    uint32_t *parents = mem_array_zero(f->d->devices.n, sizeof *parents);
    if (parents == NULL)
        return error_nomem(f->d->err);
    for (size_t i = 0; i < f->d->links.n; i++)
        n_shared += parents[f->d->links.at[i].to]++ == 1;
    free(parents);
    (void)n_hosts;
    if (n_shared > 0)
        hw_draft_warn(f->d, "%u children have more than one parent", n_shared);
    return HALLEY_OK;
}

static halley_status check_block_sizes(slurm_file *f)
{
    for (size_t i = 0; i + 1 < f->sizes.n; i++) {
        const uint64_t a = f->sizes.at[i], b = f->sizes.at[i + 1];
        const uint64_t q = a == 0 ? 0 : b / a;
        if (a == 0 || b % a != 0 || q < 2 || (q & (q - 1)) != 0)
            return hw_draft_fail(f->d, 0, "bad-number",
                                 "block sizes %" PRIu64 ", %" PRIu64
                                 ": each must be a power of two times the one before",
                                 a, b);
    }
    for (size_t i = 0; f->sizes.n > 0 && i < f->blocks.n; i++)
        if (f->blocks.at[i].nodes.n > 0 && f->blocks.at[i].nodes.n < f->sizes.at[0])
            hw_draft_warn(f->d, "the block %s is smaller than the base size %" PRIu64,
                          f->blocks.at[i].name, f->sizes.at[0]);
    return HALLEY_OK;
}

static halley_status build_blocks(slurm_file *f)
{
    static const char above[] = "(above)";
    TRY(add_hosts(f, &f->blocks, false));
    TRY(check_block_sizes(f));
    for (size_t i = 0; i < f->blocks.n; i++) {
        const slurm_row *row = &f->blocks.at[i];
        TRY(hw_draft_add_device(NULL, f->d, HW_DEVICE_SWITCH, str_from(row->name),
                                row->line));
        for (size_t k = 0; k < row->nodes.n; k++)
            TRY(join_names(f, row->name, row->nodes.at[k], row->line));
    }
    if (f->blocks.n < 2)
        return HALLEY_OK;
    hw_draft_warn(f->d,
                  "a block file does not say how blocks are joined; one switch above "
                  "all is assumed");
    TRY(hw_draft_add_device(NULL, f->d, HW_DEVICE_SWITCH, str_from(above), 0));
    for (size_t i = 0; i < f->blocks.n; i++)
        if (f->blocks.at[i].nodes.n > 0)
            TRY(join_names(f, above, f->blocks.at[i].name, f->blocks.at[i].line));
    return HALLEY_OK;
}

static halley_status build_rings(slurm_file *f)
{
    TRY(add_hosts(f, &f->rings, false));
    for (size_t i = 0; i < f->rings.n; i++) {
        const slurm_row *row = &f->rings.at[i];
        const size_t n = row->nodes.n;
        if (n > MOST_RING)
            return hw_draft_fail(f->d, row->line, "bad-number",
                                 "the ring %s has %zu nodes; at most %d are allowed",
                                 row->name, n, MOST_RING);
        for (size_t k = 0; n > 1 && k < (n == 2 ? 1 : n); k++)
            TRY(join_names(f, row->nodes.at[k], row->nodes.at[(k + 1) % n], row->line));
    }
    return HALLEY_OK;
}

static halley_status build_slurm(slurm_file *f)
{
    const bool wants_block = str_eq(f->d->options->plugin, STR("block"));
    if (f->switches.n > 0 && (f->blocks.n > 0 || f->rings.n > 0) && !wants_block)
        hw_draft_warn(f->d, "the file has switches and blocks; the tree is taken");
    if (f->switches.n > 0 && !(wants_block && f->blocks.n > 0))
        return build_tree(f);
    if (f->blocks.n > 0)
        return build_blocks(f);
    return build_rings(f);
}

static void free_rows(slurm_rows *rows)
{
    for (size_t i = 0; i < rows->n; i++) {
        array_fini(&rows->at[i].switches);
        array_fini(&rows->at[i].nodes);
    }
    array_fini(rows);
}

static void free_slurm(slurm_file *f)
{
    free_rows(&f->switches);
    free_rows(&f->blocks);
    free_rows(&f->rings);
    array_fini(&f->sizes);
    intern_fini(&f->switch_ids);
    arena_fini(&f->memory);
}

enum conf_key {
    SWITCH_NAME,
    SWITCHES,
    NODES,
    LINK_SPEED,
    BLOCK_NAME,
    BLOCK_SIZES,
    RING_NAME,
    N_KEYS
};
static const char *const key_names[N_KEYS] = {"SwitchName", "Switches",  "Nodes",
                                              "LinkSpeed",  "BlockName", "BlockSizes",
                                              "RingName"};

/* The values of a line by key; {NULL} = not given. */
static halley_status split_words(str *values, slurm_file *f, str line, uint32_t number,
                                 bool is_last)
{
    str word;
    while (hw_next_word(&line, &word)) {
        const char *equals = memchr(word.at, '=', word.n);
        int key = N_KEYS;
        if (equals == NULL)
            return hw_draft_fail(f->d, number, is_last ? "truncated" : "bad-line",
                                 "\"%.*s\" is not Key=Value", STR_ARG(word));
        const size_t n = (size_t)(equals - word.at);
        for (int k = 0; k < N_KEYS; k++)
            if (n == strlen(key_names[k]) && strncasecmp(word.at, key_names[k], n) == 0)
                key = k;
        if (key == N_KEYS)
            return hw_draft_fail(f->d, number, "unknown-key", "\"%.*s\" is no key here",
                                 (int)(n < 100 ? n : 100), word.at);
        if (values[key].at != NULL)
            return hw_draft_fail(f->d, number, "duplicate-key", "%s is twice in a line",
                                 key_names[key]);
        values[key] = (str){equals + 1, word.n - n - 1};
    }
    return HALLEY_OK;
}

static halley_status read_slurm_sizes(slurm_file *f, str text, uint32_t line)
{
    str word;
    f->sizes.n = 0;
    while (str_next(&text, ',', &word)) {
        uint64_t size;
        if (!str_to_u64(str_trim(word), &size))
            return hw_draft_fail(f->d, line, "bad-number", "\"%.*s\" is not a block size",
                                 STR_ARG(word));
        if (!array_push(&f->sizes, size))
            return error_nomem(f->d->err);
    }
    return HALLEY_OK;
}

/* Add a row that was read with this status, or free it. */
static halley_status keep_slurm_row(slurm_rows *rows, slurm_file *f, slurm_row *row,
                                    halley_status status)
{
    if (status == HALLEY_OK)
        status = add_slurm_row(rows, f, row);
    if (status != HALLEY_OK) {
        array_fini(&row->nodes);
        array_fini(&row->switches);
    }
    return status;
}

static halley_status read_conf_line(slurm_file *f, str line, uint32_t number,
                                    bool is_last)
{
    str values[N_KEYS] = {{0}};
    slurm_row row = {.line = number};
    TRY(split_words(values, f, line, number, is_last));
    const bool is_switch = values[SWITCH_NAME].at != NULL;
    const bool is_block = values[BLOCK_NAME].at != NULL;
    if (!is_switch && !is_block && values[RING_NAME].at == NULL) {
        if (values[BLOCK_SIZES].at != NULL)
            return read_slurm_sizes(f, values[BLOCK_SIZES], number);
        return hw_draft_fail(
            f->d, number, "missing-key",
            "a line has no SwitchName, BlockName, RingName or BlockSizes");
    }
    if (values[LINK_SPEED].at != NULL)
        hw_draft_warn(f->d, "line %u: LinkSpeed has no unit and is ignored", number);
    slurm_rows *rows = is_switch ? &f->switches : is_block ? &f->blocks : &f->rings;
    halley_status status = copy_name(&row.name, f,
                                     values[is_switch  ? SWITCH_NAME
                                            : is_block ? BLOCK_NAME
                                                       : RING_NAME],
                                     number);
    if (status == HALLEY_OK)
        status = read_hostlist(&row.nodes, f, values[NODES], number);
    if (status == HALLEY_OK && is_switch)
        status = read_hostlist(&row.switches, f, values[SWITCHES], number);
    return keep_slurm_row(rows, f, &row, status);
}

static str cut_comment(str line)
{
    const char *mark = line.n > 0 ? memchr(line.at, '#', line.n) : NULL;
    if (mark != NULL)
        line.n = (size_t)(mark - line.at);
    return str_trim(line);
}

/* A line that ends in a backslash continues on the next line. */
static halley_status read_conf_lines(slurm_file *f)
{
    str rest = f->d->text, line;
    uint32_t number = 0, begin = 0;
    strbuf whole = {0};
    halley_status status = HALLEY_OK;
    while (status == HALLEY_OK && rest.n > 0) {
        str_next(&rest, '\n', &line);
        number++;
        begin = whole.n == 0 ? number : begin;
        if (line.n > 0 && line.at[line.n - 1] == '\r')
            line.n--;
        const bool goes_on = line.n > 0 && line.at[line.n - 1] == '\\';
        strbuf_add(&whole, (str){line.at, line.n - goes_on});
        if (goes_on && rest.n > 0) {
            strbuf_add_char(&whole, ' ');
            continue;
        }
        const str text = cut_comment(strbuf_str(&whole));
        if (whole.failed)
            status = error_nomem(f->d->err);
        else if (text.n > 0)
            status = read_conf_line(f, text, begin, rest.n == 0);
        whole.n = 0;
    }
    strbuf_fini(&whole);
    return status;
}

static halley_status read_slurm_conf(hw_draft *d)
{
    slurm_file f = {.d = d};
    halley_status status = read_conf_lines(&f);
    if (status == HALLEY_OK && f.switches.n + f.blocks.n + f.rings.n == 0)
        status =
            hw_draft_fail(d, 0, "missing-key", "no switch, block or ring in the file");
    if (status == HALLEY_OK)
        status = build_slurm(&f);
    free_slurm(&f);
    return status;
}

static const char *const yaml_kinds[] = {"tree", "block", "flat", "ring", "torus3d"};
enum { N_YAML_KINDS = 5 };

static bool is_slurm_given(const conf_node *node)
{
    return node != NULL && node->kind != CONF_NULL &&
           !(node->kind == CONF_SCALAR && str_eq(node->text, STR("false"))) &&
           !((node->kind == CONF_MAP || node->kind == CONF_LIST) && node->n == 0);
}

static halley_status check_yaml_entry(slurm_file *f, const conf_node *entry,
                                      const conf_node *list, uint32_t at)
{
    uint32_t n_kinds = 0;
    const conf_node *name = entry->kind == CONF_MAP ? conf_find(entry, "topology") : NULL;
    if (name == NULL || name->kind != CONF_SCALAR)
        return hw_draft_fail_at(f->d, entry, "missing-key", "an entry has no topology");
    for (uint32_t i = 0; i < at; i++)
        if (str_eq(conf_find(list->items[i], "topology")->text, name->text))
            return hw_draft_fail_at(f->d, entry, "duplicate-id",
                                    "the topology %.*s is described twice",
                                    STR_ARG(name->text));
    for (int i = 0; i < N_YAML_KINDS; i++)
        n_kinds += is_slurm_given(conf_find(entry, yaml_kinds[i]));
    if (n_kinds != 1)
        return hw_draft_fail_at(f->d, entry, "missing-key",
                                "the topology %.*s has %u of tree, block, flat, ring and "
                                "torus3d; one is expected",
                                STR_ARG(name->text), n_kinds);
    for (uint32_t i = 0; i < entry->n; i++) {
        bool known = str_eq(entry->keys[i], STR("topology")) ||
                     str_eq(entry->keys[i], STR("cluster_default"));
        for (int k = 0; k < N_YAML_KINDS; k++)
            known |= str_eq(entry->keys[i], str_from(yaml_kinds[k]));
        if (!known)
            return hw_draft_fail_at(f->d, entry->items[i], "unknown-key",
                                    "\"%.*s\" in topology %.*s", STR_ARG(entry->keys[i]),
                                    STR_ARG(name->text));
    }
    return HALLEY_OK;
}

/* Choose the requested topology, the default one, or the first. */
static halley_status choose_yaml(const conf_node **out, slurm_file *f,
                                 const conf_node *list)
{
    const str wanted = f->d->options->topology;
    *out = NULL;
    if (list->kind != CONF_LIST || list->n == 0)
        return hw_draft_fail_at(f->d, list, "bad-root",
                                "a list of topologies is expected");
    for (uint32_t i = 0; i < list->n; i++)
        TRY(check_yaml_entry(f, list->items[i], list, i));
    for (uint32_t i = list->n; i-- > 0;) {
        const conf_node *entry = list->items[i];
        const conf_node *chosen = conf_find(entry, "cluster_default");
        const bool is_default = chosen != NULL && (str_eq(chosen->text, STR("true")) ||
                                                   str_eq(chosen->text, STR("yes")) ||
                                                   str_eq(chosen->text, STR("True")));
        if (wanted.n > 0 ? str_eq(conf_find(entry, "topology")->text, wanted)
                         : is_default)
            *out = entry;
    }
    if (*out == NULL && wanted.n == 0)
        *out = list->items[0];
    if (*out == NULL)
        return hw_draft_fail(f->d, 0, "missing-key", "the file has no topology %.*s",
                             STR_ARG(wanted));
    return HALLEY_OK;
}

static str get_yaml_text(const conf_node *map, const char *key)
{
    const conf_node *node = map->kind == CONF_MAP ? conf_find(map, key) : NULL;
    return node != NULL && node->kind == CONF_SCALAR ? node->text : (str){"", 0};
}

static halley_status read_yaml_rows(slurm_file *f, slurm_rows *rows,
                                    const conf_node *list, const char *key)
{
    if (list == NULL || list->kind != CONF_LIST)
        return hw_draft_fail_at(f->d, list, "missing-key", "a list of %ss is expected",
                                key);
    for (uint32_t i = 0; i < list->n; i++) {
        const conf_node *map = list->items[i];
        slurm_row row = {.line = map->line};
        halley_status status =
            copy_name(&row.name, f, get_yaml_text(map, key), map->line);
        if (status == HALLEY_OK)
            status = read_hostlist(&row.nodes, f, get_yaml_text(map, "nodes"), map->line);
        if (status == HALLEY_OK)
            status = read_hostlist(&row.switches, f, get_yaml_text(map, "children"),
                                   map->line);
        TRY(keep_slurm_row(rows, f, &row, status));
    }
    return HALLEY_OK;
}

static halley_status read_yaml_sizes(slurm_file *f, const conf_node *list)
{
    for (uint32_t i = 0; list != NULL && list->kind == CONF_LIST && i < list->n; i++) {
        uint64_t size;
        if (!str_to_u64(list->items[i]->text, &size))
            return hw_draft_fail_at(f->d, list->items[i], "bad-number",
                                    "a block size must be a whole number");
        if (!array_push(&f->sizes, size))
            return error_nomem(f->d->err);
    }
    return HALLEY_OK;
}

static halley_status read_yaml_entry(slurm_file *f, const conf_node *entry)
{
    const conf_node *tree = conf_find(entry, "tree"), *block = conf_find(entry, "block");
    if (is_slurm_given(tree) && tree->kind == CONF_MAP) {
        TRY(read_yaml_rows(f, &f->switches, conf_find(tree, "switches"), "switch"));
        return build_tree(f);
    }
    if (!is_slurm_given(block) || block->kind != CONF_MAP)
        return hw_draft_fail_at(
            f->d, entry, "unsupported",
            "topology %.*s is no tree or block, and says nothing about "
            "links",
            STR_ARG(conf_find(entry, "topology")->text));
    TRY(read_yaml_sizes(f, conf_find(block, "block_sizes")));
    TRY(read_yaml_rows(f, &f->blocks, conf_find(block, "blocks"), "block"));
    return build_blocks(f);
}

static halley_status read_slurm_yaml(hw_draft *d)
{
    conf_file file;
    const conf_node *entry;
    slurm_file f = {.d = d};
    TRY(hw_draft_parse_conf(&file, d));
    halley_status status = choose_yaml(&entry, &f, file.root);
    if (status == HALLEY_OK)
        status = read_yaml_entry(&f, entry);
    free_slurm(&f);
    conf_fini(&file);
    return status;
}

const hw_import_format hw_import_slurm_conf = {
    .row = {.name = "slurm-conf", .doc = "Slurm's topology.conf", .read = hw_import_read},
    .read = read_slurm_conf};
const hw_import_format hw_import_slurm_yaml = {
    .row = {.name = "slurm-yaml", .doc = "Slurm's topology.yaml", .read = hw_import_read},
    .read = read_slurm_yaml};
