## called by the name of ASTRA-sim's program, it writes its log, here and in log/
$ halley trace gen all-reduce -n 4 --size 1MiB -o ar
> Traces  Ranks  Different  Nodes   Size  Groups
> ar          4          1      4  284 B       0
$ ln -s "$(command -v halley)" AstraSim_Analytical_Congestion_Aware
$ ./AstraSim_Analytical_Congestion_Aware --workload-configuration=ar --system-configuration=$DATA/sim/system.json --network-configuration=$DATA/sim/ring4.yml
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
$ wc -c < log/err.log
> 0
$ grep -c finished log/log.log
> 4

## the log is appended to, in a folder of one's choice
$ halley trace gen all-reduce -n 4 --size 1MiB -o ar
> Traces  Ranks  Different  Nodes   Size  Groups
> ar          4          1      4  284 B       0
$ for i in 1 2; do halley sim --astra-output --logging-folder=l --workload-configuration=ar --system-configuration=$DATA/sim/system.json --network-configuration=$DATA/sim/ring4.yml > /dev/null; done
$ grep -c 'sys.0. finished' l/log.log
> 2
$ halley sim --astra-output --logging-folder=no/such --workload-configuration=ar --system-configuration=$DATA/sim/system.json --network-configuration=$DATA/sim/ring4.yml
! halley: cannot write no/such: its folder does not exist
? 1

## flags are on unless they are the number 0, as ASTRA-sim compares; that is said
$ halley trace gen all-reduce -n 4 --size 1MiB -o ar
> Traces  Ranks  Different  Nodes   Size  Groups
> ar          4          1      4  284 B       0
$ sed 's/{/{"replay-only": false,/' $DATA/sim/system.json > s.json
$ halley sim --astra-output --workload-configuration=ar --system-configuration=s.json --network-configuration=$DATA/sim/ring4.yml | grep -c ' finished, 1 cycles'
> 4
! halley: warning: s.json: replay-only is on, since ASTRA-sim takes only the number 0 for off; write 0 or 1
$ sed 's/{/{"model-shared-bus": 2,/' $DATA/sim/system.json > s.json
$ halley sim --astra-output --workload-configuration=ar --system-configuration=s.json --network-configuration=$DATA/sim/ring4.yml | grep -c finished
> 4
! halley: warning: s.json: model-shared-bus is off, since ASTRA-sim takes only 1 for on

## a byte order mark, equal keys, text after the end and quoted numbers are taken as ASTRA-sim takes them
$ halley trace gen all-reduce -n 4 --size 1MiB -o ar
> Traces  Ranks  Different  Nodes   Size  Groups
> ar          4          1      4  284 B       0
$ printf '\357\273\277' > s.json; sed 's/{/{"endpoint-delay": 777,/' $DATA/sim/system.json >> s.json; echo more >> s.json
$ printf 'topology: [ "Ring" ]\nnpus_count: [ "4" ]\nbandwidth: [ "50" ]\nlatency: [ 500.0 ]\n' > n.yml
$ halley sim --astra-output --workload-configuration=ar --system-configuration=s.json --network-configuration=n.yml | grep -c finished
> 4
! halley: warning: s.json: not valid JSON: the key "endpoint-delay" is there twice; read as ASTRA-sim reads it: the last of equal keys counts, and text after the end does not
$ sed 's/"endpoint-delay": [0-9]*/"endpoint-delay": "10"/' $DATA/sim/system.json > s.json
$ halley sim --astra-output --workload-configuration=ar --system-configuration=s.json --network-configuration=n.yml
! halley: s.json: endpoint-delay must be a number, is the text "10"
? 1

## remote-mem-latency may be left out; --json with --csv is refused before anything is read
$ halley trace gen all-reduce -n 4 --size 1MiB -o ar
> Traces  Ranks  Different  Nodes   Size  Groups
> ar          4          1      4  284 B       0
$ echo '{"memory-type": "MEMORY_POOL", "remote-mem-bw": 100}' > m.json
$ halley sim --astra-output --workload-configuration=ar --system-configuration=$DATA/sim/system.json --network-configuration=$DATA/sim/ring4.yml --remote-memory-configuration=m.json | grep -c finished
> 4
$ halley sim nowhere -c nothing --json --csv
! halley: --json and --csv exclude each other
! see 'halley sim --help'
? 2

## ns-3's command line is answered by the flow model, and says so; hosts beyond the ranks are idle
$ halley trace gen all-reduce -n 4 --size 1MiB -o ar
> Traces  Ranks  Different  Nodes   Size  Groups
> ar          4          1      4  284 B       0
$ printf 'ENABLE_QCN 1\nTOPOLOGY_FILE topo.txt\nBUFFER_SIZE 32\n' > config.txt
$ printf '7 1 6\n6\n0 6 400Gbps 0.0005ms 0\n1 6 400Gbps 0.0005ms 0\n2 6 400Gbps 0.0005ms 0\n3 6 400Gbps 0.0005ms 0\n4 6 400Gbps 0.0005ms 0\n5 6 400Gbps 0.0005ms 0\n' > topo.txt
$ echo '{"logical-dims": ["4"]}' > logical.json
$ ln -s "$(command -v halley)" ns3.42-AstraSimNetwork-default
$ ./ns3.42-AstraSimNetwork-default --workload-configuration=ar --system-configuration=$DATA/sim/system.json --network-configuration=config.txt --logical-topology-configuration=logical.json --comm-group-configuration=empty | grep -c finished
> 4
! halley: note: packets of ns-3 are not simulated; the flow model answers, which is within 6 % of packets in 29 of 30 contention scenarios and 22 % off in one; congestion control, pauses, losses and headers are left out
$ echo '{"logical-dims": ["2", "2"]}' > logical.json
$ sed 's/\["ring"\]/["ring", "ring"]/g' $DATA/sim/system.json > s.json
$ halley sim --workload-configuration=ar --system-configuration=s.json --network-configuration=config.txt --logical-topology-configuration=logical.json | head -3
> 40.5 us on 4 ranks
>
> Per rank                    Mean    Least     Most  On rank
! halley: note: packets of ns-3 are not simulated; the flow model answers, which is within 6 % of packets in 29 of 30 contention scenarios and 22 % off in one; congestion control, pauses, losses and headers are left out
$ echo 'ENABLE_QCN 1' > config.txt
$ halley sim --workload-configuration=ar --system-configuration=$DATA/sim/system.json --network-configuration=config.txt --logical-topology-configuration=logical.json
! halley: config.txt: expected an ns-3 configuration with a line "TOPOLOGY_FILE path"
? 1
$ echo '{"logical-dims": "4"}' > logical.json
$ halley sim --workload-configuration=ar --system-configuration=$DATA/sim/system.json --network-configuration=config.txt --logical-topology-configuration=logical.json
! halley: logical.json: expected {"logical-dims": ["8", "2"]}, with 1 to 16 sizes
? 1

