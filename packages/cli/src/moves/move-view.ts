import { counted, decimal, durationText, grouped } from '@looseleaf/core/internal'
import type { MoveProgress, MoveReport } from '@looseleaf/store'
import type { Output } from '../output/output.ts'
import { inCommandWords } from '../output/command-words.ts'
import { timeText } from '../output/text.ts'
import { shardText, type NamedShard } from './shard-names.ts'

/** Shape of a move in the JSON of commands. */
export const MOVE_JSON = `  { "id", "from", "to", "buckets": ranges, "bucketCount", "handedOver",
    "state": "copying", "checking", "sealing", "switching", "emptying", "done",
      "undoing" or "undone",
    "holder": { "worker", "since" } | null, "next" | null, "heldUpBy" | null,
    "counts": { "read", "entities", "rows", "claims", "late", "compared",
      "emptied" },
    "total", "rate", "timeLeftMs" | null,
    "seals": { "groups", "p50" | null, "p99" | null, "worst" | null } in ms,
    "waits": { "calls", "longestMs" } of writes that waited for a seal | null,
    "verified": { "rows", "at", "by", "stale" } | null,
    "endedAt" | null,
    "forward": command | null, "back": command | null,
    "isBackLater": true if the command back is refused until the move is over }`

export function moveJson(report: MoveReport): object {
  const { holder = null, next = null, timeLeftMs = null } = report
  const { verified = null, waits = null, endedAt = null, seals, commands, ...rest } = report
  const { groups, p50 = null, p99 = null, worst = null } = seals
  const { forward = null, back = null, isBackLater } = commands
  return {
    ...rest,
    holder,
    next,
    heldUpBy: heldUpText(report) ?? null,
    timeLeftMs,
    seals: { groups, p50, p99, worst },
    waits,
    verified,
    endedAt,
    forward,
    back,
    isBackLater,
  }
}

export function moveLine(report: MoveReport): string {
  const { id, from, to, state, bucketCount } = report
  return `Move ${id} of ${counted(bucketCount, 'bucket')} from shard ${from} to shard ${to}: ${state}${shareText(report)}.`
}

/** Returns one block of lines for people. */
export function moveText({ colors }: Output, shards: readonly NamedShard[], report: MoveReport): string {
  const { id, from, to, buckets, bucketCount, handedOver, state, holder, next, counts } = report
  const { forward, back, isBackLater } = report.commands
  const heldUp = heldUpText(report)
  const since = holder && `${holder.worker} since ${timeText(holder.since)}`
  const lines: readonly (readonly [name: string, text: string | undefined])[] = [
    ['from', `shard ${shardText(shards, from)}`],
    ['to', `shard ${shardText(shards, to)}`],
    ['buckets', `${buckets} (${grouped(bucketCount)}, of which ${grouped(handedOver)} handed over)`],
    ['held by', since ?? 'no process'],
    ['copied', copiedText(report)],
    ['verified', verifiedText(report)],
    ['sealed', sealsText(report.seals)],
    ['waited', waitsText(report)],
    ['deleted', counts.emptied === 0 ? undefined : counted(counts.emptied, 'row')],
    ['next', next],
    ['held up by', heldUp && colors.yellow(heldUp)],
    ['go on', forward],
    ['go back', isBackLater ? `when it is over: ${back}` : back],
  ]
  return [
    `${colors.bold(`Move ${id}`)}: ${state}${shareText(report)}`,
    ...lines.flatMap(([name, text]) => (text === undefined ? [] : [`  ${name.padEnd(12)}${text}`])),
  ].join('\n')
}

/** Returns the reason why a move waits or has stopped; undefined if it goes on. */
export function heldUpText({ heldUpBy }: MoveReport): string | undefined {
  return heldUpBy && inCommandWords(heldUpBy)
}

