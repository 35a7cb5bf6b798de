// A page that is left: it stops following after the first change that it heard. Prints the name of what that throws.
import { follow } from "../../examples/live_progress.mjs";

const leaving = new AbortController();

try {
  await follow({
    getJob: () => fetch(process.argv[2]).then((answer) => answer.json()),
    onChange: (_, how) => how === "heard" && setTimeout(() => leaving.abort(), 100),
    signal: leaving.signal,
    patience: { quiet: 3_600_000 },
  });
} catch (error) {
  process.stdout.write(error.name);
}