## HTSim's command line as well
$ halley trace gen all-reduce -n 4 --size 1MiB -o ar
> Traces  Ranks  Different  Nodes   Size  Groups
> ar          4          1      4  284 B       0
$ printf 'Nodes 4\nTiers 2\nPodsize 4\n\nTier 0\nDownlink_speed_Gbps 200\nRadix_Down 2\nRadix_Up 2\nDownlink_Latency_ns 1000\n\nTier 1\nDownlink_speed_Gbps 200\nRadix_Down 2\nDownlink_Latency_ns 1000\n' > t.topo
$ halley sim --astra-output --workload-configuration=ar --system-configuration=$DATA/sim/system.json --network-configuration=$DATA/sim/ring4.yml --htsim-proto tcp --htsim_opts -topo t.topo -q 88 | grep -c finished
> 4
! halley: warning: --htsim_opts=-q is not an option; ignored, as ASTRA-sim does
! halley: warning: --htsim_opts=88 is not an option; ignored, as ASTRA-sim does
! halley: note: packets of HTSim are not simulated; the flow model answers, which is within 6 % of packets in 29 of 30 contention scenarios and 22 % off in one; congestion control, pauses, losses and headers are left out

## files of ASTRA-sim 1.0: network JSON, system text, workload text with its scales
$ printf '{"dimensions-count": 2, "topologies-per-dim": ["Ring", "Switch"], "units-count": [4, 2], "links-count": [2, 1], "link-latency": [500, 500], "link-bandwidth": [50, 25]}' > n.json
$ printf 'scheduling-policy: LIFO\nendpoint-delay: 10\nactive-chunks-per-dimension: 1\npreferred-dataset-splits: 4\nboost-mode: 1\nall-reduce-implementation: ring_direct\nall-gather-implementation: ring_direct\nreduce-scatter-implementation: ring_direct\nall-to-all-implementation: direct_direct\ncollective-optimization: localBWAware\n' > s.txt
$ printf 'MICRO\n1\nallreduce -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 1048576 1\n' > w.txt
$ ln -s "$(command -v halley)" AnalyticalAstra
$ ./AnalyticalAstra --run-name=x --network-configuration=n.json --system-configuration=s.txt --workload-configuration=w.txt 2> /dev/null | grep 'sys.0. finished'
> [2{*}] [workload] [info] sys[0] finished, 28040 cycles, exposed communication 28040 cycles.
$ ./AnalyticalAstra --comm-scale=2 --network-configuration=n.json --system-configuration=s.txt --workload-configuration=w.txt 2> /dev/null | grep 'sys.0. finished'
> [2{*}] [workload] [info] sys[0] finished, 43760 cycles, exposed communication 43760 cycles.
$ echo 'inter-dimension-scheduling: themis' >> s.txt
$ ./AnalyticalAstra --network-configuration=n.json --system-configuration=s.txt --workload-configuration=w.txt > /dev/null
! halley: warning: n.json is of ASTRA-sim 1.0; its files are read, and simulated as version 2 would, whose cycles are not those of 1.0
! halley: warning: s.txt: inter-dimension-scheduling themis has no effect: ASTRA-sim 2 does not read it, and so chunks take the dimensions in order
! halley: warning: s.txt: no local-mem-bw: reductions take no time
$ sed 's/"links-count": .2, 1./"links-count": [1, 1]/' n.json > bad.json
$ ./AnalyticalAstra --network-configuration=bad.json --system-configuration=s.txt --workload-configuration=w.txt
! halley: bad.json: dimension 0 has 1 links of 50 GB/s and a latency of 500 ns, which give a message no bandwidth or a negative latency
? 1

## a rank that keeps nothing in its memory prints its line, too
$ printf '{"nodes": [{"id": "1", "name": "c", "type": "COMP_NODE", "durationMicros": "5", "inputs": {"values": "[]", "shapes": "[]", "types": "[]"}, "attr": [{"name": "is_cpu_op", "boolVal": false}, {"name": "num_ops", "int64Val": "1000"}, {"name": "tensor_size", "uint64Val": "1"}, {"name": "inputs", "stringVal": "[]"}, {"name": "outputs", "stringVal": "[]"}]}]}' > z.json
$ halley trace convert z.json z.0.et > made; for i in 1 2 3; do cp z.0.et z.$i.et; done
$ sed 's/{/{"track-local-mem": 1,/' $DATA/sim/system.json > s.json
$ halley sim --astra-output --workload-configuration=z --system-configuration=s.json --network-configuration=$DATA/sim/ring4.yml | grep -c 'peak memory usage: 0.00 B'
> 4
