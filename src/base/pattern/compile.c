/*
 * Compile an expression to a program by recursive descent, one function per precedence.
 */
#include "base/pattern/program.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

typedef struct compiler {
    pattern_program *program;
    str text;
    size_t at;
    uint32_t depth;
    const char *problem; /* the first one; NULL = none so far */
    bool no_memory, is_too_large;
} compiler;

static bool is_stopped(const compiler *c)
{
    return c->problem != NULL || c->no_memory || c->is_too_large;
}

static void refuse(compiler *c, const char *problem)
{
    if (!is_stopped(c))
        c->problem = problem;
}

static bool is_next_byte(const compiler *c, char byte)
{
    return c->at < c->text.n && c->text.at[c->at] == byte;
}

static size_t count_steps(const compiler *c)
{
    return c->program->steps.n;
}

/* Make room for n more steps; a program that would become too large stops the
 * compiler. */
static bool has_room(compiler *c, size_t n)
{
    assert(count_steps(c) <= PATTERN_MOST_STEPS);
    if (is_stopped(c))
        return false;
    c->is_too_large = n > PATTERN_MOST_STEPS - count_steps(c);
    if (!c->is_too_large)
        c->no_memory = !array_reserve(&c->program->steps, n);
    return !is_stopped(c);
}

static void emit_step(compiler *c, pattern_op op, ptrdiff_t a, ptrdiff_t b)
{
    if (has_room(c, 1))
        c->program->steps.at[c->program->steps.n++] =
            (pattern_step){(uint16_t)op, (int16_t)a, (int16_t)b};
}

/* Insert a step before those from `start` on. No jump from before `start` leads past it,
 * so relative jumps stay correct. */
static void insert_step(compiler *c, size_t start, pattern_op op, ptrdiff_t a,
                        ptrdiff_t b)
{
    assert(start <= count_steps(c));
    if (!has_room(c, 1))
        return;
    pattern_step *const at = c->program->steps.at + start;
    memmove(at + 1, at, (count_steps(c) - start) * sizeof *at);
    *at = (pattern_step){(uint16_t)op, (int16_t)a, (int16_t)b};
    c->program->steps.n++;
}

static void emit_class(compiler *c, const pattern_class *class)
{
    const size_t index = c->program->classes.n;
    if (is_stopped(c))
        return;
    assert(index <= PATTERN_MOST_STEPS);
    c->no_memory = !array_push(&c->program->classes, *class);
    emit_step(c, PATTERN_CLASS, (ptrdiff_t)index, 0);
}

static void add_bytes(pattern_class *class, uint32_t first, uint32_t last)
{
    for (uint32_t i = first; i <= last; i++)
        class->bits[i / 64] |= UINT64_C(1) << (i % 64);
}

static void invert_class(pattern_class *class)
{
    for (size_t i = 0; i < 4; i++)
        class->bits[i] = ~class->bits[i];
}

/* Only for ASCII, where these functions are the same in every locale. */
static bool add_named(pattern_class *class, str name)
{
    static const struct {
        const char *name;
        int (*is_member)(int byte);
    } rows[] = {{"alpha", isalpha}, {"alnum", isalnum},   {"upper", isupper},
                {"lower", islower}, {"digit", isdigit},   {"space", isspace},
                {"blank", isblank}, {"xdigit", isxdigit}, {"cntrl", iscntrl},
                {"graph", isgraph}, {"print", isprint},   {"punct", ispunct}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        if (!str_eq(name, str_from(rows[k].name)))
            continue;
        for (uint32_t i = 0; i < 128; i++)
            if (rows[k].is_member((int)i))
                add_bytes(class, i, i);
        return true;
    }
    return false;
}

/* [:alpha:] inside brackets; the position is after its first two bytes. */
static void compile_named(compiler *c, pattern_class *class)
{
    const size_t start = c->at;
    while (c->at < c->text.n && c->text.at[c->at] != ':')
        c->at++;
    const str name = {c->text.at + start, c->at - start};
    c->at++;
    if (!is_next_byte(c, ']') || !add_named(class, name))
        refuse(c, "[: :] needs the name of a class, for example [[:alpha:]]");
    c->at++;
}

static void compile_range(compiler *c, pattern_class *class)
{
    const uint8_t first = (uint8_t)c->text.at[c->at++];
    uint8_t last = first;
    if (is_next_byte(c, '-') && c->at + 1 < c->text.n && c->text.at[c->at + 1] != ']') {
        last = (uint8_t)c->text.at[c->at + 1];
        c->at += 2;
    }
    if (last < first)
        refuse(c, "a range in [] must rise");
    add_bytes(class, first, last);
}

