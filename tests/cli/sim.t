# halley sim: traces replayed on a cluster. tests/oracle has ASTRA-sim's answers.

## a run prints time, communication by kind and the use of the network
$ halley trace gen all-reduce -n 4 --size '1 MiB' -o ar --csv > list
$ halley sim --workload-configuration=ar --system-configuration=$DATA/sim/system.json --network-configuration=$DATA/sim/ring4.yml
> 33.8 us on 4 ranks
>
> Per rank                    Mean    Least     Most  On rank
> Finish                   33.8 us  33.8 us  33.8 us        0
> GPU compute                  0 s      0 s      0 s        0
> Communication            33.8 us  33.8 us  33.8 us        0
>   not hidden by compute  33.8 us  33.8 us  33.8 us        0
> Idle                         0 s      0 s      0 s        0
>
> Communication  Group  Members  Nodes  Data a node  Time a node
> ALL_REDUCE     all          4      4      1.05 MB      33.8 us
>
> Dimension  Topology  NPUs       Link  Messages     Data     Use
>         0  Ring         4  53.7 GB/s        24  6.29 MB  86.6 %

## ASTRA-sim's own lines
$ halley trace gen all-reduce -n 4 --size '1 MiB' -o ar --csv > list
$ halley sim --astra-output --workload-configuration=ar --system-configuration=$DATA/sim/system.json --network-configuration=$DATA/sim/ring4.yml
> [2{*}] [system::topology::RingTopology] [info] ring of node 0, id: 0 dimension: local total nodes in ring: 4 index in ring: 0 offset: 1 total nodes in ring: 4
> [2{*}] [system::topology::RingTopology] [info] ring of node 0, id: 0 dimension: local total nodes in ring: 4 index in ring: 0 offset: 1 total nodes in ring: 4
> [2{*}] [system::topology::RingTopology] [info] ring of node 0, id: 0 dimension: local total nodes in ring: 4 index in ring: 0 offset: 1 total nodes in ring: 4
> [2{*}] [system::topology::RingTopology] [info] ring of node 0, id: 0 dimension: local total nodes in ring: 4 index in ring: 0 offset: 1 total nodes in ring: 4
> [2{*}] [workload] [info] sys[2] finished, 33829 cycles, exposed communication 33829 cycles.
> [2{*}] [statistics] [info] sys[2]. Post statistics processing start.
> [2{*}] [statistics] [info] sys[2]. Post statistics processing end.
> [2{*}] [statistics] [info] sys[2], Wall time: 33829
> [2{*}] [statistics] [info] sys[2], Comm time: 33829
> [2{*}] [workload] [info] sys[3] finished, 33829 cycles, exposed communication 33829 cycles.
> [2{*}] [statistics] [info] sys[3]. Post statistics processing start.
> [2{*}] [statistics] [info] sys[3]. Post statistics processing end.
> [2{*}] [statistics] [info] sys[3], Wall time: 33829
> [2{*}] [statistics] [info] sys[3], Comm time: 33829
> [2{*}] [workload] [info] sys[0] finished, 33829 cycles, exposed communication 33829 cycles.
> [2{*}] [statistics] [info] sys[0]. Post statistics processing start.
> [2{*}] [statistics] [info] sys[0]. Post statistics processing end.
> [2{*}] [statistics] [info] sys[0], Wall time: 33829
> [2{*}] [statistics] [info] sys[0], Comm time: 33829
> [2{*}] [workload] [info] sys[1] finished, 33829 cycles, exposed communication 33829 cycles.
> [2{*}] [statistics] [info] sys[1]. Post statistics processing start.
> [2{*}] [statistics] [info] sys[1]. Post statistics processing end.
> [2{*}] [statistics] [info] sys[1], Wall time: 33829
> [2{*}] [statistics] [info] sys[1], Comm time: 33829
> [2{*}] [system] [warning] Exiting

## JSON, a row a rank, a row a node
$ halley trace gen pipeline -n 4 -o pp --csv > list
$ halley sim --json --workload-configuration=pp --system-configuration=$DATA/sim/system.json --network-configuration=$DATA/sim/ring4.yml
> {
>   "time_s": 0.002220186,
>   "npus": 4,
>   "events": 56,
>   "per_rank": [
>     {"what": "finish_s", "mean_s": 0.0019051627500000002, "least_s": 0.001580124, "most_s": 0.002220186, "most_rank": 0},
>     {"what": "compute_s", "mean_s": 0.0012, "least_s": 0.0012, "most_s": 0.0012, "most_rank": 0},
>     {"what": "comm_s", "mean_s": 0.0007953022500000001, "least_s": 0.000440217, "most_s": 0.001080279, "most_rank": 0},
>     {"what": "exposed_comm_s", "mean_s": 0.0007051627499999999, "least_s": 0.000380124, "most_s": 0.001020186, "most_rank": 0},
>     {"what": "idle_s", "mean_s": 0.00031502325, "least_s": 0, "most_s": 0.000640062, "most_rank": 3}
>   ],
>   "npu_memory": [],
>   "communication": [
>     {"kind": "RECEIVE", "group": "", "members": 4, "nodes": 24, "bytes_per_node": 1048576, "time_per_node_s": 0.00011502325},
>     {"kind": "SEND", "group": "", "members": 4, "nodes": 24, "bytes_per_node": 1048576, "time_per_node_s": 2.0031e-05}
>   ],
>   "network": [
>     {"dimension": 0, "topology": "Ring", "npus": 4, "bandwidth_Bps": 53687091200, "messages": 24, "bytes": 25165824, "use": 0.05278273982450119}
>   ],
>   "hottest_links": [],
>   "ranks": [
>     {"rank": 0, "finish_s": 0.002220186, "compute_s": 0.0012, "comm_s": 0.001080279, "exposed_comm_s": 0.001020186, "memory_s": 0, "cpu_s": 0, "idle_s": 0, "npu_memory_peak_bytes": 0},
>     {"rank": 1, "finish_s": 0.002020186, "compute_s": 0.0012, "comm_s": 0.000940372, "exposed_comm_s": 0.000820186, "memory_s": 0, "cpu_s": 0, "idle_s": 0.0002, "npu_memory_peak_bytes": 0},
>     {"rank": 2, "finish_s": 0.001800155, "compute_s": 0.0012, "comm_s": 0.000720341, "exposed_comm_s": 0.000600155, "memory_s": 0, "cpu_s": 0, "idle_s": 0.000420031, "npu_memory_peak_bytes": 0},
>     {"rank": 3, "finish_s": 0.001580124, "compute_s": 0.0012, "comm_s": 0.000440217, "exposed_comm_s": 0.000380124, "memory_s": 0, "cpu_s": 0, "idle_s": 0.000640062, "npu_memory_peak_bytes": 0}
>   ]
> }
$ halley sim --per-rank --per-node nodes.csv --timeline line.json --workload-configuration=pp --system-configuration=$DATA/sim/system.json --network-configuration=$DATA/sim/ring4.yml
> rank,finish_s,compute_s,comm_s,exposed_comm_s,memory_s,cpu_s,idle_s,npu_memory_peak_bytes
> 0,0.002220186,0.0012,0.001080279,0.001020186,0,0,0,0
> 1,0.002020186,0.0012,0.000940372,0.000820186,0,0,0.0002,0
> 2,0.001800155,0.0012,0.000720341,0.000600155,0,0,0.000420031,0
> 3,0.001580124,0.0012,0.000440217,0.000380124,0,0,0.000640062,0
$ head -3 nodes.csv
> rank,node,name,type,track,bytes,begin_s,end_s
> 0,0,FORWARD 0,COMP_NODE,GPU,10000000,0,0.0001
> 0,1,SEND 0 to 1,COMM_SEND_NODE,communication,1048576,0.0001,0.000120031

