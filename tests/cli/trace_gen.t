# halley trace gen: traces made from patterns.

## a microbenchmark has one trace per NPU, and equal ones are made once
$ halley trace gen all-reduce -n 4 --size '64 MiB' --repeat 10
> Traces      Ranks  Different  Nodes     Size  Groups
> all-reduce      4          1     40  {*}B       0
$ ls; cmp all-reduce.0.et all-reduce.3.et
> all-reduce.0.et
> all-reduce.1.et
> all-reduce.2.et
> all-reduce.3.et

## groups are listed beside the traces as ASTRA-sim reads them
$ halley trace gen all-to-all -n 8 -g 0-3 -g 4,6 -o ep --csv
> prefix,n_ranks,n_distinct,nodes,size_bytes,groups
> ep,8,3,8,{*},2
$ cat ep.comm_group.json
> {
>   "1": [0, 1, 2, 3],
>   "2": [4, 6]
> }

## what an earlier set left behind is named
$ halley trace gen barrier -n 4 -g 0,1 -o x > /dev/null
$ halley trace gen barrier -n 2 -o x > /dev/null
! halley: x.2.et is of an earlier set of more ranks: remove it and those after it
! halley: x.comm_group.json is of an earlier set with groups: remove it

## Chakra's cases are the bytes of Chakra's generator
$ halley trace gen chakra -n 2 --chakra --csv | wc -l
> 15
$ for f in *.et; do cmp $f $DATA/chakra-generator/$f; done

## without --chakra a send has its receive
$ halley trace gen one_comm_send_node -n 3
! halley: one_comm_send_node pairs the NPUs up, so their number must be even, is 3
! see 'halley trace gen --help'
? 2

## patterns and their parameters can be listed
$ halley trace gen --list | head -3
> Pattern                      Makes
> one_metadata_node_all_types  a node with an attribute of every type
> one_remote_mem_load_node     a memory load
$ halley trace gen ring --list
> Parameter  Default  Meaning
> size       1 MiB    bytes of a collective or message
> repeat     1        times the pattern is done
> order      chained  whether repetitions wait for each other
> compute    0 us     length of a compute node, whole microseconds; 0 = none of its own
> flops      0        operations of a compute node; 0 = 100 TFLOP/s in its time
> tensor     0 B      bytes a compute or memory node moves (tensor_size)

## the same seed gives the same bytes
$ halley trace gen random -n 2 --nodes 500 --seed 7 -o a > /dev/null
$ halley trace gen random -n 2 --nodes 500 --seed 7 -o b > /dev/null
$ halley trace gen random -n 2 --nodes 500 --seed 8 -o c > /dev/null
$ cmp a.0.et b.0.et && cmp a.1.et b.1.et
$ cmp -s a.0.et c.0.et
? 1

## what cannot be made is refused in a sentence, and nothing is left behind
$ halley trace gen all-reduce -n 0
! halley: a trace set needs at least 1 NPU, not 0
! see 'halley trace gen --help'
? 2
$ halley trace gen all-reduce -n 4 -g 0,4
! halley: group 0,4: rank 4 does not exist, the 4 NPUs are 0 to 3
! see 'halley trace gen --help'
? 2
$ halley trace gen all-reduce -n 4 -g 0,1,0
! halley: group 0,1,0: rank 0 is there twice
! see 'halley trace gen --help'
? 2
$ halley trace gen all-reduce --size 0
! halley: note: --size 0 is 0 bytes; write '0 MiB' for mebibytes
! halley: size must be between 1 and 9007199254740992 bytes, is "0"
! see 'halley trace gen --help'
? 2
$ halley trace gen ring --layers 3
! halley: pattern ring takes no layers
! see 'halley trace gen --help'
? 2
$ halley trace gen all-reduec
! halley: there is no pattern "all-reduec"; did you mean "all-reduce"?
! see 'halley trace gen --help'
? 2
$ halley trace gen
! halley: name a pattern; --list shows them
! see 'halley trace gen --help'
? 2
$ halley trace gen all-reduce -o nowhere/x
! halley: cannot write nowhere/x.0.et: its folder does not exist
? 1
$ ls

## a model under a plan: traces that check across ranks and run
$ halley trace gen -m gpt-3.6b -c dgx-a100:8 --tp 2 --pp 2 --virtual 3 --global-batch 8 -o step --csv
> prefix,n_ranks,n_distinct,nodes,size_bytes,groups
> step,8,8,{*},{*},8
$ halley trace check step
> step: 8 ranks, 0 errors, 0 warnings, {*}
$ printf 'npus: 8\nnpu: A100-SXM4-80GB\nnetwork:\n  - {topology: switch, size: 8, bandwidth: 225 GB/s, latency: 1 us}\n' > c.yaml
$ halley sim -c c.yaml --comm-group-configuration step.comm_group.json step --csv | cut -d. -f1 | tail -3
> 5,0
> 6,0
> 7,0

