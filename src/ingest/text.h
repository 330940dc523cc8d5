/* ingest/text.h - a workload file of ASTRA-sim 1.0: layers, and how they are parallel. */
#ifndef INGEST_TEXT_H
#define INGEST_TEXT_H

#include "base/array.h"
#include "base/error.h"
#include "base/file/file.h"
#include "base/str.h"
#include "halley/ingest.h"

typedef enum text_kind {
    TEXT_MICRO,       /* collectives alone */
    TEXT_DATA,        /* gradients are summed over all NPUs */
    TEXT_MODEL,       /* activations go over all NPUs */
    TEXT_DATA_MODEL,  /* both */
    TEXT_MODEL_DATA,  /* both, the other way round */
    TEXT_DLRM,        /* embeddings by all-to-all, the rest data parallel */
    TEXT_TRANSFORMER, /* both, model parallel within groups */
    TEXT_RECOMPUTE,   /* the same, parts of forward done again in backward */
    TEXT_CUSTOMIZED,  /* both, each layer says how */
    TEXT_INFERENCE    /* forward alone */
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
    uint64_t n_declared; /* layers, as the second line says */
    uint64_t last_bottom;
    uint64_t group; /* NPUs of a model-parallel group; 0 = not said */
    ARRAY(text_layer) layers;
} text_file;

/* {0} before; text_fini after, also when this fails. `strict`: as many layers as said. */
halley_status text_read(text_file *file, const char *path, bool strict,
                        halley_error *err);
/* The same, of a file that is open in file->in already. */
halley_status text_parse(text_file *file, const char *path, bool strict,
                         halley_error *err);
void text_fini(text_file *file);
/* Does a file that starts like this name a parallelization of ASTRA-sim 1.0? */
bool text_is_workload(str head);
/* The collective that a name represents; false: none. */
bool text_comm_type(str name, halley_coll_type *out);

#endif