## ASTRA-sim's spellings: a value behind '=' or a space, a truth without one, words it ignores
$ halley trace gen all-reduce -n 4 --size '1 MiB' -o ar --csv > list
$ halley sim --astra-output --workload-configuration ar --system-configuration $DATA/sim/system.json --network-configuration $DATA/sim/ring4.yml --rendezvous-protocol --num-queues-per-dim 1 | grep finished | head -1
> [2{*}] [workload] [info] sys[0] finished, 37741 cycles, exposed communication 37741 cycles.
$ halley sim --astra-output --workload-configuration=ar --system-configuration=$DATA/sim/system.json --network-configuration=$DATA/sim/ring4.yml --rendezvous-protocol=false | grep finished | head -1
> [2{*}] [workload] [info] sys[2] finished, 33829 cycles, exposed communication 33829 cycles.
$ halley sim --astra-output --workload-configuration=ar --system-configuration=$DATA/sim/system.json --network-configuration=$DATA/sim/ring4.yml --rendezvous-protocol false | grep finished | head -1
> [2{*}] [workload] [info] sys[0] finished, 37741 cycles, exposed communication 37741 cycles.
! halley: warning: 'false' is ignored, as ASTRA-sim does; a value of --rendezvous-protocol needs '='
$ halley sim --workload-configuration=ar --system-configuration=$DATA/sim/system.json --network-configuration=$DATA/sim/ring4.yml --rendezvous-protocol=maybe
! halley: --rendezvous-protocol must be true or false, is 'maybe'
! see 'halley sim --help'
? 2

## what it needs is said
$ halley sim --workload-configuration=ar
! halley: a cluster is needed: --cluster, or --system-configuration and --network-configuration; or --replay
! see 'halley sim --help'
? 2

## fewer traces than NPUs
$ halley trace gen all-reduce -n 2 --size '1 MiB' -o ar --csv > list
$ halley sim --workload-configuration=ar --system-configuration=$DATA/sim/system.json --network-configuration=$DATA/sim/ring4.yml
! halley: there are traces of 2 ranks, but the network has 4 NPUs
? 1

## a configuration of ASTRA-sim's in our own form gives the same time
$ halley trace gen all-reduce -n 4 --size '1 MiB' -o ar --csv > list
$ halley sim --system-configuration=$DATA/sim/system.json --network-configuration=$DATA/sim/ring4.yml --write-cluster own.yaml
$ cat own.yaml
> npus: 4
> npu: {memory: [{name: local, bandwidth: 1.6 TB/s}]}
> network:
>   - {topology: ring, size: 4, bandwidth: 53687091200 B/s, latency: 500 ns}
> system:
>   rules: astra-sim
>   network-model: unaware
>   chunks: 1
>   active-chunks: 1
>   queues: 1
>   endpoint-delay: 10 ns
>   group-endpoint-delay: 10 ns
>   all-reduce-plan: hierarchical
>   compute: duration
>   all-reduce: [ring]
>   all-gather: [ring]
>   reduce-scatter: [ring]
>   all-to-all: [ring]
$ halley sim ar -c own.yaml | head -1
> 33.8 us on 4 ranks

## a key that is not known is an error in our own form
$ printf 'npus: 4\nnetwork:\n  - {topology: ring, size: 4, bandwith: 50 GB/s}\n' > c.yaml
$ halley sim ar -c c.yaml
! halley: c.yaml:3:31: unknown key "bandwith"; did you mean "bandwidth"?
? 1

## the sizes of the network must multiply to the NPUs
$ printf 'npus: 8\nnetwork:\n  - {topology: ring, size: 4, bandwidth: 50 GB/s}\n' > c.yaml
$ halley sim ar -c c.yaml
! halley: c.yaml:1:7: npus is 8, and the sizes of the network multiply to 4
? 1

## why a run took as long as it did
$ halley trace gen pipeline -n 4 -o pp --csv > list
$ printf 'network: [{topology: ring, size: 4, bandwidth: 50 GB/s, latency: 500 ns}]\nsystem: {slow: {2: 1.5}}\n' > c.yaml
$ halley sim pp -c c.yaml --explain
> 2.83 ms on 4 ranks
>
> Per rank                    Mean    Least     Most  On rank
> Finish                   2.41 ms  1.79 ms  2.83 ms        0
> GPU compute              1.35 ms  1.20 ms  1.80 ms        2
> Communication            1.14 ms   650 us  1.69 ms        0
>   not hidden by compute  1.06 ms   586 us  1.63 ms        0
> Idle                      416 us      0 s  1.04 ms        3
>
> Communication  Group  Members  Nodes  Data a node  Time a node
> RECEIVE        all          4     24      1.05 MB       174 us
> SEND           all          4     24      1.05 MB      21.5 us
>
> Dimension  Topology  NPUs       Link  Messages     Data     Use
>         0  Ring         4  50.0 GB/s        24  25.2 MB  2.22 %
>
> Hottest links  Kind  Bandwidth  Payload  On the wire     Use  Mostly by                   Share
> npu0 -> npu1   dim0  50.0 GB/s  4.19 MB      4.19 MB  2.97 %  messages between two ranks  100 %
>
> Verdict: compute-bound: 95 % of the critical path is compute.
>
> Critical path  Steps     Time   Share
> compute           14  2.70 ms  95.4 %
> message            6   129 us  4.55 %
>
>   Begin     Time  Rank  Node  Name         What     Why then
>     0 s   100 us     0     0  FORWARD 0    compute  from the start
>  100 us  21.5 us     1     0  RECV 0 to 1  message  the message was sent then
>  121 us   100 us     1     1  FORWARD 0    compute  depends on the step before
>  221 us  21.5 us     2     0  RECV 1 to 2  message  the message was sent then
>  243 us   150 us     2     1  FORWARD 0    compute  depends on the step before
>  393 us   150 us     2     4  FORWARD 1    compute  depends on the step before
>  543 us   150 us     2     7  FORWARD 2    compute  depends on the step before
>  693 us   150 us     2    10  FORWARD 3    compute  depends on the step before
>  843 us  21.5 us     3     6  RECV 2 to 3  message  the message was sent then
>  864 us   100 us     3     7  FORWARD 3    compute  depends on the step before
>  964 us   200 us     3     8  BACKWARD 0   compute  depends on the step before
> 1.16 ms  21.5 us     2    12  RECV 3 to 2  message  the message was sent then
> 1.19 ms   300 us     2    13  BACKWARD 0   compute  depends on the step before
> 1.49 ms   300 us     2    16  BACKWARD 1   compute  depends on the step before
> 1.79 ms   300 us     2    19  BACKWARD 2   compute  depends on the step before
> 2.09 ms   300 us     2    22  BACKWARD 3   compute  depends on the step before
> 2.39 ms  21.5 us     1    21  RECV 2 to 1  message  the message was sent then
> 2.41 ms   200 us     1    22  BACKWARD 3   compute  depends on the step before
> 2.61 ms  21.5 us     0    14  RECV 1 to 0  message  the message was sent then
> 2.63 ms   200 us     0    15  BACKWARD 3   compute  depends on the step before
>
> All 4 ranks were run: no two ranks are alike.

