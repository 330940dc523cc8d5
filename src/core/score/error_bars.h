/* score/error_bars.h - shared by the code that makes error bars and the code that reads
 * them. */
#ifndef SCORE_ERROR_BARS_H
#define SCORE_ERROR_BARS_H

#include "halley/error_bar.h"

/* The family whose constants price a design: "llm", "adapters", ...; static. */
const char *bar_family_name(const halley_model *model, const halley_plan *plan);

#endif
