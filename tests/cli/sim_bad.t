# halley sim: what is wrong with an input is said in one sentence. doc/reference/astra-differences.md and
# tests/oracle have ASTRA-sim's own probes; these are about our own form and the options.

## a file that is not there
$ halley sim x -c none.yaml
! halley: none.yaml: no such file
? 1

## no network
$ printf 'npus: 4\n' > c.yaml; halley sim x -c c.yaml
! halley: c.yaml:1:1: key "network" is missing: network between nodes: {fabric, bandwidth}, {topology, tiers}, or a list of dimensions, innermost first
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
! halley: c.yaml:1:48: bandwidth: bandwidth needs a unit, such as "900 GB/s"; is "100"
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
! halley: c.yaml:1:10: such a network connects nodes: nodes needs npus, for example nodes: {npus: 8, up: nvlink4-h100}
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

## groups with a stranger, a rank twice
$ printf 'network: [{topology: ring, size: 4, bandwidth: 1 GB/s}]\ngroups: {1: [0, 9]}\n' > c.yaml; halley sim x -c c.yaml
! halley: c.yaml:2:17: group 1: rank 9 is not one of the 4 NPUs
? 1
$ printf 'network: [{topology: ring, size: 4, bandwidth: 1 GB/s}]\ngroups: {1: [0, 1, 0]}\n' > c.yaml; halley sim x -c c.yaml
! halley: c.yaml:2:20: group 1: rank 0 is listed twice
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
! halley: c.yaml:2:20: "4" is not one of the 4 NPUs
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
! halley: there are traces of 6 ranks, but the network has 4 NPUs
? 1
$ printf 'network: [{topology: switch, size: 8, bandwidth: 1 GB/s}]\n' > c.yaml; halley sim ar -c c.yaml
! halley: there are traces of 6 ranks, but the network has 8 NPUs
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
! halley: traces are needed: TRACE, or --workload-configuration; or a model and a plan: --model
! see 'halley sim --help'
? 2
$ halley sim x -c c.yaml --no-such-option=1
! halley: unknown option --no-such-option=1
! see 'halley sim --help'
? 2

## a number that is none, a key that a dimension needs, npus that the sizes do not make
$ printf 'network: [{topology: ring, size: four, bandwidth: 1 GB/s}]\n' > c.yaml; halley sim x -c c.yaml
! halley: c.yaml:1:34: size must be a whole number, is "four"
? 1
$ printf 'network: [{topology: ring, size: 4}]\n' > c.yaml; halley sim x -c c.yaml
! halley: c.yaml:1:11: key "bandwidth" is missing: of one link, one way
? 1
$ printf 'network: [{topology: ring, size: -4, bandwidth: 1 GB/s}]\n' > c.yaml; halley sim x -c c.yaml
! halley: c.yaml:1:34: size must be positive, is -4
? 1
$ printf 'npus: 5\nnetwork: [{topology: ring, size: 4, bandwidth: 1 GB/s}]\n' > c.yaml; halley sim x -c c.yaml
! halley: c.yaml:1:7: npus is 5, and the sizes of the network multiply to 4
? 1
$ printf 'network: [{topology: ring, size: 4, bandwidth: 1 GB/s}]\nsystem: {algorithms: ring}\n' > c.yaml; halley sim x -c c.yaml
! halley: c.yaml:2:22: algorithms must be a list of 1 to 1, one a dimension
? 1
$ printf 'network: [{topology: ring, size: 4, bandwidth: 1 GB/s}, {topology: ring, size: 2, bandwidth: 1 GB/s}]\nsystem: {algorithms: [flat-ring, ring]}\n' > c.yaml; halley sim x -c c.yaml
! halley: c.yaml:2:34: the algorithm before it is flat, over all NPUs, and ends the list
? 1

## groups without members, and one that no file has
$ printf 'network: [{topology: ring, size: 4, bandwidth: 1 GB/s}]\ngroups: {1: []}\n' > c.yaml; halley sim x -c c.yaml
! halley: c.yaml:2:13: group 1 must be a list of ranks
? 1
$ printf '{"nodes":[{"id":1,"name":"a","type":"COMM_COLL_NODE","attr":[{"name":"comm_type","int64Val":0},{"name":"comm_size","int64Val":8},{"name":"pg_name","stringVal":"7"}]}]}' > g.0.json; cp g.0.json g.1.json
$ printf 'network: [{topology: ring, size: 2, bandwidth: 1 GB/s}]\n' > c.yaml; halley sim g -c c.yaml
! halley: g.0.json: node 1: pg_name is not in the communicator group file
? 1

