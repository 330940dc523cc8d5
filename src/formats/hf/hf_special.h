/* hf/hf_special.h - adjustments for single model types; called from the
 * table of hf_types.c. */
#ifndef HF_HF_SPECIAL_H
#define HF_HF_SPECIAL_H

#include "hf/hf.h"

void hf_adjust_shared_gate(hf_block *b, hf_shape *s);
void hf_adjust_qwen(hf_block *b, hf_shape *s);
void hf_adjust_delta_net(hf_block *b, hf_shape *s);
void hf_adjust_gemma4(hf_block *b, hf_shape *s);
void hf_adjust_head_bias(hf_block *b, hf_shape *s);
void hf_adjust_parallel(hf_block *b, hf_shape *s);
void hf_adjust_phimoe(hf_block *b, hf_shape *s);
void hf_adjust_falcon(hf_block *b, hf_shape *s);
void hf_adjust_positions(hf_block *b, hf_shape *s);
void hf_adjust_openai_gpt(hf_block *b, hf_shape *s);
void hf_adjust_bigcode(hf_block *b, hf_shape *s);
void hf_adjust_gpt_neo(hf_block *b, hf_shape *s);
void hf_adjust_gpt_oss(hf_block *b, hf_shape *s);
void hf_adjust_opt(hf_block *b, hf_shape *s);
void hf_adjust_bloom(hf_block *b, hf_shape *s);
void hf_adjust_mpt(hf_block *b, hf_shape *s);
void hf_adjust_stablelm(hf_block *b, hf_shape *s);
void hf_adjust_cohere(hf_block *b, hf_shape *s);
void hf_adjust_dbrx(hf_block *b, hf_shape *s);
void hf_adjust_latent(hf_block *b, hf_shape *s);
void hf_adjust_deepseek_v3(hf_block *b, hf_shape *s);
void hf_adjust_indexer(hf_block *b, hf_shape *s);
void hf_adjust_correction(hf_block *b, hf_shape *s);
void hf_adjust_glm4_moe(hf_block *b, hf_shape *s);
void hf_adjust_chatglm(hf_block *b, hf_shape *s);
void hf_adjust_llama4(hf_block *b, hf_shape *s);
void hf_adjust_minimax(hf_block *b, hf_shape *s);
void hf_adjust_mllama_text(hf_block *b, hf_shape *s);
/* hf_recent.c */
void hf_adjust_ernie_moe(hf_block *b, hf_shape *s);
void hf_adjust_hunyuan_moe(hf_block *b, hf_shape *s);
void hf_adjust_granite_shared(hf_block *b, hf_shape *s);
void hf_adjust_granite_hybrid(hf_block *b, hf_shape *s);
void hf_adjust_apertus(hf_block *b, hf_shape *s);
void hf_adjust_bitnet(hf_block *b, hf_shape *s);
void hf_adjust_exaone_moe(hf_block *b, hf_shape *s);
/* hf_hybrid.c */
void hf_adjust_mamba(hf_block *b, hf_shape *s);
void hf_adjust_mamba2(hf_block *b, hf_shape *s);
void hf_adjust_jamba(hf_block *b, hf_shape *s);
void hf_adjust_bamba(hf_block *b, hf_shape *s);
void hf_adjust_nemotron_h(hf_block *b, hf_shape *s);

#endif
