# Acceptance: what must be refused, fit, cost and be printed, by the numbers of the
# requirements. Cases about measured times are in tests/unit/core/estimate/test_acceptance.c, test_time.c,
# test_memory.c, test_kinds.c, test_schedule.c, test_numbers.c (51) and test_score.c; 24 in
# plan.t.

## cases 1 to 5: a number format that the device does not have
$ halley estimate -m llama3-8b -c dgx-a100:8 --dtype fp8
! halley: A100-SXM4-80GB has no fp8 (it has bf16, fp16, fp32, tf32)
! see 'halley estimate --help'
? 2
$ halley estimate -m llama3-8b -c dgx-h100:8 --dtype fp4
! halley: H100-SXM-80GB has no fp4 (it has bf16, fp16, fp32, tf32, fp8)
! see 'halley estimate --help'
? 2
$ halley estimate -m llama3-8b -c dgx-1:8 --dtype bf16
! halley: V100-SXM has no bf16 (it has fp16, fp32)
! see 'halley estimate --help'
? 2
$ halley estimate -m llama3-8b -c tpu-v5p-pod:64 --dtype fp8
! halley: TPU-v5p has no fp8 (it has bf16, int8)
! see 'halley estimate --help'
? 2
$ halley estimate -m llama3-8b -c gaudi2:8 --dtype fp4
! halley: Gaudi2 has no fp4 (it has bf16, fp16, fp32, fp8)
! see 'halley estimate --help'
? 2

## cases 6 to 8: interleaving that its rules forbid, with the nearest valid value
$ halley estimate -m gpt3-175b -c dgx-h100:64 --tp 8 --pp 8 --global-batch 1 --virtual 2
! halley: interleaving (virtual 2) needs the number of micro-batches (1) to be a multiple of pp (8): use global batch 8 or virtual 1
! see 'halley estimate --help'
? 2
$ halley estimate -m gpt3-175b -c dgx-h100:64 --tp 8 --pp 8 --global-batch 1 --virtual 4
! halley: interleaving (virtual 4) needs the number of micro-batches (1) to be a multiple of pp (8): use global batch 8 or virtual 1
! see 'halley estimate --help'
? 2
$ halley estimate -m gpt3-175b -c dgx-h100:64 --tp 8 --pp 8 --global-batch 1 --virtual 8
! halley: virtual 8: 8 chunks do not divide the 12 layers of a stage; use 2, 3, 4, 6 or 12
! see 'halley estimate --help'
? 2
$ halley estimate -m gpt3-175b -c dgx-h100:64 --tp 8 --pp 8 --global-batch 8 --micro-batch 8 --virtual 12
! halley: interleaving (virtual 12) needs the number of micro-batches (1) to be a multiple of pp (8): use global batch 64 or virtual 1
! see 'halley estimate --help'
? 2
$ halley estimate -m vit-h-14 -c dgx-h100:96 --pp 12 --virtual 6 --global-batch 96
! halley: interleaving needs equal stages, and 32 layers do not divide by pp 12: use virtual 1, give stage-layers, or choose pp 8
! see 'halley estimate --help'
? 2

## case 9: explore keeps the valid values of virtual only
$ printf 'name: s\nmodel: gpt3-175b\ncluster: dgx-h100:64\nplan: {tp: 8, pp: 8, global-batch: 64}\nallow-unfit: yes\nvary: {plan.virtual: [1, 2, 3, 4, 5, 6, 12, 24]}\n' > s.yaml
$ halley explore s.yaml --csv | sed 1d | cut -d, -f2 | sort -n | tr '\n' ' '
> 1 2 3 4 6 12 {no newline}

