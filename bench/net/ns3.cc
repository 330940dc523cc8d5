/*
 * bench/net/ns3.cc - the flows of a case as packets in ns-3: when each of them has
 * arrived. Devices are routers with point-to-point links; messages are TCP streams with a
 * fixed window over queues that lose nothing, the nearest that Debian's ns-3 has to RDMA
 * over a lossless fabric. Messages from one host to another share a connection.
 *
 *   ns3_flows CASE.txt        prints a line "flow seconds" per flow
 *
 * CASE.txt: "nodes N", then "link a b bits_per_s delay_s" (both ways), then "flow from to
 * bytes after" per flow, in order: it starts when flow `after` has arrived (-1: at once).
 * Nodes that send or receive are hosts; the graph must be a tree.
 */
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

using namespace ns3;

/* Packets of jumbo frames: 9,000 B with 20 B of IP and 32 B of TCP. */
static const uint32_t frame_bytes = 9000, segment_bytes = 9000 - 20 - 32;
/* Bytes of a connection under way. With less, acknowledgements that wait behind data of
 * the other direction slow a ring down: 11.1 ms at 128 KiB, 10.5 at 1 MiB. */
static const uint32_t window_bytes = 1 << 20;

struct sent_flow {
    uint32_t from, to;
    uint64_t bytes;
    int after;
    double end_s = -1;
};

/* A stream from one host to another, with its flows in the order in which they start. */
struct connection {
    Ptr<Socket> sender;
    uint64_t to_send = 0, n_received = 0;
    std::vector<std::pair<uint64_t, size_t>> ends; /* byte after the last, flow */
    size_t next_end = 0;
};

struct network_case {
    NodeContainer nodes;
    std::vector<Ipv4Address> address; /* of each node: its first interface */
    std::vector<sent_flow> flows;
    std::map<std::pair<uint32_t, uint32_t>, connection> connections;
};

static network_case world;

static void send_waiting(connection *c)
{
    while (c->to_send > 0 && c->sender->GetTxAvailable() > 0) {
        const uint32_t room = c->sender->GetTxAvailable();
        const uint32_t n =
            static_cast<uint32_t>(std::min<uint64_t>({c->to_send, room, 1u << 20}));
        const int sent = c->sender->Send(Create<Packet>(n));
        if (sent <= 0)
            break;
        c->to_send -= static_cast<uint64_t>(sent);
    }
}

static void start_flow(size_t i)
{
    sent_flow &f = world.flows[i];
    connection &c = world.connections[{f.from, f.to}];
    const uint64_t before = c.ends.empty() ? 0 : c.ends.back().first;
    c.ends.emplace_back(before + f.bytes, i);
    c.to_send += f.bytes;
    send_waiting(&c);
}

static void end_flow(size_t i)
{
    world.flows[i].end_s = Simulator::Now().GetSeconds();
    for (size_t k = 0; k < world.flows.size(); k++)
        if (world.flows[k].after == static_cast<int>(i))
            Simulator::ScheduleNow(&start_flow, k);
}

static void receive_bytes(connection *c, Ptr<Socket> socket)
{
    while (Ptr<Packet> packet = socket->Recv())
        c->n_received += packet->GetSize();
    while (c->next_end < c->ends.size() && c->ends[c->next_end].first <= c->n_received)
        end_flow(c->ends[c->next_end++].second);
}

static void configure_tcp()
{
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(segment_bytes));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 24));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(window_bytes));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::FifoQueueDisc::MaxSize",
                       QueueSizeValue(QueueSize("100000p")));
}

