# halley explore: studies, what is wrong with them, and what they find.

## the best designs come first, with what limits them
$ printf 'name: s\nmodel: gpt-7.5b\ncluster: dgx-a100:64\nplan: {global-batch: 512}\nvary: {plan.tp: [1, 2, 4, 8], plan.pp: [1, 2]}\n' > s.yaml
$ halley explore s.yaml --top 2
> s: 8 designs evaluated of 8, {*} feasible
>
> Best by least step-time (objective assumed: the study states none)
>
> tp  pp  dp  Step time  Tokens/s {*} Limited by
> {*} s {*}
> {*} s {*}
> ...

## threads change nothing
$ printf 'name: s\nmodel: gpt-7.5b\ncluster: dgx-a100:64\nplan: {global-batch: 512}\nvary: {plan.tp: powers-of-two, plan.pp: divisors, plan.micro-batch: [1, 2, 4]}\n' > s.yaml
$ halley explore s.yaml --json -j 1 > one; halley explore s.yaml --json -j 3 | cmp - one

## an unknown path is named with the nearest
$ printf 'name: s\nmodel: gpt-7.5b\ncluster: dgx-a100:64\nvary: {plan.tpp: [1, 2]}\n' > s.yaml
$ halley explore s.yaml
! halley: s.yaml:4:8: no parameter "plan.tpp", did you mean "plan.tp"?
? 1

## an axis without values
$ printf 'name: s\nmodel: gpt-7.5b\ncluster: dgx-a100:64\nvary: {plan.tp: []}\n' > s.yaml
$ halley explore s.yaml
! halley: s.yaml:4:17: plan.tp has no values: the space is empty
? 1

## a value without its unit
$ printf 'name: s\nmodel: gpt-7.5b\ncluster: dgx-a100:64\nvary: {cluster.out.bandwidth: [25]}\n' > s.yaml
$ halley explore s.yaml
! halley: s.yaml:4:32: cluster.network.bandwidth: bandwidth needs a unit, such as "900 GB/s"; is "25"
? 1

## a space of 1e15 designs without a search
$ printf 'name: s\nmodel: gpt-7.5b\ncluster: dgx-a100:64\nvary:\n' > s.yaml
$ for p in out.bandwidth up.bandwidth npu.memory.hbm.bandwidth npu.peak; do case $p in npu.peak) u=TFLOP/s;; *) u=GB/s;; esac; echo "  cluster.$p: {from: 1 $u, to: 1000 $u, points: 5624}" >> s.yaml; done
$ halley explore s.yaml
! halley: the space has 1e+15 designs, too many to try each ({*}): choose search: {*}
? 1

## nothing feasible: which constraint kills how many
$ printf 'name: s\nmodel: gpt-1t\ncluster: dgx-a100:8\nplan: {global-batch: 8}\nvary: {plan.tp: [1, 2, 3, 8]}\nwhere: [fits, "plan.tp < 8"]\n' > s.yaml
$ halley explore s.yaml
! halley: s: none of 4 designs is feasible ({*}does not fit in memory{*})
? 1

## a division by zero refuses the designs it meets, by name
$ printf 'name: s\nmodel: gpt-7.5b\ncluster: dgx-a100:64\nplan: {global-batch: 512}\nvary: {plan.tp: [1, 2, 8]}\nwhere: [fits, "1 / (plan.tp - 2) < 2"]\n' > s.yaml
$ halley explore s.yaml | grep '^ .*by zero'
>       1  division by zero in "1 / (plan.tp - 2) < 2"

## a dry run tells the size and evaluates a sample
$ printf 'name: s\nmodel: gpt-7.5b\ncluster: dgx-a100:64\nplan: {global-batch: 512}\nvary: {plan.tp: [1, 2, 8]}\n' > s.yaml
$ halley explore s.yaml --dry-run | head -1
> s: 3 designs

## a store is continued, and refused when the study changed
$ printf 'name: s\nmodel: gpt-7.5b\ncluster: dgx-a100:64\nplan: {global-batch: 512}\nvary: {plan.tp: [1, 2, 8]}\n' > s.yaml
$ halley explore s.yaml --store s.db > first; halley explore s.yaml --store s.db --resume | cmp - first
$ halley explore s.yaml --store s.db
! halley: s.db: the store exists: continue it with --resume, or remove it
? 1
$ echo 'where: [fits]' >> s.yaml; halley explore s.yaml --store s.db --resume
! halley: s.db: the study has changed since the store was written: start a new store, or give the old study back
? 1
$ sed -i s/name:.s/name:\ t/ s.yaml; halley explore s.yaml --store s.db --resume
! halley: s.db: the store belongs to the study "s", not to "t"
? 1

