/*
 * Follows a script: finds which lines run, what they assign, and which command would
 * start the training. Sections form a stack. The mode of a section determines how its
 * lines are treated (run, in doubt, repeated, skipped). It is never weaker than the mode
 * of the enclosing section.
 */
#include "base/file/file.h"
#include "base/limit.h"
#include "launch/shell_state.h"

#include <assert.h>
#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

typedef enum section_kind {
    SECTION_IF,
    SECTION_CASE,
    SECTION_LOOP,
    SECTION_FUNCTION,
    SECTION_GROUP
} section_kind;

typedef struct section {
    section_kind kind;
    shell_mode mode, around;
    bool in_condition, in_pattern; /* of if and loops; of case */
    bool is_taken, is_undecided;   /* a branch was taken; none can be chosen */
    bool is_until, is_open;        /* an until loop; a function whose { was seen */
    shell_truth condition;
    shell_end joined; /* how the condition continues: && or || */
    uint32_t line;
    str subject; /* of case, expanded */
} section;

enum { N_LEVELS = 4 /* of candidates */, MAX_SOURCED = 4 };

/* The command that is most likely the training run, by how certain it is that it runs. */
typedef struct candidate {
    str text;
    uint32_t line, score;
} candidate;

typedef struct runner {
    shell s;
    section sections[SHELL_MAX_DEPTH];
    uint32_t n_sections;
    candidate best[N_LEVELS]; /* it runs; it is in a loop; a text; all lists */
    shell_end before;         /* how the last command was joined to this one */
    shell_truth result;       /* of the commands joined so far */
    uint32_t n_sourced;
    const char *name;
} runner;

static halley_status run_text(runner *r, str text, uint32_t line);

static shell_mode get_mode(const runner *r)
{
    return r->n_sections > 0 ? r->sections[r->n_sections - 1].mode : SHELL_RUN;
}

static section *get_top(runner *r, section_kind kind)
{
    section *top = r->n_sections > 0 ? &r->sections[r->n_sections - 1] : NULL;
    return top != NULL && top->kind == kind ? top : NULL;
}

static halley_status push_section(runner *r, section next)
{
    if (r->n_sections >= SHELL_MAX_DEPTH) {
        error_set(r->s.err, HALLEY_ELIMIT, "the script is nested more than %d deep",
                  SHELL_MAX_DEPTH);
        error_at_line(r->s.err, next.line, 0);
        return HALLEY_ELIMIT;
    }
    next.around = get_mode(r);
    next.mode = next.mode > next.around ? next.mode : next.around;
    next.condition = SHELL_TRUE;
    next.joined = SHELL_END_AND;
    r->sections[r->n_sections++] = next;
    return HALLEY_OK;
}

static void pop_section(runner *r, section_kind kind)
{
    if (get_top(r, kind) != NULL)
        r->n_sections--;
}

/* ---- which command is it? ---- */

static const char *const marks[] = {"num-layers", "hidden-size", "micro-batch-size",
                                    "tensor-model-parallel-size", "seq-length"};

/* True if the text contains "--name", with - and _ equivalent. */
static bool has_argument(str text, const char *name)
{
    const size_t n = strlen(name);
    for (size_t i = 0; i + n + 2 <= text.n; i++) {
        if (text.at[i] != '-' || text.at[i + 1] != '-')
            continue;
        size_t k = 0;
        while (k < n && (text.at[i + 2 + k] == name[k] ||
                         (name[k] == '-' && text.at[i + 2 + k] == '_')))
            k++;
        const char after = i + 2 + n < text.n ? text.at[i + 2 + n] : ' ';
        if (k == n && !isalnum((unsigned char)after) && after != '-' && after != '_')
            return true;
    }
    return false;
}