static void add_link(uint32_t a, uint32_t b, double rate_bps, double delay_s, uint32_t i)
{
    PointToPointHelper link;
    TrafficControlHelper queue;
    Ipv4AddressHelper address;
    char network[32];
    link.SetDeviceAttribute("DataRate",
                            DataRateValue(DataRate(static_cast<uint64_t>(rate_bps))));
    link.SetDeviceAttribute("Mtu", UintegerValue(frame_bytes));
    link.SetChannelAttribute("Delay", TimeValue(Seconds(delay_s)));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1p"));
    const NetDeviceContainer ends = link.Install(world.nodes.Get(a), world.nodes.Get(b));
    queue.SetRootQueueDisc("ns3::FifoQueueDisc");
    queue.Install(ends);
    snprintf(network, sizeof network, "10.%u.%u.0", i / 250, i % 250);
    address.SetBase(network, "255.255.255.0");
    const Ipv4InterfaceContainer at = address.Assign(ends);
    if (world.address[a] == Ipv4Address())
        world.address[a] = at.GetAddress(0);
    if (world.address[b] == Ipv4Address())
        world.address[b] = at.GetAddress(1);
}

static bool read_case(const char *path)
{
    std::ifstream file(path);
    std::string word;
    uint32_t n, a, b, n_links = 0;
    double rate_bps, delay_s;
    sent_flow f;
    while (file >> word) {
        if (word == "nodes" && file >> n) {
            world.nodes.Create(n);
            world.address.assign(n, Ipv4Address());
            InternetStackHelper().Install(world.nodes);
        } else if (word == "link" && file >> a >> b >> rate_bps >> delay_s)
            add_link(a, b, rate_bps, delay_s, n_links++);
        else if (word == "flow" && file >> f.from >> f.to >> f.bytes >> f.after)
            world.flows.push_back(f);
        else
            return false;
    }
    return !world.flows.empty();
}

/* A listener at the receiver and a connection to it, made before the flows start. */
static void open_connection(uint32_t from, uint32_t to, connection *c, uint16_t port)
{
    Ptr<Socket> listener =
        Socket::CreateSocket(world.nodes.Get(to), TcpSocketFactory::GetTypeId());
    listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), port));
    listener->Listen();
    listener->SetAcceptCallback(
        MakeNullCallback<bool, Ptr<Socket>, const Address &>(),
        Callback<void, Ptr<Socket>, const Address &>([c](Ptr<Socket> socket,
                                                         const Address &) {
            socket->SetRecvCallback(
                Callback<void, Ptr<Socket>>([c](Ptr<Socket> s) { receive_bytes(c, s); }));
        }));
    c->sender =
        Socket::CreateSocket(world.nodes.Get(from), TcpSocketFactory::GetTypeId());
    c->sender->SetSendCallback(Callback<void, Ptr<Socket>, uint32_t>(
        [c](Ptr<Socket>, uint32_t) { send_waiting(c); }));
    c->sender->Connect(InetSocketAddress(world.address[to], port));
}

int main(int argc, char **argv)
{
    const double warm_s = 0.01; /* connections are open then */
    uint16_t port = 1000;
    if (argc != 2) {
        fprintf(stderr, "usage: ns3_flows CASE.txt\n");
        return 2;
    }
    configure_tcp();
    if (!read_case(argv[1])) {
        fprintf(stderr, "ns3_flows: %s is no case\n", argv[1]);
        return 1;
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    for (const sent_flow &f : world.flows)
        world.connections[{f.from, f.to}];
    for (auto &item : world.connections)
        Simulator::ScheduleNow(&open_connection, item.first.first, item.first.second,
                               &item.second, port++);
    for (size_t i = 0; i < world.flows.size(); i++)
        if (world.flows[i].after < 0)
            Simulator::Schedule(Seconds(warm_s), &start_flow, i);
    Simulator::Stop(Seconds(100));
    Simulator::Run();
    for (size_t i = 0; i < world.flows.size(); i++) {
        if (world.flows[i].end_s < 0) {
            fprintf(stderr, "ns3_flows: flow %zu did not arrive in 100 s\n", i);
            return 1;
        }
        printf("%zu %.9f\n", i, world.flows[i].end_s - warm_s);
    }
    return 0;
}