## a step without groups has no group file; offloaded classes are memory nodes
$ halley trace gen -m gpt-126m -c gh200:1 --global-batch 2 --offload optimizer -o one --csv
> prefix,n_ranks,n_distinct,nodes,size_bytes,groups
> one,1,1,{*},{*},0
$ ls one.*; halley trace info one | grep MEM_
> one.0.et
> MEM_LOAD_NODE       1 {*}
> MEM_STORE_NODE      1 {*}
$ halley sim one -c gh200:1 | grep -c 'Remote memory .* ms'
> 1
$ halley sim one -c gaudi2:1
! halley: one.0.et: node {*}: rank 0: the node loads from or stores to remote memory, but the cluster has none; add remote-memory to its file
? 1
$ halley trace gen -m gpt-126m -c gaudi2:1 --global-batch 2 --offload optimizer -o none
! halley: there is nothing to offload to: Gaudi2 (gaudi2) has 1 of the 2 memories that takes; describe an NPU with more, as gh200-144gb is
! see 'halley trace gen --help'
? 2

## a plan file gives the same as its options; options go before it
$ printf 'tp: 4\npp: 2\nglobal-batch: 8\nrecompute: full\n' > plan.yaml
$ halley trace gen -m gpt-3.6b -c dgx-a100:8 --plan plan.yaml --tp 2 -o file > /dev/null
$ halley trace gen -m gpt-3.6b -c dgx-a100:8 --pp 2 --global-batch 8 --recompute full --tp 2 -o opts > /dev/null
$ for r in 0 7; do cmp file.$r.et opts.$r.et; done

## options of one kind are no options of the other
$ halley trace gen ring --micro-batch 2
! halley: --micro-batch needs --model
! see 'halley trace gen --help'
? 2
$ halley trace gen -m gpt-3.6b -c dgx-a100:8 --size '1 MB'
! halley: --size is for patterns, not for --model
! see 'halley trace gen --help'
? 2
$ halley trace gen ring -m gpt-3.6b -c dgx-a100:8
! halley: give a pattern or --model, not both
! see 'halley trace gen --help'
? 2
$ halley trace gen -m gpt-3.6b -c dgx-a100:8 --tp 0
! halley: tp must be positive, is 0
! see 'halley trace gen --help'
? 2
$ printf 'tp: 2\nrecompute: ful\n' > plan.yaml; halley trace gen -m gpt-3.6b -c dgx-a100:8 --plan plan.yaml
! halley: plan.yaml:2:12: recompute must be one of none, selective, selective-op, full, minimal, qkv, modules, kept; is "ful", did you mean "full"?
? 1
$ printf 'tpp: 2\n' > plan.yaml; halley trace gen -m gpt-3.6b -c dgx-a100:8 --plan plan.yaml
! halley: plan.yaml:1:1: unknown key "tpp"; did you mean "tp"?
? 1

## a folder takes files of the pattern's own name, a prefix is followed by a dot, and no file is hidden
$ mkdir here; halley trace gen chakra -n 2 -o here > said; halley trace gen chakra -n 2 -o new/ > said; halley trace gen chakra -n 2 -o y > said; ls -A here | head -2; ls new | wc -l; ls y.ALL*
> ALL_GATHER.0.et
> ALL_GATHER.1.et
> 28
> y.ALL_GATHER.0.et
> y.ALL_GATHER.1.et
> y.ALL_REDUCE.0.et
> y.ALL_REDUCE.1.et
> y.ALL_TO_ALL.0.et
> y.ALL_TO_ALL.1.et
$ cd here; halley trace gen chakra -n 2 -o . > said; ls -A | grep -c '^[.]'
> 0
? 1
$ halley trace gen all-reduce -n 2 --size '1 MB' -o sub/ > said; ls sub
> all-reduce.0.et
> all-reduce.1.et

## names of a model's nodes tell layer and pass
$ halley trace gen -m llama3-8b -c dgx-h100:8 --tp 4 --pp 2 --schedule zb-h1 --recompute full --global-batch 4 -o g > /dev/null; halley trace convert g.7.et g.json --to json; grep -o '"name": *"L31[^"]*attention[^"]*"' g.json | sort | uniq -c; grep -c '"name": *"L15\.' g.json
>       4 "name": "L31.attention.FP"
>       8 "name": "L31.attention.IG"
>       4 "name": "L31.attention.RC"
> 0
? 1
