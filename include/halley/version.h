/* halley/version.h - which halley this is. */
#ifndef HALLEY_VERSION_H
#define HALLEY_VERSION_H

#ifdef __cplusplus
extern "C" {
#endif

/* The release of these headers; meson.build checks that it is the project's. */
#define HALLEY_VERSION "0.2.0"

/* The C interface and the JSON vocabulary are numbered apart from releases: the number
 * rises when a program written for an older one would no longer work. */
#define HALLEY_API 1

/* The release of the library that is linked, as HALLEY_VERSION; it differs from that when
 * a program runs with another library than it was compiled for. Lent, static. */
const char *halley_version(void);
/* HALLEY_API of the library that is linked. */
int halley_api(void);

#ifdef __cplusplus
}
#endif
#endif