/* True if a word of the text begins with a mark. */
static bool has_word(str text, const char *mark)
{
    const size_t n = strlen(mark);
    for (size_t i = 0; i + n <= text.n; i++)
        if ((i == 0 || isspace((unsigned char)text.at[i - 1]) ||
             text.at[i - 1] == SHELL_ELEMENT) &&
            memcmp(text.at + i, mark, n) == 0)
            return true;
    return false;
}

static uint32_t score_text(const runner *r, str text)
{
    uint32_t score = 0;
    const char *const *own = r->s.options->marks;
    for (size_t i = 0; own != NULL && own[i] != NULL; i++)
        score += has_word(text, own[i]);
    if (own != NULL)
        return score;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        score += has_argument(text, marks[i]);
    return score;
}

static halley_status offer_candidate(runner *r, uint32_t level, str text, uint32_t line)
{
    assert(level < N_LEVELS);
    const uint32_t score = score_text(r, text);
    candidate *best = &r->best[level];
    if (score <= best->score)
        return HALLEY_OK;
    if (r->s.script->memory.total_bytes + text.n > SHELL_MAX_MEMORY)
        return error_set(r->s.err, HALLEY_ELIMIT, "the script's commands are too long");
    const char *copy = arena_copy(&r->s.script->memory, text);
    if (copy == NULL)
        return error_nomem(r->s.err);
    *best = (candidate){{copy, text.n}, line, score};
    return HALLEY_OK;
}

/* ---- assignments ---- */

static size_t name_length(str word)
{
    size_t n = 0;
    while (n < word.n && (isalnum((unsigned char)word.at[n]) || word.at[n] == '_'))
        n++;
    return n > 0 && isdigit((unsigned char)word.at[0]) ? 0 : n;
}

/* The length of the name in NAME= or NAME+= at the start of a word, else 0. */
static size_t find_assignment(str word, bool *more)
{
    const size_t n = name_length(word);
    *more = n > 0 && n + 1 < word.n && word.at[n] == '+' && word.at[n + 1] == '=';
    return n > 0 && n < word.n && (*more || word.at[n] == '=') ? n : 0;
}

/* A section that may or may not run sets a variable: an earlier value is kept. */
static halley_status doubt_variable(runner *r, str name)
{
    shell *s = &r->s;
    const shell_variable *v = shell_variable_find(s, name);
    if (get_mode(r) == SHELL_REPEAT)
        return v != NULL && v->is_fixed
                   ? HALLEY_OK
                   : shell_variable_doubt(s, name, SHELL_FROM_LOOP, s->line);
    if (v == NULL || !v->is_set)
        return shell_variable_doubt(s, name, SHELL_FROM_BRANCH, s->line);
    if (!v->is_fixed)
        import_note(
            s->options->import,
            "Line %u: whether $%.*s is set here cannot be decided without running "
            "the script; its earlier value is used.",
            s->line, STR_ARG(name));
    return HALLEY_OK;
}

/* Append the value of an assignment to `value`. */
static halley_status expand_value(runner *r, strbuf *value, str raw)
{
    if (raw.n >= 2 && raw.at[0] == '(' && raw.at[raw.n - 1] == ')')
        return shell_expand_list(&r->s, value, raw);
    return shell_expand(&r->s, value, raw, 0);
}

static halley_status assign_word(runner *r, str word)
{
    bool more;
    const size_t n = find_assignment(word, &more);
    if (n == 0)
        return HALLEY_OK;
    const str name = {word.at, n};
    const str raw = {word.at + n + (more ? 2 : 1), word.n - n - (more ? 2 : 1)};
    if (get_mode(r) == SHELL_SKIP)
        return HALLEY_OK;
    if (get_mode(r) != SHELL_RUN)
        return doubt_variable(r, name);
    strbuf value = {0};
    r->s.expanding = name;
    halley_status status = expand_value(r, &value, raw);
    r->s.expanding = (str){"", 0};
    if (status == HALLEY_OK)
        status = shell_variable_set(&r->s, name, strbuf_str(&value), more);
    if (status == HALLEY_OK)
        status = offer_candidate(r, 2, strbuf_str(&value), r->s.line);
    strbuf_fini(&value);
    return status;
}