## a file that is no store
$ printf 'name: s\nmodel: gpt-7.5b\ncluster: dgx-a100:64\n' > s.yaml; echo text that is long enough for a header of SQLite and then some > s.db
$ halley explore s.yaml --store s.db --resume
! halley: s.db: this is not a SQLite file
? 1

## a store that another process writes
$ printf 'name: s\nmodel: gpt-7.5b\ncluster: dgx-a100:64\nplan: {global-batch: 512}\n' > s.yaml
$ touch s.db; flock s.db sh -c 'halley explore s.yaml --store s.db'
! halley: s.db: another process is writing this store
? 1

## resume needs a store
$ halley explore s.yaml --resume
! halley: --resume needs --store
! see 'halley explore --help'
? 2

## the page stands alone
$ printf 'name: "s & <t>"\nmodel: gpt-7.5b\ncluster: dgx-a100:64\nplan: {global-batch: 512}\nvary: {plan.tp: [1, 2, 8], plan.pp: [1, 2]}\nobjective: [{minimize: step-time}, {minimize: memory}]\n' > s.yaml
$ halley explore s.yaml --report s.html --plots figures > /dev/null; sed '/^<script/,$d' s.html | grep -c 'src=\|href=\|@import\|url(http'
> 0
? 1
$ grep -o '<title>.*</title>' s.html; grep -c "script-src 'sha256-" s.html; grep -o '"study": ".*"' s.html; ls figures
> <title>s &amp; &lt;t&gt;</title>
> 1
> "study": "s & \u003ct>"
> breakdown-by-1.csv
> breakdown-by-1.svg
> breakdown-by-2.csv
> breakdown-by-2.svg
> breakdown.csv
> breakdown.svg
> heat-1.csv
> heat-1.svg
> memory.csv
> memory.svg
> pareto.csv
> pareto.svg
> sensitivity.csv
> sensitivity.svg

