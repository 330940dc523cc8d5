/*
 * Any bytes as one of the cluster files: our own form, and ASTRA-sim's four. The first
 * byte says which.
 */
#include "base/conf.h"
#include "hw/astra.h"
#include "hw/read_file.h"

#include <stddef.h>
#include <stdlib.h>

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

static void read_one(halley_cluster *c, conf_file *file, uint8_t which)
{
    halley_error err;
    const halley_astra_files files = {0};
    small_network(c);
    switch (which % 5) {
    case 0:
        (void)hw_file_read(c, file, 0, &err);
        break;
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

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    conf_file file;
    if (n < 1)
        return 0;
    const str text = {(const char *)at + 1, n - 1};
    if (conf_parse(&file, text, "fuzz", NULL) != HALLEY_OK)
        return 0;
    halley_cluster *c = cluster_new();
    if (c == NULL)
        abort();
    read_one(c, &file, at[0]);
    halley_cluster_free(c);
    conf_fini(&file);
    return 0;
}
