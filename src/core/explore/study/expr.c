/*
 * Expressions without recursion. Dijkstra's shunting yard turns the text into steps in
 * reverse Polish order, and a stack of fixed depth runs them. Both depths are limited
 * when the text is read, so running cannot overflow.
 */
#include "explore/study/expr.h"

#include "base/array.h"
#include "base/number/number.h"
#include "explore/metric.h"
#include "explore/study/dims.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <string.h>

enum { MOST_STEPS = 256, MOST_DEPTH = 64 };

typedef enum op_code {
    OP_NUMBER,
    OP_PARAM,
    OP_RESULT,
    OP_WORD, /* a name that only a comparison can resolve; never run */
    OP_OPEN,
    OP_OR,
    OP_AND,
    OP_NOT,
    OP_LESS,
    OP_LESS_EQUAL,
    OP_GREATER,
    OP_GREATER_EQUAL,
    OP_EQUAL,
    OP_UNEQUAL,
    OP_ADD,
    OP_SUBTRACT,
    OP_MULTIPLY,
    OP_DIVIDE,
    OP_REMAINDER,
    OP_MINUS, /* unary */
    OP_POWER,
    OP_MIN,
    OP_MAX,
    OP_ABS,
    OP_SQRT,
    OP_LOG,
    OP_LOG2,
    OP_FLOOR,
    OP_CEIL
} op_code;

typedef struct op_row {
    const char *text;
    op_code op;
    int level; /* higher levels bind tighter */
    int arity;
} op_row;

/* Longer spellings first. */
static const op_row ops[] = {
    {"<=", OP_LESS_EQUAL, 4, 2}, {">=", OP_GREATER_EQUAL, 4, 2}, {"==", OP_EQUAL, 4, 2},
    {"!=", OP_UNEQUAL, 4, 2},    {"<", OP_LESS, 4, 2},           {">", OP_GREATER, 4, 2},
    {"+", OP_ADD, 5, 2},         {"-", OP_SUBTRACT, 5, 2},       {"*", OP_MULTIPLY, 6, 2},
    {"/", OP_DIVIDE, 6, 2},      {"%", OP_REMAINDER, 6, 2},      {"^", OP_POWER, 8, 2},
};
static const op_row words[] = {
    {"or", OP_OR, 1, 2},       {"and", OP_AND, 2, 2},   {"not", OP_NOT, 3, 1},
    {"min", OP_MIN, 9, 2},     {"max", OP_MAX, 9, 2},   {"abs", OP_ABS, 9, 1},
    {"sqrt", OP_SQRT, 9, 1},   {"log", OP_LOG, 9, 1},   {"log2", OP_LOG2, 9, 1},
    {"floor", OP_FLOOR, 9, 1}, {"ceil", OP_CEIL, 9, 1},
};
static const op_row unary_minus = {"-", OP_MINUS, 7, 1};
static const op_row opening = {"(", OP_OPEN, 0, 0};

typedef struct compiler {
    str text;
    size_t at;
    bool wants_value; /* an operand must come next, not an operator */
    const op_row *pending[MOST_DEPTH];
    size_t n_pending;
    expr_step steps[MOST_STEPS];
    str names[MOST_STEPS]; /* of OP_WORD steps */
    uint32_t n;
    int depth;                         /* number of values on the stack at this point
                                          of a run */
    explore_dims dims[MOST_DEPTH + 1]; /* dimension of each of them */
    bool uses_results;
    halley_error *err;
} compiler;

static halley_status refuse_expression(compiler *c, const char *what)
{
    return error_set(c->err, HALLEY_EINVAL, "expression \"%.*s\": %s at column %zu",
                     STR_ARG(c->text), what, c->at + 1);
}

static halley_status push_step(compiler *c, expr_step step, explore_dims dims)
{
    assert(c != NULL);
    if (c->n == MOST_STEPS || c->depth >= MOST_DEPTH)
        return refuse_expression(c, "too long or too deep");
    c->steps[c->n++] = step;
    c->dims[c->depth++] = dims;
    return HALLEY_OK;
}

