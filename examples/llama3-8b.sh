#!/bin/bash
# A launch script for halley to read (it never runs it): halley presets examples/llama3-8b.sh
GPUS_PER_NODE=8
NNODES=${SLURM_NNODES:-8}
TP=2
MODEL=(
    --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32
    --group-query-attention --num-query-groups 8
    --seq-length 8192 --max-position-embeddings 8192 --vocab-size 128256 # Llama 3
    --swiglu --normalization RMSNorm --disable-bias-linear
    --position-embedding-type rope --untie-embeddings-and-output-weights
)
PARALLEL=(--tensor-model-parallel-size $TP --use-distributed-optimizer)
if [ "$TP" -gt 1 ]; then
    PARALLEL+=(--sequence-parallel --tp-comm-overlap)
fi
torchrun --nproc_per_node $GPUS_PER_NODE --nnodes "$NNODES" pretrain_gpt.py \
    "${MODEL[@]}" "${PARALLEL[@]}" \
    --micro-batch-size 1 --global-batch-size 256 --bf16 \
    --overlap-grad-reduce --overlap-param-gather --lr 3e-4
