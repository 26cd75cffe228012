// Table 7 of the supplement, CoNLL 2003: perplexity 103.2 before and 46.3 after in the paper.
(import "task.libsonnet")((import "../tasks/ner.libsonnet")())
