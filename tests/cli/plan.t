# halley plan: the best ways to cut a model.

## plans are ranked, each with what it loses by
$ halley plan -m gpt-18.4b -c dgx-a100:64 --global-batch 128 --top 2
>    tp  pp  dp  cp  ep  virtual  mbs  recompute  sharding {*} memory {*} of {*} loses to the one above by
> 1 {*}
> 2 {*} +{*} %
>
> {*} plans tried, {*} fit with 4 % headroom

## threads change nothing
$ halley plan -m gpt-7.5b -c dgx-h100:32 --global-batch 64 --csv --threads 1 > one; halley plan -m gpt-7.5b -c dgx-h100:32 --global-batch 64 --csv --threads 3 | cmp - one

## a limit holds
$ halley plan -m gpt-7.5b -c dgx-h100:32 --global-batch 64 --tp 4 --top 1 --csv | cut -d, -f2
> tp
> 4

## nothing fits
$ halley plan -m gpt-1t -c dgx-a100:8 --global-batch 8
! halley: none of {*} plans fits, nor any of --all: more accelerators, more memory or fewer limits are needed
? 1

## a launch file's own plan is compared with the best
$ printf 'python t.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --vocab-size 32000 --tensor-model-parallel-size 8 --micro-batch-size 1 --global-batch-size 64 --bf16\n' > run.sh
$ halley plan -m run.sh -c dgx-h100:8 --top 1 | tail -1
> your plan: {*}; best: {*} % faster, tp {*} instead of 8{*}
$ halley plan -m run.sh -c dgx-h100:8 --top 1 --json | query - /own/plan/tp
> 8

## the best plan is written as arguments, and they give the same estimate
$ halley plan -m llama3-8b -c dgx-h100:64 --global-batch 128 --top 1 --json > best.json
$ halley plan -m llama3-8b -c dgx-h100:64 --global-batch 128 --top 1 --write megatron > best.txt
$ halley estimate -m best.txt -c dgx-h100:64 --json > again.json
$ test "$(query best.json /plans/0/step_s)" = "$(query again.json /step_s)" && echo same
> same
$ halley plan -m llama3-8b -c dgx-h100:64 --global-batch 128 --top 1 --write deepspeed
> {
>   "train_batch_size": 128,
> ...
> }
! halley: note: deepspeed cannot say: the model and seq 8192 (set in the training script)

## no plan leaves less free than the headroom
$ halley plan -m llama3-70b -c dgx-h100:64 --global-batch 128 --top 50 --variants --csv | awk -F, 'NR > 1 && $(NF-2) > 0.96 { print }'
$ halley plan -m llama3-70b -c dgx-h100:64 --global-batch 128 --top 2000 --variants --headroom 0 --csv | awk -F, 'NR > 1 && $(NF-2) > 0.96 { n++ } END { print (n > 0) }'
> 1

## a format the device does not have
$ halley plan -m llama3-8b -c dgx-a100:8 --dtype fp8
! halley: A100-SXM4-80GB has no fp8 units: it computes in bf16, fp16, fp32 and tf32
! see 'halley plan --help'
? 2
