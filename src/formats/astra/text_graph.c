/*
 * Graphs of ASTRA-sim 1.0 workload files: per pass one forward and one backward walk over
 * the layers. The edges are those of Chakra's converter (data dependencies only).
 *
 * Forward:
 * - Compute waits for the previous layer and for the weights of the last pass.
 * - Communication waits for the compute.
 *
 * Backward:
 * - The input gradient waits for compute and communication of the next layer.
 * - The weight gradient waits for the input gradient.
 * - Each communication waits for its compute.
 *
 * If a layer does not communicate, whatever waits for its communication waits for its
 * compute instead. (Chakra inserts an all-reduce of 0 bytes; the option `chakra` does the
 * same.) With a model-parallel group of m NPUs, activations and input gradients are
 * exchanged among m neighbours. Weight gradients are exchanged among the NPUs with the
 * same position in their group.
 */
#include "astra/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_NODE UINT64_MAX

/* The nodes of a layer that other nodes wait for. */
typedef struct layer_nodes {
    uint64_t forward, forward_comm, input, input_comm, weight, weight_comm;
} layer_nodes;

typedef struct maker {
    const text_file *file;
    const halley_text_opts *opts;
    halley_builder *b;
    layer_nodes *at; /* by layer */
    uint64_t next_id;
    uint32_t rank, n_npus;
    char model_group[24], data_group[24]; /* "" = all */
    bool lone_model, lone_data;           /* groups of one rank: nothing to communicate */
    strbuf input; /* the file as Python reads it: every line ends with \n */
} maker;

static halley_bytes text_bytes_of(str s)
{
    return (halley_bytes){s.at, s.n};
}

static void wait_for_text(const maker *m, uint64_t id)
{
    if (id != NO_NODE)
        (void)halley_builder_data(m->b, id);
}

