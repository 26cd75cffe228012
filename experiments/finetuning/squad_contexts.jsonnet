// Table 7 of the supplement, SQuAD contexts: perplexity 99.1 before and 43.5 after in the paper.
// A paragraph is a row of text.
(import "squad.libsonnet")(["passage"])
