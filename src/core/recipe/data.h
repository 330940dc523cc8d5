/* recipe/data.h - the files of presets/recipes as rows that can be compared. */
#ifndef RECIPE_DATA_H
#define RECIPE_DATA_H

#include "base/array.h"
#include "base/conf/conf.h"
#include "halley/recipe.h"

enum { RECIPE_MAX_FILES = 32 };

/* What identifies a model whatever its name. */
typedef struct recipe_shape {
    uint32_t layers, hidden, heads, experts, expert_ffn, vocab;
    double active_params; /* 0 = the shape is unknown */
} recipe_shape;

/* A recipe; its texts are lent by the files. */
typedef struct recipe_row {
    str model, task, npu, variant, source;
    uint32_t npus, global_batch; /* 0 = not stated */
    halley_dtype dtype;
    halley_fp8_recipe scales;
    recipe_shape shape;
    uint32_t file;
    const conf_node *map, *releases;
} recipe_row;

/* One file: a framework and its releases, oldest first. */
typedef struct recipe_file {
    conf_file conf;
    str framework, newest;
    ARRAY(str) releases;
} recipe_file;

struct halley_recipes {
    conf_file models, matching;
    recipe_file files[RECIPE_MAX_FILES];
    uint32_t n_files;
    ARRAY(recipe_row) rows;
};

/* Part by part as numbers; <0, 0, >0. */
int recipe_release_compare(str a, str b);
/* The index of a release among those of its file; -1 = no such release. */
int recipe_release_index(const recipe_file *file, str release);
/* "mxfp8", "fp8-block", "nvfp4", "bf16". */
const char *recipe_format_name(halley_dtype dtype, halley_fp8_recipe scales);
/* The release of a row that is nearest to index `wanted` of its file. */
str recipe_row_release(const halley_recipes *set, const recipe_row *row, int wanted);
/* Copy a row and its name. */
void recipe_row_get(halley_recipe *out, const halley_recipes *set, const recipe_row *row,
                    str release);
/* Overlapping the dispatch needs a second micro-batch in flight and all activations. */
bool recipe_may_overlap(const halley_plan *plan);

#endif
