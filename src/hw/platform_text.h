/* hw/platform_text.h - a platform as a cluster that can be simulated. */
#ifndef HW_PLATFORM_TEXT_H
#define HW_PLATFORM_TEXT_H

#include "base/str.h"
#include "halley/cluster.h"
#include "halley/platform.h"

/* The text of a cluster file with n NPUs of the platform: a switch for the
 * scale-up domain, one between them, at the bandwidth that large messages reach. More
 * keys may be added behind it. */
void cluster_describe_platform(strbuf *to, const halley_platform *p, uint32_t n);

/* The cluster that such a text describes; `name` stands for its path in errors. On
 * success *out is the caller's. */
halley_status cluster_from_text(halley_cluster **out, const strbuf *text,
                                const char *name, halley_error *err);

/* Is it a preset's name, or something with a number of NPUs behind it ("dgx-h100:64")? */
bool cluster_names_platform(const char *name);
/* That many NPUs of it. */
halley_status cluster_from_platform(halley_cluster **out, const char *name,
                                    halley_error *err);

#endif
