/* explore/mailbox.h - non-blocking messages over MPI; see mailbox.c. */
#ifndef EXPLORE_MAILBOX_H
#define EXPLORE_MAILBOX_H

#include "mpi/plugin.h"

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>

/* Message tags. */
enum { TAG_WORK = 1, TAG_DONE, TAG_LEAVE, TAG_BEAT };

typedef struct explore_message {
    struct explore_message *next;
    mpi_request moving;
    int peer;
    size_t n, room; /* bytes written; bytes allocated */
    alignas(max_align_t) char bytes[];
} explore_message;

/* All zero at first, except `mpi`. */
typedef struct explore_mailbox {
    const mpi_plugin *mpi; /* lent */
    explore_message *out, *in, *spare;
} explore_mailbox;

/* A message of n bytes to be filled in; NULL if memory ran out. */
explore_message *explore_mailbox_new(explore_mailbox *box, size_t n);
/* Takes ownership of the message in any case; false if it cannot be sent. */
bool explore_mailbox_send(explore_mailbox *box, explore_message *m, int to, int tag);
/* Take a message that has arrived; return it with explore_mailbox_release. *out is NULL
 * if there is none. Returns false if memory ran out. */
bool explore_mailbox_take(explore_mailbox *box, int tag, explore_message **out);
void explore_mailbox_release(explore_mailbox *box, explore_message *m);
/* True if all messages have been sent. */
bool explore_mailbox_is_sent(explore_mailbox *box);
/* Frees messages that are not in transit; MPI still owns the others. */
void explore_mailbox_close(explore_mailbox *box);

#endif
