# halley sim: what is wrong with an input is said in one sentence. doc/astra-differences.md and
# tests/oracle have ASTRA-sim's own probes; these are about our own form and the options.

## a file that is not there
$ halley sim x -c none.yaml
! halley: none.yaml: no such file
? 1

## no network
$ printf 'npus: 4\n' > c.yaml; halley sim x -c c.yaml
! halley: c.yaml:1:1: key "network" is missing: dimensions, innermost first
? 1

## an unknown topology
$ printf 'network: [{topology: torus, size: 4, bandwidth: 1 GB/s}]\n' > c.yaml; halley sim x -c c.yaml
! halley: c.yaml:1:22: topology must be one of ring, fully-connected, switch; is "torus"
? 1

## a size of nothing
$ printf 'network: [{topology: ring, size: 0, bandwidth: 1 GB/s}]\n' > c.yaml; halley sim x -c c.yaml
! halley: c.yaml:1:34: size must be positive, is 0
? 1

## a bandwidth without a unit, of nothing, and below it
$ printf 'network: [{topology: ring, size: 4, bandwidth: 100}]\n' > c.yaml; halley sim x -c c.yaml
! halley: c.yaml:1:48: bandwidth: bandwidth wants a unit, such as "900 GB/s"; is "100"
? 1
$ printf 'network: [{topology: ring, size: 4, bandwidth: 0 GB/s}]\n' > c.yaml; halley sim x -c c.yaml
! halley: c.yaml:1:48: bandwidth must be positive, is 0 GB/s
? 1
$ printf 'network: [{topology: ring, size: 4, bandwidth: -1 GB/s}]\n' > c.yaml; halley sim x -c c.yaml
! halley: c.yaml:1:48: bandwidth must be positive, is -1 GB/s
? 1

## a negative latency
$ printf 'network: [{topology: ring, size: 4, bandwidth: 1 GB/s, latency: -5 ns}]\n' > c.yaml; halley sim x -c c.yaml
! halley: c.yaml:1:65: latency must be at least 0 s, is -5 ns
? 1

## a network that is no list
$ printf 'network: ring\n' > c.yaml; halley sim x -c c.yaml
! halley: c.yaml:1:10: network must be a list of 1 to 16 dimensions, innermost first
? 1

## an unknown algorithm, too many, too few
$ printf 'network: [{topology: ring, size: 4, bandwidth: 1 GB/s}]\nsystem: {algorithms: [rings]}\n' > c.yaml; halley sim x -c c.yaml
! halley: c.yaml:2:23: "rings" is no algorithm; known are ring, direct, direct-N, halving-doubling, double-binary-tree, flat-ring, flat-direct, flat-halving-doubling
? 1
$ printf 'network: [{topology: ring, size: 4, bandwidth: 1 GB/s}]\nsystem: {algorithms: [ring, ring]}\n' > c.yaml; halley sim x -c c.yaml
! halley: c.yaml:2:22: algorithms must be a list of 1 to 1, one a dimension
? 1
$ printf 'network: [{topology: ring, size: 4, bandwidth: 1 GB/s}, {topology: ring, size: 4, bandwidth: 1 GB/s}]\nsystem: {algorithms: [ring]}\n' > c.yaml; halley sim x -c c.yaml
! halley: c.yaml:2:22: 1 algorithms for 2 dimensions; name one for each
? 1

## no chunks
$ printf 'network: [{topology: ring, size: 4, bandwidth: 1 GB/s}]\nsystem: {chunks: 0}\n' > c.yaml; halley sim x -c c.yaml
! halley: c.yaml:2:18: chunks must be positive, is 0
? 1