/* What follows "[". As in POSIX, a backslash is no escape there. */
static void compile_brackets(compiler *c)
{
    pattern_class class = {0};
    const bool is_inverted = is_next_byte(c, '^');
    c->at += is_inverted;
    for (bool is_first = true; !is_stopped(c); is_first = false) {
        if (c->at >= c->text.n) {
            refuse(c, "\"[\" has no \"]\"");
        } else if (is_next_byte(c, ']') && !is_first) {
            break;
        } else if (is_next_byte(c, '[') && c->at + 1 < c->text.n &&
                   strchr(":.=", c->text.at[c->at + 1]) != NULL &&
                   c->text.at[c->at + 1] != '\0') {
            if (c->text.at[c->at + 1] != ':')
                refuse(c, "[. .] and [= =] are not supported");
            c->at += 2;
            compile_named(c, &class);
        } else {
            compile_range(c, &class);
        }
    }
    c->at++;
    if (is_inverted)
        invert_class(&class);
    emit_class(c, &class);
}

/* What follows a backslash. */
static void compile_escape(compiler *c)
{
    pattern_class class = {0};
    if (c->at >= c->text.n) {
        refuse(c, "a backslash at the end escapes nothing");
        return;
    }
    const char byte = c->text.at[c->at++];
    const char kind = (char)(byte | 0x20);
    if (kind == 'w' && isalpha((unsigned char)byte)) {
        add_named(&class, STR("alnum"));
        add_bytes(&class, '_', '_');
    } else if (kind == 's' && isalpha((unsigned char)byte)) {
        add_named(&class, STR("space"));
    } else if (kind == 'd' && isalpha((unsigned char)byte)) {
        add_named(&class, STR("digit"));
    } else if (isalnum((unsigned char)byte)) {
        refuse(c, "this escape is not supported; the supported ones are \\w \\s \\d and "
                  "\\W \\S \\D");
        return;
    } else {
        emit_step(c, PATTERN_BYTE, (uint8_t)byte, 0);
        return;
    }
    if (byte != kind)
        invert_class(&class);
    emit_class(c, &class);
}

static void compile_alternatives(compiler *c);

static void compile_group(compiler *c)
{
    if (c->depth == PATTERN_MOST_NESTED) {
        refuse(c, "groups are nested more than 64 deep");
        return;
    }
    c->depth++;
    compile_alternatives(c);
    c->depth--;
    if (!is_next_byte(c, ')'))
        refuse(c, "\"(\" has no \")\"");
    c->at++;
}

/* Compile one unit that a quantifier may repeat. Returns false if it may not be
 * repeated. */
static bool compile_unit(compiler *c)
{
    const char byte = c->text.at[c->at++];
    pattern_class all = {0};
    switch (byte) {
    case '(':
        compile_group(c);
        return true;
    case '[':
        compile_brackets(c);
        return true;
    case '\\':
        compile_escape(c);
        return true;
    case '.':
        invert_class(&all);
        emit_class(c, &all);
        return true;
    case '^':
        emit_step(c, PATTERN_START, 0, 0);
        return false;
    case '$':
        emit_step(c, PATTERN_END, 0, 0);
        return false;
    case '*':
    case '+':
    case '?':
    case '{':
        c->at--;
        refuse(c, "there is nothing to repeat");
        return false;
    default:
        emit_step(c, PATTERN_BYTE, (uint8_t)byte, 0);
        return true;
    }
}

/* A number of at most PATTERN_MOST_REPEATS; `without` if there are no digits. */
static uint32_t read_repeats(compiler *c, uint32_t without)
{
    uint32_t value = 0;
    const size_t start = c->at;
    for (; c->at < c->text.n && isdigit((unsigned char)c->text.at[c->at]); c->at++) {
        value = value * 10 + (uint32_t)(c->text.at[c->at] - '0');
        if (value > PATTERN_MOST_REPEATS) {
            refuse(c, "a repeat count is at most 255");
            value = PATTERN_MOST_REPEATS;
        }
    }
    return c->at == start ? without : value;
}

/* Append steps [start, start + n) once more. */
static void copy_steps(compiler *c, size_t start, size_t n)
{
    if (!has_room(c, n) || n == 0)
        return;
    pattern_step *const at = c->program->steps.at;
    memcpy(at + count_steps(c), at + start, n * sizeof *at);
    c->program->steps.n += n;
}

static void repeat_any(compiler *c, size_t start)
{
    const ptrdiff_t n = (ptrdiff_t)(count_steps(c) - start);
    insert_step(c, start, PATTERN_SPLIT, 1, n + 2);
    emit_step(c, PATTERN_JUMP, -n - 1, 0);
}

static void repeat_some(compiler *c, size_t start)
{
    const ptrdiff_t n = (ptrdiff_t)(count_steps(c) - start);
    emit_step(c, PATTERN_SPLIT, -n, 1);
}

