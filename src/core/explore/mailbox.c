/*
 * Non-blocking messages over MPI. A rank can die at any moment, also when a message is
 * announced but not yet read from its memory. A blocking receive or send would then wait
 * for ever. So messages move in the background and are tested regularly. A message that
 * never arrives delays no rank and costs only its memory.
 */
#include "explore/mailbox.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

explore_message *explore_mailbox_new(explore_mailbox *box, size_t n)
{
    assert(box->mpi != NULL);
    explore_message *m = box->spare;
    if (n > INT32_MAX)
        return NULL;
    if (m != NULL)
        box->spare = m->next;
    if (m == NULL || m->room < n) {
        free(m);
        m = malloc(sizeof *m + n);
        if (m == NULL)
            return NULL;
        m->room = n;
    }
    m->next = NULL;
    m->moving = 0;
    m->n = n;
    assert(m->room >= n);
    return m;
}

void explore_mailbox_release(explore_mailbox *box, explore_message *m)
{
    m->next = box->spare;
    box->spare = m;
}

static bool has_moved(const explore_mailbox *box, explore_message *m)
{
    bool complete = false;
    return box->mpi->test(&m->moving, &complete) && complete;
}

bool explore_mailbox_is_sent(explore_mailbox *box)
{
    for (explore_message **at = &box->out; *at != NULL;) {
        explore_message *m = *at;
        if (!has_moved(box, m)) {
            at = &m->next;
            continue;
        }
        *at = m->next;
        explore_mailbox_release(box, m);
    }
    return box->out == NULL;
}

bool explore_mailbox_send(explore_mailbox *box, explore_message *m, int to, int tag)
{
    assert(to >= 0);
    assert(m->n <= m->room);
    explore_mailbox_is_sent(box);
    m->peer = to;
    if (!box->mpi->send(&m->moving, m->bytes, (int)m->n, to, tag)) {
        explore_mailbox_release(box, m);
        return false;
    }
    m->next = box->out;
    box->out = m;
    return true;
}

/* Start to receive all announced messages, after those that are already being
 * received. */
static bool accept_all(explore_mailbox *box, int tag)
{
    explore_message **end = &box->in;
    int from = 0, n = 0;
    uintptr_t message = 0;
    while (*end != NULL)
        end = &(*end)->next;
    while (box->mpi->match(tag, &from, &n, &message)) {
        assert(n >= 0);
        explore_message *m = explore_mailbox_new(box, (size_t)n);
        if (m == NULL)
            return false;
        m->peer = from;
        if (!box->mpi->receive(&m->moving, m->bytes, n, message)) {
            explore_mailbox_release(box, m);
            continue;
        }
        *end = m;
        end = &m->next;
    }
    return true;
}

bool explore_mailbox_take(explore_mailbox *box, int tag, explore_message **out)
{
    assert(out != NULL);
    *out = NULL;
    if (!accept_all(box, tag))
        return false;
    for (explore_message **at = &box->in; *at != NULL; at = &(*at)->next) {
        explore_message *m = *at;
        if (!has_moved(box, m))
            continue;
        *at = m->next;
        *out = m;
        return true;
    }
    return true;
}

void explore_mailbox_close(explore_mailbox *box)
{
    if (box->mpi == NULL)
        return;
    explore_mailbox_is_sent(box);
    while (box->spare != NULL) {
        explore_message *m = box->spare;
        box->spare = m->next;
        free(m);
    }
}