static bool is_one_of(str word, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(word, str_from(list[i])))
            return true;
    return false;
}
#define IS_ONE_OF(word, list) is_one_of(word, list, sizeof(list) / sizeof *(list))

/* read, mapfile, unset and similar commands change variables in ways that are not
 * followed. */
static halley_status doubt_named(runner *r, const shell_command *c)
{
    for (size_t i = 1; i < c->words.n; i++) {
        const str word = c->words.at[i].raw;
        if (word.n > 0 && name_length(word) == word.n && get_mode(r) != SHELL_SKIP)
            TRY(shell_variable_doubt(&r->s, word, SHELL_FROM_COMMAND, r->s.line));
    }
    return HALLEY_OK;
}

/* printf -v NAME: its output is not followed. */
static halley_status doubt_printed(runner *r, const shell_command *c)
{
    const str name = c->words.n > 2 ? c->words.at[2].raw : (str){"", 0};
    if (!str_eq(c->words.at[1].raw, STR("-v")) || name.n == 0 ||
        name_length(name) != name.n || get_mode(r) == SHELL_SKIP)
        return HALLEY_OK;
    return shell_variable_doubt(&r->s, name, SHELL_FROM_COMMAND, r->s.line);
}

/* ---- commands ---- */

static halley_status expand_words(runner *r, strbuf *out, const shell_command *c,
                                  unsigned flags)
{
    for (size_t i = 0; i < c->words.n; i++) {
        if (i > 0)
            strbuf_add_char(out, ' ');
        TRY(shell_expand(&r->s, out, c->words.at[i].raw, flags));
    }
    return out->failed ? error_nomem(r->s.err) : HALLEY_OK;
}

static bool holds_word(const shell_command *c, const char *word)
{
    for (size_t i = 0; i < c->words.n; i++)
        if (str_eq(c->words.at[i].raw, str_from(word)))
            return true;
    return false;
}

static halley_status note_command(runner *r, const shell_command *c)
{
    static const char *const silent[] = {"echo", "printf", "cat", "log", "tee", "sed",
                                         "grep", "mkdir",  "cd",  "cp",  "rm",  "sleep"};
    if (get_mode(r) == SHELL_SKIP || IS_ONE_OF(c->words.at[0].raw, silent))
        return HALLEY_OK;
    const bool again =
        holds_word(c, "-c") || holds_word(c, "-lc") || holds_word(c, "eval");
    strbuf words = {0};
    halley_status status =
        expand_words(r, &words, c, again ? (unsigned)SHELL_INSIDE_SINGLE : 0);
    if (status == HALLEY_OK && get_mode(r) != SHELL_DOUBT)
        status = offer_candidate(r, get_mode(r) == SHELL_RUN ? 0 : 1, strbuf_str(&words),
                                 c->line);
    else if (status == HALLEY_OK)
        status = offer_candidate(r, 1, strbuf_str(&words), c->line);
    strbuf_fini(&words);
    return status;
}

/* A here-document: a script for sbatch and shells, else a text that may be JSON. */
static halley_status take_shell_document(runner *r, const shell_command *c)
{
    static const char *const shells[] = {"sbatch", "bash", "sh", "ssh", "srun"};
    for (uint32_t i = 0; i < c->n_here && get_mode(r) == SHELL_RUN; i++) {
        strbuf text = {0};
        halley_status status = HALLEY_OK;
        if (c->here[i].quoted)
            strbuf_add(&text, c->here[i].body);
        else
            status = shell_expand(&r->s, &text, c->here[i].body, SHELL_LITERAL_QUOTES);
        const char *copy = status == HALLEY_OK && text.n < SHELL_MAX_KEPT / 2
                               ? arena_copy(&r->s.script->memory, strbuf_str(&text))
                               : NULL;
        const str body = {copy, text.n};
        strbuf_fini(&text);
        TRY(status);
        if (copy == NULL)
            return error_set(r->s.err, HALLEY_ELIMIT, "a here-document is too long");
        if (c->words.n > 0 && IS_ONE_OF(c->words.at[0].raw, shells))
            TRY(run_text(r, body, c->line));
        else if (r->s.script->documents.n < 16 &&
                 !array_push(&r->s.script->documents, body))
            return error_nomem(r->s.err);
    }
    return HALLEY_OK;
}