static uint64_t open_text_node(maker *m, uint32_t type, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static uint64_t open_text_node(maker *m, uint32_t type, const char *format, ...)
{
    char name[512];
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(name, sizeof name, format, args);
    va_end(args);
    const size_t length = n < 0                     ? 0
                          : (size_t)n < sizeof name ? (size_t)n
                                                    : sizeof name - 1;
    (void)halley_builder_node(m->b, m->next_id, type, (halley_bytes){name, length});
    return m->next_id++;
}

/* Add a compute node with up to three dependencies, without duplicates. */
static uint64_t compute(maker *m, const text_layer *layer, const char *phase,
                        const text_part *part, const uint64_t waits[3])
{
    const uint64_t id = open_text_node(m, HALLEY_NODE_COMP, "COMP_NODE_%.*s_%s",
                                       STR_ARG(layer->name), phase);
    const bool chakra = m->opts->chakra;
    (void)halley_builder_time(m->b, 0, chakra ? part->time : (part->time + 500) / 1000);
    wait_for_text(m, waits[0]);
    if (chakra || waits[1] != waits[0])
        wait_for_text(m, waits[1]);
    if (chakra || (waits[2] != waits[0] && waits[2] != waits[1]))
        wait_for_text(m, waits[2]);
    if (chakra)
        return id;
    (void)halley_builder_attr_bool(m->b, HALLEY_ATTR_NAME_IS_CPU_OP, false);
    (void)halley_builder_attr_u64(m->b, HALLEY_ATTR_NAME_DURATION_NS, part->time);
    if (part->n_ops > 0 || part->n_bytes > 0) {
        (void)halley_builder_attr_i64(m->b, HALLEY_ATTR_NAME_NUM_OPS,
                                      (int64_t)part->n_ops);
        (void)halley_builder_attr_u64(m->b, HALLEY_ATTR_NAME_TENSOR_SIZE, part->n_bytes);
    }
    return id;
}

/* Add a collective after node `waits`. Returns `waits` if there is nothing to send. */
static uint64_t communicate(maker *m, const text_layer *layer, const char *suffix,
                            const text_part *part, uint64_t waits, bool in_model)
{
    halley_coll_type type = HALLEY_COLL_ALL_REDUCE;
    const bool known = text_comm_type(part->comm, &type);
    const bool chakra = m->opts->chakra;
    if (!chakra &&
        (!known || part->comm_size == 0 || (in_model ? m->lone_model : m->lone_data)))
        return waits;
    if (chakra && type == HALLEY_COLL_BROADCAST)
        type = HALLEY_COLL_ALL_REDUCE; /* Chakra does not know it */
    const uint64_t id = open_text_node(m, HALLEY_NODE_COLL, "COMM_COLL_NODE_%.*s%s_%.*s",
                                       STR_ARG(layer->name), suffix, STR_ARG(part->comm));
    wait_for_text(m, waits);
    if (!chakra)
        (void)halley_builder_attr_bool(m->b, HALLEY_ATTR_NAME_IS_CPU_OP, false);
    (void)halley_builder_attr_i64(m->b, HALLEY_ATTR_NAME_COMM_TYPE, (int64_t)type);
    (void)halley_builder_attr_i64(m->b, HALLEY_ATTR_NAME_COMM_SIZE,
                                  (int64_t)part->comm_size);
    const char *const group = in_model ? m->model_group : m->data_group;
    if (group[0])
        (void)halley_builder_attr_text(m->b, HALLEY_ATTR_NAME_PG_NAME,
                                       text_bytes_of(str_from(group)));
    return id;
}

static void micro(maker *m)
{
    for (size_t i = 0; i < m->file->layers.n; i++) {
        const text_layer *const layer = &m->file->layers.at[i];
        (void)communicate(m, layer, "", &layer->weight, NO_NODE, false);
    }
}

static void data_pass(maker *m)
{
    const size_t n = m->file->layers.n;
    for (size_t i = 0; i < n; i++) {
        const text_layer *const layer = &m->file->layers.at[i];
        m->at[i].forward = compute(m, layer, "FWD", &layer->forward,
                                   (uint64_t[]){i ? m->at[i - 1].forward : NO_NODE,
                                                m->at[i].weight_comm, NO_NODE});
    }
    for (size_t i = n; i-- > 0;) {
        const text_layer *const layer = &m->file->layers.at[i];
        layer_nodes *const at = &m->at[i];
        const uint64_t before = i + 1 == n ? m->at[i].forward : m->at[i + 1].input;
        at->weight = compute(m, layer, "BWD_WG", &layer->weight,
                             (uint64_t[]){before, NO_NODE, NO_NODE});
        at->weight_comm = communicate(m, layer, "", &layer->weight, at->weight, false);
        if (i > 0)
            at->input = compute(m, layer, "BWD_IG", &layer->input,
                                (uint64_t[]){at->weight, NO_NODE, NO_NODE});
    }
}

/* Add the forward nodes of one layer. Returns what the next layer waits for. */
static uint64_t forward_step(maker *m, size_t i, const uint64_t waits[3])
{
    const text_layer *const layer = &m->file->layers.at[i];
    const uint64_t done = compute(m, layer, "FWD", &layer->forward, waits);
    return communicate(m, layer, "", &layer->forward, done, true);
}

/* Recompute forward from the last checkpoint up to layer i. Returns what input gradient i
 * then waits for instead of `waits`. */
static uint64_t forward_again(maker *m, size_t i, uint64_t waits, uint64_t also)
{
    size_t from = i;
    while (from > 0 && !m->file->layers.at[from].is_checkpoint)
        from--;
    for (; from < i; from++) {
        waits = forward_step(m, from, (uint64_t[]){waits, also, NO_NODE});
        also = NO_NODE;
    }
    return waits;
}

static void backward_step(maker *m, size_t i, uint64_t last_forward)
{
    const text_kind kind = m->file->kind;
    const size_t n = m->file->layers.n;
    const text_layer *const layer = &m->file->layers.at[i];
    layer_nodes *const at = &m->at[i];
    uint64_t waits = i + 1 == n ? last_forward : m->at[i + 1].weight;
    uint64_t also = i + 1 == n ? NO_NODE : m->at[i + 1].input_comm;
    if (kind == TEXT_RECOMPUTE && layer->starts_again) {
        const uint64_t again = forward_again(m, i, waits, also);
        also = again == waits ? also : NO_NODE;
        waits = again;
    }
    at->input =
        compute(m, layer, "BWD_IG", &layer->input, (uint64_t[]){waits, also, NO_NODE});
    /* The first layer has no input gradient to send. Like Chakra's converter, `chakra`
     * takes layer n - n_declared for the first. */
    const uint64_t first = m->opts->chakra ? n - m->file->n_declared : 0;
    const bool sends = kind == TEXT_TRANSFORMER || kind == TEXT_RECOMPUTE || i != first;
    at->input_comm =
        sends ? communicate(m, layer, kind == TEXT_DATA_MODEL ? "_IG_COMM_" : "",
                            &layer->input, at->input, true)
              : (m->opts->chakra ? NO_NODE : at->input);
    at->weight = compute(m, layer, "BWD_WG", &layer->weight,
                         (uint64_t[]){at->input, NO_NODE, NO_NODE});
    if (kind != TEXT_MODEL)
        at->weight_comm = communicate(m, layer, "", &layer->weight, at->weight, false);
}

static void hybrid_pass(maker *m)
{
    const size_t n = m->file->layers.n;
    const bool model = m->file->kind == TEXT_MODEL;
    uint64_t before = NO_NODE;
    for (size_t i = 0; i < n; i++) {
        const uint64_t weights = model ? m->at[i].weight : m->at[i].weight_comm;
        const uint64_t waits[3] = {model ? before : weights, model ? weights : before,
                                   NO_NODE};
        before = forward_step(m, i, waits);
    }
    if (m->file->kind == TEXT_INFERENCE)
        return;
    for (size_t i = n; i-- > 0;)
        backward_step(m, i, before);
}

static void dlrm_forward(maker *m, size_t i)
{
    const text_layer *const layer = &m->file->layers.at[i];
    layer_nodes *const at = &m->at[i];
    const uint64_t weights = at->weight_comm != NO_NODE ? at->weight_comm : at->weight;
    at->forward = compute(
        m, layer, "FWD", &layer->forward,
        (uint64_t[]){weights, i ? m->at[i - 1].forward : NO_NODE,
                     i == m->file->last_bottom ? m->at[0].forward_comm : NO_NODE});
    if (str_eq(layer->forward.comm, STR("ALLTOALL")))
        at->forward_comm = communicate(m, layer, "", &layer->forward, at->forward, true);
}

static void dlrm_backward(maker *m, size_t i)
{
    const size_t n = m->file->layers.n;
    const text_layer *const layer = &m->file->layers.at[i];
    layer_nodes *const at = &m->at[i];
    const bool last = i + 1 == n;
    at->weight = compute(m, layer, "BWD_WG", &layer->weight,
                         (uint64_t[]){last ? at->forward : m->at[i + 1].input,
                                      last ? NO_NODE : at->input_comm, NO_NODE});
    if (!str_eq(layer->weight.comm, STR("NONE")))
        at->weight_comm = communicate(m, layer, "", &layer->weight, at->weight, false);
    uint64_t input = NO_NODE;
    if (i > 0)
        input = at->input = compute(m, layer, "BWD_IG", &layer->input,
                                    (uint64_t[]){at->weight, NO_NODE, NO_NODE});
    const text_layer *const first = &m->file->layers.at[0];
    if (i == m->file->last_bottom + 1 && input != NO_NODE)
        m->at[0].input_comm = communicate(m, first, "", &first->input, input, true);
}

static void dlrm_pass(maker *m)
{
    for (size_t i = 0; i < m->file->layers.n; i++)
        dlrm_forward(m, i);
    for (size_t i = m->file->layers.n; i-- > 0;)
        dlrm_backward(m, i);
}

static void metadata_text(halley_builder *b, const char *name, str value)
{
    const halley_attr attr = {.name = {name, strlen(name)},
                              .kind = HALLEY_ATTR_STRING,
                              .bytes = text_bytes_of(value)};
    (void)halley_builder_metadata(b, &attr);
}

/* List the ranks of group `g`. The model-parallel groups, of `size` NPUs each, are
 * numbered first. */
static void list_group(strbuf *to, uint64_t g, uint64_t n_npus, uint64_t size)
{
    const uint64_t n_model = n_npus / size;
    const bool model = g < n_model;
    for (uint64_t k = 0; k < (model ? size : n_model); k++)
        strbuf_printf(to, "%s%" PRIu64, k ? ", " : "[",
                      model ? g * size + k : g - n_model + k * size);
    strbuf_add(to, STR("]"));
}

/* Declare the groups as PyTorch does, so that every trace reader finds them. */
static void declare_groups(maker *m)
{
    const uint64_t size = m->file->group;
    if ((!m->model_group[0] && !m->data_group[0]) || m->opts->no_metadata)
        return;
    strbuf text = {0};
    strbuf_add(&text, STR("['["));
    for (uint64_t g = 0; g < m->n_npus / size + size; g++) {
        strbuf_printf(
            &text, "%s{\"pg_name\": \"%" PRIu64 "\", \"ranks\": ", g ? ", " : "", g + 1);
        list_group(&text, g, m->n_npus, size);
        strbuf_add(&text, STR("}"));
    }
    strbuf_add(&text, STR("]']"));
    const halley_io io = {.present = true, .values = {text.at, text.n}};
    (void)open_text_node(m, HALLEY_NODE_METADATA, "## process_group:init ##");
    if (!text.failed)
        (void)halley_builder_inputs(m->b, &io);
    strbuf_fini(&text);
}

static void choose_text_groups(maker *m)
{
    const uint64_t size = m->file->group;
    m->model_group[0] = m->data_group[0] = '\0';
    if (m->opts->chakra || size == 0)
        return;
    m->lone_model = size == 1;
    m->lone_data = size == m->n_npus;
    if (m->lone_model || m->lone_data)
        return;
    snprintf(m->model_group, sizeof m->model_group, "%" PRIu64, m->rank / size + 1);
    snprintf(m->data_group, sizeof m->data_group, "%" PRIu64,
             m->n_npus / size + m->rank % size + 1);
}

static halley_status make_text_rank(halley_trace **out, maker *m, halley_error *err)
{
    const text_file *const file = m->file;
    TRY(halley_builder_new(&m->b, err));
    metadata_text(m->b, "schema", STR("1.0.2-chakra.1.0.0"));
    if (m->opts->chakra)
        metadata_text(m->b, "input_file", strbuf_str(&m->input));
    for (size_t i = 0; i < file->layers.n; i++)
        m->at[i] = (layer_nodes){NO_NODE, NO_NODE, NO_NODE, NO_NODE, NO_NODE, NO_NODE};
    choose_text_groups(m);
    declare_groups(m);
    const uint32_t n_passes = m->opts->n_passes ? m->opts->n_passes : 1;
    for (uint32_t pass = 0; pass < n_passes; pass++) {
        if (file->kind == TEXT_MICRO)
            micro(m);
        else if (file->kind == TEXT_DATA)
            data_pass(m);
        else if (file->kind == TEXT_DLRM)
            dlrm_pass(m);
        else
            hybrid_pass(m);
    }
    return halley_builder_finish(out, m->b, err);
}

static halley_status check_text_plan(const text_file *file, uint32_t n_npus,
                                     const char *path, halley_error *err)
{
    if (file->group == 0 || n_npus % file->group == 0)
        return HALLEY_OK;
    error_set(err, HALLEY_EINVAL,
              "a model-parallel group has %llu NPUs, which does not divide %u",
              (unsigned long long)file->group, n_npus);
    error_at_file(err, path);
    return HALLEY_EINVAL;
}

static bool read_as_python(strbuf *to, const file_input *in)
{
    const char *const at = (const char *)in->at;
    for (size_t i = 0; i < in->n; i++) {
        if (at[i] != '\r')
            strbuf_add_char(to, at[i]);
        else if (i + 1 == in->n || at[i + 1] != '\n')
            strbuf_add_char(to, '\n');
    }
    return !to->failed;
}

/* Ranks that have no groups share one trace. */
static halley_status make_text_ranks(halley_trace_set **out, const text_file *file,
                                     const halley_text_opts *opts, uint32_t n_npus,
                                     halley_error *err)
{
    halley_trace **const traces = mem_array_zero(n_npus, sizeof *traces);
    maker m = {.file = file,
               .opts = opts,
               .n_npus = n_npus,
               .at = mem_array(file->layers.n, sizeof *m.at)};
    halley_status status = traces && m.at && read_as_python(&m.input, &file->in)
                               ? HALLEY_OK
                               : error_nomem(err);
    for (m.rank = 0; status == HALLEY_OK && m.rank < n_npus; m.rank++) {
        const bool alike = m.rank > 0 && !opts->chakra && !m.model_group[0];
        m.next_id = opts->chakra ? m.next_id : 0;
        if (alike)
            traces[m.rank] = halley_trace_keep(traces[0]);
        else
            status = make_text_rank(&traces[m.rank], &m, err);
    }
    if (status == HALLEY_OK)
        status = halley_trace_set_new(out, traces, n_npus, err);
    for (uint32_t i = 0; traces && status != HALLEY_OK && i < n_npus; i++)
        halley_trace_free(traces[i]);
    free(traces);
    free(m.at);
    strbuf_fini(&m.input);
    return status;
}

static uint64_t scale_amount(uint64_t amount, double factor)
{
    const double scaled = (double)amount * factor;
    return factor == 1 ? amount : scaled < 9e18 ? (uint64_t)scaled : INT64_MAX;
}

static void scale_part(text_part *part, double comm, double compute)
{
    part->time = scale_amount(part->time, compute);
    part->n_ops = scale_amount(part->n_ops, compute);
    part->n_bytes = scale_amount(part->n_bytes, compute);
    part->comm_size = scale_amount(part->comm_size, comm);
}

static void scale_file(text_file *file, const halley_text_opts *opts)
{
    const double comm = opts->comm_scale > 0 ? opts->comm_scale : 1;
    const double compute = opts->compute_scale > 0 ? opts->compute_scale : 1;
    for (size_t i = 0; i < file->layers.n; i++) {
        text_layer *const layer = &file->layers.at[i];
        scale_part(&layer->forward, comm, compute);
        scale_part(&layer->input, comm, compute);
        scale_part(&layer->weight, comm, compute);
    }
}

halley_status halley_text_load(halley_trace_set **out, const char *path,
                               const halley_text_opts *opts, halley_error *err)
{
    static const halley_text_opts none = {0};
    opts = opts ? opts : &none;
    text_file file = {0};
    halley_status status = text_read(&file, path, !opts->chakra, err);
    if (status == HALLEY_OK)
        scale_file(&file, opts);
    const uint32_t n_npus = opts->n_npus      ? opts->n_npus
                            : file.group == 0 ? 1
                                              : (uint32_t)file.group;
    if (status == HALLEY_OK && opts->chakra && file.kind >= TEXT_TRANSFORMER) {
        status = error_set(err, HALLEY_EINVAL,
                           "Chakra's converter does not read this kind of parallelism; "
                           "convert it without --chakra");
        error_at_file(err, path);
    }
    if (status == HALLEY_OK)
        status = check_text_plan(&file, n_npus, path, err);
    if (status == HALLEY_OK)
        status = make_text_ranks(out, &file, opts, n_npus, err);
    text_fini(&file);
    return status;
}

halley_status halley_text_groups(char **out, const char *path,
                                 const halley_text_opts *opts, halley_error *err)
{
    text_file file = {0};
    strbuf text = {0};
    halley_status status = text_read(&file, path, true, err);
    const uint64_t size = file.group;
    const bool has_groups = size > 1 && size < opts->n_npus && opts->n_npus % size == 0;
    for (uint64_t g = 0;
         status == HALLEY_OK && has_groups && g < opts->n_npus / size + size; g++) {
        strbuf_printf(&text, "%s\"%" PRIu64 "\": ", g ? ", " : "{", g + 1);
        list_group(&text, g, opts->n_npus, size);
    }
    if (has_groups)
        strbuf_add(&text, STR("}"));
    text_fini(&file);
    if (status == HALLEY_OK && text.failed)
        status = error_nomem(err);
    if (status != HALLEY_OK)
        strbuf_fini(&text);
    else
        *out = text.at;
    return status;
}