/* Resolve plan.recompute == full: the word must be one of the parameter's names. */
static bool resolve_word(compiler *c)
{
    if (c->n < 2)
        return false;
    expr_step *a = &c->steps[c->n - 2], *b = &c->steps[c->n - 1];
    const bool second = b->op == OP_WORD;
    expr_step *word = second ? b : a, *param = second ? a : b;
    if (word->op != OP_WORD)
        return true;
    if (param->op != OP_PARAM || !param->param.param.names)
        return false;
    const str name = c->names[word - c->steps];
    for (uint32_t i = 0; param->param.param.names[i]; i++) {
        if (!str_eq(name, str_from(param->param.param.names[i])))
            continue;
        *word = (expr_step){.op = OP_NUMBER, .number = i};
        return true;
    }
    return false;
}

static halley_status unknown_name(compiler *c, str name)
{
    char nearest[EXPLORE_PATH] = "";
    const char *near = NULL;
    explore_ref ref;
    explore_ref_find(&ref, name, nearest);
    explore_metric_find(name, &near);
    if (nearest[0] != '\0')
        near = nearest;
    return error_set(c->err, HALLEY_EINVAL,
                     "expression \"%.*s\": no parameter or result \"%.*s\"%s%s%s",
                     STR_ARG(c->text), STR_ARG(name), near ? ", did you mean \"" : "",
                     near ? near : "", near ? "\"?" : "");
}

static halley_status refuse_units(const compiler *c, const op_row *row)
{
    char a[64], b[64];
    explore_dims_unit(a, sizeof a, c->dims[c->depth - 2]);
    explore_dims_unit(b, sizeof b, c->dims[c->depth - 1]);
    return error_set(c->err, HALLEY_EINVAL,
                     "expression \"%.*s\": the left side of %s is %s, the right side %s",
                     STR_ARG(c->text), row->text, a, b);
}

/* The dimension of a power; the exponent must be written as a number. */
static explore_dims raise_dims(const compiler *c)
{
    const expr_step *exponent = &c->steps[c->n - 1];
    return exponent->op == OP_NUMBER
               ? explore_dims_power(c->dims[c->depth - 2], exponent->number)
               : explore_dims_any;
}

/* The dimension of an operator's result; operands that are compared or added must have
 * the same. */
static halley_status find_dims(const compiler *c, const op_row *row, explore_dims *out)
{
    assert(row != NULL && out != NULL);
    const explore_dims a = c->dims[c->depth - row->arity];
    const explore_dims b = c->dims[c->depth - 1];
    *out = (explore_dims){0};
    switch (row->op) {
    case OP_MULTIPLY:
    case OP_DIVIDE:
        *out = explore_dims_multiply(a, b, row->op == OP_MULTIPLY ? 1 : -1);
        return HALLEY_OK;
    case OP_POWER:
        *out = raise_dims(c);
        return HALLEY_OK;
    case OP_SQRT:
        *out = explore_dims_power(a, 0.5);
        return HALLEY_OK;
    case OP_MINUS:
    case OP_ABS:
    case OP_FLOOR:
    case OP_CEIL:
        *out = a;
        return HALLEY_OK;
    case OP_OR:
    case OP_AND:
    case OP_NOT:
    case OP_LOG:
    case OP_LOG2:
        return HALLEY_OK;
    default:
        break;
    }
    if (!explore_dims_join(out, a, b))
        return refuse_units(c, row);
    const bool compares = row->op >= OP_LESS && row->op <= OP_UNEQUAL;
    if (compares)
        *out = (explore_dims){0};
    return HALLEY_OK;
}

static halley_status emit_operator(compiler *c, const op_row *row)
{
    assert(row != NULL);
    if (c->depth < row->arity)
        return refuse_expression(c, "something is missing");
    if ((row->op == OP_EQUAL || row->op == OP_UNEQUAL) && !resolve_word(c)) {
        const uint32_t at = c->steps[c->n - 1].op == OP_WORD ? c->n - 1 : c->n - 2;
        return unknown_name(c, c->names[at]);
    }
    explore_dims dims;
    TRY(find_dims(c, row, &dims));
    c->depth -= row->arity;
    return push_step(c, (expr_step){.op = (uint8_t)row->op}, dims);
}

