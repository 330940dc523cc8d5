/*
 * Work from input shapes alone.
 *
 * Profilers record the dimensions and types of inputs as lists with one item per
 * argument. The formulas of work.c need tensors in the form of an execution trace. So
 * each input is converted to such a tuple, and the output is inferred.
 */
#include "recording/record/shapes.h"

#include "recording/comm.h"
#include "recording/lit.h"

/* One tensor among the inputs. */
typedef struct rec_tensor {
    uint64_t dims[LIT_MAX_DIMS];
    size_t n_dims;
    uint64_t n_elements, element_bytes;
} rec_tensor;

/* Read input i if it is a tensor of a known type. */
static bool read_tensor(rec_tensor *t, str dims, str type)
{
    str name;
    if (!lit_text(type, &name) || !lit_dims(dims, t->dims, &t->n_dims))
        return false;
    t->element_bytes = comm_element_size(name);
    t->n_elements = 1;
    for (size_t i = 0; i < t->n_dims; i++)
        if (__builtin_mul_overflow(t->n_elements, t->dims[i], &t->n_elements))
            return false;
    return t->element_bytes > 0;
}

/* Walk over the inputs; false at the end. */
typedef struct input_walk {
    lit_list dims, types;
} input_walk;

static bool open_inputs(input_walk *w, const record *r, const rec_detail *d)
{
    return d->dims != REC_NONE && d->types != REC_NONE &&
           lit_open(&w->dims, rec_text(r, d->dims)) &&
           lit_open(&w->types, rec_text(r, d->types));
}

bool rec_input_bytes(uint64_t *out, const record *r, const rec_detail *d)
{
    input_walk w;
    str dims, type;
    bool any = false;
    *out = 0;
    if (!open_inputs(&w, r, d))
        return false;
    while (lit_next(&w.dims, &dims) && lit_next(&w.types, &type)) {
        rec_tensor t;
        if (!read_tensor(&t, dims, type))
            continue;
        any = true;
        *out += t.n_elements * t.element_bytes;
    }
    return any;
}

static void print_tensor(strbuf *to, uint64_t n_elements, uint64_t element_bytes)
{
    strbuf_printf(to, "%s[0, 0, 0, %llu, %llu, 'cuda']", to->n > 1 ? ", " : "",
                  (unsigned long long)n_elements, (unsigned long long)element_bytes);
}

/* aten::mm, addmm, baddbmm, _scaled_mm; but not "comm" or "lgamma". */
static bool has_word_mm(str name)
{
    for (size_t i = 0; i + 2 <= name.n; i++) {
        const char before = i > 0 ? name.at[i - 1] : '_';
        const char after = i + 2 < name.n ? name.at[i + 2] : '_';
        const bool begins =
            before == '_' || before == ':' || before == 'b' || before == 'd';
        if (name.at[i] == 'm' && name.at[i + 1] == 'm' && begins &&
            !(after >= 'a' && after <= 'z'))
            return true;
    }
    return false;
}

static bool is_matmul(str name)
{
    return has_word_mm(name) || str_contains(name, STR("matmul"));
}

/* The number of elements of a result. For a matmul it is the rows of a times the columns
 * of b, otherwise `largest`. */
static uint64_t count_outputs(str name, const rec_tensor *t, size_t n, uint64_t largest)
{
    const size_t first = str_contains(name, STR("add")) ? 1 : 0;
    const bool linear = str_contains(name, STR("linear"));
    if ((!is_matmul(name) && !linear) || n < first + 2)
        return largest;
    const rec_tensor *const a = &t[first], *const b = &t[first + 1];
    if (a->n_dims < 1 || b->n_dims < 1 || a->dims[a->n_dims - 1] == 0)
        return largest;
    const uint64_t columns = linear ? b->dims[0] : b->dims[b->n_dims - 1];
    uint64_t n_elements = a->n_elements / a->dims[a->n_dims - 1];
    if (__builtin_mul_overflow(n_elements, columns, &n_elements))
        return largest;
    return n_elements;
}

enum { MAX_INPUTS = 16 };

bool rec_host_work(work *out, const record *r, const rec_host *event)
{
    const str name = rec_text(r, event->name);
    rec_tensor tensors[MAX_INPUTS];
    size_t n = 0;
    uint64_t largest = 0, bytes = 0;
    input_walk w;
    str dims, type;
    const rec_detail *const d = rec_host_detail(r, event);
    if (d == NULL || !open_inputs(&w, r, d) ||
        (str_contains(name, STR("conv")) && !str_contains(name, STR("backward"))))
        return false;
    strbuf values = {0}, made = {0};
    strbuf_add_char(&values, '[');
    while (n < MAX_INPUTS && lit_next(&w.dims, &dims) && lit_next(&w.types, &type)) {
        if (!read_tensor(&tensors[n], dims, type))
            continue;
        print_tensor(&values, tensors[n].n_elements, tensors[n].element_bytes);
        if (tensors[n].n_elements > largest) {
            largest = tensors[n].n_elements;
            bytes = tensors[n].element_bytes;
        }
        n++;
    }
    strbuf_add_char(&values, ']');
    strbuf_add_char(&made, '[');
    print_tensor(&made, count_outputs(name, tensors, n, largest), bytes);
    strbuf_add_char(&made, ']');
    const host_io io = {.values = strbuf_str(&values),
                        .shapes = rec_text(r, d->dims),
                        .types = rec_text(r, d->types),
                        .out_values = strbuf_str(&made)};
    const bool ok = n > 0 && !values.failed && !made.failed && work_of(out, name, &io);
    strbuf_fini(&values);
    strbuf_fini(&made);
    return ok;
}

/* The shape of x[…, m, k] times y, from the last two dimensions. The dimensions of x
 * before them multiply the number of matmuls if y is batched, and m otherwise. */
static bool set_matmul_shape(uint64_t shape[4], const rec_tensor *x, const rec_tensor *y,
                             bool linear)
{
    if (x->n_dims < 2 || y->n_dims < 2)
        return false;
    const bool batched = y->n_dims > 2;
    shape[2] = x->dims[x->n_dims - 1];
    shape[1] = linear ? y->dims[0] : y->dims[y->n_dims - 1];
    shape[0] = x->dims[x->n_dims - 2];
    shape[3] = 1;
    for (size_t i = 0; i + 2 < x->n_dims; i++)
        shape[batched ? 3 : 0] *= x->dims[i];
    return true;
}

bool rec_matmul_shape(uint64_t shape[4], const record *r, const rec_host *event)
{
    const str name = rec_text(r, event->name);
    const bool linear = str_contains(name, STR("linear"));
    const size_t first = str_contains(name, STR("add")) ? 1 : 0;
    rec_tensor tensors[3];
    input_walk w;
    str dims, type;
    size_t n = 0;
    const rec_detail *const d = rec_host_detail(r, event);
    if ((!is_matmul(name) && !linear) || d == NULL || !open_inputs(&w, r, d))
        return false;
    while (n < 3 && lit_next(&w.dims, &dims) && lit_next(&w.types, &type)) {
        if (!read_tensor(&tensors[n], dims, type))
            break;
        n++;
    }
    return n >= first + 2 &&
           set_matmul_shape(shape, &tensors[first], &tensors[first + 1], linear);
}
