# Names that would act on a terminal or a spreadsheet, limits of memory, pipes, times that do not
# fit: in every field that reaches the user.

## the name of a study cannot act on the terminal
$ printf 'name: "\\e]0;owned\\a\\u202Etxt"\nmodel: gpt-3.6b\ncluster: dgx-h100:8\nplan: {global-batch: 64}\nvary: {plan.tp: [1, 2]}\n' > s.yaml
$ halley explore s.yaml --store s.db | head -n 1
> \x1B]0;owned\x07\xE2\x80\xAEtxt: 2 designs evaluated of 2, 2 feasible
$ printf 'name: s\nmodel: gpt-3.6b\ncluster: dgx-h100:8\nplan: {global-batch: 64}\nvary: {odd: [{name: "=1+1", plan.tp: 1}, {name: "-2,\\ex", plan.tp: 2}]}\n' > f.yaml; halley explore f.yaml --csv | cut -c1-14 | sed -n '2,$p' | sort
> 0,'=1+1,0.7918
> 1,"'-2,\x1Bx",
$ halley explore s.yaml --json | grep '"study"'
>   "study": "\u001b]0;owned\u0007\u202etxt",
$ halley results s.db | head -n 1
> \x1B]0;owned\x07\xE2\x80\xAEtxt: 2 designs evaluated, 2 feasible; best by least step-time
$ halley explore s.yaml --report r.html | tail -n 1; grep -c "$(printf '\033')" r.html
> Report: r.html
> 0
? 1

