/* Files compiled in: found by path, presets by folder and name. */
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

enum { MAX_NAMES = 256, NAME_SIZE = 64 };

static halley_status unknown(const char *folder, const char *name, halley_error *err)
{
    static const size_t max = MAX_NAMES;
    char texts[MAX_NAMES][NAME_SIZE];
    const char *names[MAX_NAMES];
    size_t n = 0;
    while (n < max && cluster_preset_name(texts[n], NAME_SIZE, folder, n)) {
        names[n] = texts[n];
        n++;
    }
    const char *near = str_nearest(str_from(name), names, n);
    /* A part of one name only is near enough, too: "a100" in "dgx-a100". */
    for (size_t i = 0; !near && i < n; i++) {
        if (str_contains(str_from(names[i]), str_from(name)))
            near = names[i];
    }
    const int singular = (int)strlen(folder) - 1;
    if (near)
        return error_set(err, HALLEY_ENOTFOUND,
                         "no %.*s preset \"%s\"; did you mean \"%s\"?", singular, folder,
                         name, near);
    return error_set(err, HALLEY_ENOTFOUND,
                     "no %.*s preset \"%s\"; `halley presets` lists them", singular,
                     folder, name);
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
        return unknown(folder, name, err);
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
