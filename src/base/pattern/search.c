/*
 * Search by advancing sets of program steps one byte at a time (Thompson's construction).
 * Each set is cached with its successor for each byte. When the cache is full it is
 * emptied, so memory is bounded and no text can make the search slow.
 */
#include "base/pattern/program.h"

#include <assert.h>
#include <string.h>

enum {
    MOST_STATES = 256,
    NO_STATE = UINT16_MAX,
    STORE_SIZE = 1 << 20, /* bytes of the stored sets, at most */
    LEAST_STATES = 4,
};

typedef enum state_kind { STATE_OPEN, STATE_MATCHED, STATE_DEAD } state_kind;

typedef struct state {
    state_kind kind;
    uint16_t next[256]; /* NO_STATE = not known yet */
} state;

struct pattern {
    pattern_program program;
    uint32_t words;    /* of one set */
    uint32_t n, cap;   /* states that are known, and may be */
    state *states;     /* [cap] */
    uint64_t *sets;    /* [cap + 1][words]; the last is the set being built */
    uint32_t *stack;   /* [steps]: steps to follow */
    uint32_t *visited; /* [steps]: the round in which the step was visited */
    uint32_t round;
};

static uint64_t *get_set(const pattern *p, uint32_t i)
{
    return p->sets + (size_t)i * p->words;
}

static void begin_set(pattern *p)
{
    memset(get_set(p, p->cap), 0, p->words * sizeof *p->sets);
    if (++p->round == 0) {
        memset(p->visited, 0, p->program.steps.n * sizeof *p->visited);
        p->round = 1;
    }
}

typedef struct place {
    bool is_start, is_end; /* of the text */
} place;

static void push_step(pattern *p, uint32_t *n, uint32_t pc)
{
    assert(pc < p->program.steps.n);
    if (p->visited[pc] == p->round)
        return;
    p->visited[pc] = p->round;
    p->stack[(*n)++] = pc;
}

/* Add the step, and all steps that are reached from it without a byte, to the set being
 * built. */
static void add_closure(pattern *p, uint32_t pc, place here)
{
    uint64_t *const set = get_set(p, p->cap);
    uint32_t n = 0;
    push_step(p, &n, pc);
    while (n > 0) {
        pc = p->stack[--n];
        const pattern_step step = p->program.steps.at[pc];
        if (step.op == PATTERN_SPLIT)
            push_step(p, &n, (uint32_t)((int32_t)pc + step.b));
        if (step.op == PATTERN_SPLIT || step.op == PATTERN_JUMP)
            push_step(p, &n, (uint32_t)((int32_t)pc + step.a));
        else if ((step.op == PATTERN_START && here.is_start) ||
                 (step.op == PATTERN_END && here.is_end))
            push_step(p, &n, pc + 1);
        else if (step.op != PATTERN_START)
            set[pc / 64] |= UINT64_C(1) << (pc % 64);
    }
}

static bool has_match(const pattern *p, const uint64_t *set)
{
    const size_t last = p->program.steps.n - 1;
    assert(p->program.steps.at[last].op == PATTERN_MATCH);
    return set[last / 64] >> (last % 64) & 1;
}

static bool is_accepted(const pattern_program *program, pattern_step step, uint8_t byte)
{
    return step.op == PATTERN_BYTE ? step.a == byte
           : step.op == PATTERN_CLASS
               ? pattern_class_has(&program->classes.at[step.a], byte)
               : false;
}

/* The state of the set being built; a new set is added. */
static uint16_t find_state(pattern *p)
{
    const uint64_t *const set = get_set(p, p->cap);
    bool is_empty = true;
    for (uint32_t i = 0; i < p->words; i++)
        is_empty &= set[i] == 0;
    for (uint32_t i = 0; i < p->n; i++)
        if (memcmp(get_set(p, i), set, p->words * sizeof *set) == 0)
            return (uint16_t)i;
    if (p->n == p->cap)
        return NO_STATE;
    state *const s = &p->states[p->n];
    memcpy(get_set(p, p->n), set, p->words * sizeof *set);
    memset(s->next, 0xff, sizeof s->next);
    s->kind = has_match(p, set) ? STATE_MATCHED : is_empty ? STATE_DEAD : STATE_OPEN;
    return (uint16_t)p->n++;
}

