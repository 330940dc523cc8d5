/*
 * Finds the preset for a profiler's name of a device: "NVIDIA H100 80GB HBM3" is
 * h100-sxm-80gb. The first word of the preset must be a word of the name. If several
 * presets match, the one with the most words in the name wins. PCIe boards and bridged
 * pairs have these words in their names.
 */
#include "halley/cluster.h"
#include "hw/embedded.h"
#include "hw/link.h"
#include "hw/npu.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* True if the name contains the word, not as part of a longer word. */
static bool holds_whole_word(const char *name, const char *word, size_t n)
{
    for (const char *p = name; (p = strcasestr(p, word)) != NULL; p++) {
        const bool starts = p == name || !isalnum((unsigned char)p[-1]);
        if (starts && !isalnum((unsigned char)p[n]))
            return true;
    }
    return false;
}

/* How many words of the preset the name contains; 0 = not even the first. */
static int count_common_words(const char *name, const char *preset)
{
    int n_common = 0;
    for (const char *p = preset; *p != '\0';) {
        char word[64];
        const size_t n = strcspn(p, "-");
        if (n >= sizeof word)
            return 0;
        memcpy(word, p, n);
        word[n] = '\0';
        const bool found = holds_whole_word(name, word, n);
        if (p == preset && !found)
            return 0;
        if (!found && (strcasecmp(word, "pcie") == 0 || strcasecmp(word, "nvl") == 0))
            return 0;
        n_common += found;
        p += n + (p[n] == '-');
    }
    return n_common;
}

bool hw_npu_find_recorded(halley_npu *out, const char *device)
{
    char name[128], best[128] = "";
    int most = 0;
    for (size_t i = 0; cluster_preset_name(name, sizeof name, "npus", i); i++) {
        const int n = count_common_words(device, name);
        if (n > most) {
            most = n;
            memcpy(best, name, sizeof best);
        }
    }
    return most > 0 && cluster_npu_load(out, best, NULL) == HALLEY_OK;
}

bool halley_cluster_find_recorded(char *to, size_t size, const char *device)
{
    char name[128];
    halley_npu npu;
    bool is_found = false;
    if (!hw_npu_find_recorded(&npu, device))
        return false;
    for (size_t i = 0; !is_found && cluster_preset_name(name, sizeof name, "clusters", i);
         i++) {
        halley_cluster *cluster;
        if (halley_cluster_load(&cluster, name, NULL) != HALLEY_OK)
            continue;
        is_found = strcmp(halley_cluster_npu(cluster, 0)->name, npu.name) == 0;
        halley_cluster_free(cluster);
    }
    if (is_found)
        snprintf(to, size, "%s", name);
    return is_found;
}
