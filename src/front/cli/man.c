/* Writes the table of commands as man pages, in the man(7) macros that mandoc and groff
 * share. */
#include "base/str.h"
#include "cli/cli.h"

#include <ctype.h>
#include <string.h>

enum { WIDTH = 76 };

static bool is_request(str text)
{
    return text.n > 0 && (text.at[0] == '.' || text.at[0] == '\'');
}

/* Write text with everything escaped that roff would interpret. */
static void put_escaped(FILE *to, str text)
{
    if (is_request(text))
        fputs("\\&", to);
    for (size_t i = 0; i < text.n; i++) {
        if (text.at[i] == '\\')
            fputs("\\e", to);
        else if (text.at[i] == '-')
            fputs("\\-", to);
        else
            fputc(text.at[i], to);
    }
}

static size_t escaped_size(str text)
{
    size_t n = text.n + (is_request(text) ? 2 : 0);
    for (size_t i = 0; i < text.n; i++)
        n += text.at[i] == '\\' || text.at[i] == '-';
    return n;
}

/* Write running text, in source lines of moderate length. */
static void write_running_text(FILE *to, str text)
{
    str word;
    size_t column = 0;
    while (str_next(&text, ' ', &word)) {
        if (word.n == 0)
            continue;
        if (column > 0 && column + 1 + escaped_size(word) > WIDTH) {
            fputc('\n', to);
            column = 0;
        } else if (column > 0) {
            fputc(' ', to);
            column++;
        }
        put_escaped(to, word);
        column += escaped_size(word);
    }
    fputc('\n', to);
}

static void text_line(FILE *to, const char *text)
{
    put_escaped(to, str_from(text));
    fputc('\n', to);
}

/* As in help.c: blank lines separate paragraphs, lines that start with a space are
 * verbatim. */
static void write_man_paragraphs(FILE *to, const char *text)
{
    str rest = str_from(text), line;
    bool verbatim = false, fresh = false;
    while (str_next(&rest, '\n', &line)) {
        if (line.n == 0) {
            fresh = true;
            continue;
        }
        const bool indented = line.at[0] == ' ';
        if (verbatim && !indented)
            fputs(".EE\n", to);
        if (fresh)
            fputs(".PP\n", to);
        if (indented && !verbatim)
            fputs(".EX\n", to);
        verbatim = indented;
        fresh = false;
        if (indented) {
            put_escaped(to, line);
            fputc('\n', to);
        } else {
            write_running_text(to, line);
        }
    }
    if (verbatim)
        fputs(".EE\n", to);
}

/* Write "halley-trace-info" for "trace info"; in capitals for the title. */
static void page_name(FILE *to, const cli_program *program, const char *name, bool title)
{
    strbuf b = {0};
    strbuf_printf(&b, "%s%s%s", program->name, name ? "-" : "", name ? name : "");
    for (size_t i = 0; i < b.n; i++) {
        if (b.at[i] == ' ')
            b.at[i] = '-';
        if (title)
            b.at[i] = (char)toupper((unsigned char)b.at[i]);
    }
    put_escaped(to, strbuf_str(&b));
    strbuf_fini(&b);
}

static void write_man_title(FILE *to, const cli_program *program, const char *name,
                            const char *summary, bool file)
{
    fputs(".TH ", to);
    page_name(to, program, name, true);
    fprintf(to, " %s \"%s\" \"%s %s\" \"%s\"\n.SH NAME\n", file ? "5" : "1",
            program->date, program->name, program->version,
            file ? "File Formats" : "User Commands");
    page_name(to, program, name, false);
    fputs(" \\- ", to);
    text_line(to, summary);
}

static void write_man_head(FILE *to, const cli_program *program, const char *name,
                           const char *summary)
{
    write_man_title(to, program, name, summary, false);
    fputs(".SH SYNOPSIS\n", to);
}

static void option_entry(FILE *to, const char *spelling, const char *doc)
{
    fputs(".TP\n.B ", to);
    text_line(to, spelling);
    write_running_text(to, str_from(doc));
}

