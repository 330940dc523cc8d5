// protobuf_cc FILE: decode with C++ protobuf, one heap message a node; encode.
#include "../measure.h"
#include "chakra.pb.h"

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    size_t n;
    uint8_t *const file = measure_read_file(argv[1], &n);
    measure_memory_start();
    const double start = measure_wall_s();
    std::vector<std::unique_ptr<chakra::Node>> nodes;
    bool first = true;
    for (size_t at = 0; at < n; first = false) {
        size_t length = 0;
        for (int shift = 0;; shift += 7) {
            const uint8_t byte = file[at++];
            length |= static_cast<size_t>(byte & 0x7f) << shift;
            if (byte < 0x80)
                break;
        }
        if (!first) {
            nodes.push_back(std::make_unique<chakra::Node>());
            if (!nodes.back()->ParseFromArray(file + at, static_cast<int>(length)))
                return 1;
        }
        at += length;
    }
    const double decoded = measure_wall_s();
    const size_t bytes = measure_memory_stop();
    const double before = measure_wall_s();
    std::string out, one;
    for (const auto &node : nodes) {
        const size_t length = node->ByteSizeLong();
        for (size_t left = length;; left >>= 7) {
            out.push_back(static_cast<char>(left > 0x7f ? left | 0x80 : left));
            if (left <= 0x7f)
                break;
        }
        const size_t to = out.size();
        out.resize(to + length);
        node->SerializeWithCachedSizesToArray(reinterpret_cast<uint8_t *>(&out[to]));
    }
    std::printf("%.6f %.6f %zu %zu\n", decoded - start, measure_wall_s() - before, bytes,
                nodes.size());
}
