/* halley/version.h - the version of halley. */
#ifndef HALLEY_VERSION_H
#define HALLEY_VERSION_H

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The release of these headers; meson.build checks that it equals the project's version.
 */
#define HALLEY_VERSION "0.2.0"

/* Version of the C interface and the JSON vocabulary, independent of releases. It rises
 * when a program written for an older version would no longer work. */
#define HALLEY_API 1

/* The release of the library that is linked. It differs from HALLEY_VERSION if a program
 * runs with another library than it was compiled for. Lent, static. */
const char *halley_version(void);
/* HALLEY_API of the library that is linked. */
int halley_api(void);

#ifdef __cplusplus
}
#endif
#endif
