/* Any text as a file of published runs: rows are predicted or say why they cannot be. */
#include "score/fit.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n);

static void use(score_rows *rows)
{
    if (score_rows_stacks(rows, SCORE_UNKNOWN, NULL, NULL) != HALLEY_OK)
        return;
    for (uint32_t i = 0; i < rows->rows.n; i++) {
        const score_row *row = &rows->rows.at[i];
        if (row->skip[0] == '\0' && row->step_s > 0)
            (void)score_predict(rows, row, &rows->stacks.at[row->stack]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    conf_file file;
    score_rows rows = {0};
    if (conf_parse(&file, (str){(const char *)at, n}, "runs.json", NULL) != HALLEY_OK)
        return 0;
    if (score_rows_add(&rows, &file, NULL) == HALLEY_OK)
        use(&rows);
    score_rows_fini(&rows);
    conf_fini(&file);
    return 0;
}
