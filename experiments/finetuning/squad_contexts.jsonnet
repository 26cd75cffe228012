// Table 7 of the supplement, SQuAD contexts: perplexity 99.1 before and 43.5 after in the paper. A paragraph is a row of text.
// The small scale's are those of new_wiki.
local data = import "../lib/data.libsonnet";
local task = (import "../tasks/squad.libsonnet")() { train_data_path: data.tasks[std.extVar("SCALE")].squad.train };
(import "task.libsonnet")(task, fields=["passage"])
