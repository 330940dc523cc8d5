/* score/error_bars.h - what making error bars and looking them up share. */
#ifndef SCORE_ERROR_BARS_H
#define SCORE_ERROR_BARS_H

#include "halley/error_bar.h"

/* Whose constants a design is priced with: "llm", "adapters", ...; static. */
const char *bar_family_name(const halley_model *model, const halley_plan *plan);

#endif