static halley_status push_operator(compiler *c, const op_row *row)
{
    const bool prefix = row->arity == 1 || row->level == 9;
    while (!prefix && c->n_pending && c->pending[c->n_pending - 1]->op != OP_OPEN) {
        const op_row *top = c->pending[c->n_pending - 1];
        if (top->level < row->level || (top->level == row->level && row->op == OP_POWER))
            break;
        TRY(emit_operator(c, top));
        c->n_pending--;
    }
    if (c->n_pending == MOST_DEPTH)
        return refuse_expression(c, "too deep");
    c->pending[c->n_pending++] = row;
    c->wants_value = true;
    return HALLEY_OK;
}

/* Pop operators back to the parenthesis; `comma` keeps it open. */
static halley_status unwind_operators(compiler *c, bool comma)
{
    while (c->n_pending && c->pending[c->n_pending - 1]->op != OP_OPEN) {
        TRY(emit_operator(c, c->pending[--c->n_pending]));
    }
    if (!c->n_pending)
        return refuse_expression(c, comma ? "a comma outside a function"
                                          : "')' without '('");
    if (comma)
        return HALLEY_OK;
    c->n_pending--;
    if (c->n_pending && c->pending[c->n_pending - 1]->level == 9)
        return emit_operator(c, c->pending[--c->n_pending]);
    return HALLEY_OK;
}

static char peek_char(const compiler *c, size_t ahead)
{
    return c->at + ahead < c->text.n ? c->text.at[c->at + ahead] : '\0';
}

static void skip_space(compiler *c)
{
    while (isspace((unsigned char)peek_char(c, 0)))
        c->at++;
}

/* Read a number and its unit, which may contain one "/": "GB/s". */
static halley_status read_number(compiler *c)
{
    const size_t from = c->at;
    while (isdigit((unsigned char)peek_char(c, 0)) || peek_char(c, 0) == '.' ||
           ((peek_char(c, 0) == 'e' || peek_char(c, 0) == 'E') &&
            (isdigit((unsigned char)peek_char(c, 1)) ||
             ((peek_char(c, 1) == '-' || peek_char(c, 1) == '+') &&
              isdigit((unsigned char)peek_char(c, 2)))))) {
        c->at += (peek_char(c, 0) == 'e' || peek_char(c, 0) == 'E') ? 2 : 1;
    }
    const size_t digits = c->at;
    skip_space(c);
    size_t end = c->at;
    while (end < c->text.n &&
           (isalpha((unsigned char)c->text.at[end]) ||
            (end > c->at && c->text.at[end] == '/' && end + 1 < c->text.n &&
             isalpha((unsigned char)c->text.at[end + 1]))))
        end++;
    double number = 0;
    const str with_unit = {c->text.at + from, end - from};
    for (int kind = 1; end > c->at && kind < UNITS_N_KINDS; kind++) {
        if (units_parse(&number, with_unit, (units_kind)kind, NULL) != HALLEY_OK)
            continue;
        c->at = end;
        const explore_dims dims = explore_dims_of((units_kind)kind);
        return push_step(c, (expr_step){.op = OP_NUMBER, .number = number}, dims);
    }
    c->at = digits;
    if (!number_read((str){c->text.at + from, digits - from}, &number))
        return refuse_expression(c, "a number that is none");
    return push_step(c, (expr_step){.op = OP_NUMBER, .number = number}, explore_dims_any);
}

static bool in_name(char ch)
{
    return isalnum((unsigned char)ch) || ch == '_' || ch == '.';
}

/* A dash between two alphabetic characters belongs to the name: "step-time". */
static str read_name(compiler *c)
{
    const size_t from = c->at;
    for (;;) {
        const char ch = peek_char(c, 0), next = peek_char(c, 1);
        if (!in_name(ch) && !((ch == '-' || ch == '/') && isalpha((unsigned char)next)))
            break;
        c->at++;
        if (ch == '/' && !str_eq((str){c->text.at + from, c->at - from}, STR("tokens/")))
            return (c->at--, (str){c->text.at + from, c->at - from});
    }
    return (str){c->text.at + from, c->at - from};
}

