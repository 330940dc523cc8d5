/*
 * The parameters of the generators. One table is used to parse values, check ranges and
 * print help.
 */
#include "base/error.h"
#include "base/number/units.h"
#include "base/number/whole.h"
#include "base/str.h"
#include "gen/gen.h"

#include <inttypes.h>
#include <stdio.h>

/* Integers up to here are exact in a double. */
#define EXACT (UINT64_C(1) << 53)
#define MANY UINT64_C(4000000000)

static const char *const orders[] = {"chained", "independent", NULL};
static const char *const no_yes[] = {"no", "yes", NULL};

const gen_param_row gen_params[GEN_N_PARAMS] = {
    [GEN_SIZE] = {"size", "BYTES", "bytes of a collective or message", GEN_KIND_BYTES, 1,
                  EXACT, 1 << 20, NULL},
    [GEN_REPEAT] = {"repeat", "N", "times the pattern is done", GEN_KIND_COUNT, 1, MANY,
                    1, NULL},
    [GEN_ORDER] = {"order", "chained|independent",
                   "whether repetitions wait for each other", GEN_KIND_CHOICE, 0, 1, 0,
                   orders},
    [GEN_COMPUTE] = {"compute", "TIME",
                     "length of a compute node, whole microseconds; 0 = none of its own",
                     GEN_KIND_MICROS, 0, MANY, 0, NULL},
    [GEN_FLOPS] = {"flops", "N",
                   "operations of a compute node; 0 = 100 TFLOP/s in its time",
                   GEN_KIND_COUNT, 0, EXACT, 0, NULL},
    [GEN_TENSOR] = {"tensor", "BYTES",
                    "bytes a compute or memory node moves (tensor_size)", GEN_KIND_BYTES,
                    0, EXACT, 0, NULL},
    [GEN_GROUP] = {"group", "RANKS",
                   "only these ranks take part, such as 0,2,4-7; give it again for more "
                   "groups",
                   GEN_KIND_RANKS, 0, 0, 0, NULL},
    [GEN_MICRO_BATCHES] = {"micro-batches", "N", "pieces of a batch in a pipeline",
                           GEN_KIND_COUNT, 1, 1000000, 4, NULL},
    [GEN_BACKWARD] = {"backward", "yes|no", "whether a backward pass follows",
                      GEN_KIND_CHOICE, 0, 1, 1, no_yes},
    [GEN_LAYERS] = {"layers", "N", "layers of the model", GEN_KIND_COUNT, 1, 1000000, 4,
                    NULL},
    [GEN_GRADIENT] = {"gradient", "BYTES", "gradients of a layer on one NPU",
                      GEN_KIND_BYTES, 1, EXACT, 1 << 24, NULL},
    [GEN_ZERO] = {"zero", "yes|no",
                  "reduce-scatter and all-gather in place of all-reduce", GEN_KIND_CHOICE,
                  0, 1, 0, no_yes},
    [GEN_TP] = {"tp", "N", "NPUs that share a layer (tensor parallel)", GEN_KIND_COUNT, 1,
                1 << 20, 1, NULL},
    [GEN_DP] = {"dp", "N", "copies of the model (data parallel); 0 = what remains",
                GEN_KIND_COUNT, 0, 1 << 20, 0, NULL},
    [GEN_PP] = {"pp", "N", "stages (pipeline parallel)", GEN_KIND_COUNT, 1, 1 << 20, 1,
                NULL},
    [GEN_MESSAGES] = {"messages", "N", "messages in all", GEN_KIND_COUNT, 1, INT32_MAX,
                      64, NULL},
    [GEN_SEED] = {"seed", "N", "another number, another random trace", GEN_KIND_COUNT, 0,
                  EXACT, 1, NULL},
    [GEN_NODES] = {"nodes", "N", "nodes of each rank", GEN_KIND_COUNT, 1, MANY, 100,
                   NULL},
    [GEN_DEGREE] = {"degree", "X", "dependencies of a node, on average, at most 8",
                    GEN_KIND_MILLI, 0, 8000, 1500, NULL},
    [GEN_W_COMP] = {"comp-weight", "N", "share of compute nodes among the weights",
                    GEN_KIND_COUNT, 0, 1000000, 6, NULL},
    [GEN_W_COLL] = {"coll-weight", "N", "share of collectives", GEN_KIND_COUNT, 0,
                    1000000, 2, NULL},
    [GEN_W_P2P] = {"p2p-weight", "N", "share of sends and receives", GEN_KIND_COUNT, 0,
                   1000000, 1, NULL},
    [GEN_W_MEM] = {"mem-weight", "N", "share of memory loads and stores", GEN_KIND_COUNT,
                   0, 1000000, 0, NULL},
};

static halley_status refuse_param(halley_error *err, gen_param param, const char *text,
                                  const char *want)
{
    return error_set(err, HALLEY_EINVAL, "%s must be %s, is \"%s\"",
                     gen_params[param].name, want, text);
}

static halley_status parse_choice(uint64_t *out, gen_param param, const char *text,
                                  halley_error *err)
{
    const gen_param_row *row = &gen_params[param];
    for (uint64_t i = 0; row->choices[i]; i++) {
        if (str_eq(str_from(text), str_from(row->choices[i]))) {
            *out = i;
            return HALLEY_OK;
        }
    }
    return refuse_param(err, param, text, row->value);
}