## how full the NPU's memory was: peak, over time, and as a counter of the timeline
$ printf '{"nodes":[{"id":1,"name":"a","type":"COMP_NODE","durationMicros":5,"attr":[{"name":"alloc_bytes","int64Val":3000000}]},{"id":2,"name":"b","type":"COMP_NODE","durationMicros":5,"dataDeps":[1],"attr":[{"name":"free_bytes","int64Val":1000000}]}]}' > m.0.json
$ printf 'network: [{topology: ring, size: 1, bandwidth: 50 GB/s}]\n' > c.yaml
$ halley sim m -c c.yaml --memory level.csv --timeline line.json; cat level.csv; grep '"C"' line.json
> 10.0 us on 1 rank
>
> Per rank                    Mean    Least     Most  On rank
> Finish                   10.0 us  10.0 us  10.0 us        0
> GPU compute              10.0 us  10.0 us  10.0 us        0
> Communication                0 s      0 s      0 s        0
>   not hidden by compute      0 s      0 s      0 s        0
> Idle                         0 s      0 s      0 s        0
>
> Memory of the NPU     Mean    Least     Most  On rank
> peak               3.00 MB  3.00 MB  3.00 MB        0
> rank,time_s,bytes
> 0,0,3000000
> 0,1e-05,2000000
> {"ph":"C","pid":0,"tid":0,"name":"NPU memory","args":{"bytes":3000000},"ts":0},
> {"ph":"C","pid":0,"tid":0,"name":"NPU memory","args":{"bytes":2000000},"ts":10},
$ halley sim m -c c.yaml --per-rank
> rank,finish_s,compute_s,comm_s,exposed_comm_s,memory_s,cpu_s,idle_s,npu_memory_peak_bytes
> 0,1e-05,1e-05,0,0,0,0,0,3000000

## slices of a track never overlap, and the timeline of a stopped run ends where it stopped
$ halley trace gen transformer -n 8 --tp 2 --pp 2 -o tf --csv > list
$ printf 'network: [{topology: ring, size: 8, bandwidth: 50 GB/s, latency: 500 ns}]\nsystem: {streams: 3}\n' > c.yaml
$ halley sim tf -c c.yaml --comm-group-configuration tf.comm_group.json --timeline line.json --stop-at '100 us' --csv > rows
! halley: stopped before all ranks were done
$ $DATA/../../tools/test/check-timeline line.json 100
> well formed

## compute nodes as recorded, by the roofline, by the model of the NPU; without a record by the model
$ printf '{"nodes":[{"id":1,"name":"a","type":"COMP_NODE","durationMicros":5,"attr":[{"name":"num_ops","int64Val":312000000000},{"name":"tensor_size","int64Val":2039}]}]}' > a.0.json
$ printf '{"nodes":[{"id":1,"name":"a","type":"COMP_NODE","attr":[{"name":"gemm","int64List":{"values":[4096,4096,4096]}}]}]}' > b.0.json
$ printf 'npu: a100-sxm4-80gb\nnetwork: [{topology: ring, size: 1, bandwidth: 50 GB/s}]\n' > c.yaml
$ for how in duration roofline cost; do halley sim a -c c.yaml --compute $how | head -1; done; halley sim b -c c.yaml | head -1
> 5.00 us on 1 rank
> 1.00 ms on 1 rank
> 1.21 ms on 1 rank
> 598 us on 1 rank
$ printf 'npu: {peak: 312 TFLOP/s, memory: [{bandwidth: 2039 GB/s}]}\nnetwork: [{topology: ring, size: 1, bandwidth: 50 GB/s}]\nsystem: {compute: cost}\n' > d.yaml; halley sim a -c d.yaml | head -1
> 1.25 ms on 1 rank
$ printf 'network: [{topology: ring, size: 1, bandwidth: 50 GB/s}]\n' > e.yaml; halley sim a -c e.yaml --compute cost
! halley: compute: cost needs the NPU's peak and memory
? 1

## network models have the words of ASTRA-sim, ours, and those of version 1
$ halley trace gen all-to-all -n 4 --size '1 MiB' -o aa --csv > list
$ printf 'network: [{topology: switch, size: 4, bandwidth: 50 GB/s, latency: 500 ns}]\nsystem: {algorithms: [direct]}\n' > c.yaml
$ for m in free unaware contention-free queue aware link-queue; do halley sim aa -c c.yaml --network-model $m | head -1; done
> 6.24 us on 4 ranks
> 6.24 us on 4 ranks
> 6.24 us on 4 ranks
> 22.0 us on 4 ranks
> 22.0 us on 4 ranks
> 22.0 us on 4 ranks
! halley: warning: link npu0 -> dimension 0 is used 2.52 times over: network model free lets messages pass each other; use --network-model flow
! halley: warning: link npu0 -> dimension 0 is used 2.52 times over: network model free lets messages pass each other; use --network-model flow
! halley: note: the network model contention-free is now called free
! halley: warning: link npu0 -> dimension 0 is used 2.52 times over: network model free lets messages pass each other; use --network-model flow
! halley: note: the network model link-queue is now called queue
$ halley sim aa -c c.yaml --network-model packets
! halley: --network-model must be one of flow, free, queue, unaware, aware, contention-free, link-queue; is 'packets'
! see 'halley sim --help'
? 2

## how busy links were
$ halley trace gen all-reduce -n 4 --size '1 MiB' -o ar --csv > list
$ printf 'network: [{topology: ring, size: 4, bandwidth: 50 GB/s, latency: 500 ns}]\n' > c.yaml
$ halley sim ar -c c.yaml --network-model aware --heat heat.csv --csv
> rank,finish_s,compute_s,comm_s,exposed_comm_s,memory_s,cpu_s,idle_s,npu_memory_peak_bytes
> 0,3.445728e-05,0,3.445728e-05,3.445728e-05,0,0,0,0
> 1,3.445728e-05,0,3.445728e-05,3.445728e-05,0,0,0,0
> 2,3.445728e-05,0,3.445728e-05,3.445728e-05,0,0,0,0
> 3,3.445728e-05,0,3.445728e-05,3.445728e-05,0,0,0,0
$ head -3 heat.csv
> dimension,npu,begin_s,end_s,use
> 0,0,0,2e-07,1
> 0,0,2e-07,4e-07,1
$ halley sim ar -c c.yaml --heat heat.svg --csv > list; tail -1 heat.svg
> </svg>

