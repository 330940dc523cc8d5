/*
 * Integer arithmetic of $(( )) and the conditions of [ ], [[ ]], test and (( )). An
 * unknown operand makes its comparison undecided; `undecided && false` is still false.
 */
#include "base/number/number.h"
#include "launch/shell_state.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

/* ---- arithmetic: precedence climbing over one text ---- */
typedef struct calculator {
    shell *s;
    str rest;
    uint32_t depth;
    bool known;
} calculator;

static int64_t compute_sum(calculator *c, int level);

static void skip_shell_space(calculator *c)
{
    while (c->rest.n > 0 && (isspace((unsigned char)c->rest.at[0]) ||
                             c->rest.at[0] == '"' || c->rest.at[0] == SHELL_ELEMENT))
        c->rest = (str){c->rest.at + 1, c->rest.n - 1};
}

static int64_t compute_name(calculator *c)
{
    size_t n = 0;
    while (n < c->rest.n &&
           (isalnum((unsigned char)c->rest.at[n]) || c->rest.at[n] == '_'))
        n++;
    const str word = {c->rest.at, n};
    c->rest = (str){c->rest.at + n, c->rest.n - n};
    uint64_t value;
    if (n > 0 && str_to_u64(word, &value) && value <= INT64_MAX)
        return (int64_t)value;
    const shell_variable *v = n > 0 ? shell_variable_find(c->s, word) : NULL;
    int64_t number;
    if (v != NULL && v->is_set && str_to_i64(str_trim(v->value), &number))
        return number;
    c->known = false;
    return 0;
}

static int64_t compute_atom(calculator *c)
{
    skip_shell_space(c);
    if (c->rest.n == 0 || c->depth > SHELL_MAX_DEPTH) {
        c->known = false;
        return 0;
    }
    const char first = c->rest.at[0];
    if (first != '(' && first != '-' && first != '+' && first != '!')
        return compute_name(c);
    c->rest = (str){c->rest.at + 1, c->rest.n - 1};
    c->depth++;
    int64_t value = first == '(' ? compute_sum(c, 0) : compute_atom(c);
    c->depth--;
    if (first == '-')
        c->known = c->known && !__builtin_sub_overflow(0, value, &value);
    if (first == '!')
        value = value == 0;
    if (first == '(') {
        skip_shell_space(c);
        if (c->rest.n > 0 && c->rest.at[0] == ')')
            c->rest = (str){c->rest.at + 1, c->rest.n - 1};
        else
            c->known = false;
    }
    return value;
}

static const struct {
    str text;
    int level;
    char id;
} operators[] = {
    {{"||", 2}, 0, '|'}, {{"&&", 2}, 1, '&'}, {{"==", 2}, 2, '='}, {{"!=", 2}, 2, '!'},
    {{"<=", 2}, 3, 'l'}, {{">=", 2}, 3, 'g'}, {{"<", 1}, 3, '<'},  {{">", 1}, 3, '>'},
    {{"+", 1}, 4, '+'},  {{"-", 1}, 4, '-'},  {{"*", 1}, 5, '*'},  {{"/", 1}, 5, '/'},
    {{"%", 1}, 5, '%'},
};

static int64_t apply_operator(calculator *c, char id, int64_t a, int64_t b)
{
    int64_t out = 0;
    switch (id) {
    case '+':
        c->known = c->known && !__builtin_add_overflow(a, b, &out);
        return out;
    case '-':
        c->known = c->known && !__builtin_sub_overflow(a, b, &out);
        return out;
    case '*':
        c->known = c->known && !__builtin_mul_overflow(a, b, &out);
        return out;
    case '/':
    case '%':
        if (b == 0 || (a == INT64_MIN && b == -1)) {
            c->known = false;
            return 0;
        }
        return id == '/' ? a / b : a % b;
    case '|':
        return a != 0 || b != 0;
    case '&':
        return a != 0 && b != 0;
    case '=':
        return a == b;
    case '!':
        return a != b;
    case 'l':
        return a <= b;
    case 'g':
        return a >= b;
    case '<':
        return a < b;
    default:
        return a > b;
    }
}