## a message to oneself, of nothing, to nobody; a size below zero; a root that is none
$ printf 'network: [{topology: ring, size: 1, bandwidth: 1 GB/s}]\n' > c.yaml
$ printf '{"nodes":[{"id":1,"name":"a","type":"COMM_SEND_NODE","attr":[{"name":"comm_dst","int32Val":0},{"name":"comm_size","int64Val":8},{"name":"comm_tag","int32Val":0}]}]}' > a.0.json; halley sim a -c c.yaml
! halley: a.0.json: node 1: rank 0: the rank sends a message to itself
? 1
$ sed 's/"int64Val":8/"int64Val":0/' a.0.json > b.0.json; halley sim b -c c.yaml
! halley: b.0.json: node 1: comm_size is 0
? 1
$ sed 's/"int64Val":8/"int64Val":-8/' a.0.json > d.0.json; halley sim d -c c.yaml
! halley: d.0.json: node 1: attribute comm_size must be a whole number that is not negative
? 1
$ sed 's/"int32Val":0},{"name":"comm_size"/"int32Val":9},{"name":"comm_size"/' a.0.json > e.0.json; halley sim e -c c.yaml
! halley: e.0.json: node 1: comm_dst is not a rank of this cluster
? 1
$ printf '{"nodes":[{"id":1,"name":"a","type":"COMM_COLL_NODE","attr":[{"name":"comm_type","int64Val":5},{"name":"comm_size","int64Val":8},{"name":"root","int64Val":3}]}]}' > r.0.json; halley sim r -c c.yaml
! halley: r.0.json: node 1: rank 0: the attribute root does not name a member of the collective
? 1
$ sed 's/"int64Val":5/"int64Val":55/' r.0.json > t.0.json; halley sim t -c c.yaml
! halley: t.0.json: node 1: comm_type does not name a collective
? 1

## a trace that is cut, one that runs in a circle, one without nodes
$ printf 'network: [{topology: ring, size: 1, bandwidth: 1 GB/s}]\n' > c.yaml
$ halley trace gen random -n 1 --nodes 50 -o w > list; head -c 900 w.0.et > cut.0.et; halley sim cut -c c.yaml 2>&1 | sed -E 's/[0-9]+/N/g'
> halley: cut.N.et: byte N: a message of N bytes, but the file ends after N; it is cut (copy it again) or no .et
$ printf '{"nodes":[{"id":1,"name":"a","type":"COMP_NODE","dataDeps":[3]},{"id":2,"name":"b","type":"COMP_NODE","dataDeps":[1]},{"id":3,"name":"c","type":"COMP_NODE","dataDeps":[2]}]}' > o.0.json; halley sim o -c c.yaml
! halley: o.0.json: node 1: rank 0: 3 of its 3 nodes depend on each other in a cycle, or on such a cycle, and never run
? 1
$ printf '{"nodes":[]}' > n.0.json; halley sim n -c c.yaml
! halley: n.0.json: the trace of rank 0 is empty
? 1

## trees and halving-doubling on sizes they cannot do
$ halley trace gen all-reduce -n 6 -o ar > list
$ for a in double-binary-tree halving-doubling; do printf 'network: [{topology: switch, size: 6, bandwidth: 1 GB/s}]\nsystem: {algorithms: [%s]}\n' $a > c.yaml; halley sim ar -c c.yaml; done
! halley: ar.0.et: node 0: rank 0: a double binary tree needs a power of two of members, not 6
! halley: ar.0.et: node 0: rank 0: halving-doubling needs a power of two of members, not 6
? 1

## sizes above 2^32 simply work
$ printf 'network: [{topology: ring, size: 2, bandwidth: 100 GB/s}]\n' > c.yaml
$ halley trace gen all-reduce -n 2 --repeat 1 --size '16 TB' -o ar > list; halley sim ar -c c.yaml | head -1
> 2.67 min on 2 ranks
$ halley trace gen pipeline -n 2 --size '8 GB' --tensor '8 GB' --micro-batches 1 --compute '1 us' -o pp > list; halley sim pp -c c.yaml --network-model aware | head -1
> 160 ms on 2 ranks

