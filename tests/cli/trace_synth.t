# halley trace synth: new traces from a model.

## sets made from a model pass the check and have groups that fit
$ for l in 4 6 8 10 12; do halley trace gen transformer -n 8 --tp 2 --pp 2 --layers $l -o s$l > /dev/null; done
$ halley trace learn . -o m.hsm > /dev/null
$ halley trace synth m.hsm -o new -n 3 --seed 5 --csv
> prefix,ranks,stages,nodes,groups,left_out,from
> new/synth-0,8,2,{*},8,0,template
> new/synth-1,8,2,{*},8,0,template
> new/synth-2,8,2,{*},8,0,template
$ for i in 0 1 2; do halley trace check new/synth-$i; done
> new/synth-0: 8 ranks, 0 errors, 0 warnings, 8 notes (--notes lists them)
> new/synth-1: 8 ranks, 0 errors, 0 warnings, 8 notes (--notes lists them)
> new/synth-2: 8 ranks, 0 errors, 0 warnings, 8 notes (--notes lists them)

## the same seed gives the same bytes, another one others
$ for l in 4 6 8 10 12; do halley trace gen transformer -n 4 --tp 2 --layers $l -o s$l > /dev/null; done
$ halley trace learn . -o m.hsm > /dev/null
$ for f in a b; do halley trace synth m.hsm -o $f -n 4 > /dev/null; done; diff -r a b
$ halley trace synth m.hsm -o c -n 4 --seed 1 > /dev/null; diff -rq a c | wc -l | grep -c '^0'
> 0
? 1

## conditions beside a set can be asked for, within what was seen
$ for l in 4 6 8 10 12; do halley trace gen transformer -n 4 --tp 2 --layers $l -o s$l > /dev/null; echo '{"family": "toy", "layers": '$l'}' > s$l.conditions.json; done
$ halley trace learn . -o m.hsm > /dev/null
$ halley trace synth m.hsm --conditions --csv
> condition,low,high,values,sets
> family,,,1,5
> layers,4,16,1,5
> ranks,4,4,1,5
$ halley trace info s8 --json | grep '"nodes"' | head -1
>   "nodes": 1056,
$ halley trace synth m.hsm -o new --like layers=8 --csv | cut -d, -f 2-4
> ranks,stages,nodes
> 4,1,1056
$ halley trace synth m.hsm -o far --like layers=1000
! halley: the model never saw layers=1000, only 4 to 16; --extrapolate tries
? 1
$ halley trace synth m.hsm -o far --like family=bert
! halley: the model never saw family=bert, only toy; --extrapolate tries
? 1
$ halley trace synth m.hsm -o far --like width=3
! halley: the model knows no condition 'width'; it knows family, layers, ranks
? 1
$ ls -d far
! ls: cannot access 'far': No such file or directory
? 2
$ halley trace synth m.hsm -o far --like layers
! halley: a condition is NAME=VALUE, such as layers=12, not 'layers'
? 1

## sets have as many ranks as were seen, in their shares, or as asked for
$ for r in 1 2 4 8; do for l in 4 6 8 10 12; do halley trace gen transformer -n $r --layers $l -o r$r-$l > /dev/null; echo '{"family": "toy", "layers": '$l'}' > r$r-$l.conditions.json; done; done
$ for i in 1 2; do for l in 4 6 8 10 12; do for f in r8-$l.*; do ln $f x$i-$f; done; done; done
$ halley trace learn . -o m.hsm > /dev/null
$ halley trace synth m.hsm -o new -n 120 --csv | tail -n +2 | cut -d, -f 2 | sort | uniq -c
>      20 1
>      20 2
>      20 4
>      60 8
$ halley trace synth m.hsm -o alike -n 120 --like layers=8 --csv | tail -n +2 | cut -d, -f 2 | sort -u
> 1
> 2
> 4
> 8
$ halley trace synth m.hsm -o asked -n 2 --ranks 4 --csv | tail -n +2 | cut -d, -f 2
> 4
> 4
$ mkdir c; for r in 2 3 4 5 6; do halley trace gen all-reduce -n $r -o c/s$r > /dev/null; done; halley trace learn c -o n.hsm > /dev/null; halley trace synth n.hsm -o none
! halley: no number of ranks occurs in 5 of the sets that were learned: ask for one (--ranks)
? 1