/* The file of `source`, if its name is known and it is next to the script. */
static bool find_sourced(const runner *r, char *path, size_t size, str name)
{
    while (str_starts(name, STR("./")))
        name = (str){name.at + 2, name.n - 2};
    if (r->s.options->folder == NULL || name.n == 0 || name.n > 255 ||
        memchr(name.at, '/', name.n) != NULL ||
        memchr(name.at, SHELL_UNKNOWN, name.n) != NULL)
        return false;
    const int n =
        snprintf(path, size, "%s/%.*s", r->s.options->folder, (int)name.n, name.at);
    return n > 0 && (size_t)n < size && file_exists(path) && !file_is_folder(path);
}

static halley_status source_file(runner *r, const char *path)
{
    file_input in;
    TRY(file_input_open_most(&in, path, LIMIT_CONFIGURATION, r->s.err));
    halley_status status = HALLEY_OK;
    if (in.n <= SHELL_MAX_TEXT / 4) {
        const char *copy =
            arena_copy(&r->s.script->memory, (str){(const char *)in.at, in.n});
        status = copy == NULL ? error_nomem(r->s.err) : run_text(r, (str){copy, in.n}, 1);
    }
    file_input_close(&in);
    return status;
}

/* source FILE, at index `at` of the words: assignments may precede it. */
static halley_status follow_source(runner *r, const shell_command *c, size_t at)
{
    if (get_mode(r) == SHELL_SKIP || c->words.n < at + 2)
        return HALLEY_OK;
    for (size_t i = 0; i < at; i++)
        TRY(assign_word(r, c->words.at[i].raw));
    const str file = c->words.at[at + 1].raw;
    strbuf name = {0};
    char path[4096];
    halley_status status = shell_expand(&r->s, &name, file, 0);
    const bool found =
        status == HALLEY_OK && find_sourced(r, path, sizeof path, strbuf_str(&name));
    strbuf_fini(&name);
    TRY(status);
    if (found && get_mode(r) == SHELL_RUN && r->n_sourced < MAX_SOURCED) {
        r->n_sourced++;
        status = source_file(r, path);
        r->n_sourced--;
        return status;
    }
    import_note(r->s.options->import,
                "Line %u: the file that is sourced (%.*s) is not next to the script "
                "and is not read.",
                r->s.line, STR_ARG(file));
    return HALLEY_OK;
}

static halley_status run_simple(runner *r, const shell_command *c)
{
    static const char *const declare[] = {"export", "local", "declare", "readonly",
                                          "typeset"};
    static const char *const changing[] = {"read", "mapfile", "readarray", "unset",
                                           "let"};
    bool more;
    const str first = c->words.at[0].raw;
    size_t n_assigned = 0;
    while (n_assigned < c->words.n &&
           find_assignment(c->words.at[n_assigned].raw, &more) > 0)
        n_assigned++;
    if (n_assigned == c->words.n || IS_ONE_OF(first, declare)) {
        for (size_t i = 0; i < c->words.n; i++) {
            r->s.line = c->words.at[i].line;
            TRY(assign_word(r, c->words.at[i].raw));
        }
        return HALLEY_OK;
    }
    if (IS_ONE_OF(first, changing))
        return doubt_named(r, c);
    if (str_eq(first, STR("printf")) && c->words.n > 1)
        return doubt_printed(r, c);
    const str command = c->words.at[n_assigned].raw;
    if (str_eq(command, STR("source")) || str_eq(command, STR(".")))
        return follow_source(r, c, n_assigned);
    TRY(note_command(r, c));
    return take_shell_document(r, c);
}

