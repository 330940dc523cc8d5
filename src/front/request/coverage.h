/* request/coverage.h - how far error bars hold, source by source. */
#ifndef REQUEST_COVERAGE_H
#define REQUEST_COVERAGE_H

#include "halley/error_bar.h"
#include "request/verb.h"

halley_status request_write_coverage(request_call *call, const halley_error_coverage *c,
                                     report_form form, halley_error *err);

#endif
