/*
 * The public functions of the feeder. They forward to the implementation (a loaded trace,
 * or a file streamed in chunks) and explain why a feeder is stuck.
 *
 * In a stuck feeder every waiting node has an unfinished dependency. So following the
 * first one from any node ends at a missing id or in a cycle. Brent's algorithm finds out
 * which without extra memory.
 */
#include "trace/feeder.h"

#include "base/error.h"

uint32_t feeder_dep_count(const halley_feeder *feeder, const halley_trace *trace,
                          uint32_t node)
{
    uint32_t n = 0;
    if (feeder->opts.deps != HALLEY_FEED_CTRL)
        n += halley_node_data_count(trace, node);
    if (feeder->opts.deps != HALLEY_FEED_DATA)
        n += halley_node_ctrl_count(trace, node);
    return n;
}

halley_dep feeder_dep(const halley_feeder *feeder, const halley_trace *trace,
                      uint32_t node, uint32_t i)
{
    if (feeder->opts.deps == HALLEY_FEED_CTRL)
        return halley_node_ctrl(trace, node, i);
    const uint32_t n_data = halley_node_data_count(trace, node);
    if (i < n_data)
        return halley_node_data(trace, node, i);
    return halley_node_ctrl(trace, node, i - n_data);
}

halley_status feeder_not_taken(halley_error *err, uint64_t id, const char *done)
{
    error_set(err, HALLEY_EINVAL, "the node is not taken, so it cannot be %s", done);
    error_at_node(err, id);
    return HALLEY_EINVAL;
}

halley_status halley_feeder_open(halley_feeder **out, const char *path,
                                 const halley_feeder_opts *opts, halley_error *err)
{
    halley_feeder *feeder = NULL;
    TRY(feeder_stream_open(&feeder, path, opts, err));
    if (feeder) {
        *out = feeder;
        return HALLEY_OK;
    }
    halley_trace *trace = NULL;
    TRY(halley_trace_load(&trace, path, NULL, err));
    const halley_status status = halley_feeder_new(out, trace, opts, err);
    halley_trace_free(trace);
    return status;
}

void halley_feeder_free(halley_feeder *feeder)
{
    if (feeder)
        feeder->ops->free(feeder);
}

halley_status halley_feeder_take(halley_feeder *feeder, halley_feed_node *out,
                                 bool *found, halley_error *err)
{
    return feeder->ops->take(feeder, out, found, err);
}

halley_status halley_feeder_finish(halley_feeder *feeder, uint64_t id, halley_error *err)
{
    return feeder->ops->finish(feeder, id, err);
}

halley_status halley_feeder_put_back(halley_feeder *feeder, uint64_t id,
                                     halley_error *err)
{
    return feeder->ops->put_back(feeder, id, err);
}

halley_feed_counts halley_feeder_counts(const halley_feeder *feeder)
{
    return feeder->counts;
}

bool halley_feeder_done(const halley_feeder *feeder)
{
    const halley_feed_counts *c = &feeder->counts;
    return c->all_seen && c->finished == c->seen;
}

bool halley_feeder_stuck(const halley_feeder *feeder)
{
    const halley_feed_counts *c = &feeder->counts;
    return c->all_seen && c->waiting > 0 && c->free == 0 && c->taken == 0;
}

bool halley_feeder_wait(const halley_feeder *feeder, uint64_t from, halley_feed_wait *out)
{
    return feeder->ops->wait(feeder, from, out);
}

/* One step along "waits for". Stays at the node that waits for a missing one. */
static halley_feed_wait step_feeder(const halley_feeder *feeder, halley_feed_wait at)
{
    halley_feed_wait next;
    if (at.missing || !feeder->ops->wait(feeder, at.waits_for, &next) ||
        next.id != at.waits_for)
        return at;
    return next;
}

halley_status halley_feeder_explain(const halley_feeder *feeder, halley_error *err)
{
    halley_feed_wait first;
    if (!halley_feeder_stuck(feeder) || !feeder->ops->wait(feeder, 0, &first))
        return HALLEY_OK;
    halley_feed_wait slow = first, fast = first;
    uint64_t length = 0, limit = 1;
    do {
        if (length == limit) {
            slow = fast;
            limit *= 2;
            length = 0;
        }
        fast = step_feeder(feeder, fast);
        length++;
    } while (!fast.missing && fast.id != slow.id);
    const unsigned long long n = (unsigned long long)feeder->counts.waiting;
    const unsigned long long to = (unsigned long long)fast.waits_for;
    if (fast.missing)
        error_set(err, HALLEY_EDEADLOCK,
                  "%llu node%s can never start: this one waits for node %llu, which is "
                  "not in the trace",
                  n, n == 1 ? "" : "s", to);
    else if (length == 1)
        error_set(err, HALLEY_EDEADLOCK,
                  "%llu node%s can never start: this one waits for itself", n,
                  n == 1 ? "" : "s");
    else
        error_set(err, HALLEY_EDEADLOCK,
                  "%llu nodes can never start: this one waits for node %llu, on a cycle "
                  "of %llu nodes",
                  n, to, (unsigned long long)length);
    error_at_node(err, fast.id);
    return HALLEY_EDEADLOCK;
}