/* ---- sections ---- */

static shell_truth join_truth(shell_truth so_far, shell_end how, shell_truth next)
{
    if (how == SHELL_END_OR)
        return so_far == SHELL_TRUE || next == SHELL_TRUE ? SHELL_TRUE
               : so_far == SHELL_UNDECIDED                ? so_far
                                                          : next;
    if (how == SHELL_END_AND)
        return so_far == SHELL_FALSE || next == SHELL_FALSE ? SHELL_FALSE
               : so_far == SHELL_UNDECIDED                  ? so_far
                                                            : next;
    return next;
}

static halley_status judge_words(runner *r, const shell_command *c, shell_truth *out)
{
    shell_command rest = *c;
    bool negated = false;
    while (rest.words.n > 0 && str_eq(rest.words.at[0].raw, STR("!"))) {
        rest.words.at++;
        rest.words.n--;
        negated = !negated;
    }
    TRY(shell_judge(&r->s, &rest, out));
    if (negated && *out != SHELL_UNDECIDED)
        *out = *out == SHELL_TRUE ? SHELL_FALSE : SHELL_TRUE;
    return HALLEY_OK;
}

/* One command of the condition of an if or a loop. */
static halley_status add_shell_condition(runner *r, section *top, const shell_command *c)
{
    shell_truth next;
    if (top->around == SHELL_SKIP || c->words.n == 0)
        return HALLEY_OK;
    bool more;
    if (find_assignment(c->words.at[0].raw, &more) > 0)
        return HALLEY_OK;
    TRY(judge_words(r, c, &next));
    top->condition = join_truth(top->condition, top->joined, next);
    top->joined = c->end;
    return HALLEY_OK;
}

static void choose_branch(runner *r, section *top, bool is_else)
{
    const shell_truth holds = is_else ? SHELL_TRUE : top->condition;
    shell_mode mode = SHELL_SKIP;
    if (top->is_undecided)
        mode = SHELL_DOUBT;
    else if (!top->is_taken && holds == SHELL_TRUE)
        mode = SHELL_RUN;
    else if (!top->is_taken && holds == SHELL_UNDECIDED)
        mode = SHELL_DOUBT;
    if (mode == SHELL_DOUBT && !top->is_undecided && top->around == SHELL_RUN)
        import_note(r->s.options->import,
                    "Line %u: this condition cannot be decided without running the "
                    "script; no branch is taken.",
                    top->line);
    top->is_undecided = top->is_undecided || mode == SHELL_DOUBT;
    top->is_taken = top->is_taken || mode == SHELL_RUN;
    top->mode = mode > top->around ? mode : top->around;
    top->in_condition = false;
}

static void begin_condition(section *top)
{
    top->in_condition = true;
    top->condition = SHELL_TRUE;
    top->joined = SHELL_END_AND;
    top->mode = top->around;
}

static void begin_body(section *top)
{
    const shell_truth runs = top->is_until && top->condition != SHELL_UNDECIDED
                                 ? (shell_truth)(top->condition == SHELL_FALSE)
                                 : top->condition;
    const shell_mode mode =
        top->in_condition && runs == SHELL_FALSE ? SHELL_SKIP : SHELL_REPEAT;
    top->mode = mode > top->around ? mode : top->around;
    top->in_condition = false;
}