## a family of which no program is shared is not made from another one, unless asked for
$ for l in 4 6 8 10 12; do halley trace gen transformer -n 4 --tp 2 --layers $l -o a$l > /dev/null; echo '{"family": "toy", "layers": '$l'}' > a$l.conditions.json; halley trace gen random -n 4 --seed $l -o b$l > /dev/null; echo '{"family": "odd", "layers": '$l'}' > b$l.conditions.json; done
$ halley trace learn . -o m.hsm > /dev/null
! halley: 5 of 10 sets have programs that too few others share; sets like these are made from the nearest template, scaled
$ halley trace synth m.hsm -o new --like family=odd
! halley: no program of family=odd is shared by 5 sets; --extrapolate takes the nearest program of another family and scales it
? 1
$ halley trace synth m.hsm -o new --like family=odd --extrapolate --csv | cut -d, -f 2,7
> ranks,from
> 4,nearest

## what is no model, or no longer the one that was written, is refused
$ for l in 4 6 8 10 12; do halley trace gen all-reduce -n 2 --repeat $l -o s$l > /dev/null; done
$ halley trace learn . -o m.hsm > /dev/null
$ head -c 5000 m.hsm > cut.hsm; halley trace synth cut.hsm -o new
! halley: cut.hsm: the model is cut off
? 1
$ cp m.hsm old.hsm; printf '\143' | dd of=old.hsm bs=1 seek=8 conv=notrunc 2> /dev/null; halley trace synth old.hsm -o new
! halley: old.hsm: a model of version 99, this program reads version {*}: learn it again
? 1
$ cp m.hsm bad.hsm; printf 'X' | dd of=bad.hsm bs=1 seek=60 conv=notrunc 2> /dev/null; halley trace synth bad.hsm -o new
! halley: bad.hsm: the model {*}
? 1
$ halley trace synth s4.0.et -o new
! halley: s4.0.et: not a model of 'halley trace learn'
? 1

## nothing is mixed with what is there
$ for l in 4 6 8 10 12; do halley trace gen all-reduce -n 2 --repeat $l -o s$l > /dev/null; done
$ halley trace learn . -o m.hsm > /dev/null
$ mkdir full; touch full/x
$ halley trace synth m.hsm -o full
! halley: full: the folder is not empty ('x' is in it): name another, or remove what is in it
? 1
$ halley trace synth m.hsm -o full/x
! halley: full/x: cannot make the folder: File exists
? 1
$ mkdir empty; halley trace synth m.hsm -o empty > /dev/null; halley trace synth m.hsm -o new > /dev/null; diff -r empty new

## the number of threads does not change the bytes
$ for l in 4 6 8 10 12; do halley trace gen transformer -n 4 --tp 2 --layers $l -o s$l > /dev/null; done
$ halley trace learn . -o m.hsm > /dev/null
$ for j in 1 2 3 9; do halley trace synth m.hsm -o j$j -n 7 -j $j --csv | cut -d/ -f 2 > j$j.csv; done
$ for j in 2 3 9; do diff -r j1 j$j; cmp j1.csv j$j.csv; done

