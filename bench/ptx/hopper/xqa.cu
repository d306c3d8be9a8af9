// XQA, FlashInfer's attention of one query for groups of heads over pages.
#define BEAM_WIDTH 1
#define USE_INPUT_KV 0
#define USE_CUSTOM_BARRIER 1
#define INPUT_FP16 0
#define DTYPE __nv_bfloat16
#define CACHE_ELEM_ENUM 0
#define TOKENS_PER_PAGE 32
#define HEAD_ELEMS 128
#define HEAD_GRP_SIZE 8
#define SLIDING_WINDOW 0
#define LOW_PREC_OUTPUT 0
#define SPEC_DEC 0
#define MLA_WRAPPER 0
#include "xqa/mha_sm90.cu"