static halley_status begin_case(runner *r, const shell_command *c)
{
    section next = {.kind = SECTION_CASE, .in_pattern = true, .line = c->line};
    strbuf subject = {0};
    halley_status status = HALLEY_OK;
    if (get_mode(r) != SHELL_SKIP && c->words.n > 1)
        status = shell_expand(&r->s, &subject, c->words.at[1].raw, SHELL_UNSET_IS_EMPTY);
    const char *copy = arena_copy(&r->s.script->memory, strbuf_str(&subject));
    next.subject = (str){copy, subject.n};
    strbuf_fini(&subject);
    TRY(status);
    return copy == NULL ? error_nomem(r->s.err) : push_section(r, next);
}

/* True if one of the patterns a|b|c matches the subject. */
static shell_truth match_case(const section *top, str patterns)
{
    char subject[512], pattern[512];
    str part;
    if (memchr(top->subject.at, SHELL_UNKNOWN, top->subject.n) != NULL ||
        top->subject.n >= sizeof subject)
        return str_eq(patterns, STR("*")) ? SHELL_TRUE : SHELL_UNDECIDED;
    snprintf(subject, sizeof subject, "%.*s", (int)top->subject.n, top->subject.at);
    while (str_next(&patterns, '|', &part)) {
        str p = str_trim(part);
        if (p.n >= 2 && (p.at[0] == '"' || p.at[0] == '\''))
            p = (str){p.at + 1, p.n - 2};
        if (p.n >= sizeof pattern)
            return SHELL_UNDECIDED;
        snprintf(pattern, sizeof pattern, "%.*s", (int)p.n, p.at);
        if (fnmatch(pattern, subject, 0) == 0)
            return SHELL_TRUE;
    }
    return SHELL_FALSE;
}

static halley_status read_case_pattern(runner *r, shell_lexer *x, section *top)
{
    str pattern;
    uint32_t line;
    TRY(shell_lexer_pattern(x, &pattern, &line));
    if (str_eq(pattern, STR("esac"))) {
        pop_section(r, SECTION_CASE);
        return HALLEY_OK;
    }
    top->in_pattern = false;
    top->condition = match_case(top, pattern);
    choose_branch(r, top, false);
    return HALLEY_OK;
}

static halley_status begin_function(runner *r, uint32_t line)
{
    return push_section(
        r, (section){.kind = SECTION_FUNCTION, .mode = SHELL_REPEAT, .line = line});
}

static halley_status begin_loop(runner *r, const shell_command *c)
{
    const str first = c->words.at[0].raw;
    const bool is_for = str_eq(first, STR("for")) || str_eq(first, STR("select"));
    if (is_for && c->words.n > 1 && get_mode(r) != SHELL_SKIP &&
        name_length(c->words.at[1].raw) == c->words.at[1].raw.n)
        TRY(shell_variable_doubt(&r->s, c->words.at[1].raw, SHELL_FROM_LOOP, c->line));
    return push_section(r, (section){.kind = SECTION_LOOP,
                                     .in_condition = !is_for,
                                     .is_until = str_eq(first, STR("until")),
                                     .line = c->line});
}

static halley_status begin_group(runner *r, const shell_command *c)
{
    section *function = get_top(r, SECTION_FUNCTION);
    if (function != NULL && !function->is_open) {
        function->is_open = true;
        return HALLEY_OK;
    }
    return push_section(r, (section){.kind = SECTION_GROUP, .line = c->line});
}

static void end_group(runner *r)
{
    if (get_top(r, SECTION_GROUP) != NULL)
        pop_section(r, SECTION_GROUP);
    else
        pop_section(r, SECTION_FUNCTION);
}