## a run may be stopped
$ halley trace gen all-reduce -n 4 --size '1 MiB' -o ar --csv > list
$ printf 'network: [{topology: ring, size: 4, bandwidth: 50 GB/s, latency: 500 ns}]\n' > c.yaml
$ halley sim ar -c c.yaml --stop-at '10 us' --csv
> rank,finish_s,compute_s,comm_s,exposed_comm_s,memory_s,cpu_s,idle_s,npu_memory_peak_bytes
> 0,1e-05,0,1e-05,1e-05,0,0,0,0
> 1,1e-05,0,1e-05,1e-05,0,0,0,0
> 2,1e-05,0,1e-05,1e-05,0,0,0,0
> 3,1e-05,0,1e-05,1e-05,0,0,0,0
! halley: stopped before all ranks were done

## groups are found beside the traces, by prefix, in a folder or given
$ mkdir d; halley trace gen all-reduce -n 4 -g 0-1 -g 2-3 -o d/ar > made
$ printf 'npu: {peak: 1 TFLOP/s}\nnetwork: [{topology: ring, size: 4, bandwidth: 1 GB/s}]\n' > c.yaml
$ for t in d/ar d; do halley sim $t -c c.yaml | head -1; done
> 1.05 ms on 4 ranks
> 1.05 ms on 4 ranks
$ mv d/ar.comm_group.json d/comm_group.json; halley sim d -c c.yaml | head -1
> 1.05 ms on 4 ranks
$ mv d/comm_group.json g.json; halley sim d -c c.yaml --comm-group-configuration g.json | head -1
> 1.05 ms on 4 ranks
$ halley sim d -c c.yaml
! halley: d/ar.0.et: node 0: pg_name is not in the communicator group file
? 1

## natively a dependency that leads nowhere is left out, and communication may be the CPU's; ASTRA-sim aborts on both
$ printf '{"nodes":[{"id":1,"name":"a","type":"COMP_NODE","durationMicros":5,"ctrlDeps":[99]},{"id":2,"name":"b","type":"COMM_COLL_NODE","dataDeps":[1],"attr":[{"name":"is_cpu_op","boolVal":true},{"name":"comm_type","int64Val":0},{"name":"comm_size","int64Val":1000}]}]}' > d.0.json; for i in 1 2 3; do cp d.0.json d.$i.json; done
$ printf 'network: [{topology: ring, size: 4, bandwidth: 50 GB/s}]\n' > c.yaml; halley sim d -c c.yaml | head -1
> 5.02 us on 4 ranks
! halley: warning: nodes depend on nodes that are not in the trace; those dependencies are ignored ('halley trace check' names them)
$ halley sim --workload-configuration=d --system-configuration=$DATA/sim/system.json --network-configuration=$DATA/sim/ring4.yml
! halley: d.0.json: node 2: a communication node cannot be a CPU operation
? 1

## a preset with its number of NPUs is a cluster, too
$ halley trace gen all-reduce -n 16 --size '64 MiB' -o ar --csv > list
$ halley sim ar -c dgx-h100:16 | head -n 1
> 356 us on 16 ranks
$ halley sim ar -c dgx-h100:16 --write-cluster c.yaml > one; halley sim ar -c c.yaml > two; cmp one two
$ sed -n 1,5p c.yaml; halley sim ar -c dgx-h100:16 --json | query - /network/0/bandwidth_Bps /network/1/bandwidth_Bps
> name: "dgx-h100"
> npus: 16
> npu: H100-SXM-80GB
> nodes: {npus: 8, up: nvlink4-h100}
> network: {fabric: ib-ndr, bandwidth: 50 GB/s}
> 50000000000
> 450000000000

## a preset and the same network with the same NPU give the same times, also by the model of the NPU
$ halley trace gen -m gpt-3.6b -c dgx-h100:8 --tp 2 --pp 2 --global-batch 16 -o step > list
$ printf 'npu: H100-SXM-80GB\nnetwork: [{name: up, topology: switch, size: 8, bandwidth: 371295000000 B/s, latency: 3583.5 ns}]\n' > c.yaml
$ for how in duration roofline cost; do halley sim step -c dgx-h100:8 --network-model free --compute $how > one; halley sim step -c c.yaml --network-model free --compute $how > two; cmp one two; head -n 1 one; done
> 277 ms on 8 ranks
> 153 ms on 8 ranks
> 230 ms on 8 ranks

## every preset is written and read again, and gives the same time and the same estimate
$ halley trace gen all-reduce -n 16 --size '1 MiB' -o ar > list; halley presets clusters --csv | tail -n +2 | cut -d, -f2 > names; wc -l < names
> 40
$ while read c; do n=16; halley sim ar -c $c:$n --json > one; halley sim ar -c $c:$n --write-cluster f.yaml --json > two; halley sim ar -c f.yaml --write-cluster g.yaml --json > three; cmp one two; cmp one three; cmp f.yaml g.yaml; halley estimate -m gpt-3.6b -c $c:$n --json > four 2> note; halley estimate -m gpt-3.6b -c f.yaml --json > five 2> note; cmp four five; done < names

