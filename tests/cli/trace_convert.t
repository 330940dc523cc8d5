# halley trace convert: from form to form without loss.

## every form comes back as the same bytes
$ halley trace gen transformer -n 2 --tp 2 --layers 2 -o t > made
$ for f in json jsonl et.gz; do halley trace convert t.0.et x.$f && halley trace convert x.$f back.et && cmp t.0.et back.et; done
$ halley trace convert --to chakra-json t.0.et x.txt && halley trace convert x.txt back.et && cmp t.0.et back.et

## a set goes to a prefix or a folder
$ halley trace gen ring -n 3 -o r > made
$ halley trace convert --to jsonl r out; mkdir d; halley trace convert -j 2 --to et.gz r d; halley trace convert r e/
$ ls . d
> .:
> d
> e
> made
> out.0.jsonl
> out.1.jsonl
> out.2.jsonl
> r.0.et
> r.1.et
> r.2.et
>
> d:
> r.0.et.gz
> r.1.et.gz
> r.2.et.gz
$ halley trace convert r e/; halley trace diff r e
> no differences in 6 nodes

## a pipe is a file
$ halley trace gen ring -n 2 -o r > made
$ cat r.0.et | halley trace convert - x.jsonl; halley trace convert --to jsonl r.0.et - | cmp - x.jsonl
$ ls
> made
> r.0.et
> r.1.et
> x.jsonl

## nothing is left behind when one file fails
$ halley trace gen ring -n 3 -o r > made
$ mkdir o o/o.1.et; halley trace convert r o/o; ls o
> o.1.et
! halley: cannot write o/o.1.et: Is a directory

## JSON refuses what it cannot carry unless told to leave it out
$ halley trace gen all-reduce -n 1 -o a > made
$ halley trace convert a.0.et a.jsonl && head -2 a.jsonl > two
$ { cat a.0.et; printf '\005\372\001\002xy'; } > u.et
$ halley trace convert u.et u.json; ls u.json
! halley: u.et: node 0: there are unknown fields, which JSON cannot carry; convert to .et, or ask for a lossy conversion
! ls: cannot access 'u.json': No such file or directory
? 2
$ halley trace convert --lossy u.et u.json
! halley: JSON cannot carry 1 fields or texts; left out

## a form that is not known is refused
$ halley trace convert --to xml a b
! halley: --to must be one of name, et, et.gz, json, jsonl, chakra-json; is 'xml'
! see 'halley trace convert --help'
? 2

## a workload of ASTRA-sim 1.0 becomes a trace per NPU, with its groups beside
$ halley trace convert -n 4 $DATA/text/comet.txt step; ls
> step.0.et
> step.1.et
> step.2.et
> step.3.et
> step.comm_group.json
$ halley trace check step
> step: 4 ranks, 0 errors, 0 warnings, {*}

## with --chakra it is the bytes of Chakra's converter
$ halley trace convert --chakra -n 2 --passes 2 $DATA/text/synth_dlrm_enh.txt o
$ cmp o.0.et $DATA/text/synth_dlrm_enh.n2p2.0.et; cmp o.1.et $DATA/text/synth_dlrm_enh.n2p2.1.et

## an algorithm of MSCCL becomes a trace per GPU, to be played for a collective
$ halley trace convert --size '64 MiB' $DATA/msccl/ring4.xml ring; ls; halley trace check ring
> ring.0.et
> ring.1.et
> ring.2.et
> ring.3.et
> ring: 4 ranks, 0 errors, 0 warnings, 4 notes (--notes lists them)
$ halley trace gen all-reduce -n 4 --size '64 MiB' -o ar > made
$ sed 's/"all-reduce-implementation": .*/"all-reduce-implementation-custom": ["ring"],/' $DATA/sim/system.json > system.json
$ halley sim --workload-configuration=ar --system-configuration=system.json --network-configuration=$DATA/sim/ring4.yml | head -1
> 941 us on 4 ranks
$ halley sim --workload-configuration=ar --system-configuration=system.json --network-configuration=$DATA/sim/ring4.yml --network-model aware | head -1
> 1.88 ms on 4 ranks
$ halley sim --workload-configuration=ar --system-configuration=$DATA/sim/system.json --network-configuration=$DATA/sim/ring4.yml --network-model aware | head -1
> 1.97 ms on 4 ranks
$ halley trace convert $DATA/msccl/ring4.xml ring
! halley: an algorithm of MSCCL needs --size, the data it is for
! see 'halley trace convert --help'
? 2

