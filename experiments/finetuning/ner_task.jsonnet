// The task of table 7 of the supplement, NER with ELMo of any biLM, frozen, as in table 1: no number is printed there.
(import "../table1/ner_elmo.jsonnet")
