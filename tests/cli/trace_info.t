# halley trace info: what a trace holds.

## a set is summed over its ranks and equal ones are told apart
$ halley trace gen pipeline -n 4 --micro-batches 2 --compute '100 us' -o p > made
$ halley trace info p
> p: 4 ranks, 4 different; Chakra .et, version "1.0.0"
>
> dependencies  45 data, 0 control
> compute       240G operations
>               240 MB moved by compute
> communication 12.6 MB sent
>               12.6 MB received
> busy          0 s on CPUs (0 nodes), 2.40 ms on devices (40 nodes)
> depth         9 nodes
> width         2 nodes
> critical path 600 us over 6 nodes
>               on rank 0, where it is longest
>
> Type            Nodes     Time
> COMP_NODE          16  2.40 ms
> COMM_SEND_NODE     12      0 s
> COMM_RECV_NODE     12      0 s
>
> Ranks  Nodes  Compute  Collectives  Sends  Receives  Depth  Width  Critical
> 0          8        4            0      2         2      6      2    600 us
> 1         12        4            0      4         4      9      2    600 us
> 2         12        4            0      4         4      9      2    600 us
> 3          8        4            0      2         2      7      2    600 us
>
> longest on the critical path:
> Node  Type       Name        Duration
>    5  COMP_NODE  BACKWARD 0    200 us
>    7  COMP_NODE  BACKWARD 1    200 us
>    0  COMP_NODE  FORWARD 0     100 us
>    2  COMP_NODE  FORWARD 1     100 us

## for programs the same as JSON
$ halley trace gen all-reduce -n 4 --size '1 MiB' --repeat 2 -o a > made
$ halley trace info --json a
> {
>   "trace": "a",
>   "n_ranks": 4,
>   "n_distinct": 1,
>   "form": "Chakra .et",
>   "version": "1.0.0",
>   "metadata": [],
>   "nodes": 8,
>   "data_dependencies": 4,
>   "control_dependencies": 0,
>   "dangling_dependencies": 0,
>   "cyclic_nodes": 0,
>   "compute_operations": 0,
>   "compute_bytes": 0,
>   "load_bytes": 0,
>   "store_bytes": 0,
>   "collective_bytes": 8388608,
>   "send_bytes": 0,
>   "receive_bytes": 0,
>   "cpu_nodes": 0,
>   "device_nodes": 8,
>   "cpu_s": 0,
>   "device_s": 0,
>   "first_start_s": 0,
>   "last_end_s": 0,
>   "depth": 2,
>   "width": 1,
>   "critical_path_s": 0,
>   "critical_path_nodes": 2,
>   "types": [
>     {"type": "COMM_COLL_NODE", "nodes": 8, "time_s": 0}
>   ],
>   "collectives": [
>     {"type": "ALL_REDUCE", "group": "", "size_bytes": 1048576, "total_bytes": 8388608, "nodes": 8}
>   ],
>   "attributes": [
>     {"name": "comm_size", "kind": "int64_val", "count": 8},
>     {"name": "comm_type", "kind": "int64_val", "count": 8},
>     {"name": "is_cpu_op", "kind": "bool_val", "count": 8}
>   ],
>   "critical_path": {
>     "rank": 0,
>     "steps": 2,
>     "longest": []
>   },
>   "traces": [
>     {
>       "file": "a.0.et",
>       "rank_list": "0-3",
>       "nodes": 2,
>       "data_dependencies": 1,
>       "control_dependencies": 0,
>       "dangling_dependencies": 0,
>       "cyclic_nodes": 0,
>       "compute_operations": 0,
>       "compute_bytes": 0,
>       "load_bytes": 0,
>       "store_bytes": 0,
>       "collective_bytes": 2097152,
>       "send_bytes": 0,
>       "receive_bytes": 0,
>       "cpu_nodes": 0,
>       "device_nodes": 2,
>       "cpu_s": 0,
>       "device_s": 0,
>       "first_start_s": 0,
>       "last_end_s": 0,
>       "depth": 2,
>       "width": 1,
>       "critical_path_s": 0,
>       "critical_path_nodes": 2,
>       "types": [
>         {"type": "COMM_COLL_NODE", "nodes": 2, "time_s": 0}
>       ]
>     }
>   ],
>   "problems": {
>     "n_errors": 0,
>     "n_warnings": 0,
>     "n_notes": 1,
>     "first": []
>   }
> }

