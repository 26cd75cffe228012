// Table 7 of the supplement, SNLI: perplexity 72.1 before and 16.8 after in the paper. Premises and hypotheses.
(import "task.libsonnet")((import "../tasks/snli.libsonnet")())
