/*
 * Writes --help from the tables. Text is wrapped at 80 columns, whatever the terminal, so
 * that users see what is tested.
 */
#include "base/str.h"
#include "cli/cli.h"

#include <string.h>

enum { WIDTH = 80, OPTION_COLUMN = 28 };

/* Print `text` word by word from `column`, later lines indented by `indent`. */
static void wrap_words(FILE *to, str text, size_t column, size_t indent)
{
    str word;
    bool first = true;
    while (str_next(&text, ' ', &word)) {
        if (word.n == 0)
            continue;
        if (!first && column + 1 + word.n > WIDTH) {
            fprintf(to, "\n%*s", (int)indent, "");
            column = indent;
        } else if (!first) {
            fputc(' ', to);
            column++;
        }
        fprintf(to, "%.*s", STR_ARG(word));
        column += word.n;
        first = false;
    }
    fputc('\n', to);
}

/* Paragraphs are separated by blank lines; lines that start with a space are verbatim. */
static void write_help_paragraphs(FILE *to, const char *text)
{
    str rest = str_from(text), line;
    strbuf paragraph = {0};
    while (str_next(&rest, '\n', &line)) {
        const bool verbatim = line.n > 0 && line.at[0] == ' ';
        if (paragraph.n > 0 && (line.n == 0 || verbatim)) {
            wrap_words(to, strbuf_str(&paragraph), 0, 0);
            paragraph.n = 0;
        }
        if (line.n == 0 || verbatim) {
            fprintf(to, "%.*s\n", STR_ARG(line));
            continue;
        }
        strbuf_add(&paragraph, line);
        strbuf_add_char(&paragraph, ' ');
    }
    if (paragraph.n > 0)
        wrap_words(to, strbuf_str(&paragraph), 0, 0);
    strbuf_fini(&paragraph);
}

void cli_synopsis(FILE *to, const cli_program *program, const request_verb *command)
{
    const bool any = command->arguments && *command->arguments;
    fprintf(to, "%s %s [OPTIONS]%s%s", program->name, command->name, any ? " " : "",
            any ? command->arguments : "");
}

void cli_option_spelling(strbuf *to, const request_option *option)
{
    if (option->letter)
        strbuf_printf(to, "-%c, ", option->letter);
    strbuf_printf(to, "--%s%s", option->negatable ? "[no-]" : "", option->name);
    if (option->choices != NULL) {
        for (size_t i = 0; option->choices[i]; i++)
            strbuf_printf(to, "%s%s", i ? "|" : " ", option->choices[i]);
    } else if (option->implicit) {
        strbuf_printf(to, "[=%s]", option->metavar);
    } else if (option->metavar) {
        strbuf_printf(to, " %s", option->metavar);
    }
    if (option->kind == REQUEST_TEXTS)
        strbuf_add(to, STR("..."));
}

static void option_line(FILE *to, const char *spelling, bool letter, const char *doc)
{
    const int indent = letter ? 2 : 6;
    const int n = fprintf(to, "%*s%s", indent, "", spelling);
    if (n + 2 > OPTION_COLUMN)
        fprintf(to, "\n%*s", OPTION_COLUMN, "");
    else
        fprintf(to, "%*s", OPTION_COLUMN - n, "");
    wrap_words(to, str_from(doc), OPTION_COLUMN, OPTION_COLUMN);
}

static bool has_word(const char *doc, const char *word)
{
    return str_contains(str_from(doc), str_from(word));
}

/* Add " (default: 1 MB; example: 4 MB)" or " (required; example: 8)"; nothing without
 * both. */
static void add_values(strbuf *to, const char *by_default, const char *example)
{
    const bool is_required =
        by_default != NULL && str_starts(str_from(by_default), STR(REQUEST_REQUIRED));
    const bool has_example =
        example != NULL && (by_default == NULL || !has_word(by_default, example));
    if (by_default == NULL && !has_example)
        return;
    strbuf_printf(to, " (%s%s%s%s%s)",
                  by_default == NULL || is_required ? "" : "default: ",
                  by_default != NULL ? by_default : "",
                  by_default != NULL && has_example ? "; " : "",
                  has_example ? "example: " : "", has_example ? example : "");
}

void cli_option_doc(strbuf *to, const request_option *option)
{
    request_option_doc(to, option);
    if (option->kind != REQUEST_FLAG || option->negatable)
        add_values(to, option->by_default, option->example);
}

static void option_list(FILE *to, const request_verb *command)
{
    fputs("\noptions:\n", to);
    for (request_option_walk w = {.verb = command}; request_option_next(&w);) {
        const request_option *const o = &w.option;
        strbuf spelling = {0}, doc = {0};
        cli_option_spelling(&spelling, o);
        cli_option_doc(&doc, o);
        option_line(to, spelling.failed ? o->name : spelling.at, o->letter != 0,
                    doc.failed ? o->doc : doc.at);
        strbuf_fini(&spelling);
        strbuf_fini(&doc);
    }
    option_line(to, "--max-memory SIZE", false, CLI_MAX_MEMORY_DOC);
    option_line(to, "-h, --help", true, "show this help");
}

