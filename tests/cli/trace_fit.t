## the model and the plan of a recording
# As it was made: 4 layers of 256, 4 heads, batch 2 of 64 tokens, 4 data-parallel ranks.
$ halley trace fit $DATA/recordings/model.json.gz -o mine 2> said
> layers                         4
> kernels in a period            14
> layers in a period             1
> hidden size                    256
> feed-forward size, on a rank   1024
> heads, on a rank               4
> key-value heads, on a rank     4
> size of a head                 64
> vocabulary, on a rank          1000
> feed-forward has a gate        not found
> experts                        not found
> tokens of a step, on a rank    128
> batch                          2
> sequence                       64
> tensor-parallel ranks          1
> pipeline stages                1
> data-parallel ranks            4
> micro-batches of a step        1
> has a head                     1
> has a backward pass            1
>
> The repeats cover 56.6 % of the kernels; a period takes 0.298 ms of device time.
>
>                          recorded     defaults
> matmuls                  1.479 ms    0.3053 ms
> attention                 0.16 ms  0.003728 ms
> memory-bound ops         0.314 ms   0.02147 ms
> optimizer                 0.04 ms    0.2003 ms
> idle                    0.1266 ms
>
> 'trace gen' with this stack reproduces the step within 56.8 %: 0.9157 ms on dgx-a100:4, recorded 2.12 ms. With default constants it takes 24.78 ms (+1069.2 %).
> At the limits of what the constants can express: gemm, attention, hidden-bytes, activation-passes, rope-passes, loss-bytes, optimizer-bytes, gradient-bytes, accumulate-bytes.
> The stack is not written: it is more than 25 % off, so its constants do not describe this recording.
$ cat mine.model.yaml mine.plan.yaml
> name: recorded
> kind: transformer
> layers: 4
> hidden: 256
> heads: 4
> ffn: 1024
> vocab: 1000
> seq: 64
> tp: 1
> dp: 4
> micro-batch: 2
> global-batch: 8
> dtype: bf16
> kernels: eager
> zero: 0
$ halley estimate -m mine.model.yaml --plan mine.plan.yaml --dp 8 --global-batch 16 -c dgx-a100:8 2> said | head -2
> recorded on 8 x A100-SXM4-80GB (dgx-a100)
> tp 1 pp 1 dp 8 zero 0 micro-batch 2 recompute none, global batch 16, sequence 64, bf16
$ halley trace fit --csv $DATA/recordings/model.json.gz 2> said | head -3
> what,value
> layers,4
> kernels_per_period,14

## plan, trace, recording, fit: the model, the plan and the stack come back
$ $DATA/../../tools/test/check-fit $(command -v halley)
> ok - dgx-a100, 8 layers of 2048, tp 1 dp 1, 1 micro-batches, training: step +0.0 %
> ok - dgx-h100, 12 layers of 4096, tp 1 dp 1, 2 micro-batches, training: step +0.0 %
> ok - mi300x, 6 layers of 4096, tp 1 dp 1, 1 micro-batches, forward only: step +0.0 %
> ok - dgx-h100, 8 layers of 4096, tp 1 dp 8, 1 micro-batches, training: step +0.8 %
> ok - dgx-a100, 8 layers of 4096, tp 4 dp 2, 1 micro-batches, training: step -5.3 %

## what does not repeat, or is no recording, is refused
$ halley trace fit $DATA/recordings/window_edge.json 2>&1 | tail -1
> halley: nothing repeats in the 1 kernels of the busiest stream: no layers can be found
$ halley trace gen all-reduce -n 1 -o a > made
$ halley trace fit a.0.et
! halley: the trace was not linked from a profiler's recording, so its kernels say nothing about its model
? 1

## a machine that is named must be known, and has no number
$ halley trace fit $DATA/recordings/model.json.gz -c dgx-h100:0
! halley: cluster "dgx-h100:0": expected a positive number of accelerators after ':', for example dgx-h100:64
! see 'halley trace fit --help'
? 2
$ halley trace fit $DATA/recordings/model.json.gz -c dgx-h100:8
! halley: -c dgx-h100:8: name the cluster without a number; the recording shows how many accelerators took part
! see 'halley trace fit --help'
? 2
$ halley trace fit $DATA/recordings/model.json.gz -c dgx-h1000
! halley: no cluster "dgx-h1000"; did you mean dgx-h100?
? 1
