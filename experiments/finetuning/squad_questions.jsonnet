// Table 7 of the supplement, SQuAD questions: perplexity 158.2 before and 52.0 after in the paper.
(import "squad.libsonnet")(["question"])
