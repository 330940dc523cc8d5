# What a design takes from the recipes of its software, and says.

## a command that states only the workload runs as its authors run it
$ halley estimate -m qwen3-30b-a3b -c gb300-nvl72:8 -s megatron-bridge --global-batch 512 --seq 4096 --dtype mxfp8 2> /dev/null | head -7
> qwen3-30b-a3b on 8 x GB300-288GB (gb300-nvl72)
> tp 1 pp 1 dp 8 ep 8 zero 1 micro-batch 8 recompute none, global batch 512, sequence 4096, mxfp8
> assumed: zero 1
> assumed from megatron-bridge qwen3-30b-a3b/GB300-288GB/8/mxfp8@26.08 (same model, chip, count, format)
>   tp 1, pp 1, cp 1, ep 8, virtual 1, micro-batch 8, etp 1, dispatcher hybridep, graphs full, fp8-attention, overlap-ep, recompute none
>
> step          5.59 s

## every key that a recipe supplied names it, in JSON too
$ halley estimate -m qwen3-30b-a3b -c gb300-nvl72:8 -s megatron-bridge --global-batch 512 --seq 4096 --dtype mxfp8 --json 2> /dev/null > e.json
$ query e.json /assumed/0 /assumed/1
> {"key": "tp", "value": "1", "origin": "recipe", "recipe": "megatron-bridge qwen3-30b-a3b/GB300-288GB/8/mxfp8@26.08", "why": "same model, chip, count, format", "text": "tp 1"}
> {"key": "pp", "value": "1", "origin": "recipe", "recipe": "megatron-bridge qwen3-30b-a3b/GB300-288GB/8/mxfp8@26.08", "why": "same model, chip, count, format", "text": "pp 1"}

## a key that the user states is not taken, and the layout then is a suggestion
$ halley estimate -m qwen3-30b-a3b -c gb300-nvl72:8 -s megatron-bridge --global-batch 512 --seq 4096 --dtype mxfp8 --tp 2 --graphs none | head -6
> qwen3-30b-a3b on 8 x GB300-288GB (gb300-nvl72)
> tp 2 pp 1 dp 4 zero 1 micro-batch 1 recompute none sequence-parallel, global batch 512, sequence 4096, mxfp8
> assumed: micro-batch 1, zero 1, sequence parallel, recompute none
> assumed from megatron-bridge qwen3-30b-a3b/GB300-288GB/8/mxfp8@26.08 (same model, chip, count, format)
>   fp8-attention
>
! halley: note: 8 is 0.1 racks of 72: 1 rack is paid for, 64 GPUs idle
! halley: note: the recipe's layout: ep 8, micro-batch 8 (5.59 s)

## stating what the recipe states changes nothing but the origin
$ halley estimate -m qwen3-30b-a3b -c gb300-nvl72:8 -s megatron-bridge --global-batch 512 --seq 4096 --dtype mxfp8 --json 2> /dev/null | query - /step_s > a
$ halley estimate -m qwen3-30b-a3b -c gb300-nvl72:8 -s megatron-bridge --global-batch 512 --seq 4096 --dtype mxfp8 --graphs full --overlap-ep --json 2> /dev/null | query - /step_s > b
$ cmp a b && echo same
> same

## without a recipe nothing is taken: by option, or because the software is not stated
$ halley estimate -m qwen3-30b-a3b -c gb300-nvl72:8 -s megatron-bridge --global-batch 512 --no-recipe --json 2> /dev/null | grep -c '"recipe"'
> 0
? 1
$ halley estimate -m qwen3-30b-a3b -c gb300-nvl72:8 -s megatron-bridge --global-batch 512 --recipe none --json 2> /dev/null | grep -c '"recipe"'
> 0
? 1
$ halley estimate -m qwen3-30b-a3b -c gb300-nvl72:8 --global-batch 512 --json 2> /dev/null | grep -c '"recipe"'
> 0
? 1
$ halley estimate -m qwen3-30b-a3b -c gb300-nvl72:8 --recipe qwen3 --no-recipe
! halley: note: 8 is 0.1 racks of 72: 1 rack is paid for, 64 GPUs idle
! halley: --recipe qwen3 and --no-recipe exclude each other
! see 'halley estimate --help'
? 2

## an older release has older settings
$ halley estimate -m qwen3-30b-a3b -c dgx-b200:8 -s megatron-bridge --global-batch 512 --seq 4096 --dtype mxfp8 --release 26.02 2> /dev/null | grep 'assumed from'
> assumed from megatron-bridge qwen3-30b-a3b/B200-SXM-180GB/8/mxfp8/v1@26.02 (same model, chip, count, format)

## a recipe can be named by the beginning of its name, in either case
$ halley estimate -m deepseek-v3 -c dgx-h800:2048 --global-batch 15360 --seq 4096 --dtype fp8 --fp8-recipe block --recipe DeepSeek-v3/h800 2> /dev/null | grep -A 1 'assumed from'
> assumed from deepseek deepseek-v3/H800-SXM-80GB/2048/fp8-block@2024-12 (same model, chip, count, format)
>   tp 1, pp 16, cp 1, ep 64, virtual 1, micro-batch 1, schedule dualpipe, etp 1, zero 1, dispatcher deepep, optimizer-memory 8, fp8-dispatch, overlap-ep, recompute modules, recompute-modules layernorm,mla-up-proj,moe-act
$ halley estimate -m qwen3-30b-a3b -c gb300-nvl72:8 --global-batch 512 --recipe qwen3-30b-a3b/GB300
! halley: note: 8 is 0.1 racks of 72: 1 rack is paid for, 64 GPUs idle
! halley: "qwen3-30b-a3b/GB300" begins the names of 24 recipes, for example qwen3-30b-a3b/GB300-288GB/8/bf16/v1@26.06.01 and qwen3-30b-a3b/GB300-288GB/8/nvfp4@26.09
! see 'halley estimate --help'
? 2
$ halley estimate -m qwen3-30b-a3b -c gb300-nvl72:8 --global-batch 512 --recipe nothing
! halley: note: 8 is 0.1 racks of 72: 1 rack is paid for, 64 GPUs idle
! halley: no recipe "nothing"; `halley presets recipes` lists them
! see 'halley estimate --help'
? 2

