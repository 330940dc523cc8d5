/* The prices that were used, in words: cost figures cannot be judged without them. */
#include "base/number/number.h"
#include "base/number/units.h"
#include "explore/study/study.h"
#include "hw/cluster.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

const char *halley_study_description(const halley_study *study)
{
    return study->description;
}

typedef struct price_words {
    char *to;
    size_t n, size;
} price_words;

/* Four digits; from 1,000 on whole numbers with separators: 12,000. */
static void print_price(char to[NUMBER_TEXT + 8], double value)
{
    if (value < 999.95 || value > 1e15) {
        snprintf(to, NUMBER_TEXT + 8, "%s", number_digits(value, 4).at);
        return;
    }
    const number_text whole = number_fixed(value, 0);
    const size_t n = strlen(whole.at);
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0)
            to[k++] = ',';
        to[k++] = whole.at[i];
    }
    to[k] = '\0';
}

/* Append "; " and the words; items without a price are left out. */
static void add_price(price_words *w, double value, const char *before, const char *after)
{
    if (!(value > 0) || w->n >= w->size)
        return;
    char price[NUMBER_TEXT + 8];
    print_price(price, value);
    const int n = snprintf(w->to + w->n, w->size - w->n, "%s%s%s%s", w->n > 0 ? "; " : "",
                           before, price, after);
    assert(n > 0);
    w->n += (size_t)n;
}

static void print_prices(char *to, size_t size, const halley_cluster *c)
{
    const halley_cost *const cost = &c->cost;
    price_words w = {to, 0, size};
    to[0] = '\0';
    if (cost->rent_usd_per_s > 0) {
        add_price(&w, 3600 * cost->rent_usd_per_s, "rent ",
                  " USD per accelerator and hour");
        return;
    }
    add_price(&w, c->npu.price_usd, "accelerator ", " USD");
    add_price(&w, cost->host_usd, "host without accelerators ", " USD");
    add_price(&w, cost->rack_usd, "rack ", " USD");
    add_price(&w, cost->network_usd_per_gbps, "network ",
              " USD per Gb/s of each accelerator");
    add_price(&w, cost->switch_usd, "switch ", " USD");
    add_price(&w, cost->copper_usd, "copper cable ", " USD");
    add_price(&w, cost->optical_usd, "optical cable ", " USD");
    add_price(&w, cost->nic_usd, "network card ", " USD");
    add_price(&w, cost->years, "written off over ", " years");
    add_price(&w, 3.6e6 * cost->energy_usd_per_J, "energy ", " USD/kWh");
    add_price(&w, cost->pue, "PUE ", "");
}

/* True if an earlier cluster has the name of the i-th. */
static bool is_repeated(const halley_study *s, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(halley_cluster_name(s->loader.clusters.at[k]),
                   halley_cluster_name(s->loader.clusters.at[i])) == 0)
            return true;
    return false;
}

bool halley_study_prices(halley_study_price *out, const halley_study *study, uint32_t i)
{
    uint32_t n = 0;
    for (size_t k = 0; k < study->loader.clusters.n; k++) {
        if (is_repeated(study, k) || n++ != i)
            continue;
        /* If there is only one cluster, use that of the base design, with the values that
         * the study sets. */
        const halley_cluster *const c = study->loader.clusters.n == 1
                                            ? &study->base.cluster
                                            : study->loader.clusters.at[k];
        snprintf(out->name, sizeof out->name, "%s", halley_cluster_name(c));
        print_prices(out->words, sizeof out->words, c);
        return true;
    }
    return false;
}