## an execution plan of MSCCL++ is read as MSCCL's XML is
$ halley trace convert --size '3 MB' $DATA/msccl/plan_ring3.json ring; halley trace check ring
> ring: 3 ranks, 0 errors, 0 warnings, 3 notes (--notes lists them)
$ halley trace gen all-gather -n 3 --size '3 MB' -o ag > made
$ sed 's/"all-gather-implementation": .*/"all-gather-implementation-custom": ["ring"],/' $DATA/sim/system.json > system.json
$ printf 'topology: [ Ring ]\nnpus_count: [ 3 ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.0 ]\n' > ring3.yml
# two steps of 1 MB at 50 GiB/s, each with a signal after it: 2 (18.6 + 0.5 + 0.5) us
$ halley sim --workload-configuration=ag --system-configuration=system.json --network-configuration=ring3.yml | head -1
> 39.3 us on 3 ranks
$ cp $DATA/msccl/plan_ring3.json plan.json; halley trace convert --size '2 TB' plan.json ring
! halley: plan.json: the plan is for at most 1099511627776 bytes of data, not for 2000000000000
? 1
$ sed 's/"channel_type": "memory"/"channel_type": "switch"/' $DATA/msccl/plan_ring3.json > nvls.json; halley trace convert --size '3 MB' nvls.json ring
! halley: nvls.json: the plan uses switch channels (NVLS): multicast and reduction in the switch cannot be written as messages between two GPUs
? 1

## what Chakra's trace_link writes becomes a trace with times
$ halley trace convert $DATA/linked/linked.0.json step.et; ls; halley trace check step.et
> step.et
> step.et: 1 rank, 0 errors, 0 warnings, 1 note (--notes lists them); one rank alone, nothing to compare it with
$ halley trace link $DATA/linked/linked.0.json -o same.et | grep -E 'linked|recorded|replayed'; cmp step.et same.et
> linked by record function id           3
> kernels linked                         1
> copies linked                          1
> recorded                               155 us
> replayed                               164 us
! halley: rank 0: the replay takes 6 % longer than the recording
$ halley sim step.et --replay --per-node nodes.csv > /dev/null; cut -d, -f2,3,7,8 nodes.csv
> node,name,begin_s,end_s
> 0,[pytorch|profiler|execution_trace|process],0,0
> 1,[pytorch|profiler|execution_trace|thread],0,0
> 2,aten::linear,0,4.5e-06
> 3,aten::addmm,4.5e-06,3.45e-05
> 7,host gap,3.45e-05,4e-05
> 8,host gap,4e-05,5.95e-05
> 4,sgemm,5.95e-05,0.00016
> 5,aten::copy_,5.95e-05,7.95e-05
> 6,Memcpy DtoH (Device -> Pinned),0.00016,0.000164

## a set takes its groups along, and runs
$ halley trace gen transformer -n 4 --tp 2 -o t > made; mkdir d e
$ halley trace convert t d --to et.gz; halley trace convert d e; halley trace convert e u; ls d e u.*
> u.0.et
> u.1.et
> u.2.et
> u.3.et
> u.comm_group.json
>
> d:
> t.0.et.gz
> t.1.et.gz
> t.2.et.gz
> t.3.et.gz
> t.comm_group.json
>
> e:
> t.0.et
> t.1.et
> t.2.et
> t.3.et
> t.comm_group.json
$ cmp t.comm_group.json u.comm_group.json; for s in t d e u; do halley sim $s -c dgx-a100:4 | head -1; done | uniq | wc -l
> 1
$ halley trace convert t.0.et one.json; ls one*
> one.json

## ranks that are equal but for groups and peers become roles, by rule or by table
$ halley trace gen -m gpt-3.6b -c dgx-h100:8 --tp 2 --pp 2 --global-batch 8 -o g > made; halley trace convert --template g t; grep -A9 ranks t.roles.yaml
> 8 ranks in 2 roles, 504897 bytes
> ranks: 8
> axes: [{a0: 2}, {a1: 2}, {a2: 2}]  # innermost first
> roles:
>   - {file: "t.role0.et", when: {a2: 0}}
>   - {file: "t.role1.et", when: {a2: 1}}
> groups:
>   g0: {along: [a1]}
>   g1: {along: [a0]}
>   g2: {along: [a1]}
>   g3: {along: [a0]}
$ for x in t g; do halley sim $x -c dgx-h100:8 --json | query - /time_s; done
> 0.182459183631
> 0.182459183631
$ halley trace gen all-to-all -n 8 -g 0-2 -g 3-7 -o ep > made; halley trace convert --template --json ep u; cat u.roles.yaml; for x in u ep; do halley sim $x -c dgx-h100:8 --json | query - /time_s; done
> {
>   "out": "u",
>   "n_ranks": 8,
>   "n_roles": 1
> }
> format: halley-roles 1
> ranks: 8
> roles:
>   - {file: "u.role0.et"}
> groups: [g0]
> peers: []
> table: u.bind.zst
> 1.563227e-05
> 1.563227e-05

## a pipe is read once
$ halley trace gen all-reduce -n 1 -o a > /dev/null; mkfifo p; (cat a.0.et > p &); halley trace convert p b.et > /dev/null && cmp a.0.et b.et && echo same
> same
