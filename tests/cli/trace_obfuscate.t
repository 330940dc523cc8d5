# halley trace obfuscate: hide what traces give away.

## names are replaced, and what is still to be seen is said
$ halley trace gen transformer -n 4 --tp 2 --layers 2 -o t > made
$ printf '000102030405060708090a0b0c0d0e0f\n' > key
$ halley trace obfuscate t -o s --key key
> level names: 264 nodes, 10 names and 4 groups replaced
>
> removed:
>            4  version string
>
> a reader of these traces still sees:
>   - the class of each operator: matrix product, attention, norm and so on
>   - exact durations, operations and bytes, from which layer shapes can be computed
>   - the exact graph: number of layers, micro-batches and steps
>   - number of ranks; type, order, group, peers and tags of all communication
>
> no run of 8 bytes of 5.39 kB of names, texts and paths is in the 20.2 kB written
$ halley trace check s
> s: 4 ranks, 0 errors, 0 warnings, 0 notes
$ cat s.comm_group.json
> {
>   "1": [
> 0,
> 1],
>   "2": [
> 2,
> 3],
>   "3": [
> 0,
> 2],
>   "4": [
> 1,
> 3]
> }
$ grep -c LAYER s.0.et
> 0
? 1

## simulated time is the same to the last tick, natively and by ASTRA-sim's rules
$ halley trace gen transformer -n 4 --tp 2 --pp 2 --layers 4 -o t > made
$ halley trace gen random -n 4 --nodes 200 -o r > made
$ printf 'npus: 4\nnetwork:\n  - {topology: ring, size: 4, bandwidth: 50 GB/s, latency: 500 ns}\n' > c.yaml
$ for l in ids names; do for t in t r; do halley trace obfuscate $t -o $t-$l -l $l > said || exit 1; for p in $t $t-$l; do g=; test $t = t && g=--comm-group-configuration=$p.comm_group.json; halley sim $p -c c.yaml $g --json > $p.native && halley sim --workload-configuration=$p --system-configuration=$DATA/sim/system.json --network-configuration=$DATA/sim/ring4.yml $g --json > $p.astra || exit 1; done; cmp $t.native $t-$l.native && cmp $t.astra $t-$l.astra || exit 1; done; done; ls *.astra | wc -l
> 6

## sizes and structure stay within the bound, which is measured
$ halley trace gen transformer -n 4 --tp 2 --layers 4 -o t > made
$ halley trace obfuscate t -o s -l structure --bound '2 %' --key $DATA/sim/ring4.yml --json > report
$ halley trace check s
> s: 4 ranks, 0 errors, 0 warnings, 0 notes
$ for i in 0 1 2; do query report /times/$i/after_s /times/$i/before_s | paste -sd ' '; done | awk '{ e = $1 / $2 - 1; print e * e <= 0.0004 }'; query -n report /times; query report /size_error /nodes_split | paste -sd ' ' | awk '{ print ($1 <= 0.02), ($2 > 0) }'
> 1
> 1
> 1
> 3
> 1 1

## operator classes instead of pseudonyms
$ halley trace gen transformer -n 2 --tp 2 --layers 1 -o t > made
$ halley trace obfuscate t -o s --names class > said
$ halley trace convert s.0.et s.jsonl && grep -o '"name": "[a-z0-9-]*", "type"' s.jsonl | sort | uniq -c
>      16 "name": "a-red", "type"
>       8 "name": "attn", "type"
>       8 "name": "matmul", "type"

## a new key is random, is kept on request and gives the same names again
$ halley trace gen ring -n 2 -o t > made
$ halley trace obfuscate --names pseudonym t -o a --save-key key > said && halley trace obfuscate --names pseudonym t -o b --key key > said && cmp a.0.et b.0.et && halley trace obfuscate --names pseudonym t -o c > said; cmp -s a.0.et c.0.et || echo other names
> other names
$ wc -c < key; stat -c %a key
> 33
> 600

## a file becomes a file
$ halley trace gen all-reduce -n 1 -o t > made
$ halley trace obfuscate t.0.et -o out.et > said && halley trace info out.et | head -1
> out.et: Chakra .et, version "1.0.0"

