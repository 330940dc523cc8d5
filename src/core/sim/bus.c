/*
 * sim/bus.c - the shared bus between an NPU and its network interface, modelled after
 * LogGP.
 *
 * Each NPU has two units that send to each other: the NPU side (0) and the network side
 * (1). A unit sends one request at a time. A transfer costs the overhead o, the gap g if
 * the unit's previous transfer was also a send, G per byte, and the latency L. After more
 * than THRESHOLD sends in a row, a unit lets the other side send first.
 *
 * A request may need processing where it arrives, and may have to be sent back. The NPU
 * side reaches its data through an inner bus of the same kind (units 2 and 3) with G =
 * 0.0038 ns/B. It uses the inner bus before it sends and after something has arrived. As
 * in ASTRA-sim, real times are truncated to whole ticks only when an event is scheduled.
 */
#include "des/ticks.h"
#include "sim/engine.h"

enum {
    THRESHOLD = 8,
    N_UNITS = 4,
    OUTER_NPU = 0,
    OUTER_NET = 1,
    INNER_NPU = 2,
    INNER_MEM = 3
};
static const double INNER_G = 0.0038;

typedef enum state { FREE, SENDING, RECEIVING } state;
typedef enum event {
    GO_ON,
    SEND_FINISHED,
    RECEIVE_FINISHED,
    PROCESSING_FINISHED,
    RETIRE,    /* the inner bus is done: the request has ended */
    PROCESS,   /* the inner bus is done: the request can be processed */
    SEND_BACK, /* the inner bus is done: the request can be sent */
} event;

typedef struct request {
    int32_t bytes;
    bool processed, sends_back;
    uint8_t next_event; /* what the outer unit does when the inner bus is done */
    uint32_t outer;     /* inner bus: the outer request it serves; else SIM_NONE */
    uint64_t then;
    uint32_t next;
} request;

typedef struct fifo {
    uint32_t head, tail, n;
} fifo;

typedef struct unit {
    uint64_t last; /* end of its last transfer */
    state now, before;
    bool processing;
    uint32_t n_reads;
    fifo sends, receives, work;
} unit;

struct sim_bus {
    ARRAY(request) requests;
    uint32_t free_request;
    unit units[]; /* by NPU, four each */
};

static unit *get_unit(sim *s, uint32_t npu, uint32_t u)
{
    assert(npu < s->n_npus && u < N_UNITS);
    return &s->bus->units[(size_t)npu * N_UNITS + u];
}

static request *get_request(sim *s, uint32_t id)
{
    assert(id < s->bus->requests.n);
    return &s->bus->requests.at[id];
}

static void push_request(sim *s, fifo *f, uint32_t id)
{
    get_request(s, id)->next = SIM_NONE;
    if (f->n++ == 0)
        f->head = id;
    else
        get_request(s, f->tail)->next = id;
    f->tail = id;
}

static uint32_t pop_request(sim *s, fifo *f)
{
    const uint32_t id = f->head;
    assert(f->n > 0);
    f->head = get_request(s, id)->next;
    f->n--;
    return id;
}

static uint32_t new_request(sim *s, const request *from)
{
    sim_bus *b = s->bus;
    uint32_t id = b->free_request;
    if (id != SIM_NONE) {
        b->free_request = b->requests.at[id].next;
    } else {
        if (!array_push(&b->requests, *from)) {
            sim_fail_memory(s);
            return SIM_NONE;
        }
        id = (uint32_t)b->requests.n - 1;
    }
    b->requests.at[id] = *from;
    return id;
}

static void free_request(sim *s, uint32_t id)
{
    get_request(s, id)->next = s->bus->free_request;
    s->bus->free_request = id;
}

static void schedule_step(sim *s, uint32_t npu, uint32_t u, event e, double ticks)
{
    sim_call_after(s, npu, des_queue_ticks(&s->queue, ticks), sim_event_bus(npu, u, e));
}

static double get_gap_per_byte(const sim *s, uint32_t u)
{
    return u < INNER_NPU ? s->system->bus.G_ns : INNER_G;
}

static void send_next(sim *s, uint32_t npu, uint32_t u)
{
    const cluster_bus *p = &s->system->bus;
    unit *from = get_unit(s, npu, u), *to = get_unit(s, npu, u ^ 1);
    const uint64_t idle = s->queue.now - from->last;
    uint64_t offset = p->o_ns;
    if (from->before == SENDING && p->o_ns + idle <= p->g_ns)
        offset = p->g_ns - idle;
    const uint32_t id = pop_request(s, &from->sends);
    const double wire = get_gap_per_byte(s, u) * (get_request(s, id)->bytes - 1);
    push_request(s, &to->receives, id);
    to->before = to->now;
    to->now = RECEIVING;
    to->n_reads = 0;
    schedule_step(s, npu, u ^ 1, RECEIVE_FINISHED,
                  (double)offset + wire + (double)p->L_ns + (double)p->o_ns);
    from->now = SENDING;
    schedule_step(s, npu, u, SEND_FINISHED, (double)offset + wire);
}

static void handle_step(sim *s, uint32_t npu, uint32_t u, event e, uint32_t id);

/* Send the next request, if there is one. After many sends in a row the partner goes
 * first. */
static void send_if_free(sim *s, uint32_t npu, uint32_t u)
{
    const unit *me = get_unit(s, npu, u), *other = get_unit(s, npu, u ^ 1);
    if (me->now != FREE || me->sends.n == 0)
        return;
    if (me->n_reads > THRESHOLD && other->sends.n > 0 && other->n_reads <= THRESHOLD) {
        if (other->now == FREE)
            handle_step(s, npu, u ^ 1, GO_ON, SIM_NONE);
        return;
    }
    send_next(s, npu, u);
}

