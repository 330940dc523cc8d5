/*
 * Any bytes as one of the cluster files: our own form, and ASTRA-sim's four. The first
 * byte says which. What our own loader takes must be saved so that it is loaded as the
 * same text, at any number of NPUs.
 */
#include "astra/astra.h"
#include "base/conf/conf.h"
#include "hw/count.h"
#include "hw/read/read_file.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n);

/* Something to hang the other files on. */
static void small_network(halley_cluster *c)
{
    c->astra = true;
    c->n_dims = 2;
    c->n_npus = 32;
    c->dims[0] = (cluster_dim){.name = "", .n = 8, .bw_Bps = 1e9};
    c->dims[1] = (cluster_dim){.name = "", .n = 4, .bw_Bps = 1e9};
}

static void read_one(halley_cluster *c, const conf_file *file, uint8_t which)
{
    halley_error err;
    const halley_astra_files files = {0};
    small_network(c);
    switch (which % 5) {
    case 1:
        (void)astra_network_from(c, file, &err);
        break;
    case 2:
        (void)astra_system_from(c, file, &files, &err);
        break;
    case 3:
        (void)astra_memory_from(c, file, &err);
        break;
    default:
        (void)cluster_read_groups(c, file, file->root, &err);
        break;
    }
}

static void save_and_load(const halley_cluster *c)
{
    char *once = NULL, *twice = NULL;
    halley_cluster *again = NULL;
    halley_error err = {0};
    if (halley_cluster_print(&once, c, NULL) != HALLEY_OK ||
        halley_cluster_parse(&again, once, strlen(once), "saved.yaml", &err) !=
            HALLEY_OK ||
        halley_cluster_print(&twice, again, NULL) != HALLEY_OK ||
        strcmp(once, twice) != 0)
        abort();
    halley_cluster_free(again);
    free(once);
    free(twice);
}

static void ask(const halley_cluster *c)
{
    halley_level level;
    halley_error err;
    for (uint32_t i = 0; halley_cluster_level(&level, c, i); i++)
        if (!(level.bandwidth_Bps > 0) || !(level.oversubscription >= 1))
            abort();
    (void)halley_cluster_check_estimate(c, &err);
    const bool has_shape = c->n_dims > 0 || c->model == HW_MODEL_FLOW;
    if (hw_structure_check(c, &err) == HALLEY_OK && (!has_shape || c->n_npus == 0))
        abort();
}

static void read_own(conf_file *file, uint32_t n_npus)
{
    halley_error err;
    halley_cluster *c = cluster_new();
    if (c == NULL)
        abort();
    if (hw_file_read(c, file, n_npus, &err) == HALLEY_OK) {
        ask(c);
        save_and_load(c);
    }
    halley_cluster_free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    conf_file file;
    if (n < 1)
        return 0;
    const str text = {(const char *)at + 1, n - 1};
    if (conf_parse(&file, text, "fuzz", NULL) != HALLEY_OK)
        return 0;
    if (at[0] % 5 == 0) {
        read_own(&file, at[0] / 5); /* 0: as the file says */
        conf_fini(&file);
        return 0;
    }
    halley_cluster *c = cluster_new();
    if (c == NULL)
        abort();
    read_one(c, &file, at[0]);
    halley_cluster_free(c);
    conf_fini(&file);
    return 0;
}
