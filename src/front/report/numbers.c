/* Numbers that people compare and error bars, as text. */
#include "report/numbers.h"

#include "base/number/number.h"
#include "base/number/units.h"

/* The word for the device: "GPU", "chip", "accelerator"; static. */
static const char *find_npu_word(const halley_npu *npu)
{
    return npu->type == HALLEY_NPU_GPU   ? "GPU"
           : npu->type == HALLEY_NPU_TPU ? "chip"
                                         : "accelerator";
}

const char *report_print_params(char to[48], double params)
{
    const double scale = params >= 1e9 ? 1e9 : params >= 1e6 ? 1e6 : 1;
    snprintf(to, 48, "%s%s", number_digits(params / scale, 3).at,
             scale >= 1e9   ? " B"
             : scale >= 1e6 ? " M"
                            : "");
    return to;
}

static void print_utilisation(FILE *to, const halley_numbers *n, const halley_plan *plan)
{
    fprintf(to, "MFU           %s %% of the %s peak%s", number_fixed(100 * n->mfu, 1).at,
            halley_dtype_name(plan->dtype),
            strcmp(n->counted, "tokens") == 0 ? " (causal attention counted by half)"
                                              : "");
    if (n->mfu_full > n->mfu * 1.0005)
        fprintf(to, ", %s %% with full attention", number_fixed(100 * n->mfu_full, 1).at);
    if (n->mfu_wide > n->mfu)
        fprintf(to, ", %s %% of the bf16 peak", number_fixed(100 * n->mfu_wide, 1).at);
    fprintf(to, "\n");
    if (n->hfu > n->mfu)
        fprintf(to, "HFU           %s %%, with what is computed again\n",
                number_fixed(100 * n->hfu, 1).at);
}

void report_numbers_rates(FILE *to, const halley_numbers *n, const halley_estimate *e,
                          const halley_plan *plan, const halley_npu *npu)
{
    char a[48], b[48];
    const char *word = find_npu_word(npu);
    fprintf(to, "parameters    %s", report_print_params(a, n->params));
    if (n->active_params < n->params)
        fprintf(to, ", %s active for a %.*s", report_print_params(b, n->active_params),
                (int)strlen(n->counted) - 1, n->counted);
    fprintf(to, "\n%s/s%*s%s, %s a %s\n", n->counted, 12 - (int)strlen(n->counted), "",
            number_digits(e->tokens_per_s, 4).at,
            number_digits(n->tokens_per_s_npu, 4).at, word);
    fprintf(to, "TFLOP/s       %s, %s a %s\n", number_digits(n->flops_per_s / 1e12, 4).at,
            number_digits(n->flops_per_s_npu / 1e12, 4).at, word);
    print_utilisation(to, n, plan);
}

static void print_amount(FILE *to, const char *what, double value, units_kind unit)
{
    char a[32];
    fprintf(to, "  %-22s %12s", what, units_format(a, sizeof a, value, unit));
}

static const char *const bill_words[HALLEY_N_BILL_ITEMS] = {
    [HALLEY_BILL_NPUS] = "accelerators", [HALLEY_BILL_HOSTS] = "hosts",
    [HALLEY_BILL_SCALE_UP] = "scale-up", [HALLEY_BILL_NETWORK] = "network",
    [HALLEY_BILL_MEMORY] = "memory",     [HALLEY_BILL_RACKS] = "racks",
    [HALLEY_BILL_BUILDING] = "building"};

/* The sum, how far it is known, and its parts. */
static void print_capital(FILE *to, const halley_numbers *n)
{
    const halley_bill *b = &n->bill;
    const bool open = b->state == HALLEY_PRICE_LOWER_BOUND;
    char a[32], sum[48];
    snprintf(sum, sizeof sum, "%s%s", open ? ">= " : "",
             units_format(a, sizeof a, b->capital_usd, UNITS_MONEY));
    fprintf(to, "  %-22s %12s", "capital", sum);
    if (open)
        fprintf(to, " without what is not known: %s", n->missing);
    else if (b->state == HALLEY_PRICE_IMPUTED)
        fprintf(to, " (imputed: the accelerators are not sold)");
    const char *before = open ? "; " : ": ";
    for (int i = 0; i < HALLEY_N_BILL_ITEMS; i++) {
        if (!(b->usd[i] > 0))
            continue;
        fprintf(to, "%s%s %s", before, bill_words[i],
                units_format(a, sizeof a, b->usd[i], UNITS_MONEY));
        before = ", ";
    }
    fprintf(to, "\n");
}

void report_numbers_run(FILE *to, const halley_numbers *n, const halley_estimate *e,
                        const halley_npu *npu)
{
    char a[32];
    const char *word = find_npu_word(npu);
    fprintf(to, "\ntraining on %s %s\n", number_digits(n->tokens, 3).at, n->counted);
    fprintf(to, "  %-22s %10s d", "time", number_fixed(n->wall_days, 1).at);
    if (n->goodput < 1)
        fprintf(to, " (%s d of steps at %s %% goodput)", number_fixed(n->days, 1).at,
                number_fixed(100 * n->goodput, 1).at);
    fprintf(to, ", %s %s-hours\n", number_digits(n->npu_hours, 4).at, word);
    print_amount(to, "energy", n->energy_J, UNITS_ENERGY);
    fprintf(to, ", a step %s\n", units_format(a, sizeof a, e->energy_J, UNITS_ENERGY));
    print_amount(to, "cost", n->cost_usd, UNITS_MONEY);
    fprintf(to, ", a step %s", units_format(a, sizeof a, e->cost_usd, UNITS_MONEY));
    if (strcmp(n->counted, "samples") == 0)
        fprintf(to, ", %s USD per million samples",
                number_digits(n->cost_usd / n->tokens * 1e6, 3).at);
    if (n->rent_usd_h > 0)
        fprintf(to, " (rent of %s USD an hour and %s, and energy)\n",
                number_digits(n->rent_usd_h, 3).at, word);
    else
        fprintf(to, " (capital over its life, and energy)\n");
    if (n->rent_usd_h <= 0)
        print_capital(to, n);
    print_amount(to, "power, nameplate", n->bill.nameplate_w, UNITS_POWER);
    fprintf(to, " of %s %s%s with network and building\n",
            number_digits(n->n_units, 9).at, n->unit, n->n_units > 1 ? "s" : "");
    print_amount(to, "power, average", n->average_w, UNITS_POWER);
    fprintf(to, "\n");
}

void report_error_bar_text(FILE *to, const halley_error_bar *bar)
{
    char text[HALLEY_ERROR_BAR_TEXT];
    halley_error_bar_print(text, bar);
    fprintf(to,
            "%s\nComparable runs: %s. They are benchmarks; production runs can be 10 to "
            "30 %% slower.\n",
            text, bar->class_name);
}
