/* Reads tables of measured matmuls and collectives. The first line shows which it is. */
#include "score/csv_read.h"

#include "base/error.h"
#include "base/file/file.h"
#include "base/number/number.h"
#include "base/number/whole.h"

enum { COLUMNS = 7 };

static const score_system systems[SCORE_N_SYSTEMS] = {
    {"a100_sxm", "A100-SXM4-80GB", "nvlink3-a100"},
    {"h100_sxm", "H100-SXM-80GB", "nvlink4-h100"},
    {"h200_sxm", "H200-SXM-141GB", "nvlink4-h200"},
    {"b200_sxm", "B200-SXM-180GB", "nvlink5-b200"},
    {"b300_sxm", "B300-SXM-288GB", "nvlink5-b300"},
    {"gb200", "GB200-186GB", "nvlink5-gb200"},
    {"gb300", "GB300-288GB", "nvlink5-gb300"},
    {"l40s", NULL, "pcie4-l40s"},
    {"rtx_pro_6000_server", NULL, "pcie5-rtx6000"},
};

const score_system *score_system_get(uint32_t i)
{
    return &systems[i];
}

static uint32_t find_system(str name)
{
    uint32_t i = 0;
    while (i < SCORE_N_SYSTEMS && !str_eq(name, str_from(systems[i].system)))
        i++;
    return i;
}

/* Sizes, counts and times: positive, and so small that no prediction overflows. */
static bool to_number(str s, double *out)
{
    static const double most = 9007199254740992; /* 2^53 */
    return number_read(str_trim(s), out) && *out > 0 && *out <= most;
}

static void read_product(score_csv_row *row, const str *cells)
{
    double ms = 0;
    row->name = cells[2];
    row->low = str_starts(cells[2], STR("fp8"));
    row->known = row->system < SCORE_N_SYSTEMS && systems[row->system].npu &&
                 (row->low || str_eq(cells[2], STR("bfloat16")) ||
                  str_eq(cells[2], STR("float16"))) &&
                 to_number(cells[3], &row->mnk[0]) && to_number(cells[4], &row->mnk[1]) &&
                 to_number(cells[5], &row->mnk[2]) && to_number(cells[6], &ms);
    row->seconds = ms * 1e-3;
}

static bool find_coll(coll_kind *out, str name)
{
    static const struct {
        const char *name;
        coll_kind kind;
    } names[] = {{"all_reduce", COLL_ALL_REDUCE},         {"all_gather", COLL_ALL_GATHER},
                 {"reduce_scatter", COLL_REDUCE_SCATTER}, {"alltoall", COLL_ALL_TO_ALL},
                 {"all_to_all", COLL_ALL_TO_ALL},         {"broadcast", COLL_BROADCAST}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (str_eq(name, str_from(names[i].name))) {
            *out = names[i].kind;
            return true;
        }
    }
    return false;
}

static void read_collective(score_csv_row *row, const str *cells)
{
    double n = 0, elements = 0, ms = 0;
    coll_call *c = &row->coll;
    row->name = (str){cells[2].at, (size_t)(cells[3].at + cells[3].n - cells[2].at)};
    row->known = row->system < SCORE_N_SYSTEMS && find_coll(&c->kind, cells[2]) &&
                 to_number(cells[4], &n) && to_number(cells[5], &elements) &&
                 to_number(cells[6], &ms);
    c->integer = str_starts(cells[3], STR("int"));
    c->bytes = elements * (c->integer ? 1 : str_eq(cells[3], STR("float")) ? 4 : 2);
    c->n = whole_u32(n);
    row->seconds = ms * 1e-3;
}

static halley_status read_lines(str rest, bool products, score_csv_visit *visit,
                                void *context, halley_error *err)
{
    str line;
    for (uint32_t number = 2; str_next(&rest, '\n', &line); number++) {
        str cells[COLUMNS + 1], cell;
        uint32_t n = 0;
        if (str_trim(line).n == 0)
            continue;
        while (n <= COLUMNS && str_next(&line, ',', &cell))
            cells[n++] = str_trim(cell);
        if (n != COLUMNS) {
            error_set(err, HALLEY_EFORMAT, "%u cells where the first line has %d", n,
                      COLUMNS);
            error_at_line(err, number, 1);
            return HALLEY_EFORMAT;
        }
        score_csv_row row = {.product = products,
                             .system_name = cells[0],
                             .system = find_system(cells[0])};
        if (products)
            read_product(&row, cells);
        else
            read_collective(&row, cells);
        TRY(visit(context, &row, err));
    }
    return HALLEY_OK;
}

halley_status score_csv_read(const char *path, score_csv_visit *visit, void *context,
                             halley_error *err)
{
    file_input in;
    TRY(file_input_open(&in, path, err));
    str rest = {(const char *)in.at, in.n}, head = {"", 0};
    str_next(&rest, '\n', &head);
    head = str_trim(head);
    const bool products = str_eq(head, STR("system,source,dtype,m,n,k,latency_ms"));
    const bool collectives = str_eq(
        head, STR("system,nccl,op,dtype,num_gpus,message_size_elements,latency_ms"));
    halley_status status;
    if (!products && !collectives)
        status = error_set(err, HALLEY_EFORMAT,
                           "the first line names neither matmuls "
                           "(system,source,dtype,m,n,k,latency_ms) nor collectives "
                           "(system,nccl,op,dtype,num_gpus,message_size_elements,"
                           "latency_ms)");
    else
        status = read_lines(rest, products, visit, context, err);
    file_input_close(&in);
    if (status != HALLEY_OK)
        error_at_file(err, path);
    return status;
}