## figures have literal colours, whole labels, and their numbers beside them
$ printf 'name: s\nmodel: gpt-7.5b\ncluster: dgx-a100:64\nplan: {global-batch: 512}\nvary: {plan.tp: [1, 2, 8], plan.pp: [1, 2]}\nobjective: [{minimize: step-time}, {minimize: memory}]\n' > s.yaml; halley explore s.yaml --plots figures > /dev/null
$ cat figures/*.svg | grep -c 'var(\|@media\|color-scheme\|currentColor'; for f in figures/*.svg; do test -s "${f%.svg}.csv" || echo "no numbers beside $f"; done; cut -d, -f1-3 figures/breakdown.csv | head -4; cut -d, -f1 figures/memory.csv | tail -n +3
> 0
> # halley 0.2.0 explore: s
> design,compute_s,recompute_s
> "tp 1, pp 1",3.6746063456743117
> "tp 1, pp 2",3.76991628738411
> "tp 1
> "tp 1
> "tp 2
> "tp 2
> "tp 8
> "tp 8

## searches are repeatable, and a search no larger than the space is exact
$ printf 'name: s\nmodel: gpt-7.5b\ncluster: dgx-a100:64\nplan: {global-batch: 512}\nvary: {plan.tp: powers-of-two, plan.pp: divisors, plan.micro-batch: [1, 2, 4], plan.zero: [0, 1, 2], cluster.out.bandwidth: {from: 5 GB/s, to: 50 GB/s, points: 40}}\n' > s.yaml
$ for m in random latin-hypercube evolutionary nlopt; do cp s.yaml $m.yaml; echo "search: {method: $m, samples: 300, seed: 7}" >> $m.yaml; halley explore $m.yaml -j 1 --json > one; halley explore $m.yaml -j 3 --json --store $m.db | cmp - one; halley explore $m.yaml --json --store $m.db --resume | cmp - one; done
$ halley explore s.yaml --top 1 | sed -n 6p | cut -c1-60 > exact; cp s.yaml e.yaml; echo 'search: {method: evolutionary, samples: 3000}' >> e.yaml; halley explore e.yaml --top 1 | sed -n 6p | cut -c1-60 | cmp - exact

## a run that was killed ends as if it had not been
$ printf 'name: s\nmodel: gpt-7.5b\ncluster: dgx-a100:64\nplan: {global-batch: 512}\nvary: {plan.tp: powers-of-two, plan.pp: divisors, plan.micro-batch: [1, 2, 4, 8], plan.zero: [0, 1, 2], plan.recompute: [none, selective, full], cluster.out.bandwidth: {from: 5 GB/s, to: 50 GB/s, points: 200}}\n' > s.yaml
$ halley explore s.yaml --json > whole
$ halley explore s.yaml --store s.db > /dev/null & sleep 0.4; kill -9 $! 2> /dev/null; wait $! 2> /dev/null; halley explore s.yaml --store s.db --resume --json | cmp - whole

## nlopt takes one objective
$ printf 'name: s\nmodel: gpt-7.5b\ncluster: dgx-a100:64\nvary: {cluster.out.bandwidth: {from: 5 GB/s, to: 50 GB/s}}\nobjective: [{minimize: step-time}, {minimize: memory}]\nsearch: {method: nlopt, samples: 10}\n' > s.yaml
$ halley explore s.yaml
! halley: search: nlopt needs one objective; evolutionary takes several
? 1

## a memory tier that is nowhere
$ printf 'name: s\nmodel: gpt-7.5b\ncluster: dgx-a100:64\nvary: {cluster.npu.memory.xcl.bandwidth: [1 GB/s, 2 GB/s]}\n' > s.yaml
$ halley explore s.yaml
! halley: s.yaml: no memory tier is called "xcl"; give its capacity, too, to add it
? 1

## the best are verified by simulation, large ones with fewer replicas
$ printf 'name: s\nmodel: gpt-1.7b\ncluster: dgx-a100:8192\nplan: {global-batch: 2048, tp: 8, pp: 1, recompute: full}\nvary: {plan.micro-batch: [1, 2]}\nverify: 1\n' > s.yaml
$ halley explore s.yaml | sed -n '/Verified/,/^1/p'
> Verified by simulation
>
> Best  Estimated  Simulated  Gap {*} Note
> 1     {*} ms {*} ms {*} % {*} 512 of 1024 data-parallel replicas

## no more room for the store
$ printf 'name: s\nmodel: gpt-7.5b\ncluster: dgx-a100:64\nplan: {global-batch: 512}\nvary: {plan.tp: [2, 4, 8], plan.micro-batch: [1, 2, 4], cluster.out.bandwidth: {from: 5 GB/s, to: 50 GB/s, points: 500}}\n' > s.yaml
$ limit-files 200 halley explore s.yaml --store s.db > /dev/null
! halley: s.db: cannot write the store: {*}
? 1

## the schema knows every key and parameter
$ halley explore --schema > schema; query schema /required; query -k schema /properties | grep -x vary; query -k schema '/$defs/parameters' | grep -x plan.tp
> ["name", "model", "cluster"]
> vary
> plan.tp

## failures: more NPUs make more of the time useless, and a study may ask for that
$ printf 'name: s\nmodel: gpt-7.5b\ncluster: dgx-a100\nplan: {global-batch: 8192, tp: 8}\nset: {cluster.failures.npu-mtbf: 500 h}\nvary: {cluster.npus: [64, 512, 4096]}\nwhere: [fits, "goodput > 0.5"]\nobjective: {minimize: effective-step-time}\n' > s.yaml
$ halley explore s.yaml --csv | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } { e = $at["effective_step_s"] * $at["goodput"] / $at["step_s"] - 1; print $at["npus"], $at["goodput"], e * e < 1e-18 }'
> 512 {*} 1
> 64 {*} 1

## what limits a design names the dimension of the network
$ printf 'name: s\nmodel: gpt-7.5b\ncluster: dgx-a100:64\nplan: {global-batch: 512}\nvary: {plan.tp: [8, 32]}\nbaseline: {plan.tp: 32}\n' > s.yaml
$ halley explore s.yaml --csv | cut -d, -f2 > tp; halley explore s.yaml --csv | sed 's/.*,"//; s/"//' | paste tp - | tail -2
> 8	compute {*} messages inside a node {*}
> 32	tensor-parallel messages between nodes {*}
$ halley explore s.yaml | grep '^Baseline'
> Baseline: plan.tp 32

## a layer under the roofline, where the bandwidth of memory varies
$ printf 'name: s\nmodel: gpt-7.5b\ncluster: dgx-a100:64\nplan: {global-batch: 512, tp: 8}\nvary: {cluster.npu.memory.hbm.bandwidth: [200 GB/s, 2 TB/s]}\n' > s.yaml
$ halley explore s.yaml --report s.html --plots figures > /dev/null; ls figures | grep roof; grep -c '"roofline": ' s.html
> roofline-by-1.csv
> roofline-by-1.svg
> 1

## every key of the schema is one that study files take, and the manual names it
$ halley explore --schema > schema; query -k schema /properties '/$defs/search/properties' '/$defs/range/properties' '/$defs/results' > keys; halley help --man study | sed 's/\\-/-/g' > page; for k in $(cat keys); do grep -q "^.B $k$" page || echo "missing: $k"; done
$ halley help study | grep -A1 '^  samples'
>   samples                   number of designs to evaluate (default: 10000;
>                             example: 50000)
$ halley explore --help | grep -A1 '^keys of a study file'
> keys of a study file:
>   name                      name of the study (required; example: bandwidth)

## a search by nlopt finds what all designs of a grid do, at the edge of a budget
$ printf 'name: s\nmodel: gpt3-175b\ncluster: dgx-a100:512\nplan: {tp: 8, pp: 8, global-batch: 1536, recompute: selective, sequence-parallel: yes}\nvary:\n  cluster.out.bandwidth: {from: 5 GB/s, to: 200 GB/s}\n  cluster.up.bandwidth: {from: 50 GB/s, to: 900 GB/s}\n  cluster.npu.peak: {from: 100 TFLOP/s, to: 1000 TFLOP/s}\nwhere: ["cluster.npu.peak / 1 TFLOP/s + cluster.up.bandwidth / 1 GB/s + 8 * cluster.out.bandwidth / 1 GB/s <= 1000"]\n' > s.yaml
$ sed 's/^\(  cluster.*\)}$/\1, points: 50}/' s.yaml > grid.yaml; for m in nlopt evolutionary latin-hypercube; do cp s.yaml $m.yaml; echo "search: {method: $m, samples: 3000}" >> $m.yaml; done
$ for m in grid nlopt evolutionary latin-hypercube; do halley explore $m.yaml --json | query - /best/0/objective_values/0; done | awk 'NR == 1 { first = $1 } { print $1 / first < 1.015 + 0.09 * (NR == 4) }'
> 1
> 1
> 1
> 1

## a baseline that cannot be is said
$ printf 'name: s\nmodel: gpt-7.5b\ncluster: dgx-a100:64\nplan: {global-batch: 512}\nbaseline: {plan.tp: 3}\nvary: {plan.tp: [2, 4]}\n' > s.yaml
$ halley explore s.yaml | grep Baseline
> Baseline: plan.tp 3 cannot be: {*}

## break-even of a whole number, and of a design that is not feasible
$ printf 'name: s\nmodel: {preset: llama3-70b, seq: 8192}\ncluster: dgx-h100:128\nplan: {tp: 8, pp: 4, global-batch: 128, zero: 1, sequence-parallel: no, recompute: full}\nbreak-even:\n  - {parameter: cluster.npus, from: 32, to: 1024, of: {plan.recompute: full}, beats: {plan.recompute: none}}\n  - {parameter: cluster.npus, from: 32, to: 40, of: {plan.tp: 8, plan.recompute: none}, beats: {plan.tp: 8}}\n' > s.yaml
$ halley explore s.yaml | grep -A1 'How much' | grep -v '^How\|^--'
>   only below 512 (between 32 and 1024)
>   never (it is not everywhere feasible) between 32 and 40

## only plans that interleaving allows, and the others are counted with their reason
$ printf 'name: s\nmodel: gpt3-175b\ncluster: dgx-h100:64\nplan: {tp: 8, pp: 8, global-batch: 64}\nvary: {plan.virtual: [1, 2, 3, 4, 5, 6, 12, 24]}\n' > s.yaml; halley explore s.yaml --csv | cut -d, -f2 | sort -n | xargs
> plan.virtual 1 2 3 4 6 12
$ halley explore s.yaml | grep '^ .*virtual N'
>       2  virtual N: N chunks do not divide the N layers of a stage; use N, N, N, N or N

## formats the device does not have are dropped with their reason
$ printf 'name: s\nmodel: llama3-8b\ncluster: dgx-a100:8\nplan: {tp: 8, global-batch: 8}\nvary: {plan.dtype: [bf16, fp8]}\n' > s.yaml; halley explore s.yaml | grep '^ .*fp8'
>       1  A100-SXM4-80GB has no fp8 (it has bf16, fp16, fp32, tf32)

## units of expressions are checked
$ printf 'name: s\nmodel: llama3-8b\ncluster: dgx-h100:64\nplan: {global-batch: 128}\nwhere: [power < 4 MUSD]\n' > s.yaml; halley explore s.yaml
! halley: s.yaml:5:9: expression "power < 4 MUSD": the left side of < is in W (power), the right side in USD (cost)
? 1
$ printf 'name: s\nmodel: llama3-8b\ncluster: dgx-h100:64\nplan: {global-batch: 128}\nwhere: [memory / step-time < 80 GB]\n' > s.yaml; halley explore s.yaml
! halley: s.yaml:5:9: expression "memory / step-time < 80 GB": the left side of < is in B/s (bandwidth), the right side in B (size)
? 1
$ printf 'name: s\nmodel: llama3-8b\ncluster: dgx-h100:64\nplan: {global-batch: 128, tp: 8}\nwhere: [memory / step-time < 80 TB/s and power * step-time < 1 MWh]\n' > s.yaml; halley explore s.yaml > /dev/null

## a condition implies that designs fit, unless the study allows others
$ printf 'name: s\nmodel: llama3-70b\ncluster: dgx-h100:8\nplan: {global-batch: 8, tp: 8}\nwhere: [power < 1 MW]\n' > s.yaml; halley explore s.yaml 2>&1 | grep 'not fit'
> halley: s: none of 1 designs is feasible (1: does not fit in memory)
$ printf 'allow-unfit: yes\n' >> s.yaml; halley explore s.yaml | grep -c 'does not fit'
> 1
$ printf 'name: s\nmodel: llama3-70b\ncluster: dgx-h100:8\nplan: {tp: 8}\nwhere: fits\nallow-unfit: yes\n' > s.yaml; halley explore s.yaml
! halley: s.yaml:5:8: where: fits contradicts allow-unfit: yes
? 1

## the headroom of a study
$ printf 'name: s\nmodel: llama3-8b\ncluster: dgx-h100:8\nplan: {tp: 2, global-batch: 8}\nheadroom: 50 %%\n' > s.yaml; halley explore s.yaml 2>&1 | grep 'not fit'
> halley: s: none of 1 designs is feasible (1: does not fit in memory)
$ printf 'name: s\nmodel: llama3-8b\ncluster: dgx-h100:8\nplan: {tp: 2, global-batch: 8}\nheadroom: 2\n' > s.yaml; halley explore s.yaml
! halley: s.yaml:5:11: headroom is a share of the memory from 0 to 90 %, not 2
? 1

## networks vary by their keys, and switches and cables are paid for
$ printf 'npus: 256\nnpu: h100-sxm-80gb\nnodes: {npus: 8, up: nvlink4-h100}\nnetwork: {topology: fat-tree, fabric: roce, link: 50 GB/s, tiers: [{name: leaf, npus: 16}, {name: spine}]}\ncost: {npu: 28000 USD, switch: 25000 USD, link: {copper: 100 USD, optical: 900 USD}}\n' > c.yaml
$ printf 'name: nets\nmodel: gpt-7.5b\ncluster: c.yaml\nplan: {tp: 8, pp: 2, global-batch: 512}\nvary: {cluster.network.tiers.leaf.oversubscription: [1, 4]}\nobjective: [{minimize: step-time}, {minimize: capital}]\n' > s.yaml
$ halley explore s.yaml --json > out.json; query out.json /best/0/objective_values /best/1/objective_values
> [0.867041475964134, 8849920]
> [0.9221512703752318, 8377120]
$ printf 'name: nets\nmodel: gpt-7.5b\ncluster: c.yaml\nplan: {tp: 8, pp: 2, global-batch: 512}\nvary: {cluster.network.tiers.top.oversubscription: [1, 4]}\nobjective: {minimize: step-time}\n' > s.yaml
$ halley explore s.yaml
! halley: nets: none of 2 designs is feasible (2: the cluster has no cluster.network.tiers.top.oversubscription to vary: "top" is not there)
? 1

## every key of a plan varies, and a design is the one that estimate computes
$ printf 'name: s\nmodel: llama3-8b\ncluster: dgx-b200:8\nplan: {global-batch: 8}\nvary: {plan.dtype: [mxfp8, bf16, fp8]}\n' > s.yaml; halley explore s.yaml --csv | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } { print $at["plan.dtype"], $at["step_s"] }' | sort > a; for d in bf16 fp8 mxfp8; do echo $d $(halley estimate -m llama3-8b -c dgx-b200:8 --global-batch 8 --dtype $d --json | query - /step_s); done | cmp - a && wc -l < a
> 3
$ printf 'name: s\nmodel: llama3-70b\ncluster: gh200:64\nplan: {tp: 4, global-batch: 64, offload: optimizer}\nvary: {plan.gradient-memory: [2, 4], plan.zero-owner: [yes, no], plan.expose: [none, dp, tp+dp]}\n' > s.yaml; halley explore s.yaml --csv | wc -l
> 7
$ printf 'name: s\nmodel: llama3-8b\ncluster: dgx-h100:8\nvary: {plan.stage-layers: [1]}\n' > s.yaml; halley explore s.yaml
! halley: s.yaml:4:8: no parameter "plan.stage-layers", did you mean "plan.bf16-layers"?
? 1