/* Handle words that begin or end sections. *is: it was such a word. */
static halley_status run_keyword(runner *r, const shell_command *c, bool *is)
{
    const str first = c->words.at[0].raw;
    section *branch = get_top(r, SECTION_IF);
    section *loop = get_top(r, SECTION_LOOP);
    *is = true;
    if (c->is_function || str_eq(first, STR("function")))
        return begin_function(r, c->line);
    if (str_eq(first, STR("if")))
        return push_section(
            r, (section){.kind = SECTION_IF, .in_condition = true, .line = c->line});
    if (str_eq(first, STR("case")))
        return begin_case(r, c);
    if (str_eq(first, STR("for")) || str_eq(first, STR("while")) ||
        str_eq(first, STR("until")) || str_eq(first, STR("select")))
        return begin_loop(r, c);
    if (str_eq(first, STR("{")))
        return begin_group(r, c);
    if (str_eq(first, STR("}")))
        end_group(r);
    else if (str_eq(first, STR("then")) && branch != NULL)
        choose_branch(r, branch, false);
    else if (str_eq(first, STR("else")) && branch != NULL)
        choose_branch(r, branch, true);
    else if (str_eq(first, STR("elif")) && branch != NULL)
        begin_condition(branch);
    else if (str_eq(first, STR("fi")))
        pop_section(r, SECTION_IF);
    else if (str_eq(first, STR("do")) && loop != NULL)
        begin_body(loop);
    else if (str_eq(first, STR("done")))
        pop_section(r, SECTION_LOOP);
    else if (str_eq(first, STR("esac")))
        pop_section(r, SECTION_CASE);
    else
        *is = false;
    return HALLEY_OK;
}

/* A command after && or || runs depending on the result before it. Programs are assumed
 * to succeed. */
static halley_status run_joined(runner *r, const shell_command *c)
{
    const shell_end before = r->before;
    const shell_truth so_far = r->result;
    shell_truth own = SHELL_TRUE;
    shell_mode mode = SHELL_RUN;
    if (before == SHELL_END_AND || before == SHELL_END_OR) {
        const shell_truth stops = before == SHELL_END_AND ? SHELL_FALSE : SHELL_TRUE;
        mode = so_far == SHELL_UNDECIDED ? SHELL_DOUBT
               : so_far == stops         ? SHELL_SKIP
                                         : SHELL_RUN;
    }
    TRY(judge_words(r, c, &own));
    const str first = c->words.at[0].raw;
    const bool tests = str_eq(first, STR("[")) || str_eq(first, STR("[[")) ||
                       str_eq(first, STR("test")) || str_starts(first, STR("(("));
    if (!tests && own == SHELL_UNDECIDED)
        own = SHELL_TRUE;
    r->result = mode == SHELL_SKIP ? so_far : own;
    r->before = c->end;
    if (tests || mode == SHELL_SKIP)
        return HALLEY_OK;
    if (mode == SHELL_RUN)
        return run_simple(r, c);
    TRY(push_section(r, (section){.kind = SECTION_GROUP, .mode = mode, .line = c->line}));
    const halley_status status = run_simple(r, c);
    pop_section(r, SECTION_GROUP);
    return status;
}

static halley_status run_shell_command(runner *r, const shell_command *c)
{
    if (c->words.n == 0)
        return HALLEY_OK;
    r->s.line = c->line;
    bool is_keyword;
    TRY(run_keyword(r, c, &is_keyword));
    section *top = r->n_sections > 0 ? &r->sections[r->n_sections - 1] : NULL;
    if (is_keyword)
        r->before = SHELL_END_LINE;
    else if (top != NULL && top->in_condition)
        return add_shell_condition(r, top, c);
    else if (get_mode(r) != SHELL_SKIP)
        return run_joined(r, c);
    return HALLEY_OK;
}

static halley_status run_text(runner *r, str text, uint32_t line)
{
    shell_lexer x = {.text = text, .line = line, .err = r->s.err};
    shell_command c = {0};
    halley_status status = HALLEY_OK;
    while (status == HALLEY_OK && x.at < text.n) {
        section *top = get_top(r, SECTION_CASE);
        if (top != NULL && top->in_pattern) {
            status = read_case_pattern(r, &x, top);
            continue;
        }
        status = shell_lexer_next(&x, &c);
        if (status == HALLEY_OK)
            status = run_shell_command(r, &c);
        top = get_top(r, SECTION_CASE);
        if (top != NULL && c.end == SHELL_END_CASE)
            top->in_pattern = true;
    }
    array_fini(&c.words);
    return status;
}