## a key file that is missing or empty
$ halley trace gen ring -n 2 -o t > made
$ halley trace obfuscate t -o s --key nokey
! halley: nokey: key (--save-key makes one): no such file
? 1
$ : > empty; halley trace obfuscate t -o s --key empty
! halley: empty: the key file is empty; --save-key makes one
? 1
$ printf short > weak; halley trace obfuscate t -o s --key weak > said
! halley: warning: a key of 5 bytes can be guessed; --save-key makes one that cannot

## what is there is not mixed with what is shared
$ halley trace gen ring -n 2 -o t > made
$ mkdir d; : > d/x; halley trace obfuscate t -o d
! halley: d: the folder is not empty; a shared set should be alone in its folder: use another folder, or --force
? 1
$ halley trace obfuscate t -o t
! halley: t: already exists; use another name, or --force
? 1
$ halley trace obfuscate t -o t --force > said && halley trace obfuscate t -o e/ > said && ls e
> trace.0.et
> trace.1.et

## traces that do not pass check are refused
$ halley trace gen ring -n 2 -o t > made && cp t.0.et t.1.et
$ halley trace obfuscate t -o s
! halley: t: the traces do not pass 'halley trace check' (4 errors), first: t.1.et: node 0 "SEND 0 to 1" (byte 8): comm_src is 0, but the node is on rank 1; it is the node's own rank, correct it or leave it out
? 1
$ ls
> made
> t.0.et
> t.1.et

## wrong usage
$ halley trace gen ring -n 2 -o t > made
$ halley trace obfuscate t
! halley: name the output with --out
! see 'halley trace obfuscate --help'
? 2
$ halley trace obfuscate t -o s --key a --save-key b
! halley: --key and --save-key exclude each other
! see 'halley trace obfuscate --help'
? 2
$ halley trace obfuscate t -o s.json
! halley: only .et is searched for what should not be there; write that, then convert it
! see 'halley trace obfuscate --help'
? 2
$ halley trace obfuscate t -o s --keep-io all
! halley: --keep-io takes values, shapes or types, not 'all'
! see 'halley trace obfuscate --help'
? 2
$ halley trace obfuscate t -o s -l everything
! halley: --level must be one of ids, names, sizes, structure; is 'everything'
! see 'halley trace obfuscate --help'
? 2
$ halley trace obfuscate nothing -o s
! halley: nothing: no such trace: there is no file, no folder and no nothing.0.et of that name
? 1

## recordings keep their time, too, though threads and streams are numbered anew
$ halley trace link --ranks $DATA/recording/host.%d.json $DATA/recording/device.%d.json -o r > made
$ printf 'npus: 2\nnetwork:\n  - {topology: ring, size: 2, bandwidth: 50 GB/s, latency: 500 ns}\n' > c.yaml
$ for l in ids names; do halley trace obfuscate r -o r-$l -l $l > said || exit 1; for p in r r-$l; do halley sim $p -c c.yaml --csv | cut -d , -f 1-8 > $p.csv || exit 1; done; cmp r.csv r-$l.csv && echo same; done
> same
> same
$ halley trace check r-names
> r-names: 2 ranks, 0 errors, 0 warnings, 0 notes

## what cannot be hidden leaves nothing behind, no key either
$ halley trace gen transformer -n 4 --tp 2 -o t > made
$ limit-files 4 halley trace obfuscate t -o s --save-key key > said
! halley: cannot write s.{*}.et: File too large
? 1
$ ls -A | grep -v '^[tm]'
> said
$ halley trace obfuscate t -o - --save-key key
! halley: standard output carries the report; name a file with --out
! see 'halley trace obfuscate --help'
? 2
$ for wrong in '--bound 0' --csv '--out='; do halley trace obfuscate t -o s $wrong; done
! halley: --bound must be above 0
! see 'halley trace obfuscate --help'
! halley: there is no table to write as CSV; take --json
! see 'halley trace obfuscate --help'
! halley: --out needs a value, is empty
! see 'halley trace obfuscate --help'
? 2