## every example is written and read again
$ for f in $DATA/../../examples/clusters/*.yaml; do n=; case $f in *rented*) n=:64;; esac; halley sim -c $f$n --write-cluster f.yaml && halley sim -c f.yaml --write-cluster g.yaml && cmp f.yaml g.yaml; halley estimate -m gpt-3.6b -c $f$n --json > one 2> why; halley estimate -m gpt-3.6b -c f.yaml --json > two 2> why; cmp one two; grep -c '"step_s"' one; done | sort | uniq -c | tr -s ' '
>  1 0
>  3 1

## one file serves estimate, plan, explore, sim and trace gen
$ printf 'name: one\nnpu: h100-sxm-80gb\nnetwork:\n  - {topology: switch, size: 8, bandwidth: 300 GB/s, latency: 700 ns, in-network: [all-reduce], in-network-delay: 300 ns}\n  - {topology: switch, size: 2, bandwidth: 25 GB/s, latency: 2 us}\nsystem: {network-model: queue, chunks: 2}\ncost: {node: 50000 USD}\nfailures: {restart: 5 min}\n' > c.yaml
$ halley estimate -m gpt-3.6b -c c.yaml --tp 8 --csv | grep ^step_s; halley plan -m gpt-3.6b -c c.yaml --csv | wc -l
> step_s,0.10204672767126197
> 11
$ printf 'name: s\nmodel: gpt-3.6b\ncluster: c.yaml\nplan: {global-batch: 64}\nvary: {plan.tp: [4, 8], cluster.network.bandwidth: [25 GB/s, 50 GB/s]}\n' > s.yaml; halley explore s.yaml --csv | wc -l
> 5
$ halley trace gen -m gpt-3.6b -c c.yaml --tp 8 -o t > list; halley sim t -c c.yaml | head -n 1; halley sim t -c c.yaml:16 | head -n 1
> 103 ms on 16 ranks
> 103 ms on 16 ranks

## a number that does not fill whole nodes
$ halley trace gen all-reduce -n 12 -o ar > list; halley sim ar -c dgx-h100:12 --json | query - /npus
> 12
$ halley sim ar -c dgx-h100:12 --network-model free
! halley: cluster "dgx-h100": 12 is 1.5 nodes of 8, and network models other than flow need whole nodes: 8 or 16
? 1
$ halley trace gen all-reduce -n 4 -o four > list; halley sim four -c dgx-h100:4 --json | query - /npus
> 4

## older names are read, and the new ones named
$ printf 'npu: h100-sxm-80gb\nper-node: 8\nup: {link: nvlink4-h100}\nout: {fabric: ib-ndr}\nsystem: {model: link-queue}\ncost: {per-node: 5 USD}\n' > c.yaml; halley sim -c c.yaml:16 --write-cluster n.yaml; head -n 5 n.yaml; grep -E 'model|cost' n.yaml
> npus: 16
> npu: H100-SXM-80GB
> nodes: {npus: 8, up: nvlink4-h100}
> network: {fabric: ib-ndr, bandwidth: 50 GB/s}
> system:
>   network-model: queue
> cost: {host: 5 USD}
! halley: note: c.yaml: out is now called network
! halley: note: c.yaml: per-node is now called nodes.npus
! halley: note: c.yaml: up is now called nodes.up
! halley: note: c.yaml: system.model is now called system.network-model
! halley: note: c.yaml: network-model: link-queue is now called queue
! halley: note: c.yaml: cost.per-node is now called cost.node

## a group of one has nothing to wait for; ASTRA-sim never ends there
$ printf '{"nodes":[{"id":1,"name":"a","type":"COMP_NODE","durationMicros":5},{"id":2,"name":"b","type":"COMM_COLL_NODE","dataDeps":[1],"attr":[{"name":"is_cpu_op","boolVal":false},{"name":"comm_type","int64Val":0},{"name":"comm_size","int64Val":1000},{"name":"pg_name","stringVal":"7"}]}]}' > one.0.json
$ printf '{"nodes":[{"id":1,"name":"a","type":"COMP_NODE","durationMicros":3}]}' > one.1.json; printf '{"7": [0], "8": [1]}' > one.comm_group.json
$ printf 'network: [{topology: ring, size: 2, bandwidth: 50 GB/s}]\n' > c.yaml; halley sim one -c c.yaml | head -1
> 5.00 us on 2 ranks
## ranks that do the same are run once, which changes nothing
$ halley trace gen transformer -n 16 --tp 4 --layers 2 -o t --csv > list
$ halley sim t -c dgx-h100:16 --network-model free --csv --per-rank > folded
$ halley sim t -c dgx-h100:16 --network-model free --csv --per-rank --no-fold > full
$ cmp folded full && halley sim t -c dgx-h100:16 --network-model free --json | grep events
>   "events": 608,
$ halley sim t -c dgx-h100:16 --network-model free --json --no-fold | grep events
>   "events": 9728,

## sizes written as 1048576.0 and groups in PREFIX.json, as symbolic generators write them
$ halley trace gen transformer -n 2 --tp 2 --layers 1 -o t > made; mkdir stg; for r in 0 1; do halley trace convert t.$r.et t.json; sed -i 's/"comm_size", "int64Val": "1048576"/"comm_size", "stringVal": "1048576.0"/; s/"tensor_size", "uint64Val": "10000000"/"tensor_size", "doubleVal": 10000000.0/' t.json; halley trace convert t.json stg/s.$r.et; done; cp t.comm_group.json stg/s.json
$ halley sim t -c dgx-h100:2 --json | query - /time_s > a; halley sim stg/s -c dgx-h100:2 --json | query - /time_s > b; cmp a b; halley trace check stg/s
> stg/s: 2 ranks, 0 errors, 0 warnings, 25 notes (--notes lists them)

## a node type of a later schema is kept and takes its duration
$ printf '{"metadata": {"version": "1"}, "nodes": [{"id": "1", "name": "a", "type": "COMP_NODE", "durationMicros": "100"}, {"id": "2", "name": "checkpoint", "type": 9, "dataDeps": ["1"], "durationMicros": "50", "attr": [{"name": "chakra.mem.bytes", "int64Val": "5"}]}]}' > one.json
$ halley trace convert one.json one.et; halley sim one.et -c dgx-h100:1 --json | query - /time_s; halley trace check --notes one.et; halley trace convert one.et two.json; query two.json /nodes/1/attr
> 0.00015
> note: one.et: node 2 "checkpoint" (byte 14): type 9 is not in the schema that halley knows; it is kept, and takes its duration when simulated [node-type]
> one.et: 1 rank, 0 errors, 0 warnings, 1 note; one rank alone, nothing to compare it with
> [{"name": "chakra.mem.bytes", "int64Val": "5"}]
! halley: warning: nodes of types that halley does not know take their recorded duration

## sets of the symbolic generators (STAGE, STG) run: groups in PREFIX.json, sizes as "524288.0"
$ for r in 0 1; do printf '{"metadata": {"attr": [{"name": "schema", "stringVal": "symbolic_tensor_network"}]}, "nodes": [{"id": "1", "name": "y@0_COMP", "type": "COMP_NODE", "attr": [{"name": "inputs", "stringList": {"values": ["x@0Batch/dp,Dmodel", "524288.0"]}}, {"name": "outputs", "stringList": {"values": ["y@0Batch/dp,Dmodel", "524288.0"]}}, {"name": "num_ops", "int64Val": "1000000"}, {"name": "tensor_size", "uint64Val": "524288"}]}, {"id": "2", "name": "alone", "type": "COMM_COLL_NODE", "dataDeps": ["1"], "attr": [{"name": "comm_type", "int64Val": "0"}, {"name": "comm_size", "int64Val": "1048576"}, {"name": "pg_name", "stringVal": "%s"}]}, {"id": "3", "name": "both", "type": "COMM_COLL_NODE", "dataDeps": ["2"], "attr": [{"name": "comm_type", "int64Val": "0"}, {"name": "comm_size", "int64Val": "1048576"}, {"name": "pg_name", "stringVal": "1"}]}]}' $((r + 2)) > $r.json; halley trace convert $r.json w.$r.et; done; printf '{"1": [0, 1], "2": [0], "3": [1]}' > w.json
$ halley trace check w; halley sim w -c dgx-h100:2 | head -1
> w: 2 ranks, 0 errors, 0 warnings, 0 notes
> 17.7 us on 2 ranks
# a size that is none is left out of the statistics of memory, and the run goes on
$ sed 's/"524288.0"\]/"many"]/' 0.json > bad.json; halley trace convert bad.json w.0.et --force; halley sim w -c dgx-h100:2 | head -1
> 17.7 us on 2 ranks
! halley: warning: lists of tensors without readable sizes are left out of the memory statistics

## messages of an algorithm may be so many chunks of the collective's data
$ for r in 0 1; do o=$((1 - r)); m() { printf '{"id": "%s", "name": "m", "type": "COMM_%s_NODE", "dataDeps": [%s], "attr": [{"name": "comm_tag", "int32Val": %s}, {"name": "comm_%s", "int32Val": %s}, {"name": "msg_chunk_cnt", "int32Val": 1}, {"name": "msg_chunk_idx", "int32Val": %s}, {"name": "total_chunk_cnt", "int32Val": 2}]}' $1 $2 "$3" $4 $5 $o $6; }; { printf '{"metadata": {"version": "1"}, "nodes": ['; m 1 SEND '' $r dst $r; printf ,; m 2 RECV '' $o src $o; printf ,; m 3 SEND '"2"' $((2 + r)) dst $r; printf ,; m 4 RECV '"2"' $((2 + o)) src $o; printf ']}'; } > ar.json; halley trace convert ar.json ar.$r.et; done
$ printf 'name: x\nnpus: 2\nnpu: h100-sxm-80gb\nnetwork:\n  - {topology: ring, size: 2, bandwidth: 50 GB/s, latency: 500 ns}\nsystem: {custom: {all-reduce: ar}, network-model: free}\n' > x.yaml; for n in 1 4; do halley trace gen all-reduce -n 2 --size "$n MiB" -o c > made; halley sim c -c x.yaml --json | query - /time_s; done
> 2.197152e-05
> 8.488608e-05

## kernels of a recording are re-timed for another device, or it is said that they are not
$ sed 's/"schemaVersion": 1/"schemaVersion": 1, "deviceProperties": [{"name": "NVIDIA H100 80GB HBM3"}]/' $DATA/recordings/window_edge.json > k.json; halley trace link -q k.json -o k.et 2> notes; for c in dgx-h100:1 mi300x:1 dgx-a100:1; do halley sim k.et -c $c --json | query - /ranks/0/compute_s; done
> 0.000195
> 0.000270339999
> 0.000554818002
! halley: warning: kernels recorded on another device are re-timed by ratios measured for their classes; expect about 10 % error
! halley: warning: kernels recorded on another device are re-timed by ratios of the cost model; expect about 20 % error
$ halley trace link -q $DATA/recordings/window_edge.json -o u.et 2> notes; halley sim u.et -c mi300x:1 --json | query - /ranks/0/compute_s; halley sim u.et -c mi300x:1 --recorded-on H100 --json | query - /ranks/0/compute_s
> 0.000195
> 0.000270339999
! halley: warning: the device of the recording is not known, so kernels keep their recorded time; name it with --recorded-on
! halley: warning: kernels recorded on another device are re-timed by ratios measured for their classes; expect about 10 % error

## a recording is no trace: sim and convert name the command that makes one
$ halley sim $DATA/recordings/window_edge.json --replay; halley trace convert $DATA/recordings/tiny_gpu.xplane.pb x.et
! halley: {*}window_edge.json: this is a Kineto trace: halley trace link {*}window_edge.json makes a trace of it
! halley: {*}tiny_gpu.xplane.pb: this is the recording of a profiler: halley trace link {*}tiny_gpu.xplane.pb makes a trace of it
? 1

## nodes may have different kinds of NPU: compute is timed by kind, and the slow ones hold up the others
$ halley trace gen transformer -n 16 --tp 8 --layers 2 -o t --csv > list; printf 'npus: 16\nkinds: [{npu: H100-SXM-80GB, nodes: 0}, {npu: A100-SXM4-80GB, nodes: 1}]\nnodes: {npus: 8, up: nvlink3-a100}\nnetwork: {fabric: ib-hdr}\n' > c.yaml
$ halley sim t -c c.yaml --compute cost --csv | cut -d, -f1,3 | sed -n '2p;10p'
> 0,0.000730990288
> 8,0.001900544096
$ halley sim t -c c.yaml --csv > list
! halley: warning: the cluster has several kinds of NPU, and compute nodes keep their recorded times on all of them; --compute cost times them by kind

## a network may be any generator; its links are reported with who used them
$ printf 'nodes: {npus: 8, up: nvlink4-h100}\nnetwork: {topology: rail-optimised, nodes-per-leaf: 2, spines: 1, link: 50 GB/s, fabric: ib-ndr}\n' > c.yaml; halley trace gen all-reduce -n 32 --size '64 MiB' -o ar > list
$ halley sim ar -c c.yaml:32 --links links.csv | tail -n 9
>         0  npu-leaf        64  50.0 GB/s         1   948 MB  64.9 %
>         1  leaf-spine      32  50.0 GB/s         1   601 MB  82.3 %
>         2  npu-nvswitch    64   450 GB/s         1  10.4 GB  79.2 %
>
> Hottest links      Kind          Bandwidth  Payload  On the wire     Use  Mostly by                Share
> leaf0 -> npu8      npu-leaf      50.0 GB/s  16.8 MB      19.8 MB  86.6 %  ALL_REDUCE of all ranks  100 %
> leaf0 -> spine0    leaf-spine    50.0 GB/s  15.9 MB      18.8 MB  82.3 %  ALL_REDUCE of all ranks  100 %
> npu0 -> nvswitch0  npu-nvswitch   450 GB/s   134 MB       163 MB  79.2 %  ALL_REDUCE of all ranks  100 %
> leaf0 -> npu0      npu-leaf      50.0 GB/s  8.39 MB      9.88 MB  43.3 %  ALL_REDUCE of all ranks  100 %
$ head -n 2 links.csv; wc -l < links.csv
> link,kind,bandwidth_Bps,bytes,wire_bytes,use,messages,mostly_by,share
> "leaf0 -> npu8",npu-leaf,50000000000,16777215.99999617,19754169.31590271,0.8659265249757568,1,"ALL_REDUCE of all ranks",1
> 161
$ printf 'network: {topology: torus, dims: [4, 4], link: 50 GB/s}\n' > c.yaml; halley sim ar -c c.yaml; halley sim ar -c c.yaml:32
! halley: there are traces of 32 ranks, but the network has 16 NPUs
! halley: the network has 16 NPUs, and 32 are asked for: its sizes are fixed; leave out those that follow from the number of NPUs, or state others
! see 'halley sim --help'
? 2
$ printf 'network: {topology: torus, dims: [4, 4], link: 50 GB/s, spines: 2}\n' > c.yaml; halley sim ar -c c.yaml
! halley: c.yaml:1:65: torus takes no key "spines"; its keys are dims, link, latency, cost and power
? 1
$ printf 'network: {topology: thorus, dims: [4, 4]}\n' > c.yaml; halley sim ar -c c.yaml
! halley: c.yaml:1:21: no topology "thorus"; did you mean "torus"?
? 1

## slow and failed links of the description slow the job down, or it is said who is cut off
$ halley trace gen all-reduce -n 32 --size '256 MiB' -o ar > list; for x in "" ", links: [{between: leaf0 - spine0, bandwidth: x0.25}]" ", failed: [leaf0]"; do printf "nodes: {npus: 8, up: nvlink4-h100}\nnetwork: {topology: rail-optimised, nodes-per-leaf: 2, spines: 2, link: 50 GB/s, fabric: ib-ndr$x}\n" > c.yaml; halley sim ar -c c.yaml:32 | head -n 1; done
> 1.61 ms on 32 ranks
> 3.04 ms on 32 ranks
! halley: there is no way from npu8 to npu16 with routing spray

## a network may be a file of another tool; its messages share its links
$ printf '{"directed": false, "nodes": [{"id": "npu0", "kind": "npu"}, {"id": "npu1", "kind": "npu"}, {"id": "npu2", "kind": "npu"}, {"id": "npu3", "kind": "npu"}, {"id": "a", "kind": "switch"}, {"id": "b", "kind": "switch"}], "links": [{"source": "npu0", "target": "a", "bandwidth_gbps": 400, "latency_ns": 500}, {"source": "npu1", "target": "a", "bandwidth_gbps": 400, "latency_ns": 500}, {"source": "npu2", "target": "b", "bandwidth_gbps": 400, "latency_ns": 500}, {"source": "npu3", "target": "b", "bandwidth_gbps": 400, "latency_ns": 500}, {"source": "a", "target": "b", "bandwidth_gbps": 400, "latency_ns": 500}]}' > g.json; printf 'network: {topology: file, file: g.json}\n' > c.yaml
$ halley trace gen all-to-all -n 4 --size '64 MiB' -o aa > list; halley sim aa -c c.yaml | tail -n 6
>         0  npu-switch        8  50.0 GB/s         1  447 MB  74.8 %
>         1  switch-switch     2  50.0 GB/s         1  149 MB  99.7 %
>
> Hottest links  Kind           Bandwidth  Payload  On the wire     Use  Mostly by                Share
> a -> b         switch-switch  50.0 GB/s  67.1 MB      74.6 MB  99.7 %  ALL_TO_ALL of all ranks  100 %
> a -> npu0      npu-switch     50.0 GB/s  50.3 MB      55.9 MB  74.8 %  ALL_TO_ALL of all ranks  100 %

## a model and a plan are simulated without traces, beside the closed form
$ halley sim -m llama3-8b -c dgx-h100:16 --tp 4 --pp 2 --global-batch 16
> llama3-8b on 16 x H100-SXM-80GB (dgx-h100)
> tp 4 pp 2 dp 2 zero 1 micro-batch 1 recompute none sequence-parallel, global batch 16, sequence 8192, bf16
> assumed: micro-batch 1, sequence 8192 (from the model), bf16, zero 1, sequence parallel, schedule 1f1b, recompute none
>
> step          1.09 s simulated
> closed form   1.09 s; the simulation is 0.3 % longer
>
> where the time of rank 8 goes (stage 1 sets the pace)
>   compute                      830 ms   76.3 %
>   tensor parallel              146 ms   13.4 %
>   data parallel               4.96 ms    0.5 %
>   pipeline bubble              107 ms    9.9 %
>   compute-bound: 76 % of the step is compute. Also 13 % is exposed tensor-parallel communication
>
> Hottest links      Kind          Bandwidth  Payload  On the wire      Use  Mostly by                             Share
> npu0 -> nvswitch0  npu-nvswitch   450 GB/s  67.2 GB      81.5 GB   16.6 %  ALL_GATHER of group 1 and 3 like it  57.5 %
> npu0 -> rail0      node-rail     50.0 GB/s   134 MB       150 MB  0.276 %  messages between two ranks            100 %
>
> 2 classes of 16 ranks; 15018 events for 85796 of all ranks
> certificate: no link above 100 %, all bytes arrived, critical path = finish
$ halley sim -m llama3-8b -c dgx-h100:16 --tp 4 --pp 2 --global-batch 16 --json | query - /step_s /estimate_s /ranks /classes /fits /parts_s /certificate
> 1.088348406693
> 1.085223988049216
> 16
> 2
> true
> {"compute": 0.83037932300001, "tensor_parallel": 0.14572612183199884, "context_parallel": 0, "expert_parallel": 0, "data_parallel": 0.0049584909789999985, "offload": 0, "pipeline_transfers": 0, "bubble": 0.10728447088200012}
> {"links_within_capacity": true, "bytes_conserved": true, "path_is_finish": true}

## ranks fill nodes as the closed form has it: groups of 64 are whole on racks of 72, or are split
$ halley sim -m qwen3-30b-a3b -c gb200-nvl72:256 --ep 64 --global-batch 2048 | grep '^step\|^closed'
> step          2.76 s simulated
> closed form   2.76 s; the simulation is 0.0 % longer
! halley: note: ranks fill 64 of the 72 places of a node, so that nodes do not split groups of 64 ranks
$ halley sim -m qwen3-30b-a3b -c gb200-nvl72:1024 --ep 64 --global-batch 8192 | grep '^step\|^closed'
> step          9.27 s simulated
> closed form   9.32 s; the simulation is 0.5 % shorter
! halley: note: nodes of 72 split groups of 64 ranks, which then communicate between nodes; a cluster with nodes of 64 (nodes: {npus: 64}) needs more nodes and does not

## a plan that does not fit is simulated, and says so first
$ halley sim -m llama3-70b -c dgx-h100:8 --tp 2 --global-batch 4 | head -n 3
> does not fit: stage 0 needs 421 GB, and H100-SXM-80GB has 82.1 GB with 4 % headroom
>
> llama3-70b on 8 x H100-SXM-80GB (dgx-h100)

## a row of plan is a plan of sim
$ halley plan -m llama3-8b -c dgx-h100:8 --json 2> note | query - /plans/0/plan > plan.json; halley sim -m llama3-8b -c dgx-h100:8 --plan plan.json --json | query - /ranks /fits
> 8
> true

## rows of ranks only when asked for
$ halley sim -m gpt-3.6b -c dgx-h100:2 --tp 2 --global-batch 1 --per-rank | wc -l; halley sim -m gpt-3.6b -c dgx-h100:2 --tp 2 --global-batch 1 --json | grep -c rank_rows; halley sim -m gpt-3.6b -c dgx-h100:2 --tp 2 --global-batch 1 --json --per-rank | grep -c rank_rows
> 3
> 0
> 1

## traces, roles and the plan itself take the same time
$ halley trace gen -m gpt-3.6b -c dgx-h100:8 --tp 2 --pp 2 --global-batch 8 --template -o t; cat t.roles.yaml
> Traces  Ranks  Different  Nodes    Size  Groups
> t           2          2   4698  505 kB       0
> format: halley-roles 1
> ranks: 8
> axes: [{tp: 2}, {cp: 1}, {dp: 2}, {pp: 2}]  # innermost first
> roles:
>   - {file: "t.role0.et", when: {pp: 0}}
>   - {file: "t.role1.et", when: {pp: 1}}
> groups:
>   tp: {along: [tp]}
>   dp: {along: [cp, dp]}
> peers:
>   next: {pp: +1, wrap: yes}
>   prev: {pp: -1, wrap: yes}
$ halley trace gen -m gpt-3.6b -c dgx-h100:8 --tp 2 --pp 2 --global-batch 8 -o g > made; for x in t g; do halley sim $x -c dgx-h100:8 --json | query - /time_s; done; halley sim -m gpt-3.6b -c dgx-h100:8 --tp 2 --pp 2 --global-batch 8 --json | query - /step_s
> 0.182459183631
> 0.182459183631
> 0.182459183631
$ halley trace info t; halley trace check t
> t.roles.yaml: 8 ranks in 2 roles
>
> Role  Ranks  First rank  Nodes  File
>    0      4           0   2343  t.role0.et
>    1      4           4   2355  t.role1.et
> t.roles.yaml: 8 ranks in 2 roles, 0 errors

## a timeline has one rank of each class and names those it represents; --expand adds others, or all
$ halley sim -m gpt-3.6b -c dgx-h100:16 --tp 2 --pp 2 --global-batch 16 --timeline a.json > report; grep -o 'process_labels.*' a.json; grep -o '"rank [0-9]*"' a.json; $DATA/../../tools/test/check-timeline a.json 1000000
> process_labels","args":{"labels":"8 alike","alike":8,"ranks":"0-7"}},
> process_labels","args":{"labels":"8 alike","alike":8,"ranks":"8-15"}},
> "rank 0"
> "rank 8"
> well formed
$ halley sim -m gpt-3.6b -c dgx-h100:16 --tp 2 --pp 2 --global-batch 16 --timeline b.json --expand 5,12-13 > report; grep -o '"rank [0-9]*"' b.json; $DATA/../../tools/test/check-timeline b.json 1000000
> "rank 0"
> "rank 5"
> "rank 8"
> "rank 12"
> "rank 13"
> well formed
$ halley sim -m gpt-3.6b -c dgx-h100:16 --tp 2 --pp 2 --global-batch 16 --timeline c.json --expand all > report; grep -c '"process_name"' c.json; $DATA/../../tools/test/check-timeline c.json 1000000
> 16
> well formed
$ halley trace gen -m gpt-3.6b -c dgx-h100:16 --tp 2 --pp 2 --global-batch 16 -o t > report; halley sim t -c dgx-h100:16 --timeline d.json --expand all > report; cmp c.json d.json
$ halley sim -m gpt-3.6b -c dgx-h100:16 --tp 2 --pp 2 --timeline c.json --expand 3,16
! halley: --expand: expected all or a list of ranks below 16, for example 0-7,64, not 3,16
! see 'halley sim --help'
? 2
$ halley sim t -c dgx-h100:16 --expand all
! halley: --expand needs --timeline
! see 'halley sim --help'
? 2

## the order of what happens at one instant changes nothing; where it counts, it cannot be changed
$ for s in 1 2; do halley sim -m gpt-3.6b -c dgx-h100:16 --tp 2 --pp 4 --global-batch 16 --no-fold --shuffle $s --json > $s.json; done; halley sim -m gpt-3.6b -c dgx-h100:16 --tp 2 --pp 4 --global-batch 16 --no-fold --json > 0.json; for f in 0 1 2; do query $f.json /step_s; done; cmp 1.json 2.json
> {*}
> {*}
> {*}
$ halley sim -m gpt-3.6b -c dgx-h100:16 --tp 2 --pp 4 --global-batch 16 --network-model queue --shuffle 1
! halley: shuffle: the order of events may count here: collectives run step by step
? 1

## options of plans and of traces
$ halley sim -m gpt-3.6b -c dgx-h100:8 step
! halley: give traces or --model, not both
! see 'halley sim --help'
? 2
$ halley sim step -c dgx-h100:8 --tp 2
! halley: --tp needs --model
! see 'halley sim --help'
? 2
$ halley sim -m gpt-3.6b -c dgx-h100:8 --stop-at '1 s'
! halley: --stop-at is for traces, not for --model
! see 'halley sim --help'
? 2

## ranks of a plan fall into as many classes as stages, at any size; a slow rank or a failed link splits some of them
$ printf 'npu: h100-sxm-80gb\nnodes: {npus: 8, up: nvlink4-h100, nics: 8}\nnetwork:\n  topology: fat-tree\n  fabric: roce\n  tiers:\n    - {name: leaf, npus: 16, oversubscription: 1, link: 400 Gb/s, latency: 700 ns}\n    - {name: spine, npus: 2048, oversubscription: 7}\n    - {name: core}\n' > c.yaml; cp c.yaml slow.yaml; echo 'system: {slow: {4711: 1.5}}' >> slow.yaml; cp c.yaml failed.yaml; echo '  failed: [leaf3 - spine1]' >> failed.yaml
$ for n in 16384 131072; do halley sim -m llama3-405b -c c.yaml:$n --tp 8 --pp 16 --virtual 4 --global-batch $((n / 8)) | grep -o '.* classes of [0-9]* ranks'; done
> 16 classes of 16384 ranks
> 16 classes of 131072 ranks
$ for c in slow failed; do halley sim -m llama3-405b -c $c.yaml:16384 --tp 8 --pp 16 --virtual 4 --global-batch 2048 | grep -o '.* classes of [0-9]* ranks'; done
> 96 classes of 16384 ranks
> 64 classes of 16384 ranks
$ printf 'system: {slow: {50: 1.5}}\n' > s; cat failed.yaml s > both.yaml; for c in c slow failed both; do halley sim -m llama3-405b -c $c.yaml:16384 --tp 8 --pp 16 --virtual 4 --global-batch 2048 --explain | grep -o '.* ranks were run for .*'; done
> 16 ranks were run for 16384, with 64 classes of groups and pairs and 96 of links:
> 96 ranks were run for 16384, with 272 classes of groups and pairs and 320 of links:
> 64 ranks were run for 16384, with 208 classes of groups and pairs and 478 of links:
> 160 ranks were run for 16384, with 432 classes of groups and pairs and 686 of links:
$ halley sim -m deepseek-v3 -c c.yaml:2048 --tp 1 --pp 16 --ep 64 --global-batch 2048 2> note | grep -o '.* classes of [0-9]* ranks'
> 16 classes of 2048 ranks
$ halley sim -m gpt-76.1b -c c.yaml:2048 --tp 8 --pp 4 --global-batch 512 | grep -o '.* classes of [0-9]* ranks'
> 4 classes of 2048 ranks

## a run as binary columns: ranks with equal totals once, or all of them
$ halley trace gen all-reduce -n 8 -o ca > list; halley sim ca -c dgx-h100:8 --columns c.bin > out; grep -a -o '{"rank":.*' c.bin; grep -a -o '"path_box":{"type":"u32","at":[0-9]*,"n":[0-9]*}' c.bin
> {"rank":0,"alike":7,"name":0,"first_level":0,"levels":0}],
> "path_box":{"type":"u32","at":48,"n":1}
$ halley sim ca -c dgx-h100:8 --columns c.bin --all-ranks > out; grep -a -c '{"rank":[0-9]*,"alike":0,' c.bin; grep -a -o '"dimensions":\[{"name":[0-9]*,"n":[0-9]*,"npus":8' c.bin
> 8
> "dimensions":[{"name":3,"n":16,"npus":8
$ halley sim -m llama3-8b -c dgx-h100:16 --tp 8 --pp 2 --global-batch 8 --columns p.bin > out; grep -a -o '{"rank":.*' p.bin; grep -a -o '"kinds":\["forward","backward"' p.bin
> {"rank":0,"alike":7,"name":0,"first_level":0,"levels":17},
> {"rank":8,"alike":7,"name":31,"first_level":17,"levels":17}],
> "kinds":["forward","backward"

## a collective that stands still because a link has failed names the link, not its messages
$ halley trace gen all-reduce --size '1 MB' -n 2 -o cut > list; printf 'network: {topology: ring, n: 2, link: 50 GB/s, latency: 1 us, events: [{at: 5 us, link: npu0 - npu1, bandwidth: 0}]}\n' > cut.yaml
$ halley sim -c cut.yaml cut
! halley: cut.0.et: node 0: the simulation cannot finish: rank 0 waits forever in ALL_REDUCE of 1000000 bytes, which all members have joined, but which cannot go on; link npu0-npu1 has failed, and there is no other way (2 of 2 ranks do not finish)
? 1
