/* request/mention.c - whether a file names another one. */
#include "request/mention.h"

#include "base/file/file_root.h"
#include "base/str.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { MOST_BYTES = 1 << 20, MOST_DEPTH = 3 };

/* Characters that end a word in YAML, JSON, TOML and shell. */
static bool is_between_words(char c)
{
    return (unsigned char)c <= ' ' || strchr("\"'`,;:=(){}[]<>|&", c) != NULL;
}

static bool read_text(strbuf *out, const char *path)
{
    char part[4096];
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    for (size_t n; (n = fread(part, 1, sizeof part, file)) > 0 && out->n <= MOST_BYTES;)
        strbuf_add(out, (str){part, n});
    fclose(file);
    return !out->failed && out->n <= MOST_BYTES &&
           memchr(out->at, '\0', out->n) == NULL; /* else it is not a text file */
}

/* The next word of the text, without comments; false at its end. */
static bool take_word(str *text, str *word)
{
    size_t i = 0;
    while (i < text->n && is_between_words(text->at[i]))
        i++;
    if (i < text->n && text->at[i] == '#') {
        const char *end = memchr(text->at + i, '\n', text->n - i);
        const size_t n = end == NULL ? text->n : (size_t)(end - text->at);
        *text = (str){text->at + n, text->n - n};
        *word = (str){text->at, 0};
        return text->n > 0;
    }
    size_t n = 0;
    while (i + n < text->n && !is_between_words(text->at[i + n]))
        n++;
    *word = (str){text->at + i, n};
    *text = (str){text->at + i + n, text->n - i - n};
    return n > 0;
}

/* Make a path of the word, as it is or relative to the folder of the file that names it.
 */
static bool make_path(char to[PATH_MAX], str word, const char *from, bool in_folder)
{
    const char *slash = strrchr(from, '/');
    if (!in_folder)
        return snprintf(to, PATH_MAX, "%.*s", STR_ARG(word)) < PATH_MAX;
    if (slash == NULL || word.at[0] == '/')
        return false;
    return snprintf(to, PATH_MAX, "%.*s/%.*s", (int)(slash - from), from, STR_ARG(word)) <
           PATH_MAX;
}

static bool search_file(const char *path, const struct stat *wanted, uint32_t depth);

static bool is_wanted(const char *path, const struct stat *wanted, uint32_t depth)
{
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode))
        return false;
    return (info.st_ino == wanted->st_ino && info.st_dev == wanted->st_dev) ||
           (depth < MOST_DEPTH && file_root_allows(path) &&
            search_file(path, wanted, depth + 1));
}

static bool search_file(const char *path, const struct stat *wanted, uint32_t depth)
{
    struct stat info;
    strbuf text = {0};
    bool found = false;
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size > MOST_BYTES)
        return false;
    if (info.st_size > 0 && read_text(&text, path)) {
        str rest = strbuf_str(&text), word;
        char named[PATH_MAX];
        while (!found && take_word(&rest, &word)) {
            if (word.n == 0 || word.n > NAME_MAX)
                continue;
            found =
                (make_path(named, word, path, false) &&
                 is_wanted(named, wanted, depth)) ||
                (make_path(named, word, path, true) && is_wanted(named, wanted, depth));
        }
    }
    strbuf_fini(&text);
    return found;
}

bool request_mentions(const char *path, const struct stat *wanted)
{
    return search_file(path, wanted, 0);
}