## one row per different trace as CSV
$ halley trace gen pipeline -n 2 --micro-batches 1 -o p > made
$ halley trace info --csv p
> ranks,nodes,comp_nodes,coll_nodes,send_nodes,recv_nodes,depth,width,critical_s
> 0,4,2,0,1,1,3,2,0.0003
> 1,4,2,0,1,1,4,1,0.0003

## attributes can be listed
$ halley trace gen ring -n 2 -o r > made
$ halley trace info --attrs --csv r
> name,kind,count
> comm_dst,int32_val,4
> comm_size,int64_val,4
> comm_src,int32_val,4
> comm_tag,int32_val,4
> is_cpu_op,bool_val,4

## the critical path can be listed
$ halley trace gen all-reduce -n 2 --repeat 3 -o a > made
$ halley trace info --path a.0.et
> a.0.et: Chakra .et, version "1.0.0"
>
> dependencies  2 data, 0 control
> communication 3.15 MB in collectives
> busy          0 s on CPUs (0 nodes), 0 s on devices (3 nodes)
> depth         3 nodes
> width         1 node
> critical path 0 s over 3 nodes
>
> Type            Nodes  Time
> COMM_COLL_NODE      3   0 s
>
> Collective  Group     Size    Total  Nodes
> ALL_REDUCE  all    1.05 MB  3.15 MB      3
>
> critical path, in order:
> Node  Type            Name        Duration
>    0  COMM_COLL_NODE  ALL_REDUCE       0 s
>    1  COMM_COLL_NODE  ALL_REDUCE       0 s
>    2  COMM_COLL_NODE  ALL_REDUCE       0 s

## the first problems are shown
$ halley trace gen all-reduce -n 2 -o a > made
$ halley trace convert a.0.et a.jsonl && sed -i 's/"comm_size"/"comm_seize"/' a.jsonl
$ halley trace info a.jsonl
> a.jsonl: protobuf-JSON, version "1.0.0"
>
> dependencies  0 data, 0 control
> busy          0 s on CPUs (0 nodes), 0 s on devices (1 nodes)
> depth         1 node
> width         1 node
> critical path 0 s over 1 node
>
> Type            Nodes  Time
> COMM_COLL_NODE      1   0 s
>
> Collective  Group  Size  Total  Nodes
> ALL_REDUCE  all                     1
>
> problems: 1 error, 0 warnings; the first:
>   error: a.jsonl: node 0 "ALL_REDUCE": comm_size is missing; a collective needs its size in bytes, add attribute comm_size (int64)
> halley trace check lists them

## what is not there is said
$ halley trace info nothing
! halley: nothing: no such trace: there is no file, no folder and no nothing.0.et of that name
? 1
$ halley trace info
! halley: trace info needs at least 1 argument (TRACE...), was given 0
! see 'halley trace info --help'
? 2
$ halley trace info --json --csv x
! halley: --json and --csv exclude each other
! see 'halley trace info --help'
? 2