static void repeat_maybe(compiler *c, size_t start)
{
    const ptrdiff_t n = (ptrdiff_t)(count_steps(c) - start);
    insert_step(c, start, PATTERN_SPLIT, 1, n + 1);
}

enum { UNBOUNDED = PATTERN_MOST_REPEATS + 1 };

/* x{least,most}: mandatory copies of x, then optional copies. */
static void repeat_counted(compiler *c, size_t start, uint32_t least, uint32_t most)
{
    const size_t n = count_steps(c) - start;
    if (most == 0) {
        c->program->steps.n = start;
        return;
    }
    if (least == 0 && most == UNBOUNDED) {
        repeat_any(c, start);
        return;
    }
    for (uint32_t i = 1; i < least; i++)
        copy_steps(c, start, n);
    if (most == UNBOUNDED) {
        repeat_some(c, count_steps(c) - n);
        return;
    }
    if (least == 0)
        repeat_maybe(c, start);
    const size_t unit = least == 0 ? start : count_steps(c);
    if (least > 0 && most > least) {
        copy_steps(c, start, n);
        repeat_maybe(c, unit);
    }
    const uint32_t done = least == 0 ? 1 : least + 1;
    for (uint32_t i = done; i < most && !is_stopped(c); i++)
        copy_steps(c, unit, n + 1);
}

static void compile_counts(compiler *c, size_t start)
{
    const size_t open = c->at;
    const uint32_t least = read_repeats(c, UNBOUNDED);
    uint32_t most = least;
    if (is_next_byte(c, ',')) {
        c->at++;
        most = read_repeats(c, UNBOUNDED);
    }
    if (least == UNBOUNDED || !is_next_byte(c, '}') || most < least) {
        c->at = open;
        refuse(c, "{} needs one count or two, {2} or {2,} or {2,5}; write \\{ for a "
                  "brace");
        return;
    }
    c->at++;
    repeat_counted(c, start, least, most);
}

static bool compile_quantifier(compiler *c, size_t start)
{
    if (c->at >= c->text.n || is_stopped(c))
        return false;
    switch (c->text.at[c->at]) {
    case '*':
        repeat_any(c, start);
        break;
    case '+':
        repeat_some(c, start);
        break;
    case '?':
        repeat_maybe(c, start);
        break;
    case '{':
        c->at++;
        compile_counts(c, start);
        return true;
    default:
        return false;
    }
    c->at++;
    return true;
}

static void compile_sequence(compiler *c)
{
    while (c->at < c->text.n && !is_stopped(c) && !is_next_byte(c, '|')) {
        if (is_next_byte(c, ')') && c->depth > 0)
            return;
        if (is_next_byte(c, ')')) {
            refuse(c, "\")\" has no \"(\"; write \\) for a parenthesis");
            return;
        }
        const size_t start = count_steps(c);
        if (compile_unit(c))
            while (compile_quantifier(c, start)) {
            }
    }
}

static void compile_alternatives(compiler *c)
{
    const size_t start = count_steps(c);
    compile_sequence(c);
    while (is_next_byte(c, '|') && !is_stopped(c)) {
        c->at++;
        const ptrdiff_t n = (ptrdiff_t)(count_steps(c) - start);
        insert_step(c, start, PATTERN_SPLIT, 1, n + 2);
        const size_t jump = count_steps(c);
        emit_step(c, PATTERN_JUMP, 0, 0);
        compile_sequence(c);
        if (!is_stopped(c))
            c->program->steps.at[jump].a = (int16_t)(count_steps(c) - jump);
    }
}

enum { MOST_SHOWN = 100 }; /* bytes of an expression in a message */

halley_status pattern_program_compile(pattern_program *program, str expression,
                                      halley_error *err)
{
    compiler c = {.program = program, .text = expression};
    compile_alternatives(&c);
    emit_step(&c, PATTERN_MATCH, 0, 0);
    if (c.no_memory)
        return error_nomem(err);
    const bool is_long = expression.n > MOST_SHOWN;
    const str shown = {expression.at, is_long ? MOST_SHOWN : expression.n};
    const char *const rest = is_long ? "..." : "";
    if (c.is_too_large)
        return error_set(err, HALLEY_ELIMIT,
                         "the expression \"%.*s%s\" repeats too much (more than %d "
                         "steps); use fewer of {}",
                         STR_ARG(shown), rest, PATTERN_MOST_STEPS);
    if (c.problem != NULL)
        return error_set(err, HALLEY_EINVAL,
                         "the expression \"%.*s%s\" is wrong at character %zu: %s",
                         STR_ARG(shown), rest,
                         c.at < expression.n ? c.at + 1 : expression.n, c.problem);
    return HALLEY_OK;
}

void pattern_program_fini(pattern_program *program)
{
    array_fini(&program->steps);
    array_fini(&program->classes);
}
