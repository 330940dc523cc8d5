# halley trace learn: what many traces have in common, as a model.

## what enough sets have in common is learned
$ for l in 4 6 8 10 12; do halley trace gen transformer -n 4 --tp 2 --layers $l -o s$l > /dev/null; done
$ halley trace learn . -o m.hsm --csv
> model,sets,skipped,traces,nodes,operators,templates,covered_sets,laws
> m.hsm,5,0,20,{*},6,1,5,{*}
$ ls m.hsm*
> m.hsm

## what too few sets have is in no model: one trace is not enough
$ halley trace gen transformer -n 4 --tp 2 -o s > /dev/null
$ halley trace learn s -o m.hsm
! halley: nothing occurs in 5 of the 1 sets of traces: give more, or a smaller --min-support
? 1
$ halley trace learn s -o m.hsm --min-support 1 --csv | cut -d, -f 2
> sets
> 1

## a corpus without traces is no corpus
$ mkdir empty; echo hello > empty/notes.txt
$ halley trace learn empty -o m.hsm
! halley: empty: no traces here: give .et files, prefixes or folders of them
? 1
$ halley trace learn missing -o m.hsm
! halley: missing: no such trace: there is no file, no folder and no missing.0.et of that name
? 1

## sets that fail the check are skipped and counted, or refused
$ for l in 1 2 3 4 5; do halley trace gen all-reduce -n 2 --repeat 8 --size $l'MB' -o s$l > /dev/null; done
$ halley trace gen pipeline -n 2 -o odd > /dev/null; cp odd.0.et odd.1.et
$ halley trace learn . -o m.hsm --csv | cut -d, -f 2,3
> sets,skipped
> 5,1
! halley: skipped 1 of 6 sets that fail the check, the first: {*}
$ halley trace learn . -o m.hsm --strict
! halley: {*}
? 1

## the same corpus gives the same model
$ for l in 4 6 8 10 12; do halley trace gen transformer -n 4 --tp 2 --layers $l -o s$l > /dev/null; done
$ halley trace learn . -o a.hsm > /dev/null; halley trace learn . -o b.hsm > /dev/null; cmp a.hsm b.hsm

## names that too few sets have are not in the model
$ for l in 4 6 8 10 12; do halley trace gen all-reduce -n 2 --repeat $l -o s$l > /dev/null; done
$ halley trace gen transformer -n 2 --tp 2 -o secret > /dev/null
$ halley trace learn --no-check . -o m.hsm > /dev/null
! halley: 1 of 6 sets have programs that too few others share; sets like these are made from the nearest template, scaled
! halley: the model does not reproduce the corpus: operations 0 of the corpus, bytes 0.596 of the corpus, simulated time 0.109 of the corpus
$ grep -c ALL_REDUCE m.hsm; grep -c ATTENTION m.hsm
> 1
> 0
? 1

## every form that is read is learned, in folders within folders
$ mkdir -p c/d; i=0; for form in et et.gz json jsonl chakra-json; do i=$((i + 1)); halley trace gen transformer -n 4 --tp 2 --layers $((4 + i)) -o s > /dev/null; halley trace convert s c/d/s$i --to $form > /dev/null; done; ls c/d | grep '[.]0[.]'
> s1.0.et
> s2.0.et.gz
> s3.0.json
> s4.0.jsonl
> s5.0.json
$ halley trace learn c -o m.hsm --csv | cut -d, -f 2-4
> sets,skipped,traces
> 5,0,20
$ halley trace compare c c --simulate 0 | head -1
> c: 5 sets; c: 5 sets

## a folder that cannot be opened is said, or refused
$ for l in 4 6 8 10 12; do mkdir -p c; halley trace gen transformer -n 4 --tp 2 --layers $l -o c/s$l > /dev/null; done
$ n=$(printf 'd%.0s' $(seq 250)); mkdir t; for i in $(seq 17); do mkdir u; mv t u/$n; mv u t; done; mv t/$n c
$ halley trace learn c -o m.hsm --csv | cut -d, -f 2,3
> sets,skipped
> 5,0
! halley: skipped 1 folders that cannot be opened, the first: c/{*}: cannot open this folder: File name too long
$ halley trace learn c -o m.hsm --strict
! halley: c/{*}: cannot open this folder: File name too long
? 1
$ halley trace compare c c --simulate 0 | head -1
> c: 5 sets; c: 5 sets
! halley: warning: c: 1 folders cannot be opened and are left out, the first: c/{*}: cannot open this folder: File name too long
! halley: warning: c: 1 folders cannot be opened and are left out, the first: c/{*}: cannot open this folder: File name too long
$ halley trace compare c c --simulate 0 --strict
! halley: c/{*}: cannot open this folder: File name too long
? 1

## the model must be named
$ halley trace learn x
! halley: where to? -o names the model to write
! see 'halley trace learn --help'
? 2

