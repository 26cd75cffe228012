// Demonstration: sentiment without ELMo, word vectors learned from the training data alone. Data: SST_DATA.
(import "../tasks/sst.libsonnet")()
