# halley trace compare: fidelity and privacy.

## a set against itself: no distance, and everything copied
$ halley trace gen transformer -n 2 --tp 2 --layers 2 -o t > made
$ halley trace compare t t
> t: 1 set; t: 1 set
>
> Mix                   Total variation  Largest difference  Real     Synth
> operator kinds                      0  ALL_REDUCE          50.0 %   50.0 %
> operator names                      0  TENSOR ALL_REDUCE   50.0 %   50.0 %
> dependency kinds                    0  COMP > ALL_REDUCE   50.8 %   50.8 %
> communication volume                0  ALL_REDUCE          100.0 %  100.0 %
>
> Distribution       KS  Wasserstein  Mean, real  Synth
> compute durations   0            0  150 us      150 us
> operations          0            0  15.0G       15.0G
> memory traffic      0            0  15.0 MB     15.0 MB
> message sizes       0            0  1.05 MB     1.05 MB
> in-degrees          0            0  0.9844      0.9844
> out-degrees         0            0  0.9844      0.9844
> level widths        0            0  1           1
> depths              0            0  64          64
> nodes of a rank     0            0  64          64
> critical paths      0            0  4.80 ms     4.80 ms
>
> Simulated on  Sets{*}
> dgx-a100{*}1, 1{*}+0.00 %{*}0 s{*}0
> dgx-h100{*}1, 1{*}+0.00 %{*}0 s{*}0
> tpu-v5e-pod{*}1, 1{*}+0.00 %{*}0 s{*}0
>
> Verbatim runs of  Share of nodes  Beyond repeats  Types alone
>                8  100.00 %        0.00 %          0.00 %
>               16  100.00 %        0.00 %          0.00 %
>               32  100.00 %        0.00 %          0.00 %
>               64  100.00 %        0.00 %          0.00 %
>              128  0.00 %          0.00 %          0.00 %
>              256  0.00 %          0.00 %          0.00 %
>
> nearest: t to t, distance 0, 100.0 % of runs of 4 nodes shared
> distance to the nearest of REAL, median: 0
> leaks (in fewer than 5 sets of REAL): 9 names, 5 numbers (100.0 % of those in SYNTH)
>   "LAYER 0 ATTENTION BACKWARD"
>   "LAYER 0 ATTENTION FORWARD"
>   "LAYER 0 MLP BACKWARD"
>   "LAYER 0 MLP FORWARD"
>   "LAYER 1 ATTENTION BACKWARD"
>   and 4 more

## what is left of an obfuscated set
$ halley trace gen random -n 2 --nodes 80 -o t > made
$ printf 'a key that is long enough\n' > key
$ halley trace obfuscate t -o s --key key -l names > said
$ halley trace compare t s --csv | grep -E 'kinds,total|names,total|duration_s,ks|leak|256'
> mix,kinds,total_variation,0
> mix,names,total_variation,1
> spread,duration_s,ks,0
> verbatim,256,whole,0
> verbatim,256,beyond_repeats,0
> verbatim,256,types_alone,0
> leak,names,count,0
> leak,numbers,count,272
> leak,numbers,share,1

## folders of sets, an attack on membership, and scores of another
$ mkdir -p a/sub b c; for i in 1 2 3 4; do halley trace gen random -n 2 --nodes 60 --seed $i -o a/s$i; halley trace gen random -n 2 --nodes 60 --seed 1$i -o b/s$i; done > made; halley trace gen random -n 2 --nodes 60 --seed 5 -o a/sub/s5 > made
$ printf 'member 3\nmember 2\nother 1\n' > scores
$ halley trace compare a a --train a --holdout b --scores scores | grep -E 'sets|membership'
> a: 5 sets; a: 5 sets
> leaks (in fewer than 5 sets of REAL): 5 names, 987 numbers (100.0 % of those in SYNTH)
> membership by features: AUC 1.000 (95 %: 1.000 to 1.000), 5 members, 4 others
> membership by shared runs: AUC 1.000 (95 %: 1.000 to 1.000), 5 members, 4 others
> membership by given scores: AUC 1.000 (95 %: 1.000 to 1.000), 2 members, 1 others
$ halley trace compare a b --json > r; query r /sets_real /sets_synth; query -k r | sort | paste -sd " "; query -n r /nearest_sets
> 5
> 4
> leak leaked_names min_support mix nearest nearest_sets real sets_real sets_synth shares spread synth time verbatim
> 4

