/* request/preset_prices.h - prices of presets with their year and source. */
#ifndef REQUEST_PRESET_PRICES_H
#define REQUEST_PRESET_PRICES_H

#include "request/verb.h"

/* Write the price of every NPU and host preset (`only`: "npus" or "clusters"; NULL =
 * both). HALLEY_EINVAL if one lacks a year or a source. */
halley_status request_check_prices(const request_call *call, report_form form,
                                   const char *only, halley_error *err);

#endif
