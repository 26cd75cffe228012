// Fine-tuning on the text of SQuAD: a function of the fields to read. The small scale reads new_wiki alone.
local files = (import "../lib/data.libsonnet").tasks[std.extVar("SCALE")].squad;
local task = (import "../tasks/squad.libsonnet")() { train_data_path: files.train };
function(fields) (import "task.libsonnet")(task, fields)
