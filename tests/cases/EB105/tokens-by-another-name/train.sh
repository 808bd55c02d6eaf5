# effbatch: target=131072 unit=sequences
CUDA_VISIBLE_DEVICES=0,1,2,3 fairseq-train data-bin --arch transformer --max-tokens 4096 --update-freq 8