## what is no file is not waited for, and a set of which a rank is missing or empty is skipped
$ mkdir c; for l in 6 8 10 12 14 16; do halley trace gen transformer -n 4 --pp 2 --layers $l -o c/s$l > /dev/null; done
$ rm c/s6.1.et; mkfifo c/p.0.et; mkdir c/d.0.et
$ printf '{"metadata": {"version": "1.0.0"}, "nodes": []}' > c/z.0.json
$ timeout 30 halley trace learn c -o m.hsm --csv | cut -d, -f 2,3
> sets,skipped
> 5,2
! halley: skipped 2 of 7 sets that fail the check, the first: rank 1 is missing: there is c/s6.2.et but no c/s6.1.et; ranks must run from 0 without a gap
$ halley trace learn c/z.0.json -o m.hsm --min-support 1
! halley: c/z.0.json: there are no nodes
? 1
$ rm c/s8.3.et; halley trace learn c -o m.hsm
! halley: 3 sets fail the check (the first: {*}), of the others nothing occurs in 5 of the 4 sets of traces: give more, or a smaller --min-support
? 1

## a model is written over, nothing else, and where none can be written nothing is learned
$ for l in 4 6 8 10 12; do halley trace gen transformer -n 4 --tp 2 --layers $l -o s$l > /dev/null; done
$ cp s4.0.et kept; halley trace learn . -o s4.0.et
! halley: ./s4.0.et: --out would write over this file, which the command reads; choose another name
! see 'halley trace learn --help'
? 2
$ cmp s4.0.et kept
$ halley trace learn . -o m.hsm > /dev/null; halley trace learn . -o m.hsm > /dev/null
$ halley trace learn . -o no/m.hsm
! halley: cannot write no/m.hsm: its folder does not exist
? 1
$ halley trace learn . -o ''
! halley: --out needs a value, is empty
! see 'halley trace learn --help'
? 2
$ halley trace learn '' -o m.hsm
! halley: argument 1 is empty
! see 'halley trace learn --help'
? 2

## a packed trace is learned, and what only another program unpacks is named
$ halley trace gen transformer -n 4 --tp 2 -o s > /dev/null; xz s.0.et; halley trace learn s.0.et.xz --min-support 1 --no-check -o m.hsm --csv 2> /dev/null | cut -d, -f 2,3
> sets,skipped
> 1,0
$ printf 'BZh9' > s.0.et.bz2; halley trace learn s.0.et.bz2 -o m.hsm
! halley: s.0.et.bz2: packed by bzip2, which is not read: unpack it (gzip, zstd and xz are read)
? 1

## a model that does not reproduce its corpus is not kept, and the nearest set offered
$ halley trace gen transformer -n 2 --layers 2 -o a > made; halley trace gen transformer -n 2 --layers 2 -o b > made
$ halley trace gen all-reduce -n 2 --size 8GB --repeat 40 -o big > made
$ halley trace learn --min-support 2 -o m.hsm a b big
! halley: 1 of 3 sets have programs that too few others share; sets like these are made from the nearest template, scaled
! halley: the model does not reproduce the corpus (operations 1.5 of the corpus, bytes 0.000315 of the corpus, simulated time 0.00904 of the corpus; at most 25 % may differ) and was not kept. Share the nearest set instead: `halley trace obfuscate a -o OUT`, changed with `halley trace scale`; --no-check keeps such a model
? 1
$ ls | grep -c hsm
> 0
? 1
$ echo an older model > m.hsm; halley trace learn --min-support 2 -o m.hsm a b big 2> said; cat m.hsm; ls -A | grep -c '^[.]'
> an older model
> 0
? 1

## recordings too large to be learned in 1 GB are refused before
$ gzip -dc $DATA/recordings/model.json.gz > m.json
$ halley trace link m.json -o m.et > report 2>&1
$ for i in $(seq 30); do halley trace slice --ids $i-9999 m.et -o r$i.et > made; done
$ halley trace learn -o m.hsm r*.et
! halley: 30 recordings of 61695 nodes have different programs, so a model would hold all of them and take about 2 GB; share a recording instead: `halley trace obfuscate r30.et -o OUT -l structure`, changed with `halley trace scale`
? 1

## totals of sets without conditions count all their nodes, gradient buckets as well
$ mkdir bare; for b in 1 2 3; do for s in 512 1024; do halley trace gen -m gpt-1.7b -c dgx-a100:2 --global-batch $((2 * b)) --seq $s -o bare/$b-$s > made; done; done
$ halley trace learn --no-check --min-support 2 bare -o b.hsm > made 2> said; halley trace synth b.hsm --conditions | grep ^bytes; for f in 1-512 3-1024; do halley trace info bare/$f | grep ^communication; done
> communication 9.88 GB in collectives
> communication 9.88 GB in collectives
