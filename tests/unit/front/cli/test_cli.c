/* cli/cli.h: command lines against a small program of our own. */
#include "alloc_fail.h"
#include "cli/cli.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

typedef struct cook_options {
    bool quiet, salt;
    const char *out;
    request_texts with;
    uint32_t guests;
    uint64_t grains;
    double spice, heat_s;
    uint32_t style;
    request_output output;
} cook_options;

static const char *const styles[] = {"boiled", "fried", NULL};
static const request_option cook_table[] = {
    {.name = "quiet", .letter = 'q', .offset = offsetof(cook_options, quiet), .doc = "q"},
    {.name = "salt",
     .negatable = true,
     .offset = offsetof(cook_options, salt),
     .doc = "with salt"},
    {.name = "out",
     .letter = 'o',
     .kind = REQUEST_TEXT,
     .metavar = "FILE",
     .offset = offsetof(cook_options, out),
     .doc = "where to"},
    {.name = "with",
     .kind = REQUEST_TEXTS,
     .metavar = "WHAT",
     .offset = offsetof(cook_options, with),
     .doc = "what to add"},
    {.name = "guests",
     .letter = 'g',
     .kind = REQUEST_U32,
     .min = 1,
     .max = 12,
     .metavar = "N",
     .offset = offsetof(cook_options, guests),
     .doc = "how many"},
    {.name = "grains",
     .kind = REQUEST_U64,
     .metavar = "N",
     .offset = offsetof(cook_options, grains),
     .doc = "how many"},
    {.name = "spice",
     .kind = REQUEST_DOUBLE,
     .metavar = "X",
     .offset = offsetof(cook_options, spice),
     .doc = "how hot"},
    {.name = "heat",
     .kind = REQUEST_QUANTITY,
     .unit = UNITS_TIME,
     .metavar = "TIME",
     .offset = offsetof(cook_options, heat_s),
     .doc = "how long"},
    {.name = "style",
     .kind = REQUEST_CHOICE,
     .choices = styles,
     .offset = offsetof(cook_options, style),
     .doc = "how"},
    REQUEST_OUTPUT_OPTIONS(cook_options, output),
    {0},
};

static const cook_options cook_defaults = {.salt = true, .guests = 2};
static const request_verb cook = {
    .name = "rice cook",
    .summary = "cook rice",
    .arguments = "POT LID",
    .description = "Cooks.",
    .options = cook_table,
    .options_size = sizeof(cook_options),
    .defaults = &cook_defaults,
    .min_args = 0,
    .max_args = 2,
};
static const request_verb weigh = {.name = "rice weigh", .min_args = 1, .max_args = 1};
static const request_verb wash = {.name = "wash",
                                  .arguments = "POT...",
                                  .min_args = 1,
                                  .max_args = REQUEST_ANY,
                                  .keeps_unknown = true};
static const request_verb *const commands[] = {&cook, &weigh, &wash, NULL};
static const cli_group groups[] = {{"rice", "all about rice"}, {0}};
static const cli_program kitchen = {.name = "kitchen",
                                    .version = "1",
                                    .date = "2026-01-01",
                                    .summary = "a kitchen",
                                    .description = "Food.",
                                    .commands = commands,
                                    .groups = groups};

/* A parsed command line; `words` are separated by blanks. */
typedef struct parsed {
    request_call call;
    arena memory;
    halley_error err;
    bool help;
    halley_status status;
    char text[256];
    const char *words[16];
} parsed;

static const cook_options *parse(parsed *p, const request_verb *command, const char *line)
{
    *p = (parsed){.call = {.program = &kitchen, .verb = command}};
    snprintf(p->text, sizeof p->text, "%s", line);
    size_t n = 0;
    for (char *w = strtok(p->text, " "); w; w = strtok(NULL, " "))
        p->words[n++] = w;
    p->status = cli_parse(&p->call, &p->memory, &p->help, p->words, n, &p->err);
    return p->call.options;
}

static void every_kind_of_option_is_stored_where_the_table_says(void **state)
{
    (void)state;
    parsed p;
    const cook_options *o = parse(&p, &cook,
                                  "-q --out=a.txt --with egg --with=pea -g4 --grains "
                                  "18446744073709551615 --spice -2.5 --style fried pot");
    assert_int_equal(p.status, HALLEY_OK);
    assert_true(o->quiet);
    assert_string_equal(o->out, "a.txt");
    assert_int_equal(o->with.n, 2);
    assert_string_equal(o->with.at[0], "egg");
    assert_string_equal(o->with.at[1], "pea");
    assert_int_equal(o->guests, 4);
    assert_true(o->grains == UINT64_MAX);
    assert_true(o->spice == -2.5);
    assert_int_equal(o->style, 1);
    assert_int_equal(p.call.n_args, 1);
    assert_string_equal(p.call.args[0], "pot");
    arena_fini(&p.memory);
}