## cases 10 to 14: counts, units, tokens, idle nodes, stacks of other devices
$ halley estimate -m llama3-8b -c dgx-h100
! halley: --cluster dgx-h100 does not say how many accelerators: expected a number after ':', for example dgx-h100:64
! see 'halley estimate --help'
? 2
$ printf 'name: s\nmodel: gpt3-175b\ncluster: dgx-h100:64\nwhere: [power < 4 MUSD]\nvary: {plan.tp: [8]}\n' > s.yaml; halley explore s.yaml
! halley: s.yaml:4:9: expression "power < 4 MUSD": the left side of < is in W (power), the right side in USD (cost)
? 1
$ halley estimate -m llama3-8b -c dgx-h100:64 --global-batch 4194304
! halley: global batch 4194304 is in sequences, of 8192 tokens each; if 4194304 is the number of tokens, use global batch 512
! see 'halley estimate --help'
? 2
$ halley estimate -m llama3-8b -c dgx-h100:12 --tp 4 --global-batch 12 > out
! halley: note: 12 is 1.5 nodes of 8: 2 nodes are paid for, 4 GPUs idle
$ halley estimate -m llama3-8b -c tpu-7x-pod:64 -s maxtext-2024 --tp 8 | grep -c 'No run of this chip was ever compared'
> 1
! halley: note: the recipe's layout: micro-batch 8, fsdp all (3.26 s)

## cases 20 and 21: no plan needs less than the experts that it gathers
$ for c in 'qwen3-30b-a3b dgx-h100:32 256 30.5e9' 'mixtral-8x7b dgx-h100:64 256 33e9' 'grok-1 dgx-h100:128 256 55e9'; do set -- $c; halley plan -m $1 -c $2 --global-batch $3 --top 200 --variants --csv 2> /dev/null | awk -F, -v least=$4 -v m=$1 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } $at["plan.pp"] > 1 && $at["plan.fsdp"] > 0 && $at["device_bytes"] < least { print m, $0 }'; done

## case 26: a memory that accelerators share is as full and as slow as in the simulator
$ for k in per-npu per-node pool; do printf "name: c\nnpus: 64\nnpu: {name: plain, peak: {bf16: 312 TFLOP/s}, memory: [{name: hbm, capacity: 40 GB, bandwidth: 2039 GB/s}, {name: far, kind: $k, capacity: 100 TB, bandwidth: 200 GB/s, latency: 1 us}]}\nnetwork:\n  - {topology: switch, size: 8, bandwidth: 300 GB/s, latency: 1 us}\n  - {topology: switch, size: 8, bandwidth: 50 GB/s, latency: 2 us}\n" > $k.yaml; done
$ sed 's/100 TB/200 GB/' pool.yaml > small.yaml; halley estimate -m gpt-22b -c small.yaml --tp 8 --zero 0 --recompute full --offload optimizer | head -1
> does not fit: 2.12 TB are offloaded to a memory of 200 GB, which 64 accelerators share
$ for k in per-npu per-node pool; do halley estimate -m gpt-22b -c $k.yaml --tp 8 --zero 0 --global-batch 64 --recompute full --offload optimizer --trace t --json > $k.json; halley sim t -c $k.yaml --json > $k.sim; rm t.*; echo $(query $k.json /step_s) $(query $k.sim /time_s); done | awk '{ if ($1 / $2 > 1.03 || $1 / $2 < 0.97 || $1 < last) print "not within 3 %, or faster than the one before:", $0; last = $1 }'

## cases 49, 50 and 52: power of whole nodes and racks
$ halley estimate -m llama3-8b -c dgx-h100:2048 --tp 2 --json | query - /nameplate_W
> 3405158.4
$ halley estimate -m llama3-8b -c gb200-nvl72:2048 --json > racks.json
! halley: note: 2048 is 28.4 racks of 72: 29 racks are paid for, 40 GPUs idle
$ query racks.json /nameplate_W; query racks.json /paid_npus
> 4461319.2
> 2088
$ halley estimate -m gpt3-175b -c dgx-h100:512 --tp 4 --pp 8 --virtual 6 --global-batch 2048 --dtype fp8 --json -s nemo-25 > power.json; echo $(query power.json /average_W) $(query power.json /network_power_W) | awk '{ w = ($1 / 1.2 - $2) / 64; print (w > 6850 * 0.9 && w < 6850 * 1.1) }'
> 1

## case 53: a chip that was never compared
$ halley estimate -m llama3-8b -c rubin-nvl144:72 --tp 8 | grep -o 'No run of this chip was ever compared'
> No run of this chip was ever compared

## case 54: what does not fit says so first, and --strict fails
$ halley estimate -m llama3-70b -c dgx-h100:8 --tp 8 --strict | head -1
> does not fit: stage 0 needs {*}, and H100-SXM-80GB has 82.1 GB with 4 % headroom
! halley: the design does not fit: stage 0 is over by {*}
$ halley estimate -m llama3-70b -c dgx-h100:8 --tp 8 --strict > out
! halley: the design does not fit: stage 0 is over by {*}
? 1

