/* astra/text.h - an ASTRA-sim 1.0 workload file: layers and their parallelism. */
#ifndef ASTRA_TEXT_H
#define ASTRA_TEXT_H

#include "base/array.h"
#include "base/error.h"
#include "base/file/file.h"
#include "base/str.h"
#include "halley/ingest.h"

typedef enum text_kind {
    TEXT_MICRO,       /* collectives only */
    TEXT_DATA,        /* gradients are summed over all NPUs */
    TEXT_MODEL,       /* activations go over all NPUs */
    TEXT_DATA_MODEL,  /* both */
    TEXT_MODEL_DATA,  /* both, with the roles swapped */
    TEXT_DLRM,        /* embeddings by all-to-all, the rest data parallel */
    TEXT_TRANSFORMER, /* both, model parallel within groups */
    TEXT_RECOMPUTE,   /* the same, with recomputation of parts of forward */
    TEXT_CUSTOMIZED,  /* both, set per layer */
    TEXT_INFERENCE    /* forward only */
} text_kind;

/* One of forward, input gradient, weight gradient. */
typedef struct text_part {
    uint64_t time;           /* ns */
    uint64_t n_ops, n_bytes; /* COMET's columns; 0 = not given */
    str comm;                /* as in the file: "ALLREDUCE", "NONE" */
    uint64_t comm_size;      /* bytes */
} text_part;

typedef struct text_layer {
    str name;
    text_part forward, input, weight;
    bool is_checkpoint, starts_again; /* recompute from here; up to here */
} text_layer;

typedef struct text_file {
    file_input in;
    text_kind kind;
    uint64_t n_declared; /* number of layers in the second line */
    uint64_t last_bottom;
    uint64_t group; /* NPUs of a model-parallel group; 0 = not given */
    ARRAY(text_layer) layers;
} text_file;

/* Read the file. `file` is {0} before; call text_fini after, also on failure. `strict`:
 * the number of layers must be the declared one. */
halley_status text_read(text_file *file, const char *path, bool strict,
                        halley_error *err);
/* The same for a file that is already open in file->in. */
halley_status text_parse(text_file *file, const char *path, bool strict,
                         halley_error *err);
void text_fini(text_file *file);
/* Does the start of a file name a parallelism type of ASTRA-sim 1.0? */
bool text_is_workload(str head);
/* The collective that a name represents; false: none. */
bool text_comm_type(str name, halley_coll_type *out);

#endif
