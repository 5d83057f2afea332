import { Option } from 'commander'
import type { CleanerReport } from '@looseleaf/cleaner'
import type { LooseleafError } from '@looseleaf/core'
import { platformTime } from '@looseleaf/core/internal'
import { defineCommand, type AddCommand } from '../running/define-command.ts'
import { exitCodeOf, exitCodes, type ExitCode } from '../running/exit-codes.ts'
import { findingsJson, findingsText, gradeText } from '../health/findings-text.ts'
import { readFacts, readMore, readReport, undefinedOnStoreError } from '../health/read-facts.ts'
import { findingsOf, gradeOf } from '../health/rules.ts'
import { indexAdvice } from '../indexes/index-advice.ts'
import { generationsOf } from '../indexes/index-generations.ts'
import { readNearness } from '../near/near-record.ts'
import type { Invocation } from '../running/invocation.ts'
import { statusJson, statusText } from '../views/status-view.ts'

interface StatusOptions {
  readonly check?: true | 'look' | 'act'
}

export const addStatus: AddCommand = (program) => {
  defineCommand(program, {
    usage: 'status',
    summary: 'Show shards, counts, indexes, the results of the cleaner, and warnings',
    details: DETAILS,
    examples: [
      ['status', 'for people'],
      ['status --json', 'for a monitor'],
      ['status --check', 'for a monitor: all findings'],
      ['status --check act', 'for a pager: only urgent findings'],
    ],
  })
    .addOption(
      new Option(
        '--check [grade]',
        'print only findings, with exit code 1 if there are any; `act`: only urgent ones',
      ).choices(['look', 'act']),
    )
    .does((invocation, { check: from }: StatusOptions) =>
      from === undefined ? show(invocation) : check(invocation, from === 'act'),
    )
}

const DETAILS = `Counts every entity, which takes a while on a large store. The share of entities
near the property of their kind is that of the last looseleaf kind check. A shard that cannot
be read is shown with its error, which determines the exit code: 3 for a shard
that does not answer.

The first line is an opinion. Well: there is no finding. Look: reads and writes
work as promised, but the findings need attention on a working day. Act: some
reads or writes fail or return wrong results, or data is at risk.

It changes a small row on each shard, because a shard may answer and refuse
writes. It also reads the notes that processes of the site write when their
calls fail. The user needs the rights of such a process. Sizes and growth come
from the databases' statistics; growth is known from one hour after the first
run.

With --check it counts nothing, so it can run every minute. It prints one line
per finding: the grade, the problem, the instruction, and the heading of
docs/operations.md. With --check act it leaves out findings of grade look. The
exit code is 0 without findings and 1 with findings. It is 3 when a shard does
not answer or refuses the login, and 4 when a shard refuses a statement or the
catalog cannot be read.

JSON:
  { "grade": "well" | "look" | "act",
    "storeId",
    "policies": { "deleteDelayMs", "onIndexFailure", "keepTombstonesMs" },
    "shards": [{ "name", "error": { "code", "message" } | null,
      "epoch" | null, "entities" | null, "tombstones" | null,
      "oldestTombstone" | null, "bytes" | null, "bytesPerDay" | null,
      "warnings": [text] }],
    "indexes": [{ "name", "generation", "table", "state", "columns", "shardOn",
      "lastCleaned": { "finishedAt", "missing", "added", "removed", … } | null,
      "misfits": { "count", "countedAt" } | null,
      "inProgress": { "startedAt", "savedAt" | null, "rate", "timeLeftMs" | null,
        "undecodable", "shards": [{ "shard", "phase", "done", "total", "rate",
          "worker" | null, "throttledBy" | null, "waited" }] } | null }],
    "cleaner": { "updatedAt" | null, "lastFoundAt" | null,
      "lastUndecodableAt" | null,
      "totals": { "added", "removed", … }, "lastError" | null,
      "sweepEveryMs" | null,
      "shards": [{ "name", "isFollowed", "worker" | null,
        "lastRoundAt" | null, "lagMs" | null, "isFallingBehind",
        "pending": { "rows", "more", "oldestAt" | null } | null }] } | null,
    "replicas": [{ "name", "primary", "behindMs" | null, "exclusionReason" | null }],
    "consumers": as in consumer list, "moves": as in shard status,
    "near": [{ "kind", "near": path, "counts": { "entities", "atPlace",
      "elsewhere", "withoutPlace", "checkedAt" } | null }],
    "failures": [{ "process", "at", "isOver", "periodMs", "calls",
      "failures": [{ "code", "shard" | null, "count", "lastAt", "message" }] }],
    "findings": [finding] }
"cleaner" is null while the first shard does not answer or refuses. "timeLeftMs"
is an estimate.
With --check:
  { "ok", "grade", "findings": [{ "grade", "rule", "about" | null, "problem",
    "instruction", "see" }] }`

async function show(invocation: Invocation): Promise<ExitCode | undefined> {
  const { output, signal } = invocation
  // The result includes the warnings.
  const store = await invocation.openStore({ warn: false })
  const { kinds, indexes } = await invocation.settings()
  const [status, { report, error }, more, near] = await Promise.all([
    store.status({ signal }),
    readReport(invocation),
    readMore(invocation),
    undefinedOnStoreError(readNearness(store, kinds, { signal })),
  ])
  const { policies } = status
  const findings = findingsOf({ now: platformTime.now(), report, error, policies, ...more })
  const view = { status, report, ...more, near: near ?? [], findings }
  const advice = indexAdvice(generationsOf(await invocation.openStore()), indexes)
  output.result(statusJson(view), () =>
    [statusText(output, view), ...advice.map((text) => `\n${text}`)].join('\n'),
  )
  return exitCodeOfFirst([...status.shards.map((shard) => shard.error), ...errorsOf(report, error)])
}

async function check(invocation: Invocation, actOnly: boolean): Promise<ExitCode> {
  const { output } = invocation
  const facts = await readFacts(invocation)
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
  return first && exitCodeOf(first)
}
