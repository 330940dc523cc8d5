# halley trace check: defects, each in one line.

## sound traces have none
$ halley trace gen ring -n 4 -o r > made
$ halley trace check r
> r: 4 ranks, 0 errors, 0 warnings, 4 notes (--notes lists them)
$ halley trace check --notes r.0.et
> note: r.0.et: node 0 "SEND 0 to 1" (byte 8): the id is 0; it is not written to the file, readers must take a missing id for 0 [zero-id]
> r.0.et: 1 rank, 0 errors, 0 warnings, 1 note; one rank alone, nothing to compare it with

## a missing attribute is named with file, node, byte and remedy
$ halley trace gen all-reduce -n 2 -o a > made
$ halley trace convert a.0.et a.jsonl && sed -i 's/"comm_size"/"comm_seize"/' a.jsonl
$ halley trace convert a.jsonl bad.et && halley trace check bad.et
> error: bad.et: node 0 "ALL_REDUCE" (byte 8): comm_size is missing; a collective needs its size in bytes, add attribute comm_size (int64) [missing-attr]
> bad.et: 1 rank, 1 error, 0 warnings, 1 note (--notes lists them); one rank alone, nothing to compare it with
? 1

## a dangling dependency is dropped by --fix, in place or elsewhere
$ halley trace gen all-reduce -n 2 --repeat 2 -o a > made
$ halley trace convert --to jsonl a a && sed -i 's/"dataDeps": \["0"\]/"dataDeps": ["0", "77"]/' a.1.jsonl
$ halley trace check a.1.jsonl
> error: a.1.jsonl: node 1 "ALL_REDUCE": data dependency on 77, which no node has as its id; drop it with halley trace check --fix, or add the node [dangling-dep]
> a.1.jsonl: 1 rank, 1 error, 0 warnings, 1 note (--notes lists them); one rank alone, nothing to compare it with
? 1
$ halley trace check --fix -o b.et a.1.jsonl && halley trace diff a.1.et b.et
> dropped 1 dangling dependency on 1 of 1 rank
> a.1.jsonl: 1 rank, 0 errors, 0 warnings, 1 note (--notes lists them); one rank alone, nothing to compare it with
> no differences in 2 nodes
$ halley trace check --fix a.1.jsonl; halley trace check a.1.jsonl
> dropped 1 dangling dependency on 1 of 1 rank
> a.1.jsonl: 1 rank, 0 errors, 0 warnings, 1 note (--notes lists them); one rank alone, nothing to compare it with
> a.1.jsonl: 1 rank, 0 errors, 0 warnings, 1 note (--notes lists them); one rank alone, nothing to compare it with

## a set is fixed as a whole
$ halley trace gen all-reduce -n 3 --repeat 2 -o a > made
$ mkdir j && halley trace convert --to jsonl a j/ && sed -i 's/"dataDeps": \["0"\]/"dataDeps": ["0", "77"]/' j/a.1.jsonl
$ halley trace check --fix -o good j; ls good*; halley trace diff a good
> dropped 1 dangling dependency on 1 of 3 ranks
> j: 3 ranks, 0 errors, 0 warnings, 2 notes (--notes lists them)
> good.0.et
> good.1.et
> good.2.et
> no differences in 6 nodes

## a cycle is printed
$ halley trace gen all-reduce -n 2 --repeat 3 -o a > made
$ halley trace convert a.0.et a.jsonl && sed -i 's/"dataDeps": \["0"\]/"dataDeps": ["2"]/' a.jsonl
$ halley trace check a.jsonl
> error: a.jsonl: node 1 "ALL_REDUCE": 2 nodes depend on each other in a cycle: 1 "ALL_REDUCE" -> 2 "ALL_REDUCE" -> 1 (-> reads: depends on); 2 nodes are in or after cycles and can never start; drop one of these dependencies [cycle]
> a.jsonl: 1 rank, 1 error, 0 warnings, 1 note (--notes lists them); one rank alone, nothing to compare it with
? 1

## a send without its receive, and one that differs in size only
$ halley trace gen ring -n 3 --size 100 -o r > made
! halley: note: --size 100 is 100 bytes; write '100 MiB' for mebibytes
$ halley trace convert --to jsonl r r; rm r.*.et
$ sed -i 's/"int64Val": "100"/"int64Val": "101"/' r.1.jsonl
$ halley trace check r
> error: r.0.jsonl: node 0 "SEND 0 to 1": sends 100 bytes from rank 0 to rank 1 with tag 0, but node 0 of rank 1 waits for 101 bytes; give both the same comm_size [send-recv-size]
> error: r.1.jsonl: node 1 "SEND 1 to 2": sends 101 bytes from rank 1 to rank 2 with tag 0, but node 1 of rank 2 waits for 100 bytes; give both the same comm_size [send-recv-size]
> r: 3 ranks, 2 errors, 0 warnings, 3 notes (--notes lists them)
? 1