## case 55: a condition on results implies that designs fit
$ printf 'name: s\nmodel: llama3-70b\ncluster: dgx-h100:8\nwhere: [power < 1 MW]\nvary: {plan.tp: [1, 8]}\n' > s.yaml; halley explore s.yaml
! halley: s: none of 2 designs is feasible ({*}does not fit in memory{*})
? 1

## case 56: more accelerators are only asked for where no plan of plan --all fits
$ halley estimate -m llama3-8b -c dgx-h100:8 --seq 8192 --global-batch 64 | grep -c 'more accelerators'
> 0
? 1
$ halley plan -m llama3-8b -c dgx-h100:8 --global-batch 64 --seq 8192 --top 1 --json | query - /plans/0/fits
> true
$ halley estimate -m gpt-1t -c dgx-a100:8 --global-batch 8 --tp 8 | grep -c 'more accelerators or more memory are needed'
> 1
$ halley plan -m gpt-1t -c dgx-a100:8 --global-batch 8 --all
! halley: none of {*} plans fits; one fits on 64 accelerators, and 32 are too few
? 1

## case 57: positions that a file allows are not taken for the training length in silence
$ printf '{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256, "max_position_embeddings": 131072}' > config.json
$ halley estimate -m config.json -c dgx-h100:8 --tp 8 | grep assumed
> assumed: {*}sequence 8192 (the model's file allows 131072 and states no training length){*}
$ halley estimate -m config.json -c dgx-h100:8 --tp 8 --json | query - /plan/seq
> 8192

## case 58: the header of plan lists what was assumed, and ties are marked
$ halley plan -m llama3-8b -c dgx-h100:8 --top 3 | sed -n '3p'
> assumed: global_batch 8: one sequence per NPU, sequence 8192 (from the model), bf16, no software stack (-s): default constants, 4 % of the memory stays free
$ halley plan -m llama3-8b -c dgx-h100:64 --global-batch 128 --top 30 --json > p.json; for i in 0 1 2 5 10 20 29; do echo $(query p.json /plans/$i/tie) $(query p.json /plans/$i/step_s); done | awk 'NR == 1 { best = $2 } { if (($2 <= 1.0886 * best) != ($1 == "true")) print "wrong", $0; n += $1 == "true" } END { print (n > 1) }'
> 1

## case 59: parameters and rates of one GPU are printed
$ halley estimate -m llama3-8b -c dgx-h100:8 --tp 2 | grep -E '^(parameters|tokens/s|TFLOP/s)'
> parameters    8.03 B
> tokens/s      {*}, {*} a GPU
> TFLOP/s       {*}, {*} a GPU

## case 60: JSON says what the table says
$ halley estimate -m llama3-8b -c dgx-h100:64 --tp 2 --pp 2 --global-batch 128 > table; halley estimate -m llama3-8b -c dgx-h100:64 --tp 2 --pp 2 --global-batch 128 --json > json
$ awk '$1 == "step" { print $2 * ($3 == "ms" ? 1e-3 : 1) }' table | awk -v j=$(query json /step_s) '{ print ($1 / j > 0.995 && $1 / j < 1.005) }'
> 1
$ awk '$1 == "MFU" { print $2 / 100 }' table | awk -v j=$(query json /mfu) '{ print ($1 - j < 0.0006 && j - $1 < 0.0006) }'
> 1
$ awk '$1 == "device" { print $2 * 1e9 }' table | awk -v j=$(query json /device_bytes) '{ print ($1 / j > 0.995 && $1 / j < 1.005) }'
> 1
$ halley plan -m llama3-8b -c dgx-h100:64 --global-batch 128 --top 5 --csv > csv; halley plan -m llama3-8b -c dgx-h100:64 --global-batch 128 --top 5 --json > json
$ for i in 0 1 2 3 4; do echo $(query json /plans/$i/plan/tp),$(query json /plans/$i/plan/pp),$(query json /plans/$i/step_s),$(query json /plans/$i/device_bytes); done > a; awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } { print $at["plan.tp"] "," $at["plan.pp"] "," $at["step_s"] "," $at["device_bytes"] }' csv | cmp - a
