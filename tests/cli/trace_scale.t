# halley trace scale: what-if edits that keep a set consistent.

## twice the layers is the model with twice the layers
$ halley trace gen transformer -n 8 --tp 2 --pp 2 --layers 4 -o four > made; halley trace gen transformer -n 8 --tp 2 --pp 2 --layers 8 -o eight > made
$ halley trace scale four -o s --layers 4:8
> ranks  8 -> 8
> nodes  592 -> 1120
> layers 2 -> 4 on rank 0 (blocks of 4 nodes)
$ halley trace check s
> s: 8 ranks, 0 errors, 0 warnings, 8 notes (--notes lists them)
$ printf 'npus: 8\nnetwork:\n  - {topology: switch, size: 8, bandwidth: 50 GB/s, latency: 500 ns}\n' > c.yaml
$ for p in s eight; do halley sim $p -c c.yaml --comm-group-configuration=$p.comm_group.json --csv > $p.csv; done; cmp s.csv eight.csv && echo same
> same

## also when names are hidden
$ halley trace gen transformer -n 4 --tp 2 --layers 4 -o t > made; halley trace obfuscate t -o o > made
$ halley trace scale o -o s --layers 4:6
> ranks  4 -> 4
> nodes  528 -> 792
> layers 4 -> 6 on rank 0 (blocks of 4 nodes)

## more replicas are the larger job
$ halley trace gen transformer -n 8 --tp 2 --pp 2 -o two > made; halley trace gen transformer -n 16 --tp 2 --pp 2 -o four > made
$ halley trace scale two -o s --dp 4
> ranks  8 -> 16
> nodes  592 -> 1184
> data-parallel groups of 2 ranks
$ printf 'npus: 16\nnetwork:\n  - {topology: switch, size: 16, bandwidth: 50 GB/s, latency: 500 ns}\n' > c.yaml
$ for p in s four; do halley sim $p -c c.yaml --comm-group-configuration=$p.comm_group.json --csv > $p.csv; done; cmp s.csv four.csv && echo same
> same

## experts that replicas share are copied with them
$ printf 'name: m\nkind: moe\nlayers: 2\nhidden: 512\nheads: 4\nffn: 1024\nvocab: 1000\nseq: 256\nexperts: 4\ntop-k: 2\nexpert-ffn: 1024\n' > m.yaml
$ for n in 4 8; do halley trace gen -m m.yaml -c dgx-a100:$n --ep 2 --zero 1 --no-overlap --plain --global-batch $n -o g$n > made; done; halley trace scale g4 -o s --dp 8
> ranks  4 -> 8
> nodes  304 -> 608
> data-parallel groups of 4 ranks
> sharded updates of weights: 1 on rank 0
$ printf 'npus: 8\nnpu: {peak: {bf16: 312 TFLOP/s}, memory: [{name: hbm, capacity: 80 GB, bandwidth: 2 TB/s}]}\nnetwork:\n  - {topology: switch, size: 8, bandwidth: 50 GB/s, latency: 500 ns}\n' > c.yaml
$ for p in s g8; do halley sim $p -c c.yaml --compute roofline --csv > $p.csv; done; cmp s.csv g8.csv && echo same
> same

## stages with different numbers of layers
$ printf 'name: m\nkind: transformer\nlayers: 5\nhidden: 512\nheads: 4\nffn: 1024\nvocab: 1000\nseq: 256\n' > m.yaml
$ halley trace gen -m m.yaml -c dgx-a100:2 --pp 2 --global-batch 4 -o five > made; halley trace scale five -o s --layers 5:9
> ranks  2 -> 2
> nodes  418 -> 706
> layers 3 -> 5 on rank 0 (blocks of 9 nodes)
! halley: note: 5 layers on 2 stages are uneven (Megatron refuses); --stage-layers sets them

## one times the compute is the same file
$ halley trace gen transformer -n 2 --tp 2 -o t > made
$ halley trace scale t -o s --compute 1 && cmp t.0.et s.0.et && cmp t.1.et s.1.et
> ranks  2 -> 2
> nodes  256 -> 256