## collectives in another order, forced by dependencies
$ mkdir a && halley trace gen all-reduce -n 2 --repeat 2 --size 8 -o a/a > made
! halley: note: --size 8 is 8 bytes; write '8 MiB' for mebibytes
$ halley trace convert --to jsonl a a; rm a/*.et
$ awk 'NR == 2 { sub(/"8"/, "\"16\"") } { print }' a/a.0.jsonl > t && mv t a/a.0.jsonl
$ awk 'NR == 3 { sub(/"8"/, "\"16\"") } { print }' a/a.1.jsonl > t && mv t a/a.1.jsonl
$ halley trace check a
> error: a/a.1.jsonl: node 0 "ALL_REDUCE": collective 1 of the group of all ranks is ALL_REDUCE of 8 bytes (node 0), but on rank 0 ALL_REDUCE of 16 bytes (node 0); both wait for each other: give all ranks the same order [coll-order]
> a: 2 ranks, 1 error, 0 warnings, 2 notes (--notes lists them)
? 1

## the groups' file beside the set is used
$ halley trace gen all-to-all -n 4 -g 0-1 -o ep > made
$ halley trace check ep
> ep: 4 ranks, 0 errors, 0 warnings, 2 notes (--notes lists them)
$ echo '{"1": [0, 2]}' > other.json; halley trace check -g other.json ep
> error: ep.1.et: node 0 "ALL_TO_ALL" (byte 8): rank 1 takes part in group "1", which it does not belong to; correct pg_name or the ranks of the group [group-member]
> error: ep.2.et: 0 collectives of group "1", but rank 0 has 1; the first missing is ALL_TO_ALL of 1048576 bytes (node 0); the others wait for ever: every rank of a group takes part in each [coll-count]
> ep: 4 ranks, 2 errors, 0 warnings, 2 notes (--notes lists them)
? 1

## what cannot be read is a finding with its byte
$ halley trace gen all-reduce -n 2 -o a > made
$ head -c 30 a.0.et > cut.et; halley trace check cut.et
> error: cut.et: byte 8: a message of 62 bytes, but the file ends after 21; it is cut (copy it again) or no .et [unreadable]
> cut.et: unreadable, 1 error, 0 warnings, 0 notes
? 1
$ halley trace check --json cut.et
> {
>   "trace": "cut.et",
>   "n_ranks": 0,
>   "compared_ranks": false,
>   "n_errors": 1,
>   "n_warnings": 0,
>   "n_notes": 0,
>   "codes": [
>     {"code": "unreadable", "severity": "error", "count": 1, "listed": 1}
>   ],
>   "findings": [
>     {"severity": "error", "code": "unreadable", "rank": 0, "n_ranks": 1, "file": "cut.et", "offset": 8, "sentence": "byte 8: a message of 62 bytes, but the file ends after 21; it is cut (copy it again) or no .et", "remedy": ""}
>   ]
> }
? 1

## every file of a set that cannot be read is named
$ halley trace gen all-reduce -n 3 -o u > made && truncate -s 29 u.0.et && : > u.2.et
$ halley trace check u
> error: u.0.et: byte 8: a message of 62 bytes, but the file ends after 20; it is cut (copy it again) or no .et [unreadable]
> error: u.2.et: the file is empty; a trace has at least a metadata message [unreadable]
> u: unreadable, 2 errors, 0 warnings, 0 notes
? 1

## findings for programs
$ halley trace gen one_comm_send_node -n 2 --chakra -o s > made
$ halley trace check --csv s.0.et
> severity,code,rank,n_ranks,file,node,name,offset,sentence,remedy
> error,missing-attr,0,1,s.0.et,28,COMM_SEND_NODE,8,comm_dst is missing,"a send needs the rank it goes to, add attribute comm_dst (int32)"
> error,missing-attr,0,1,s.0.et,28,COMM_SEND_NODE,8,comm_size is missing,"a send needs its size in bytes, add attribute comm_size (int64)"
> error,missing-attr,0,1,s.0.et,28,COMM_SEND_NODE,8,comm_tag is missing,"a send needs a tag to be matched by, add attribute comm_tag (int32)"
? 1

## --out without --fix is wrong usage
$ halley trace check -o x y
! halley: --self and --out go with --fix
! see 'halley trace check --help'
? 2