static void option_entries(FILE *to, const request_verb *command)
{
    fputs(".SH OPTIONS\n", to);
    for (request_option_walk w = {.verb = command}; request_option_next(&w);) {
        const request_option *const o = &w.option;
        strbuf spelling = {0}, doc = {0};
        cli_option_spelling(&spelling, o);
        cli_option_doc(&doc, o);
        option_entry(to, spelling.failed ? o->name : spelling.at,
                     doc.failed ? o->doc : doc.at);
        strbuf_fini(&spelling);
        strbuf_fini(&doc);
    }
    option_entry(to, "--max-memory SIZE", CLI_MAX_MEMORY_DOC);
    option_entry(to, "-h, --help", "show the help");
}

static void write_man_examples(FILE *to, const request_example *example)
{
    if (!example)
        return;
    fputs(".SH EXAMPLES\n", to);
    for (; example->command; example++) {
        fputs(".TP\n.B ", to);
        text_line(to, example->command);
        if (example->doc)
            write_running_text(to, str_from(example->doc));
    }
}

static void exit_status(FILE *to)
{
    fputs(".SH EXIT STATUS\n"
          "0 when done, 1 when something failed (the reason is on standard error),\n"
          "2 when the command line is wrong.\n",
          to);
}

static void write_man_lists(FILE *to, const request_list *list)
{
    request_entry e = {0};
    for (; list && list->title; list++) {
        fputs(".SH ", to);
        for (const char *c = list->title; *c; c++)
            fputc(toupper((unsigned char)*c), to);
        fputc('\n', to);
        for (size_t i = 0; e = (request_entry){0}, list->entry(&e, i); i++) {
            strbuf doc = {0};
            cli_entry_doc(&doc, &e);
            option_entry(to, e.name, doc.failed ? e.doc : doc.at);
            strbuf_fini(&doc);
        }
    }
}

void cli_man_format(FILE *to, const cli_program *program, const cli_format *format)
{
    write_man_title(to, program, format->name, format->summary, true);
    fputs(".SH DESCRIPTION\n", to);
    write_man_paragraphs(to, format->description);
    write_man_lists(to, format->lists);
    fputs(".SH SEE ALSO\n.BR ", to);
    page_name(to, program, format->commands, false);
    fputs(" (1)\n", to);
}

static void command_page(FILE *to, const cli_program *program,
                         const request_verb *command)
{
    write_man_head(to, program, command->name, command->summary);
    fputs(".nf\n", to);
    cli_synopsis(to, program, command);
    fputs("\n.fi\n.SH DESCRIPTION\n", to);
    write_man_paragraphs(to, command->description);
    option_entries(to, command);
    write_man_lists(to, command->lists);
    write_man_examples(to, command->examples);
    exit_status(to);
    fputs(".SH SEE ALSO\n.BR ", to);
    page_name(to, program, NULL, false);
    fputs(" (1)\n", to);
}

static void overview_page(FILE *to, const cli_program *program)
{
    write_man_head(to, program, NULL, program->summary);
    fprintf(to, ".nf\n%s COMMAND [OPTIONS] ...\n.fi\n.SH DESCRIPTION\n", program->name);
    write_man_paragraphs(to, program->description);
    fputs(".SH COMMANDS\nEach has its own page.\n", to);
    for (const request_verb *const *c = program->commands; *c; c++) {
        fputs(".TP\n.BR ", to);
        page_name(to, program, (*c)->name, false);
        fputs(" (1)\n", to);
        text_line(to, (*c)->summary);
    }
    if (program->formats != NULL)
        fputs(".SH FILE FORMATS\nEach has its own page.\n", to);
    for (const cli_format *const *f = program->formats; f && *f; f++) {
        fputs(".TP\n.BR ", to);
        page_name(to, program, (*f)->name, false);
        fputs(" (5)\n", to);
        text_line(to, (*f)->summary);
    }
    fputs(".SH OPTIONS\n", to);
    option_entry(to, "-h, --help", "show the overview; after a command, its help");
    option_entry(to, "-v, --version", "show the version; so does the command version");
    fputs(".SH ENVIRONMENT\n", to);
    option_entry(to, "HALLEY_MAX_MEMORY",
                 "the largest amount of memory to use, as with --max-memory, which every "
                 "command has (default: half of the machine's; example: 8 GB)");
    exit_status(to);
}

void cli_man(FILE *to, const cli_program *program, const request_verb *command)
{
    if (command)
        command_page(to, program, command);
    else
        overview_page(to, program);
}