## --kernels counts device work by class, in every kind of recording
$ for f in nsys_2024.sqlite nsys_2020.sqlite tiny_gpu.xplane.pb tiny_tpu.xplane.pb roc_kernel_trace.csv window_edge.json ns_decimal.json no_device.json; do echo $f; halley trace info --kernels --json $DATA/recordings/$f 2> /dev/null | query - /kind /device_events /device_s /launch_in_window /from_graphs /devices /overlap /classes /idle/s /verdict; done
> nsys_2024.sqlite
> "nsys"
> 18
> 0.000958
> 16
> 8
> 2
> 0.2
> {"matmul": {"n": 6, "s": 0.00042, "share": 0.4384133611691023, "flops_per_s": null, "bytes_per_s": null}, "comm.all_reduce": {"n": 2, "s": 0.0004, "share": 0.4175365344467641, "flops_per_s": null, "bytes_per_s": null}, "elementwise": {"n": 2, "s": 8e-05, "share": 0.08350730688935282, "flops_per_s": null, "bytes_per_s": null}, "softmax": {"n": 2, "s": 4e-05, "share": 0.04175365344467641, "flops_per_s": null, "bytes_per_s": null}, "copy_h2d": {"n": 2, "s": 8e-06, "share": 0.008350730688935281, "flops_per_s": null, "bytes_per_s": 16383999999.999998}, "embedding": {"n": 2, "s": 6e-06, "share": 0.006263048016701462, "flops_per_s": null, "bytes_per_s": null}, "memset": {"n": 2, "s": 4e-06, "share": 0.0041753653444676405, "flops_per_s": null, "bytes_per_s": 2047999999.9999998}}
> 0.000231
> "communication-bound: 29 % is all_reduce that compute does not hide. Also synchronisation-bound: the device is idle 14 % of the time after the host waited for it"
> nsys_2020.sqlite
> "nsys"
> 18
> 0.000958
> 16
> 8
> 2
> 0.2
> {"matmul": {"n": 6, "s": 0.00042, "share": 0.4384133611691023, "flops_per_s": null, "bytes_per_s": null}, "comm.all_reduce": {"n": 2, "s": 0.0004, "share": 0.4175365344467641, "flops_per_s": null, "bytes_per_s": null}, "elementwise": {"n": 2, "s": 8e-05, "share": 0.08350730688935282, "flops_per_s": null, "bytes_per_s": null}, "softmax": {"n": 2, "s": 4e-05, "share": 0.04175365344467641, "flops_per_s": null, "bytes_per_s": null}, "copy_h2d": {"n": 2, "s": 8e-06, "share": 0.008350730688935281, "flops_per_s": null, "bytes_per_s": 16383999999.999998}, "embedding": {"n": 2, "s": 6e-06, "share": 0.006263048016701462, "flops_per_s": null, "bytes_per_s": null}, "memset": {"n": 2, "s": 4e-06, "share": 0.0041753653444676405, "flops_per_s": null, "bytes_per_s": 2047999999.9999998}}
> 0.000231
> "communication-bound: 29 % is all_reduce that compute does not hide. Also synchronisation-bound: the device is idle 14 % of the time after the host waited for it"
> tiny_gpu.xplane.pb
> "xplane"
> 8
> 0.000134
> 8
> 0
> 2
> 0.25
> {"matmul": {"n": 2, "s": 8e-05, "share": 0.5970149253731343, "flops_per_s": null, "bytes_per_s": null}, "comm.all_reduce": {"n": 2, "s": 4e-05, "share": 0.29850746268656714, "flops_per_s": null, "bytes_per_s": null}, "elementwise": {"n": 2, "s": 1e-05, "share": 0.07462686567164178, "flops_per_s": null, "bytes_per_s": null}, "copy_d2d": {"n": 2, "s": 4e-06, "share": 0.029850746268656716, "flops_per_s": null, "bytes_per_s": null}}
> 1e-06
> "communication-bound: 25 % is all_reduce that compute does not hide"
> tiny_tpu.xplane.pb
> "xplane"
> 3
> 9.1e-05
> 0
> 0
> 1
> 0
> {"matmul": {"n": 1, "s": 6e-05, "share": 0.6593406593406593, "flops_per_s": null, "bytes_per_s": null}, "comm.all_reduce": {"n": 1, "s": 3e-05, "share": 0.32967032967032966, "flops_per_s": null, "bytes_per_s": null}, "copy_d2d": {"n": 1, "s": 1e-06, "share": 0.01098901098901099, "flops_per_s": null, "bytes_per_s": null}}
> 0
> "communication-bound: 33 % is all_reduce that compute does not hide"
> roc_kernel_trace.csv
> "rocprofv3 CSV"
> 3
> 0.00016
> 0
> 0
> 1
> null
> {"matmul": {"n": 1, "s": 0.0001, "share": 0.625, "flops_per_s": null, "bytes_per_s": null}, "copy_h2d": {"n": 1, "s": 5e-05, "share": 0.3125, "flops_per_s": null, "bytes_per_s": null}, "elementwise": {"n": 1, "s": 1e-05, "share": 0.0625, "flops_per_s": null, "bytes_per_s": null}}
> 5.5e-05
> "copy-bound: 23 % is copies between host and device with nothing else running. Also idle: the device has nothing to do 23 % of the time"
> window_edge.json
> "kineto"
> 2
> 0.000195
> 1
> 0
> 1
> null
> {"matmul": {"n": 2, "s": 0.000195, "share": 1, "flops_per_s": 5242880000, "bytes_per_s": 491520000}}
> 3.5e-05
> "host-bound: the device is idle 15 % of the time waiting for launches: kernels are long (median 100 us), but only 1.0 launches are queued on average"
> ns_decimal.json
> "kineto"
> 2
> 1.501e-06
> 0
> 0
> 1
> null
> {"other": {"n": 2, "s": 1.501e-06, "share": 1, "flops_per_s": null, "bytes_per_s": null}}
> 1e-09
> "compute-bound: 100 % other"
> no_device.json
> "kineto"
> 0
> 0
> 0
> 0
> 0
> null
> {}
> 0
> "no device work to judge"