## a run that is killed, or whose disk is full, leaves no folder that looks done
$ for l in 4 6 8 10 12; do halley trace gen transformer -n 4 --tp 2 --layers $l -o s$l > /dev/null; done
$ halley trace learn . -o m.hsm > /dev/null
$ halley trace synth m.hsm -o new -n 100000 > /dev/null & until ls .new.*/synth-0.0.et > /dev/null 2>&1; do sleep 0.01; done; kill -9 $! 2> /dev/null; wait $! 2> /dev/null; ls -d new .new.*/synth-0.0.et
> .new.{*}/synth-0.0.et
! ls: cannot access 'new': No such file or directory
? 2
$ rm -r .new.*; halley trace synth m.hsm -o new -n 100 > /dev/null; ls new/*.et | wc -l
> 400
$ limit-files 4 halley trace synth m.hsm -o large > /dev/null
! halley: cannot write large/synth-0.{*}.et: File too large
? 1
$ ls -A | grep -c large
> 0
? 1

## conditions that say nothing, too much or what cannot be are refused
$ for l in 4 6 8 10 12; do halley trace gen transformer -n 8 --tp 2 --pp 2 --layers $l -o s$l > /dev/null; echo '{"family": "toy", "layers": '$l', "tp": 2, "pp": 2, "dp": 2}' > s$l.conditions.json; done
$ halley trace learn . -o m.hsm > /dev/null
$ for like in layers=-4 layers=four compute=0 compute=much ranks=2.5 ranks=1e9 =4 layers=; do halley trace synth m.hsm -o new --extrapolate --like $like; done
! halley: layers must be at least 0, is -4
! halley: layers is a number, not 'four'
! halley: compute must be above 0, is 0
! halley: compute is a number, not 'much'
! halley: ranks must be a whole number from 1 to 1000000, is 2.5
! halley: ranks must be a whole number from 1 to 1000000, is 1000000000
! halley: a condition is NAME=VALUE, such as layers=12, not '=4'
! halley: a condition is NAME=VALUE, such as layers=12, not 'layers='
? 1
$ halley trace synth m.hsm -o new --like layers=8 --like layers=10
! halley: layers is fixed twice, and not to the same
? 1
$ halley trace synth m.hsm -o new --like ranks=8 --ranks 16
! halley: ranks is fixed to 8 and to 16: choose one
? 1
$ halley trace synth m.hsm -o new --like tp=2 --like pp=2 --like dp=2 --ranks 16 --extrapolate
! halley: tp=2, pp=2, dp=2 and ranks=16 contradict each other: ranks must be 8
? 1
$ halley trace synth m.hsm -o new --like tp=3 --ranks 8 --extrapolate
! halley: tp=3 and ranks=8 contradict each other: ranks must be a multiple of 3
? 1
$ halley trace synth m.hsm -o new --ranks 1000000
! halley: the model never saw ranks=1000000, only 8; --extrapolate tries
? 1
$ halley trace synth m.hsm -o new --like layers=1e300 --extrapolate
! halley: a rank would have more than 50000000 nodes, or all ranks together more than 500000000: ask for less
? 1
$ halley trace synth m.hsm -o new --like compute=1e30
! halley: with that many operations (compute) a number of a node is 2^63 or more, which no trace can hold: ask for fewer
? 1
$ halley trace synth m.hsm -o new --like bytes=1e30
! halley: with that many bytes a number of a node is 2^63 or more, which no trace can hold: ask for fewer
? 1
$ for more in '--like layers=8' '-n 2'; do halley trace synth m.hsm -o new --like-in . $more; done
! halley: --like-in excludes --like and --number
! see 'halley trace synth --help'
! halley: --like-in excludes --like and --number
! see 'halley trace synth --help'
? 2
$ halley trace synth m.hsm -o new --like-in nowhere
! halley: nowhere: no such folder
? 1
$ halley trace synth m.hsm -o new -n 1000000000
! halley: --number must be at most 1000000, is 1000000000
! see 'halley trace synth --help'
? 2
$ ls -A | grep -c new
> 0
? 1

## numbers grow beyond what was seen in families that were, and in no other
$ for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do halley trace gen transformer -n 2 --layers 2 --flops ${i}000000000 -o s$i > made; echo '{"family": "toy", "width": '$i'}' > s$i.conditions.json; done; halley trace learn . -o m.hsm > made
$ for f in toy bert; do halley trace synth m.hsm -o $f --like family=$f --like width=64 --extrapolate > made; halley trace convert $f/synth-0.0.et $f.json; grep -o 'num_ops", "int64Val": "[0-9]*' $f.json | cut -d'"' -f5 | awk '{ m = $1 > m ? $1 : m } END { print (m > 32e9 ? "far beyond" : m > 8e9 ? "as seen" : m) }'; done
> far beyond
> as seen
