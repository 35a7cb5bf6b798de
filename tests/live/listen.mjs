// What a page does with examples/live_progress.mjs; each change becomes a line: ["read" | "heard", job].
import { follow } from "../../examples/live_progress.mjs";

const [url, patience, headers] = process.argv.slice(2);

await follow({
  getJob: () => fetch(url, { headers: JSON.parse(headers) }).then((answer) => answer.json()),
  onChange: (job, how) => process.stdout.write(`${JSON.stringify([how, job])}\n`),
  patience: JSON.parse(patience),
});