/** Returns a sentence about a move that a command has worked on. */
export function endedText(shards: readonly NamedShard[], report: MoveReport): string {
  const { id, from, to, state, bucketCount, counts, seals, verified } = report
  const [source, target] = [shardText(shards, from), shardText(shards, to)]
  const buckets = counted(bucketCount, 'bucket')
  if (state === 'undone')
    return `Move ${id} is undone: shard ${source} keeps ${buckets}, and ${counted(counts.emptied, 'row')} of shard ${target} were deleted.`
  if (state !== 'done') {
    const heldUp = heldUpText(report)
    const reason = heldUp === undefined ? '' : ` Held up by ${heldUp.replace(/\.$/, '')}.`
    if (state !== 'emptying') return `Move ${id} is ${state}.${reason} Go on with: ${report.commands.forward}`
    return `Move ${id} is emptying: shard ${target} has ${buckets}, and shard ${source} still has its copy.${reason} A cleaner goes on with it by itself. To go on at once: ${report.commands.forward}`
  }
  return [
    `Move ${id} is done: shard ${target} has ${buckets} of shard ${source}.`,
    `Copied: ${counted(counts.entities, 'entity', 'entities')}, ${counted(counts.rows, 'index row')}, ${counted(counts.claims, 'claim')}.`,
    ...(verified === undefined ? [] : [`Compared: ${counted(verified.rows, 'row')}, all the same.`]),
    ...(seals.groups === 0 ? [] : [`Sealed: ${sealsText(seals)}.`]),
    ...(report.waits === undefined ? [] : [`Waited: ${waitsText(report)}.`]),
  ].join(' ')
}

export function endedTexts(shards: readonly NamedShard[], reports: readonly MoveReport[]): readonly string[] {
  return reports.map((report) => endedText(shards, report))
}

/** Returns what is appended to the line of progress. */
export function progressText(at: MoveProgress): string {
  const { move, step, seals, throttledBy, waited } = at
  return [
    `move ${move} ${step}`,
    ...paceTexts(step, at),
    ...(seals.worst === undefined ? [] : [`longest seal ${decimal(seals.worst)} ms`]),
    ...(throttledBy === undefined ? [] : [`waits ${Math.round(waited * 100)}% of the time: ${throttledBy}`]),
  ].join(', ')
}

function sealsText({ groups, p50, p99, worst }: MoveReport['seals']): string | undefined {
  if (p50 === undefined || p99 === undefined || worst === undefined) return undefined
  return `${counted(groups, 'group')}, ${decimal(p50)} ms (p50), ${decimal(p99)} ms (p99), ${decimal(worst)} ms (longest)`
}

function waitsText({ waits }: MoveReport): string | undefined {
  return waits && `${counted(waits.calls, 'write')}, the longest for ${grouped(waits.longestMs)} ms`
}

function copiedText({ state, counts, ...pace }: MoveReport): string {
  return [
    counted(counts.entities, 'entity', 'entities'),
    counted(counts.rows, 'index row'),
    counted(counts.claims, 'claim'),
    ...paceTexts(state, pace),
  ].join(', ')
}

/** Returns rate and time left while rows are being copied or compared. Afterwards, the last rate says nothing. */
function paceTexts(
  step: MoveReport['state'],
  { rate, timeLeftMs }: Pick<MoveReport, 'rate' | 'timeLeftMs'>,
): readonly string[] {
  if (!isReading(step)) return []
  return [
    ...(rate === 0 ? [] : [`${grouped(rate)} rows/s`]),
    ...(timeLeftMs === undefined ? [] : [`about ${durationText(timeLeftMs)} left`]),
  ]
}

const isReading = (step: MoveReport['state']): boolean => step === 'copying' || step === 'checking'

function verifiedText({ verified, counts }: MoveReport): string {
  if (verified === undefined)
    return counts.compared === 0
      ? 'not yet'
      : `not yet; ${counted(counts.compared, 'entity', 'entities')} compared`
  const { rows, at, by, stale } = verified
  const text = `${counted(rows, 'row')} of both shards were the same at ${timeText(at)}, by ${by}`
  return stale
    ? `${text}; stale: entities were written since, and are compared when they are handed over`
    : text
}

/** Returns the share of the copies and comparisons that is done, while they are under way. */
function shareText({ state, counts, total }: MoveReport): string {
  if (total === 0 || !isReading(state)) return ''
  return `, ${Math.floor((counts.read / total) * 100)}%`
}