/* Collect "#SBATCH --nodes=4 --gres=gpu:8" from comments. */
static halley_status collect_batch(shell_script *out, str text, halley_error *err)
{
    str line;
    while (str_next(&text, '\n', &line)) {
        line = str_trim(line);
        if (!str_starts(line, STR("#SBATCH")) || out->batch.n >= 64)
            continue;
        line = str_trim((str){line.at + 7, line.n - 7});
        for (size_t i = 1; i < line.n; i++)
            if (line.at[i] == '#' && isspace((unsigned char)line.at[i - 1]))
                line.n = i;
        if (!array_push(&out->batch, line))
            return error_nomem(err);
    }
    return HALLEY_OK;
}

static halley_status fix_variables(runner *r)
{
    const shell_options *o = r->s.options;
    for (size_t i = 0; i < o->n_sets; i++) {
        const str set = str_from(o->sets[i]);
        const char *equals = memchr(set.at, '=', set.n);
        const size_t n = equals != NULL ? (size_t)(equals - set.at) : 0;
        if (n == 0)
            return error_set(r->s.err, HALLEY_EINVAL,
                             "--set needs NAME=VALUE, is \"%.*s\"", STR_ARG(set));
        const str name = {set.at, n};
        TRY(shell_variable_set(&r->s, name, (str){set.at + n + 1, set.n - n - 1}, false));
        shell_variable_find(&r->s, name)->is_fixed = true;
    }
    return HALLEY_OK;
}

/* There is no command: use all assigned lists together. */
static halley_status join_lists(runner *r)
{
    strbuf all = {0};
    for (size_t i = 0; i < r->s.variables.n && all.n < SHELL_MAX_KEPT / 4; i++) {
        const shell_variable *v = &r->s.variables.at[i];
        if (!str_contains(v->value, STR("--")))
            continue;
        strbuf_add_char(&all, ' ');
        strbuf_add(&all, v->value);
    }
    const halley_status status =
        all.failed ? error_nomem(r->s.err) : offer_candidate(r, 3, strbuf_str(&all), 0);
    strbuf_fini(&all);
    return status;
}

static halley_status choose_command(runner *r)
{
    TRY(join_lists(r));
    for (uint32_t i = 0; i < N_LEVELS; i++) {
        /* Lists take precedence over a text that is only a part of them. */
        const bool partial = i == 2 && r->best[3].score > r->best[2].score;
        if (r->best[i].score == 0 || partial)
            continue;
        r->s.script->command = r->best[i].text;
        r->s.script->command_line = r->best[i].line;
        return HALLEY_OK;
    }
    return HALLEY_OK;
}

halley_status shell_script_read(shell_script *out, str text, const char *name,
                                const shell_options *options, halley_error *err)
{
    *out = (shell_script){0};
    if (text.n > SHELL_MAX_TEXT)
        return error_set(
            err, HALLEY_ELIMIT,
            "the script has more than %d bytes; no launch script is that long",
            SHELL_MAX_TEXT);
    runner r = {.s = {.script = out, .options = options, .line = 1, .err = err},
                .before = SHELL_END_LINE,
                .result = SHELL_TRUE,
                .name = name};
    halley_status status = collect_batch(out, text, err);
    if (status == HALLEY_OK)
        status = fix_variables(&r);
    if (status == HALLEY_OK)
        status = run_text(&r, text, 1);
    if (status == HALLEY_OK)
        status = choose_command(&r);
    array_fini(&r.s.variables);
    map64_fini(&r.s.index);
    if (status != HALLEY_OK)
        shell_script_fini(out);
    return status;
}

void shell_script_fini(shell_script *script)
{
    array_fini(&script->documents);
    array_fini(&script->causes);
    array_fini(&script->batch);
    arena_fini(&script->memory);
}