## ASTRA-sim's files: wrong types, missing keys, counts and rates that cannot be
$ halley trace gen all-reduce -n 4 --size '1 MiB' -o ar --csv > list
$ N='topology: [ Ring ]\nnpus_count: [ 4 ]\nbandwidth: [ 50 ]\nlatency: [ 500 ]\n'; for change in 's/4/four/' 's/npus_count.*//' 's/Ring/Torus/' 's/4/-4/' 's/4/0/' 's/50 /0 /' 's/50 /-1 /' 's/500/-1/' 's/50 /fast /' 's/\[ 50 \]/[ 50, 50 ]/' 's/\[ 50 \]/50/'; do printf "$N" | sed "$change" > n.yml; halley sim --workload-configuration=ar --system-configuration=$DATA/sim/system.json --network-configuration=n.yml 2>&1 | head -2; done
> halley: n.yml:2:15: npus_count must be a whole number, is "four"
> halley: n.yml:1:1: npus_count is missing
> halley: n.yml:1:13: topology must be Ring, FullyConnected or Switch, is "Torus"
> halley: n.yml:2:15: npus_count must be from 2 to 1048576, is -4
> halley: n.yml:2:15: npus_count must be from 2 to 1048576, is 0
> halley: n.yml:3:14: bandwidth must be positive, is 0
> halley: n.yml:3:14: bandwidth must be positive, is -1
> halley: n.yml:4:12: latency must not be negative, is -1
> halley: n.yml:3:14: bandwidth must be a number, is "fast"
> halley: n.yml:3:12: bandwidth has 2 values, topology has 1
> halley: n.yml:3:12: bandwidth must be a list, one value a dimension
$ printf "topology: [ Ring ]\nnpus_count: [ 4 ]\nbandwidth: [ 50 ]\nlatency: [ 500 ]\n" > n.yml; for change in 's/"endpoint-delay": [0-9]*/"endpoint-delay": "ten"/' 's/"preferred-dataset-splits": [0-9]*/"preferred-dataset-splits": -1/' 's/\["ring"\]/["rings"]/' 's/\["ring"\]/"ring"/' 's/\["ring"\]/["ring", "ring"]/'; do sed "$change" $DATA/sim/system.json > s.json; halley sim --workload-configuration=ar --system-configuration=s.json --network-configuration=n.yml 2>&1 | head -1; done
> halley: s.json: endpoint-delay must be a number, is the text "ten"
> halley: s.json: preferred-dataset-splits must be at least 1, is -1
> halley: s.json: all-reduce-implementation: "rings" is no algorithm; known are ring, direct, directN, halvingDoubling, doubleBinaryTree, oneRing, oneDirect, oneHalvingDoubling
> halley: s.json: all-reduce-implementation must be a list, one algorithm a dimension
> halley: s.json: all-reduce-implementation names 2 algorithms, the network has 1 dimensions

## ASTRA-sim's groups: a stranger, a rank twice, one member alone (a warning while nobody uses it)
$ halley trace gen all-reduce -n 4 --size '1 MiB' -o ar --csv > list
$ for g in '{"1": [0, 9]}' '{"1": [0, 0]}' '{"1": [2]}' '{"1": []}' '{"one": [0, 1]}' '[1]'; do echo "$g" > g.json; halley sim --workload-configuration=ar --system-configuration=$DATA/sim/system.json --network-configuration=$DATA/sim/ring4.yml --comm-group-configuration=g.json 2>&1 | head -1; done
> halley: g.json: group 1: rank 9 is not one of the 4 NPUs
> halley: g.json: group 1: rank 0 is listed twice
> halley: warning: g.json: group 1 has one member; a collective in it cannot end
> halley: g.json: group 1 must be a list of ranks
> halley: g.json: a group's name must be a positive number, is "one"
> halley: g.json: a map of groups is wanted

## a preset without its NPUs, one that is not known, a number that is none
$ halley trace gen all-reduce -n 8 -o ar --csv > list
$ halley sim ar -c dgx-h100
! halley: cluster "dgx-h100": say how many NPUs it has, such as dgx-h100:8
? 1
$ halley sim ar -c dgx-h10:8
! halley: no cluster "dgx-h10"; did you mean dgx-h100?
? 1
$ halley sim ar -c dgx-h100:0
! halley: cluster "dgx-h100:0": expected a positive number of accelerators after ':', for example dgx-h100:64
! see 'halley sim --help'
? 2
$ halley sim ar -c dgx-h100:many
! halley: cluster "dgx-h100:many": expected a positive number of accelerators after ':', for example dgx-h100:64
! see 'halley sim --help'
? 2

## a topology file without NPUs, whatever reads it
$ printf 'SwitchName=s0 Nodes=n[0-3]\nSwitchName=s1 Nodes=n[4-7]\nSwitchName=top Switches=s[0-1]\n' > topology.conf; halley sim x -c topology.conf
! halley: topology.conf: the network has no NPUs, only switches and hosts: name a topology with NPUs, or describe the nodes in a cluster file
? 1
$ halley sim x -c topology.conf:8
! halley: topology.conf: the network has no NPUs, only switches and hosts: name a topology with NPUs, or describe the nodes in a cluster file
? 1
$ halley estimate -m gpt-7.5b -c topology.conf
! halley: topology.conf: the network has no NPUs, only switches and hosts: name a topology with NPUs, or describe the nodes in a cluster file
? 1