## groups with a stranger, a rank twice, one member
$ printf 'network: [{topology: ring, size: 4, bandwidth: 1 GB/s}]\ngroups: {1: [0, 9]}\n' > c.yaml; halley sim x -c c.yaml
! halley: c.yaml:2:17: group 1: rank 9 is not one of the 4 NPUs
? 1
$ printf 'network: [{topology: ring, size: 4, bandwidth: 1 GB/s}]\ngroups: {1: [0, 1, 0]}\n' > c.yaml; halley sim x -c c.yaml
! halley: c.yaml:2:20: group 1: rank 0 stands in it twice
? 1
$ printf 'network: [{topology: ring, size: 4, bandwidth: 1 GB/s}]\ngroups: {1: [2]}\n' > c.yaml; halley sim x -c c.yaml
! halley: c.yaml:2:13: group 1 has one member
? 1
$ printf 'network: [{topology: ring, size: 4, bandwidth: 1 GB/s}]\ngroups: {tp: [0, 1]}\n' > c.yaml; halley sim x -c c.yaml
! halley: c.yaml:2:14: a group's name must be a positive number, is "tp"
? 1

## a roofline without a peak
$ printf 'network: [{topology: ring, size: 4, bandwidth: 1 GB/s}]\nsystem: {compute: roofline}\n' > c.yaml; halley sim x -c c.yaml
! halley: c.yaml:2:9: compute: roofline needs the NPU's peak and memory
? 1

## an in-network collective without a switch, and one no switch knows
$ printf 'network: [{topology: ring, size: 4, bandwidth: 1 GB/s, in-network: [all-reduce]}]\n' > c.yaml; halley sim x -c c.yaml
! halley: c.yaml:1:68: in-network needs topology: switch
? 1
$ printf 'network: [{topology: switch, size: 4, bandwidth: 1 GB/s, in-network: [all-to-all]}]\n' > c.yaml; halley sim x -c c.yaml
! halley: c.yaml:1:71: in-network knows all-reduce, reduce-scatter, all-gather and broadcast, not "all-to-all"
? 1

## a straggler that is not there
$ printf 'network: [{topology: ring, size: 4, bandwidth: 1 GB/s}]\nsystem: {slow: {4: 2}}\n' > c.yaml; halley sim x -c c.yaml
! halley: c.yaml:2:20: slow: "4" is not one of the 4 NPUs
? 1

## an algorithm on a size it cannot do
$ halley trace gen all-reduce -n 6 -o ar --csv > list
$ printf 'network: [{topology: switch, size: 6, bandwidth: 1 GB/s}]\nsystem: {algorithms: [halving-doubling]}\n' > c.yaml; halley sim ar -c c.yaml
! halley: ar.0.et: node 0: rank 0: halving-doubling needs a power of two of members, not 6
? 1
$ printf 'network: [{topology: switch, size: 6, bandwidth: 1 GB/s}]\nsystem: {algorithms: [double-binary-tree]}\n' > c.yaml; halley sim ar -c c.yaml
! halley: ar.0.et: node 0: rank 0: a double binary tree needs a power of two of members, not 6
? 1

## more traces and fewer traces than NPUs
$ halley trace gen all-reduce -n 6 -o ar --csv > list
$ printf 'network: [{topology: switch, size: 4, bandwidth: 1 GB/s}]\n' > c.yaml; halley sim ar -c c.yaml
! halley: there are traces of 6 ranks, and the network has 4 NPUs
? 1
$ printf 'network: [{topology: switch, size: 8, bandwidth: 1 GB/s}]\n' > c.yaml; halley sim ar -c c.yaml
! halley: there are traces of 6 ranks, and the network has 8 NPUs
? 1

## traces that are not there
$ printf 'network: [{topology: switch, size: 4, bandwidth: 1 GB/s}]\n' > c.yaml; halley sim none -c c.yaml
! halley: none: no such trace: there is no file, no folder and no none.0.et of that name
? 1

## clusters of both kinds, and none
$ halley sim x -c c.yaml --system-configuration=s.json
! halley: --cluster and ASTRA-sim's files exclude each other
! see 'halley sim --help'
? 2
$ halley sim x
! halley: a cluster is needed: --cluster, or --system-configuration and --network-configuration; or --replay
! see 'halley sim --help'
? 2
$ halley sim -c c.yaml
! halley: traces are needed: TRACE, or --workload-configuration
! see 'halley sim --help'
? 2
$ halley sim x -c c.yaml --no-such-option=1
! halley: unknown option --no-such-option=1
! see 'halley sim --help'
? 2
