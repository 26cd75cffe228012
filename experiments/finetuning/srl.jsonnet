// Table 7 of the supplement, CoNLL 2012: perplexity 92.3 before in the paper, and no gain.
(import "task.libsonnet")((import "../tasks/srl.libsonnet")())
