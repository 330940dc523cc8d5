/* Files compiled into the library. They are found by path, presets by folder and name. */
#include "hw/embedded.h"

#include "halley/cluster.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

const cluster_embedded *cluster_embedded_find(const char *path)
{
    for (size_t i = 0; i < cluster_embedded_n; i++) {
        if (strcasecmp(cluster_embedded_files[i].path, path) == 0)
            return &cluster_embedded_files[i];
    }
    return NULL;
}

const char *halley_builtin_text(const char *path)
{
    const cluster_embedded *file = cluster_embedded_find(path);
    return file != NULL ? file->text : NULL;
}

/* The name part of an embedded path inside `folder`, or an empty view. */
static str name_in(const char *path, const char *folder)
{
    char prefix[64];
    snprintf(prefix, sizeof prefix, "presets/%s/", folder);
    str s = str_from(path);
    if (!str_starts(s, str_from(prefix)) || !str_ends(s, STR(".yaml")))
        return (str){"", 0};
    const size_t skip = strlen(prefix);
    return (str){s.at + skip, s.n - skip - strlen(".yaml")};
}

bool cluster_preset_name(char *to, size_t size, const char *folder, size_t i)
{
    for (size_t j = 0; j < cluster_embedded_n; j++) {
        const str name = name_in(cluster_embedded_files[j].path, folder);
        if (name.n == 0 || i-- > 0)
            continue;
        snprintf(to, size, "%.*s", STR_ARG(name));
        return true;
    }
    return false;
}

enum { MAX_NAMES = 256, NAME_SIZE = 64, MOST_NEAR = 3, MOST_LISTED = 12 };

/* Names of presets that a misspelled name may mean. */
typedef struct near_names {
    char texts[MAX_NAMES][NAME_SIZE];
    const char *found[MAX_NAMES];
    size_t n, n_found;
} near_names;

/* True if `part` is a whole part between dashes: "a100" of "dgx-a100". */
static bool has_part(str name, str part)
{
    str piece;
    while (str_next(&name, '-', &piece))
        if (str_eq(piece, part))
            return true;
    return false;
}

static void find_names(near_names *near, str wrong, bool (*fits)(str name, str wrong))
{
    for (size_t i = 0; i < near->n; i++)
        if (fits(str_from(near->texts[i]), wrong))
            near->found[near->n_found++] = near->texts[i];
}

/* All names at the smallest edit distance, if that is small enough. */
static void find_nearest_names(near_names *near, str wrong)
{
    const char *names[MAX_NAMES];
    for (size_t i = 0; i < near->n; i++)
        names[i] = near->texts[i];
    const char *first = str_nearest(wrong, names, near->n);
    if (first == NULL)
        return;
    const uint32_t least = str_distance(wrong, str_from(first));
    for (size_t i = 0; i < near->n; i++)
        if (str_distance(wrong, str_from(names[i])) == least)
            near->found[near->n_found++] = names[i];
}

/* Find presets by a part of their name or with a spelling mistake, the surest way
 * first. */
static void find_meant(near_names *near, const char *folder, str wrong)
{
    while (near->n < MAX_NAMES &&
           cluster_preset_name(near->texts[near->n], NAME_SIZE, folder, near->n))
        near->n++;
    if (wrong.n >= 2)
        find_names(near, wrong, has_part);
    if (near->n_found == 0 && wrong.n >= 3)
        find_names(near, wrong, str_starts);
    if (near->n_found == 0)
        find_nearest_names(near, wrong);
    if (near->n_found == 0 && wrong.n >= 3)
        find_names(near, wrong, str_contains);
}

static void print_meant(char *to, size_t size, const near_names *near)
{
    const bool many = near->n_found > MOST_NEAR;
    size_t n = (size_t)snprintf(to, size, many ? "there are " : "did you mean ");
    for (size_t i = 0; i < near->n_found && i < MOST_LISTED && n + NAME_SIZE < size;
         i++) {
        const bool last = i + 1 == near->n_found;
        n += (size_t)snprintf(to + n, size - n, "%s%s",
                              i == 0          ? ""
                              : last && !many ? " or "
                                              : ", ",
                              near->found[i]);
    }
    snprintf(to + n, size - n, "%s",
             near->n_found > MOST_LISTED ? ", ..."
             : many                      ? ""
                                         : "?");
}

/* The folder that contains a preset of this name, or NULL. */
static const char *find_folder_of(const char *name)
{
    static const char *const folders[] = {"models", "clusters", "npus",
                                          "links",  "fabrics",  "stacks"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (halley_preset_text(folders[i], name) != NULL)
            return folders[i];
    return NULL;
}

/* The words for one preset of a folder. */
static const char *name_preset(const char *folder)
{
    static const char *const names[][2] = {
        {"models", "a model"}, {"clusters", "a cluster"}, {"npus", "an accelerator"},
        {"links", "a link"},   {"fabrics", "a fabric"},   {"stacks", "a software stack"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i][0], folder) == 0)
            return names[i][1];
    return "a preset";
}

/* The error for a preset of another kind, for example a model given as a cluster. */
static halley_status refuse_kind(const char *folder, const char *name, const char *other,
                                 halley_error *err)
{
    const char *remedy = "";
    if (strcmp(other, "models") == 0)
        remedy = "; models are given with --model";
    else if (strcmp(other, "clusters") == 0)
        remedy = "; clusters are given with --cluster";
    else if (strcmp(folder, "clusters") == 0)
        remedy = "; `halley presets clusters` lists clusters, for example dgx-h100:64";
    return error_set(err, HALLEY_ENOTFOUND, "\"%s\" is %s, not %s%s", name,
                     name_preset(other), name_preset(folder), remedy);
}

static halley_status refuse_preset(const char *folder, const char *name,
                                   halley_error *err)
{
    near_names near = {0};
    char meant[512], small[NAME_SIZE];
    const int singular = (int)strlen(folder) - 1;
    const char *other = find_folder_of(name);
    if (other != NULL)
        return refuse_kind(folder, name, other, err);
    snprintf(small, sizeof small, "%s", name);
    for (char *c = small; *c != '\0'; c++)
        *c = *c == '_' ? '-' : *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
    find_meant(&near, folder, str_from(small));
    if (near.n_found == 0)
        snprintf(meant, sizeof meant, "`halley presets %s` lists them", folder);
    else
        print_meant(meant, sizeof meant, &near);
    return error_set(err, HALLEY_ENOTFOUND, "no %.*s \"%s\"; %s", singular, folder, name,
                     meant);
}

halley_status cluster_preset_load(conf_file *out, const char *folder, const char *name,
                                  halley_error *err)
{
    const str s = str_from(name);
    if (strchr(name, '/') || str_ends(s, STR(".yaml")) || str_ends(s, STR(".yml")) ||
        str_ends(s, STR(".json")))
        return conf_load(out, name, err);
    char path[256];
    snprintf(path, sizeof path, "presets/%s/%s.yaml", folder, name);
    const cluster_embedded *file = cluster_embedded_find(path);
    if (!file)
        return refuse_preset(folder, name, err);
    return conf_parse(out, (str){file->text, file->n}, file->path, err);
}

bool halley_preset_name(char *to, size_t size, const char *folder, size_t i)
{
    return cluster_preset_name(to, size, folder, i);
}

const char *halley_preset_text(const char *folder, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "presets/%s/%s.yaml", folder, name);
    const cluster_embedded *file = cluster_embedded_find(path);
    return file ? file->text : NULL;
}