static halley_status read_word(compiler *c)
{
    const str name = read_name(c);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const op_row *row = &words[i];
        if (!str_eq(name, str_from(row->text)))
            continue;
        if (c->wants_value != (row->arity == 1 || row->level == 9))
            return refuse_expression(c, "an operator out of place");
        skip_space(c);
        if (row->level == 9 && peek_char(c, 0) != '(')
            return refuse_expression(c, "a function needs '('");
        return push_operator(c, row);
    }
    if (!c->wants_value)
        return refuse_expression(c, "an operator is missing");
    c->wants_value = false;
    expr_step step = {.op = OP_PARAM};
    if (explore_ref_find(&step.param, name, NULL))
        return push_step(c, step,
                         step.param.param.kind == PARAM_CONSTANT
                             ? explore_dims_any
                             : explore_dims_of(step.param.param.unit));
    step.metric = explore_metric_find(name, NULL);
    if (step.metric < HALLEY_N_METRICS) {
        step.op = OP_RESULT;
        c->uses_results = true;
        return push_step(c, step, explore_metric_dims(step.metric));
    }
    step.op = OP_WORD;
    if (c->n < MOST_STEPS)
        c->names[c->n] = name;
    return push_step(c, step, explore_dims_any);
}

static halley_status read_symbol(compiler *c)
{
    const char ch = peek_char(c, 0);
    if (ch == '(') {
        if (!c->wants_value || c->n_pending == MOST_DEPTH)
            return refuse_expression(c, "'(' out of place");
        c->at++;
        c->pending[c->n_pending++] = &opening;
        return HALLEY_OK;
    }
    if (ch == ')' || ch == ',') {
        if (c->wants_value)
            return refuse_expression(c, "something is missing");
        c->wants_value = ch == ',';
        TRY(unwind_operators(c, ch == ','));
        c->at++;
        return HALLEY_OK;
    }
    if (c->wants_value && ch == '-') {
        c->at++;
        return push_operator(c, &unary_minus);
    }
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        const size_t n = strlen(ops[i].text);
        if (!str_starts((str){c->text.at + c->at, c->text.n - c->at},
                        str_from(ops[i].text)))
            continue;
        if (c->wants_value)
            return refuse_expression(c, "something is missing");
        c->at += n;
        return push_operator(c, &ops[i]);
    }
    return refuse_expression(c, "a character that means nothing");
}

static halley_status compile_expression(compiler *c)
{
    for (skip_space(c); c->at < c->text.n; skip_space(c)) {
        const char ch = peek_char(c, 0);
        if (isdigit((unsigned char)ch) || (ch == '.' && c->wants_value)) {
            if (!c->wants_value)
                return refuse_expression(c, "an operator is missing");
            c->wants_value = false;
            TRY(read_number(c));
        } else if (isalpha((unsigned char)ch)) {
            TRY(read_word(c));
        } else {
            TRY(read_symbol(c));
        }
    }
    if (c->wants_value)
        return refuse_expression(c, "something is missing");
    while (c->n_pending) {
        if (c->pending[c->n_pending - 1]->op == OP_OPEN)
            return refuse_expression(c, "'(' without ')'");
        TRY(emit_operator(c, c->pending[--c->n_pending]));
    }
    for (uint32_t i = 0; i < c->n; i++) {
        if (c->steps[i].op == OP_WORD)
            return unknown_name(c, c->names[i]);
        if (c->steps[i].op == OP_PARAM && explore_param_whole(&c->steps[i].param.param))
            return refuse_expression(c, "a whole model, cluster or stack has no number");
    }
    return c->depth == 1 ? HALLEY_OK : refuse_expression(c, "more than one value");
}

halley_status explore_expr_compile(explore_expr *out, arena *memory, str text,
                                   halley_error *err)
{
    assert(memory != NULL);
    assert(text.at != NULL);
    compiler *c = mem_array_zero(1, sizeof *c);
    if (!c)
        return error_nomem(err);
    *c = (compiler){.text = text, .wants_value = true, .err = err};
    halley_status status = compile_expression(c);
    if (status == HALLEY_OK) {
        *out = (explore_expr){.n = c->n, .uses_results = c->uses_results};
        out->text = arena_copy(memory, text);
        out->steps = arena_array(memory, c->n, sizeof *out->steps);
        if (out->text && out->steps)
            memcpy(out->steps, c->steps, c->n * sizeof *out->steps);
        else
            status = error_nomem(err);
    }
    free(c);
    assert(status != HALLEY_OK || out->n > 0);
    return status;
}

