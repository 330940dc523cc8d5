/* explore/post_mpi.h - letters over MPI that nobody waits for; see post_mpi.c. */
#ifndef EXPLORE_POST_MPI_H
#define EXPLORE_POST_MPI_H

#include <mpi.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>

/* What a letter is about. */
enum { TAG_WORK = 1, TAG_DONE, TAG_LEAVE, TAG_BEAT };

typedef struct letter {
    struct letter *next;
    MPI_Request moving;
    int peer;
    size_t n, room; /* bytes written, and that there are */
    alignas(max_align_t) char bytes[];
} letter;

/* All zero at first. */
typedef struct post {
    letter *out, *in, *spare;
} post;

/* A letter of n bytes to be filled; NULL when memory runs out. */
letter *post_new(post *p, size_t n);
/* Takes the letter in any case; false when it cannot be sent. */
bool post_send(post *p, letter *l, int to, int tag);
/* A letter that came, to be given back with post_done; NULL when there is none. False
 * when memory runs out. */
bool post_take(post *p, int tag, letter **out);
void post_done(post *p, letter *l);
/* Are all letters sent? */
bool post_empty(post *p);
/* Frees what does not move; the rest is MPI's for ever. */
void post_close(post *p);

#endif