## other numbers, a larger batch, memory outside
$ halley trace gen transformer -n 4 --tp 2 --layers 1 --micro-batches 1 -o t > made
$ halley trace scale t -o s --dtype bf16:fp8 --batch 4 --offload '50 %' --json
> {
>   "n_ranks_before": 4,
>   "n_ranks": 4,
>   "nodes_before": 36,
>   "nodes": 68,
>   "blocks_before": 0,
>   "blocks": 0,
>   "block_nodes": 0,
>   "data_parallel_before": 2,
>   "sharded_updates": 0,
>   "collectives_swapped": 0,
>   "nodes_offloaded": 16
> }
$ halley trace convert s.0.et s.jsonl && head -4 s.jsonl | tail -3 | cut -c 1-300
> {"name": "offload load", "type": "MEM_LOAD_NODE", "attr": [{"name": "is_cpu_op", "boolVal": false}, {"name": "tensor_size", "uint64Val": "10000000"}]}
> {"id": "1", "name": "LAYER 0 ATTENTION FORWARD", "type": "COMP_NODE", "dataDeps": ["0"], "durationMicros": "200", "attr": [{"name": "is_cpu_op", "boolVal": false}, {"name": "num_ops", "int64Val": "40000000000"}, {"name": "tensor_size", "uint64Val": "20000000"}]}
> {"id": "2", "name": "offload store", "type": "MEM_STORE_NODE", "dataDeps": ["1"], "attr": [{"name": "is_cpu_op", "boolVal": false}, {"name": "tensor_size", "uint64Val": "10000000"}]}

## an all-reduce as reduce-scatter and all-gather, and back
$ halley trace gen all-reduce -n 4 --size '1 MiB' -o t > made
$ halley trace scale t -o s --swap split
> ranks  4 -> 4
> nodes  4 -> 8
> collectives swapped: 1
$ halley trace info s | grep -E '^(ALL|REDUCE)'
> ALL_GATHER      all     262 kB  1.05 MB      4
> REDUCE_SCATTER  all    1.05 MB  4.19 MB      4
$ halley trace scale s -o back --swap join > said && cmp t.0.et back.0.et

## what does not fit is refused with what to do
$ halley trace gen transformer -n 4 --tp 4 --layers 4 -o t > made; halley trace gen all-pairs -n 4 -o p > made
$ halley trace scale t -o s --layers 3:5
! halley: rank 0 repeats its block 16 times, which are not the layers of a model of 3; --repeats says how many a rank has
? 1
$ halley trace scale t -o s --dp 2
! halley: no data-parallel group was found: where there is one replica only, traces do not say what several would exchange; else --dp-groups names the groups (0 for all ranks)
? 1
$ halley trace scale t -o s --dp 2 --dp-groups 9
! halley: there is no group "9"
? 1
$ halley trace scale p -o s --layers 1:2
! halley: p.0.et: nothing repeats here that could be a layer, and a stage of one layer has none that could be copied; --repeats says how many there are, if more
? 1
$ halley trace scale p -o s --dp 2 --dp-groups 0
! halley: p.0.et: node 0: a message goes from one replica to another, so the number of replicas cannot be changed
? 1
$ halley trace scale t -o s --swap join
! halley: there is no reduce-scatter with an all-gather after it to swap
? 1
$ halley trace scale t -o s --offload 1 --offload-match nothing
! halley: no compute node on a device has memory traffic (tensor_size) that could be offloaded and such a name
? 1
$ cp p.0.et p.1.et; halley trace scale p -o s --compute 2
! halley: p: the traces do not pass 'halley trace check' (12 errors), first: p.1.et: node 0 "SEND 0 to 1" (byte 8): comm_src is 0, but the node is on rank 1; it is the node's own rank, correct it or leave it out
? 1
$ ls s.*
! ls: cannot access 's.*': No such file or directory
? 2

## wrong usage
$ halley trace gen ring -n 2 -o t > made
$ halley trace scale t --compute 2
! halley: name the output with --out
! see 'halley trace scale --help'
? 2
$ halley trace scale t -o t --compute 2
! halley: t: already exists; use another name, or --force
? 1
$ halley trace scale t -o s --layers 3
! halley: --layers is like 24:32, not '3'
! see 'halley trace scale --help'
? 2
$ halley trace scale t -o s --dtype bf16:bf17
! halley: --dtype is like bf16:fp8, of fp64, fp32, tf32, bf16, fp16, fp8, int8 and fp4; not 'bf16:bf17'
! see 'halley trace scale --help'
? 2
$ halley trace scale t -o s --compute 0
! halley: --compute must be at least 1e-09, is 0
! see 'halley trace scale --help'
? 2
$ halley trace scale t -o s --offload 2
! halley: --offload must be between 0 and 100 %, is 2
! see 'halley trace scale --help'
? 2