## an attribute to keep that is nowhere is said
$ halley trace gen ring -n 2 -o t > made
$ halley trace obfuscate t -o s --keep comm_tag --keep comm_tug > said
! halley: warning: --keep comm_tug: no node and no metadata has that attribute

## of a run that is killed no set is left: rank 0 is written last, here into a pipe that nobody reads
$ halley trace gen transformer -n 8 --tp 2 --pp 2 -o t > made; mkfifo s.0.et
$ halley trace obfuscate t -o s --force > said & for i in $(seq 2000); do ls .s.comm_group.json.* > seen 2>&1 && break; sleep 0.01; done; kill -9 $! 2> /dev/null; wait $! 2> /dev/null; rm s.0.et; halley trace check s
! halley: s: no such trace: there is no file, no folder and no s.0.et of that name
? 1

## numbers of 32 bits become wider where they must
$ printf '{"metadata": {"version": "1.0.0"}, "nodes": [{"name": "a", "type": "COMP_NODE", "attr": [{"name": "is_cpu_op", "boolVal": false}, {"name": "num_ops", "int32Val": 2147483000}, {"name": "tensor_size", "uint32Val": 4294967000}]}]}' > t.0.json
$ halley trace obfuscate t -o s -l sizes --bound '20 %' > said; halley trace check s > said
$ halley trace scale t -o w --compute 3 > said; halley trace info w | grep -A 1 operations
> compute       6.44G operations
>               12.9 GB moved by compute

## equal sizes become different ones, the same on all members of a group
$ halley trace gen transformer -n 8 --tp 2 --pp 2 --layers 4 -o g > made
$ halley trace obfuscate g -o a -l sizes > report; halley trace convert a.0.et a.jsonl; grep -o '"num_ops"[^}]*' a.jsonl | sort -u | wc -l
> 2
$ halley trace obfuscate g -o b -l sizes --vary-sizes > report; halley trace convert b.0.et b.jsonl; grep -o '"num_ops"[^}]*' b.jsonl | sort -u | wc -l
> 32
$ halley trace check b
> b: 8 ranks, 0 errors, 0 warnings, 0 notes

## a recording replays as long after every level, and says so
$ halley trace link -q $DATA/recordings/model.json.gz -o r.et 2> notes; halley sim r.et --replay --json | query - /time_s > t
$ for l in ids names sizes structure; do halley trace obfuscate r.et -o $l.et -l $l --json 2> note | query - /replay_ratio; done | awk '{ print ($1 > 0.99 && $1 < 1.01) }'
> 1
> 1
> 1
> 1
$ for l in ids names; do halley sim $l.et --replay --json | query - /time_s | cmp - t && echo same; done
> same
> same

## a recording is re-timed for another device after its names are hidden, unless its device is hidden
$ halley trace link -q --recorded-on a100-sxm-80gb $DATA/recordings/window_edge.json -o r.et 2> notes; for l in ids names; do halley trace obfuscate r.et -o $l.et -l $l > said; done
$ for t in r ids names; do halley sim $t.et -c dgx-h100:1 --json 2> note | query - /time_s; done | sort -u | wc -l
> 1
$ for t in r names; do halley trace info --kernels $t.et --json 2> note > $t.json; for k in device_events device_s recorded_s verdict device; do query $t.json /$k; done > $t.facts; done; cmp r.facts names.facts && echo same
> same
$ halley trace obfuscate r.et -o bare.et --hide-device > said; halley trace info --kernels bare.et --json 2> note | query - /device
> null

## kernels are found in a recording without recorded starts
$ halley trace link -q $DATA/recordings/model.json.gz -o r.et 2> notes; halley trace obfuscate r.et -o s.et -l sizes > said 2> note
$ for t in r s; do halley trace info --kernels $t.et --json 2> note | query - /device_s /device_span_s | paste -sd ' '; done | awk 'NR == 1 { d = $1; b = $2 } NR == 2 { print ($1 / d > 0.95 && $1 / d < 1.05), ($2 / b > 0.95 && $2 / b < 1.05) }'
> 1 1