static void quantities_are_read_with_their_unit(void **state)
{
    (void)state;
    parsed p;
    const cook_options *o = parse(&p, &cook, "--heat=10min");
    assert_int_equal(p.status, HALLEY_OK);
    assert_true(o->heat_s == 600);
    arena_fini(&p.memory);
    parse(&p, &cook, "--heat 10GB");
    assert_int_equal(p.status, HALLEY_EINVAL);
    assert_non_null(strstr(p.err.text, "--heat"));
    arena_fini(&p.memory);
}

static void what_is_not_given_keeps_its_default(void **state)
{
    (void)state;
    parsed p;
    const cook_options *o = parse(&p, &cook, "-g 3");
    assert_true(o->salt);
    assert_null(o->out);
    assert_true(request_given(&p.call, "guests"));
    assert_false(request_given(&p.call, "salt"));
    arena_fini(&p.memory);
    o = parse(&p, &cook, "--no-salt");
    assert_false(o->salt);
    assert_int_equal(o->guests, 2);
    assert_true(request_given(&p.call, "salt"));
    arena_fini(&p.memory);
}

static void two_dashes_end_the_options(void **state)
{
    (void)state;
    parsed p;
    const cook_options *o = parse(&p, &cook, "-q -- --salt -q");
    assert_int_equal(p.status, HALLEY_OK);
    assert_true(o->quiet);
    assert_int_equal(p.call.n_args, 2);
    assert_string_equal(p.call.args[0], "--salt");
    arena_fini(&p.memory);
}

static void a_dash_and_negative_numbers_are_arguments(void **state)
{
    (void)state;
    parsed p;
    parse(&p, &cook, "- -5");
    assert_int_equal(p.status, HALLEY_OK);
    assert_int_equal(p.call.n_args, 2);
    assert_string_equal(p.call.args[1], "-5");
    arena_fini(&p.memory);
}

static void help_wins_over_what_is_wrong_behind_it(void **state)
{
    (void)state;
    static const char *const lines[] = {"--help", "-h", "a --help b c d",
                                        "-q -h --nonsense"};
    for (size_t i = 0; i < 4; i++) {
        parsed p;
        parse(&p, &cook, lines[i]);
        assert_int_equal(p.status, HALLEY_OK);
        assert_true(p.help);
        arena_fini(&p.memory);
    }
}

