// Table 7 of the supplement, SQuAD contexts: perplexity 99.1 before and 43.5 after in the paper. A paragraph is a row of text.
(import "task.libsonnet")((import "../tasks/squad.libsonnet")(), fields=["passage"])
