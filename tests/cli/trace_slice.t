# halley trace slice: a part that stays consistent.

## communication only, in the order it had
$ halley trace gen transformer -n 4 --tp 2 --pp 2 --layers 2 -o t > made
$ halley trace slice -t coll,send,recv -o c t
> kept 96 of 160 nodes on 4 ranks
> bridged: 76 dependencies, 0 joints
$ halley trace check c
> c: 4 ranks, 0 errors, 0 warnings, 2 notes (--notes lists them)

## some ranks, numbered anew, with their messages
$ halley trace gen all-pairs -n 4 -o r > made
$ halley trace slice -r 3,1 -o s r
> kept 4 of 12 nodes on 2 ranks
> removed with their partners: 8 sends and receives, 0 collectives
$ halley trace check s; ls s.*
> s: 2 ranks, 0 errors, 0 warnings, 0 notes
> s.0.et
> s.1.et

## groups beside the traces shrink, too
$ halley trace gen all-to-all -n 8 -g 0-3 -g 4,6 -o ep > made
$ halley trace slice -r 6,1-4 -o s ep
> kept 5 of 5 nodes on 5 ranks
$ cat s.comm_group.json
> {
>   "1": [1, 2, 3],
>   "2": [4, 0]
> }
$ halley trace check s
> s: 5 ranks, 0 errors, 0 warnings, 2 notes (--notes lists them)

## a file becomes a file
$ halley trace gen all-reduce -n 1 --repeat 5 -o a > made
$ halley trace slice --ids 1,3-4 -o x.jsonl a.0.et; cut -c 1-30 x.jsonl
> kept 3 of 5 nodes on 1 rank
> bridged: 1 dependencies, 0 joints
> {"version": "1.0.0"}
> {"id": "1", "name": "ALL_REDUC
> {"id": "3", "name": "ALL_REDUC
> {"id": "4", "name": "ALL_REDUC
$ halley trace slice --ids 1,3-4 --cut --csv -o x.et a.0.et
> n_ranks,nodes_kept,nodes_removed,bridged,joints,cut,unmatched_p2p,unmatched_collectives
> 1,3,2,0,0,2,0,0

## steps by their marks
$ halley trace gen all-reduce -n 1 --repeat 4 -o a > made
$ halley trace convert a.0.et a.jsonl
$ awk 'NR == 3 { sub(/"name": "[^"]*"/, "\"name\": \"ProfilerStep#7\"") } NR == 5 { sub(/"name": "[^"]*"/, "\"name\": \"ProfilerStep#8\"") } { print }' a.jsonl > b.jsonl
$ halley trace slice -s 7 -o c.jsonl b.jsonl; cut -c 1-36 c.jsonl
> kept 2 of 4 nodes on 1 rank
> {"version": "1.0.0"}
> {"id": "1", "name": "ProfilerStep#7"
> {"id": "2", "name": "ALL_REDUCE", "t
$ halley trace slice -s 9 -o c.et b.jsonl
! halley: b.jsonl: none of these steps is there; there are steps 7 to 8
? 1
$ halley trace slice -s 9 -o c.et a.jsonl
! halley: a.jsonl: there are no steps: no node has an integer attribute "step" and none is named ProfilerStep#N
? 1

## a step of a recording replays as long as it was recorded, with its device work
# Step 2 lasts 1151 us on the host; its kernels, queued after those of step 1, end 1947 us later.
$ halley trace link $DATA/recordings/model.json.gz -o m.et > report 2>&1
$ halley trace slice -s 2 -o two.et m.et > kept
$ halley sim --replay --json two.et | grep '"time_s"'
>   "time_s": 0.003098311,
$ halley trace slice -s 1-3 -o all.et m.et > kept
$ halley sim --replay --json all.et | grep '"time_s"'
>   "time_s": 0.006374966,
$ halley trace check two.et
> two.et: 1 rank, 0 errors, 0 warnings, 0 notes; one rank alone, nothing to compare it with

## steps that nothing marks are found by the period of the kernels
$ gzip -dc $DATA/recordings/model.json.gz | sed 's/ProfilerStep#/epoch of /g' > m.json
$ halley trace link m.json -o m.et 2>&1 > report | grep steps
> halley: no steps marked; by the period of 99 kernels there are 3, numbered from 0 (trace slice --steps)
$ halley trace slice -s 1 -o one.et m.et > kept
$ halley sim --replay --json one.et | grep '"time_s"'
>   "time_s": 0.003096311,
$ halley trace slice -s 3 -o four.et m.et
! halley: m.et: none of these steps is there; there are steps 0 to 2
? 1

## wrong lists are wrong usage, missing ranks are not
$ halley trace gen all-reduce -n 2 -o a > made
$ halley trace slice -r 1-x -o b a
! halley: a list of ranks is like 0,2,4-7; "1-x" is not
! see 'halley trace slice --help'
? 2
$ halley trace slice -r 5 -o b a
! halley: there is no rank 5, only 0 to 1
? 1
$ halley trace slice -t cmp -o b a
! halley: --type 'cmp' is none of comp, coll, send, recv, load, store, metadata, invalid
! see 'halley trace slice --help'
? 2
$ halley trace slice a
! halley: name the output with --out: a file, prefix or folder
! see 'halley trace slice --help'
? 2
$ ls
> a.0.et
> a.1.et
> made