## nor do names of models, clusters, NPUs and links
$ printf 'name: "m\\e[31m"\nlayers: 4\nhidden: 512\nheads: 8\nvocab: 1000\n' > m.yaml
$ halley estimate -m m.yaml -c dgx-h100:8 | head -n 1
> m\x1B[31m on 8 x H100-SXM-80GB (dgx-h100)
$ halley estimate -m m.yaml -c dgx-h100:8 --json | grep -n "$(printf '\033')"
? 1
$ halley presets m.yaml | grep -n "$(printf '\033')"
? 1
$ halley estimate -m "$(printf 'no\033[31mne')" -c dgx-h100:8
! halley: no model "no\x1b[31mne"; `halley presets models` lists them
? 1

## nor names in traces, and cells of CSV are never formulas
$ printf '{"metadata": {"version": "0.0.4"},\n"nodes": [\n{"id": "1", "name": "=1+1", "type": "COMP_NODE", "durationMicros": "5", "attr": [{"name": "is_cpu_op", "boolVal": false}]},\n{"id": "2", "name": "\\u001b[2Jx\\u202ey", "type": "COMP_NODE", "durationMicros": "5", "attr": [{"name": "is_cpu_op", "boolVal": false}]}\n]}\n' > t.json
$ halley sim t.json -c dgx-h100:1 --explain | grep -c "$(printf '\033')"
> 0
? 1
$ halley trace info t.json --csv | grep -c "$(printf '\033')"
> 0
? 1

## the limit of memory is given by an option, the environment, or the machine
$ halley presets --max-memory
! halley: --max-memory needs a value, SIZE
! see 'halley presets --help'
? 2
$ halley presets --max-memory=lots
! halley: --max-memory: size is a number, such as "80 GB"; is "lots"
! see 'halley presets --help'
? 2
$ halley presets --max-memory '1 MB'
! halley: the limit of memory must be at least 16 MiB, is 1.0 MB
! see 'halley presets --help'
? 2
$ HALLEY_MAX_MEMORY=1 halley presets
! halley: HALLEY_MAX_MEMORY: size needs a unit, such as "80 GB"; is "1"
! see 'halley presets --help'
? 2
$ head -c 100000000 /dev/zero > zeros.et; halley trace info zeros.et --max-memory '64 MB'
! halley: zeros.et: needs 100 MB or more of memory and the limit is 64.0 MB; --max-memory or HALLEY_MAX_MEMORY raises it
? 1
$ HALLEY_MAX_MEMORY='64 MB' halley trace info zeros.et
! halley: zeros.et: needs 100 MB or more of memory and the limit is 64.0 MB; --max-memory or HALLEY_MAX_MEMORY raises it
? 1
$ head -c 20000000 /dev/zero | tr '\0' '#' > m.yaml; halley estimate -m m.yaml -c dgx-h100:8
! halley: m.yaml: has 20.0 MB or more; files of this kind have at most 16.8 MB
? 1
$ head -c 300000000 /dev/zero | gzip > z.et.gz; halley trace info z.et.gz
! halley: z.et.gz: the compressed data unpack to more than 1000 times their size; unpack the file first if that is right
? 1
$ halley estimate -m /dev/zero -c dgx-h100:8
! halley: /dev/zero: has 16.9 MB or more; files of this kind have at most 16.8 MB
? 1

## a pipe is read once, whatever it is
$ printf 'name: m\nlayers: 4\nhidden: 512\nheads: 8\nvocab: 1000\n' > m.yaml; echo 'tp: 2' > p.yaml
$ mkfifo m p; cat m.yaml > m & cat p.yaml > p & halley estimate -m m -c dgx-h100:8 --plan p | sed -n 1,2p
> m on 8 x H100-SXM-80GB (dgx-h100)
> tp 2 pp 1 dp 4 zero 1 micro-batch 1 recompute none sequence-parallel, global batch 4, sequence 8192, bf16
$ mkfifo q; echo 'tp: [' > q & halley estimate -m m.yaml -c dgx-h100:8 --plan q
! halley: q:2:1: not valid YAML: did not find expected node content while parsing a flow node that starts in line 2
? 1

## what cannot be written is said before the work
$ printf 'name: s\nmodel: gpt-3.6b\ncluster: dgx-h100:8\nplan: {global-batch: 64}\nvary: {plan.tp: [1, 2]}\n' > s.yaml
$ halley explore s.yaml --report nowhere/r.html
! halley: cannot write nowhere/r.html: its folder does not exist
? 1
$ d=$(printf 'd%.0s' $(seq 200)); mkdir -p $d/$d/$d; halley explore s.yaml --store $d/$d/$d/s.db 2>&1 | grep -o 'the absolute path of a SQLite file has at most 503 bytes'
> the absolute path of a SQLite file has at most 503 bytes
## times that the clock does not hold
$ printf '{"metadata": {"version": "0.0.4"},\n"nodes": [\n{"id": "1", "name": "x", "type": "COMP_NODE", "durationMicros": "4611686018427387904", "attr": [{"name": "is_cpu_op", "boolVal": false}]}\n]}\n' > t.json
$ halley sim t.json -c dgx-h100:1
! halley: t.json: node 1: the node takes more than 26 days, which the clock of picoseconds does not hold; correct its duration or counts
? 1
$ sed -i s/4611686018427387904/1125899906842624/ t.json; halley sim t.json -c dgx-h100:1
! halley: t.json: node 1: the node takes more than 26 days, which the clock of picoseconds does not hold; correct its duration or counts
? 1
$ sed -i s/1125899906842624/1099511627776/ t.json; halley sim t.json -c dgx-h100:1 | head -n 1
> 12.7 days on 1 rank

## names cannot leave the data of a report
$ printf 'name: "</script><script>alert(1)</script><!--"\nlayers: 4\nhidden: 512\nheads: 8\nvocab: 1000\n' > m.yaml
$ halley estimate -m m.yaml -c dgx-h100:8 --report e.html > /dev/null; halley plan -m m.yaml -c dgx-h100:8 --report p.html > /dev/null; halley sim -m m.yaml -c dgx-h100:8 --global-batch 8 --report s.html > /dev/null; grep -c '<script' e.html p.html s.html; grep -c 'alert(1)</script' e.html p.html s.html
> e.html:3
> p.html:3
> s.html:4
> e.html:0
> p.html:0
> s.html:0
? 1
$ for f in e p s; do grep -o "default-src 'none'; script-src 'sha256-[^']*' 'sha256-[^']*'; style-src 'sha256-[^']*'" $f.html | wc -l; done
> 1
> 1
> 1
