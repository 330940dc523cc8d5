/* request/recipe.h - what a design takes from the recipes of its software. */
#ifndef REQUEST_RECIPE_H
#define REQUEST_RECIPE_H

#include "halley/recipe.h"
#include "halley/search.h"
#include "request/design.h"

/*
 * Set what the plan does not give from the recipe that the options choose. The default is
 * the nearest one of the stack's framework, and none with a launch file, which states its
 * own settings. Every key taken is reported as assumed. *out (may be NULL) gets the
 * recipe.
 */
halley_status design_take_recipe(halley_plan *plan, halley_recipe *out,
                                 const halley_model *model, const halley_cluster *cluster,
                                 const halley_stack *stack, request_call *call,
                                 const design_options *o, halley_error *err);
/* False if a launch file states the settings, because its program has defaults. */
halley_status design_leaves_open(bool *open, const design_options *o, halley_error *err);
/* Let a search leave out what the stack's framework cannot run, unless the user asks for
 * it by name. *framework must live as long as the search. */
halley_status design_limit_search(halley_search_opts *opts, halley_framework *framework,
                                  const halley_stack *stack, halley_error *err);

#endif