static void wrong_command_lines_get_their_sentence(void **state)
{
    (void)state;
    static const struct {
        const request_verb *command;
        const char *line, *sentence;
    } rows[] = {
        {&cook, "--gests 3", "unknown option --gests, did you mean --guests?"},
        {&cook, "--xyzzy=3", "unknown option --xyzzy"},
        {&cook, "-x", "unknown option -x"},
        {&cook, "-qg", "unknown option -qg"},
        {&cook, "--no-quiet", "unknown option --no-quiet"},
        {&cook, "--quiet=1", "--quiet takes no value"},
        {&cook, "--no-salt=1", "--no-salt takes no value"},
        {&cook, "--out", "--out needs a value, FILE"},
        {&cook, "--out --quiet", "--out needs a value, FILE"},
        {&cook, "-o -q", "--out needs a value, FILE"},
        {&cook, "-g 0", "--guests must be at least 1, is 0"},
        {&cook, "-g 13", "--guests must be at most 12, is 13"},
        {&cook, "-g -1", "--guests must be a whole number, is '-1'"},
        {&cook, "--grains 18446744073709551616",
         "--grains must be a whole number, is '18446744073709551616'"},
        {&cook, "-g 4294967297", "--guests must be a whole number, is '4294967297'"},
        {&cook, "--guests=", "--guests must be a whole number, is ''"},
        {&cook, "--out=", "--out needs a value, is empty"},
        {&cook, "--spice hot", "--spice must be a number, is 'hot'"},
        {&cook, "--style friet",
         "--style must be one of boiled, fried; is 'friet', did you mean fried?"},
        {&cook, "--style", "--style needs a value, one of its choices"},
        {&cook, "a b c", "rice cook takes at most 2 arguments (POT LID), was given 3"},
        {&wash, "", "wash needs at least 1 argument (POT...), was given 0"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        parsed p;
        parse(&p, rows[i].command, rows[i].line);
        assert_int_equal(p.status, HALLEY_EINVAL);
        if (strncmp(p.err.text, rows[i].sentence, strlen(rows[i].sentence)) != 0)
            assert_string_equal(p.err.text, rows[i].sentence);
        arena_fini(&p.memory);
    }
}

static void a_command_may_keep_options_it_does_not_declare(void **state)
{
    (void)state;
    parsed p;
    parse(&p, &wash, "--workload-configuration=a.et pot --num-queues-per-dim=2");
    assert_int_equal(p.status, HALLEY_OK);
    assert_int_equal(p.call.n_unknown, 2);
    assert_string_equal(p.call.unknown[0], "--workload-configuration=a.et");
    assert_int_equal(p.call.n_args, 1);
    arena_fini(&p.memory);
}

static const request_verb *find(const char *first, const char *second, halley_error *err,
                                const cli_group **group)
{
    const char *const words[] = {first, second};
    size_t n_used = 0;
    *err = (halley_error){0};
    return cli_find(&kitchen, words, second ? 2 : 1, &n_used, group, err);
}

static void commands_are_found_by_one_word_or_two(void **state)
{
    (void)state;
    halley_error err;
    const cli_group *group;
    assert_ptr_equal(find("wash", NULL, &err, &group), &wash);
    assert_ptr_equal(find("rice", "cook", &err, &group), &cook);
    assert_null(find("rice", NULL, &err, &group));
    assert_ptr_equal(group, &groups[0]);
    assert_int_equal(err.code, HALLEY_OK);
    assert_null(find("rice", "cok", &err, &group));
    assert_string_equal(err.text, "no command \"rice cok\"; did you mean rice cook?");
    assert_null(find("ric", NULL, &err, &group));
    assert_string_equal(err.text, "no command \"ric\"; did you mean rice?");
    assert_null(find("weigh", NULL, &err, &group));
    assert_string_equal(err.text, "no command \"weigh\"; did you mean rice weigh?");
    assert_null(find("rice-cook", NULL, &err, &group));
    assert_string_equal(err.text, "no command \"rice-cook\"; did you mean rice cook?");
}

static char *written(void (*write)(FILE *, const cli_program *, const request_verb *))
{
    char *text = NULL;
    size_t n = 0;
    FILE *to = open_memstream(&text, &n);
    write(to, &kitchen, &cook);
    fclose(to);
    return text;
}

static void help_shows_every_option_in_its_spelling(void **state)
{
    (void)state;
    static const char *const parts[] = {"usage: kitchen rice cook [OPTIONS] POT LID\n",
                                        "\n  -o, --out FILE ",
                                        "\n      --[no-]salt ",
                                        "\n      --with WHAT... ",
                                        "\n      --style boiled|fried ",
                                        "\n  -h, --help "};
    char *text = written(cli_help_command);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        assert_non_null(strstr(text, parts[i]));
    free(text);
}

static void roff_takes_no_text_for_a_request(void **state)
{
    (void)state;
    char *text = written(cli_man);
    assert_non_null(strstr(text, ".TH KITCHEN\\-RICE\\-COOK 1 \"2026-01-01\""));
    assert_non_null(strstr(text, "\n.B \\-o, \\-\\-out FILE\n"));
    assert_null(strstr(text, "--"));
    free(text);
}

/* The strings outlive the call; the arena does not. */
static halley_status parse_line(void *context, halley_error *err)
{
    const char *const words[] = {"--with",  "egg",   "--with", "pea",
                                 "--style", context, "pot"};
    request_call call = {.program = &kitchen, .verb = &cook};
    arena memory = {0};
    bool help;
    const halley_status status = cli_parse(&call, &memory, &help, words, 7, err);
    arena_fini(&memory);
    return status == HALLEY_EINVAL ? HALLEY_OK : status;
}

static void memory_that_runs_out_while_parsing_is_reported(void **state)
{
    (void)state;
    assert_true(alloc_fail_everywhere(parse_line, "fried") > 0);
    assert_true(alloc_fail_everywhere(parse_line, "frid") > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_option_is_stored_where_the_table_says),
        cmocka_unit_test(quantities_are_read_with_their_unit),
        cmocka_unit_test(what_is_not_given_keeps_its_default),
        cmocka_unit_test(two_dashes_end_the_options),
        cmocka_unit_test(a_dash_and_negative_numbers_are_arguments),
        cmocka_unit_test(help_wins_over_what_is_wrong_behind_it),
        cmocka_unit_test(wrong_command_lines_get_their_sentence),
        cmocka_unit_test(a_command_may_keep_options_it_does_not_declare),
        cmocka_unit_test(commands_are_found_by_one_word_or_two),
        cmocka_unit_test(help_shows_every_option_in_its_spelling),
        cmocka_unit_test(roff_takes_no_text_for_a_request),
        cmocka_unit_test(memory_that_runs_out_while_parsing_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