/* Parse the number in the unit of the row: bytes, microseconds, thousandths. */
static halley_status parse_number(double *out, gen_param param, const char *text,
                                  halley_error *err)
{
    const gen_param_row *row = &gen_params[param];
    const units_kind kind = row->kind == GEN_KIND_BYTES    ? UNITS_BYTES
                            : row->kind == GEN_KIND_MICROS ? UNITS_TIME
                                                           : UNITS_COUNT;
    double value;
    uint64_t plain; /* bytes may have no unit, as in Chakra's own options */
    if (kind == UNITS_BYTES && str_to_u64(str_trim(str_from(text)), &plain)) {
        *out = (double)plain;
        return HALLEY_OK;
    }
    const halley_status status = units_parse(&value, str_from(text), kind, err);
    if (status != HALLEY_OK) {
        error_prefix(err, "%s: ", row->name);
        return status;
    }
    if (row->kind == GEN_KIND_MICROS)
        value *= 1e6;
    if (row->kind == GEN_KIND_MILLI)
        value *= 1e3;
    *out = value;
    return HALLEY_OK;
}

/* Report the range in the user's terms: "between 1 and 4000000000". */
static halley_status out_of_range(gen_param param, const char *text, halley_error *err)
{
    const gen_param_row *row = &gen_params[param];
    const uint64_t unit = row->kind == GEN_KIND_MILLI ? 1000 : 1;
    const char *noun = row->kind == GEN_KIND_BYTES    ? " bytes"
                       : row->kind == GEN_KIND_MICROS ? " us"
                                                      : "";
    char want[128];
    snprintf(want, sizeof want, "between %" PRIu64 " and %" PRIu64 "%s", row->min / unit,
             row->max / unit, noun);
    return refuse_param(err, param, text, want);
}

halley_status gen_param_parse(uint64_t *out, gen_param param, const char *text,
                              halley_error *err)
{
    const gen_param_row *row = &gen_params[param];
    if (row->kind == GEN_KIND_CHOICE)
        return parse_choice(out, param, text, err);
    double value;
    TRY(parse_number(&value, param, text, err));
    if (!(value >= (double)row->min && value <= (double)row->max))
        return out_of_range(param, text, err);
    /* 1.1 us is 1.1000000000000001e-6 s: accept rounding errors, but no real fractions.
     */
    const uint64_t whole = whole_u64(value + 0.5);
    const double off = value - (double)whole;
    if (off > 1e-6 * value || -off > 1e-6 * value)
        return refuse_param(
            err, param, text,
            row->kind == GEN_KIND_MICROS  ? "a whole number of microseconds"
            : row->kind == GEN_KIND_MILLI ? "given to three digits after the point"
                                          : "a whole number");
    if (whole < row->min || whole > row->max)
        return out_of_range(param, text, err);
    *out = whole;
    return HALLEY_OK;
}

/* Parse "7" or "4-7". */
static bool parse_range(str part, uint64_t *first, uint64_t *last)
{
    str head, rest = part;
    if (!str_next(&rest, '-', &head) || !str_to_u64(str_trim(head), first))
        return false;
    *last = *first;
    if (head.n == part.n)
        return true;
    return str_to_u64(str_trim(rest), last) && *first <= *last;
}

static halley_status mark_ranks(uint8_t *in, uint32_t *n, const char *text,
                                uint32_t n_npus, halley_error *err)
{
    str rest = str_from(text), part;
    while (str_next(&rest, ',', &part)) {
        uint64_t first, last;
        if (!parse_range(str_trim(part), &first, &last))
            return refuse_param(err, GEN_GROUP, text, "ranks such as 0,2,4-7");
        if (last >= n_npus)
            return error_set(err, HALLEY_EINVAL,
                             "group %s: rank %" PRIu64 " does not exist, the %u NPUs are "
                             "0 to %u",
                             text, last, n_npus, n_npus - 1);
        for (uint64_t r = first; r <= last; r++) {
            if (in[r])
                return error_set(err, HALLEY_EINVAL,
                                 "group %s: rank %" PRIu64 " is there twice", text, r);
            in[r] = 1;
            ++*n;
        }
    }
    return *n > 0 ? HALLEY_OK
                  : refuse_param(err, GEN_GROUP, text, "ranks such as 0,2,4-7");
}

halley_status gen_group_parse(gen_group *out, const char *text, uint32_t n_npus,
                              halley_error *err)
{
    uint8_t *in = mem_array_zero(n_npus, 1);
    if (!in)
        return error_nomem(err);
    gen_group group = {0};
    halley_status status = mark_ranks(in, &group.n, text, n_npus, err);
    if (status == HALLEY_OK) {
        group.ranks = mem_array(group.n, sizeof *group.ranks);
        if (!group.ranks)
            status = error_nomem(err);
    }
    if (status == HALLEY_OK) {
        uint32_t n = 0;
        for (uint32_t r = 0; r < n_npus; r++)
            if (in[r])
                group.ranks[n++] = r;
        *out = group;
    }
    free(in);
    return status;
}

halley_status gen_group_add(halley_gen *gen, gen_group group, halley_error *err)
{
    if (array_push(&gen->groups, group))
        return HALLEY_OK;
    free(group.ranks);
    return error_nomem(err);
}

void gen_groups_clear(halley_gen *gen)
{
    for (size_t i = 0; i < gen->groups.n; i++)
        free(gen->groups.at[i].ranks);
    array_fini(&gen->groups);
}

bool gen_group_has(const gen_group *group, uint32_t rank)
{
    uint32_t low = 0, high = group->n;
    while (low < high) {
        const uint32_t mid = low + (high - low) / 2;
        if (group->ranks[mid] < rank)
            low = mid + 1;
        else
            high = mid;
    }
    return low < group->n && group->ranks[low] == rank;
}