static int64_t compute_sum(calculator *c, int level)
{
    int64_t value = compute_atom(c);
    for (;;) {
        skip_shell_space(c);
        size_t i = 0;
        const size_t n = sizeof operators / sizeof *operators;
        while (i < n && !str_starts(c->rest, operators[i].text))
            i++;
        if (i == n || operators[i].level < level || !c->known)
            return value;
        c->rest =
            (str){c->rest.at + operators[i].text.n, c->rest.n - operators[i].text.n};
        value = apply_operator(c, operators[i].id, value,
                               compute_sum(c, operators[i].level + 1));
    }
}

bool shell_compute(shell *s, str expression, int64_t *out)
{
    strbuf text = {0};
    calculator c = {.s = s, .known = true};
    if (shell_expand(s, &text, expression, SHELL_IN_DOUBLE) == HALLEY_OK &&
        memchr(text.at != NULL ? text.at : "", SHELL_UNKNOWN, text.n) == NULL) {
        c.rest = strbuf_str(&text);
        *out = compute_sum(&c, 0);
        skip_shell_space(&c);
        c.known = c.known && c.rest.n == 0;
    } else {
        c.known = false;
    }
    strbuf_fini(&text);
    return c.known;
}

/* ---- conditions: words one after the other ---- */
typedef struct judge {
    shell *s;
    const shell_word *words;
    size_t n, at;
    uint32_t depth;
    halley_status status;
} judge;

static bool has_word(const judge *j, size_t ahead, const char *word)
{
    return j->at + ahead < j->n && str_eq(j->words[j->at + ahead].raw, str_from(word));
}

/* Expand an operand; false: unknown. */
static bool expand_operand(judge *j, strbuf *out)
{
    if (j->at >= j->n)
        return false;
    const halley_status status =
        shell_expand(j->s, out, j->words[j->at++].raw, SHELL_UNSET_IS_EMPTY);
    if (status != HALLEY_OK)
        j->status = status;
    return status == HALLEY_OK &&
           (out->n == 0 || memchr(out->at, SHELL_UNKNOWN, out->n) == NULL);
}

static shell_truth get_truth(bool holds)
{
    return holds ? SHELL_TRUE : SHELL_FALSE;
}

static shell_truth negate_truth(shell_truth t)
{
    return t == SHELL_UNDECIDED ? t : get_truth(t == SHELL_FALSE);
}

static shell_truth judge_unary(judge *j)
{
    const char what = j->words[j->at++].raw.at[1];
    strbuf text = {0};
    const bool known = expand_operand(j, &text);
    shell_truth out = SHELL_UNDECIDED;
    if (known && (what == 'n' || what == 'z'))
        out = get_truth((text.n > 0) == (what == 'n'));
    strbuf_fini(&text);
    return out;
}

static shell_truth compare_numbers(str a, str word, str b)
{
    static const char *const words[] = {"-eq", "-ne", "-lt", "-le", "-gt", "-ge"};
    int64_t x, y;
    if (!str_to_i64(str_trim(a), &x) || !str_to_i64(str_trim(b), &y))
        return SHELL_UNDECIDED;
    const bool holds[] = {x == y, x != y, x<y, x <= y, x> y, x >= y};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (str_eq(word, str_from(words[i])))
            return get_truth(holds[i]);
    return SHELL_UNDECIDED;
}

/* [[ a == pattern ]]: a word without quotes may contain * and ?. */
static bool matches_pattern(str text, str pattern, str raw)
{
    char a[512], b[512];
    if (raw.n == 0 || raw.at[0] == '"' || raw.at[0] == '\'' || text.n >= sizeof a ||
        pattern.n >= sizeof b)
        return str_eq(text, pattern);
    snprintf(a, sizeof a, "%.*s", (int)text.n, text.at);
    snprintf(b, sizeof b, "%.*s", (int)pattern.n, pattern.at);
    return fnmatch(b, a, 0) == 0;
}