## a model without recipes takes the software of a similar one, not its layout
$ halley estimate -m mixtral-8x22b -c dgx-h100:64 -s megatron-bridge --global-batch 512 --ep 8 --tp 2 --pp 4 2> /dev/null | grep -A 1 'assumed from'
> assumed from megatron-bridge deepseek-v3/H100-SXM-80GB/64/bf16@26.08 (same chip, count, format; of a similar model)
>   dispatcher hybridep, graphs none

## a stack is refused on a device of another vendor
$ halley estimate -m llama3-70b -c mi355x:512 -s megatron-bridge --tp 4 --global-batch 1024
! halley: megatron-bridge does not run on MI355X; these stacks do: maxtext-2024, maxtext, primus-2026, torchtitan-2024, torchtitan-2026
! see 'halley estimate --help'
? 2

## a launch file states its own settings; only its constants come from the stack
$ printf '[model]\nname = "llama3"\nflavor = "8B"\n[training]\nlocal_batch_size = 1\nseq_len = 8192\n' > t.toml
$ halley estimate -m t.toml -c dgx-h100:8 --json 2> /dev/null | query - /stack /assumed/0
> "torchtitan-2026"
> {"key": "stack", "value": "torchtitan-2026", "origin": "file", "text": "stack torchtitan-2026: the file is a torchtitan configuration"}

## recipes can be listed by words, and shown with their source
$ halley presets recipes deepseek-v3 h800
> Kind    Framework  Name
> recipe  deepseek   deepseek-v3/H800-SXM-80GB/2048/fp8-block@2024-12
$ halley presets recipe deepseek-v3/h800
> # deepseek, deepseek-v3/H800-SXM-80GB/2048/fp8-block@2024-12
> # DeepSeek-V3 Technical Report, arXiv 2412.19437, sections 3.1 to 3.3
> global-batch: 15360
> seq: 4096
> dtype: fp8
> tp: 1
> pp: 16
> cp: 1
> ep: 64
> virtual: 1
> micro-batch: 1
> zero: 1
> recompute: modules
> fp8-recipe: block
> schedule: dualpipe
> etp: 1
> dispatcher: deepep
> optimizer-memory: 8
> fp8-dispatch: yes
> overlap-ep: yes
> recompute-modules: layernorm,mla-up-proj,moe-act
$ halley presets recipe deepseek-v3/h800 --json
> {
>   "recipe": "deepseek-v3/H800-SXM-80GB/2048/fp8-block@2024-12",
>   "framework": "deepseek",
>   "source": "DeepSeek-V3 Technical Report, arXiv 2412.19437, sections 3.1 to 3.3",
>   "plan": {
>     "global_batch": "15360",
>     "seq": "4096",
>     "dtype": "fp8",
>     "tp": "1",
>     "pp": "16",
>     "cp": "1",
>     "ep": "64",
>     "virtual": "1",
>     "micro_batch": "1",
>     "zero": "1",
>     "recompute": "modules",
>     "fp8_recipe": "block",
>     "schedule": "dualpipe",
>     "etp": "1",
>     "dispatcher": "deepep",
>     "optimizer_memory": "8",
>     "fp8_dispatch": "yes",
>     "overlap_ep": "yes",
>     "recompute_modules": "layernorm,mla-up-proj,moe-act"
>   }
> }
$ halley presets recipes no-such-word
! halley: no recipe has these words in its name
? 1
$ halley presets recipe
! halley: which recipe? `halley presets recipes` lists them
! see 'halley presets --help'
? 2
$ halley presets llama3-8b llama3-70b
! halley: presets takes one name, "llama3-70b" is one more
! see 'halley presets --help'
? 2

## what nobody states leaves an interval, with the setting that matters most
$ halley estimate -m qwen3-30b-a3b -c gb300-nvl72:8 -s megatron-bridge --no-recipe --dtype fp8 --ep 8 --micro-batch 8 --global-batch 512 --seq 4096 2> /dev/null | grep -A 1 '^step'
> step          10.6 s
>   5.51 s to 10.6 s by what is not stated; largest unknown: overlap-ep (+26 %)
$ halley estimate -m qwen3-30b-a3b -c gb300-nvl72:8 -s megatron-bridge --global-batch 512 --seq 4096 --dtype mxfp8 2> /dev/null | grep -c 'not stated'
> 0
? 1

## plan proposes nothing that the framework cannot run, and says how much it left out
$ halley plan -m llama3-8b -c dgx-h100:64 -s megatron-core-2025 --global-batch 128 --recompute none --top 200 --csv > p.csv
$ awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } $at["plan.pp"] > 1 { n++; bad += $at["plan.zero"] !~ /^[01]$/ } END { print (n > 10), bad + 0 }' p.csv
> 1 0
$ halley plan -m llama3-8b -c dgx-h100:64 -s megatron-core-2025 --global-batch 128 --top 1 | grep -o '[0-9]* that the software cannot run are left out'
> 15182 that the software cannot run are left out
$ halley plan -m llama3-8b -c dgx-h100:64 --global-batch 128 --top 1 | grep -c 'cannot run'
> 0
? 1
$ halley plan -m llama3-8b -c dgx-h100:64 -s megatron-core-2025 --global-batch 128 --zero 2 --pp 2 --top 1 --csv | wc -l
> 2
