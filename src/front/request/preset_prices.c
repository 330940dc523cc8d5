/* Prices of presets with their year and source, and which of them lack one. */
#include "request/preset_prices.h"

#include "base/conf/conf.h"
#include "base/error.h"
#include "base/number/units.h"
#include "halley/cluster.h"
#include "report/table.h"

#include <string.h>

static const report_column columns[] = {
    {"Kind", "kind", REPORT_WORDS, UNITS_COUNT, 0},
    {"Name", "name", REPORT_WORDS, UNITS_COUNT, 0},
    {"Price", "price_usd", REPORT_QUANTITY, UNITS_MONEY, 0},
    {"Year", "year", REPORT_WORDS, UNITS_COUNT, 0},
    {"Source", "source", REPORT_WORDS, UNITS_COUNT, 0},
};

/* The last number from 1990 to 2099 in a sentence; 0 = it names no year. */
static uint64_t find_year(str text)
{
    uint64_t year = 0;
    for (size_t i = 0; i + 4 <= text.n; i++) {
        uint64_t number;
        const bool starts = i == 0 || text.at[i - 1] < '0' || text.at[i - 1] > '9';
        const bool ends = i + 4 == text.n || text.at[i + 4] < '0' || text.at[i + 4] > '9';
        if (starts && ends && str_to_u64((str){text.at + i, 4}, &number) &&
            number >= 1990 && number < 2100)
            year = number;
    }
    return year;
}

/* Add the row of one preset; false if its price has no year, no source or no value. */
static bool add_preset(report_table *t, const char *folder, const char *name,
                       const conf_file *file)
{
    const bool is_npu = strcmp(folder, "npus") == 0;
    const conf_node *cost = is_npu ? file->root : conf_find(file->root, "cost");
    const conf_node *price =
        cost == NULL ? NULL : conf_find(cost, is_npu ? "price" : "host");
    const conf_node *sources = conf_find(file->root, "sources");
    const conf_node *source =
        sources == NULL ? NULL : conf_find(sources, is_npu ? "price" : "cost");
    const str text = source == NULL ? (str){"", 0} : source->text;
    const uint64_t year = find_year(text);
    double usd = 0;
    char year_text[8];
    const bool priced = price != NULL && conf_to_quantity(&usd, file, price, UNITS_MONEY,
                                                          "price", NULL) == HALLEY_OK;
    snprintf(year_text, sizeof year_text, "%u", (unsigned)year);
    report_table_words(t, (str){folder, strlen(folder) - 1});
    report_table_words(t, str_from(name));
    report_table_number(t, usd);
    report_table_words(t, str_from(year > 0 ? year_text : "none"));
    report_table_words(t, text.n > 0 ? text : STR("none"));
    return priced && year > 0;
}

static halley_status add_folder(report_table *t, const char *folder, uint32_t *n_bad,
                                char bad[HALLEY_NAME], halley_error *err)
{
    char name[HALLEY_NAME];
    for (size_t i = 0; halley_preset_name(name, sizeof name, folder, i); i++) {
        conf_file file;
        TRY(conf_parse(&file, str_from(halley_preset_text(folder, name)), name, err));
        if (!add_preset(t, folder, name, &file) && (*n_bad)++ == 0)
            memcpy(bad, name, sizeof name);
        conf_fini(&file);
    }
    return HALLEY_OK;
}

halley_status request_check_prices(const request_call *call, report_form form,
                                   const char *only, halley_error *err)
{
    static const char *const folders[] = {"npus", "clusters"};
    char bad[HALLEY_NAME] = "";
    uint32_t n_bad = 0;
    report_table *t = report_table_new(columns, 5);
    if (t == NULL)
        return error_nomem(err);
    for (int i = 0; i < 2; i++) {
        const halley_status status = only == NULL || strcmp(only, folders[i]) == 0
                                         ? add_folder(t, folders[i], &n_bad, bad, err)
                                         : HALLEY_OK;
        if (status != HALLEY_OK) {
            report_table_free(t);
            return status;
        }
    }
    TRY(request_table_write(call, t, "preset_prices", form, err));
    if (n_bad > 0)
        return error_set(err, HALLEY_EINVAL,
                         "%u presets have a price without a year or source, the first is "
                         "%s",
                         n_bad, bad);
    return HALLEY_OK;
}