static shell_truth judge_binary(judge *j)
{
    strbuf a = {0}, b = {0};
    const bool known_a = expand_operand(j, &a);
    const str word = j->words[j->at++].raw;
    const str raw = j->at < j->n ? j->words[j->at].raw : (str){"", 0};
    const bool known = expand_operand(j, &b) && known_a;
    shell_truth out = SHELL_UNDECIDED;
    const bool equals = str_eq(word, STR("=")) || str_eq(word, STR("=="));
    if (known && (equals || str_eq(word, STR("!="))))
        out = get_truth(matches_pattern(strbuf_str(&a), strbuf_str(&b), raw) == equals);
    else if (known)
        out = compare_numbers(strbuf_str(&a), word, strbuf_str(&b));
    strbuf_fini(&a);
    strbuf_fini(&b);
    return out;
}

static bool is_binary(str word)
{
    static const char *const words[] = {"=",   "==",  "!=",  "=~",  "<",   ">",  "-eq",
                                        "-ne", "-lt", "-le", "-gt", "-ge", "-nt"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (str_eq(word, str_from(words[i])))
            return true;
    return false;
}

static shell_truth judge_any(judge *j);

static shell_truth judge_atom(judge *j)
{
    if (j->at >= j->n || ++j->depth > SHELL_MAX_DEPTH)
        return SHELL_UNDECIDED;
    if (has_word(j, 0, "!")) {
        j->at++;
        return negate_truth(judge_atom(j));
    }
    if (has_word(j, 0, "(") || has_word(j, 0, "\\(")) {
        j->at++;
        const shell_truth inside = judge_any(j);
        j->at += j->at < j->n;
        return inside;
    }
    if (j->at + 2 < j->n && is_binary(j->words[j->at + 1].raw))
        return judge_binary(j);
    const str first = j->words[j->at].raw;
    if (first.n == 2 && first.at[0] == '-' && j->at + 1 < j->n)
        return judge_unary(j);
    strbuf text = {0};
    const bool known = expand_operand(j, &text);
    const shell_truth out = known ? get_truth(text.n > 0) : SHELL_UNDECIDED;
    strbuf_fini(&text);
    return out;
}

static shell_truth judge_all(judge *j)
{
    shell_truth out = judge_atom(j);
    while (has_word(j, 0, "&&") || has_word(j, 0, "-a")) {
        j->at++;
        const shell_truth next = judge_atom(j);
        if (out == SHELL_FALSE || next == SHELL_FALSE)
            out = SHELL_FALSE;
        else if (next == SHELL_UNDECIDED)
            out = next;
    }
    return out;
}

static shell_truth judge_any(judge *j)
{
    shell_truth out = judge_all(j);
    while (has_word(j, 0, "||") || has_word(j, 0, "-o")) {
        j->at++;
        const shell_truth next = judge_all(j);
        if (out == SHELL_TRUE || next == SHELL_TRUE)
            out = SHELL_TRUE;
        else if (next == SHELL_UNDECIDED)
            out = next;
    }
    return out;
}

halley_status shell_judge(shell *s, const shell_command *command, shell_truth *out)
{
    const shell_word *words = command->words.at;
    size_t n = command->words.n;
    *out = SHELL_UNDECIDED;
    if (n == 0)
        return HALLEY_OK;
    const str first = words[0].raw;
    if (str_starts(first, STR("((")) && first.n >= 4) {
        int64_t value;
        if (shell_compute(s, (str){first.at + 2, first.n - 4}, &value))
            *out = get_truth(value != 0);
        return HALLEY_OK;
    }
    const bool bracket = str_eq(first, STR("[")) || str_eq(first, STR("[["));
    if (str_eq(first, STR("true")) || str_eq(first, STR(":")))
        *out = SHELL_TRUE;
    if (str_eq(first, STR("false")) || str_eq(first, STR("getopts")))
        *out = SHELL_FALSE;
    if (!bracket && !str_eq(first, STR("test")))
        return HALLEY_OK;
    if (bracket)
        n--; /* the closing one */
    judge j = {.s = s, .words = words, .n = n, .at = 1};
    if (n > 1)
        *out = judge_any(&j);
    return j.status;
}