## what a recording lacks is said
$ for f in window_edge negative duplicate_ids clock_jump no_device; do halley trace info --kernels --csv $DATA/recordings/$f.json > /dev/null; done
! halley: 1 of 2 device events (48.7 % of device time) were launched before the window or by no recorded call; they start at their recorded time
! halley: the device is unknown: name it with --recorded-on
! halley: 1 of 2 device events (48.7 % of device time) were launched before the window or by no recorded call; they start at their recorded time
! halley: the device is unknown: name it with --recorded-on
! halley: event 6: negative duration -5 us; 1 such events were dropped
! halley: 1 of 2 device events (48.7 % of device time) were launched before the window or by no recorded call; they start at their recorded time
! halley: the device is unknown: name it with --recorded-on
! halley: correlation 7 has two launches; the one nearest before its kernel is taken (1 such cases)
! halley: 2 of 3 device events (66.1 % of device time) were launched before the window or by no recorded call; they start at their recorded time
! halley: the device is unknown: name it with --recorded-on
! halley: gap of 8999 s on stream 7: a jump of the clock
! halley: no device events: this is a host-only recording

## the linked trace says the same as its recording
$ halley trace info --kernels --as-hta --json $DATA/recordings/nsys_2024.sqlite > a 2> warnings; halley trace link -q $DATA/recordings/nsys_2024.sqlite -o n 2> warnings; halley trace info --kernels --as-hta --json n > b 2> warnings; cmp a b

