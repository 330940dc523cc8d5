/* make_trace.h - small traces for tests, made in memory. */
#ifndef MAKE_TRACE_H
#define MAKE_TRACE_H

#include "halley/trace.h"
#include "unit.h"

#include <string.h>

static inline halley_bytes text(const char *s)
{
    return (halley_bytes){s, strlen(s)};
}

static inline halley_builder *make_start(void)
{
    halley_builder *b = NULL;
    assert_int_equal(halley_builder_new(&b, NULL), HALLEY_OK);
    halley_builder_version(b, text("0.0.4"));
    return b;
}

static inline halley_trace *make_finish(halley_builder *b)
{
    halley_trace *t = NULL;
    halley_error err = {0};
    if (halley_builder_finish(&t, b, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    return t;
}

/* A set of the given traces, which it takes over. */
static inline halley_trace_set *make_set(halley_trace *const *traces, uint32_t n)
{
    halley_trace_set *set = NULL;
    assert_int_equal(halley_trace_set_new(&set, traces, n, NULL), HALLEY_OK);
    return set;
}

static inline void make_comp(halley_builder *b, uint64_t id, uint64_t duration_us)
{
    halley_builder_node(b, id, HALLEY_NODE_COMP, text("comp"));
    halley_builder_time(b, 0, duration_us);
    halley_builder_attr_bool(b, "is_cpu_op", false);
    halley_builder_attr_i64(b, "num_ops", 100);
    halley_builder_attr_u64(b, "tensor_size", 10);
}

static inline void make_coll(halley_builder *b, uint64_t id, int64_t type, int64_t size,
                             const char *group)
{
    halley_builder_node(b, id, HALLEY_NODE_COLL, text("coll"));
    halley_builder_attr_i64(b, "comm_type", type);
    halley_builder_attr_i64(b, "comm_size", size);
    if (group != NULL)
        halley_builder_attr_text(b, "pg_name", text(group));
}

static inline void make_p2p(halley_builder *b, uint64_t id, bool sends, int32_t peer,
                            int32_t tag, int64_t size)
{
    halley_builder_node(b, id, sends ? HALLEY_NODE_SEND : HALLEY_NODE_RECV,
                        text(sends ? "send" : "recv"));
    halley_builder_attr_i32(b, sends ? "comm_dst" : "comm_src", peer);
    halley_builder_attr_i32(b, "comm_tag", tag);
    halley_builder_attr_i64(b, "comm_size", size);
}

#endif
