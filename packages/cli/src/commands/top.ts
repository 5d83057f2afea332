import { setTimeout as sleep } from 'node:timers/promises'
import { OutputError } from '../output-error.ts'
import { defineCommand, type AddCommand } from '../define-command.ts'
import { keptBodies, type ReadBodies } from '../health/kept-bodies.ts'
import { keptProbes, type ProbeShards } from '../health/kept-probes.ts'
import { factsOf, probe, readBodies } from '../health/read-facts.ts'
import { findingsOf } from '../health/rules.ts'
import { parseWhole } from '../parse-whole.ts'
import type { CommonOptions, Session } from '../session.ts'
import { lookAtShards } from '../top/look-at-shards.ts'
import { topJson, topText, type Look } from '../top/top-view.ts'

interface TopOptions extends CommonOptions {
  readonly every: number
  readonly looks?: number
}

/** `looseleaf top`: how a store is, again and again. */
export const addTop: AddCommand = (program, run) => {
  defineCommand(program, {
    usage: 'top',
    summary: 'Watch shards, the cleaner and index builds, look after look',
    details: DETAILS,
    examples: [
      ['top --looks 1', 'one look, as for a log'],
      ['top --every 1 --looks 3 --json', 'for programs: a line of JSON a look'],
    ],
  })
    .option('--every <seconds>', 'time between two looks', parseWhole, 2)
    .option('--looks <number>', 'end after so many; without it, at Ctrl-C', parseWhole)
    .action((options: TopOptions) => run(options, (session) => watch(session, options)))
}

const DETAILS = `The first line is the opinion of \`looseleaf status\`. Each shard is shown with
how long it takes to answer a question that costs it nothing, with its entities
by the statistics of the database, with how many of them were written a second
since the look before, up to 1,000 in all, and with how far the cleaner is behind
its writes; each index that is not simply ready with how far it is. Findings are
at the end, as by \`status --check\`.

It asks the databases. Calls that fail in the processes of the site are findings,
since each process notes them on a shard; all else that it sends is in its own
\`store.stats()\`. A look is some ten short questions a shard, and counts nothing.
Once a minute, and while a shard refuses it, a look changes a small row on each.
Up to 200 bodies of a shard are decoded at the first look, every minute, and at
each look while something is wrong with them. On a terminal each look takes the
place of the one before. Ctrl-C ends it, with 0.

JSON, a line a look:
  { "at", "grade", "shards": [{ "name", "answersInMs" | null, "error" | null,
      "entities" | null, "writtenPerSecond" | null, "lagMs" | null,
      "pending" | null, "worker" | null, "bytes" | null, "bytesPerDay" | null }],
    "indexes": [{ "index", "generation", "unique", "state", "underWay" | null }],
    "findings": [finding] }`

async function watch(session: Session, { every, looks = Infinity }: TopOptions): Promise<void> {
  const { output, signal } = session
  const { stdout } = session.console
  // A store that cannot be opened is an error; one whose shards fall silent later is looked at again.
  await session.store({ warn: false })
  try {
    const bodiesOf = keptBodies(readBodies)
    const probesOf = keptProbes(probe)
    let before: Look | undefined
    for (let number = 1; ; number++) {
      const look = await lookAt(session, bodiesOf, probesOf, before)
      before = look
      // To the upper left, and nothing below.
      if (stdout.isTTY === true && !output.json) await output.write('\u001B[H\u001B[2J')
      output.result(topJson(look), () => topText(output, look))
      if (number >= looks) return
      await sleep(every * 1_000, undefined, { signal })
    }
  } catch (error) {
    // Ctrl-C is the usual end of this command.
    if (!signal.aborted || signal.reason instanceof OutputError) throw error
  }
}

async function lookAt(
  session: Session,
  bodiesOf: ReadBodies,
  probesOf: ProbeShards,
  before: Look | undefined,
): Promise<Look> {
  const [facts, shards] = await Promise.all([
    factsOf(session, bodiesOf, probesOf),
    lookAtShards(session, before?.shards),
  ])
  return {
    at: new Date(facts.now),
    shards,
    report: facts.report,
    probes: facts.probes,
    findings: findingsOf(facts),
  }
}
