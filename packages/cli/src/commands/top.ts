import { setTimeout as sleep } from 'node:timers/promises'
import { OutputError } from '../output/output-error.ts'
import { defineCommand, type AddCommand } from '../running/define-command.ts'
import { cachedBodies, cachedProbes } from '../health/cached-facts.ts'
import { readFacts, probe, readBodies, type ProbeShards, type ReadBodies } from '../health/read-facts.ts'
import { findingsOf } from '../health/rules.ts'
import { parseWhole } from '../running/parse-whole.ts'
import type { Invocation } from '../running/invocation.ts'
import { lookAtShards } from '../top/look-at-shards.ts'
import { topJson, topText, type Look } from '../top/top-view.ts'

interface TopOptions {
  readonly every: number
  readonly looks?: number
}

export const addTop: AddCommand = (program) => {
  defineCommand(program, {
    usage: 'top',
    summary: 'Watch shards, the cleaner and index builds',
    details: DETAILS,
    examples: [
      ['top --looks 1', 'one look, for a log'],
      ['top --every 1 --looks 3 --json', 'for programs: one line of JSON per look'],
    ],
  })
    .option('--every <seconds>', 'time between two looks', parseWhole, 2)
    .option('--looks <number>', 'number of looks (default: until Ctrl-C)', parseWhole)
    .does(watch)
}

const DETAILS = `The first line is the opinion of \`looseleaf status\`. Each shard is shown with
the round trip of a trivial statement, its estimated number of entities, the
entities written per second since the previous look (it counts up to 1,000), and
the lag of the cleaner. Each index that is building or being cleaned is shown
with its progress. The findings of \`status --check\` are at the end.

It reads the databases only. Failing calls of the site's processes are findings,
because each process notes them on a shard; \`store.stats()\` of a process has all
its other statistics. A look sends some ten short statements per shard and
counts no entities. Once a minute, and in each look while a shard refuses it, a
look changes a small row on each shard. It decodes up to 200 bodies per shard in
the first look, once a minute, and in each look while some cannot be decoded. On
a terminal each look replaces the previous one. Ctrl-C ends it with exit code 0.

JSON, one line per look:
  { "at", "grade", "shards": [{ "name", "answersInMs" | null, "error" | null,
      "entities" | null, "writtenPerSecond" | null, "lagMs" | null,
      "pending" | null, "worker" | null, "bytes" | null, "bytesPerDay" | null }],
    "indexes": [{ "index", "generation", "unique", "state", "inProgress" | null }],
    "findings": [finding] }`

async function watch(invocation: Invocation, { every, looks = Infinity }: TopOptions): Promise<void> {
  const { output, signal } = invocation
  const { stdout } = invocation.console
  // A store that cannot be opened is an error. Shards that fail later are shown, and the looks continue.
  await invocation.openStore({ warn: false })
  try {
    const bodiesOf = cachedBodies(readBodies)
    const probesOf = cachedProbes(probe)
    let before: Look | undefined
    for (let number = 1; ; number++) {
      const look = await lookAt(invocation, bodiesOf, probesOf, before)
      before = look
      // Moves the cursor to the upper left and clears the screen.
      if (stdout.isTTY === true && !output.json) await output.write('\u001B[H\u001B[2J')
      output.result(topJson(look), () => topText(output, look))
      if (number >= looks) return
      await sleep(every * 1_000, undefined, { signal })
    }
  } catch (error) {
    // Ctrl-C is the normal end of this command.
    if (!signal.aborted || signal.reason instanceof OutputError) throw error
  }
}

async function lookAt(
  invocation: Invocation,
  bodiesOf: ReadBodies,
  probesOf: ProbeShards,
  before: Look | undefined,
): Promise<Look> {
  const [facts, shards] = await Promise.all([
    readFacts(invocation, bodiesOf, probesOf),
    lookAtShards(invocation, before?.shards),
  ])
  return {
    at: new Date(facts.now),
    shards,
    report: facts.report,
    probes: facts.probes,
    findings: findingsOf(facts),
  }
}
