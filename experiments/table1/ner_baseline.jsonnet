// Peters et al. (2018), table 1, NER, baseline: test F1 90.15.
// Differences: those of tasks/ner.libsonnet.
(import "../tasks/ner.libsonnet")()
