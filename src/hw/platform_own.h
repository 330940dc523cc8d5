/* hw/platform_own.h - a platform from a cluster file with its network. */
#ifndef HW_PLATFORM_OWN_H
#define HW_PLATFORM_OWN_H

#include "base/conf.h"
#include "halley/platform.h"

halley_status cluster_platform_from_own(halley_platform *out, const conf_file *file,
                                        halley_error *err);

#endif
