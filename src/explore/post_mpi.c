/*
 * Letters over MPI that nobody waits for. A rank can die at any moment, also with a
 * message announced but not read from its memory: a blocking receive or send would then
 * wait for ever. So a letter moves by itself and is looked at now and then; one that does
 * not arrive holds up nobody, and costs its memory.
 */
#include "explore/post_mpi.h"

#include <stdint.h>
#include <stdlib.h>

letter *post_new(post *p, size_t n)
{
    letter *l = p->spare;
    if (n > INT32_MAX)
        return NULL;
    if (l)
        p->spare = l->next;
    if (!l || l->room < n) {
        free(l);
        l = malloc(sizeof *l + n);
        if (!l)
            return NULL;
        l->room = n;
    }
    l->next = NULL;
    l->n = n;
    return l;
}

void post_done(post *p, letter *l)
{
    l->next = p->spare;
    p->spare = l;
}

static bool has_moved(letter *l)
{
    int whole = 0;
    return MPI_Test(&l->moving, &whole, MPI_STATUS_IGNORE) == MPI_SUCCESS && whole;
}

bool post_empty(post *p)
{
    for (letter **at = &p->out; *at;) {
        letter *l = *at;
        if (!has_moved(l)) {
            at = &l->next;
            continue;
        }
        *at = l->next;
        post_done(p, l);
    }
    return p->out == NULL;
}

bool post_send(post *p, letter *l, int to, int tag)
{
    post_empty(p);
    l->peer = to;
    if (MPI_Isend(l->bytes, (int)l->n, MPI_BYTE, to, tag, MPI_COMM_WORLD, &l->moving) !=
        MPI_SUCCESS) {
        post_done(p, l);
        return false;
    }
    l->next = p->out;
    p->out = l;
    return true;
}

/* Begin to receive what is announced, behind what is coming already. */
static bool accept_all(post *p, int tag)
{
    letter **end = &p->in;
    while (*end)
        end = &(*end)->next;
    for (;;) {
        MPI_Message what;
        MPI_Status from;
        int here = 0, n = 0;
        if (MPI_Improbe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &here, &what, &from) !=
                MPI_SUCCESS ||
            !here)
            return true;
        MPI_Get_count(&from, MPI_BYTE, &n);
        letter *l = post_new(p, (size_t)n);
        if (!l)
            return false;
        l->peer = from.MPI_SOURCE;
        if (MPI_Imrecv(l->bytes, n, MPI_BYTE, &what, &l->moving) != MPI_SUCCESS) {
            post_done(p, l);
            continue;
        }
        *end = l;
        end = &l->next;
    }
}

bool post_take(post *p, int tag, letter **out)
{
    *out = NULL;
    if (!accept_all(p, tag))
        return false;
    for (letter **at = &p->in; *at; at = &(*at)->next) {
        letter *l = *at;
        if (!has_moved(l))
            continue;
        *at = l->next;
        *out = l;
        return true;
    }
    return true;
}

void post_close(post *p)
{
    post_empty(p);
    while (p->spare) {
        letter *l = p->spare;
        p->spare = l->next;
        free(l);
    }
}
