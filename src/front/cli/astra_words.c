/*
 * cli/astra_words.c - behaves as ASTRA-sim's programs. If the program is called by one of
 * their names, through a link, its words become those of `halley sim --astra-output`.
 * HTSim's options, which are all words after --htsim_opts, become options of ours.
 */
#include "base/arena.h"
#include "base/str.h"
#include "cli/commands.h"

#include <string.h>

static const struct {
    const char *name, *model; /* NULL: the files select it */
} astra_names[] = {
    {"AstraSim_Analytical_Congestion_Unaware", "--network-model=unaware"},
    {"AstraSim_Analytical_Congestion_Aware", "--network-model=aware"},
    {"AnalyticalAstra", "--network-model=unaware"}, /* links of its build, and 1.0 */
    {"AstraCongestion", "--network-model=aware"},
    {"AstraSim_HTSim", NULL},
};

enum { MOST_ADDED = 4 }; /* words */

typedef struct word_list {
    arena *memory;
    char **at;
    int n;
} word_list;

static void add_word(word_list *to, const char *word)
{
    to->at[to->n++] = arena_copy(to->memory, str_from(word));
}

static bool is_given(int argc, char **argv, const char *option)
{
    const size_t n = strlen(option);
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], option, n) == 0 && (argv[i][n] == '=' || argv[i][n] == 0))
            return true;
    return false;
}

/* Add the words that replace a name of ASTRA-sim's programs; false: it is not such a
 * name. */
static bool add_name_words(word_list *to, int argc, char **argv)
{
    const char *const slash = strrchr(argv[0], '/');
    const char *const name = slash == NULL ? argv[0] : slash + 1;
    const size_t n_names = sizeof astra_names / sizeof *astra_names;
    size_t i = 0;
    while (i < n_names && strcmp(name, astra_names[i].name) != 0)
        i++;
    if (i == n_names && strstr(name, "AstraSimNetwork") == NULL) /* ns3.42-…-default */
        return false;
    add_word(to, "sim");
    add_word(to, "--astra-output");
    if (!is_given(argc, argv, "--logging-folder"))
        add_word(to, "--logging-folder=log");
    if (i < n_names && astra_names[i].model != NULL)
        add_word(to, astra_names[i].model);
    return true;
}

/* What follows --htsim_opts. */
static void add_htsim_words(word_list *to, int argc, char **argv)
{
    for (int i = 0; i < argc; i++) {
        const bool is_topology = strcmp(argv[i], "-topo") == 0 && i + 1 < argc;
        to->at[to->n++] = arena_printf(to->memory, "%s=%s",
                                       is_topology ? "--htsim-topology" : "--htsim_opts",
                                       is_topology ? argv[i + 1] : argv[i]);
        i += is_topology;
    }
}

char **cli_astra_words(arena *memory, int *argc, char **argv)
{
    int end = 1;
    while (end < *argc && strcmp(argv[end], "--htsim_opts") != 0)
        end++;
    word_list words = {memory, NULL, 0};
    words.at = arena_array(memory, (size_t)*argc + MOST_ADDED + 2, sizeof *words.at);
    if (*argc < 1 || words.at == NULL)
        return argv;
    add_word(&words, argv[0]);
    if (!add_name_words(&words, *argc, argv) && end == *argc)
        return argv;
    for (int i = 1; i < end; i++)
        add_word(&words, argv[i]);
    if (end < *argc)
        add_htsim_words(&words, *argc - end - 1, argv + end + 1);
    for (int i = 0; i < words.n; i++)
        if (words.at[i] == NULL)
            return argv;
    *argc = words.n;
    return words.at;
}