static void queue_request(sim *s, uint32_t npu, uint32_t u, const request *r)
{
    const uint32_t id = new_request(s, r);
    if (id == SIM_NONE)
        return;
    push_request(s, &get_unit(s, npu, u)->sends, id);
    send_if_free(s, npu, u);
}

/* Send a request of the NPU's side through the inner bus first. */
static void send_through_memory(sim *s, uint32_t npu, uint32_t id, event next,
                                uint32_t inner, bool sends_back)
{
    get_request(s, id)->next_event = (uint8_t)next;
    queue_request(s, npu, inner,
                  &(request){.bytes = get_request(s, id)->bytes,
                             .sends_back = sends_back,
                             .outer = id});
}

/* A request has ended. */
static void finish_request(sim *s, uint32_t npu, uint32_t id)
{
    const request r = *get_request(s, id);
    free_request(s, id);
    if (r.outer == SIM_NONE)
        sim_dispatch(s, r.then);
    else
        handle_step(s, npu, OUTER_NPU, get_request(s, r.outer)->next_event, r.outer);
}

static void start_work(sim *s, uint32_t npu, uint32_t u)
{
    unit *me = get_unit(s, npu, u);
    if (me->processing || me->work.n == 0)
        return;
    const int64_t hundreds = get_request(s, me->work.head)->bytes / 100;
    me->processing = true;
    schedule_step(s, npu, u, PROCESSING_FINISHED,
                  (double)(hundreds * s->system->bus.reduction_delay + 50));
}

/* Decide what happens to a request that has arrived or has been processed. */
static void pass_request_on(sim *s, uint32_t npu, uint32_t u, uint32_t id)
{
    request *r = get_request(s, id);
    if (r->sends_back) {
        r->sends_back = false;
        if (u == OUTER_NPU)
            send_through_memory(s, npu, id, SEND_BACK, INNER_NPU, true);
        else
            push_request(s, &get_unit(s, npu, u)->sends, id);
    } else if (u == OUTER_NPU) {
        send_through_memory(s, npu, id, RETIRE, INNER_NPU, false);
    } else {
        finish_request(s, npu, id);
    }
}

static void finish_receive(sim *s, uint32_t npu, uint32_t u)
{
    unit *me = get_unit(s, npu, u);
    const uint32_t id = me->receives.head;
    request *r = get_request(s, id);
    me->last = s->queue.now;
    me->before = me->now;
    if (me->receives.n < 2)
        me->now = FREE;
    pop_request(s, &me->receives);
    if (!r->processed) {
        pass_request_on(s, npu, u, id);
        return;
    }
    r->processed = false;
    if (u == OUTER_NPU)
        send_through_memory(s, npu, id, PROCESS, INNER_NPU, true);
    else
        push_request(s, &me->work, id);
    start_work(s, npu, u);
}

static void handle_step(sim *s, uint32_t npu, uint32_t u, event e, uint32_t id)
{
    unit *me = get_unit(s, npu, u);
    switch (e) {
    case SEND_FINISHED:
        me->last = s->queue.now;
        me->before = me->now;
        me->now = FREE;
        me->n_reads++;
        break;
    case RECEIVE_FINISHED:
        finish_receive(s, npu, u);
        break;
    case PROCESSING_FINISHED:
        me->processing = false;
        pass_request_on(s, npu, u, pop_request(s, &me->work));
        start_work(s, npu, u);
        break;
    case RETIRE:
        finish_request(s, npu, id);
        break;
    case PROCESS:
        push_request(s, &me->work, id);
        start_work(s, npu, u);
        break;
    case SEND_BACK:
        push_request(s, &me->sends, id);
        break;
    case GO_ON:
        break;
    }
    send_if_free(s, npu, u);
}

void sim_bus_step(sim *s, uint64_t word)
{
    const sim_bus_event e = sim_event_read_bus(word);
    assert(e.npu < s->n_npus && e.unit < N_UNITS && e.step <= SEND_BACK);
    handle_step(s, e.npu, e.unit, (event)e.step, SIM_NONE);
}

void sim_bus_request(sim *s, uint32_t npu, const sim_packet *packet, uint64_t then)
{
    if (packet->bytes > INT32_MAX) {
        sim_fail(s, error_set(s->err, HALLEY_ELIMIT,
                              "the shared bus (model-shared-bus) can handle messages of "
                              "up to 2147483647 bytes, not %llu",
                              (unsigned long long)packet->bytes));
        return;
    }
    const request r = {.bytes = (int32_t)packet->bytes,
                       .processed = packet->reduces,
                       .sends_back = packet->sends_back,
                       .outer = SIM_NONE,
                       .then = then};
    if (!packet->from_npu) {
        queue_request(s, npu, OUTER_NET, &r);
        return;
    }
    const uint32_t id = new_request(s, &r);
    if (id != SIM_NONE)
        send_through_memory(s, npu, id, SEND_BACK, INNER_MEM, false);
}

halley_status sim_bus_init(sim *s)
{
    if (!s->system->bus.on)
        return HALLEY_OK;
    const size_t n_units = (size_t)s->n_npus * N_UNITS;
    s->bus = calloc(1, sizeof *s->bus + n_units * sizeof(unit));
    if (s->bus == NULL)
        return error_nomem(s->err);
    s->bus->free_request = SIM_NONE;
    return HALLEY_OK;
}

void sim_bus_fini(sim *s)
{
    if (s->bus == NULL)
        return;
    array_fini(&s->bus->requests);
    free(s->bus);
    s->bus = NULL;
}