static void example_list(FILE *to, const request_example *example)
{
    if (!example)
        return;
    fputs("\nexamples:\n", to);
    for (; example->command; example++) {
        fprintf(to, "  %s\n", example->command);
        if (!example->doc)
            continue;
        fputs("      ", to);
        wrap_words(to, str_from(example->doc), 6, 6);
    }
}

void cli_entry_doc(strbuf *to, const request_entry *entry)
{
    bool said = true;
    strbuf_add(to, str_from(entry->doc));
    for (size_t i = 0; entry->values != NULL && entry->values[i] != NULL; i++)
        said = said && has_word(entry->doc, entry->values[i]);
    for (size_t i = 0; !said && entry->values[i] != NULL; i++)
        strbuf_printf(to, "%s%s", i == 0 ? ": " : ", ", entry->values[i]);
    if (entry->form != NULL && strchr(entry->form, '|') != NULL)
        strbuf_printf(to, ": %s", entry->form);
    add_values(to, entry->by_default, entry->example);
}

static void write_help_lists(FILE *to, const request_list *list)
{
    request_entry e = {0};
    for (; list && list->title; list++) {
        fprintf(to, "\n%s:\n", list->title);
        for (size_t i = 0; e = (request_entry){0}, list->entry(&e, i); i++) {
            strbuf doc = {0};
            cli_entry_doc(&doc, &e);
            option_line(to, e.name, true, doc.failed ? e.doc : doc.at);
            strbuf_fini(&doc);
        }
    }
}

const cli_format *cli_find_format(const cli_program *program, const char *name)
{
    for (const cli_format *const *f = program->formats; f && *f; f++) {
        if (strcmp((*f)->name, name) == 0)
            return *f;
    }
    return NULL;
}

void cli_help_format(FILE *to, const cli_program *program, const cli_format *format)
{
    fprintf(to, "%s %s files - %s\n\n", program->name, format->name, format->summary);
    write_help_paragraphs(to, format->description);
    write_help_lists(to, format->lists);
}

void cli_help_command(FILE *to, const cli_program *program, const request_verb *command)
{
    fputs("usage: ", to);
    cli_synopsis(to, program, command);
    fprintf(to, "\n\n%s %s - %s\n", program->name, command->name, command->summary);
    if (command->description && *command->description) {
        fputc('\n', to);
        write_help_paragraphs(to, command->description);
    }
    option_list(to, command);
    write_help_lists(to, command->lists);
    example_list(to, command->examples);
}

static void summary_line(FILE *to, const char *name, const char *summary)
{
    const int column = 20;
    const int n = fprintf(to, "  %-*s", column - 2, name);
    if (n > column)
        fprintf(to, "\n%*s", column, "");
    wrap_words(to, str_from(summary), (size_t)column, (size_t)column);
}

void cli_help_group(FILE *to, const cli_program *program, const cli_group *group)
{
    fprintf(to, "usage: %s %s COMMAND [OPTIONS] ...\n\n%s %s - %s\n\ncommands:\n",
            program->name, group->name, program->name, group->name, group->summary);
    for (const request_verb *const *c = program->commands; *c; c++)
        if (cli_in_group(*c, group))
            summary_line(to, (*c)->name + strlen(group->name) + 1, (*c)->summary);
    fprintf(to, "\n'%s %s COMMAND --help' explains each.\n", program->name, group->name);
}

void cli_help_overview(FILE *to, const cli_program *program)
{
    fprintf(to, "usage: %s COMMAND [OPTIONS] ...\n\n%s - %s\n\ncommands:\n",
            program->name, program->name, program->summary);
    for (const request_verb *const *c = program->commands; *c; c++)
        if (!strchr((*c)->name, ' '))
            summary_line(to, (*c)->name, (*c)->summary);
    for (const cli_group *g = program->groups; g->name; g++) {
        fprintf(to, "\n%s:\n", g->summary);
        for (const request_verb *const *c = program->commands; *c; c++)
            if (cli_in_group(*c, g))
                summary_line(to, (*c)->name, (*c)->summary);
    }
    for (const cli_format *const *f = program->formats; f && *f; f++) {
        if (f == program->formats)
            fputs("\nfile formats:\n", to);
        summary_line(to, (*f)->name, (*f)->summary);
    }
    fprintf(to,
            "\n'%s COMMAND --help' explains a command, '%s help FORMAT' a file format;\n"
            "'%s --version' prints the version.\n",
            program->name, program->name, program->name);
}