## the table for people
$ halley trace info --kernels $DATA/recordings/nsys_2024.sqlite
> nsys recording on NVIDIA H100 80GB HBM3, 2 ranks
> 18 device events, 958 us of device time in 1.10 ms; 16 launched in the window, 8 from graphs
>
> Verdict: communication-bound: 29 % is all_reduce that compute does not hide. Also synchronisation-bound: the device is idle 14 % of the time after the host waited for it.
>
> Class            Kernels     Time    Share  Rate     Memory
> matmul                 6   420 us   43.8 %                 
> comm.all_reduce        2   400 us   41.8 %                 
> elementwise            2  80.0 us   8.35 %                 
> softmax                2  40.0 us   4.18 %                 
> copy_h2d               2  8.00 us  0.835 %        16.4 GB/s
> embedding              2  6.00 us  0.626 %                 
> memset                 2  4.00 us  0.418 %        2.05 GB/s
>
> Of the device's span
>   busy                                     874 us   79.1 %
>   communication not hidden                 320 us   29.0 %
>   idle: the host launched late            13.0 us    1.2 %
>   idle: after the host waited              155 us   14.0 %
>   idle: launch latency                    23.0 us    2.1 %
>   idle: nothing to do                     40.0 us    3.6 %
>   Compute hides 20.0 % of the communication.
>
> Steps
>   step 0                         461 us, launches 8 device events of 469 us
>   step 1                         461 us, launches 8 device events of 469 us
>
> Kernel                                                        Class            Runs     Time  Operator
> ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn   matmul              6   420 us  
> ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArg...  comm.all_reduce     2   400 us  step 0
> void at::native::vectorized_elementwise_kernel<4, at::nat...  elementwise         2  80.0 us  step 0
> void <unnamed>::softmax_warp_forward<float, float, float,...  softmax             2  40.0 us  step 0
> Memcpy HtoD                                                   copy_h2d            2  8.00 us  step 0
> void at::native::vectorized_gather_kernel<16, long>(char ...  embedding           2  6.00 us  step 0
> Memset                                                        memset              2  4.00 us  step 0
! halley: 2 processes: each is a rank of its own; name one with --pid
! halley: no operators: only streams and kernels are known
! halley: 8 device events come from 1 captured graphs
! halley: communication without sizes: it stays work of the recorded length
! halley: rank 1: 2 of 2 device events (100.0 % of device time) were launched before the window or by no recorded call; they start at their recorded time
! halley: rank 1: no steps marked

## rules of one's own go before the built-in ones
$ printf '{"rules": [{"on": "kernel", "match": "sgemm", "class": "mine"}]}' > rules.json; halley trace info --kernels --csv --rules rules.json $DATA/recordings/window_edge.json 2> warnings
> class,n,s,share,flops_per_s,bytes_per_s
> mine,2,0.000195,1,5242880000,491520000

## HTA's breakdown needs JSON, kernels need a recording
$ halley trace info --as-hta $DATA/recordings/window_edge.json
! halley: --as-hta needs --kernels and --json
! see 'halley trace info --help'
? 2
$ halley trace gen ring -n 2 -o r > made; halley trace info --kernels r
! halley: the trace was not linked from a profiler's recording, so its kernels have no classes; link the recording with `halley trace link`
? 1

## zstd wherever gzip is taken
$ halley trace gen all-reduce -n 2 -o a > made
$ zstd -q a.0.et -o z.0.et.zst; zstd -q a.1.et -o z.1.et.zst
$ halley trace diff -q a z
$ zstd -q $DATA/recordings/nsys_2024.sqlite -o n.sqlite.zst; gzip -c $DATA/recordings/nsys_2024.sqlite > n.sqlite.gz
$ halley trace info --kernels $DATA/recordings/nsys_2024.sqlite > plain 2> said
$ halley trace info --kernels n.sqlite.zst 2> said | cmp - plain
$ halley trace info --kernels n.sqlite.gz 2> said | cmp - plain
$ gzip -dc $DATA/recordings/model.json.gz | zstd -q > m.json.zst
$ halley trace diff -q m.json.zst $DATA/recordings/model.json.gz 2> said

## a pair of execution trace and Kineto file has the classes of its device half
$ halley trace link -q $DATA/recording/host.0.json $DATA/recording/device.0.json -o pair.et; for f in pair.et $DATA/recording/device.0.json; do halley trace info --kernels --json $f 2> notes | query - /device_events /device_s /classes /launch_in_window; done
> 5
> 0.00123225
> {"matmul": {"n": 2, "s": 0.00090025, "share": 0.7305741529722053, "flops_per_s": 2329521799.5001388, "bytes_per_s": 181993890.58594835}, "comm.all_reduce": {"n": 1, "s": 0.0003, "share": 0.24345709068776628, "flops_per_s": null, "bytes_per_s": null}, "elementwise": {"n": 1, "s": 3e-05, "share": 0.024345709068776627, "flops_per_s": 136533333.33333334, "bytes_per_s": 1092266666.6666667}, "copy_d2h": {"n": 1, "s": 2e-06, "share": 0.0016230472712517752, "flops_per_s": null, "bytes_per_s": 1999999.9999999998}}
> 5
> 5
> 0.00123225
> {"matmul": {"n": 2, "s": 0.00090025, "share": 0.7305741529722053, "flops_per_s": null, "bytes_per_s": null}, "comm.all_reduce": {"n": 1, "s": 0.0003, "share": 0.24345709068776628, "flops_per_s": null, "bytes_per_s": null}, "elementwise": {"n": 1, "s": 3e-05, "share": 0.024345709068776627, "flops_per_s": null, "bytes_per_s": null}, "copy_d2h": {"n": 1, "s": 2e-06, "share": 0.0016230472712517752, "flops_per_s": null, "bytes_per_s": 1999999.9999999998}}
> 5

## an execution trace is described and checked alone, with its Kineto file, and by rank
$ cp $DATA/recording/*.json .
$ halley trace info host.0.json | head -4
> host.0.json: built in memory
>
> dependencies  11 data, 13 control
> compute       2.10M operations
$ halley trace check host.0.json
> host.0.json: 1 rank, 0 errors, 0 warnings, 1 note (--notes lists them); one rank alone, nothing to compare it with
$ halley trace info --kernels --json host.0.json device.0.json | query - /device_events /device_s
> 5
> 0.00123225
$ halley trace info host.0.json host.1.json | head -1
> host.0.json: 2 ranks, 2 different; built in memory
$ halley trace diff -q host.0.json host.0.json
$ halley sim host.0.json -c dgx-h100:8
! halley: host.0.json: this is an execution trace of PyTorch: halley trace link host.0.json makes a trace of it
? 1

## a copy to the host is work of the GPU that it comes from
$ printf '"Kind","Direction","Source_Agent_Id","Destination_Agent_Id","Correlation_Id","Start_Timestamp","End_Timestamp"\n"MEMORY_COPY","MEMORY_COPY_HOST_TO_DEVICE","Agent 0","Agent 4",1,1000,2000\n"MEMORY_COPY","MEMORY_COPY_DEVICE_TO_HOST","Agent 4","Agent 0",2,5000,7000\n' > c_memory_copy_trace.csv
$ halley trace info --kernels --json c_memory_copy_trace.csv 2> notes | query - /devices /device_span_s /device_busy_s
> 1
> 6e-06
> 3e-06
$ sed 's/"end_timestamp": 9900, /&"src_agent_id": {"handle": 2}, /; s/"dst_agent_id": {"handle": 2}/"dst_agent_id": {"handle": 1}/' $DATA/recordings/roc_tiny.json > r.json
$ halley trace info --kernels --json r.json 2> notes | query - /devices /device_span_s
> 1
> 7.9e-06

## a function that a user named after a convolution may hold matmuls
$ halley trace info --kernels --json $DATA/recordings/module_name.xplane.pb 2> notes | query - /classes/matmul/n
> 1

## files of other kinds are named
$ printf 'MICRO\r\n1\r\n' > w.txt; halley trace info w.txt
! halley: w.txt: this is a workload of ASTRA-sim 1.0: `halley trace convert` takes it
? 1
$ printf '"Kernel_Name","Counter_Name","Counter_Value"\n"k","SQ_WAVES",1\n' > c.csv; halley trace info c.csv
! halley: c.csv: this is a table of rocprofv3's counters, which has no times
? 1
$ printf '{"name": "x", "gpus": [{"id": 0, "threadblocks": []}]}' > p.json; halley trace info p.json
! halley: p.json: this is an MSCCL++ plan: `halley trace convert` takes it
? 1
$ printf '{"mem_bw": 1}' > k.json; halley trace info k.json
! halley: k.json:1:2: byte 1: the key "mem_bw" is not in Chakra's node schema
? 1

## an nsys export with calls but no kernels says so, and numbered layers are no steps
$ python3 -c 'import sqlite3; c = sqlite3.connect("a.sqlite"); c.execute("create table StringIds(id integer, value text)"); c.execute("create table CUPTI_ACTIVITY_KIND_RUNTIME(start integer, end integer, globalTid integer, correlationId integer, nameId integer)"); c.commit()'
$ halley trace info --kernels a.sqlite
! halley: a.sqlite: an nsys export without GPU activity: CUDA calls were recorded, but no kernel and no copy
? 1
$ python3 -c 'import sqlite3; c = sqlite3.connect("r.db"); c.execute("create table rocpd_kernel_dispatch_00006409(id integer)"); c.commit()'
$ halley trace info --kernels r.db
! halley: r.db: cannot read the rocpd database: no such table: rocpd_metadata_00006409
? 1
$ cp $DATA/recordings/nsys_2024.sqlite b.sqlite && chmod +w b.sqlite
$ halley trace info --kernels --json b.sqlite 2> notes | query -n - /steps
> 2
$ python3 -c 'import sqlite3; c = sqlite3.connect("b.sqlite"); c.execute("update NVTX_EVENTS set end = start + 1"); c.commit()'
$ halley trace info --kernels --json b.sqlite 2> notes | query -n - /steps
> 0

## the recordings of all ranks are seen together, from a folder
$ mkdir runs; for r in 0 1 2 3; do gzip -dc $DATA/recordings/model.json.gz | sed "s/\"rank\": 0/\"rank\": $r/" | gzip > runs/r$r.json.gz; done
$ halley trace info --job runs | head -12
> 4 ranks, 6.37 ms recorded on average, 12 collectives matched
>
> Verdict: no rank is to blame: waiting 0 % spread over 4 ranks.
>
> Rank  Own work  Waiting  Transfer  Last  Cost  Clock ahead
>    0   6.03 ms      0 s    343 us     0   0 s          0 s
>    1   6.03 ms      0 s    343 us     0   0 s          0 s
>    2   6.03 ms      0 s    343 us     0   0 s          0 s
>    3   6.03 ms      0 s    343 us     0   0 s          0 s
>
> Collective  Group  Ranks     Size  Transfer  Waiting  Last  Late by        Bus
> all_reduce  1          4  1.57 MB   28.6 us      0 s     0      0 s  82.5 GB/s
$ halley trace info --job runs --csv | head -2
> rank,own_s,wait_s,transfer_s,last,cost_s,offset_s
> 0,0.00603185,0,0.0003431159999999999,0,0,0
$ halley trace info --job runs --json > job.json; for k in wait_share typical_rank clocks_agree stragglers unmatched ranks/3/transfer_s; do query job.json /$k; done
> 0
> 0
> true
> []
> 0
> 0.0003431159999999999
$ halley trace info --kernels runs | head -1
> kineto recording on NVIDIA A100-SXM4-80GB, 4 ranks
$ halley trace info --job runs/r0.json.gz
! halley: a job has at least two ranks; name the recordings of all ranks, or the folder that holds them
? 1
$ halley trace info --job --kernels runs
! halley: --kernels and --job exclude each other
! see 'halley trace info --help'
? 2

## a rate above the device's peak is left out, and said
$ gzip -dc $DATA/recordings/model.json.gz | python3 -c 'import json, sys; d = json.load(sys.stdin); [e.update(dur=0.05) for e in d["traceEvents"] if e.get("cat") == "kernel" and "gemm" in e["name"]]; json.dump(d, sys.stdout)' > fast.json
$ halley trace info --kernels fast.json 2>&1 | grep -c 'exceed the peak'
> 1
$ halley trace info --kernels fast.json --json 2> note | query - /classes/matmul
> {"n": 147, "s": 7.35e-06, "share": 0.0038838214266465024, "flops_per_s": 167772159999999.94, "bytes_per_s": null}
$ halley trace info --kernels $DATA/recordings/model.json.gz --json | query - /classes/matmul
> {"n": 147, "s": 0.004437186, "share": 0.701830757214698, "flops_per_s": 1133251165941.6565, "bytes_per_s": 14754951448.958853}
! halley: rank 0 of 4: the other ranks are not there

## a rocpd database: kernels are joined with their calls by stack, and each process is a rank
$ halley trace info --kernels --json $DATA/recordings/rocpd.db 2> notes > k.json; for k in kind device schema device_events launch_in_window device_s classes/copy_h2d/n; do query k.json /$k; done
> "rocpd"
> "AMD Instinct MI300X"
> "3"
> 4
> 4
> 1.1e-05
> 2
$ halley trace link -q $DATA/recordings/rocpd.db -o two 2> notes; ls two.*; halley sim two --replay --json | query - /time_s
> two.0.et
> two.1.et
> 1.05e-05
$ head -c 6000 $DATA/recordings/rocpd.db > cut.db; halley trace info --kernels cut.db
! halley: cut.db: the SQLite file is cut: 6000 of its 11264 bytes are there; copy or export it again
? 1