## what would be ignored, and what no trace can hold
$ halley trace gen ring -n 2 -o t > made
$ for wrong in '' '--compute 2 --repeats 4' '--compute 2 --offload-match x' '--dp-groups 0' '--compute 2 --csv' '--layers 4:0' '-o - --compute 2'; do halley trace scale t -o s $wrong; done
! halley: nothing to change: name an edit, such as --compute 2
! see 'halley trace scale --help'
! halley: --repeats is for --layers, which is not given
! see 'halley trace scale --help'
! halley: --offload-match is for --offload, which is not given
! see 'halley trace scale --help'
! halley: nothing to change: name an edit, such as --compute 2
! see 'halley trace scale --help'
! halley: there is no table to write as CSV; take --json
! see 'halley trace scale --help'
! halley: --layers goes from 1 to 1000000, not '4:0'
! see 'halley trace scale --help'
! halley: standard output carries the report; name a file with --out
! see 'halley trace scale --help'
? 2
$ halley trace gen transformer -n 2 --tp 2 -o u > made; halley trace scale u -o s --compute 1e9
! halley: node 0: num_ops times 1e+09 is 2^63 or more, which no trace can hold: take a smaller factor
? 1
$ ls s.*
! ls: cannot access 's.*': No such file or directory
? 2

## ranks of an earlier set are pointed out
$ halley trace gen ring -n 4 -o s > made; halley trace gen ring -n 2 -o t > made
$ halley trace scale t -o s --compute 2 --force > said
! halley: s.2.et is of an earlier set of more ranks: remove it and those after it

## layers of a recording without an execution trace
# The truth is a recording of six layers: 3.13 ms (tools/make/make-model-recording layers=6).
$ halley trace link $DATA/recordings/model.json.gz -o m.et > report 2>&1
$ halley trace slice -s 1 -o s.et m.et > report; halley sim --replay --json s.et | grep '"time_s"'
>   "time_s": 0.002131655,
$ halley trace scale s.et -o s6.et --layers 4:6
> ranks  1 -> 1
> nodes  688 -> 1008
> layers 4 -> 6 on rank 0 (blocks of 160 nodes)
$ halley sim --replay --json s6.et | grep '"time_s"'
>   "time_s": 0.003192841,
$ halley trace scale s.et -o s7.et --layers 5:7
! halley: s.et: no such number of layers: a recorded step has rows of 4 equal blocks; FROM is one of these numbers, or their sum
? 1

## the device and the host of a recording are scaled apart
# The truth is a recording with kernels twice as long: 8.24 ms for two steps.
$ halley trace link $DATA/recordings/model.json.gz -o m.et > report 2>&1
$ halley trace slice -s 1-2 -o s.et m.et > report; halley sim --replay --json s.et | grep '"time_s"'
>   "time_s": 0.004252311,
$ halley trace scale s.et -o c.et --compute 2 > report; halley sim --replay --json c.et | grep '"time_s"'
>   "time_s": 0.008238435,
$ halley trace scale s.et -o h.et --host 2 > report; halley sim --replay --json h.et | grep '"time_s"'
>   "time_s": 0.004876186,

## another batch leaves gradients and the optimizer of a recording alone, or is refused
$ halley trace link $DATA/recordings/model.json.gz -o m.et > report 2>&1
$ halley trace scale m.et -o b.et --batch 2 > report
$ halley trace info --kernels m.et 2> said | grep -e matmul -e all_reduce -e optimizer | head -3
> Verdict: compute-bound: 70 % matmul.
> matmul               147  4.44 ms   70.2 %  1.13 TFLOP/s  14.8 GB/s
> comm.all_reduce       12   343 us   5.43 %                         
$ halley trace info --kernels b.et 2> said | grep -e matmul -e all_reduce -e optimizer | head -3
> Verdict: compute-bound: 73 % matmul.
> matmul               147  8.87 ms   72.9 %  1.13 TFLOP/s  14.8 GB/s
> comm.all_reduce       12   343 us   2.82 %                         
$ halley trace link $DATA/recordings/no_device.json -o n.et > report 2>&1
$ halley trace scale n.et -o x.et --batch 2
! halley: n.et: the recording holds no device work, so another batch cannot be derived from it: how the host's operators grow with the batch is not known
? 1

## one recorded rank of a data-parallel job represents all of them
$ gzip -dc $DATA/recordings/model.json.gz | sed 's/"pg_size": 4/"pg_size": 2/; s/"ranks": \[0, 1, 2, 3\]/"ranks": [0, 1]/; s/"world_size": 4/"world_size": 2/; s/"Group size": 4/"Group size": 2/g; s/"[[]0, 1, 2, 3[]]"/"[0, 1]"/g' > rank0.json; halley trace link -q rank0.json -o r.et 2> note
$ halley trace scale r.et -o wide --dp 4 --dp-groups 1
> ranks  2 -> 4
> nodes  4144 -> 8288
> data-parallel groups of 2 ranks
$ halley trace scale r.et -o one --dp 1
> ranks  2 -> 1
> nodes  4144 -> 2072
> data-parallel groups of 2 ranks
$ halley trace check wide
> wide: 4 ranks, 0 errors, 0 warnings, 1 note (--notes lists them)