static double apply_two(op_code op, double a, double b)
{
    switch (op) {
    case OP_OR:
        return a != 0 || b != 0;
    case OP_AND:
        return a != 0 && b != 0;
    case OP_LESS:
        return a < b;
    case OP_LESS_EQUAL:
        return a <= b;
    case OP_GREATER:
        return a > b;
    case OP_GREATER_EQUAL:
        return a >= b;
    case OP_EQUAL:
        return a == b;
    case OP_UNEQUAL:
        return a != b;
    case OP_ADD:
        return a + b;
    case OP_SUBTRACT:
        return a - b;
    case OP_MULTIPLY:
        return a * b;
    case OP_DIVIDE:
        return b == 0 ? NAN : a / b;
    case OP_REMAINDER:
        return b == 0 ? NAN : fmod(a, b);
    case OP_POWER:
        return pow(a, b);
    case OP_MIN:
        return fmin(a, b);
    default:
        return fmax(a, b);
    }
}

static double apply_one(op_code op, double a)
{
    switch (op) {
    case OP_NOT:
        return a == 0;
    case OP_MINUS:
        return -a;
    case OP_ABS:
        return fabs(a);
    case OP_SQRT:
        return sqrt(a);
    case OP_LOG:
        return log(a);
    case OP_LOG2:
        return log2(a);
    case OP_FLOOR:
        return floor(a);
    default:
        return ceil(a);
    }
}

static bool takes_one(op_code op)
{
    return op == OP_NOT || op == OP_MINUS || op >= OP_ABS;
}

/* Run the first `n_steps` steps; false if a value is not finite. */
static bool run_steps(double stack[MOST_DEPTH + 1], const explore_expr *expr,
                      uint32_t n_steps, const explore_design *design,
                      const double *metrics)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < n_steps; i++) {
        const expr_step *s = &expr->steps[i];
        const op_code op = (op_code)s->op;
        if (op == OP_NUMBER) {
            stack[n++] = s->number;
        } else if (op == OP_PARAM) {
            stack[n++] = explore_get(design, &s->param);
        } else if (op == OP_RESULT) {
            stack[n++] = metrics ? metrics[s->metric] : NAN;
        } else if (takes_one(op)) {
            stack[n - 1] = apply_one(op, stack[n - 1]);
        } else {
            n--;
            stack[n - 1] = apply_two(op, stack[n - 1], stack[n]);
        }
        if (!isfinite(stack[n - 1]))
            return false;
    }
    return true;
}

bool explore_expr_eval(double *out, const explore_expr *expr,
                       const explore_design *design, const double *metrics)
{
    assert(expr->n > 0);
    assert(metrics != NULL || !expr->uses_results);
    double stack[MOST_DEPTH + 1] = {0}; /* zeroed, so that no value is undefined */
    if (!run_steps(stack, expr, expr->n, design, metrics))
        return false;
    *out = stack[0];
    return true;
}

bool explore_expr_compare(explore_comparison *out, const explore_expr *expr,
                          const explore_design *design, const double *metrics)
{
    assert(expr->n > 0 && metrics != NULL);
    const op_code op = (op_code)expr->steps[expr->n - 1].op;
    double stack[MOST_DEPTH + 1] = {0};
    if (op < OP_LESS || op > OP_UNEQUAL ||
        !run_steps(stack, expr, expr->n - 1, design, metrics))
        return false;
    const bool is_result = expr->steps[0].op == OP_RESULT && expr->n == 3;
    *out = (explore_comparison){.got = stack[0],
                                .limit = stack[1],
                                .metric =
                                    is_result ? expr->steps[0].metric : HALLEY_N_METRICS};
    return true;
}

bool explore_expr_uses_money(const explore_expr *expr)
{
    for (uint32_t i = 0; i < expr->n; i++)
        if (expr->steps[i].op == OP_RESULT &&
            explore_metric_unit(expr->steps[i].metric) == UNITS_MONEY)
            return true;
    return false;
}