/* Like find_state, but drops all states if there is no room. */
static uint16_t find_state_or_forget(pattern *p)
{
    uint16_t found = find_state(p);
    if (found == NO_STATE) {
        p->n = 0;
        found = find_state(p);
    }
    assert(found != NO_STATE);
    return found;
}

static void advance_set(pattern *p, const uint64_t *from, uint8_t byte)
{
    begin_set(p);
    for (uint32_t w = 0; w < p->words; w++)
        for (uint64_t bits = from[w]; bits != 0; bits &= bits - 1) {
            const uint32_t pc = w * 64 + (uint32_t)__builtin_ctzll(bits);
            if (is_accepted(&p->program, p->program.steps.at[pc], byte))
                add_closure(p, pc + 1, (place){0});
        }
    add_closure(p, 0, (place){0}); /* a match may start at any byte */
}

static uint16_t advance_state(pattern *p, uint16_t from, uint8_t byte)
{
    advance_set(p, get_set(p, from), byte);
    const uint32_t before = p->n;
    const uint16_t to = find_state_or_forget(p);
    if (p->n >= before) /* no state was dropped: `from` is still valid */
        p->states[from].next[byte] = to;
    return to;
}

static bool matches_at_end(pattern *p, uint16_t from, bool is_start)
{
    begin_set(p);
    const uint64_t *const set = get_set(p, from);
    for (uint32_t w = 0; w < p->words; w++)
        for (uint64_t bits = set[w]; bits != 0; bits &= bits - 1) {
            const uint32_t pc = w * 64 + (uint32_t)__builtin_ctzll(bits);
            if (p->program.steps.at[pc].op == PATTERN_END)
                add_closure(p, pc + 1, (place){is_start, true});
        }
    return has_match(p, get_set(p, p->cap));
}

bool pattern_search(pattern *p, str text)
{
    begin_set(p);
    add_closure(p, 0, (place){.is_start = true});
    uint16_t at = find_state_or_forget(p);
    for (size_t i = 0; i < text.n && p->states[at].kind == STATE_OPEN; i++) {
        const uint8_t byte = (uint8_t)text.at[i];
        const uint16_t next = p->states[at].next[byte];
        at = next != NO_STATE ? next : advance_state(p, at, byte);
    }
    return p->states[at].kind == STATE_MATCHED ||
           (p->states[at].kind == STATE_OPEN && matches_at_end(p, at, text.n == 0));
}

static bool init_search(pattern *p)
{
    const size_t n = p->program.steps.n;
    p->words = (uint32_t)((n + 63) / 64);
    const size_t state_size = sizeof(state) + p->words * sizeof *p->sets;
    const size_t most = STORE_SIZE / state_size;
    p->cap = most > MOST_STATES    ? MOST_STATES
             : most < LEAST_STATES ? LEAST_STATES
                                   : (uint32_t)most;
    p->states = mem_array(p->cap, sizeof *p->states);
    p->sets = mem_array((size_t)p->cap + 1, p->words * sizeof *p->sets);
    p->stack = mem_array(n, sizeof *p->stack);
    p->visited = mem_array_zero(n, sizeof *p->visited);
    return p->states != NULL && p->sets != NULL && p->stack != NULL && p->visited != NULL;
}

halley_status pattern_compile(pattern **out, str expression, halley_error *err)
{
    *out = NULL;
    pattern *const p = mem_array_zero(1, sizeof *p);
    if (p == NULL)
        return error_nomem(err);
    halley_status status = pattern_program_compile(&p->program, expression, err);
    if (status == HALLEY_OK && !init_search(p))
        status = error_nomem(err);
    if (status == HALLEY_OK)
        *out = p;
    else
        pattern_free(p);
    return status;
}

void pattern_free(pattern *p)
{
    if (p == NULL)
        return;
    pattern_program_fini(&p->program);
    free(p->states);
    free(p->sets);
    free(p->stack);
    free(p->visited);
    free(p);
}
