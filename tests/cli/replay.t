## ranks that fit together, and what a dry run says; no MPI is needed
$ halley trace gen data-parallel -n 2 -o dp --csv > list
$ halley replay dp --dry-run
> 2 ranks fit together
$ halley trace gen all-reduce -n 4 --size '1 MiB' -o ar --csv > list
$ halley replay ar --dry-run --only compute
> 4 ranks fit together

## ranks that do not are refused: other sizes, other kinds, messages without partners
$ halley trace gen all-reduce -n 2 --size '1 MiB' -o a --csv > list; halley trace gen all-reduce -n 2 --size '2 MiB' -o b --csv > list; cp b.1.et a.1.et
$ halley replay a --dry-run
! halley: collective 0 of group 0 does not match: rank 0 begins ALL_REDUCE of 1048576 bytes (node 0), rank 1 begins ALL_REDUCE of 2097152 bytes (node 0); the job would hang
? 1
$ halley trace gen all-gather -n 2 --size '1 MiB' -o c --csv > list; cp c.1.et a.1.et
$ halley replay a --dry-run
! halley: collective 0 of group 0 does not match: rank 0 begins ALL_REDUCE of 1048576 bytes (node 0), rank 1 begins ALL_GATHER of 1048576 bytes (node 0); the job would hang
? 1
$ halley trace gen one_comm_send_node -n 2 --chakra -o s --csv > list
$ halley replay s --dry-run
! halley: s.0.et: node 28: rank 0: the message needs comm_size and a rank to send to or receive from, other than its own
? 1

## usage
$ halley replay
! halley: name the traces to replay, or --fit FILE
! see 'halley replay --help'
? 2
$ halley replay x --fit f.yaml
! halley: --fit measures the machine and takes no traces
! see 'halley replay --help'
? 2
$ halley replay x --json --csv
! halley: --json and --csv exclude each other
! see 'halley replay --help'
? 2
$ halley replay nowhere --dry-run
! halley: nowhere: no such trace: there is no file, no folder and no nowhere.0.et of that name
? 1
$ halley trace gen all-reduce -n 2 -o ar --csv > list
$ halley replay ar --compute dance
! halley: --compute must be one of spin, matmul, sleep; is 'dance'
! see 'halley replay --help'
? 2

## collectives as measured: a key of cluster files, written and read again
$ halley trace gen all-reduce -n 2 --size '1 MB' -o ar --csv > list
$ printf 'npus: 2\nnetwork:\n  - {topology: fully-connected, size: 2, bandwidth: 10 GB/s, latency: 1 us}\nmeasured:\n  - {collective: all-reduce, ranks: 2, lines: [[0 B, 2 us, 1 GB/s], [64 KiB, 10 us, 4 GB/s]]}\n' > m.yaml
$ halley sim ar -c m.yaml | head -1
> 260 us on 2 ranks
$ halley sim -c m.yaml --write-cluster again.yaml && tail -2 again.yaml
> measured:
>   - {collective: all-reduce, ranks: 2, per-node: 2, lines: [[0 B, 2e-06 s, 1000000000 B/s], [65536 B, 1e-05 s, 4000000000 B/s]]}
$ halley sim ar -c again.yaml | head -1
> 260 us on 2 ranks
$ sed 's/64 KiB, 10 us/64 KiB, -1 s/' m.yaml > bad.yaml; halley sim ar -c bad.yaml
! halley: bad.yaml:5:69: this line of measured gives a negative time
? 1
$ sed 's/0 B, 2 us/1 B, 2 us/' m.yaml > bad.yaml; halley sim ar -c bad.yaml
! halley: bad.yaml:5:48: lines of measured begin at 0 B and ascend
? 1
$ sed 's/ranks: 2, lines/ranks: 1, lines/' m.yaml > bad.yaml; halley sim ar -c bad.yaml
! halley: bad.yaml:5:37: ranks must be at least 2, is 1
? 1
$ sed 's/all-reduce, ranks/barrier, ranks/' m.yaml > bad.yaml; halley sim ar -c bad.yaml
! halley: bad.yaml:5:18: collective must be one of all-reduce, all-gather, reduce-scatter, all-to-all, broadcast, send, reduce, gather, scatter; is "barrier"
? 1

## groups that only the traces declare are those of the file, for sim and replay
$ mkdir r; for i in 0 1 2 3; do $DATA/../../tools/make/make-model-recording r/$i.json rank=$i tp=2 layers=2 steps=1; done
$ halley trace link r -o job > said 2>&1; ls job.*json
> job.comm_group.json
$ halley sim job -c dgx-a100:4 > with 2> said; rm job.comm_group.json; halley sim job -c dgx-a100:4 2> said | cmp - with && grep -c . with > said
$ halley replay job --dry-run 2> said
> 4 ranks fit together
