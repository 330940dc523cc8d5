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
! halley: trace info wants at least 1 argument (TRACE...), was given 0
! see 'halley trace info --help'
? 2
$ halley trace info --json --csv x
! halley: --json and --csv exclude each other
! see 'halley trace info --help'
? 2
