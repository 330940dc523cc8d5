/* serve/browser.h - open a browser on the page. */
#ifndef SERVE_BROWSER_H
#define SERVE_BROWSER_H

#include <signal.h>

/* The address contains the token, and every user of the machine can see the arguments of
 * a process. So the browser gets the name of a file that only this user can read and that
 * leads to the address. A process of its own removes the file soon. Call this before
 * threads are started. Failure is said, and ignored: the server is useful without a
 * browser. `signals` is the signal mask of the browser. */
void serve_browser_open(const char *url, const sigset_t *signals);

#endif
