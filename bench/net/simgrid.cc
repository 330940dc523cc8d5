/*
 * bench/net/simgrid.cc - the flows of a bench case in SimGrid, by its pure max-min model:
 * CPU seconds of the simulation alone, and the time at which the last flow ends. Links
 * have no latency, as flows.c writes them (--simgrid); it is added afterwards. C++, since
 * SimGrid's interface in C does not have messages from host to host.
 *
 *   simgrid_flows PLATFORM.xml FLOWS.txt        a line "from to bytes start_s" per flow
 */
#include "bench/measure.h"

#include <cstdio>
#include <fstream>
#include <simgrid/s4u.hpp>
#include <vector>

namespace sg4 = simgrid::s4u;

struct sent_flow {
    sg4::Host *from, *to;
    double bytes, start_s;
};

static std::vector<sent_flow> read_flows(const char *path)
{
    std::vector<sent_flow> flows;
    std::ifstream file(path);
    std::string from, to;
    double bytes, start_s;
    while (file >> from >> to >> bytes >> start_s)
        flows.push_back(
            {sg4::Host::by_name(from), sg4::Host::by_name(to), bytes, start_s});
    return flows;
}

/* Starts every flow at its time and waits for all of them. */
static void send_flows(const std::vector<sent_flow> &flows)
{
    std::vector<sg4::CommPtr> comms;
    for (const sent_flow &f : flows) {
        if (f.start_s > sg4::Engine::get_clock())
            sg4::this_actor::sleep_until(f.start_s);
        comms.push_back(
            sg4::Comm::sendto_async(f.from, f.to, static_cast<uint64_t>(f.bytes)));
    }
    sg4::Comm::wait_all(comms);
}

int main(int argc, char **argv)
{
    sg4::Engine engine(&argc, argv);
    if (argc != 3) {
        fprintf(stderr, "usage: simgrid_flows PLATFORM.xml FLOWS.txt\n");
        return 1;
    }
    engine.load_platform(argv[1]);
    const std::vector<sent_flow> flows = read_flows(argv[2]);
    if (flows.empty())
        return 1;
    sg4::Actor::create("sender", flows[0].from, send_flows, flows);
    const double start = measure_cpu_s();
    engine.run();
    printf("%.4f %.9f\n", measure_cpu_s() - start, sg4::Engine::get_clock());
    return 0;
}
