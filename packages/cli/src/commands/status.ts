import { Option } from 'commander'
import type { CleanerReport } from '@looseleaf/cleaner'
import { platformTime, type LooseleafError } from '@looseleaf/core'
import { defineCommand, type AddCommand } from '../define-command.ts'
import { exitCodeOf, exitCodes, type ExitCode } from '../exit-codes.ts'
import { findingsJson, findingsText, gradeText } from '../health/findings-text.ts'
import { factsOf, isOfStore, readMore, reportUnless } from '../health/read-facts.ts'
import { findingsOf, gradeOf } from '../health/rules.ts'
import { indexAdvice } from '../index-advice.ts'
import { generationsOf } from '../index-generations.ts'
import type { CommonOptions, Session } from '../session.ts'
import { statusJson, statusText } from '../status-view.ts'

interface StatusOptions extends CommonOptions {
  readonly check?: true | 'look' | 'act'
}

/** `looseleaf status`: shards, counts, indexes, what the cleaner found, warnings. */
export const addStatus: AddCommand = (program, run) => {
  defineCommand(program, {
    usage: 'status',
    summary: 'Show shards, counts, indexes, what the cleaner found, and warnings',
    details: DETAILS,
    examples: [
      ['status', 'for people'],
      ['status --json', 'for a monitor'],
      ['status --check', 'for a monitor: is there anything that somebody should know?'],
      ['status --check act', 'for a pager: is there anything that cannot wait?'],
    ],
  })
    .addOption(
      new Option(
        '--check [grade]',
        'tell only what somebody should know, and end with 1 where there is any; `act`: only what cannot wait',
      ).choices(['look', 'act']),
    )
    .action(({ check: from, ...common }: StatusOptions) =>
      run(common, from === undefined ? show : (session) => check(session, from === 'act')),
    )
}

const DETAILS = `Counts every entity, which takes a while on a large store. A shard that cannot
be read is shown with its error, and the exit code is that of the error: 3 for a
shard that does not answer.

The first line is an opinion: well; look, where nobody is served wrong and this
should be looked into on a working day; or act, where reads or writes are not as
they should be, or data is at risk.

It changes a small row on each shard, since a shard may answer and take no writes,
and reads the notes that processes of the site leave when their calls fail. The
user needs the rights of such a process. Sizes and growth are by the databases'
statistics; growth is known from an hour after the first run on.

With --check it counts nothing, so it may run every minute. It prints a line for
each finding: its grade, what it is, what to do, and where docs/operations.md
has more. With --check act it leaves out what can wait. The exit code is 0 when
all is well and 1 when there is a finding. It is 3 when a shard does not answer or
refuses the login, and 4 when a shard refuses a statement or the catalog cannot
be read.

JSON:
  { "grade": "well" | "look" | "act",
    "storeId", "policies": { "deleteDelayMs", "onIndexFailure", "keepTombstonesMs" },
    "shards": [{ "name", "error": { "code", "message" } | null,
      "epoch" | null, "entities" | null, "tombstones" | null,
      "oldestTombstone" | null, "bytes" | null, "bytesPerDay" | null,
      "warnings": [text] }],
    "indexes": [{ "name", "generation", "table", "state", "columns", "shardOn",
      "lastCleaned": { "finishedAt", "missing", "added", "removed", … } | null,
      "misfits": { "count", "countedAt" } | null,
      "underWay": { "startedAt", "savedAt" | null, "rate", "timeLeftMs" | null,
        "undecodable", "shards": [{ "shard", "phase", "done", "total", "rate",
          "worker" | null, "throttledBy" | null, "waited" }] } | null }],
    "cleaner": { "updatedAt" | null, "lastFoundAt" | null,
      "lastUndecodableAt" | null,
      "totals": { "added", "removed", … }, "lastError" | null,
      "sweepEveryMs" | null,
      "shards": [{ "name", "isFollowed", "worker" | null,
        "lastRoundAt" | null, "lagMs" | null, "isFallingBehind",
        "pending": { "rows", "more", "oldestAt" | null } | null }] } | null,
    "replicas": [{ "name", "primary", "behindMs" | null, "leftOut" | null }],
    "consumers": as consumer list has them,
    "failures": [{ "process", "at", "isOver", "periodMs", "calls",
      "failures": [{ "code", "shard" | null, "count", "lastAt", "message" }] }],
    "findings": [finding] }
"cleaner" is null while shard 0 does not answer, or refuses. "timeLeftMs" is an
estimate.
With --check:
  { "ok", "grade", "findings": [{ "grade", "rule", "about" | null, "what",
    "todo", "see" }] }`

async function show(session: Session): Promise<ExitCode | undefined> {
  const { output, signal } = session
  // The warnings have their place in the result.
  const store = await session.store({ warn: false })
  const [status, { report, error }, more] = await Promise.all([
    store.status({ signal }),
    // It is kept on shard 0, which may be the one that does not answer, or refuses.
    reportUnless(session, isOfStore),
    readMore(session),
  ])
  const { policies } = status
  const findings = findingsOf({ now: platformTime.now(), report, error, policies, ...more })
  const view = { status, report, ...more, findings }
  const advice = indexAdvice(generationsOf(await session.store()), (await session.settings()).indexes)
  output.result(statusJson(view), () =>
    [statusText(output, view), ...advice.map((text) => `\n${text}`)].join('\n'),
  )
  return exitCodeOfFirst([...status.shards.map((shard) => shard.error), ...errorsOf(report, error)])
}

async function check(session: Session, actOnly: boolean): Promise<ExitCode> {
  const { output } = session
  const facts = await factsOf(session)
  const all = findingsOf(facts)
  const findings = actOnly ? all.filter(({ grade }) => grade === 'act') : all
  const ok = findings.length === 0
  output.result({ ok, grade: gradeOf(all), findings: findingsJson(findings) }, () =>
    [gradeText(output, all), ...findingsText(output, findings)].join('\n'),
  )
  if (ok) return exitCodes.ok
  return exitCodeOfFirst(errorsOf(facts.report, facts.error)) ?? exitCodes.found
}

function errorsOf(
  report: CleanerReport | undefined,
  error: LooseleafError | undefined,
): readonly (LooseleafError | undefined)[] {
  return [error, ...(report?.shards ?? []).map((shard) => shard.error)]
}

function exitCodeOfFirst(errors: readonly (LooseleafError | undefined)[]): ExitCode | undefined {
  const [first] = errors.filter((error) => error !== undefined)
  return first && exitCodeOf[first.code]
}