## an attack by who holds the model
$ mkdir a b c; for i in 1 2 3 4 5 6; do halley trace gen random -n 2 --nodes 40 --seed $i -o a/s$i; halley trace gen random -n 2 --nodes 40 --seed 1$i -o b/s$i; halley trace gen random -n 2 --nodes 40 --seed 2$i -o c/s$i; done > made
$ halley trace learn a -o m.hsm --min-support 1 > made; halley trace learn c -o r.hsm --min-support 1 > made
$ halley trace compare b c --simulate 0 --train a --holdout b --model m.hsm --reference r.hsm | grep 'likelihood:'
> membership by likelihood: AUC 1.000 (95 %: 1.000 to 1.000), 6 members, 6 others
$ halley trace compare b c --simulate 0 --train a --holdout b --model m.hsm --csv | grep -E 'likelihood.*,members'
> membership,likelihood,members,6
> membership,likelihood-conditions,members,6
> membership,likelihood-programs,members,6
> membership,likelihood-numbers,members,6
! halley: without --reference, likelihoods show little: what is likely under any model looks like a member
$ halley trace compare b c --simulate 0 --train a --holdout b --model made
! halley: without --reference, likelihoods show little: what is likely under any model looks like a member
! halley: made: not a model of 'halley trace learn'
? 1
$ halley trace compare b c --model m.hsm
! halley: --model needs --train and --holdout
! see 'halley trace compare --help'
? 2
$ halley trace compare b c --train a --holdout b --reference r.hsm
! halley: --reference needs --model
! see 'halley trace compare --help'
? 2

## a page, that names what it is about
$ halley trace gen ring -n 2 -o '<b>' > made
$ halley trace compare '<b>' '<b>' --html page.html > said; head -c 15 page.html; echo; grep -c '<b>' page.html; grep -o '<title>.*' page.html
> <!doctype html>
> 0
> <title>&lt;b&gt; against &lt;b&gt;</title>

## sets that do not pass check are left out, or refused
$ mkdir a; halley trace gen ring -n 2 -o a/good > made; halley trace gen ring -n 2 -o a/bad > made; cp a/bad.0.et a/bad.1.et
$ halley trace compare a a | head -1
> a: 1 set; a: 1 set
! halley: warning: a: 1 sets do not pass 'halley trace check' and are left out, the first: a/bad: {*}
! halley: warning: a: 1 sets do not pass 'halley trace check' and are left out, the first: a/bad: {*}
$ halley trace compare a a --strict
! halley: a/bad: the traces do not pass 'halley trace check' (4 errors), first: a/bad.1.et: node 0 "SEND 0 to 1" (byte 8): comm_src is 0, but the node is on rank 1; it is the node's own rank, correct it or leave it out
? 1
$ rm a/good*; halley trace compare a a
! halley: a: none of the 1 sets in this folder passes 'halley trace check', the first: a/bad: {*}
? 1

## nothing to compare, and bad scores
$ mkdir empty; halley trace gen ring -n 2 -o t > made
$ halley trace compare t empty
! halley: empty: no trace in this folder; traces are called NAME.RANK.et
? 1
$ halley trace compare t nothing
! halley: nothing: no such trace: there is no file, no folder and no nothing.0.et of that name
? 1
$ printf 'member x\n' > scores; halley trace compare t t --scores scores
! halley: scores:1: expected a line of 'member SCORE' or 'other SCORE'
? 1
$ printf 'member 1\n' > scores; halley trace compare t t --scores scores
! halley: scores: an attack needs scores of members and of others; there are 1 and 0
? 1

## wrong usage
$ halley trace compare t
! halley: trace compare needs 2 arguments (REAL SYNTH), was given 1
! see 'halley trace compare --help'
? 2
$ halley trace compare t t --train a
! halley: --train and --holdout need each other
! see 'halley trace compare --help'
? 2
$ halley trace compare t t --json --csv
! halley: --json and --csv exclude each other
! see 'halley trace compare --help'
? 2
$ halley trace compare t t -k 0
! halley: --min-support must be at least 1, is 0
! see 'halley trace compare --help'
? 2

## loads and stores are simulated, too: the clusters have a memory for them
$ mkdir off; halley trace gen -m gpt-126m -c gh200:1 --global-batch 2 --offload optimizer -o off/one > /dev/null
$ halley trace compare off off --csv | grep -E '^time,dgx-a100,(sets_real|ks)'
> time,dgx-a100,sets_real,1
> time,dgx-a100,ks,0

## an empty trace is like itself; nothing is read past its columns (sanitizers look)
$ mkdir none; echo '{"metadata": {"version": "1.0.0"}, "nodes": []}' > none/t.0.json; halley trace compare none none | head -1
> none: 1 set; none: 1 set
! halley: warning: a set cannot be simulated: none/t.0.json: the trace of rank 0 is empty
